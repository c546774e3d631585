"""What every comparison of a stored summary gives, and what it is made from."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from evaluation.protocols.base import Aggregate, Answers
from evaluation.protocols.clinseek_mm_stored import ScoredRow
from evaluation.protocols.clinseek_mm_verdicts import Basis
from ingest.lines import LineReader
from ingest.readers.base import Trouble
from ingest.select import Seen

# JSON summaries are unrounded; LiveClin's and those in Markdown are rounded to 4 decimals.
EXACT, FOUR_DECIMALS = 1e-9, 5e-5 + 1e-12
# (metric, variant, dimension, facet) -> value over all repeats, or of the only one
Scores = Mapping[tuple[str, str, str, str], float | None]
R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Scored:
    """The rows of an MM scorer, from the file `basis` names; `archived` says that it lies in an archive."""

    rows: Sequence[ScoredRow]
    basis: Basis
    archived: bool


@dataclass(slots=True)
class Comparison:
    """`rows` holds [figure, theirs, ours]; `stale` the ids of rows that were scored from another answer than the run's.

    `agrees` is None where nothing of ours can be compared. `troubles` is what else there is to tell of the file, `scored` the
    rows of an MM scorer that it was made from.
    """

    path: str
    form: str
    rows: list[tuple[str, float, float]] = field(default_factory=list)
    tolerance: float = EXACT
    stale: tuple[str, ...] = ()
    troubles: list[Trouble] = field(default_factory=list)
    scored: Scored | None = None

    @property
    def largest_difference(self) -> float | None:
        return max((abs(theirs - ours) for _, theirs, ours in self.rows), default=None)

    @property
    def agrees(self) -> bool | None:
        largest = self.largest_difference
        if self.stale:
            return False
        return None if largest is None else largest <= self.tolerance

    @property
    def disagreement(self) -> str:
        """In words, where it does not agree."""
        if self.rows and self.largest_difference is not None and self.largest_difference > self.tolerance:
            name, theirs, ours = max(self.rows, key=lambda row: abs(row[1] - row[2]))
            return f"does not agree with the items: {name} {_plain(theirs)} in the file, {_plain(ours)} recomputed"
        return "its figures stand, but were made from other answers than the results file holds now"


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) > 1 else f"{value:.4f}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary file with the row file beside it that it was made from, if there is one."""

    seen: Seen
    form: str
    rows: Seen | None = None

    @property
    def path(self) -> str:
        return self.seen.path

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)

    @property
    def files(self) -> tuple[Seen, ...]:
        return (self.seen,) if self.rows is None else (self.seen, self.rows)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What the rows of a run of `benchmark` give, to be set beside a summary.

    `task_names` maps a task as rows spell it to the gold's spelling; `gold` holds the gold of each item.
    """

    benchmark: str
    scores: Scores
    answers: Answers
    recovered: Answers
    gold: Mapping[str, Any]
    task_names: Mapping[str, str]


def overall_scores(aggregates: Iterable[Aggregate]) -> Scores:
    table: dict[tuple[str, str, str, str], float | None] = {}
    for row in sorted(aggregates, key=lambda row: row.repeat is None):
        table[row.metric, row.variant, row.dimension, row.facet] = row.value
    return table


def numbers(block: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """(keys from the top, value) of every number in nested objects."""
    for key, value in block.items():
        if isinstance(value, dict):
            yield from numbers(value, (*above, key))
        elif is_figure(value):
            yield (*above, key), float(value)


def is_figure(value: Any) -> bool:
    """A finite number that is no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def read_rows(seen: Seen, kind: type[R]) -> tuple[list[R], int]:
    """(rows, lines that give none) of a row file. OSError passes through."""
    return hashed_rows(seen.entry.real, kind)[:2]


def hashed_rows(path: str, kind: type[R]) -> tuple[list[R], int, str]:
    """As `read_rows` of the file at a path, with the sha256 of the file as stored."""
    reader = LineReader(path, kind, slow=lambda row: msgspec.convert(row, kind))
    return [row for *_, row in reader], reader.bad_lines, reader.sha256
