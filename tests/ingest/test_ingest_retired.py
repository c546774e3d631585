"""Runs that no longer count because the tree took them off, and those that do all the same."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.models import Run
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, ingest, run_path, scores, tables

pytestmark = pytest.mark.django_db


def live() -> set[str]:
    return set(Run.objects.filter(state="live").values_list("model_name", flat=True))


def move(tree: Tree, old: str, new: str) -> None:
    target = tree.root / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (tree.root / old).rename(target)


GLM_DIRECTORY, KIMI = GLM.rpartition("/")[0], run_path("kimi_k2_5")
TAKEN_OFF = {
    "left out": lambda tree: tree.text("clinboard.yaml", f"leave_out:\n  - {{path: {GLM}, why: old prompt}}\n"),
    "archived": lambda tree: move(tree, GLM_DIRECTORY, f"_archive/{GLM_DIRECTORY}"),
    "archived elsewhere": lambda tree: move(tree, GLM_DIRECTORY, "_archive/old"),
    "a smoke run": lambda tree: move(tree, GLM_DIRECTORY, GLM_DIRECTORY.replace("glm", "smoke")),
    "retried": lambda tree: move(tree, GLM_DIRECTORY, f"{GLM_DIRECTORY}_retried"),
}


@pytest.mark.parametrize("change", TAKEN_OFF.values(), ids=TAKEN_OFF)
def test_what_the_tree_takes_off_is_off_the_boards(tree: Tree, change: Any) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    first = ingest(tree).runs[GLM]["id"]
    change(tree)
    before = tables()
    dry = ingest(tree, "--dry-run")
    assert tables() == before
    result = ingest(tree)
    for told in (dry, result):
        (finding,) = told.findings("retired")
        assert (finding["path"], finding["severity"]) == (GLM, "info") and first in finding["message"]
    assert live() == {"kimi_k2_5"} and scores().keys() == {"kimi_k2_5"}
    assert Run.objects.get(key=first).state == "superseded"
    after = tables()
    assert not ingest(tree).findings("retired"), "told once"
    assert {name for name, rows in tables().items() if rows != after[name]} == {"ingest.Finding"}


def test_what_is_put_back_counts_again(tree: Tree) -> None:
    first = ingest(tree).runs[GLM]["id"]
    move(tree, GLM_DIRECTORY, f"_archive/{GLM_DIRECTORY}")
    tree.lines(KIMI, [answered("q1", "alpha")])
    ingest(tree)
    move(tree, f"_archive/{GLM_DIRECTORY}", GLM_DIRECTORY)
    result = ingest(tree)
    assert (result.runs[GLM]["id"], result.document["rows_loaded"]) == (first, 0)
    assert live() == {"glm_4_7", "kimi_k2_5"}
    assert ingest(tree).runs[GLM]["state"] == "unchanged"


def test_a_merged_file_that_comes_later_takes_the_place_of_single_results(tree: Tree) -> None:
    first = ingest(tree).runs[GLM]["id"]
    merged = GLM.replace("results", "merged_unique")
    tree.lines(merged, [answered("q1", "alpha", "beta"), answered("q2", "gamma")])
    result = ingest(tree)
    assert result.runs.keys() == {merged} and result.not_runs == {GLM: "shard"}
    assert Run.objects.get(state="live").key == result.runs[merged]["id"] != first
    assert len(result.findings("retired")) == 1


def test_a_renamed_model_directory_is_one_run(tree: Tree) -> None:
    ingest(tree)
    move(tree, GLM_DIRECTORY, KIMI.rpartition("/")[0])
    result = ingest(tree)
    assert result.runs.keys() == {KIMI} and live() == {"kimi_k2_5"}
    assert KIMI in result.findings("retired")[0]["message"]


def test_a_file_that_is_gone_leaves_its_run_and_is_told(tree: Tree) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    first = ingest(tree).runs[GLM]["id"]
    (tree.root / GLM).unlink()
    for _ in range(2):
        result = ingest(tree)
        (finding,) = result.findings("file_gone")
        assert (finding["path"], finding["severity"]) == (GLM, "warning") and first in finding["message"]
        assert (result.code, live()) == (0, {"glm_4_7", "kimi_k2_5"})


def test_a_path_that_becomes_a_link_to_a_run_gives_up_its_own(tree: Tree) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    ingest(tree)
    (tree.root / GLM).unlink()
    tree.link(GLM, tree.root / KIMI)
    result = ingest(tree)
    assert result.not_runs == {GLM: "duplicate_path"} and live() == {"kimi_k2_5"}
