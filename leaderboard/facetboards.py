"""The board of one facet: its own ranks with intervals, beside the places on the whole board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation import statistics
from leaderboard.breakdowns import FEW, GROUPS, Breakdown, figure_cell, group_of, model_cell
from leaderboard.contrasts import facet_values
from leaderboard.facetnames import facet_key, full
from leaderboard.standings import Entry, rank
from leaderboard.tables import Cell, Column, Row, Table, coverage_cell
from leaderboard.words import in_words, small


@dataclass(frozen=True)
class FacetBoard:
    """`warning` is set where the facet is too small to say much."""

    facet: str
    title: str
    sentence: str
    warning: str
    table: Table


def facet_of(found: Breakdown, key: str) -> str | None:
    """The facet with this key in an address; None where there is none."""
    return next((facet for facet in found.facets if facet_key(facet) == key), None)


def facet_board(found: Breakdown, facet: str) -> FacetBoard:
    """The entries ranked by their figure on one facet; ranks and rank intervals as on the board, over its items alone.

    Nobody is ranked where values of single items are not stored for the metric, where less is better or where the facet rests
    on the answers; then the order is that of the figures. Entries without a rank on the board have none here.
    """
    rank(found.standing)
    values = facet_values(found, facet)
    places, why_not = _ranks(found, facet)
    column = found.column
    lower = column.direction == "lower"
    shown = [entry for entry in found.entries if entry.key in values]
    sign = 1 if lower else -1
    shown.sort(key=lambda entry: (bool(entry.why_unranked), sign * values[entry.key].value))
    tied = [entry for entry in shown if (place := places.get(entry.key)) and place.tied_with_leader]
    columns = (
        Column("rank", "Rank", "rank", help="On this facet; below it the ranks that are not ruled out at 95 %."),
        Column("model", "Model", "model"),
        column,
        Column("interval", "95 % interval", "interval", unit=column.unit, precision=column.precision),
        Column("coverage", "Answered", "share", unit="%"),
        Column("all", f"All {found.word}", "score", unit=column.unit, precision=column.precision, metric=column.metric),
        Column("place", "Rank on the whole board", "count"),
    )
    rows = []
    for entry in shown:
        value = values[entry.key]
        whole = found.whole[found.entries.index(entry)]
        place = places.get(entry.key)
        cells = (
            Cell("–", note="not ranked")
            if place is None
            else Cell(
                str(place.rank),
                value=place.rank,
                rank=place.rank,
                tie=len(tied) > 1 and entry in tied,
                sub=f"{place.low}–{place.high}" if place.low < place.high else "",
            ),
            model_cell(entry),
            figure_cell(column, value),
            columns[3].cell(value.value, value.low, value.high),
            coverage_cell(value.n_answered, value.n),
            figure_cell(column, whole, sub=""),
            Cell(str(entry.rank.rank), value=entry.rank.rank) if entry.rank else Cell("–", note="not ranked"),
        )
        rows.append(Row(entry.key, cells, group_of(entry)))
    n = found.n[facet]
    units = _clusters(found, facet)
    notes = [
        why_not
        or f"Ranks by the figure on these {n:,} {found.word} alone. Two models are told apart as on the board, over the "
        f"{units:,} {found.spec.unit}s that hold them."
    ]
    name = full(found.spec, found.dimension, facet)
    table = Table(
        f"facet-{facet_key(facet)}",
        f"{found.spec.name}: {small(found.label)} {name}",
        "",
        columns,
        tuple(rows),
        GROUPS,
        notes=tuple(notes),
        facts=(
            (found.label, name),
            (found.word.capitalize(), f"{n:,}"),
            ("Metric", f"{column.label}: {column.help}"),
            ("Evaluator", column.evaluator),
        ),
    )
    few = f"Only {n:,} {found.word}: an order on so few says little." if n < FEW else ""
    return FacetBoard(facet, name, _sentence(places, tied, shown, column.label), few, table)


def _clusters(found: Breakdown, facet: str) -> int:
    held = found.members.get(facet, np.zeros(0, np.int64))
    return len(np.unique(found.clusters[0][held]))


def _ranks(found: Breakdown, facet: str) -> tuple[dict[str, statistics.RankInterval], str]:
    """Entry -> its place on the facet, or why there are none."""
    if found.column.direction != "higher":
        return {}, "Nobody is ranked by this figure: more of it is not better."
    held = found.members.get(facet)
    if held is None:
        return {}, "Nobody is ranked: this facet rests on the answers, not on the items."
    entries = [entry for entry in found.entries if not entry.why_unranked and facet in found.of[entry.key]]
    if not entries:
        return {}, "Nobody is ranked on the board, so nobody is here."
    values = found.values(entries)
    if values is None:
        return {}, "Nobody is ranked: the values of single items are not stored for this metric."
    matrix, sizes = statistics.cluster_sums(values[:, held], found.clusters[0][held])
    places = statistics.rank_intervals(
        [found.of[entry.key][facet].value for entry in entries],
        matrix,
        sizes,
        seed=found.standing.board.split.fingerprint,
    )
    return {entry.key: place for entry, place in zip(entries, places, strict=True) if place}, ""


def _sentence(places: dict[str, statistics.RankInterval], tied: list[Entry], shown: list[Entry], label: str) -> str:
    if not places:
        return ""
    first = next(entry for entry in shown if entry.key in places)
    if len(tied) > 1:
        return f"{in_words(len(tied), True)} of {in_words(len(places))} models are statistically tied for first here."
    return f"{first.model.name} is first of {in_words(len(places))} here."
