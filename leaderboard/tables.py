"""The table object: what a board, a breakdown or a run page says, frozen and formatted once.

Page, JSON, CSV and LaTeX are renderings of one `Table`: same rows, same order, same digits. A cell keeps the figure at
full precision (`value`) beside the text that every rendering prints (`text`). No Django here, and no arithmetic on
scores: who builds a table brings the values, intervals and ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, asdict, dataclass, fields
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple

MISSING = "–"
KINDS = ("rank", "model", "score", "interval", "count", "share", "badge", "date", "text", "link")
NUMERIC = frozenset({"rank", "score", "count", "share"})
DIRECTIONS = ("", "higher", "lower")
FRACTIONS = frozenset({"%", "pp"})  # units whose values are fractions of one and are shown times a hundred
BAND_STYLES = ("shaded", "outlined", "dotted")  # of the first, second and any further band
WIDTH, PAD = 200, 6  # of a whisker, in SVG user units
TIED = "not separable from the first"
REPORTED = "reported elsewhere, not recomputed from answers"


def format_value(value: float | None, unit: str = "", precision: int | None = None) -> str:
    """The text of a figure, without its unit: 0.3625 in "%" is "36.2", 1407 is "1,407", None is "–".

    Units "%" and "pp" take fractions (0..1) and show them times a hundred. `precision` is the number of decimal places;
    left out it is 1 for fractions, 0 for whole numbers and 2 for other numbers. Rounding is that of Python's `format`:
    to the nearest, and a binary value that lies exactly half-way goes to the even digit. What rounds to zero is "0.0",
    never "-0.0". Raises ValueError for NaN and infinity: a missing figure is None and nothing else.
    """
    if value is None:
        return MISSING
    _finite(value)
    if unit in FRACTIONS:
        return format(value, f"z,.{1 if precision is None else precision}%").removesuffix("%")
    if precision is None:
        precision = 0 if isinstance(value, int) else 2
    return format(float(value), f"z,.{precision}f")


def _finite(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"A figure must be finite or None, not {value}.")


@dataclass(frozen=True, slots=True)
class Cell:
    """One place in a table.

    `text` is what is printed ("" and "–" are shown as missing); `value` is the figure behind it at full precision, in
    the column's unit (fractions for "%"). `low` and `high` bound the 95 % interval of the value and come together or
    not at all. `n` counts what stands in the denominator, `n_answered` what of it was answered. `tie` marks an entry
    that cannot be separated from the first. `origin` is a run's origin ("reported", "uploaded", "ours"); `sub` is a
    second, quieter line; `note` becomes a footnote, or says why a figure is missing. Raises ValueError for NaN,
    infinity and half an interval.
    """

    text: str = ""
    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    n_answered: int | None = None
    rank: int | None = None
    tie: bool = False
    origin: str = ""
    note: str = ""
    sub: str = ""
    href: str = ""

    def __post_init__(self) -> None:
        for figure in (self.value, self.low, self.high):
            _finite(figure)
        if (self.low is None) != (self.high is None):
            raise ValueError("An interval has both ends or none.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"The interval {self.low} to {self.high} is upside down.")

    @property
    def missing(self) -> bool:
        return self.text in ("", MISSING)

    def as_dict(self) -> dict[str, Any]:
        """`text` and `value` always; of the rest only what was set."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {"text": self.text, "value": self.value} | given


@dataclass(frozen=True, slots=True)
class Column:
    """What stands below one heading.

    `kind` is one of KINDS and decides how a cell is drawn: an interval column draws whiskers, a badge column origins.
    `direction` says which end is better. A score column names its `metric`, and where it can the `evaluator`, because
    two figures may only be compared inside both; without a metric it raises ValueError, as for an unknown kind or
    direction.
    """

    key: str
    label: str
    kind: str
    _: KW_ONLY
    unit: str = ""
    direction: str = ""
    precision: int | None = None
    metric: str = ""
    evaluator: str = ""
    help: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Column {self.key!r}: unknown kind {self.kind!r}; one of {', '.join(KINDS)}.")
        if self.direction not in DIRECTIONS:
            raise ValueError(f"Column {self.key!r}: direction is 'higher', 'lower' or empty, not {self.direction!r}.")
        if self.kind == "score" and not self.metric:
            raise ValueError(f"Score column {self.key!r} names no metric.")

    @property
    def heading(self) -> str:
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def format(self, value: float | None) -> str:
        return format_value(value, self.unit, self.precision)

    def cell(self, value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Cell:
        """A cell of this column, its text made here. An interval goes below a score and is the text of a whisker."""
        bounds = "" if low is None or high is None else f"{self.format(low)}–{self.format(high)}"
        made = {"text": bounds or self.format(value)} if self.kind == "interval" else {"text": self.format(value)}
        if bounds and self.kind == "score":
            made["sub"] = bounds
        return Cell(**{**made, "value": value, "low": low, "high": high, **more})


def coverage_cell(n_answered: int, n: int, **more: Any) -> Cell:
    """For a share column in "%": the share that was answered, with both counts below it. Missing for n = 0."""
    share = n_answered / n if n else None
    sub = "" if not n else f"all {n:,}" if n_answered == n else f"{n_answered:,}/{n:,}"
    return Cell(
        **{"text": format_value(share, "%"), "value": share, "n": n, "n_answered": n_answered, "sub": sub, **more}
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One entry; `group` is the key of the group that it stands in."""

    key: str
    cells: tuple[Cell, ...]
    group: str


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together (`ranked`, `partial`, `reported`); `label` and `note` stand above them where given."""

    key: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """A reference, such as a human baseline, drawn behind the whiskers of the table's first interval column, in its
    unit.

    `n` counts what the reference rests on (None: not stated).
    """

    label: str
    low: float
    high: float
    n: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis of a column of whiskers, from `low` to `high` in the column's unit; x is in SVG user units."""

    low: float
    high: float
    unit: str = ""

    def x(self, value: float) -> float:
        return PAD + (value - self.low) / (self.high - self.low) * (WIDTH - 2 * PAD)

    @property
    def labels(self) -> tuple[str, str]:
        """The two ends as text, with no more digits than they need."""
        factor = 100 if self.unit in FRACTIONS else 1
        return f"{self.low * factor:.6g}", f"{self.high * factor:.6g}"


def scale_for(column: Column, cells: Iterable[Cell], bands: Iterable[Band] = ()) -> Scale | None:
    """The axis that holds every value, interval and band of a column, from zero to a round end; None without a figure.

    It is one axis for the whole table, so that whiskers in different groups may be compared by eye. Where all is zero
    it ends at 1 (100 %).
    """
    figures = [
        figure for cell in cells for figure in (cell.value, cell.low, cell.high) if isinstance(figure, int | float)
    ]
    if not figures:
        return None
    figures += [edge for band in bands for edge in (band.low, band.high)]
    low, high = min(0.0, *figures), max(0.0, *figures)
    if high - low < 1e-9:
        return Scale(0.0, 1.0, column.unit)
    least = (high - low) / 10
    power = 10.0 ** math.floor(math.log10(least))
    slack = 1e-9  # 0.3 / 0.1 is a little more than 3
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - slack))
    return Scale(math.floor(low / step + slack) * step, math.ceil(high / step - slack) * step, column.unit)


class Stripe(NamedTuple):
    style: str
    x: str
    width: str


class Whisker(NamedTuple):
    """One value with its interval: x coordinates as text ("" where there is no interval), and the figures in words."""

    x: str
    low: str
    high: str
    label: str


def whisker(cell: Cell, column: Column, scale: Scale | None) -> Whisker | None:
    """Where the dot and the ends of the interval stand on the scale; None where the cell has no figure."""
    if scale is None or not isinstance(cell.value, int | float):
        return None
    unit = f" {column.unit}" if column.unit else ""
    label = f"{column.format(cell.value)}{unit}"
    x = f"{scale.x(cell.value):.1f}"
    if cell.low is None or cell.high is None:
        return Whisker(x, "", "", f"{label}, no interval")
    label += f", 95 % interval {column.format(cell.low)} to {column.format(cell.high)}{unit}"
    return Whisker(x, f"{scale.x(cell.low):.1f}", f"{scale.x(cell.high):.1f}", label)


def stripes(bands: Iterable[Band], scale: Scale) -> tuple[Stripe, ...]:
    """The bands on the scale; one whose ends are equal is still seen."""
    return tuple(
        Stripe(style, f"{scale.x(band.low):.1f}", f"{max(scale.x(band.high) - scale.x(band.low), 1.5):.1f}")
        for style, band in zip(_styles(), bands, strict=False)
    )


def _styles() -> Iterator[str]:
    return chain(BAND_STYLES, repeat(BAND_STYLES[-1]))


class Heading(NamedTuple):
    """A column with its axis and bands; `css` holds the classes of its cells, `names_row`: it names the row."""

    column: Column
    scale: Scale | None
    stripes: tuple[Stripe, ...]
    names_row: bool
    css: str


class Placed(NamedTuple):
    """A cell with all that a page needs to draw it."""

    cell: Cell
    heading: Heading
    whisker: Whisker | None
    mark: str


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


class Section(NamedTuple):
    group: Group
    lines: list[Line]


@dataclass(frozen=True)
class Table:
    """A table with everything that must stand beside it. `rows` are put in the order of `groups`, else left as given.

    `facts` are (label, value) pairs: release, split, mode, evaluator, date, licence. `notes` are sentences below the
    table. Raises ValueError where a row has not one cell for each column, stands in an unknown group, or a key is there
    twice.
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
        score column is the headline, the first interval column shows the bands.
        """
        kinds = [column.kind for column in self.columns]
        first = {kind: kinds.index(kind) for kind in kinds}
        names = first.get("model", 0)
        headings = []
        for place, column in enumerate(self.columns):
            bands = self.bands if place == first.get("interval") else ()
            cells = (row.cells[place] for row in self.rows)
            scale = scale_for(column, cells, bands) if column.kind == "interval" else None
            roles = {
                f"kind-{column.kind}": True,
                "num": column.kind in NUMERIC,
                "names": place == names,
                "headline": place == first.get("score"),
            }
            css = " ".join(name for name, given in roles.items() if given)
            headings.append(Heading(column, scale, stripes(bands, scale) if scale else (), place == names, css))
        return tuple(headings)

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
                )
                for cell, heading in zip(row.cells, self.headings, strict=True)
            ]
            tie = any(cell.tie for cell in row.cells)
            reported = row.group == "reported" or any(cell.origin == "reported" for cell in row.cells)
            lines.setdefault(row.group, []).append(Line(row, tie, reported, places))
        return [Section(group, lines[group.key]) for group in self.groups if group.key in lines]

    @cached_property
    def legend(self) -> tuple[Mark, ...]:
        """Every mark that the page of this table shows, with its meaning."""
        lines = [line for section in self.sections for line in section.lines]
        marks = []
        if any(line.tie for line in lines):
            marks.append(Mark("≈", "", f"{TIED} (95 %, paired)"))
        if any(line.reported for line in lines):
            marks.append(Mark("†", "", REPORTED))
        banded = next((heading for heading in self.headings if heading.stripes), None)
        if banded:
            for style, band in zip(_styles(), self.bands, strict=False):
                marks.append(Mark("", style, _in_words(band, banded.column)))
        if any(place.cell.missing for line in lines for place in line.places):
            marks.append(Mark(MISSING, "", "no figure"))
        return tuple(marks)


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
