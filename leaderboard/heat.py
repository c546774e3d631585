"""The heat map of a breakdown: a table whose cells print their figure on one of 21 steps of cividis."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from leaderboard.breakdowns import FEW, Breakdown, group_of, in_turn
from leaderboard.facetnames import facet_key, full
from leaderboard.standings import Value
from leaderboard.tables import format_value

STEPS = 20
WIDE = 120  # facets from which on the map shows only the largest
GROUP_WORDS = {"partial": "partial, not ranked", "unranked": "not ranked", "stale": "earlier rules, not ranked"}


class Head(NamedTuple):
    """A column; `href` is its facet's own board, `sorted_by` the value of aria-sort, `sort` the link that sorts by it."""

    text: str
    about: str
    href: str
    n: str
    few: bool
    sorted_by: str
    sort: str
    first: bool


class Over(NamedTuple):
    """What stands above neighbouring columns; `href` is the board of the facet that they lie in, "" where it is not one."""

    text: str
    about: str
    href: str
    width: int


class HeatCell(NamedTuple):
    text: str
    css: str
    about: str


class HeatRow(NamedTuple):
    key: str
    name: str
    sub: str
    href: str
    cells: list[HeatCell]
    whole: str
    against: str


class Heat(NamedTuple):
    """`low` and `high` are the ends of the colours; `left_out` counts facets that are not drawn. `over` is empty where nothing
    stands above the heads.
    """

    over: list[Over]
    heads: list[Head]
    rows: list[HeatRow]
    total: str
    low: str
    high: str
    left_out: int


def top_of(values: list[float], unit: str) -> float:
    """The figure that the lightest step stands for: the next tenth above the largest, of other units the next whole."""
    most = max(values, default=0.0)
    step = 0.1 if unit == "%" else 1.0
    return max(step, math.ceil(most / step - 1e-9) * step)


def step_of(value: float, top: float) -> int:
    """0 for nothing to 20 for `top`; what lies outside stands on the nearest end."""
    return min(STEPS, max(0, round(value / top * STEPS)))


def largest(found: Breakdown) -> list[str]:
    """The facets in their order; of more than WIDE those with the largest n."""
    kept = set(sorted(found.facets, key=lambda facet: -found.n[facet])[:WIDE])
    return [facet for facet in found.facets if facet in kept]


def heat_map(found: Breakdown, sort: str, link: Callable[..., str] | None, own: Callable[[str, str], str]) -> Heat:
    """The board's entries by the facets, in the order of the board or of one facet.

    `link` makes the address of the page with a changed choice, None where nothing can be chosen; `own` that of a facet's own
    board from its dimension and name.
    """
    shown = largest(found)
    top = top_of([value.value for cells in found.cells for value in cells.values()], found.unit)
    column = found.column
    places = 0 if found.unit == "%" else None
    over, firsts = _over(found, shown, own) if found.among is None else ([], set())
    rows = []
    for number in in_turn(found, sort):
        entry, cells = found.entries[number], found.cells[number]
        group = GROUP_WORDS.get(group_of(entry), "")
        whole = found.whole[number]
        rows.append(
            HeatRow(
                entry.key,
                entry.model.name,
                " · ".join(part for part in (entry.snapshot, group) if part),
                entry.model.get_absolute_url(),
                [_cell(found, facet, cells.get(facet), top, places, facet in firsts) for facet in shown],
                column.format(whole.value) if whole else "–",
                link(model=entry.key) if link else "",
            )
        )
    heads = [_head(found, facet, sort, link, own, facet in firsts) for facet in shown]
    total = max((value.n for value in found.whole if value), default=0)
    low, high = format_value(0.0, found.unit, 0), format_value(top, found.unit, 0)
    return Heat(over, heads, rows, f"{total:,}" if total else "", low, high, len(found.facets) - len(shown))


def _over(found: Breakdown, shown: list[str], own: Callable[[str, str], str]) -> tuple[list[Over], set[str]]:
    """What stands above the heads, and the first facet below each."""
    over, firsts = [], set()
    for group, facets in groupby(shown, key=found.above.get):
        below = list(facets)
        if group is not None:
            href = own(found.parent, group.facet) if group.facet is not None else ""
            over.append(Over(group.text, group.about, href, len(below)))
            firsts.add(below[0])
    return over, firsts


def _head(
    found: Breakdown,
    facet: str,
    sort: str,
    link: Callable[..., str] | None,
    own: Callable[[str, str], str],
    first: bool,
) -> Head:
    key, n = facet_key(facet), found.n[facet]
    lower = found.column.direction == "lower"
    sorted_by = {key: "ascending" if lower else "descending", f"-{key}": "descending" if lower else "ascending"}
    return Head(
        found.short(facet),
        full(found.spec, found.dimension, facet),
        own(found.dimension, facet),
        f"{n:,}",
        n < FEW,
        sorted_by.get(sort, ""),
        link(sort=f"-{key}" if sort == key else key) if link else "",
        first,
    )


def _cell(found: Breakdown, facet: str, value: Value | None, top: float, places: int | None, first: bool) -> HeatCell:
    begins = " first" if first else ""
    if value is None:
        return HeatCell("–", f"none{begins}", told(found, value))
    few = " few" if value.n < FEW else ""
    text = format_value(value.value, found.unit, places)
    other = f" ({value.n:,})" if value.n != found.n[facet] else ""
    return HeatCell(f"{text}{other}", f"hm hm-{step_of(value.value, top)}{few}{begins}", told(found, value))


def told(found: Breakdown, value: Value | None) -> str:
    """A figure with its interval and n, in words."""
    if value is None:
        return "not measured"
    column = found.column
    text = f"{column.format(value.value)} {found.unit}".strip()
    if value.low is not None and value.high is not None:
        text += f", 95 % {column.format(value.low)}–{column.format(value.high)}"
    return f"{text}, n = {value.n:,}"
