"""A stored summary and its scored rows beside the answers of their run: what agrees, what is wrong and what is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.models import StoredSummary
from ingest.summaries.comparison import numbers
from tests.ingest.mm_scorer import (
    FILES,
    FIVE,
    FORMS,
    FULL,
    SCORED,
    gold_rows,
    mm_tree,
    only,
    plain_summary,
    results,
    score,
    write_scores,
)
from tests.ingest.trees import answered, failed, finish, ingest


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
