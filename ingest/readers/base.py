"""What every reader gives: rows with their places, and what was found in the file."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple, overload

import numpy as np

from evaluation.protocols.base import Answer, Answers
from ingest.effort import Effort
from ingest.signs import Signs
from ingest.walk import Entry


def printable(text: str) -> str:
    """Text that both databases store: lone surrogates and NUL as backslash escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


class Row(NamedTuple):
    """One answer with its place: `line` is 1-based (0 in a JSON document), `offset` in the unpacked stream.

    In a document the bytes at `offset` are the whole of it and `pointer` leads to the answer; in a JSON array of rows they
    are the element itself, which `pointer` names.
    """

    answer: Answer
    line: int
    offset: int
    length: int
    pointer: str = ""


class Rows(Sequence[Row]):
    """Rows of one file in columns."""

    def __init__(self) -> None:
        self.answers = Answers()
        self.line, self.offset, self.length = array("q"), array("q"), array("q")
        self._pointers: list[str] = []

    def append(self, row: Row) -> None:
        self.answers.append(row.answer)
        self.line.append(row.line)
        self.offset.append(row.offset)
        self.length.append(row.length)
        if row.pointer:
            self._pointers += [""] * (len(self) - 1 - len(self._pointers))
            self._pointers.append(row.pointer)

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.append(row)

    @property
    def pointers(self) -> Iterator[str]:
        return chain(self._pointers, repeat("", len(self) - len(self._pointers)))

    def __len__(self) -> int:
        return len(self.line)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index]
        pointer = self._pointers[number] if number < len(self._pointers) else ""
        return Row(self.answers[number], self.line[number], self.offset[number], self.length[number], pointer)


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
    rows: Rows = field(default_factory=Rows)
    # Saved from broken lines: loaded and marked, in no headline figure.
    recovered: Rows = field(default_factory=Rows)
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
    signs: Signs = field(default_factory=Signs)
    effort: Effort = field(default_factory=Effort)


def duplicate_counts(answers: Answers, comparable: Callable[[Answer], Hashable]) -> tuple[int, int]:
    """(same, conflicting): (item, repeat) pairs with several rows whose answers are all equal, or not."""
    _, pair, times = np.unique(answers.pairs(), return_inverse=True, return_counts=True)
    found: dict[int, set[Hashable]] = defaultdict(set)
    for number in np.flatnonzero(times[pair] > 1).tolist():
        found[pair[number]].add(comparable(answers[number]))
    same = sum(len(different) == 1 for different in found.values())
    return same, len(found) - same
