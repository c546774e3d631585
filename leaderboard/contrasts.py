"""Two facets against each other, and one entry against the middle of the board, each with its interval."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import numpy as np

from evaluation import statistics
from leaderboard.breakdowns import GROUPS, Breakdown, figure_cell, group_of, model_cell
from leaderboard.facetnames import NO_FACET, facet_key, full
from leaderboard.standings import Entry, Value
from leaderboard.tables import Cell, Column, Group, Row, Table

FEWEST = 6  # clusters below which no interval of a difference is shown: all pointing one way would prove nothing


class Contrast(NamedTuple):
    table: Table
    sentence: str


def pair_of(found: Breakdown, one: str = "", other: str = "") -> tuple[str, str] | None:
    """The facets of two keys; without keys the two of a dimension that has just two. None where a key is no facet's."""
    by_key = {facet_key(facet): facet for facet in found.facets}
    if one or other:
        chosen = by_key.get(one), by_key.get(other)
        return (chosen[0], chosen[1]) if chosen[0] is not None and chosen[1] is not None and one != other else None
    named = [facet for facet in found.facets if facet not in NO_FACET]
    return (named[0], named[1]) if len(named) == 2 else None


def contrast(found: Breakdown, one: str, other: str) -> Contrast:
    """Every entry on one facet, on another, and the difference with its interval; how far the two rankings agree.

    Facets without a common cluster are independent: the interval is squared and added from the two. Where they share clusters,
    both means are taken in the same resamples. Kendall's tau-b is over the ranked entries that stand on both.
    """
    intervals = _intervals(found, one, other)
    column = found.column
    unit = "pp" if column.unit == "%" else column.unit
    gap = Column("gap", "Difference", "score", unit=unit, precision=column.precision, metric=column.metric)
    columns = (
        Column("model", "Model", "model"),
        Column("one", f"{found.short(one)}, n = {found.n[one]:,}", "score", unit=column.unit, metric=column.metric,
               precision=column.precision, help=full(found.spec, found.dimension, one)),
        Column("other", f"{found.short(other)}, n = {found.n[other]:,}", "score", unit=column.unit, metric=column.metric,
               precision=column.precision, help=full(found.spec, found.dimension, other)),
        gap,
        Column("interval", "95 % interval", "interval", unit=unit, precision=column.precision),
    )  # fmt: skip
    rows = []
    sides = facet_values(found, one), facet_values(found, other)
    for entry in found.entries:
        left, right = (side.get(entry.key) for side in sides)
        made = [model_cell(entry), figure_cell(column, left), figure_cell(column, right)]
        if left and right:
            low, high = intervals.get(entry.key, (None, None))
            made += [gap.cell(left.value - right.value, low, high)]
            made += [columns[4].cell(left.value - right.value, low, high) if low is not None else Cell("–")]
        else:
            made += [Cell("–", note="not measured on both"), Cell("–")]
        rows.append(Row(entry.key, tuple(made), group_of(entry)))
    both = [
        (cells[one].value, cells[other].value)
        for entry, cells in zip(found.entries, found.cells, strict=True)
        if not entry.why_unranked and one in cells and other in cells
    ]
    title = f"{found.short(one)} minus {found.short(other)}"
    table = Table("contrast", title, "", columns, tuple(rows), GROUPS, notes=(_how(found, one, other),))
    return Contrast(table, _agreement(both))


def _agreement(both: list[tuple[float, float]]) -> str:
    tau = statistics.kendall_tau_b([a for a, _ in both], [b for _, b in both]) if both else None
    if tau is None:
        return "Too few different figures to say whether the two rank the models alike."
    words = "alike" if tau > 0.8 else "much alike" if tau > 0.6 else "differently" if tau < 0.3 else "partly alike"
    return f"The two rank the {len(both)} ranked models {words}: Kendall's τ-b {tau:.2f}."


def _shares_clusters(found: Breakdown, one: str, other: str) -> bool | None:
    """None where the facets rest on the answers, not on the items."""
    held = found.members
    if one not in held or other not in held:
        return None
    codes = found.clusters[0]
    return bool(len(np.intersect1d(codes[held[one]], codes[held[other]])))


def _how(found: Breakdown, one: str, other: str) -> str:
    shared = _shares_clusters(found, one, other)
    if shared is None:
        return "No interval: these facets rest on the answers, not on the items."
    word = found.spec.unit
    if shared:
        return f"95 % interval: both means over the same resampled {word}s, 10,000 times."
    return f"95 % interval: no {word} stands in both, so the two intervals are combined (Newcombe 1998, method 10)."


def _intervals(found: Breakdown, one: str, other: str) -> dict[str, tuple[float, float]]:
    """Entry -> interval of the difference, for entries of today's items that stand on both facets."""
    shared = _shares_clusters(found, one, other)
    if shared is None:
        return {}
    entries = [
        entry
        for entry, cells in zip(found.entries, found.cells, strict=True)
        if entry in found.comparable() and one in cells and other in cells
    ]
    seed = found.standing.board.split.fingerprint
    if not shared:
        sides = [facet_values(found, facet) for facet in (one, other)]
        out = {}
        for entry in entries:
            ends = [
                _three(side.get(entry.key) or found.of[entry.key][f])
                for side, f in zip(sides, (one, other), strict=True)
            ]
            if ends[0] and ends[1]:
                out[entry.key] = statistics.independent_difference(ends[0], ends[1])
        return out
    values = found.values(entries) if entries else None
    if values is None or values.min(initial=0) < 0:
        return {}
    left, right = found.members[one], found.members[other]
    bounds = statistics.group_differences(values, left, right, found.clusters[0], seed=seed)
    gaps = values[:, left].mean(axis=1) - values[:, right].mean(axis=1)
    stored = [found.of[entry.key][one].value - found.of[entry.key][other].value for entry in entries]
    # a metric that leaves missing items out has no interval from values in which they count 0
    same = np.isclose(gaps, stored, rtol=0, atol=1e-9)
    return {entry.key: bound for entry, bound, known in zip(entries, bounds, same, strict=True) if known}


def _three(value: Value) -> tuple[float, float, float] | None:
    return None if value.low is None or value.high is None else (value.value, value.low, value.high)


def facet_values(found: Breakdown, facet: str) -> dict[str, Value]:
    """Entry -> its figure on a facet, with an interval also where it is a mean over several runs."""
    out = {entry.key: cells[facet] for entry, cells in zip(found.entries, found.cells, strict=True) if facet in cells}
    several = [e for e in found.comparable() if len(e.evaluations) > 1 and e.key in out]
    items = found.members.get(facet)
    values = found.values(several) if several and items is not None else None
    if values is not None and items is not None:
        split = found.standing.board.split
        for entry, row in zip(several, values, strict=True):
            upper = 1.0 if found.unit == "%" else 5.0
            low, high = statistics.mean_intervals(row, [items], found.clusters[0], seed=split.fingerprint, upper=upper)[
                0
            ]
            value = out[entry.key]
            out[entry.key] = Value(
                value.value, min(low, value.value), max(high, value.value), value.n, value.n_answered
            )
    return out


def against_median(found: Breakdown, entry: Entry) -> Table:
    """An entry on every facet beside the median of the ranked entries (of all, where none is ranked).

    The interval of the difference takes the median anew in each resample; none where items or values are not stored.
    """
    own_cells = found.of[entry.key]
    peers = found.standing.ranked or found.comparable()
    others = peers if entry in peers else [entry, *peers]
    column = found.column
    unit = "pp" if column.unit == "%" else column.unit
    facets = [facet for facet in found.facets if facet in own_cells]
    bounds = _to_median(found, entry, others, facets)
    gap = Column("gap", "Difference", "score", unit=unit, precision=column.precision, metric=column.metric)
    whiskers = Column("interval", "95 % interval", "interval", unit=unit, precision=column.precision)
    columns = (
        Column("facet", found.label, "text"),
        Column("own", entry.model.name, "score", unit=column.unit, precision=column.precision, metric=column.metric),
        Column("median", "Median", "score", unit=column.unit, precision=column.precision, metric=column.metric),
        gap,
        whiskers,
        Column("n", f"{found.word.capitalize()}", "count"),
    )
    rows = []
    for facet in facets:
        own = own_cells[facet]
        values = [found.of[e.key][facet].value for e in others
                  if facet in found.of[e.key]]  # fmt: skip
        middle = median(values)
        low, high = bounds.get(facet, (None, None))
        rows.append(
            Row(
                facet_key(facet),
                (
                    Cell(found.short(facet), value=facet),
                    figure_cell(column, own),
                    column.cell(middle, n=own.n),
                    gap.cell(own.value - middle, low, high),
                    whiskers.cell(own.value - middle, low, high) if low is not None else Cell("–"),
                    Cell(f"{own.n:,}", value=own.n),
                ),
                found.above[facet].key if facet in found.above else "all",
            )
        )
    who = "the ranked models" if found.standing.ranked else "all models"
    note = (
        f"Median of {len(others)}: {who} with this one. 95 % interval: both over the same resampled {found.spec.unit}s, "
        "the median taken anew each time. No correction for the number of rows: of twenty, one may lie off zero by chance. "
        f"No interval on fewer than {FEWEST} {found.spec.unit}s, or where all samples agree."
    )
    title = f"{entry.model.name} against the median"
    groups = dict.fromkeys(
        Group(group.key, group.text, group.about) if group.facet is None else Group(group.key, group.about)
        for group in found.above.values()
    ) or {Group("all", ""): None}
    return Table("against", title, "", columns, tuple(rows), tuple(groups), notes=(note,))


def _to_median(
    found: Breakdown, entry: Entry, others: list[Entry], facets: list[str]
) -> dict[str, tuple[float, float]]:
    held = [facet for facet in facets if facet in found.members]
    values = found.values(others) if held else None
    if values is None:
        return {}
    seed = found.standing.board.split.fingerprint
    groups = [found.members[facet] for facet in held]
    gaps = statistics.differences_to_median(values, others.index(entry), groups, found.clusters[0], seed=seed)
    out = {}
    for facet, gap in zip(held, gaps, strict=True):
        own = found.of[entry.key][facet]
        middle = median([found.of[e.key][facet].value for e in others if facet in found.of[e.key]])
        # neither has a metric whose denominator is not all items an interval from the vectors, nor a handful of clusters
        enough = len(np.unique(found.clusters[0][found.members[facet]])) >= FEWEST
        if enough and gap is not None and gap[1] < gap[2] and abs(gap[0] - (own.value - middle)) < 1e-9:
            out[facet] = gap[1], gap[2]
    return out
