"""Whiskers and bands: where they stand on the axis of an interval column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import NamedTuple

from leaderboard.tables.cells import FRACTIONS, Band, Cell, Column

BAND_STYLES = ("shaded", "outlined", "dotted")  # of the first, second and any further band
WIDTH, PAD = 200, 6  # of a whisker, in SVG user units


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis of a column of whiskers, from `low` to `high` in the column's unit; x is in SVG user units."""

    low: float
    high: float
    unit: str = ""

    def x(self, value: float) -> float:
        return PAD + (value - self.low) / (self.high - self.low) * (WIDTH - 2 * PAD)

    @property
    def zero(self) -> str:
        """Where zero stands, "" where it is an end."""
        return f"{self.x(0):.1f}" if self.low < 0 < self.high else ""

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
        for style, band in zip(styles(), bands, strict=False)
    )


def styles() -> Iterator[str]:
    return chain(BAND_STYLES, repeat(BAND_STYLES[-1]))
