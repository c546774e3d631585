"""A board by the facets of a dimension: models by chapters, stages, tasks, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluation.models import Score
from evaluation.protocols.liveclin_items import STAGES
from evaluation.statistics import mean
from leaderboard.facets import in_order
from leaderboard.models import Board
from leaderboard.scores import metric_unit
from leaderboard.standings import Entry, standings
from leaderboard.tables import Cell, Column, Group, Row, Table

if TYPE_CHECKING:
    from evaluation.querysets import Person

CLINICAL = list(STAGES)  # in the order of a case; "Other" and what is new come last
MOST = 60  # facets; `stage_text` of LiveClin has hundreds
Figure = tuple[float, int, int]  # value, n, n_answered
Found = dict[tuple[int, str, str], dict[int | None, Figure]]  # (evaluation, metric, facet) -> repeat -> figure


def facet_table(board: Board, user: Person, dimension: str) -> Table | None:
    """The recomputed entries in the order of the board, a column a facet; None where nothing was measured by it.

    The metric is the board's headline where it is measured by facet, else the first that is. A figure over several runs
    is their plain mean; one that a run lacks is missing. Raises ValueError for more than 60 facets.
    """
    standing = standings([board], user)[0]
    evaluations = [evaluation.pk for entry in standing.entries for evaluation in entry.evaluations]
    found: Found = {}
    rows = Score.objects.visible_to(user).filter(
        evaluation__in=evaluations, dimension=dimension, variant="", value__isnull=False
    )
    fields = ("evaluation_id", "metric", "facet", "repeat", "value", "n", "n_answered")
    for pk, metric, facet, repeat, *figure in rows.order_by("pk").values_list(*fields):
        found.setdefault((pk, metric, facet), {})[repeat] = (figure[0], figure[1], figure[2])
    if not found:
        return None
    metrics = list(dict.fromkeys(metric for _, metric, _ in found))
    metric = standing.headline.metric if standing.headline.metric in metrics else metrics[0]
    facets = in_order(dict.fromkeys(facet for _, of, facet in found if of == metric))
    if dimension == "stage":
        facets.sort(key=lambda facet: CLINICAL.index(facet) if facet in CLINICAL else len(CLINICAL))
    if len(facets) > MOST:
        raise ValueError(f"{dimension} has {len(facets):,} facets, more than the {MOST} that a figure can show.")
    unit, precision = metric_unit(metric)
    evaluator = standing.spec.evaluator.name if standing.spec.evaluator else ""
    columns = [
        Column(
            f"facet-{place}",
            facet or "not given",
            "score",
            unit=unit,
            precision=precision,
            direction="higher",
            metric=metric,
            evaluator=evaluator,
            items=f"{dimension}={facet}",
        )
        for place, facet in enumerate(facets, 1)
    ]
    lines = []
    for entry in standing.entries:
        figures = [_figure(entry, found, metric, facet) for facet in facets]
        if any(figures):
            cells = [
                column.cell(figure[0], n=figure[1], n_answered=figure[2]) if figure else Cell("–")
                for column, figure in zip(columns, figures, strict=True)
            ]
            name = Cell(entry.model.name, value=entry.model.slug, sub=entry.snapshot)
            lines.append(Row(entry.key, (name, *cells), "all"))
    label = standing.spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize())
    release = board.split.release
    return Table(
        "facets",
        f"{standing.spec.name} by {label[:1].lower()}{label[1:]}"
        if label[1:2].islower()
        else f"{standing.spec.name}: {label}",
        "",
        (Column("model", "Model", "model"), *columns),
        tuple(lines),
        (Group("all", ""),),
        facts=(
            ("Release", release.name),
            ("Split", board.split.name),
            ("Mode", board.mode),
            ("Evaluator", evaluator),
        ),
    )


def _figure(entry: Entry, found: Found, metric: str, facet: str) -> Figure | None:
    """Over the entry's runs; None where one of them has none."""
    figures = []
    for evaluation in entry.evaluations:
        by_repeat = found.get((evaluation.pk, metric, facet), {})
        own = by_repeat.get(None) or (next(iter(by_repeat.values())) if len(by_repeat) == 1 else None)
        if own is None:
            return None
        figures.append(own)
    if not figures:
        return None
    least = min(figures, key=lambda figure: figure[2])
    return mean([figure[0] for figure in figures]), least[1], least[2]
