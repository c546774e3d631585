"""`manage.py ingest --dry-run` writes nothing and says what will be."""

from __future__ import annotations

import os

import pytest

from ingest.models import Pass
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, ingest, run_path, tables

pytestmark = pytest.mark.django_db


def test_a_dry_run_of_a_new_tree_writes_nothing(tree: Tree) -> None:
    tree.lines(run_path("orinox_7b"), [answered("q1", "alpha")])
    tree.text("clinboard.yaml", "models:\n  Aster: {access: open}\n")
    before = tables()
    dry = ingest(tree, "--dry-run")
    assert tables() == before and not Pass.objects.exists()
    assert dry.document["rows_loaded"] == 0 and dry.document["rows_read"] == 3
    assert {run["state"] for run in dry.runs.values()} == {"new"}
    wet = ingest(tree)
    assert wet.document["runs"] == dry.document["runs"], "ids and counts are those that will be"
    assert wet.document["findings"] == dry.document["findings"]


def test_a_dry_run_says_the_states_to_be(tree: Tree) -> None:
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "alpha")])
    ingest(tree)
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "beta")])
    tree.lines(run_path("minimax_m2_5"), [answered("q1", "beta")])
    os.utime(tree.root / GLM)  # touched: read again, and found to be the same
    before = tables()
    dry = ingest(tree, "--dry-run")
    assert tables() == before
    states = {"glm_4_7": "unchanged", "kimi_k2_5": "replaced", "minimax_m2_5": "new"}
    assert {run["model"]: run["state"] for run in dry.runs.values()} == states
    wet = ingest(tree)
    assert {run["model"]: run["state"] for run in wet.runs.values()} == states
    assert wet.document["runs"] == dry.document["runs"]


def test_a_dry_run_knows_the_models_that_the_configuration_names(tree: Tree) -> None:
    tree.lines(run_path("orinox_7b"), [answered("q1", "alpha")])
    tree.text("clinboard.yaml", "models:\n  Orinox 7B: {aliases: [orinox_7b]}\n")
    dry = ingest(tree, "--dry-run")
    assert {run["model_known"] for run in dry.runs.values()} == {True}
    assert ingest(tree).document["runs"] == dry.document["runs"]
