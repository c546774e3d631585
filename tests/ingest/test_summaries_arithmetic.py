"""The figures of a stored summary, counted again from its scored rows, and when two figures agree."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import msgspec
import pytest

from evaluation.protocols.clinseek_mm_stored import ScoredRow, counted, judge_free, summarise
from ingest.summaries.comparison import Comparison, numbers
from tests.ingest.mm_scorer import FIVE, FORMS, gold_rows, plain_summary, results, score
from tests.ingest.trees import SHARED, Row


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


def test_agreement() -> None:
    assert Comparison("p", "f").agrees is None
    assert Comparison("p", "f", [("x", 1.0, 1.0 + 5e-10)]).agrees is True
    assert Comparison("p", "f", [("x", 1.0, 1.0 + 5e-9)]).agrees is False
    assert Comparison("p", "f", [("x", 1.0, 1.00004)], tolerance=5e-5).agrees is True
    stale = Comparison("p", "f", [("x", 1.0, 1.0)], stale=("q",))
    assert (stale.agrees, stale.largest_difference) == (False, 0.0)
    assert "other answers" in stale.disagreement
    assert "x 0.2500 in the file, 3 recomputed" in Comparison("p", "f", [("x", 0.25, 3.0)]).disagreement
