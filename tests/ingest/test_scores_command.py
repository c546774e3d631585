"""`manage.py scores` as other programs rely on it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from evaluation.models import Score
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, called, ingest, live_case, live_results, scores

pytestmark = pytest.mark.django_db

SCORE_KEYS = ["run", "benchmark", "release", "split", "mode", "model", "protocol", "origin", "evaluator"]
SCORE_KEYS += ["repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered", "ci_low", "ci_high"]


def test_the_document_of_scores(tree: Tree) -> None:
    assert called("scores", "--json").document == []
    run = ingest(tree).runs[GLM]["id"]
    document = called("scores", "--json").document
    assert all(sorted(row) == sorted(SCORE_KEYS) for row in document)
    whole = next(row for row in document if (row["metric"], row["variant"], row["dimension"]) == ("f1", "", "overall"))
    assert whole | {"ci_low": None, "ci_high": None} == {
        "run": run,
        "benchmark": "ehr-bench",
        "release": "v1",
        "split": "full1800",
        "mode": "agentic",
        "model": "glm_4_7",
        "protocol": "not stated",
        "origin": "ours",
        "evaluator": "clinseek-text-2026",
        "repeat": 1,
        "metric": "f1",
        "variant": "",
        "dimension": "overall",
        "facet": "",
        "value": pytest.approx(2 / 9),  # 2/3, 0 and a missing one
        "n": 3,
        "n_answered": 2,
        "ci_low": None,
        "ci_high": None,
    }
    assert {row["metric"] for row in document} == {"f1", "precision", "recall", "exact_match"}
    assert {row["variant"] for row in document} == {"", "done_only"}
    assert {row["dimension"] for row in document} == {"overall", "task", "task_type", "task_group"}


def test_scores_of_live_runs_only_and_by_choice(tree: Tree) -> None:
    tree.lines("live/dataset.jsonl", [live_case("PMC1", "AB")])
    tree.json("live/aster.json", live_results("aster", {"PMC1": "AB"}))
    ingest(tree)
    tree.lines(GLM, [answered("q1", "x")])
    runs = ingest(tree).runs
    assert {row["run"] for rows in scores().values() for row in rows.values()} == {run["id"] for run in runs.values()}
    assert scores("--benchmark", "liveclin").keys() == {"aster"}
    assert scores("--run", runs[GLM]["id"]).keys() == {"glm_4_7"}
    assert called("scores", "--json", "--benchmark", "nothing").document == []
    assert called("scores", "--json", "--run", "nothing").document == []


def test_scores_for_people(tree: Tree) -> None:
    ingest(tree)
    lines = called("scores").out.splitlines()
    assert sorted(lines[0].split("\t")) == sorted(SCORE_KEYS)
    assert len(lines) == 1 + len(called("scores", "--json").document)


def test_scores_say_when_the_database_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("no such table: evaluation_score\nLINE 1")

    monkeypatch.setattr(Score.objects, "filter", refuse)
    result = called("scores", "--json")
    assert result.code == 2 and "migrate" in result.err and result.err.count("\n") == 1
