"""Other readings of one evaluation, as variants: with rows saved from broken lines, first row only, every row counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from evaluation import statistics
from evaluation.protocols.base import Aggregate, Answer, Answers, Evaluator, ItemSpec, Result

RECOVERED = {"": "recovered", "done_only": "recovered_done_only"}
VARIANTS = {
    "done_only": "Missing items are left out of the denominator, as the public code prints it.",
    "recovered": "The headline with the rows that could be saved from broken lines.",
    "recovered_done_only": "The same, missing items left out.",
    "first_row": "Of several rows of one item in one repeat only the first; shown where it differs.",
    "every_row": "Every row counted, twins too; shown where it differs.",
    "complete_only": "Stored verdicts: as done_only, rows without a readable answer left out too, as the old re-scorer does.",
    "per_figure": "LiveClin: a question once per figure or table, as the public summary counts.",
    "mean_of_categories": "LLMEval-Med: the plain mean of the categories' values.",
}
Key = tuple[int | None, str, str, str, str]


def evaluate(
    evaluator: Evaluator, items: Sequence[ItemSpec], answers: Sequence[Answer], recovered: Sequence[Answer], seed: str
) -> Result:
    """The evaluator's result over `answers`; verdicts of `recovered` follow theirs.

    The headline never moves. Variants are added only where they say something: `recovered` and `recovered_done_only` when
    there are recovered rows; `first_row` (of the rows of one item and repeat only the first) and `every_row` (the mean over
    all rows, each counted) when an item has several rows in one repeat and the figure differs.
    """
    answers = answers if isinstance(answers, Answers) else Answers(answers)
    result = evaluator.evaluate(items, answers, seed)
    if recovered:
        more = evaluator.evaluate(items, Answers(chain(answers, recovered)), seed)
        result.aggregates += [
            replace(row, variant=RECOVERED[row.variant]) for row in more.aggregates if row.variant in RECOVERED
        ]
        result.verdicts.extend(more.verdicts, len(answers))
    scored = {item.key for item in items if item.scored}
    pairs = answers.pairs()
    known = np.flatnonzero(np.fromiter((item in scored for item in answers.ids), bool)[answers.item])
    _, first = np.unique(pairs[known], return_index=True)
    if len(first) < len(known):
        alone = evaluator.evaluate(items, Answers(answers[number] for number in known[np.sort(first)]), seed)
        headline = {_key(row): row.value for row in result.aggregates if row.variant == ""}
        moved = [row for row in alone.aggregates if row.variant == "" and row.value != headline.get(_key(row))]
        result.aggregates += [replace(row, variant="first_row") for row in moved]
        result.aggregates += _every_row(evaluator.headline, items, answers, result)
    return result


def _key(row: Aggregate) -> Key:
    return row.repeat, row.metric, row.variant, row.dimension, row.facet


def _every_row(metric: str, items: Sequence[ItemSpec], answers: Sequence[Answer], result: Result) -> list[Aggregate]:
    """Mean of the headline metric over all rows, twins too, where it differs from the mean over the questions done."""
    facets = {item.key: item.facets + item.labels for item in items}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    answered: dict[tuple[str, str], int] = defaultdict(int)
    for answer, verdict in zip(answers, result.verdicts, strict=False):
        if verdict.value is not None:
            for pair in (("overall", ""), *facets[answer.item]):
                values[pair].append(verdict.value)
                answered[pair] += verdict.outcome.answered
    done = [row for row in result.aggregates if row.variant == "done_only" and row.metric == metric]
    over_all = [row for row in done if row.repeat is None] or done
    rows = []
    for row in over_all:
        pair = row.dimension, row.facet
        value = statistics.mean(values[pair]) if values[pair] else None
        if value is not None and row.value is not None and abs(value - row.value) > 1e-12:
            counts = len(values[pair]), answered[pair]
            rows.append(Aggregate(row.repeat, metric, "every_row", *pair, value, *counts))
    return rows
