"""What a finding means, what was done and what a person can do; and what a file's fate means. Words only."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.select import RULES


@dataclass(frozen=True, slots=True)
class Meaning:
    """A title of a few words and three sentences; `can` says what the person who reads it can do."""

    title: str
    means: str
    done: str
    can: str


MEANINGS: dict[str, Meaning] = {
    # --- the tree ---
    "dangling_link": Meaning(
        "Link to nothing",
        "A link in the tree points to a place that does not exist.",
        "Nothing was read there, and no run stands for it.",
        "Fetch the missing target, or remove the link, and ingest again.",
    ),
    "loop": Meaning(
        "Link in a circle",
        "Links lead back to themselves, to a directory above, or fork so often that they never end.",
        "They were followed until the circle was plain and no further; nothing was read twice.",
        "Remove the link that closes the circle.",
    ),
    "outside_root": Meaning(
        "Link out of the tree",
        "A link leads to a place outside the tree that was named for reading.",
        "It was not followed, and nothing behind it was read.",
        "If the place is to be trusted, ingest again with --allow-outside and its directory.",
    ),
    "link_as_text": Meaning(
        "Link that became a text file",
        "A download turned a link into a small file that holds only the link's target, and that target is not there.",
        "No run was made of it.",
        "Fetch the target, or restore the link, and ingest again.",
    ),
    "unreadable": Meaning(
        "Not readable",
        "The system refused to open or to read a file or directory.",
        "It was passed over, and a run that was read from it earlier stays as it was.",
        "Check the rights and the disk, and ingest again.",
    ),
    "unknown_form": Meaning(
        "Unknown form",
        "The file looks like data, but its content is none of the forms that can be read.",
        "It was left alone and counts in no figure.",
        "Fetch the real file where this is a pointer, or convert it to one JSON object a line.",
    ),
    "undecided": Meaning(
        "Undecided",
        "Several files could be the run, or the path does not say which run the rows are; no rule settles it.",
        "None of these files became a run, because a guess could count the wrong answers.",
        "Name the file that counts in clinboard.yaml, or move the others away.",
    ),
    "override": Meaning(
        "Left out on request",
        "The configuration of this tree says that the file is to be left out.",
        "It was left out, for the reason given there.",
        "Change clinboard.yaml if it should count after all.",
    ),
    "config_unused": Meaning(
        "Configuration without effect",
        "A line of clinboard.yaml matches no file of the tree.",
        "The line was passed over; everything else in the file was used.",
        "Correct the path on that line, or remove it.",
    ),
    "moved_tree": Meaning(
        "Tree at a new place",
        "The same files were read earlier from another place, which is gone now.",
        "The runs were kept, and their history goes on here; nothing was added twice.",
        "Nothing needs to be done.",
    ),
    "copied_tree": Meaning(
        "Copy of another tree",
        "The tree holds files that are also in another source that is still there.",
        "Their runs were recognised by their bytes and not added again.",
        "Nothing needs to be done; remove one of the copies if it is not wanted.",
    ),
    "file_gone": Meaning(
        "File gone",
        "A run was read from this file earlier, and the file is no longer in the tree.",
        "The run stays as it was, because a tree may be there only in part.",
        "Restore the file, or leave the run out in clinboard.yaml if it should not count.",
    ),
    "retired": Meaning(
        "Run retired",
        "The tree now says that this file is no run, or that its run lies elsewhere.",
        "The run was taken off its board and is kept as superseded history.",
        "Nothing, if the change was meant; else put the file back and ingest again.",
    ),
    # --- lines and rows ---
    "too_long": Meaning(
        "Line too long",
        "One line is longer than the limit for a line.",
        "The line was skipped and counted as broken; its row is in no figure.",
        "Look whether line ends were lost there, and write the file again.",
    ),
    "truncated_archive": Meaning(
        "Archive cut short",
        "A compressed file is damaged or ends before its end.",
        "The rows before the damage were loaded; what follows is lost.",
        "Fetch the file again and ingest again.",
    ),
    "invalid_utf8": Meaning(
        "Not UTF-8",
        "A line holds bytes that are no UTF-8 text.",
        "The line was skipped and counted as broken, because its text cannot be known.",
        "Write the row again as UTF-8.",
    ),
    "bad_json": Meaning(
        "Broken JSON",
        "A line or a document is not valid JSON, or is nested or numbered beyond what can be read.",
        "A broken line was skipped and counted; a broken document was passed over as a whole.",
        "Look at the place that is given, and write the file again from its origin.",
    ),
    "not_json": Meaning(
        "Not JSON",
        "A line holds other text, such as a message of the program that wrote the file.",
        "The line was skipped and counted as broken; it holds no row.",
        "Nothing, if no answer is missing; else repeat the question.",
    ),
    "truncated_array": Meaning(
        "Array cut off",
        "A file that holds one JSON array ends in the middle of it.",
        "The rows before the break were read; what came after is not there.",
        "Fetch the file again, or write it again.",
    ),
    "not_an_object": Meaning(
        "JSON that is no row",
        "A line is valid JSON but no object, so it has no fields.",
        "The line was skipped and counted as broken.",
        "Write one JSON object a line.",
    ),
    "bad_row": Meaning(
        "Unusable row",
        "A row can be read, but a field that it needs is missing or of the wrong type.",
        "The row was skipped; it is in no figure.",
        "Correct the field that the message names.",
    ),
    "glued": Meaning(
        "Rows glued together",
        "Two or more complete rows stand on one line, as when two processes write to one file.",
        "The rows were split, loaded and marked as recovered; the headline does not count them, the recovered variants do.",
        "Put each row on a line of its own if it should count in the headline.",
    ),
    "cut_start_then_row": Meaning(
        "Cut row, then a whole one",
        "A row breaks off, and a complete one follows on the same line.",
        "The whole row was loaded and marked as recovered, in no headline; the cut one is lost.",
        "Repeat the lost question, and put the whole row on a line of its own.",
    ),
    "truncated_last_line": Meaning(
        "Last line cut short",
        "The file ends in the middle of a row, as when a writer is stopped or a copy is incomplete.",
        "All rows before it were loaded; the last one is lost.",
        "Fetch the file again, or finish the run.",
    ),
    "no_id": Meaning(
        "Row without an id",
        "A row does not say which question it answers.",
        "It was counted as read and not loaded, so it is in no figure.",
        "Find out why the writer left the id empty; the answer cannot be placed without it.",
    ),
    "no_rows": Meaning(
        "Not one row",
        "The file should hold a run, but no row in it could be loaded.",
        "No run was made of it.",
        "Look at the other findings of this file for the cause.",
    ),
    "too_many_repeats": Meaning(
        "Too many repeats",
        "The rows carry more repeat numbers than any study has; the field seems to hold something else.",
        "Nothing of the file was loaded.",
        "Correct run_index, or state the repeat in clinboard.yaml.",
    ),
    "boolean_score": Meaning(
        "Score that is true or false",
        "A judge's score is a truth value where a number is due; the public code would count it as 1 or 0.",
        "It was not counted as a score.",
        "Let the judge score the answer again.",
    ),
    "odd_shape": Meaning(
        "Oddly shaped row",
        "A row has a shape at which the public scorer would stop and lose the whole file.",
        "The row was read as far as possible, and the other rows were scored as usual.",
        "Nothing for our figures; expect the public scorer to fail on this file.",
    ),
    # --- items ---
    "missing_items": Meaning(
        "Questions without a row",
        "Questions of the split have no row in the run.",
        "They count 0 in the headline, as the benchmark demands; the variant over answered questions leaves them out.",
        "Finish the run for these questions and ingest again.",
    ),
    "extra_items": Meaning(
        "Unknown questions",
        "Rows answer questions that the gold of this split does not have.",
        "They were loaded and kept, but not scored.",
        "Check that the run was made with the release and split that its path names.",
    ),
    "off_dataset": Meaning(
        "Not in the dataset",
        "An answer belongs to no item of the dataset; the public code counts it all the same.",
        "It was left out of the figures.",
        "Check that answers and dataset are of the same release.",
    ),
    "duplicates_conflicting": Meaning(
        "Answered twice, differently",
        "Questions have several rows whose answers differ.",
        "One of them counts, by the rule of the evaluator; variants show the figure where another rule would move it.",
        "Find out which rows are the valid ones, and remove the others.",
    ),
    "duplicates_same": Meaning(
        "Answered twice, alike",
        "Questions have several rows that give the same answer.",
        "Each question was counted once.",
        "Nothing needs to be done; the figures do not depend on it.",
    ),
    "duplicate": Meaning(
        "Answered again",
        "A question is answered again within one repeat.",
        "The first answer counts; the others are kept but not scored.",
        "If it was a repeat of its own, give it its own file and repeat number.",
    ),
    "task_differs": Meaning(
        "Task named otherwise",
        "Rows name another task for a question than the gold does.",
        "The gold's task was used in every breakdown.",
        "Nothing for our figures; a breakdown made from the rows would differ.",
    ),
    # --- gold ---
    "gold_missing": Meaning(
        "No gold",
        "The right answers for this benchmark, release and split were not found.",
        "The run was not loaded, or, where its files carry scores, it was loaded and is not ranked.",
        "Give the dataset with --gold RELEASE=PATH, and ingest again.",
    ),
    "bad_gold": Meaning(
        "Unusable gold",
        "The gold was found, but it cannot be used, for the reason given.",
        "Runs that need it were not loaded.",
        "Fetch the dataset again, or name another one with --gold.",
    ),
    "gold_differs": Meaning(
        "Other gold of the same name",
        "The gold at hand differs from what was loaded before under the same release and split.",
        "The loaded gold was kept, and the run was not scored against the new one.",
        "Give the other gold a release name of its own.",
    ),
    "split_size": Meaning(
        "Split of another size",
        "The gold holds another number of questions than was published for this split.",
        "The gold at hand was used as it is, so figures are over its questions.",
        "Check that the dataset is complete; state the number in clinboard.yaml if it is meant to differ.",
    ),
    # --- models ---
    "unregistered_model": Meaning(
        "Unregistered model",
        "The name of the model is in no register and is no exact alias of a known one.",
        "The model was kept under exactly this name and merged with nothing.",
        "Register it, or state the alias in clinboard.yaml.",
    ),
    "model_differs": Meaning(
        "Rows of another model",
        "Rows say that another model answered than the directory does.",
        "The run stays under the model of its directory, and the rows count.",
        "Find out which of the two is right; state the model in clinboard.yaml if it is the rows.",
    ),
    "unknown_provider_id": Meaning(
        "Unknown provider id",
        "Rows name a provider's model id that is no known alias of the directory's model.",
        "The run stays under the model of its directory.",
        "Add the id as an alias if it is that model.",
    ),
    # --- stored figures ---
    "stale_summary": Meaning(
        "Summary that does not agree",
        "A summary file beside the answers gives other figures than the answers do; it was often written before a retry.",
        "The figures were computed from the answers; the file's figures are shown beside them and count nowhere.",
        "Compare the two on the run's page, and quote the recomputed figures.",
    ),
    "alias_taken": Meaning(
        "Name taken",
        "The configuration gives a model a name that belongs to another model already.",
        "The name stays with the model that has it; nothing was merged.",
        "Merge the two models in the admin if they are one, or correct clinboard.yaml.",
    ),
    "twin_names": Meaning(
        "Names that look alike",
        "Two names differ only in case or in the form of their characters.",
        "Both were kept apart, byte for byte.",
        "Rename one of them, because some disks can hold only one.",
    ),
    "labels": Meaning(
        "Labels set",
        "A file of labels gave items a dimension of its own.",
        "Breakdowns by this dimension are computed; the headline does not change.",
        "Nothing needs to be done.",
    ),
    "unknown_labels": Meaning(
        "Labels of unknown items",
        "A file of labels names items that are in no split of this tree.",
        "These labels were passed over, and the others set.",
        "Check that the file belongs to this benchmark and release.",
    ),
    "bad_labels": Meaning(
        "Labels not taken",
        "A file of labels sets a dimension that the benchmark itself sets.",
        "Its labels were not taken; the benchmark's own stay.",
        "Give the dimension another name.",
    ),
    "summary_without_run": Meaning(
        "Summary without a run",
        "A summary file belongs to no run that was found.",
        "It was compared with nothing.",
        "Give the run's results file, or remove the summary.",
    ),
    "bad_scored_rows": Meaning(
        "Broken scored rows",
        "Lines of a file that a scorer wrote give no row.",
        "They were left out of the comparison; our figures come from the answers and do not change.",
        "Let the scorer write the file again.",
    ),
    "stale_scored_rows": Meaning(
        "Scored before the last answers",
        "A scorer's rows were made from other answers than the results file holds now.",
        "The figures were computed from the present answers.",
        "Let the scorer run again.",
    ),
    "rows_written_twice": Meaning(
        "Scored rows twice",
        "A scorer's file holds more rows than the run, as when it wrote behind what was there.",
        "The file counts in no figure; its counts are too high.",
        "Remove the file and let the scorer write it again.",
    ),
    "judge_outage": Meaning(
        "Judge was out",
        "For some rows the judge gave no verdict that can be read, or failed.",
        "Without a verdict these rows count as wrong in the stored summary.",
        "Let the judge score these rows again.",
    ),
    "json_array": Meaning(
        "Array in place of lines",
        "The file is one JSON array where one object a line is usual.",
        "It was read all the same; places are given as JSON Pointers.",
        "Nothing needs to be done.",
    ),
    "curated_text_leak": Meaning(
        "Curated text in the question",
        "The model was given the timeline that it should find with tools, so the run is no agentic one.",
        "The rows were loaded and scored as they are.",
        "Run it again with the short prompt, or leave the run out in clinboard.yaml.",
    ),
    "salvaged_answers": Meaning(
        "Answers made of plain text",
        "The model called no finish tool, and the runner made an answer out of its text.",
        "They were scored like any other.",
        "Look at some of them before you compare models.",
    ),
    "repaired_answers": Meaning(
        "Repaired answers",
        "A script put answers in after the run.",
        "They were scored like any other.",
        "Give the file before the repair if the model's own answers should count.",
    ),
    "prose_answers": Meaning(
        "Prose among the answers",
        "Answers hold whole sentences or long text where a list of terms is due.",
        "Each line counts as one wrong answer.",
        "Look at them; the text may hold an answer that a better parser would find.",
    ),
    "no_finish_call": Meaning(
        "Finished without an answer",
        "Rows say that they are completed and hold no finish call with an answer.",
        "They count 0.",
        "Run these questions again, or repair the rows from their last message.",
    ),
    "finish_namespace": Meaning(
        "Finish tool of another name",
        "Rows give their answer to a tool of another name than the benchmark's.",
        "They count as the official scorer of the benchmark counts them; the message says how.",
        "Correct the name of the tool in the runner.",
    ),
    "unreadable_answers": Meaning(
        "Unreadable answers",
        "The finish tool was called with arguments that hold no answer the scorer can read.",
        "They count 0.",
        "Look at some of them; a runner that checks the arguments lets the model try again.",
    ),
    "empty_answers": Meaning(
        "Empty answers",
        "Calls that did not fail gave an empty answer.",
        "They count 0.",
        "Look at the model's text, where an answer may stand that the runner missed.",
    ),
    "incomplete_rows": Meaning(
        "Ended without an answer",
        "The model stopped, or a limit of rounds or calls was reached before an answer.",
        "They are part of the result and count 0.",
        "Nothing; a higher limit is another protocol.",
    ),
    "failed_calls": Meaning(
        "Failed calls",
        "The provider or the connection failed, so these rows say nothing about the model.",
        "They count 0.",
        "Take these rows out of the file and run their questions again.",
    ),
    "empty_trajectories": Meaning(
        "No message kept",
        "Rows hold no message, so what the model did before a failure is lost.",
        "They were loaded and count 0.",
        "Nothing can be looked up; run these questions again.",
    ),
    "images_dropped": Meaning(
        "Images dropped",
        "Questions were asked without some of their images.",
        "Their answers were scored as they are.",
        "Check the paths of the images and run these questions again.",
    ),
    "old_rows": Meaning(
        "Rows of an older runner",
        "Rows have neither status nor stop reason.",
        "They were read all the same; a call counts as failed where the row holds an error.",
        "Nothing needs to be done.",
    ),
    "region_rows": Meaning(
        "Few rows of one region",
        "One region answered far fewer questions than the others, because it was slow or refused calls.",
        "All rows that are there were loaded.",
        "Run the missing questions again, in another region.",
    ),
    "foreign_tasks": Meaning(
        "Rows of other tasks",
        "Rows are of tasks that the gold does not have, as when files of two splits are joined.",
        "No figure counts them.",
        "Check that gold and run are of the same benchmark and split.",
    ),
    "tasks_missing": Meaning(
        "Tasks without rows",
        "Whole tasks have no row, or only few of their questions do.",
        "The missing questions count 0; a figure over answered questions alone would hide them.",
        "Finish the run for these tasks.",
    ),
}

# Fates that no rule of the selection and no finding explains.
FATES: dict[str, str] = {
    "run": "read and loaded as a run",
    "summary": "compared with what the answers give",
    "gold": "right answers, used for scoring",
    "duplicate_path": "another path to a file that is read already",
    "no_gold": "its right answers are not at hand, so it was not loaded",
    "results": "rows of results that became no run",
    "liveclin": "a LiveClin results file that became no run",
    "llmeval": "a scored LLMEval-Med file that became no run",
    "summary_text": "a summary in prose, which is not compared",
    "operational": "the driver’s own bookkeeping",
    "scored": "rows that a scorer wrote",
    "repaired": "answers repaired after the run",
    "array": "an array of rows where one object a line is expected",
    "unknown": "none of the known forms",
    "lfs_pointer": "a Git LFS pointer in place of the file",
    "other": "nothing that concerns results",
    **{name: text for name, text, _ in RULES},
}


def fate_in_words(fate: str) -> str:
    """What became of a file, and why; "" for a fate without words."""
    if fate in FATES:
        return FATES[fate]
    return MEANINGS[fate].means.rstrip(".") if fate in MEANINGS else ""
