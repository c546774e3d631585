"""What a picture is made of, taken out of a table: nothing is computed, sorted or rounded here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.tables import Band, Cell, Column, Table
from leaderboard.tables.table import PARTIAL, REPORTED, TIED

PLAIN, TIE, PARTLY, TOLD = "plain", "tie", "partial", "reported"
MEANINGS = {PLAIN: "ranked", TIE: f"{TIED} (95 %, paired)", PARTLY: PARTIAL, TOLD: REPORTED}


class FigureError(ValueError):
    """A table that a picture cannot be made of; the message says why."""


@dataclass(frozen=True)
class Mark:
    """A row with a figure: `value`, `low` and `high` in the column's unit, `text` and `between` as the table prints them.

    `kind` is PLAIN, TIE (with the first), PARTLY or TOLD (reported, not recomputed); it decides the shape.
    """

    name: str
    rank: str
    value: float
    text: str
    between: str
    low: float | None
    high: float | None
    kind: str


@dataclass(frozen=True)
class Ranked:
    """The groups of a table, each with its label and its rows, over one score column. `source` are its facts in one line."""

    title: str
    column: Column
    groups: tuple[tuple[str, tuple[Mark, ...]], ...]
    bands: tuple[Band, ...]
    source: str

    @property
    def marks(self) -> list[Mark]:
        return [mark for _, marks in self.groups for mark in marks]


@dataclass(frozen=True)
class Square:
    """One figure of a matrix; `value` is None and `text` "–" where there is none. `n` counts its denominator."""

    value: float | None
    text: str
    n: int | None


@dataclass(frozen=True)
class Matrix:
    """Rows by columns of one metric: a model's figures over the facets of a dimension, in the order of the table."""

    title: str
    label: str
    column: Column
    names: tuple[str, ...]
    heads: tuple[str, ...]
    squares: tuple[tuple[Square, ...], ...]
    source: str


@dataclass(frozen=True)
class Point:
    name: str
    x: Mark
    y: Mark


@dataclass(frozen=True)
class Points:
    """Models that have a figure on both boards, in the order of the first. `left_out` have one on one board only."""

    x: Column
    y: Column
    x_title: str
    y_title: str
    points: tuple[Point, ...]
    left_out: tuple[str, ...]
    source: str


def source_of(table: Table) -> str:
    """Title and facts in one line, as stand below the table."""
    return " ".join([f"{table.title}.", *(f"{label}: {value}." for label, value in table.facts if value)])


def ranked_of(table: Table) -> Ranked:
    """The first score column in which the table has a figure. Raises FigureError where there is none."""
    place = next(
        (
            place
            for place, column in enumerate(table.columns)
            if column.kind == "score" and any(_number(row.cells[place]) is not None for row in table.rows)
        ),
        None,
    )
    if place is None:
        raise FigureError("There is no figure to draw in this table.")
    groups = []
    for section in table.sections:
        marks = [mark for line in section.lines if (mark := _mark(table, line.row.cells, place, line.reported))]
        if marks:
            groups.append((section.group.label, tuple(marks)))
    bands = table.bands if table.columns[place].key == "score" else ()
    return Ranked(table.title, table.columns[place], tuple(groups), bands, source_of(table))


def matrix_of(table: Table) -> Matrix:
    """Every score column of the table: they must name one metric, unit and evaluator. Raises FigureError otherwise."""
    places = [place for place, column in enumerate(table.columns) if column.kind == "score"]
    columns = [table.columns[place] for place in places]
    if not columns or not table.rows:
        raise FigureError("There is no figure to draw in this table.")
    if len({(column.metric, column.unit, column.evaluator) for column in columns}) > 1:
        raise FigureError("The columns hold different metrics or evaluators, which one scale of colours cannot show.")
    names = _name_place(table)
    squares = [
        tuple(Square(_number(row.cells[place]), row.cells[place].text or "–", row.cells[place].n) for place in places)
        for row in table.rows
    ]
    return Matrix(
        table.title,
        columns[0].metric.replace("_", " ").capitalize(),
        columns[0],
        tuple(row.cells[names].text for row in table.rows),
        tuple(column.label for column in columns),
        tuple(squares),
        source_of(table),
    )


def points_of(x: Table, y: Table, x_title: str, y_title: str) -> Points:
    """Two boards over the models that both have. Raises FigureError where they share none."""
    first, second = ranked_of(x), ranked_of(y)
    own, other = _first_marks(first.marks), _first_marks(second.marks)
    shared = tuple(Point(name, mark, other[name]) for name, mark in own.items() if name in other)
    if not shared:
        raise FigureError("The two boards have no model in common.")
    left_out = tuple(name for name in (*own, *other) if not (name in own and name in other))
    source = " ".join(dict.fromkeys((f"{x_title}: {first.source}", f"{y_title}: {second.source}")))
    return Points(first.column, second.column, x_title, y_title, shared, left_out, source)


def _first_marks(marks: Sequence[Mark]) -> dict[str, Mark]:
    """Of a model that stands on a board twice the first counts, which is the recomputed one where there is one."""
    out: dict[str, Mark] = {}
    for mark in marks:
        out.setdefault(mark.name, mark)
    return out


def _mark(table: Table, cells: Sequence[Cell], place: int, reported: bool) -> Mark | None:
    cell, value = cells[place], _number(cells[place])
    if value is None:
        return None
    rank = next((cell for column, cell in zip(table.columns, cells, strict=True) if column.kind == "rank"), None)
    # what stands beside a rank without a number is partial; a table without ranks says so in the cell
    kind = TOLD if reported or cell.origin == "reported" else PARTLY if cell.partial or _unranked(rank) else PLAIN
    if rank is not None and rank.tie and kind == PLAIN:
        kind = TIE
    column = table.columns[place]
    between = "" if cell.low is None else f"{column.format(cell.low)}–{column.format(cell.high)}"
    name = cells[_name_place(table)].text
    return Mark(
        name, "" if rank is None or rank.missing else rank.text, value, cell.text, between, cell.low, cell.high, kind
    )


def _unranked(rank: Cell | None) -> bool:
    return rank is not None and rank.rank is None


def _name_place(table: Table) -> int:
    return next(place for place, heading in enumerate(table.headings) if heading.names_row)


def _number(cell: Cell) -> float | None:
    return float(cell.value) if isinstance(cell.value, int | float) and not cell.missing else None
