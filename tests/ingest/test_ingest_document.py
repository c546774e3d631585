"""The document of `manage.py ingest` as other programs rely on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.models import Run
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import Tree, answered, failed, ingest, run_path, scores, small_tree

pytestmark = pytest.mark.django_db


def test_the_keys_of_the_document(tree: Tree) -> None:
    tree.json(f"{run_path('glm_4_7').rpartition('/')[0]}/scores.json", {"per_task": {}, "per_task_type": {}})
    tree.text(f"{run_path('kimi_k2_5')}", "broken\n" + json.dumps(answered("q1", "x")) + "\n")
    tree.link("nowhere", "nothing")
    document = ingest(tree).document
    assert list(document) == ["passed_s", "files_seen", "rows_read", "rows_loaded", "runs", "not_runs", "findings"]
    assert list(document["runs"][0]) == [
        *(
            "id",
            "benchmark",
            "release",
            "split",
            "mode",
            "model",
            "model_known",
            "repeats",
            "path",
            "physical",
            "state",
        ),
        *("rows", "parsed", "malformed", "recovered", "unique_items", "expected_items", "missing", "extra"),
        *("duplicates_same", "duplicates_conflicting", "rankable", "summaries", "why", "stated"),
    ]
    assert list(document["runs"][0]["summaries"][0]) == ["path", "form", "agrees", "largest_difference"]
    assert list(document["not_runs"][0]) == ["path", "physical", "reason", "why"]
    for finding in document["findings"]:
        assert list(finding) == ["severity", "code", "path", "line", "offset", "message"]
        assert finding["severity"] in ("info", "warning", "error")
    kinds = {
        "passed_s": float,
        "files_seen": int,
        "rows_read": int,
        "rows_loaded": int,
        "runs": list,
        "not_runs": list,
        "findings": list,
    }
    assert {name: type(value) for name, value in document.items()} == kinds


def test_the_values_of_a_small_tree(tree: Tree) -> None:
    result = ingest(tree)
    (run,) = result.document["runs"]
    assert run | {"id": None} == {
        "id": None,
        "benchmark": "ehr-bench",
        "release": "v1",
        "split": "full1800",
        "mode": "agentic",
        "model": "glm_4_7",
        "model_known": True,
        "repeats": [1],
        "path": GLM,
        "physical": GLM,
        "state": "new",
        "rows": 2,
        "parsed": 2,
        "malformed": 0,
        "recovered": 0,
        "unique_items": 2,
        "expected_items": 3,
        "missing": 1,
        "extra": 0,
        "duplicates_same": 0,
        "duplicates_conflicting": 0,
        "rankable": True,
        "summaries": [],
        "why": "results.jsonl of the model's directory",
        "stated": {},
    }
    assert {name: result.document[name] for name in ("files_seen", "rows_read", "rows_loaded", "not_runs")} == {
        "files_seen": 2,
        "rows_read": 2,
        "rows_loaded": 2,
        "not_runs": [],
    }
    assert result.codes == {"split_size", "tasks_missing", "missing_items"}
    assert run["id"] == Run.objects.get().key


def test_runs_and_not_runs_are_sorted_by_path(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "tree", "minimax_m2_5", "glm_4_7", "kimi_k2_5")
    for name in ("z", "a", "m"):
        tree.lines(f"{name}.jsonl", [{"hello": name}])
    document = ingest(tree).document
    for part in ("runs", "not_runs"):
        paths = [entry["path"] for entry in document[part]]
        assert paths == sorted(paths) and len(paths) == 3


def test_counts_of_everything_at_once(tree: Tree) -> None:
    rows = [
        answered("q1", "a"),
        answered("q1", "A"),  # the same answer: case is folded
        answered("q2", "a"),
        answered("q2", "b"),
        answered("q2", "b", run_index=2),
        answered("elsewhere", "a"),
        answered("elsewhere", "b"),
        answered("unknown", "a"),
        failed("q3"),
        failed("q3"),
        {"messages": []},
        answered(None, "a"),
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows) + "broken\n[]\n7\n"
    tree.text(GLM, lines)
    result = ingest(tree)
    run = result.runs[GLM]
    wanted = {
        "rows": 10,
        "parsed": 12,
        "malformed": 3,
        "unique_items": 5,
        "expected_items": 3,
        "missing": 0,
        "extra": 2,
    }
    wanted |= {"duplicates_same": 2, "duplicates_conflicting": 2, "repeats": [1, 2]}
    assert {name: run[name] for name in wanted} == wanted
    assert [finding["line"] for finding in result.findings("no_id")] == [11, 12]
    assert [finding["line"] for finding in result.findings("not_an_object")] == [14, 15]
    assert result.code == 1


def test_paths_outside_the_root_are_shown_with_two_dots(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "tree")
    outside = Tree(tmp_path / "far")
    outside.lines("kimi/results.jsonl", [answered("q1", "alpha")])
    path = run_path("kimi_k2_5")
    tree.link(path.rpartition("/")[0], tmp_path / "far" / "kimi")
    refused = ingest(tree)
    assert refused.code == 1
    assert refused.not_runs == {path.rpartition("/")[0]: "outside_root"}
    (finding,) = refused.findings("outside_root")
    assert finding["severity"] == "error" and "--allow-outside" in finding["message"]
    allowed = ingest(tree, "--allow-outside", tmp_path / "far")
    assert allowed.runs[path]["physical"] == "../far/kimi/results.jsonl"
    assert allowed.code == 0


def test_a_run_that_was_reached_from_outside_stays_when_that_is_no_longer_allowed(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "tree")
    Tree(tmp_path / "far").lines("results.jsonl", [answered("q1", "alpha")])
    tree.link(run_path("kimi_k2_5"), tmp_path / "far" / "results.jsonl")
    ingest(tree, "--allow-outside", tmp_path / "far")
    result = ingest(tree)
    assert result.runs.keys() == {GLM} and result.not_runs == {run_path("kimi_k2_5"): "outside_root"}
    assert scores().keys() == {"glm_4_7", "kimi_k2_5"}
