"""Published figures of a run's model beside what the run gives at the declared place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.models import Evaluation, Run, Score
from leaderboard.models import ReportedScore
from leaderboard.scores import metric_name
from leaderboard.tables import format_value
from leaderboard.twins import twin


@dataclass(frozen=True, slots=True)
class Beside:
    """A published figure and ours, both in its unit's digits; `why` says why ours is not there."""

    what: str
    published: str
    ours: str
    difference: str
    evaluator: str
    source: str
    why: str = ""


def published_beside(run: Run, evaluations: Sequence[Evaluation]) -> list[Beside]:
    """What was published of the run's model on its split and mode, in the source's order. Two queries."""
    rows = ReportedScore.objects.filter(split=run.split, mode=run.mode, model=run.model, on_board=True)
    reported = list(rows.select_related("source", "split__release__benchmark"))
    if not reported:
        return []
    names = {evaluation.pk: evaluation.evaluator.name for evaluation in evaluations}
    places = {(row.dimension, row.facet) for row in reported}
    scores = Score.objects.filter(evaluation__in=evaluations, dimension__in={dimension for dimension, _ in places})
    ours: dict[tuple[str, ...], float | None] = {}
    for score in scores.order_by("pk"):
        if (score.dimension, score.facet) in places:
            place = (names[score.evaluation_id], score.metric, score.variant, score.dimension, score.facet)
            # over all repeats, or of the only one
            if score.repeat is None or place not in ours:
                ours[place] = score.value
    return [_beside(row, ours) for row in reported]


def _beside(row: ReportedScore, ours: dict[tuple[str, ...], float | None]) -> Beside:
    found = twin(row.split.release.benchmark.slug, row.metric, row.variant, row.dimension, row.facet)
    what = metric_name(row.metric) if row.dimension == "overall" else f"{metric_name(row.metric)}, {row.facet}"
    published = format_value(row.value, "%", None)
    if found is None:
        return Beside(what, published, "–", "–", "", row.source.text, "nothing of that kind is computed here")
    value = ours.get((found.evaluator, found.metric, found.variant, found.dimension, found.facet))
    if value is None:
        return Beside(
            what, published, "–", "–", found.evaluator, row.source.text, found.needs or "not among its scores"
        )
    difference = f"{(value - row.value) * 100:+.1f}".replace("-", "−")
    return Beside(what, published, format_value(value, "%", None), difference, found.evaluator, row.source.text)
