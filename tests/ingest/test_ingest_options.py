"""The options of `manage.py ingest`, and the configuration file of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User

from evaluation.models import Run
from ingest.management.commands.ingest import named_path
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, ingest, run_path, scores, small_tree, tables

pytestmark = pytest.mark.django_db


def test_archived_runs_only_when_asked(tree: Tree) -> None:
    tree.lines(f"_archive/{GLM}", [answered("q1", "alpha", "beta")])
    assert ingest(tree).not_runs == {f"_archive/{GLM}": "archived"}
    live = scores()
    result = ingest(tree, "--include-archived")
    assert {path: run["state"] for path, run in result.runs.items()} == {
        GLM: "unchanged",
        f"_archive/{GLM}": "archived",
    }
    assert scores() == live, "archived runs are on no board"
    assert Run.objects.filter(state="archived").count() == 1
    before = tables()
    assert ingest(tree, "--include-archived").document["rows_loaded"] == 0
    assert tables() == before


def test_a_release_of_the_callers_naming(tree: Tree) -> None:
    run = ingest(tree, "--release", "mine").runs[GLM]
    assert run["release"] == "mine"
    again = ingest(tree).runs[GLM]
    # a file is one run: under another name it replaces what it was
    assert (again["release"], again["state"]) == ("v1", "replaced") and again["id"] != run["id"]


def test_gold_for_one_release(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "gold/ehr_bench.json").rename(tmp_path / "a=b.json")
    gold = tmp_path / "a=b.json"
    assert ingest(tree, "--gold", f"v2={gold}").not_runs == {GLM: "no_gold"}
    assert ingest(tree, "--gold", f"v1={gold}").runs[GLM]["state"] == "new"
    assert ingest(tree, "--gold", gold, "--release", "v9").runs[GLM]["release"] == "v9"


def test_a_path_with_a_name(tmp_path: Path) -> None:
    odd = tmp_path / "x=y"
    odd.mkdir()
    assert named_path("2025_H1=some/path") == ("2025_H1", Path("some/path"))
    assert named_path("some/path") == (None, Path("some/path"))
    assert named_path(str(odd)) == (None, odd)
    assert named_path(f"r={odd}") == ("r", odd)


def test_gold_is_remembered(tree: Tree) -> None:
    ingest(tree)
    (tree.root / "gold/ehr_bench.json").unlink()
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "alpha")])
    result = ingest(tree)
    assert {run["model"]: run["state"] for run in result.runs.values()} == {"glm_4_7": "unchanged", "kimi_k2_5": "new"}


def test_visibility_owner_and_team(tree: Tree) -> None:
    owner, team = User.objects.create(username="ada"), Group.objects.create(name="lab")
    ingest(tree, "--visibility", "team", "--team", "lab", "--owner", "ada")
    run = Run.objects.get()
    assert (run.visibility, run.team, run.owner) == ("team", team, owner)
    tree.lines(GLM, [answered("q1", "other")])
    ingest(tree)
    run = Run.objects.get(state="live")
    assert (run.visibility, run.team, run.owner) == ("team", team, owner), "a new state of a file is seen by the same"
    tree.lines(GLM, [answered("q1", "third")])
    ingest(tree, "--visibility", "public")
    assert Run.objects.get(state="live").visibility == "public"


def test_runs_are_private_by_default(tree: Tree) -> None:
    ingest(tree)
    assert Run.objects.get().visibility == "private"


def test_the_configuration_of_the_tree(tree: Tree) -> None:
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "alpha")])
    tree.text(
        "clinboard.yaml",
        "leave_out:\n  - {path: '**/kimi_k2_5/*', why: made with an old prompt}\n"
        "runs:\n  - {path: '**/glm_4_7/*', shots: 0, repeat: 3, snapshot: '2026-01'}\n"
        "  - {path: '**/nobody/*', shots: 5}\n"
        "expected: {ehr-bench: {full1800: 3}}\n",
    )
    result = ingest(tree)
    assert result.not_runs == {run_path("kimi_k2_5"): "override"}
    (finding,) = result.findings("override")
    assert "line 2" in finding["message"] and "old prompt" in finding["message"]
    assert result.codes == {"override", "config_unused", "missing_items", "tasks_missing"}
    run = Run.objects.get()
    assert (run.shots, run.repeats, run.protocol) == (0, [3], {"snapshot": "2026-01"})
    assert {row["protocol"] for row in scores()["glm_4_7"].values()} == {"zero-shot"}
    assert {key[0] for key in scores()["glm_4_7"]} == {3}


def test_two_directories_of_one_model_are_undecided(tmp_path: Path) -> None:
    """`Claude Opus 4.6` and `claude_opus_4_6` are one model by their aliases; nothing says which is the run."""
    tree = small_tree(tmp_path / "tree", "claude_opus_4_6", "Claude Opus 4.6", "glm_4_7")
    result = ingest(tree)
    assert (result.code, result.runs.keys()) == (1, {GLM})
    assert set(result.not_runs.values()) == {"undecided"} and len(result.findings("undecided")) == 2
    tree.text("clinboard.yaml", "wins:\n  - {path: '**/Claude Opus 4.6/*', why: complete}\n")
    result = ingest(tree)
    assert result.code == 0
    assert {run["model"] for run in result.runs.values()} == {"claude_opus_4_6", "glm_4_7"}
    assert result.not_runs == {run_path("claude_opus_4_6"): "override"}
