"""Stored summaries in the leaves of the hierarchical tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ingest.models import StoredSummary
from tests.ingest.mm_scorer import average, homes, mm_tree, only
from tests.ingest.trees import Row, Tree, answered, ehr_gold, ingest, run_path, small_tree

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
