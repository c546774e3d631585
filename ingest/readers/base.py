"""What every reader gives: rows with their places, and what was found in the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from evaluation.protocols.base import Answer
from ingest.walk import Entry


def printable(text: str) -> str:
    """Text that both databases store: lone surrogates and NUL as backslash escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


@dataclass(frozen=True, slots=True)
class Row:
    """One answer with its place: `line` is 1-based (0 in a JSON document), `offset` in the unpacked stream."""

    answer: Answer
    file: int
    line: int
    offset: int
    length: int
    pointer: str = ""
    # Saved from a broken line: loaded and marked, in no headline figure.
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line or row that could not be loaded, or one that says something odd."""

    severity: str
    code: str
    message: str
    line: int | None = None
    offset: int | None = None


@dataclass(slots=True)
class FileContent:
    """A file as it was read. `parsed` counts the lines that are a JSON object, also those without an id."""

    entry: Entry
    rows: list[Row] = field(default_factory=list)
    recovered: list[Row] = field(default_factory=list)
    sha256: str = ""
    size: int = 0
    lines: int = 0
    blank: int = 0
    parsed: int = 0
    malformed: int = 0
    longest: int = 0
    flags: list[str] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    provider_ids: Counter[str] = field(default_factory=Counter)


def duplicate_counts(rows: list[Row], comparable: Callable[[Answer], Hashable]) -> tuple[int, int]:
    """(same, conflicting): (item, repeat) pairs with several rows whose answers are all equal, or not."""
    times = Counter((row.answer.item, row.answer.repeat) for row in rows)
    if len(times) == len(rows):
        return 0, 0
    answers: dict[tuple[str, int], set[Hashable]] = defaultdict(set)
    for row in rows:
        key = row.answer.item, row.answer.repeat
        if times[key] > 1:
            answers[key].add(comparable(row.answer))
    same = sum(len(found) == 1 for found in answers.values())
    return same, len(answers) - same
