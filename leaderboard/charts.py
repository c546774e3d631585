"""The figures of a breakdown as interactive charts: Plotly builds them here, its script draws them in the browser.

Each shows what the table below it says. Plotly is loaded only when a chart is asked for: it takes half a second.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

from leaderboard.breakdowns import FEW, Breakdown, in_turn
from leaderboard.facetnames import full
from leaderboard.heat import largest, told, top_of
from leaderboard.pathway import along
from leaderboard.standings import Entry, Value
from leaderboard.tables import format_value
from leaderboard.words import small

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LONGEST = 40  # letters of a head; the whole name stands in the box that opens under the pointer
SEEN = 5  # lines that are drawn at first; the others wait in the legend
PRINTED = 30  # columns up to which figures fit into their cells
# Okabe and Ito (2008), without black and yellow, which one of the themes would swallow
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SIGNS = ("circle", "square", "diamond", "triangle-up", "x")


class Chart(NamedTuple):
    """`figure` is Plotly's JSON; `about` says in words what it shows."""

    key: str
    about: str
    figure: dict[str, Any]


def charts(found: Breakdown, sort: str) -> list[Chart]:
    """The heat map in the order of the board or of one facet; where facets follow each other in time, lines before it."""
    top = top_of([value.value for cells in found.cells for value in cells.values()], found.unit)
    ends = " to ".join(f"{format_value(end, found.unit, 0)} {found.unit}".strip() for end in (0.0, top))
    about = f"{found.column.label} by {small(found.label)}, dark to light from {ends}"
    made = [Chart("heat", about, _json(_heat(found, sort, top)))]
    if found.dimension in found.spec.pathway and len(along(found)) > 1:
        about = f"{found.column.label} along {small(found.label)}, a line a model with 95 % intervals"
        made.insert(0, Chart("lines", about, _json(_lines(found))))
    return made


def _json(figure: Figure) -> dict[str, Any]:
    return json.loads(figure.to_json())


def _figure(found: Breakdown, **layout: Any) -> Figure:
    from plotly import graph_objects

    clear = "rgba(0,0,0,0)"
    return graph_objects.Figure(
        layout={
            "template": None,
            "paper_bgcolor": clear,
            "plot_bgcolor": clear,
            "margin": {"l": 8, "r": 8, "t": 30, "b": 8},
            "hoverlabel": {"align": "left"},
        }
        | layout
    )


def _name(entry: Entry) -> str:
    return " · ".join(part for part in (entry.model.name, entry.snapshot) if part)


def _scaled(found: Breakdown, value: float | None) -> float | None:
    return value if value is None or found.unit != "%" else 100 * value


def _axis(names: Sequence[str], **more: Any) -> dict[str, Any]:
    """Places by number, as two things may have one name."""
    return {
        "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names), "automargin": True,
        "showgrid": False, "zeroline": False, **more,
    }  # fmt: skip


def _heat(found: Breakdown, sort: str, top: float) -> Figure:
    facets = largest(found)
    turn = in_turn(found, sort)
    rows = [[found.cells[number].get(facet) for facet in facets] for number in turn]
    places = 0 if found.unit == "%" else None
    heads = [shorten(found.short(facet), LONGEST, placeholder="…") for facet in facets]
    slant = 4 * max(
        map(len, heads), default=0
    )  # a slanting head takes about four pixels a letter upwards and to the right

    def printed(value: Value | None) -> str:
        if value is None:
            return "–"
        text = format_value(value.value, found.unit, places)
        return f"({text})" if value.n < FEW else text

    figure = _figure(
        found,
        height=24 * len(rows) + 60 + slant,
        margin={"l": 8, "r": slant, "t": 30, "b": 8},
        xaxis=_axis(heads, side="top", tickangle=-45),
        yaxis=_axis([_name(found.entries[number]) for number in turn], autorange="reversed"),
    )
    names = [full(found.spec, found.dimension, facet) for facet in facets]
    figure.add_heatmap(
        z=[[_scaled(found, value.value) if value else None for value in row] for row in rows],
        text=[[printed(value) for value in row] for row in rows],
        customdata=[[f"{name}: {told(found, value)}" for name, value in zip(names, row, strict=True)] for row in rows],
        texttemplate="%{text}" if len(facets) <= PRINTED else "",
        hovertemplate="<b>%{y}</b><br>%{customdata}<extra></extra>",
        colorscale="Cividis",
        zmin=0,
        zmax=_scaled(found, top),
        xgap=1,
        ygap=1,
        showscale=False,  # its colours are style attributes, which a strict policy forbids
    )
    return figure


def _lines(found: Breakdown) -> Figure:
    facets = along(found)
    figure = _figure(
        found,
        height=420,
        colorway=COLOURS,
        xaxis=_axis([found.short(facet) for facet in facets]),
        yaxis={
            "rangemode": "tozero",
            "automargin": True,
            "zeroline": False,
            "title": {"text": f"{found.column.label}, {found.unit}" if found.unit else found.column.label},
        },
        legend={"orientation": "h", "y": -0.2},
        showlegend=True,
    )
    for number, (entry, cells) in enumerate(zip(found.entries, found.cells, strict=True)):
        values = [cells.get(facet) for facet in facets]
        bounded = [value if value and value.low is not None and value.high is not None else None for value in values]
        figure.add_scatter(
            x=list(range(len(facets))),
            y=[_scaled(found, value.value) if value else None for value in values],
            name=_name(entry),
            mode="lines+markers",
            line={"dash": DASHES[number % len(DASHES)], "width": 2},
            marker={"symbol": SIGNS[number % len(SIGNS)], "size": 8},
            error_y={
                "type": "data", "symmetric": False, "thickness": 1, "width": 3,
                "array": [_scaled(found, v.high - v.value) if v and v.high is not None else None for v in bounded],
                "arrayminus": [_scaled(found, v.value - v.low) if v and v.low is not None else None for v in bounded],
            },
            customdata=[
                f"{full(found.spec, found.dimension, facet)}: {told(found, value)}"
                for facet, value in zip(facets, values, strict=True)
            ],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
            visible=True if number < SEEN else "legendonly",
        )  # fmt: skip
    return figure
