"""`manage.py ingest` and `manage.py scores` as other programs rely on them: documents, exit codes, options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import OperationalError

from evaluation.models import Run, Score
from ingest import scan
from ingest.classify import Kind, classify
from ingest.management.commands.ingest import named_path
from ingest.models import Pass, Source
from tests.ingest.trees import (
    GOLD,
    ROOT,
    Tree,
    answered,
    called,
    ehr_gold,
    failed,
    ingest,
    live_case,
    live_results,
    run_path,
    scores,
    small_tree,
    tables,
)

pytestmark = pytest.mark.django_db
GLM = run_path("glm_4_7")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return small_tree(tmp_path / "tree")


# --- the document of ingest -------------------------------------------------------------------------------------------


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


# --- exit codes and streams -------------------------------------------------------------------------------------------

EMPTY = {"files_seen": 0, "rows_read": 0, "rows_loaded": 0, "runs": [], "not_runs": [], "findings": []}


def assert_refused(result: Any, *told: str) -> None:
    """Exit 2: one line on standard error says why, and the document is printed all the same."""
    assert result.code == 2
    assert result.err.startswith("ingest: ") and result.err.count("\n") == 1
    for text in told:
        assert text in result.err
    assert result.document["runs"] == [] and result.document["rows_loaded"] == 0


def test_no_such_directory(tmp_path: Path) -> None:
    result = ingest(tmp_path / "nowhere")
    assert_refused(result, str(tmp_path / "nowhere"), "no such directory")
    assert {name: result.document[name] for name in EMPTY} == EMPTY
    file = tmp_path / "file"
    file.write_text("x")
    assert_refused(ingest(file), "not a directory")
    assert not Source.objects.exists()


def test_a_directory_without_results(tmp_path: Path) -> None:
    assert_refused(ingest(tmp_path), "no results of a known form")
    (tmp_path / "README.md").write_text("nothing here")
    Tree(tmp_path).json("gold/ehr_bench.json", ehr_gold(GOLD))
    result = ingest(tmp_path)
    assert_refused(result, "no results of a known form")
    assert result.document["files_seen"] == 2


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_bad_gold_on_the_command_line(tree: Tree, dry: list[str]) -> None:
    before = tables()
    assert_refused(ingest(tree, "--gold", "nowhere.json", *dry), "--gold nowhere.json", "No such file")
    assert_refused(ingest(tree, "--gold", tree.root / "ehr_bench", *dry), "no gold of a known benchmark")
    after = tables()
    assert {name for name in after if after[name] != before[name]} <= {"ingest.Source", "ingest.SourcePlace"}


def test_a_configuration_with_unknown_keys(tree: Tree, tmp_path: Path) -> None:
    config = tmp_path / "other.yaml"
    config.write_text("models:\n  Aster:\n    alias: [x]\nrunz: []\n")
    assert_refused(ingest(tree, "--config", config), "other.yaml line 3", "alias", "other.yaml line 4", "runz")
    assert_refused(ingest(tree, "--config", tmp_path / "nowhere.yaml"), "nowhere.yaml", "no such file")
    tree.text("clinboard.yaml", "leave_out:\n  - {path: x}\n")
    assert_refused(ingest(tree), "clinboard.yaml line 2", "why")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--owner", "nobody"], "--owner nobody: no such user"),
        (["--team", "none"], "--team none: no such group"),
        (["--visibility", "team"], "--visibility team needs --team"),
    ],
)
def test_people_that_are_not_there(tree: Tree, options: list[str], told: str) -> None:
    assert_refused(ingest(tree, *options), told)
    assert not Source.objects.exists()


def manage(database: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{database}", "DEBUG": "1", "PYTHONWARNINGS": "error"}
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_a_database_that_is_not_migrated(tree: Tree, tmp_path: Path) -> None:
    """In a process of its own: standard output is the document alone, standard error one line."""
    done = manage(tmp_path / "new.sqlite3", "ingest", tree.root, "--json")
    assert done.returncode == 2
    assert {name: json.loads(done.stdout)[name] for name in EMPTY} == EMPTY
    assert done.stderr.startswith("ingest: the database refused: ") and done.stderr.count("\n") == 1
    assert "migrate" in done.stderr


def test_scores_say_when_the_database_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("no such table: evaluation_score\nLINE 1")

    monkeypatch.setattr(Score.objects, "filter", refuse)
    result = called("scores", "--json")
    assert result.code == 2 and "migrate" in result.err and result.err.count("\n") == 1


def test_standard_output_holds_nothing_but_the_document(tree: Tree, tmp_path: Path) -> None:
    database = tmp_path / "new.sqlite3"
    assert manage(database, "migrate", "-v0").returncode == 0
    done = manage(database, "ingest", tree.root, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows_loaded"] == 2
    done = manage(database, "scores", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert len({row["run"] for row in json.loads(done.stdout)}) == 1


def test_warnings_alone_are_exit_0_and_errors_exit_1(tree: Tree) -> None:
    assert ingest(tree).code == 0
    tree.text("odd.jsonl", "x\n")
    assert (ingest(tree).code, ingest(tree).not_runs) == (0, {"odd.jsonl": "unknown_form"})
    with (tree.root / GLM).open("a") as file:
        file.write("broken\n")
    assert ingest(tree).code == 1
    assert ingest(tree).code == 1, "an unchanged run with errors is told as it was"


def test_the_report_for_people_has_the_same_exit_codes(tree: Tree) -> None:
    result = called("ingest", tree.root)
    assert (result.code, result.err) == (0, "")
    for text in ("new", GLM, "glm_4_7", "missing_items", "2 rows loaded"):
        assert text in result.out
    with (tree.root / GLM).open("a") as file:
        file.write("broken\n")
    result = called("ingest", tree.root)
    assert result.code == 1 and "line 3" in result.out and "not_json" in result.out and "replaced" in result.out
    result = called("ingest", tree.root / "nowhere")
    assert result.code == 2 and result.out == "" and "no such directory" in result.err


# --- dry run ----------------------------------------------------------------------------------------------------------


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


# --- states over time -------------------------------------------------------------------------------------------------


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


# --- runs that no longer count ----------------------------------------------------------------------------------------


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


# --- options ----------------------------------------------------------------------------------------------------------


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


# --- scores -----------------------------------------------------------------------------------------------------------

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
