"""How each figure of a benchmark is computed: the rules in their own words, and small examples that they score here and now."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from evaluation import statistics
from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.protocols import readings
from evaluation.protocols.base import Aggregate, Answers, Evaluator, Outcome
from leaderboard.scores import metric_name, metric_unit
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value

STATISTICS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("Interval of a share of independent units", statistics.wilson),
    ("Interval of a mean", statistics.mean_intervals),
    ("Resampling", statistics.resampled_means),
    ("Difference of two entries", statistics.paired_differences),
    ("Ranks", statistics.order_ranks),
    ("Rank intervals and the tie with the first", statistics.rank_intervals),
    ("Several runs", statistics.mean_sd),
)
OUTCOMES = (Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER, Outcome.ERROR, Outcome.MISSING)


def how_page(spec: BenchmarkSpec) -> dict[str, Any]:
    """The context of the page of one benchmark."""
    return {
        "spec": spec,
        "evaluators": [_evaluator(spec, evaluator) for evaluator in spec.all_evaluators],
        "outcomes": [(outcome.name.lower().replace("_", " "), outcome.meaning) for outcome in OUTCOMES],
        "variants": list(readings.VARIANTS.items()),
        "statistics": [(title, said(function)) for title, function in STATISTICS],
        "crumbs": [
            ("Boards", reverse("home")),
            (spec.name, reverse("home") + f"#{spec.slug}"),
            ("How this is computed", ""),
        ],
    }


def _evaluator(spec: BenchmarkSpec, evaluator: Evaluator) -> dict[str, Any]:
    return {
        "name": evaluator.name,
        "fingerprint": evaluator.fingerprint,
        "description": evaluator.description,
        "shown": evaluator is spec.evaluator,
        "missing": getattr(evaluator, "missing", ""),
        "metrics": [
            {
                "id": metric,
                "name": metric_name(metric),
                "means": meaning,
                "headline": metric == evaluator.headline,
                # what rests on stored verdicts or on an encoder has no example that could be scored here
                "table": example_table(spec.slug, evaluator, metric) if evaluator in spec.evaluators else None,
            }
            for metric, meaning in evaluator.metrics.items()
        ],
    }


Scored = dict[tuple[str, str], Aggregate]


@lru_cache(32)
def _scored(slug: str, name: str, fingerprint: str) -> tuple[tuple[str, str, str, Scored], ...]:
    """(words, what was taken, outcomes, overall aggregates) of each example, by the evaluator of that fingerprint."""
    spec = BENCHMARKS[slug]
    evaluator = next(each for each in spec.evaluators if each.name == name)
    out = []
    for example in spec.examples:
        items = spec.items(example.gold)
        answers = Answers(spec.read(row) for row in example.rows)
        result = readings.evaluate(evaluator, items, answers, Answers(), "example")
        overall = [row for row in result.aggregates if row.dimension == "overall"]
        overall.sort(key=lambda row: row.repeat is None)  # of several repeats what is over all of them counts
        scored = {(row.metric, row.variant): row for row in overall}
        taken = [_in_words(*evaluator.taken(answer)) for answer in answers]
        outcomes = [verdict.outcome.name.lower().replace("_", " ") for verdict in result.verdicts]
        out.append(
            (example.words, "; ".join(taken) or "no row", ", ".join(dict.fromkeys(outcomes)) or "missing", scored)
        )
    return tuple(out)


def _in_words(prediction: Any, rule: str) -> str:
    told = ", ".join(map(str, prediction)) if isinstance(prediction, tuple) else prediction
    return f"{'nothing' if told in (None, '') else told} ({rule})"


def example_table(slug: str, evaluator: Evaluator, metric: str) -> Table | None:
    """What the rules give for each example in one metric; None where no example says anything about it."""
    rows = []
    unit, precision = metric_unit(metric)
    for number, (words, taken, outcome, scored) in enumerate(_scored(slug, evaluator.name, evaluator.fingerprint)):
        whole, done = scored.get((metric, "")), scored.get((metric, "done_only"))
        if whole is None:
            continue
        cells = [Cell(words), Cell(taken), Cell(outcome)]
        cells += [_figure(row, unit, precision) for row in (whole, done)]
        rows.append(Row(str(number), (*cells, Cell(str(whole.n), value=whole.n)), "all"))
    if not any(row.cells[3].value is not None for row in rows):
        return None
    name = evaluator.name
    score: dict[str, Any] = {"unit": unit, "precision": precision, "metric": metric, "evaluator": name}
    columns = (
        Column("example", "What happens", "text"),
        Column("taken", "Taken (by rule)", "text"),
        Column("outcome", "Outcome", "text"),
        Column("value", "Value", "score", **score),
        Column("done_only", "Missing left out", "score", **score),
        Column("n", "Of", "count"),
    )
    return Table(f"{name}-{metric}", f"{metric_name(metric)}, examples", "", columns, tuple(rows), (Group("all", ""),))


def _figure(row: Aggregate | None, unit: str, precision: int | None) -> Cell:
    if row is None:
        return Cell("–", note="no such reading")
    if row.value is None:
        return Cell("–", note="blank: nothing to take a mean of")
    low, high = row.ci_low, row.ci_high
    bounds = "" if low is None or high is None else "–".join(format_value(end, unit, precision) for end in (low, high))
    return Cell(format_value(row.value, unit, precision), value=row.value, low=low, high=high, sub=bounds)


def said(function: Callable[..., Any]) -> list[SafeString]:
    """The docstring of a function as paragraphs, code marked as such: what stands on the page is what stands in the code."""
    text = inspect.getdoc(function) or ""
    paragraphs = [" ".join(part.split()) for block in text.split("\n\n") for part in re.split(r"\n(?=- )", block)]
    return [mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(part))) for part in paragraphs]  # noqa: S308 - escaped
