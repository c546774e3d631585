"""Cases right in all repeats and in any, where each repeat is a run of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation import statistics
from evaluation.models import Evaluation, Run, SplitItem, Vector
from evaluation.protocols.liveclin_cases import in_all_and_any
from leaderboard.tables import format_value

Tile = tuple[str, str, str]


def one_a_repeat(run: Run, others: Sequence[Run]) -> list[Run]:
    """The run and those of `others` (newest first) that add repeats of the same snapshot to it, none of them twice."""
    chosen, taken = [run], set(run.repeats or [1])
    for other in others:
        own = set(other.repeats or [1])
        if not own & taken and other.protocol.get("snapshot") == run.protocol.get("snapshot"):
            chosen.append(other)
            taken |= own
    return chosen


def shares(repeats: Sequence[np.ndarray], first_of_case: np.ndarray) -> tuple[int, int, int]:
    """(cases right in all repeats, in any, cases) from vectors over the items that repeat a case's value on each of its items.

    `first_of_case` are the places of the first item of each case. A case that a repeat lacks is not right in it.
    """
    in_all, in_any = in_all_and_any([vector[first_of_case] for vector in repeats])
    return int(in_all.sum()), int(in_any.sum()), len(first_of_case)


def repeats_together(run: Run, others: Sequence[Run], evaluation: Evaluation | None) -> list[Tile]:
    """(label, share, words) over the run and its other repeats, of which `others` are live; nothing for a single repeat.

    Only for benchmarks whose headline is of cases; runs scored by other rules or against other gold are left out.
    """
    if evaluation is None or evaluation.evaluator.headline != "case_accuracy" or run.state != Run.State.LIVE:
        return []
    runs = one_a_repeat(run, others)
    if len(runs) < 2:
        return []
    rows = Vector.objects.filter(
        evaluation__run__in=runs,
        evaluation__current=True,
        evaluation__evaluator=evaluation.evaluator_id,
        evaluation__gold_fingerprint=evaluation.gold_fingerprint,
        name="case_accuracy",
        repeat=0,
    )
    vectors = [np.frombuffer(data, dtype="<f8") for data in rows.values_list("data", flat=True)]
    items = SplitItem.objects.filter(split=run.split, item__scored=True).order_by("position")
    cases = list(items.values_list("item__case", flat=True))
    vectors = [vector for vector in vectors if len(vector) == len(cases)]
    if len(vectors) < 2:
        return []
    _, first_of_case = np.unique(np.array(cases), return_index=True)
    in_all, in_any, n = shares(vectors, first_of_case)
    return [_tile("Right in all", in_all, n, len(vectors)), _tile("Right in any", in_any, n, len(vectors))]


def _tile(label: str, count: int, n: int, repeats: int) -> Tile:
    low, high = (format_value(end, "%", None) for end in statistics.wilson(count, n))
    return (
        label,
        f"{format_value(count / n, '%', None)} %",
        f"{count:,} of {n:,} cases in {repeats} repeats, {low}–{high}",
    )
