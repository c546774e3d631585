"""A board by one dimension of its items: the figures of every entry on every facet, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Evaluation, Score
from evaluation.statistics import mean
from leaderboard.facetnames import facet_key, full, members, ordered, short
from leaderboard.nesting import Above, above
from leaderboard.scores import label_sources, metric_name, metric_unit
from leaderboard.standings import (
    PARTIAL,
    STALE,
    Entry,
    Standing,
    Value,
    clusters_of,
    over_repeats,
    vectors_of,
)
from leaderboard.tables import Cell, Column, Group, Row, Table
from leaderboard.words import small

FEW = 20  # a figure on fewer is hatched
LOWER_IS_BETTER = frozenset({"error_rate", "first_break", "unsafe_rate", "verdict_flip_rate", "score_flip_rate"})
NO_ORDER = frozenset({"score_share"})  # neither more nor less is better
Chosen = Mapping[str, str]


@dataclass
class Breakdown:
    """`cells` has, for each entry of `entries`, its figure on each facet that it was measured on; `whole` on all items.

    `measured` maps each dimension of the board to its metrics, the one to begin with first. `above` is what stands above each
    facet, empty where nothing does; `among` are the places of the items that the breakdown is over, None for all.
    """

    standing: Standing
    dimension: str
    metric: str
    measured: dict[str, list[str]]
    facets: list[str] = field(default_factory=list)
    cells: list[dict[str, Value]] = field(default_factory=list)
    whole: list[Value | None] = field(default_factory=list)
    above: dict[str, Above] = field(default_factory=dict)
    among: np.ndarray | None = None

    @property
    def entries(self) -> list[Entry]:
        return self.standing.entries

    @property
    def spec(self) -> BenchmarkSpec:
        return self.standing.spec

    @property
    def label(self) -> str:
        return dimension_label(self.spec, self.dimension)

    @property
    def parent(self) -> str:
        """The dimension that its facets lie in, "" where there is none."""
        return self.spec.nested.get(self.dimension, "")

    @property
    def unit(self) -> str:
        return metric_unit(self.metric)[0]

    @property
    def column(self) -> Column:
        """What formats a figure."""
        evaluator = self.spec.evaluator
        return Column(
            "score",
            metric_name(self.metric),
            "score",
            unit=self.unit,
            precision=metric_unit(self.metric)[1],
            direction="" if self.metric in NO_ORDER else "lower" if self.metric in LOWER_IS_BETTER else "higher",
            metric=self.metric,
            evaluator=evaluator.name if evaluator else "",
            help=(evaluator.metrics.get(self.metric, "") if evaluator else ""),
        )

    @property
    def of_cases(self) -> bool:
        """Whether the metric counts cases where others count their questions."""
        return self.standing.shown.of_cases and self.metric not in ("question_accuracy", "error_rate")

    @property
    def word(self) -> str:
        """What n counts, in the plural."""
        return f"{self.spec.unit if self.of_cases else self.spec.item_word}s"

    def short(self, facet: str) -> str:
        return short(self.spec, self.dimension, facet)

    @cached_property
    def of(self) -> dict[str, dict[str, Value]]:
        """Entry's key -> its cells."""
        return {entry.key: cells for entry, cells in zip(self.entries, self.cells, strict=True)}

    @cached_property
    def n(self) -> dict[str, int]:
        """Facet -> its n: the largest, where entries differ."""
        return {facet: max((of[facet].n for of in self.cells if facet in of), default=0) for facet in self.facets}

    @cached_property
    def members(self) -> dict[str, np.ndarray]:
        """Facet -> the places in a vector that it counts: of a case, its first question."""
        found = members(self.standing.board.split, self.dimension)
        if not self.of_cases:
            return found
        firsts = self.clusters[1]
        return {facet: items for facet, held in found.items() if len(items := np.intersect1d(held, firsts))}

    @cached_property
    def clusters(self) -> tuple[np.ndarray, np.ndarray]:
        split = self.standing.board.split
        return clusters_of(split.pk, split.fingerprint, split.gold_missing)

    def values(self, entries: Sequence[Entry]) -> np.ndarray | None:
        """Value of each item for each entry (entries, items), its runs averaged, what is missing 0; None where not stored."""
        found = vectors_of([e for entry in entries for e in entry.evaluations], self.metric)
        items = len(self.clusters[0])
        if not all(len(found.get(e.pk, ())) == items for entry in entries for e in entry.evaluations):
            return None
        rows = [[np.nan_to_num(found[e.pk]) for e in entry.evaluations] for entry in entries]
        return np.array([np.mean(row, axis=0) for row in rows]).reshape(len(entries), items)

    def comparable(self) -> list[Entry]:
        """Entries that stand on today's items and rules."""
        return [entry for entry in self.entries if entry.why_unranked != STALE]


def dimension_label(spec: BenchmarkSpec, dimension: str) -> str:
    return spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize())


def measured(standing: Standing) -> dict[str, list[str]]:
    """Dimension -> metrics that stand on it, as the newest evaluation of the board has them: the board's headline first.

    One query; empty where nothing was recomputed.
    """
    evaluations = [evaluation for entry in standing.entries for evaluation in entry.evaluations]
    if not evaluations:
        return {}
    newest = max(evaluations, key=lambda evaluation: (evaluation.made_at, evaluation.pk))
    rows = Score.objects.filter(evaluation=newest, variant="").exclude(dimension="overall").order_by()
    found: dict[str, list[str]] = {}
    for dimension, metric in sorted(set(rows.values_list("dimension", "metric").distinct())):
        found.setdefault(dimension, []).append(metric)
    lead = [figure.metric for figure in standing.figures]
    order = [*standing.spec.dimensions, *found]
    return {
        dimension: sorted(found[dimension], key=lambda metric: (lead.index(metric) if metric in lead else 99, metric))
        for dimension in sorted(found, key=order.index)
    }


def break_down(standing: Standing, dimension: str, metric: str = "") -> Breakdown | None:
    """The board by one dimension; None where it has no such dimension, or not with this metric. Two queries."""
    known = measured(standing)
    if dimension not in known or (metric and metric not in known[dimension]):
        return None
    found = Breakdown(standing, dimension, metric or known[dimension][0], known)
    fill(found)
    return found


def fill(found: Breakdown) -> None:
    places = {e.pk: number for number, entry in enumerate(found.entries) for e in entry.evaluations}
    rows = Score.objects.filter(
        evaluation__in=list(places), dimension__in=("overall", found.dimension), metric=found.metric, variant=""
    ).order_by("pk")
    by_evaluation: dict[int, dict[tuple[str, str], dict[int | None, Value]]] = {pk: {} for pk in places}
    fields = ("evaluation_id", "dimension", "facet", "repeat", "value", "ci_low", "ci_high", "n", "n_answered")
    for pk, dimension, facet, repeat, value, *rest in rows.values_list(*fields):
        if value is not None:
            by_evaluation[pk].setdefault((dimension, facet), {})[repeat] = Value(value, *rest)
    seen: dict[str, None] = {}
    for entry in found.entries:
        tables = [by_evaluation[e.pk] for e in entry.evaluations]
        facets = dict.fromkeys(f for table in tables for dimension, f in table if dimension == found.dimension)
        seen |= facets
        cells = {facet: _entry_value(tables, (found.dimension, facet)) for facet in facets}
        found.cells.append({facet: value for facet, value in cells.items() if value is not None})
        found.whole.append(_entry_value(tables, ("overall", "")))
    found.facets = ordered(found.spec, found.dimension, seen)
    found.above = above(found.spec, found.standing.board.split, found.dimension, found.facets)
    found.facets = list(found.above) or found.facets


def within(found: Breakdown, facet: str, dimension: str) -> Breakdown | None:
    """The board over one facet, by the facets of another dimension that lie in it alone: its clusters, if it is a chapter.

    None where there are none, or none with this metric. Up to five queries.
    """
    if found.metric not in found.measured.get(dimension, ()) or facet not in found.members:
        return None
    below = Breakdown(found.standing, dimension, found.metric, found.measured)
    fill(below)
    below.facets = [one for one in below.facets if one in below.above and below.above[one].facet == facet]
    below.cells = [{one: of[one] for one in below.facets if one in of} for of in below.cells]
    below.whole = [of.get(facet) for of in found.cells]
    below.among = found.members[facet]
    return below if below.facets else None


def _entry_value(tables: Sequence[dict], place: tuple[str, str]) -> Value | None:
    """Over the runs of an entry: the plain mean, without an interval; None where a run lacks it."""
    values = [over_repeats(table.get(place, {})) for table in tables]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    if len(known) == 1:
        return known[0]
    least = min(known, key=lambda value: value.n_answered)
    return Value(mean([value.value for value in known]), None, None, least.n, least.n_answered)


# --- the table --------------------------------------------------------------------------------------------------------

GROUPS = (
    Group("ranked", ""),
    Group("partial", "Partial, not ranked", "What is missing counts 0."),
    Group("unranked", "Not ranked"),
    Group("stale", "Not ranked", "Scored by earlier rules or against earlier gold."),
)


def group_of(entry: Entry) -> str:
    return {"": "ranked", PARTIAL: "partial", STALE: "stale"}.get(entry.why_unranked, "unranked")


def model_cell(entry: Entry) -> Cell:
    return Cell(entry.model.name, value=entry.model.slug, href=entry.model.get_absolute_url(), sub=entry.snapshot)


def figure_cell(column: Column, value: Value | None, **more: str) -> Cell:
    if value is None:
        return Cell("–", note="not measured")
    return column.cell(value.value, value.low, value.high, n=value.n, n_answered=value.n_answered, **more)


def in_turn(found: Breakdown, sort: str) -> list[int]:
    """The entries' numbers by the facet of this key, the best first (`-`: last); what is missing is last both ways, ties stay."""
    facet = next((facet for facet in found.facets if facet_key(facet) == sort.removeprefix("-")), None)
    order = list(range(len(found.entries)))
    if facet is None:
        return order
    sign = (1 if sort.startswith("-") else -1) * (-1 if found.column.direction == "lower" else 1)

    def place(number: int) -> tuple[bool, float]:
        value = found.cells[number].get(facet)
        return value is None, sign * value.value if value else 0.0

    return sorted(order, key=place)


def breakdown_table(found: Breakdown, sort: str = "") -> Table:
    """A row an entry, a column a facet, with intervals and n: the same figures as the heat map's."""
    column = found.column
    columns = [Column("model", "Model", "model"), _facet_column(column, "all", "All", "")]
    for facet in found.facets:
        label = f"{found.short(facet)}, n = {found.n[facet]:,}"
        about = full(found.spec, found.dimension, facet)
        columns.append(_facet_column(column, facet_key(facet), label, about, found.above.get(facet)))
    rows = []
    for number in in_turn(found, sort):
        entry, cells = found.entries[number], found.cells[number]
        made = [model_cell(entry), figure_cell(column, found.whole[number])]
        made += [figure_cell(column, cells.get(facet)) for facet in found.facets]
        rows.append(Row(entry.key, tuple(made), group_of(entry)))
    board = found.standing.board
    return Table(
        f"by-{found.dimension}",
        f"{found.spec.name} by {small(found.label)}",
        "",
        tuple(columns),
        tuple(rows),
        GROUPS,
        notes=tuple(notes(found)),
        facts=(
            ("Release", board.split.release.name),
            ("Split", board.split.name),
            ("Mode", board.mode),
            ("Metric", f"{column.label}: {column.help}"),
            ("Evaluator", column.evaluator),
        ),
    )


def _facet_column(column: Column, key: str, label: str, about: str, group: Above | None = None) -> Column:
    return Column(
        key,
        label,
        "score",
        unit=column.unit,
        precision=column.precision,
        direction=column.direction,
        metric=column.metric,
        evaluator=column.evaluator,
        items=key,
        over=group.text if group else "",
        over_help=group.about if group else "",
        help=about,
    )


def notes(found: Breakdown) -> list[str]:
    """Whether the facets add up to the whole and why not, what is unmapped, whose labels they are, and what few means."""
    out = [adds_up(found), f"Hatched: fewer than {FEW} {found.word}."]
    newest: Evaluation = found.entries[0].evaluations[0]
    newest.run.split = found.standing.board.split
    if files := label_sources(newest.run, newest).get(found.dimension):
        out.append(f"Labels from {files}, not from the gold.")
    if any(len(entry.evaluations) > 1 for entry in found.entries):
        out.append("An entry over several runs is their plain mean; its interval stands on the page of a facet.")
    return out


def adds_up(found: Breakdown) -> str:
    """Whether the columns add up to the whole, and if not, why not."""
    total = max((value.n for value in found.whole if value), default=0)
    held = [found.members[facet] for facet in found.facets if facet in found.members]
    counted = sum(found.n.values())
    if not total:
        if found.metric == "first_break":
            return "The columns and the case accuracy add up to 100 %."
        return "There is no one figure over everything: the columns do not add up to a whole."
    if not held:
        return f"The columns count {counted:,}, the whole {total:,}: they rest on the answers, not on the items."
    everything = np.bincount(np.concatenate(held))
    in_some, in_several = int((everything > 0).sum()), int((everything > 1).sum())
    items = len(units(found))
    this = "" if found.among is None else f"this {small(dimension_label(found.spec, found.parent))}"
    if in_some == items and not in_several and counted == total:
        where = f" of {this}" if this else ""
        return f"The columns add up to all {total:,} {found.word}{where}; none is unmapped."
    words = []
    if items - in_some:
        alone = f" that lies in {this} alone" if this else ""
        words.append(
            f"{items - in_some:,} of {items:,} {found.word} carry no {small(found.label)}{alone} and stand in no column"
        )
    if in_several:
        words.append(f"{in_several:,} stand in several columns, as they carry several")
    if not words:
        words.append(f"the columns count {counted:,} and the whole {total:,} {found.word}")
    text = "; ".join(words)
    return f"{text[:1].upper()}{text[1:]}: the columns do not add up to the whole." if words else ""


def units(found: Breakdown) -> np.ndarray:
    """Places of all units that the metric counts, of those that the breakdown is over."""
    clusters, firsts = found.clusters
    if found.among is not None:
        return found.among
    return firsts if found.of_cases else np.arange(len(clusters))
