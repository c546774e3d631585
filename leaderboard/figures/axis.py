"""Axes, keys and labels that more than one kind of picture has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from leaderboard.figures.page import LINE, MARGIN, SOFT, Page
from leaderboard.tables import Column
from leaderboard.tables.cells import FRACTIONS


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` on millimetres from `start` to `end`; a vertical axis has its start below its end."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def axis(values: Iterable[float], column: Column, start: float, end: float, most: int = 6) -> Axis:
    """An axis with round ends that holds every value, and zero where that makes it no more than half as long again.

    Dots and lines show by their place, not by a length, so that zero is not owed. Where all are the same, it spans one
    unit (a percentage: ten points) around them.
    """
    from matplotlib.ticker import MaxNLocator

    found = list(values)
    factor = 100.0 if column.unit in FRACTIONS else 1.0
    low, high = min(found) * factor, max(found) * factor
    if 0 < low <= (high - low) / 2:
        low = 0.0
    elif 0 < -high <= (high - low) / 2:
        high = 0.0
    if high - low < 1e-9:
        low, high = low - factor / 20, high + factor / 20
    places = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    ticks = tuple((float(place) / factor, f"{place:.6g}".replace("-", "−")) for place in places)
    return Axis(ticks[0][0], ticks[-1][0], start, end, ticks)


def across(page: Page, scale: Axis, top: float, bottom: float, title: str) -> float:
    """Grid lines and numbers of a horizontal axis, its title below; gives where they end."""
    points = page.width.small
    step = page.leading(points)
    for value, text in scale.ticks:
        x = scale.at(value)
        page.line([x, x], [top, bottom], LINE, 0.5, zorder=0)
        page.text(x, bottom + step * 0.8, text, points, align="center", color=SOFT)
    y = bottom + step * 1.4
    middle = (scale.start + scale.end) / 2
    for line in page.wrap(title, points, 2 * min(middle, page.width.mm - middle) - 2 * MARGIN):
        page.text(middle, y + step / 2, line, points, align="center")
        y += step
    return y + step * 0.4


def upright(page: Page, scale: Axis, left: float, right: float) -> None:
    """Grid lines and numbers of a vertical axis; its title is set by the caller."""
    for value, text in scale.ticks:
        y = scale.at(value)
        page.line([left, right], [y, y], LINE, 0.5, zorder=0)
        page.text(left - 1, y, text, page.width.small, align="right", color=SOFT)


def room_for_ticks(page: Page, scale: Axis) -> float:
    return max(page.size(text, page.width.small)[0] for _, text in scale.ticks)


def titled(column: Column, label: str = "") -> str:
    """`Case accuracy, % (liveclin-official-2026-02)`: a figure names its metric, and the evaluator where there is one."""
    text = f"{label}, {column.unit}" if label and column.unit else label or column.heading
    return f"{text} ({column.evaluator})" if column.evaluator else text


def heading(page: Page, text: str) -> float:
    """On a slide the title above the picture; in a paper the caption says it. Gives where it ends."""
    if page.width.name != "slide":
        return MARGIN
    points = page.width.text * 1.25
    step, y = page.leading(points), MARGIN * 2
    for line in page.wrap(text, points, page.width.mm - 2 * MARGIN, bold=True):
        page.text(MARGIN, y + step / 2, line, points, bold=True)
        y += step
    return y + step * 0.4


Swatch = Callable[[float, float], None]


def key(page: Page, y: float, entries: Sequence[tuple[Swatch, str]]) -> float:
    """Swatches with their meaning, in lines as they fit; `Swatch` draws itself around (x, y). Gives where they end."""
    points, x = page.width.small, MARGIN
    step, room = page.leading(points) * 1.15, points * 0.6
    for swatch, text in entries:
        lines = page.wrap(text, points, page.width.mm - 2 * MARGIN - room)
        wide = room + max(page.size(line, points)[0] for line in lines)
        if x > MARGIN and x + wide > page.width.mm - MARGIN:
            x, y = MARGIN, y + step
        swatch(x + room / 2 - 0.5, y + step / 2)
        for number, line in enumerate(lines):
            page.text(x + room, y + step / 2, line, points)
            if number < len(lines) - 1:
                y += step
        x = x + wide + 3 if len(lines) == 1 else page.width.mm
    return y + step if entries else y


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near to the wanted ones as they can be with `gap` between neighbours, inside low..high where they fit."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[tuple[float, int]] = []  # (sum of wanted first places, number)
    for index in order:
        total, count = wanted[index], 1
        while blocks and blocks[-1][0] / blocks[-1][1] + gap * blocks[-1][1] > total / count:
            before, number = blocks.pop()
            total, count = before + total - gap * number * count, number + count
        blocks.append((total, count))
    out = [0.0] * len(wanted)
    at = iter(order)
    for total, count in blocks:
        first = total / count
        for number in range(count):
            out[next(at)] = first + number * gap
    # pushed back from both ends
    for index, place in zip(order, range(len(order)), strict=True):
        out[index] = max(out[index], low + place * gap)
    for place, index in enumerate(reversed(order)):
        out[index] = min(out[index], high - place * gap)
    return out
