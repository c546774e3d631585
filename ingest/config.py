"""`clinboard.yaml`: what the files of a results tree do not say. Read strictly, with the line of everything it sets.

The file is plain YAML: text, whole numbers, plain decimals, true and false. Dates stay text; anchors, aliases and tags
are refused. `clinboard.schema.json` says which keys there are; `docs/clinboard-yaml.md` explains them.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest import strict_yaml
from ingest.strict_yaml import LARGEST, Document, Problem, shown

__all__ = ["EMPTY", "LARGEST", "Config", "ConfigError", "ModelFacts", "Stated", "load"]

SCHEMA = Path(__file__).with_name("clinboard.schema.json")


class ConfigError(strict_yaml.DocumentError):
    """Everything that is wrong with a `clinboard.yaml`."""


@dataclass(frozen=True)
class ModelFacts:
    """A model by its friendly name. `aliases` are its other exact names; `facts` holds what is stated of it."""

    name: str
    aliases: tuple[str, ...]
    facts: dict[str, Any]
    line: int


@dataclass(frozen=True)
class Stated:
    """What `runs` says of one run. None, or no key in `protocol`: not stated. `lines`: field -> line."""

    repeat: int | None = None
    shots: int | None = None
    conversation_kept: bool | None = None
    model: str | None = None
    origin: str | None = None
    protocol: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


_OWN_FIELDS = ("repeat", "shots", "conversation_kept", "model", "origin")


@dataclass(frozen=True, eq=False)
class _Entry:
    """One entry of leave_out, wins or runs: a glob, the line it is on, and what is said of the paths it fits."""

    section: str
    glob: str
    pattern: re.Pattern[str]
    line: int
    said: dict[str, Any]
    lines: dict[str, int]


@dataclass(frozen=True)
class Config:
    """A valid `clinboard.yaml`. `path` as it was given, `sha256` of its bytes, both "" when there is no file."""

    path: str
    sha256: str
    models: tuple[ModelFacts, ...] = ()
    _leave_out: tuple[_Entry, ...] = ()
    _wins: tuple[_Entry, ...] = ()
    _runs: tuple[_Entry, ...] = ()
    _expected: dict[str, dict[str, int]] = field(default_factory=dict)
    _used: set[_Entry] = field(default_factory=set, repr=False, compare=False)

    def left_out(self, logical_path: str) -> tuple[str, int] | None:
        """Why the file must not become a run, and the line that says so; the first entry that fits counts."""
        return self._reason(self._leave_out, logical_path)

    def wins(self, logical_path: str) -> tuple[str, int] | None:
        """Why the file is the run where several claim to be it, and the line; the first entry that fits counts."""
        return self._reason(self._wins, logical_path)

    def expected(self, benchmark: str, split: str) -> int | None:
        """The number of items that the split should have; None where the file does not say."""
        return self._expected.get(benchmark, {}).get(split)

    def stated(self, logical_path: str) -> Stated:
        """What is said of the run at this path, field by field; the last entry that states a field counts."""
        said: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for entry in self._fitting(self._runs, logical_path):
            said |= entry.said
            lines |= entry.lines
        own = {name: said.pop(name) for name in _OWN_FIELDS if name in said}
        return Stated(**own, protocol=said, lines=lines)

    def unused(self) -> list[tuple[int, str]]:
        """The globs that fitted no path asked for so far: (line, text for a finding), by line."""
        entries = (*self._leave_out, *self._wins, *self._runs)
        return sorted((e.line, f"{e.section}: {e.glob!r} fits no file") for e in entries if e not in self._used)

    def _fitting(self, entries: tuple[_Entry, ...], path: str) -> list[_Entry]:
        fitting = [entry for entry in entries if entry.pattern.match(path)]
        self._used.update(fitting)
        return fitting

    def _reason(self, entries: tuple[_Entry, ...], path: str) -> tuple[str, int] | None:
        return next(((entry.said["why"], entry.line) for entry in self._fitting(entries, path)), None)


EMPTY = Config(path="", sha256="")


def load(path: str | os.PathLike[str]) -> Config:
    """Read and check a file. Raises ConfigError with every problem found, also when the file cannot be read at all.

    YAML itself stops at its first error, so a file that is no YAML has one problem. An empty file is an empty Config.
    """
    name = Path(path).name
    try:
        document, data = strict_yaml.read_file(path)
    except strict_yaml.DocumentError as error:
        raise ConfigError(name, error.problems) from error
    wrong = [document.problem(*found) for found in strict_yaml.violations(document.data, SCHEMA)]
    if problems := document.problems + wrong + _name_clashes(document):
        raise ConfigError(name, problems)
    return Config(
        path=os.fspath(path),
        sha256=hashlib.sha256(data).hexdigest(),
        models=tuple(_models(document)),
        _leave_out=_entries(document, "leave_out"),
        _wins=_entries(document, "wins"),
        _runs=_entries(document, "runs"),
        _expected=document.section("expected"),
    )


def _name_clashes(document: Document) -> list[Problem]:
    """Names that two models claim. A friendly name is a name like any other; a model may repeat its own."""
    problems: list[Problem] = []
    models = document.section("models")
    if not isinstance(models, dict):
        return problems
    owners: dict[str, str] = {name: name for name in models}
    for model, facts in models.items():
        aliases = facts.get("aliases") if isinstance(facts, dict) else None
        for index, alias in enumerate(aliases if isinstance(aliases, list) else ()):
            owner = owners.setdefault(alias, model) if isinstance(alias, str) else model
            if owner != model:
                other = f"{owner!r} (line {document.lines['models', owner]})"
                place = ("models", model, "aliases", index)
                problems.append(document.problem(place, f"is {shown(alias)}, which is already a name of {other}"))
    return problems


_OPEN = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+")


def _pattern(glob: str) -> re.Pattern[str]:
    """fnmatch over the whole path, so `*` crosses `/`; a leading or inner `**/` also stands for no directory.

    Each `**/` doubles the readings that are tried; the schema allows five.
    """
    head, *rest = _OPEN.split(glob)
    readings = itertools.product(("**/", ""), repeat=len(rest))
    texts = (head + "".join(itertools.chain(*zip(reading, rest, strict=True))) for reading in readings)
    return re.compile("|".join(fnmatch.translate(text) for text in texts))


def _entries(document: Document, section: str) -> tuple[_Entry, ...]:
    entries = []
    for index, said in enumerate(document.section(section)):
        lines = {name: document.lines[section, index, name] for name in said}
        said, glob, line = dict(said), said["path"], lines.pop("path")
        del said["path"]
        entries.append(_Entry(section, glob, _pattern(glob), line, said, lines))
    return tuple(entries)


def _models(document: Document) -> Iterator[ModelFacts]:
    for name, facts in document.section("models").items():
        facts = dict(facts or {})
        aliases = tuple(dict.fromkeys(facts.pop("aliases", ())))
        yield ModelFacts(name, aliases, facts, document.lines["models", name])
