"""All scores of one run as tables: overall, by repeat and by dimension."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Evaluation, Run, Score
from leaderboard.facets import in_order
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value
from leaderboard.words import small

LONG = 20  # rows from which a table is folded
Place = tuple[str, str]  # metric, variant


Link = Callable[[str, str], str]


def score_tables(
    run: Run, evaluation: Evaluation, spec: BenchmarkSpec, link: Link = lambda dimension, facet: ""
) -> list[tuple[Table, bool]]:
    """A table a dimension, each with whether it is long and better folded: overall, by repeat, then the dimensions.

    `link` gives the address of the items of a facet, "" where there is none.
    """
    scores = sorted(evaluation.scores.all(), key=lambda score: score.pk)
    several = any(score.repeat is None for score in scores)
    chosen = [score for score in scores if (score.repeat is None) == several]
    by_dimension: dict[str, list[Score]] = {}
    for score in chosen:
        by_dimension.setdefault(score.dimension, []).append(score)
    overall = by_dimension.pop("overall", [])
    tables = [_overall_table(overall, evaluation, spec)]
    if several:
        own = [score for score in scores if score.repeat is not None and score.dimension == "overall"]
        tables.append(_repeats_table(own, evaluation))
    order = [*spec.dimensions, *by_dimension]
    sources = label_sources(run, evaluation)
    for dimension in sorted(by_dimension, key=order.index):
        table = _dimension_table(dimension, by_dimension[dimension], overall, evaluation, spec, link)
        if dimension in sources:
            table = replace(table, notes=(*table.notes, f"Labels from {sources[dimension]}, not from the gold."))
        tables.append(table)
    return [(table, len(table.rows) > LONG) for table in tables]


def label_sources(run: Run, evaluation: Evaluation) -> dict[str, str]:
    """Which files set the dimensions that were added by labels: dimension -> names with sha256."""
    if evaluation.labels_fingerprint != run.split.labels_fingerprint:
        return {}  # the labels are newer than the figures
    labellings = run.split.release.labellings.all() if evaluation.labels_fingerprint else ()
    return {
        labelling.dimension: ", ".join(f"{name} (sha256 {sha256})" for name, sha256 in labelling.files)
        for labelling in labellings
    }


def metric_unit(metric: str) -> tuple[str, int | None]:
    """Unit and precision of a metric: a mean of judge scores is no share."""
    return ("", 2) if metric == "mean_score" else ("%", None)


def metric_name(metric: str) -> str:
    """In words: `unified_f1` is "Unified F1"."""
    words = {"score_share": "Share of judgements"}.get(metric, metric.replace("_", " ").capitalize())
    return re.sub(r"\bf1\b", "F1", words, flags=re.I)


VARIANTS = {
    "": "",
    "done_only": "missing left out",
    "per_figure": "each figure counted",
    "mean_of_categories": "mean of categories",
    "complete_only": "incomplete rows left out",
}


def _label(metric: str, variant: str) -> str:
    words = VARIANTS.get(variant, variant.replace("_", " "))
    return f"{metric_name(metric)}, {words}" if words else metric_name(metric)


def _cell(score: Score | None, **more: Any) -> Cell:
    if score is None or score.value is None:
        return Cell("–", note="nothing to take a mean of")
    unit, precision = metric_unit(score.metric)
    low, high = score.ci_low, score.ci_high
    if low is not None and high is not None:
        more.setdefault("sub", f"{format_value(low, unit, precision)}–{format_value(high, unit, precision)}")
    return Cell(
        format_value(score.value, unit, precision),
        value=score.value,
        low=low,
        high=high,
        n=score.n,
        n_answered=score.n_answered,
        **more,
    )


def _whisker(score: Score | None) -> Cell:
    if score is None or score.value is None or metric_unit(score.metric)[0] != "%":
        return Cell("–")
    return Column("", "", "interval", unit="%").cell(score.value, score.ci_low, score.ci_high)


def _count(value: int | None) -> Cell:
    return Cell(f"{value:,}", value=value) if value is not None else Cell("–")


def _overall_table(scores: Iterable[Score], evaluation: Evaluation, spec: BenchmarkSpec) -> Table:
    """A row a metric; the variants stand beside it, so that the headline and the public print are read together."""
    found = {(score.metric, score.variant): score for score in scores}
    headline = evaluation.evaluator.headline
    metrics = sorted(dict.fromkeys(metric for metric, _ in found), key=lambda metric: metric != headline)
    variants = [v for v in dict.fromkeys(variant for _, variant in found) if v]
    known = spec.named(evaluation.evaluator.name)
    meaning = dict(known.metrics) if known else {}
    columns = (
        Column("metric", "Metric", "text"),
        Column("value", "Value", "score", metric=headline, evaluator=evaluation.evaluator.name),
        Column("interval", "95 % interval", "interval", unit="%"),
        *(
            Column(variant, VARIANTS.get(variant, variant).capitalize(), "score", metric=headline)
            for variant in variants
        ),
        Column("n", "Of", "count"),
        Column("answered", "Answered", "count"),
    )
    rows = [
        Row(
            metric,
            (
                Cell(metric_name(metric) + (", %" if metric_unit(metric)[0] else ""), sub=meaning.get(metric, "")),
                _cell(found.get((metric, ""))),
                _whisker(found.get((metric, ""))),
                *(_cell(found.get((metric, variant))) for variant in variants),
                _count(found[metric, ""].n if (metric, "") in found else None),
                _count(found[metric, ""].n_answered if (metric, "") in found else None),
            ),
            "all",
        )
        for metric in metrics
    ]
    notes = ["Value: a question without a row counts 0. Missing left out: as the public code prints it."]
    return Table(
        "overall",
        "Overall",
        "",
        columns,
        tuple(rows),
        (Group("all", ""),),
        notes=tuple(notes if "done_only" in variants else ()),
    )


def _repeats_table(scores: Sequence[Score], evaluation: Evaluation) -> Table:
    found = {(score.repeat, score.metric): score for score in scores if not score.variant}
    metrics = list(dict.fromkeys(metric for _, metric in found))
    columns = (
        Column("repeat", "Repeat", "text"),
        *(
            Column(metric, metric_name(metric), "score", unit=metric_unit(metric)[0], metric=metric)
            for metric in metrics
        ),
        Column("n", "Of", "count"),
    )
    rows = []
    for repeat in sorted({repeat for repeat, _ in found if repeat is not None}):
        cells = [_cell(found.get((repeat, metric))) for metric in metrics]
        n = next((cell.n for cell in cells if cell.n), None)
        rows.append(Row(str(repeat), (Cell(str(repeat), value=repeat), *cells, _count(n)), "all"))
    return Table("repeats", "By repeat", "", columns, tuple(rows), (Group("all", ""),))


def _dimension_table(
    dimension: str,
    scores: Sequence[Score],
    overall: Sequence[Score],
    evaluation: Evaluation,
    spec: BenchmarkSpec,
    link: Link,
) -> Table:
    """A row a facet. The headline, where it is measured here, comes first with whiskers, counts and its variants.

    A variant that is the same as the plain value in every row is left out and said to be; those of other metrics stand in
    the JSON only.
    """
    found = {(score.metric, score.variant, score.facet): score for score in scores}
    facets = in_order(dict.fromkeys(score.facet for score in scores))
    headline = evaluation.evaluator.headline
    metrics = sorted(dict.fromkeys(score.metric for score in scores), key=lambda metric: metric != headline)
    lead = metrics[0]
    others: list[Place] = [(metric, "") for metric in metrics[1:]]
    notes = [_adds_up(lead, scores, overall)]
    for variant in dict.fromkeys(score.variant for score in scores if score.metric == lead and score.variant):
        if all(_same(found, lead, variant, facet) for facet in facets):
            notes.append(f"{_label(lead, variant)}: no figure differs.")
        else:
            others.insert(0, (lead, variant))

    label = spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize())
    unit = metric_unit(lead)[0]
    columns = [
        Column("facet", label, "text"),
        _score_column(lead, "", evaluation),
        Column("interval", "95 % interval", "interval", unit=unit),
        Column("n", "Of", "count"),
        Column("answered", "Answered", "count"),
        *(_score_column(metric, variant, evaluation) for metric, variant in others),
    ]
    rows = []
    for facet in facets:
        first = found.get((lead, "", facet))
        cells = [Cell(facet or "not given", value=facet, href=link(dimension, facet)), _cell(first), _whisker(first)]
        cells += [_count(first.n if first else None), _count(first.n_answered if first else None)]
        for metric, variant in others:
            score = found.get((metric, variant, facet))
            other_n = score is not None and (first is None or score.n != first.n)
            cells.append(_cell(score, sub=f"of {score.n:,}" if score and other_n else ""))
        rows.append(Row(facet or "(empty)", tuple(cells), "all"))
    title = f"By {small(label)}"
    return Table(dimension, title, "", tuple(columns), tuple(rows), (Group("all", ""),), notes=tuple(notes))


def _score_column(metric: str, variant: str, evaluation: Evaluation) -> Column:
    unit, precision = metric_unit(metric)
    name = evaluation.evaluator.name
    key = f"{metric}-{variant}"
    return Column(key, _label(metric, variant), "score", unit=unit, precision=precision, metric=metric, evaluator=name)


def _same(found: dict[tuple[str, str, str], Score], metric: str, variant: str, facet: str) -> bool:
    one, other = found.get((metric, "", facet)), found.get((metric, variant, facet))
    return one is not None and other is not None and (one.value, one.n) == (other.value, other.n)


def _adds_up(lead: str, scores: Sequence[Score], overall: Sequence[Score]) -> str:
    total = next((score.n for score in overall if (score.metric, score.variant) == (lead, "")), None)
    rows = sum(score.n for score in scores if (score.metric, score.variant) == (lead, ""))
    if total is not None and rows == total:
        return f"The rows add up to all {total:,}."
    return f"A question may stand in several rows or in none: the rows together count {rows:,}" + (
        f", the whole {total:,}." if total is not None else "."
    )
