"""The items of one run as a list: by facet and by outcome, each with a link to what the model said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from django.core.paginator import Paginator
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Item, ItemScore, Response, Run
from evaluation.protocols.base import Outcome
from leaderboard.evaluators import current_evaluations
from leaderboard.filters import Choice, address
from leaderboard.itemsets import item_address, item_set, outcomes
from leaderboard.tables import format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.querysets import Person

PER_PAGE = 100
OUTCOMES = {outcome.name.lower(): outcome for outcome in Outcome}
_LONGEST = 200  # characters of a prediction in a list


def outcome_name(number: int) -> str:
    return Outcome(number).name.lower().replace("_", " ")


class Answered(NamedTuple):
    """One row of a run's file for an item, as an evaluator took it. `value` is text."""

    href: str
    repeat: int
    outcome: str
    prediction: str
    rule: str
    value: str


class Line(NamedTuple):
    """An item in a list with what the run gave for it; no rows: it is missing."""

    item: Item
    href: str
    outcome: str
    rows: list[Answered]


def taken(text: str) -> str:
    """A stored prediction for a list: cut, and `nothing` where nothing was taken."""
    if text in ("null", '""', "[]"):
        return "nothing"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def answers_of(evaluation: Evaluation, items: Sequence[int], repeat: int = 0) -> dict[int, list[Answered]]:
    """item -> its rows in the run of an evaluation, in the order of the file; two queries. At most some hundred items."""
    rows = Response.objects.filter(run=evaluation.run_id, item__in=items, recovered=False)
    if repeat:
        rows = rows.filter(repeat=repeat)
    placed = list(rows.order_by("ordinal").values_list("ordinal", "item", "repeat"))
    scores = ItemScore.objects.filter(evaluation=evaluation, ordinal__in=[ordinal for ordinal, _, _ in placed])
    fields = ("ordinal", "outcome", "prediction", "rule", "value")
    scored = {ordinal: rest for ordinal, *rest in scores.values_list(*fields)}
    found: dict[int, list[Answered]] = {}
    for ordinal, item, number in placed:
        if ordinal in scored:
            outcome, prediction, rule, value = scored[ordinal]
            href = reverse("response", args=[evaluation.run.key, ordinal])
            shown = format_value(value, "", 2) if value is not None else ""
            found.setdefault(item, []).append(
                Answered(href, number, outcome_name(outcome), taken(prediction), rule, shown)
            )
    return found


class Wanted(NamedTuple):
    """What the address asks for; None from `wanted` where it asks for what there is not."""

    evaluation: Evaluation
    repeat: int
    dimension: str
    facet: str
    outcome: str

    def query(self, **more: str) -> str:
        chosen = {
            "by": self.evaluation.evaluator.name,
            "repeat": str(self.repeat or ""),
            "dimension": self.dimension,
            "facet": self.facet,
            "outcome": self.outcome,
        }
        # a facet may be the empty text, which `address` would drop: its dimension alone says so
        return address({**chosen, **more})


def _wanted(run: Run, query: Mapping[str, str]) -> Wanted | None:
    by, repeat, outcome = query.get("by", ""), query.get("repeat", ""), query.get("outcome", "")
    evaluations = current_evaluations(run)
    evaluation = next((one for one in evaluations if one.evaluator.name == by or not by), None)
    known = not repeat or repeat in {str(number) for number in run.repeats}
    if evaluation is None or not known or outcome not in ("", *OUTCOMES):
        return None
    # an only repeat has no vector of its own
    number = int(repeat) if repeat and len(run.repeats) > 1 else 0
    return Wanted(evaluation, number, query.get("dimension", ""), query.get("facet", ""), outcome)


def facet_links(run: Run, evaluation: Evaluation) -> Callable[[str, str], str]:
    """(dimension, facet) -> the list of its items in a run, "" for what is no facet of items (a score, a pair of runs)."""
    groups, base = item_set(run.split).groups, reverse("run-answers", args=[run.key])
    by = evaluation.evaluator.name

    def link(dimension: str, facet: str) -> str:
        there = facet in groups.get(dimension, {})
        return f"{base}?{address({'by': by, 'dimension': dimension, 'facet': facet})}" if there else ""

    return link


def run_items_page(run: Run, user: Person, query: Mapping[str, str]) -> dict[str, Any] | None:
    """The context of the list, for who may see items; None where the address asks for what there is not."""
    if (asked := _wanted(run, query)) is None:
        return None
    split, spec = run.split, BENCHMARKS[run.split.release.benchmark.slug]
    items = item_set(split)
    vector = outcomes(asked.evaluation, asked.repeat, len(items))
    if vector is None:
        return None
    chosen = np.arange(len(items))
    if asked.dimension:
        facets = items.groups.get(asked.dimension, {})
        if asked.facet not in facets:
            return None
        chosen = facets[asked.facet]
    counts = np.bincount(vector[chosen], minlength=len(Outcome))
    if asked.outcome:
        chosen = chosen[vector[chosen] == OUTCOMES[asked.outcome]]
    page = Paginator(chosen.tolist(), PER_PAGE).get_page(query.get("page"))
    places = list(page)
    ids = items.ids[places].tolist()
    by_id = Item.objects.in_bulk(ids)
    rows = answers_of(asked.evaluation, ids, asked.repeat)
    release = split.release.name
    return {
        "run": run,
        "title": f"{run.model.name} on {spec.name}: {spec.item_word}s one by one",
        "asked": asked,
        "facet": (spec.dimensions.get(asked.dimension, asked.dimension), asked.facet or "not given")
        if asked.dimension
        else None,
        "unfaceted": f"?{asked.query(dimension='', facet='')}",
        "outcomes": [
            Choice(
                outcome.name.lower().replace("_", " "),
                int(counts[outcome]),
                "?" + asked.query(outcome="" if asked.outcome == name else name),
                asked.outcome == name,
            )
            for name, outcome in OUTCOMES.items()
            if counts[outcome] or asked.outcome == name
        ],
        "page": page,
        "lines": [
            Line(
                by_id[pk],
                item_address(spec.slug, release, by_id[pk].key),
                outcome_name(vector[place]),
                rows.get(pk, []),
            )
            for pk, place in zip(ids, places, strict=True)
        ],
        "query": f"&{asked.query()}",
        "item_word": spec.item_word,
        "several": len(run.repeats) > 1 and not asked.repeat,
        "crumbs": [
            ("Boards", reverse("home")),
            (f"Run {run.key}", run.get_absolute_url()),
            (f"{spec.item_word}s".capitalize(), ""),
        ],
    }
