"""Stored summaries that changed, came or went while their run stayed as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ingest.mm_scorer import FULL, SCORED, gold_rows, mm_tree, only, results, write_scores
from tests.ingest.trees import Called, ingest


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
