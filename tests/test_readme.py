"""What README and the documents tell people to type and set is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

PROJECT = Path(__file__).resolve().parent.parent
README = (PROJECT / "README.md").read_text("utf-8")
DOCUMENTS = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").rglob("*.md"))]
TYPED = re.findall(r"(?:^|`|\s)(?:\.venv/bin/python |python )?manage\.py ([a-z_]+)([^`\n]*)", README)


def test_every_make_target_that_is_named_exists() -> None:
    named = {
        name for text in map(Path.read_text, DOCUMENTS) for name in re.findall(r"(?:`|^)make ([a-z]+)", text, re.M)
    }
    targets = set(re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(), re.M))
    assert {"demo", "test", "up"} <= named <= targets


@pytest.mark.parametrize(("command", "arguments"), TYPED)
def test_every_command_and_option_exists(command: str, arguments: str) -> None:
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    known = {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z-]+", arguments)) <= known


def test_readme_names_the_commands_of_the_house() -> None:
    assert {"ingest", "scores", "load_published"} <= {command for command, _ in TYPED}


def test_the_table_of_settings_is_that_of_the_settings_module() -> None:
    read = set(re.findall(r'env(?:\.\w+)?\(\s*"([A-Z_]+)"', (PROJECT / "config" / "settings.py").read_text()))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.M))
    assert told == read


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_links_between_the_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8")):
        assert (document.parent / target).exists(), target


def test_make_says_what_can_be_made() -> None:
    shown = subprocess.run(["make", "help"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in shown.splitlines()} >= {"demo", "up", "test", "lint", "types"}


def test_up_without_a_tree_says_what_is_missing(tmp_path: Path) -> None:
    # the stamps are taken for made, so that nothing is installed here
    command = ["make", "up", "ROOT=", f"VENV={tmp_path}", "-o", f"{tmp_path}/.installed", "-o", ".env"]
    said = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert said.returncode != 0 and "make up ROOT=/path/to/results" in said.stderr
