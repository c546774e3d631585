"""A table as plain columns of equal length, for files that hold nothing else: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from leaderboard.tables.cells import NUMERIC, Cell, Column
from leaderboard.tables.table import PARTIAL_SIGN, REPORTED_SIGN, Line, Table


class FlatColumn(NamedTuple):
    """`name` is the head; `texts` are what is printed, "" where there is no figure, without separators of thousands;
    `values` are the same at full precision. `number`: the values are numbers or None.
    """

    name: str
    texts: list[str]
    values: list[Any]
    number: bool


def flatten(table: Table) -> list[FlatColumn]:
    """The group, then each column of the table, with what its cells have beside the text: interval, n, marks, notes.

    Names are unique: a second column of the same name has its key behind it.
    """
    lines = [(section.group.label, line) for section in table.sections for line in section.lines]
    out: list[FlatColumn] = []
    if any(label for label, _ in lines):
        labels = [label for label, _ in lines]
        out.append(FlatColumn("Group", labels, list(labels), False))
    taken = {column.name for column in out}
    for place in table.printed:
        column = table.columns[place]
        name = column.full_heading
        while name in taken:
            name = f"{name} ({column.key})"
        taken.add(name)
        out += _columns(name, column, place, [line for _, line in lines])
    return out


def _columns(name: str, column: Column, place: int, lines: list[Line]) -> list[FlatColumn]:
    cells = [line.row.cells[place] for line in lines]
    number = column.kind in NUMERIC
    texts = ["" if cell.missing else plain_digits(cell.text) if number else cell.text for cell in cells]
    figures = [cell.value if isinstance(cell.value, int | float) else None for cell in cells]
    out = [FlatColumn(name, texts, figures if number else texts, number)]
    if number:
        for what in ("low", "high"):
            out += _beside(f"{name} {what}", cells, lambda cell, what=what: getattr(cell, what), column.format)  # type: ignore[misc]
        out += _beside(f"{name} n", cells, lambda cell: cell.n, str)
        out += _beside(f"{name} answered", cells, lambda cell: cell.n_answered, str)
    out += _words(f"{name} marks", [marks(line, place) for line in lines])
    out += _words(f"{name} second line", [_second_line(cell) for cell in cells])
    out += _words(f"{name} note", [cell.note for cell in cells])
    return out


def _beside(
    name: str, cells: list[Cell], take: Callable[[Cell], float | None], text: Callable[[Any], str]
) -> list[FlatColumn]:
    values = [take(cell) for cell in cells]
    if all(value is None for value in values):
        return []
    return [FlatColumn(name, ["" if value is None else plain_digits(text(value)) for value in values], values, True)]


def _words(name: str, texts: list[str]) -> list[FlatColumn]:
    return [FlatColumn(name, texts, list(texts), False)] if any(texts) else []


def _second_line(cell: Cell) -> str:
    """What stands below the text, but for an interval, which has columns of its own."""
    return "" if cell.low is not None else cell.sub


def marks(line: Line, place: int) -> str:
    """What the signs and the type of a figure say, in words: `best, tied with the first, reported, partial`."""
    placed = line.places[place]
    cell, signs = placed.cell, line.signs_of(placed)
    if cell.missing:
        return ""
    given = {
        cell.emphasis: bool(cell.emphasis),
        "tied with the first": cell.tie,
        "reported": REPORTED_SIGN in signs,
        "partial": PARTIAL_SIGN in signs,
    }
    return ", ".join(word for word, is_so in given.items() if is_so)


def plain_digits(text: str) -> str:
    """Without separators of thousands: a program reads `1407`."""
    return text.replace(",", "")
