"""What the pages of breakdowns show: the contexts of their templates, and the tables that they export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from leaderboard.breakdowns import (
    FEW,
    Breakdown,
    adds_up,
    break_down,
    breakdown_table,
    dimension_label,
    measured,
    within,
)
from leaderboard.charts import charts
from leaderboard.contrasts import against_median, contrast, pair_of
from leaderboard.exports import EXPORTS
from leaderboard.facetboards import FacetBoard, facet_board, facet_of
from leaderboard.facetnames import NO_FACET, facet_key, full
from leaderboard.heat import STEPS, heat_map
from leaderboard.models import Board
from leaderboard.pathway import pathway
from leaderboard.scores import metric_name
from leaderboard.standings import Standing, standings
from leaderboard.tables import Table
from leaderboard.words import INVENTED, board_subtitle, small

if TYPE_CHECKING:
    from evaluation.querysets import Person

CHOICES = ("metric", "view", "sort", "model", "one", "other")
VIEW_NAMES = {"": "Heat map", "table": "Table with intervals", "chart": "Interactive charts"}
Given = Mapping[str, str]


def chosen_of(given: Given) -> dict[str, str]:
    """The choices of an address that are set, in one order; anything else in it is passed over."""
    return {name: given[name] for name in CHOICES if given.get(name)}


def address(path: str, chosen: Given, **more: str) -> str:
    """The page with these choices, some of them changed; "" takes one off."""
    both = {**chosen, **more}
    query = urlencode({name: both[name] for name in CHOICES if both.get(name)})
    return f"{path}?{query}" if query else path


def standing_of(board: Board, user: Person) -> Standing | None:
    """The board as `user` sees it; None where nothing on it was recomputed."""
    found = standings([board], user)[0]
    return found if found.entries else None


def by_href(board: Board, dimension: str, facet: str = "") -> str:
    if facet:
        return reverse("board-facet", args=[board.slug, dimension, facet])
    return reverse("board-by", args=[board.slug, dimension])


def first_dimension(board: Board, user: Person) -> str | None:
    """The dimension that a board's breakdowns begin with; None where there is none."""
    standing = standing_of(board, user)
    return next(iter(measured(standing)), None) if standing else None


def breakdown_of(board: Board, dimension: str, chosen: Given, user: Person) -> Breakdown | None:
    """None where there is nothing at this address."""
    standing = standing_of(board, user)
    found = break_down(standing, dimension, chosen.get("metric", "")) if standing else None
    known = chosen.get("view", "") in VIEW_NAMES
    keys = {facet_key(facet) for facet in found.facets} if found else set()
    sort = chosen.get("sort", "").removeprefix("-")
    one_model = not chosen.get("model") or (found and chosen["model"] in found.of)
    return found if found and known and one_model and (not sort or sort in keys) else None


def breakdown_exported(found: Breakdown, chosen: Given) -> Table:
    return breakdown_table(found, chosen.get("sort", ""))


def breakdown_page(found: Breakdown, chosen: Given) -> dict[str, Any] | None:
    """The context of a breakdown's page; None where two facets are asked for that are not both there."""
    board = found.standing.board
    path = by_href(board, found.dimension)
    pair = pair_of(found, chosen.get("one", ""), chosen.get("other", ""))
    if pair is None and (chosen.get("one") or chosen.get("other")):
        return None
    chosen_entry = next((entry for entry in found.entries if entry.key == chosen.get("model")), None)

    def link(**more: str) -> str:
        return address(path, chosen, **more)

    def own(dimension: str, facet: str) -> str:
        return facet_href(found, dimension, facet)

    along = found.dimension in found.spec.pathway
    view = chosen.get("view", "")
    return {
        **_frame(found, chosen, path),
        "breakdown": found,
        "sentence": in_words(found),
        "heat": None if view else heat_map(found, chosen.get("sort", ""), link, own),
        "table": breakdown_table(found, chosen.get("sort", "")) if view else None,
        "charts": charts(found, chosen.get("sort", "")) if view == "chart" else [],
        "views": [(label, address(path, chosen, view=name), name == view) for name, label in VIEW_NAMES.items()],
        "over_label": dimension_label(found.spec, found.parent),
        "notes": breakdown_table(found).notes,
        "unsorted": address(path, chosen, sort="") if chosen.get("sort") else "",
        "few": FEW,
        "steps": range(STEPS + 1),
        "lines": pathway(found, chosen.get("model", "")) if along and view != "chart" else None,
        "against": against_median(found, chosen_entry) if chosen_entry else None,
        "contrast": contrast(found, *pair) if pair else None,
        "pair": [facet_key(facet) for facet in pair] if pair else [facet_key(facet) for facet in found.facets[:2]],
        "options": [(facet_key(facet), full(found.spec, found.dimension, facet)) for facet in found.facets],
        "hidden": [(name, chosen[name]) for name in ("metric", "view", "sort", "model") if chosen.get(name)],
    }


def facet_href(found: Breakdown, dimension: str, facet: str | None = None) -> str:
    """The board of a facet of any dimension, without a facet that by the dimension; by the same metric, "" where it has none."""
    metrics = found.measured.get(dimension, [])
    if found.metric not in metrics:
        return ""
    key = "" if facet is None else facet_key(facet)
    only = {} if found.metric == metrics[0] else {"metric": found.metric}
    return address(by_href(found.standing.board, dimension, key), only)


def facet_page(found: Breakdown, facet: str, chosen: Given) -> dict[str, Any]:
    made = facet_board(found, facet)
    path = by_href(found.standing.board, found.dimension, facet_key(facet))
    place = found.facets.index(facet)
    around = [found.facets[n] if 0 <= n < len(found.facets) else None for n in (place - 1, place + 1)]
    links = [
        (found.short(other), facet_href(found, found.dimension, other)) if other is not None else None
        for other in around
    ]
    group = found.above.get(facet)
    above = group if group and group.facet is not None else None
    return {
        **_frame(found, chosen, path),
        "facet": made,
        "before": links[0],
        "after": links[1],
        "whole": facet_href(found, found.dimension),
        "above": above,
        "above_label": dimension_label(found.spec, found.parent),
        "above_href": facet_href(found, found.parent, above.facet) if above else "",
        "below": [
            _below(found, made, below)
            for dimension, parent in found.spec.nested.items()
            if parent == found.dimension and (below := within(found, facet, dimension))
        ],
        "few": FEW,
        "steps": range(STEPS + 1),
    }


def _below(found: Breakdown, made: FacetBoard, below: Breakdown) -> dict[str, Any]:
    """A facet by the facets that lie in it: a heat map in the order of the facet's own board."""
    order = {row.key: place for place, row in enumerate(made.table.rows)}
    heat = heat_map(below, "", None, lambda dimension, facet: facet_href(found, dimension, facet))
    return {
        "found": below,
        "heat": heat._replace(rows=sorted(heat.rows, key=lambda row: order.get(row.key, len(order)))),
        "title": f"This {small(found.label)} by {small(below.label)}",
        "note": adds_up(below),
        "all": facet_href(found, below.dimension),
    }


def facet_made(found: Breakdown, key: str) -> FacetBoard | None:
    facet = facet_of(found, key)
    return None if facet is None else facet_board(found, facet)


def _frame(found: Breakdown, chosen: Given, path: str) -> dict[str, Any]:
    """What both pages have around their figures."""
    board = found.standing.board
    return {
        "found": found,
        "title": f"By {small(found.label)}",
        "subtitle": f"{found.spec.name} · {board_subtitle(board)}",
        "metric": found.column,
        "invented": board.split.release.name == INVENTED,
        "dimensions": [
            (dimension_label(found.spec, dimension), by_href(board, dimension), dimension == found.dimension)
            for dimension in found.measured
        ],
        "metrics": [
            (metric_name(metric), address(path, chosen, metric=metric), metric == found.metric)
            for metric in found.measured[found.dimension]
        ],
        "forms": [
            (form.label, f"{address(path, chosen)}{'&' if '?' in address(path, chosen) else '?'}format={name}")
            for name, form in EXPORTS.items()
            if name != "html"
        ],
        "spec": found.spec,
    }


def in_words(found: Breakdown) -> str:
    """Where the first entry of the board does worst and best, of the facets that are not small."""
    entry = found.entries[0]
    cells = found.of[entry.key]
    large = [f for f in found.facets if f in cells and cells[f].n >= FEW and f not in NO_FACET]
    if len(large) < 2 or not found.column.direction:
        return ""
    values = {facet: cells[facet].value for facet in large}
    low, high = min(large, key=lambda f: values[f]), max(large, key=lambda f: values[f])
    if values[low] == values[high]:
        return f"{entry.model.name} has the same figure everywhere."

    def told(facet: str) -> str:
        return f"{found.short(facet)} ({found.column.format(values[facet])}{f' {found.unit}' if found.unit else ''})"

    if found.metric == "first_break":
        return f"The cases of {entry.model.name} break first most often at {told(high)}, least often at {told(low)}."
    first = "first on the board" if not entry.why_unranked else "the best here, not ranked"
    return f"{entry.model.name}, {first}, is lowest on {told(low)} and highest on {told(high)}."
