"""Stored summaries: which run each is of, what it is compared with, and what its rows give away."""

from __future__ import annotations

import json
import random
import tarfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluation.protocols.clinseek_mm_stored import ScoredRow, counted, judge_free, summarise
from ingest.models import SourceFile, StoredSummary
from ingest.readers import mm_markdown
from ingest.summaries.comparison import Comparison, numbers
from tests.ingest.trees import (
    SHARED,
    Called,
    Row,
    Tree,
    answered,
    ehr_gold,
    failed,
    finish,
    ingest,
    run_path,
    small_tree,
)

FIVE = ("precision", "recall", "f1", "accuracy", "subset_match")
FULL = "mm_bench/agentic/full2703"
SCORED = "mm_bench/agentic/scored"

# --- a plain scorer of the three forms --------------------------------------------------------------------------------

VOCABULARY = {"first thing": "Finding One", "second": "Finding Two"}


def plain_row(row: Row, form: str, verdict: Any = True) -> Row | None:
    """A scored row as the form's scorer writes it; None where the row has no label."""
    names = [entry["name"] for entry in row.get("label") or []]
    if not names:
        return None
    response, note = None, "no_finish_call"
    if row["messages"]:
        response, note = json.loads(row["messages"][0]["tool_calls"][0]["function"]["arguments"])["response"], "ok"
    texts = response or []
    out: Row = {
        "qid": row["qid"],
        "run_index": row["run_index"],
        "task": row["task"],
        "len_gold": len(names),
        "gold_names": names,
        "prediction_raw": response,
        "prediction_strs": texts,
        "note": note,
        "status": row["status"],
    }
    if response is None:
        return {**out, "route": "incomplete", "correct": False, **dict.fromkeys(FIVE, 0.0)}
    if len(names) == 1:
        judged = {
            "judge_subtype": "generic_string",
            "judge_match": verdict,
            "judge_reason": "made up",
            "judge_raw": "{}",
        }
        return {**out, "route": "llm_judge", **judged, "correct": verdict, **dict.fromkeys(FIVE, float(bool(verdict)))}
    raw = plain_set(texts, names)
    if form == "old_summary":
        return {**out, "route": "set_f1", **raw}
    mapped = [VOCABULARY.get(text.strip().lower(), text) for text in texts]
    out |= {"route": "set_f1", "prediction_strs_mapped": mapped}
    out |= plain_set([" ".join(text.split()) for text in mapped], names)
    return out if form == "summary_vocab" else {**out, **{f"{name}_raw": value for name, value in raw.items()}}


def plain_set(texts: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    mine, gold = {text.strip().lower() for text in texts} - {""}, {name.strip().lower() for name in names}
    hits = len(mine & gold)
    return {
        "precision": hits / len(mine) if mine else 0.0,
        "recall": hits / len(gold),
        "f1": 2 * hits / (len(mine) + len(gold)),
        "accuracy": hits / len(mine | gold),
        "subset_match": float(mine == gold),
    }


def average(rows: Sequence[Row], name: str) -> float:
    return (
        sum(row.get(name, row.get(name.removesuffix("_raw"), 0.0)) or 0.0 for row in rows) / len(rows) if rows else 0.0
    )


def plain_summary(rows: Sequence[Row], form: str) -> Row:
    """The summary of scored rows, key by key as the format page lists them."""
    names = [*FIVE, *(f"{name}_raw" for name in FIVE)] if form == "integrated" else list(FIVE)
    use = [row for row in rows if form != "summary_vocab" or row["route"] != "incomplete"]
    one, several = [r for r in use if r["len_gold"] == 1], [r for r in use if r["len_gold"] > 1]

    def lost(own: Sequence[Row]) -> int:
        return len([row for row in own if row["route"] == "incomplete"])

    def table(own: Sequence[Row]) -> dict[str, list[Row]]:
        return {task: [row for row in own if row["task"] == task] for task in sorted({row["task"] for row in own})}

    out: Row = {f"len2plus_{name}": average(several, name) for name in names}
    out |= {"len2plus_count": len(several), "len1_count": len(one), "len1_accuracy": average(one, "f1")}
    sets = {task: {"count": len(own)} | {n: average(own, n) for n in names} for task, own in table(several).items()}
    len1 = {task: {"count": len(own), "accuracy": average(own, "f1")} for task, own in table(one).items()}
    if form == "summary_vocab":
        out |= {
            "per_task_len2plus_vocab": sets,
            "per_task_len1": len1,
            "vocab_threshold": 0.55,
            "vocab_model": "made-up",
        }
    else:
        for task, own in table(several).items():
            sets[task]["incomplete"] = lost(own)
        for task, own in table(one).items():
            judged = [row for row in own if row["route"] == "llm_judge"]
            len1[task] |= {"incomplete": lost(own), "correct": sum(row["f1"] > 0 for row in own)}
            len1[task]["by_subtype"] = {"generic_string": len(judged)} if judged else {}
            len1[task]["by_subtype_accuracy"] = {"generic_string": average(judged, "f1")} if judged else {}
        out |= {"total": len(rows), "incomplete": lost(rows), "per_task_len1": len1, "per_task_len2plus": sets}
    if form != "old_summary":
        unified = {f"unified_{name}": average(rows, name) for name in names}
        out |= {name: value for name, value in unified.items() if form == "integrated" or "subset" not in name}
        out |= {"unified_count": len(rows), "vocab_model": "made-up"}
        out["per_task_unified"] = {
            task: {"count": len(own)} | {n: average(own, n) for n in names} for task, own in table(rows).items()
        }
    return out


FORMS = ("old_summary", "integrated", "summary_vocab")
FILES = {
    "old_summary": ("summary.json", "scored.jsonl"),
    "integrated": ("summary.json", "scored.jsonl"),
    "summary_vocab": ("summary_vocab.json", "rescored.jsonl"),
}


def gold_rows(count: int = 12) -> list[Row]:
    labels = [["yes"], ["Finding One", "Finding Two"], ["7"], ["Finding Two", "Ward", "Finding One"]]
    return [
        {
            "qid": f"ehrxqa_test_{number}",
            "task": f"ehrxqa_{'table' if number % 3 else 'image'}",
            "subject_id": number // 2,
            "label": [{"name": name} for name in labels[number % 4]],
        }
        for number in range(count)
    ]


def results(golds: Sequence[Row], seed: int = 1) -> list[Row]:
    """One row a question, drawn; some incomplete, one failed without label."""
    generator = random.Random(seed)
    choices = ["yes", "No", "7", "first thing", "SECOND ", "finding  one", "Finding Two", "ward", "nothing"]
    rows = []
    for gold in golds:
        answers = generator.sample(choices, generator.randint(1, 3))
        rows.append(answered(gold["qid"], *answers, task=gold["task"], label=gold["label"]))
    rows[3] |= {"messages": [], "status": "incomplete", "stop_reason": "no_final_answer"}
    rows[4] |= {"messages": finish('{"response": null}')}
    rows[5] = failed(golds[5]["qid"], task=golds[5]["task"])
    return rows


def score(rows: Iterable[Row], form: str) -> list[Row]:
    found = [plain_row(row, form, verdict=row["qid"][-1] in "0248") for row in rows]
    return [row for row in found if row is not None]


def mm_tree(root: Path, *models: str) -> Tree:
    tree = Tree(root)
    tree.lines("gold/mm_bench.jsonl", gold_rows())
    for number, model in enumerate(models or ("glm_4_7",)):
        tree.lines(f"{FULL}/{model}/results.jsonl", results(gold_rows(), number))
    return tree


def write_scores(tree: Tree, folder: str, rows: Sequence[Row], form: str = "old_summary", **changed: Any) -> list[Row]:
    """The summary and the row file of a form, made from results rows; `changed` figures replace what is right."""
    scored = score(rows, form)
    summary, beside = FILES[form]
    tree.json(f"{folder}/{summary}", plain_summary(scored, form) | changed)
    tree.lines(f"{folder}/{beside}", scored)
    return scored


def only(called: Called) -> Row:
    """The only summary of the only run that has one."""
    (found,) = [summary for run in called.runs.values() for summary in run["summaries"]]
    return found


def homes(called: Called) -> dict[str, str]:
    """Path of each summary -> path of its run."""
    return {summary["path"]: path for path, run in called.runs.items() for summary in run["summaries"]}


# --- the arithmetic ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_rows_counted_again_are_the_scorers_summary(form: str, seed: int) -> None:
    """Against the plain twin; nothing is read from a row's own values, only from its verdict and strings."""
    scored = score(results(gold_rows(40), seed), form)
    bare = [{key: value for key, value in row.items() if key.removesuffix("_raw") not in FIVE} for row in scored]
    ours = dict(numbers(summarise(counted([msgspec.convert(row, ScoredRow) for row in bare]), form)))
    theirs = {path: value for path, value in numbers(plain_summary(scored, form)) if path != ("vocab_threshold",)}
    assert ours.keys() == theirs.keys()
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_no_rows_give_zeros() -> None:
    assert {value for _, value in numbers(summarise([], "integrated"))} == {0.0}


@pytest.mark.parametrize(
    ("row", "right"),
    [
        ({"judge_match": True}, True),
        ({"judge_match": False, "correct": True}, False),
        ({"correct": True}, True),
        ({}, False),  # the second row of one question and run has no verdict
        ({"judge_match": "false"}, True),  # the scorer takes its truth value
    ],
)
def test_a_verdict_is_taken_as_it_stands(row: Row, right: bool) -> None:
    one = ScoredRow(qid="q", task="t", gold_names=["yes"], note="ok", route="llm_judge", **row)
    assert summarise(counted([one]), "old_summary")["len1_accuracy"] == float(right)


def test_white_space_is_collapsed_where_a_vocabulary_was_in_use() -> None:
    skipped = ScoredRow(qid="q", task="t", gold_names=["a b", "c"], prediction_strs=["A  B"], note="ok", route="set_f1")
    mapped = ScoredRow(
        qid="p", task="u", gold_names=["a", "b"], prediction_strs=["x"], prediction_strs_mapped=["a"], route="set_f1"
    )
    without = summarise(counted([skipped]), "integrated")["per_task_len2plus"]["t"]
    assert (without["recall"], without["recall_raw"]) == (0.0, 0.0)
    beside = summarise(counted([skipped, mapped]), "integrated")["per_task_len2plus"]["t"]
    assert (beside["recall"], beside["recall_raw"]) == (0.5, 0.0)


def test_what_needs_neither_judge_nor_encoder() -> None:
    free = {
        form: {path for path, _ in numbers(plain_summary(score(results(gold_rows()), form), form))} for form in FORMS
    }
    free = {form: {path for path in paths if judge_free(path, form)} for form, paths in free.items()}
    assert not judge_free(("per_task_len1", "ehrxqa_table", "by_subtype_accuracy", "count"), "old_summary")
    assert ("len2plus_f1",) in free["old_summary"] and ("len1_accuracy",) not in free["old_summary"]
    assert ("per_task_len2plus", "ehrxqa_table", "recall") in free["old_summary"]
    assert ("len2plus_f1_raw",) in free["integrated"] and ("len2plus_f1",) not in free["integrated"]
    assert ("unified_f1_raw",) not in free["integrated"]
    assert {path[-1].removeprefix("len1_").removeprefix("len2plus_") for path in free["summary_vocab"]} == {
        "count",
        "unified_count",
    }


PACK = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"


@pytest.mark.skipif(not PACK.exists(), reason="the folder with the official values is not here")
def test_the_row_files_of_the_pack_give_its_stored_summaries(tmp_path: Path) -> None:
    with tarfile.open(PACK) as archive:
        archive.extractall(tmp_path, filter="fully_trusted")  # noqa: S202 - links are part of it
    base = tmp_path / "clinseek"
    compared = 0
    for stored in json.loads((base / "expected.json").read_text())["stored_scores"]:
        files = [name for name in stored["files"] if name.endswith("scored.jsonl")]
        if "summary" not in stored or not files:
            continue
        rows = [msgspec.convert(json.loads(line), ScoredRow) for line in (base / files[0]).read_text().splitlines()]
        theirs = dict(numbers(stored["summary"]))
        theirs.pop(("vocab_threshold",), None)
        assert dict(numbers(summarise(counted(rows), stored["form"]))) == pytest.approx(theirs, abs=1e-9)
        assert sum(row.judge_reason == "judge_unparsed" for row in rows) == stored["judge_unparsed_rows"]
        compared += 1
    assert compared == 10


# --- one run and its scored directory ---------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_a_right_summary_agrees(tmp_path: Path, form: str) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0), form)
    called = ingest(tree)
    summary = only(called)
    assert (summary["path"], summary["form"]) == (f"{SCORED}/glm_4_7/{FILES[form][0]}", form)
    assert summary["agrees"] is True and summary["largest_difference"] < 1e-12
    assert not called.codes & {"stale_summary", "stale_scored_rows", "judge_outage", "summary_without_run"}
    # every figure of the file was compared, but for what is no figure
    figures = {" ".join(path) for path, _ in numbers(json.loads((tmp_path / summary["path"]).read_text()))}
    assert {name for name, _, _ in StoredSummary.objects.get().rows} == figures - {"vocab_threshold"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("form", "figure"),
    [
        ("old_summary", "total"),
        ("old_summary", "len2plus_f1"),
        ("old_summary", "len1_accuracy"),
        ("integrated", "len2plus_f1"),
        ("integrated", "len2plus_recall_raw"),
        ("integrated", "unified_count"),
        ("summary_vocab", "unified_f1"),
        ("summary_vocab", "len1_count"),
    ],
)
def test_a_wrong_figure_is_found(tmp_path: Path, form: str, figure: str) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0), form, **{figure: 50.0})
    called = ingest(tree)
    summary = only(called)
    assert summary["agrees"] is False and summary["largest_difference"] > 0.5
    (finding,) = called.findings("stale_summary")
    assert finding["path"] == summary["path"] and f"{figure} 50 in the file" in finding["message"]


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_without_the_row_file_counts_and_raw_values_are_compared(tmp_path: Path, form: str) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0), form, len1_accuracy=9.0)
    (tmp_path / SCORED / "glm_4_7" / FILES[form][1]).unlink()
    assert only(ingest(tree))["agrees"] is True
    names = {name for name, _, _ in StoredSummary.objects.get().rows}
    assert "len1_count" in names and "len1_accuracy" not in names


@pytest.mark.django_db
def test_rows_scored_from_other_answers_are_named_also_where_every_figure_stands(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    rows[0]["messages"] = finish('{"response": ["something new"]}')  # one gold item: only the verdict knew the old one
    rows[2] = failed(rows[2]["qid"], task=rows[2]["task"], label=rows[2]["label"])
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows)
    called = ingest(tree)
    summary = only(called)
    assert summary["agrees"] is False
    (finding,) = called.findings("stale_scored_rows")
    assert finding["message"].endswith("ehrxqa_test_0, ehrxqa_test_2") and finding["path"] == summary["path"]


@pytest.mark.django_db
def test_only_the_answer_makes_a_row_stale(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    rows[0]["messages"] = finish(
        {"response": json.loads(rows[0]["messages"][0]["tool_calls"][0]["function"]["arguments"])["response"]}
    )
    rows[1]["status"] = "error"
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows)
    called = ingest(tree)
    assert only(called)["agrees"] is True
    assert not called.findings("stale_scored_rows") and not called.findings("stale_summary")


@pytest.mark.django_db
def test_a_row_of_a_question_that_the_run_does_not_have_is_stale(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows[:-1])
    (finding,) = ingest(tree).findings("stale_scored_rows")
    assert "ehrxqa_test_11" in finding["message"]


@pytest.mark.django_db
def test_two_rows_of_one_question_are_both_known(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    rows.append(answered("ehrxqa_test_1", "ward", task=rows[1]["task"], label=rows[1]["label"]))
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows)
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    assert only(ingest(tree))["agrees"] is True


@pytest.mark.django_db
def test_the_answer_of_another_repeat_does_not_excuse_a_row(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    rows += [{**row, "run_index": 2} for row in results(gold_rows(), 1)]
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows)
    assert only(ingest(tree))["agrees"] is True
    rows[0]["messages"], rows[12]["messages"] = rows[12]["messages"], rows[0]["messages"]
    tree.lines(f"{FULL}/glm_4_7/results.jsonl", rows)
    (finding,) = ingest(tree).findings("stale_scored_rows")
    assert finding["message"].endswith(": ehrxqa_test_0")


@pytest.mark.django_db
def test_a_judge_that_was_out_is_counted(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    scored = score(results(gold_rows(), 0), "old_summary")
    judged = [row for row in scored if row["route"] == "llm_judge"]
    for row, said in zip(judged, ("exception: made up", "I cannot say", "no words"), strict=False):
        row |= {"judge_match": False, "correct": False, "judge_reason": "judge_unparsed", "judge_raw": said}
        row |= dict.fromkeys(FIVE, 0.0)
    tree.json(f"{SCORED}/glm_4_7/summary.json", plain_summary(scored, "old_summary"))
    tree.lines(f"{SCORED}/glm_4_7/scored.jsonl", scored)
    called = ingest(tree)
    assert only(called)["agrees"] is True
    (finding,) = called.findings("judge_outage")
    assert "3 rows of scored.jsonl carry judge_unparsed and 1 an exception" in finding["message"]


@pytest.mark.django_db
def test_broken_lines_of_a_row_file_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0))
    file = tmp_path / SCORED / "glm_4_7" / "scored.jsonl"
    file.write_text('{"route": "llm_judge", "gold_names"\n[]\n' + file.read_text())
    called = ingest(tree)
    assert only(called)["agrees"] is True
    assert [finding["message"] for finding in called.findings("bad_scored_rows")] == [
        "2 lines of scored.jsonl give no row"
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("text", ['{"len1_accuracy": NaN, "per_task_len2plus": {}, "total": 1e999}', "[", ""])
def test_a_summary_of_no_use_compares_nothing(tmp_path: Path, text: str) -> None:
    tree = mm_tree(tmp_path)
    tree.text(f"{SCORED}/glm_4_7/summary.json", text)
    called = ingest(tree)
    found = [summary for run in called.runs.values() for summary in run["summaries"]]
    assert [(one["agrees"], one["largest_difference"]) for one in found] in ([], [(None, None)])


# --- Markdown ---------------------------------------------------------------------------------------------------------


def as_markdown(document: Row, form: str) -> str:
    """A summary in words, with 4 decimals, as section 4.5 of the format page describes it."""

    def cell(entry: Row, name: str) -> str:
        return f"{entry[f'{name}_raw']:.4f} → {entry[name]:.4f}" if f"{name}_raw" in entry else f"{entry[name]:.4f}"

    def table(title: str, entries: Row, columns: Sequence[tuple[str, str]]) -> list[str]:
        lines = [f"## {title}", "", f"| task | n | {' | '.join(head for head, _ in columns)} |", "|---|" * 2]
        for task, entry in entries.items():
            cells = [str(entry[key]) if key == "incomplete" else cell(entry, key) for _, key in columns]
            lines.append(f"| {task} | {entry['count']} | {' | '.join(cells)} |")
        return [*lines, ""]

    sets = [("precision", "precision"), ("recall", "recall"), ("F1 (raw → mapped)", "f1"), ("jaccard", "accuracy")]
    unified = "Per-task unified F1 (len=1 judge + len>=2 set metrics)"
    d = document
    if form == "summary_vocab":
        lines = ["# Vocabulary-normalized re-scoring — made up", ""]
        lines += [f"- len=1 rows unchanged (judge verdicts preserved). n={d['len1_count']}."]
        lines += [f"- len≥2 rows re-scored after vocabulary mapping. n={d['len2plus_count']}.", "", "## Headline", ""]
        lines += ["| metric | before | after | Δ |", "|---|---:|---:|---:|"]
        lines += [
            f"| {name} | 0.1000 | {d[f'len2plus_{name}']:.4f} | +1.00 pp |" for name in ("precision", "recall", "f1")
        ]
        lines += ["", *table("Per-task len≥2 after normalization", d["per_task_len2plus_vocab"], sets)]
        lines += table(unified, d["per_task_unified"], sets)
        lines += ["### Overall unified F1", "", f"- n = {d['unified_count']}", f"- F1 = **{d['unified_f1']:.4f}**"]
        lines += [f"- precision = {d['unified_precision']:.4f}", f"- recall = {d['unified_recall']:.4f}"]
        return "\n".join([*lines, f"- jaccard accuracy = {d['unified_accuracy']:.4f}", ""])
    lines = ["# Scoring summary — `results.jsonl`", "", f"- total rows: **{d['total']}**"]
    lines += [f"- incomplete (no finish): **{d['incomplete']}**"]
    judge = f"- len=1 (judge) accuracy: **{d['len1_accuracy']:.4f}** (n={d['len1_count']})"
    if form == "integrated":
        lines += ["- vocab normalization: model=`made-up`, threshold=0.55", "", judge]
        lines += [
            f"- len>=2 F1 (mapped): **{d['len2plus_f1']:.4f}** | raw: {d['len2plus_f1_raw']:.4f} | ΔF1: +14.85 pp "
            f"(n={d['len2plus_count']})"
        ]
        lines += [
            f"- **unified F1 (mapped): {d['unified_f1']:.4f}** | raw: {d['unified_f1_raw']:.4f} (n={d['unified_count']})"
        ]
    else:
        lines += ["", judge]
        lines += [
            f"- len>=2 F1: **{d['len2plus_f1']:.4f}** | P: {d['len2plus_precision']:.4f} | R: {d['len2plus_recall']:.4f} | "
            f"subset_match: {d['len2plus_subset_match']:.4f} (n={d['len2plus_count']})"
        ]
    one = [("accuracy", "accuracy"), ("incomplete", "incomplete")]
    lines += ["", *table("Per-task (len=1, judge accuracy)", d["per_task_len1"], one)]
    lines += table("Per-task (len>=2, set metrics)", d["per_task_len2plus"], [*sets, ("incomplete", "incomplete")])
    return "\n".join(lines + (table(unified, d["per_task_unified"], sets) if form == "integrated" else []))


@pytest.mark.parametrize("form", FORMS)
def test_markdown_says_what_the_json_says(form: str) -> None:
    document = plain_summary(score(results(gold_rows(40), 3), form), form)
    parsed = mm_markdown.parse(as_markdown(document, form))
    assert parsed is not None and parsed[0] == form
    theirs, whole = dict(numbers(parsed[1])), dict(numbers(document))
    assert len(theirs) > 20 and theirs.keys() <= whole.keys()
    assert theirs == pytest.approx({path: whole[path] for path in theirs}, abs=5.1e-5)


@pytest.mark.parametrize("text", ["", "# Scoring", "# Scored by hand\n\n| task | n |\n|---|---|\n| a | 1 |"])
def test_other_markdown_is_no_summary(text: str) -> None:
    assert mm_markdown.parse(text) is None


@pytest.mark.parametrize(
    "text", ["# Scoring summary\n|\n||\n| a |\n## Per-task (len=1)\n| x | n |\n| y | - |\n- total rows: **?**"]
)
def test_broken_markdown_gives_no_figures(text: str) -> None:
    parsed = mm_markdown.parse(text)
    assert parsed is not None and list(numbers(parsed[1])) == []


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_markdown_alone_is_compared_to_its_four_decimals(tmp_path: Path, form: str) -> None:
    tree = mm_tree(tmp_path)
    document = plain_summary(score(results(gold_rows(), 0), form), form)
    name = f"{SCORED}/glm_4_7/{FILES[form][0].replace('.json', '.md')}"
    tree.text(name, as_markdown(document, form))
    summary = only(ingest(tree))
    assert (summary["path"], summary["form"], summary["agrees"]) == (name, f"{form}_md_only", True)
    assert summary["largest_difference"] <= 5.1e-5
    tree.text(name, as_markdown({**document, "len1_count": 99}, form))
    assert only(ingest(tree))["agrees"] is False


@pytest.mark.django_db
def test_markdown_beside_its_json_and_other_markdown_are_left_alone(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0))
    tree.text(f"{SCORED}/glm_4_7/summary.md", "# Scoring summary\n- total rows: **99**")
    tree.text(f"{FULL}/glm_4_7/summary.md", "# Notes of somebody")
    called = ingest(tree)
    assert only(called)["agrees"] is True and "summary_without_run" not in called.codes


# --- the hierarchical tree --------------------------------------------------------------------------------------------

LEAF = "hierarchical/agentic/ehr_bench/glm_4_7/L1.text_only/L2.made_up/L3.made_up/L4.labevents"


def leaf_rows() -> list[Row]:
    """Of the small tree: q1 half right, q2 wrong; the third question has no row and is not counted."""
    return [
        {"qid": "q1", "f1": 2 / 3, "precision": 1.0, "recall": 0.5, "gold": ["Alpha", "Beta"], "pred": ["alpha"]},
        {"qid": "q2", "f1": 0.0, "precision": 0.0, "recall": 0.0, "gold": ["Gamma"], "pred": ["delta"]},
    ]


def write_leaf(tree: Tree, times: int, leaf: str = LEAF, rows: Sequence[Row] = ()) -> None:
    found = list(rows or leaf_rows()) * times
    tree.lines(f"{leaf}/rows.jsonl", found)
    means = {name: average(found, name) for name in ("f1", "precision", "recall")}
    tree.json(f"{leaf}/summary.json", {"count": len(found), **means})


@pytest.mark.django_db
def test_a_leaf_written_once_agrees(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    write_leaf(tree, 1)
    called = ingest(tree)
    assert homes(called) == {f"{LEAF}/summary.json": run_path("glm_4_7")}
    assert (only(called)["form"], only(called)["agrees"]) == ("hierarchical", True)
    assert "rows_written_twice" not in called.codes


@pytest.mark.django_db
def test_a_leaf_written_twice_is_told_though_its_means_stand(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    write_leaf(tree, 2)
    called = ingest(tree)
    assert (only(called)["agrees"], only(called)["largest_difference"]) == (False, 2.0)
    (finding,) = called.findings("rows_written_twice")
    assert "4 rows in rows.jsonl for 2 rows of the run" in finding["message"]
    assert "count 4 in the file, 2 recomputed" in called.findings("stale_summary")[0]["message"]


@pytest.mark.django_db
def test_a_leaf_counts_every_row_of_a_question_and_strips(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.lines(
        run_path("glm_4_7"), [answered("q1", " ALPHA ", "3"), answered("q1", "alpha", "beta"), answered("q2", "x")]
    )
    tree.lines(f"{LEAF}/rows.jsonl", [{"qid": "q1", "f1": 0.5, "gold": [], "pred": []}] * 2)
    tree.json(f"{LEAF}/summary.json", {"count": 2, "f1": (0.5 + 1.0) / 2, "precision": 0.75, "recall": 0.75})
    assert only(ingest(tree))["agrees"] is True


@pytest.mark.django_db
def test_a_leaf_without_its_rows_compares_nothing(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.json(f"{LEAF}/summary.json", {"count": 2, "f1": 0.5, "precision": 0.5, "recall": 0.5})
    assert only(ingest(tree))["agrees"] is None


@pytest.mark.django_db
def test_a_leaf_of_mm_takes_its_values_from_its_own_rows_and_the_count_from_the_run(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    leaf = LEAF.replace("ehr_bench", "mm_bench")
    rows = [
        {"qid": f"ehrxqa_test_{n}", "f1": 0.25, "precision": 1.0, "recall": n / 8, "gold": [], "pred": []}
        for n in range(4)
    ]
    write_leaf(tree, 1, leaf, rows)
    called = ingest(tree)
    assert (only(called)["agrees"], only(called)["largest_difference"]) == (True, 0.0)
    assert sorted(name for name, _, _ in StoredSummary.objects.get().rows) == ["count", "f1", "precision", "recall"]


@pytest.mark.django_db
def test_of_two_splits_the_leaf_is_of_the_one_that_gave_its_answers(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.json("gold/ehr_bench_smoke20.json", ehr_gold({"q1": ["Alpha", "Beta"], "q2": ["Gamma"]}))
    tree.lines(run_path("glm_4_7", split="smoke20"), [answered("q1", "other"), answered("q2", "delta")])
    write_leaf(tree, 1)
    called = ingest(tree)
    assert len(called.runs) == 2
    assert homes(called) == {f"{LEAF}/summary.json": run_path("glm_4_7")}


# --- whose is it? -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    "folder",
    [
        f"{SCORED}/glm_4_7",
        f"{FULL}/glm_4_7",
        "mm_bench/agentic/scored_vocab/glm_4_7",
        "mm_bench/scored/glm_4_7",
        "scored/glm_4_7",
    ],
)
def test_a_scored_directory_is_named_after_the_results_directory(tmp_path: Path, folder: str) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    write_scores(tree, folder, results(gold_rows(), 0), "integrated")
    assert homes(ingest(tree)) == {f"{folder}/summary.json": f"{FULL}/glm_4_7/results.jsonl"}


@pytest.mark.django_db
def test_a_linked_scored_directory_is_shown_by_the_models_name(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(
        tree,
        "mm_bench/agentic/full2703/_multi_eval_raw/s/scored_vocab/glm-4-7",
        results(gold_rows(), 0),
        "summary_vocab",
    )
    tree.link(f"{SCORED}/glm_4_7", "../full2703/_multi_eval_raw/s/scored_vocab/glm-4-7")
    assert homes(ingest(tree)) == {f"{SCORED}/glm_4_7/summary_vocab.json": f"{FULL}/glm_4_7/results.jsonl"}


def two_inputs(root: Path, *, seeds: tuple[int, int] = (1, 2)) -> Tree:
    """Agentic and one-shot results of one model, whose scorer wrote both into `mm_bench/scored/glm_4_7`."""
    tree = mm_tree(root)
    for mode, seed in zip(("agentic", "oneshot"), seeds, strict=True):
        tree.lines(f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl", results(gold_rows(), seed))
    return tree


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["agentic", "oneshot"])
def test_two_inputs_in_one_directory_the_rows_say_whose_it_is(tmp_path: Path, mode: str) -> None:
    tree = two_inputs(tmp_path)
    rows = results(gold_rows(), 1 if mode == "agentic" else 2)
    write_scores(tree, "mm_bench/scored/glm_4_7", rows)
    rows[0]["messages"] = finish('{"response": ["changed since"]}')
    tree.lines(f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl", rows)
    called = ingest(tree)
    assert homes(called) == {"mm_bench/scored/glm_4_7/summary.json": f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl"}
    assert "ehrxqa_test_0" in called.findings("stale_scored_rows")[0]["message"]
    again = ingest(tree)
    assert homes(again) == homes(called) and again.document["rows_read"] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("with_rows", [True, False])
def test_two_inputs_that_fit_alike_are_a_finding_and_never_a_guess(tmp_path: Path, with_rows: bool) -> None:
    tree = two_inputs(tmp_path, seeds=(1, 1))
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 1))
    if not with_rows:
        (tmp_path / "mm_bench/scored/glm_4_7/scored.jsonl").unlink()
    called = ingest(tree)
    assert homes(called) == {}
    (finding,) = called.findings("summary_without_run")
    assert finding["path"] == "mm_bench/scored/glm_4_7/summary.json"
    assert "mm_bench/agentic" in finding["message"] and "mm_bench/oneshot" in finding["message"]
    again = ingest(tree)
    assert (homes(again), again.document["rows_read"]) == ({}, 0)
    assert again.findings("summary_without_run") == called.findings("summary_without_run")


@pytest.mark.django_db
def test_an_undecided_summary_finds_its_run_when_the_other_one_changes(tmp_path: Path) -> None:
    tree = two_inputs(tmp_path, seeds=(1, 1))
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 1))
    assert homes(ingest(tree)) == {}
    tree.lines("mm_bench/oneshot/full2703/glm_4_7/results.jsonl", results(gold_rows(), 2))
    called = ingest(tree)
    # the agentic run itself is unchanged, and is read again for the sake of its summary
    assert homes(called) == {"mm_bench/scored/glm_4_7/summary.json": f"{FULL}/glm_4_7/results.jsonl"}
    assert only(called)["agrees"] is True
    assert StoredSummary.objects.count() == 1


@pytest.mark.django_db
def test_a_summary_that_no_path_names_goes_to_the_run_whose_answers_its_rows_are(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5", "minimax_m2_5")
    write_scores(tree, "somewhere/else", results(gold_rows(), 1))
    called = ingest(tree)
    assert homes(called) == {"somewhere/else/summary.json": f"{FULL}/kimi_k2_5/results.jsonl"}
    assert homes(ingest(tree)) == homes(called)


@pytest.mark.django_db
def test_one_answer_off_is_enough_where_no_path_names_the_run(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    scored = write_scores(tree, "somewhere/else", results(gold_rows(), 1))
    scored[-1]["prediction_strs"] = ["another"]
    tree.lines("somewhere/else/scored.jsonl", scored)
    called = ingest(tree)
    assert homes(called) == {}
    assert "its path names none" in called.findings("summary_without_run")[0]["message"]
    assert ingest(tree).findings("summary_without_run") == called.findings("summary_without_run")


@pytest.mark.django_db
def test_an_archived_summary_is_reported_with_its_run_and_stays_archived(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    write_scores(tree, "_archive/mm_scored_novocab", results(gold_rows(), 0))
    write_scores(tree, "_archive/of_nobody", results(gold_rows(), 9))
    called = ingest(tree)
    path = "_archive/mm_scored_novocab/summary.json"
    assert homes(called) == {path: f"{FULL}/glm_4_7/results.jsonl"}
    assert only(called)["agrees"] is True
    assert called.not_runs[path] == "archived"
    assert SourceFile.objects.get(path=path).fate == "archived"
    assert "summary_without_run" not in called.codes
    again = ingest(tree)
    assert again.document["rows_read"] == 0 and homes(again) == homes(called)


@pytest.mark.django_db
def test_a_summary_of_another_benchmark_is_not_the_runs(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    tree.json(f"{FULL}/glm_4_7/scores.json", {"per_task": {}, "per_task_type": {}})
    called = ingest(tree)
    assert homes(called) == {} and len(called.findings("summary_without_run")) == 1


@pytest.mark.django_db
def test_nothing_is_said_of_summaries_beside_refused_results(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.lines(run_path("glm_4_7_retried"), [answered("q1", "x")])
    tree.json("ehr_bench/agentic/full1800/glm_4_7_retried/scores.json", {"per_task": {}, "per_task_type": {}})
    called = ingest(tree)
    assert called.not_runs[run_path("glm_4_7_retried")] == "retried"
    assert "summary_without_run" not in called.codes


# --- once more --------------------------------------------------------------------------------------------------------


def known(called: Called) -> list[tuple[str, Any]]:
    return sorted((summary["path"], summary["agrees"]) for run in called.runs.values() for summary in run["summaries"])


@pytest.mark.django_db
def test_a_changed_a_new_and_a_removed_summary_of_an_unchanged_run(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    rows = results(gold_rows(), 0)
    old, new = f"{SCORED}/glm_4_7/summary.json", f"{SCORED}/glm_4_7/summary_vocab.json"
    write_scores(tree, f"{SCORED}/glm_4_7", rows)
    assert known(ingest(tree)) == [(old, True)]
    write_scores(tree, f"{SCORED}/glm_4_7", rows, total=99)
    called = ingest(tree)
    assert known(called) == [(old, False)] and called.findings("stale_summary")
    write_scores(tree, f"{SCORED}/glm_4_7", rows, "summary_vocab")
    assert known(ingest(tree)) == [(old, False), (new, True)]
    (tmp_path / old).unlink()
    called = ingest(tree)
    assert known(called) == [(new, True)] and not called.findings("stale_summary")
    assert ingest(tree).document["rows_read"] == 0
    assert {run["state"] for run in called.runs.values()} == {"unchanged"}


@pytest.mark.django_db
def test_changed_rows_beside_an_unchanged_summary_are_read(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    scored = write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0))
    assert only(ingest(tree))["agrees"] is True
    scored[0] |= {"prediction_strs": ["other"], "prediction_raw": ["other"]}
    tree.lines(f"{SCORED}/glm_4_7/scored.jsonl", scored)
    called = ingest(tree)
    assert only(called)["agrees"] is False and called.findings("stale_scored_rows")
    again = ingest(tree)
    assert (again.document["rows_read"], again.document["findings"]) == (0, called.document["findings"])
    assert again.runs[f"{FULL}/glm_4_7/results.jsonl"]["summaries"] == [only(called)]


@pytest.mark.django_db
def test_a_dry_run_of_a_new_tree_says_the_same(tmp_path: Path) -> None:
    tree = two_inputs(tmp_path)
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 2))
    write_scores(tree, "_archive/x", results(gold_rows(), 1), "integrated")
    dry = ingest(tree, "--dry-run")
    assert not StoredSummary.objects.exists()
    real = ingest(tree)
    assert homes(dry) == homes(real) and len(homes(real)) == 2
    assert Counter(map(str, dry.document["findings"])) == Counter(map(str, real.document["findings"]))


def test_agreement() -> None:
    assert Comparison("p", "f").agrees is None
    assert Comparison("p", "f", [("x", 1.0, 1.0 + 5e-10)]).agrees is True
    assert Comparison("p", "f", [("x", 1.0, 1.0 + 5e-9)]).agrees is False
    assert Comparison("p", "f", [("x", 1.0, 1.00004)], tolerance=5e-5).agrees is True
    stale = Comparison("p", "f", [("x", 1.0, 1.0)], stale=("q",))
    assert (stale.agrees, stale.largest_difference) == (False, 0.0)
    assert "other answers" in stale.disagreement
    assert "x 0.2500 in the file, 3 recomputed" in Comparison("p", "f", [("x", 0.25, 3.0)]).disagreement
