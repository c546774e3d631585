"""The exit codes and streams of `manage.py ingest`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluation.models import Run
from ingest.models import Source
from tests.ingest.one_run import GLM, one_run  # noqa: F401 - the fixture `tree`
from tests.ingest.trees import GOLD, ROOT, Tree, called, ehr_gold, ingest, tables

pytestmark = pytest.mark.django_db

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


def test_standard_output_holds_nothing_but_the_document(tree: Tree, tmp_path: Path) -> None:
    database = tmp_path / "new.sqlite3"
    assert manage(database, "migrate", "-v0").returncode == 0
    done = manage(database, "ingest", tree.root, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows_loaded"] == 2
    done = manage(database, "scores", "--json")
    absent = "scores: no clinseek-mm-"  # where the vocabulary is not installed, each evaluator that needs it is named
    assert done.returncode == 0 and all(line.startswith(absent) for line in done.stderr.splitlines())
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
