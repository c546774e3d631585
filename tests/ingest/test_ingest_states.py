"""What a second `manage.py ingest` says of files that were touched, changed, put back or moved."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evaluation.models import Run
from ingest import scan
from ingest.classify import Kind, classify
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, ingest, run_path, scores, tables

pytestmark = pytest.mark.django_db


def test_a_touched_file_is_read_again_and_changes_nothing(tree: Tree) -> None:
    ingest(tree)
    before = tables()
    os.utime(tree.root / GLM)
    result = ingest(tree)
    assert (result.runs[GLM]["state"], result.document["rows_read"], result.document["rows_loaded"]) == (
        "unchanged",
        2,
        0,
    )
    changed = {name for name, rows in tables().items() if rows != before[name]}
    assert changed == {"ingest.SourceFile"}


def test_a_changed_file_replaces_its_run_and_keeps_the_old_one(tree: Tree) -> None:
    first = ingest(tree).runs[GLM]
    tree.lines(GLM, [answered("q1", "alpha", "beta"), answered("q2", "gamma"), answered("q3", "yes")])
    second = ingest(tree).runs[GLM]
    assert second["state"] == "replaced" and second["id"] != first["id"]
    old, new = Run.objects.get(key=first["id"]), Run.objects.get(key=second["id"])
    assert (old.state, old.superseded_by, new.state) == ("superseded", new, "live")
    assert scores()["glm_4_7"][1, "f1", "", "overall", ""]["value"] == 1.0
    assert ingest(tree).runs[GLM]["state"] == "unchanged"


def test_a_file_that_is_put_back_revives_its_run(tree: Tree) -> None:
    data = (tree.root / GLM).read_bytes()
    first = ingest(tree).runs[GLM]
    tree.lines(GLM, [answered("q1", "x")])
    second = ingest(tree).runs[GLM]
    tree.bytes(GLM, data)
    third = ingest(tree)
    assert third.runs[GLM]["id"] == first["id"] and third.document["rows_loaded"] == 0
    assert third.runs[GLM]["state"] == "replaced"
    states = dict(Run.objects.values_list("key", "state"))
    assert states == {first["id"]: "live", second["id"]: "superseded"}
    assert ingest(tree).runs[GLM]["state"] == "unchanged"


def test_a_moved_tree_is_the_same_content(tree: Tree, tmp_path: Path) -> None:
    first = ingest(tree).runs[GLM]["id"]
    tree.root.rename(tmp_path / "moved")
    result = ingest(tmp_path / "moved")
    assert result.runs[GLM]["id"] == first and result.document["rows_loaded"] == 0
    assert Run.objects.count() == 1


def test_more_findings_of_a_kind_than_fit_are_counted_the_same_every_time(tree: Tree) -> None:
    lines = "".join(json.dumps(answered("q1", f"{n}")) + "\n" for n in range(3))
    tree.text(GLM, lines + "broken\n" * 350)
    first = ingest(tree)
    assert len(first.findings("not_json")) == 201
    assert "150 more" in first.findings("not_json")[-1]["message"]
    again = ingest(tree)
    assert again.findings("not_json") == first.findings("not_json")
    assert ingest(tree).document["findings"] == again.document["findings"]


def test_what_was_unknown_is_looked_at_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unchanged file keeps its kind, but a newer version may know a form that was unknown."""
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "alpha")])
    with monkeypatch.context() as older:
        older.setattr(scan, "classify", lambda entry: Kind("unknown") if "kimi" in entry.path else classify(entry))
        assert ingest(tree).not_runs == {run_path("kimi_k2_5"): "unknown_form"}
    assert ingest(tree).runs[run_path("kimi_k2_5")]["state"] == "new"
    monkeypatch.setattr(scan, "classify", None)
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}
