"""MM-Bench by stored verdicts: equal to the stored summaries of the pack, and a plain twin over invented rows."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks.mm_bench import SPEC
from evaluation.protocols.base import Answer, Outcome
from evaluation.protocols.clinseek_mm import mm_items, read
from evaluation.protocols.clinseek_mm_means import METRICS
from evaluation.protocols.clinseek_mm_stored import ScoredRow
from evaluation.protocols.clinseek_mm_verdicts import Basis, ClinSeekMMStored, raw
from evaluation.protocols.clinseek_rows import from_dict
from tests.evaluation.test_clinseek_mm_raw import PACK, gold_row, row, table
from tests.ingest.trees import Row

FIVE = ("f1", "precision", "recall", "accuracy", "subset_match")
BASIS = Basis("scored.jsonl", "0" * 64, "old_summary", 0, False)
Figures = dict[tuple[str, str, str, str], tuple[float, int]]


def scored(
    gold: Row, *answers: str, verdict: bool | None = None, to: list[str] | None = None, **fields: Any
) -> ScoredRow:
    """A scored row; `to`: the strings that its answers were mapped to."""
    names = [entry["name"] for entry in gold["label"]]
    return ScoredRow(
        **{
            "qid": gold["qid"],
            "run_index": 1,
            "task": gold["task"],
            "len_gold": len(names),
            "gold_names": names,
            "prediction_raw": [*answers],
            "prediction_strs": [*answers],
            "note": "ok",
            "status": "success",
            "route": "llm_judge" if len(names) == 1 else "set_f1",
            "judge_match": verdict,
            "prediction_strs_mapped": to,
            **fields,
        }
    )


def result_of(golds: Sequence[Row], rows: Sequence[ScoredRow], answers: Sequence[Answer] = ()) -> Any:
    return ClinSeekMMStored(("task",)).over(rows, BASIS).evaluate(mm_items(golds), answers, "seed")


# --- the stored summaries of the pack ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PACK.exists():
        pytest.skip("the folder with the official values is not here")
    base = tmp_path_factory.mktemp("clinseek")
    with tarfile.open(PACK) as archive:
        archive.extractall(base, filter="fully_trusted")  # noqa: S202 - links are part of it
    return base / "clinseek"


def figures_of(form: str, summary: dict[str, Any]) -> Figures:
    """(metric, variant, dimension, facet) -> (value, n): where each figure of a stored summary stands among our own."""
    vocab, both = form == "summary_vocab", form == "integrated"
    parts = COMPLETE if vocab else "done_only"
    found: Figures = {("len1_accuracy", parts, "overall", ""): (summary["len1_accuracy"], summary["len1_count"])}
    for task, entry in summary["per_task_len1"].items():
        found["len1_accuracy", parts, "task", task] = (entry["accuracy"], entry["count"])
    blocks = [("len2plus", parts, summary["per_task_len2plus_vocab" if vocab else "per_task_len2plus"])]
    if form != "old_summary":
        blocks.append(("unified", "done_only", summary["per_task_unified"]))
    for kind, variant, per_task in blocks:
        for suffix in ("", "_raw") if both else ("",):
            for name in FIVE:
                metric = f"{kind}_{name}{suffix}"
                if f"{kind}_{name}{suffix}" in summary:
                    found[metric, variant, "overall", ""] = summary[f"{kind}_{name}{suffix}"], summary[f"{kind}_count"]
                for task, entry in per_task.items():
                    found[metric, variant, "task", task] = (entry[f"{name}{suffix}"], entry["count"])
    return found


COMPLETE = "complete_only"


def test_every_stored_summary_of_the_pack_comes_out_of_its_rows(pack: Path) -> None:
    items = SPEC.items([json.loads(line) for line in (pack / "gold" / "mm_bench.jsonl").read_text().splitlines()])
    compared, files = 0, 0
    for stored in json.loads((pack / "expected.json").read_text())["stored_scores"]:
        names = [name for name in stored["files"] if name.endswith("scored.jsonl")]
        if "summary" not in stored or not names:
            continue
        lines = (pack / names[0]).read_text().splitlines()
        rows = [
            ScoredRow(**{k: v for k, v in json.loads(line).items() if k in ScoredRow.__struct_fields__})
            for line in lines
        ]
        assert SPEC.stored_evaluator is not None
        ours = table(SPEC.stored_evaluator.over(rows, BASIS).evaluate(items, [], "seed").aggregates)
        files += 1
        for place, (value, n) in figures_of(stored["form"], stored["summary"]).items():
            own = ours[1, *place]
            assert (own.value or 0.0, own.n) == (pytest.approx(value, abs=1e-9), n), (names[0], place)
            compared += 1
        if stored["form"] == "old_summary":
            assert not [place for place in ours if place[1].endswith("_raw")]
    assert files == 10 and compared > 600


# --- rules ------------------------------------------------------------------------------------------------------------

A, B, C = gold_row("a", "Yes"), gold_row("b", "Alpha", "Beta"), gold_row("c", "No")


def value(result: Any, metric: str, variant: str = "", repeat: int | None = 1) -> tuple[float | None, int]:
    one = table(result.aggregates)[repeat, metric, variant, "overall", ""]
    return one.value, one.n


def test_the_verdict_decides_and_no_comparison_with_gold() -> None:
    result = result_of([A, C], [scored(A, "something else", verdict=True), scored(C, "No", verdict=False)])
    assert value(result, "unified_f1") == (0.5, 2)
    assert value(result, "len1_accuracy") == (0.5, 2)


def test_figures_of_mapped_strings_and_of_those_given_stand_apart() -> None:
    rows = [scored(B, "alpha", "bet", to=["Alpha", "Beta"]), scored(A, "x", verdict=True)]
    result = result_of([A, B], rows)
    assert value(result, "len2plus_f1") == (1.0, 1)
    assert value(result, "len2plus_f1_raw") == (0.5, 1)
    assert value(result, "unified_f1") == (1.0, 2)
    assert value(result, "unified_f1_raw") == (0.75, 2)
    assert {one.metric for one in result.aggregates} == {*METRICS, *map(raw, METRICS)} - {"len1_accuracy_raw"}
    assert result.vectors[1, "unified_f1_raw"].tolist() == [1.0, 0.5]


def test_without_mapped_strings_there_is_one_figure() -> None:
    result = result_of([B], [scored(B, "alpha", "bet")])
    assert {one.metric for one in result.aggregates} == {*METRICS}
    assert not [name for _, name in result.vectors if name.endswith("_raw")]


def test_a_question_without_a_scored_row_counts_zero_in_the_headline_alone() -> None:
    result = result_of([A, B, C], [scored(A, "x", verdict=True)])
    assert value(result, "unified_f1") == (pytest.approx(1 / 3), 3)
    assert value(result, "unified_f1", "done_only") == (1.0, 1)
    assert value(result, "len2plus_f1", "done_only") == (None, 0)


def test_incomplete_rows_count_zero_and_complete_only_leaves_them_out() -> None:
    gone = scored(C, route="incomplete", note="no_finish_call", prediction_raw=None)
    result = result_of([A, C], [scored(A, "x", verdict=True), gone])
    assert value(result, "len1_accuracy", "done_only") == (0.5, 2)
    assert value(result, "len1_accuracy", "complete_only") == (1.0, 1)
    assert not [one for one in result.aggregates if one.variant == "complete_only" and one.metric.startswith("unified")]


def test_of_several_rows_the_first_counts_in_the_headline_every_one_in_done_only() -> None:
    result = result_of([A], [scored(A, "x", verdict=True), scored(A, "y", verdict=False)])
    assert value(result, "unified_f1") == (1.0, 1)
    assert value(result, "unified_f1", "done_only") == (0.5, 2)


def test_repeats_stand_by_themselves_and_together() -> None:
    answers = [read(from_dict(row(A, "x", run_index=index))) for index in (1, 2)]
    rows = [scored(A, "x", verdict=True), scored(A, "x", verdict=False, run_index=2)]
    result = result_of([A], rows, answers)
    assert value(result, "unified_f1", repeat=1) == (1.0, 1)
    assert value(result, "unified_f1", repeat=2) == (0.0, 1)
    assert value(result, "unified_f1", repeat=None) == (0.5, 1)


def test_each_answer_has_the_verdict_of_its_row_and_none_where_there_is_no_row() -> None:
    answers = [read(from_dict(row(gold, "x"))) for gold in (C, A, A, B)]
    rows = [scored(A, "x", verdict=True), scored(A, "x", verdict=False), scored(C, "x", verdict=True)]
    verdicts = result_of([A, B, C], rows, answers).verdicts
    assert [verdict.outcome for verdict in verdicts] == [Outcome.RIGHT, Outcome.RIGHT, Outcome.WRONG, Outcome.MISSING]
    assert [verdict.value for verdict in verdicts] == [1.0, 1.0, 0.0, None]


def test_no_rows_at_all() -> None:
    result = result_of([A], [])
    assert value(result, "unified_f1") == (0.0, 1)
    assert value(result, "unified_f1", "done_only") == (None, 0)


def test_every_metric_is_explained_and_the_fingerprint_knows_the_dimensions() -> None:
    rows = [scored(B, "alpha", to=["Alpha"]), scored(A, "x", verdict=True)]
    assert {one.metric for one in result_of([A, B], rows).aggregates} <= ClinSeekMMStored.metrics.keys()
    assert ClinSeekMMStored(("task",)).fingerprint != ClinSeekMMStored(()).fingerprint
    bound = ClinSeekMMStored(("task",)).over([], BASIS)
    assert bound.fingerprint == ClinSeekMMStored(("task",)).fingerprint
