"""The house: who may import whom, read from the source, imports inside functions and for typing included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = ("evaluation", "ingest", "leaderboard")  # each may import itself and those before it
# Computation without Django: whole folders, or modules.
PURE = (
    "evaluation/benchmarks",
    "evaluation/protocols",
    "evaluation/statistics",
    "ingest/arrays.py",
    "ingest/classify.py",
    "ingest/config.py",
    "ingest/documents.py",
    "ingest/figures.py",
    "ingest/labels.py",
    "ingest/lines.py",
    "ingest/readers",
    "ingest/report.py",
    "ingest/select.py",
    "ingest/signs.py",
    "ingest/strict_yaml.py",
    "ingest/summaries",
    "ingest/walk.py",
    "leaderboard/data/files.py",
    "leaderboard/exchange.py",
    "leaderboard/figures",
    "leaderboard/published.py",
    "leaderboard/recipes/macros.py",
    "leaderboard/recipes/recipe.py",
    "leaderboard/recipes/printed.py",
    "leaderboard/tables",
)
# The commands that show the invented sample, which is no part of the installed package.
FIXTURE_USERS = {"leaderboard/management/commands/demo.py"}


def modules() -> dict[str, Path]:
    """Every module of the house by its dotted name."""
    found = {}
    for room in (*ROOMS, "config"):
        for path in (PROJECT / room).rglob("*.py"):
            parts = path.relative_to(PROJECT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path) -> set[str]:
    """The dotted names that a file imports; `from a import b` gives `a` and `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno}: relative import"
            assert node.module is not None
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_run_one_way(name: str) -> None:
    room, wanted = top(name), {top(other) for other in imports(modules()[name])}
    if room in ROOMS:
        later = set(ROOMS[ROOMS.index(room) + 1 :]) | {"config"}
        assert not wanted & later, f"{name} imports {wanted & later}"
    path = modules()[name].relative_to(PROJECT).as_posix()
    assert "tests" not in wanted and ("fixtures" not in wanted or path in FIXTURE_USERS)


def pure_modules() -> list[str]:
    return sorted(
        name
        for name, path in modules().items()
        if any(path == PROJECT / pure or PROJECT / pure in path.parents for pure in PURE)
    )


def reached(name: str, known: dict[str, Path]) -> set[str]:
    """Everything that importing a module leads to: its packages, and what they import, to the end."""
    todo, seen = [name], set[str]()
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in known:
            todo += imports(known[current])
        if "." in current:
            todo.append(current.rpartition(".")[0])
    return seen


def test_the_list_of_pure_modules_names_files_that_exist() -> None:
    assert all((PROJECT / pure).exists() for pure in PURE)


@pytest.mark.parametrize("name", pure_modules())
def test_pure_computation_reaches_no_django(name: str) -> None:
    django = {other for other in reached(name, modules()) if top(other) == "django"}
    assert not django, f"{name} leads to {sorted(django)}"
