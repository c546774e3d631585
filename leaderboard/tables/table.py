"""The frozen table with everything that must stand beside it, and what every rendering needs to know of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from leaderboard.tables.cells import MISSING, NUMERIC, Band, Cell, Column, Group, Row
from leaderboard.tables.drawing import Scale, Stripe, Whisker, scale_for, stripes, styles, whisker

TIED = "not separable from the first"
REPORTED = "reported elsewhere, not recomputed from answers"
PARTIAL = "heard on too little to be ranked"
TIED_SIGN, REPORTED_SIGN, PARTIAL_SIGN = "≈", "†", "‡"


class Sorting(NamedTuple):
    """How a page may be put in the order of a column: the address, and the order it is in now as `aria-sort` words it."""

    href: str
    order: str


class Heading(NamedTuple):
    """A column with its axis and bands; `css` holds the classes of its cells, `names_row`: it names the row."""

    column: Column
    scale: Scale | None
    stripes: tuple[Stripe, ...]
    names_row: bool
    css: str
    sorting: Sorting | None = None


class Span(NamedTuple):
    """What stands above neighbouring columns, `about` in full: "" above those that have nothing there."""

    text: str
    width: int
    about: str


class Placed(NamedTuple):
    """A cell with all that a rendering needs to print it: `mark` is its footnote, `signs` stand right behind its text."""

    cell: Cell
    heading: Heading
    whisker: Whisker | None
    mark: str
    signs: tuple[tuple[str, str], ...] = ()


class Mark(NamedTuple):
    """A sign that the page shows, or the style of a band, with its meaning."""

    sign: str
    band: str
    meaning: str


class Line(NamedTuple):
    row: Row
    tie: bool
    reported: bool
    places: list[Placed]

    @property
    def printed(self) -> list[Placed]:
        """Its cells in forms of text: see `Table.printed`."""
        return [placed for placed in self.places if placed.heading.column.kind != "interval"]

    def signs_of(self, placed: Placed) -> list[str]:
        """The signs behind the text of one of its cells; the name of a row in which all is reported has one for them all."""
        named = [REPORTED_SIGN] if self.reported and placed.heading.names_row else []
        return [*named, *(sign for sign, _ in placed.signs)]


class Section(NamedTuple):
    group: Group
    lines: list[Line]


@dataclass(frozen=True)
class Table:
    """A table with everything that must stand beside it. `rows` are put in the order of `groups`, else left as given.

    `facts` are (label, value) pairs: release, split, mode, evaluator, date, licence. `notes` are sentences below the
    table. `sorting` is one a column, or empty where the order cannot be chosen; only pages show it. Raises ValueError where
    a row has not one cell for each column, stands in an unknown group, or a key is there twice.
    """

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    bands: tuple[Band, ...] = ()
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sorting: tuple[Sorting, ...] = ()

    def __post_init__(self) -> None:
        _distinct("column", (column.key for column in self.columns))
        _distinct("row", (row.key for row in self.rows))
        _distinct("group", (group.key for group in self.groups))
        order = {group.key: place for place, group in enumerate(self.groups)}
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"Row {row.key!r} has {len(row.cells)} cells for {len(self.columns)} columns.")
            if row.group not in order:
                raise ValueError(f"Row {row.key!r} stands in the unknown group {row.group!r}.")
        object.__setattr__(self, "rows", tuple(sorted(self.rows, key=lambda row: order[row.group])))

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON: rows in the order of the page, cells by column key, each with its text and raw value."""
        keys = [column.key for column in self.columns]
        return {
            "key": self.key,
            "title": self.title,
            "caption": self.caption,
            "columns": [asdict(column) for column in self.columns],
            "groups": [asdict(group) for group in self.groups],
            "rows": [
                {
                    "key": row.key,
                    "group": row.group,
                    "cells": {key: cell.as_dict() for key, cell in zip(keys, row.cells, strict=True)},
                }
                for row in self.rows
            ],
            "bands": [asdict(band) for band in self.bands],
            "notes": list(self.notes),
            "facts": [{"label": label, "value": value} for label, value in self.facts],
        }

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The columns as the page draws them. The first model column (else the first column) names the row, the first
        score column is the headline (not where type marks the best of each column or two rankings stand side by side), the
        first interval column shows the bands.
        """
        kinds = [column.kind for column in self.columns]
        first = {kind: kinds.index(kind) for kind in kinds}
        names = first.get("model", 0)
        even = kinds.count("rank") > 1 or any(cell.emphasis for row in self.rows for cell in row.cells)
        headings = []
        for place, column in enumerate(self.columns):
            bands = self.bands if place == first.get("interval") else ()
            cells = (row.cells[place] for row in self.rows)
            scale = scale_for(column, cells, bands) if column.kind == "interval" else None
            roles = {
                f"kind-{column.kind}": True,
                "num": column.kind in NUMERIC,
                "names": place == names,
                "headline": place == first.get("score") and not even,
            }
            css = " ".join(name for name, given in roles.items() if given)
            sorting = self.sorting[place] if self.sorting and self.sorting[place].href else None
            headings.append(
                Heading(column, scale, stripes(bands, scale) if scale else (), place == names, css, sorting)
            )
        return tuple(headings)

    @property
    def printed(self) -> list[int]:
        """Places of the columns that forms of text print: whiskers are a drawing of what stands beside the scores."""
        return [place for place, column in enumerate(self.columns) if column.kind != "interval"]

    @property
    def printed_headings(self) -> list[Heading]:
        return [self.headings[place] for place in self.printed]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The line above the headings, left to right; empty where no column has anything above it."""
        runs = groupby(self.columns, key=lambda column: (column.over, column.over_help))
        found = tuple(Span(text, len(list(columns)), about) for (text, about), columns in runs)
        return found if any(span.text for span in found) else ()

    @cached_property
    def footnotes(self) -> tuple[tuple[str, str], ...]:
        """(mark, note) for every note of a cell that has a text, in page order; equal notes share a mark."""
        notes = dict.fromkeys(cell.note for row in self.rows for cell in row.cells if cell.note and not cell.missing)
        return tuple((_letters(place), note) for place, note in enumerate(notes))

    @cached_property
    def sections(self) -> list[Section]:
        """The groups that have rows, for the page."""
        marks = {note: mark for mark, note in self.footnotes}
        lines: dict[str, list[Line]] = {}
        for row in self.rows:
            places = [
                Placed(
                    cell,
                    heading,
                    whisker(cell, heading.column, heading.scale),
                    "" if cell.missing else marks.get(cell.note, ""),
                    ((PARTIAL_SIGN, PARTIAL),) if cell.partial and not cell.missing else (),
                )
                for cell, heading in zip(row.cells, self.headings, strict=True)
            ]
            tie = any(cell.tie for cell in row.cells)
            origins = {cell.origin for cell in row.cells if cell.origin}
            reported = row.group == "reported" or origins == {"reported"}
            if not reported:
                places = [_signed(place) for place in places]
            lines.setdefault(row.group, []).append(Line(row, tie, reported, places))
        return [Section(group, lines[group.key]) for group in self.groups if group.key in lines]

    @cached_property
    def legend(self) -> tuple[Mark, ...]:
        """Every mark that the page of this table shows, with its meaning."""
        lines = [line for section in self.sections for line in section.lines]
        marks = []
        if any(line.tie for line in lines):
            marks.append(Mark(TIED_SIGN, "", f"{TIED} (95 %, paired)"))
        signs = {sign for line in lines for place in line.places for sign, _ in place.signs}
        if REPORTED_SIGN in signs or any(line.reported for line in lines):
            marks.append(Mark(REPORTED_SIGN, "", REPORTED))
        if PARTIAL_SIGN in signs:
            marks.append(Mark(PARTIAL_SIGN, "", PARTIAL))
        banded = next((heading for heading in self.headings if heading.stripes), None)
        if banded:
            for style, band in zip(styles(), self.bands, strict=False):
                marks.append(Mark("", style, _in_words(band, banded.column)))
        if any(place.cell.missing for line in lines for place in line.places):
            marks.append(Mark(MISSING, "", "no figure"))
        return tuple(marks)


def _signed(place: Placed) -> Placed:
    """With a sign of its own where the figure is reported and others of its row are not."""
    if place.cell.origin != "reported" or place.cell.missing or place.heading.column.kind == "badge":
        return place
    return place._replace(signs=((REPORTED_SIGN, REPORTED), *place.signs))


def _distinct(what: str, keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"Two {what}s have the key {key!r}.")
        seen.add(key)


def _letters(place: int) -> str:
    """0 is a, 25 is z, 26 is aa."""
    before, last = divmod(place, 26)
    return (_letters(before - 1) if before else "") + chr(ord("a") + last)


def _in_words(band: Band, column: Column) -> str:
    unit = f" {column.unit}" if column.unit else ""
    low, high = column.format(band.low), column.format(band.high)
    words = [band.label, f"{low}{unit}" if low == high else f"{low}–{high}{unit}"]
    if band.n is not None:
        words.append(f"n = {band.n:,}")
    return ", ".join(words) + (f" ({band.note})" if band.note else "")
