"""The figures along a case as lines: an inline SVG whose table stands below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leaderboard.breakdowns import Breakdown
from leaderboard.facetnames import NO_FACET
from leaderboard.heat import top_of
from leaderboard.tables import format_value

LINES = 5  # as many as have a dash and a mark of their own
LEFT, RIGHT, TOP, BOTTOM, HEIGHT, STEP = 48, 190, 16, 46, 300, 130
NEAR = 15  # least distance of two names, in SVG units


class Dot(NamedTuple):
    x: str
    y: str
    about: str


class Drawn(NamedTuple):
    """A line; `css` gives its dash, `name_y` where its name stands, `whiskers` its intervals where they are drawn."""

    name: str
    css: str
    points: str
    dots: list[Dot]
    name_y: str
    last: Dot
    whiskers: str


class Pathway(NamedTuple):
    width: int
    height: int
    ticks: list[tuple[str, str]]
    facets: list[tuple[str, str, str]]
    lines: list[Drawn]
    middle: str
    about: str
    name_x: str
    right: str
    base: str
    others: int


def along(found: Breakdown) -> list[str]:
    """The facets that follow each other in time."""
    steps = found.spec.facet_order.get(found.dimension)
    return [facet for facet in found.facets if (facet in steps if steps else facet not in NO_FACET)]


def pathway(found: Breakdown, chosen: str = "") -> Pathway | None:
    """Lines of the first entries of the board, that of `chosen` (an entry's key) before them, and the board's median.

    None with fewer than two places or no entry. A line is broken where a figure is missing. Only the first line has whiskers.
    """
    facets = along(found)
    order = sorted(range(len(found.entries)), key=lambda number: found.entries[number].key != chosen)
    shown = [number for number in order if found.cells[number]][:LINES]
    if len(facets) < 2 or not shown:
        return None
    whiskers_too = [v.high or 0.0 for v in found.cells[shown[0]].values()]
    top = top_of([v.value for cells in found.cells for v in cells.values()] + whiskers_too, found.unit)
    floor = HEIGHT - BOTTOM

    def x(place: int) -> float:
        return LEFT + 20 + place * STEP

    def y(value: float) -> float:
        return floor - value / top * (floor - TOP)

    lines: list[Drawn] = []
    for css, number in enumerate(shown):
        cells = found.cells[number]
        points, dots, whiskers, pen = [], [], [], "M"
        for place, facet in enumerate(facets):
            value = cells.get(facet)
            if value is None:
                pen = "M"
                continue
            points.append(f"{pen}{x(place):.0f} {y(value.value):.1f}")
            pen = "L"
            about = f"{found.entries[number].model.name}, {found.short(facet)}: {found.column.format(value.value)} {found.unit}"
            dots.append(Dot(f"{x(place):.0f}", f"{y(value.value):.1f}", f"{about.strip()}, n = {value.n:,}"))
            if not css and value.low is not None and value.high is not None:
                whiskers.append(f"M{x(place):.0f} {y(value.low):.1f}V{y(value.high):.1f}")
        if dots:
            name = found.entries[number].model.name
            lines.append(Drawn(name, f"line-{css}", "".join(points), dots, "", dots[-1], "".join(whiskers)))
    spread = _apart([float(line.last.y) for line in lines], NEAR, TOP, floor)
    lines = [line._replace(name_y=f"{place:.1f}") for line, place in zip(lines, spread, strict=True)]
    ranked = [c for c, e in zip(found.cells, found.entries, strict=True) if not e.why_unranked] or found.cells
    medians = [[c[facet].value for c in ranked if facet in c] for facet in facets]
    middle = " ".join(f"{x(p):.0f},{y(float(np.median(v))):.1f}" for p, v in enumerate(medians) if v)
    end = x(len(facets) - 1)
    return Pathway(
        int(end) + RIGHT,
        HEIGHT,
        [(f"{y(tick):.1f}", format_value(tick, found.unit, 0)) for tick in _ticks(top)],
        [(f"{x(place):.0f}", *_two_lines(found.short(facet))) for place, facet in enumerate(facets)],
        lines,
        middle,
        f"{found.column.label} by {found.label.lower()}, as lines; the table below holds every figure.",
        f"{end + 14:.0f}",
        f"{end:.0f}",
        f"{floor}",
        len(found.entries) - len(lines),
    )


def _ticks(top: float) -> list[float]:
    """From zero in tenths, fifths where the top is above the middle; in whole numbers where it is above 1."""
    step = 1.0 if top > 1 else 0.1 if top <= 0.5 else 0.2
    return [step * number for number in range(int(top / step + 1e-9) + 1)]


def _two_lines(text: str) -> tuple[str, str]:
    """A name cut at the space nearest to its middle, where it is long."""
    if len(text) < 15 or " " not in text:
        return text, ""
    cut = min((place for place, sign in enumerate(text) if sign == " "), key=lambda place: abs(place - len(text) / 2))
    return text[:cut], text[cut + 1 :]


def _apart(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """The places moved no more than is needed for `least` between neighbours, inside low..high as far as they fit."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = [places[number] for number in order]
    for number in range(1, len(moved)):
        moved[number] = max(moved[number], moved[number - 1] + least)
    limit = high
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - least
    out = [0.0] * len(places)
    for number, place in zip(order, moved, strict=True):
        out[number] = max(place, low) if len(places) == 1 else place
    return out
