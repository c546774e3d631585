"""From values per item to aggregates per facet, with intervals: the arithmetic that all evaluators share."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluation import statistics
from evaluation.protocols.base import Aggregate, ItemSpec, Outcome

Groups = dict[tuple[str, str], np.ndarray]


def facet_groups(items: Sequence[ItemSpec], dimensions: Iterable[str]) -> Groups:
    """(dimension, facet) -> indexes of the items that carry it, facets in the order of their first item.

    ("overall", "") holds all items and comes first, also when there are none; the dimensions of labels come last, by name.
    """
    own = sorted({dimension for item in items for dimension, _ in item.labels})
    wanted = {dimension: order for order, dimension in enumerate([*dimensions, *own])}
    found: dict[tuple[str, str], list[int]] = {}
    for index, item in enumerate(items):
        for pair in dict.fromkeys(item.facets + item.labels):
            if pair[0] in wanted:
                found.setdefault(pair, []).append(index)
    ordered = sorted(found, key=lambda pair: wanted[pair[0]])
    groups: Groups = {("overall", ""): np.arange(len(items))}
    groups.update((pair, np.asarray(found[pair])) for pair in ordered)
    return groups


def cluster_codes(items: Sequence[ItemSpec]) -> np.ndarray:
    """An integer per item: equal where items are resampled together."""
    codes: dict[str, int] = {}
    return np.asarray([codes.setdefault(item.cluster or item.key, len(codes)) for item in items], dtype=np.int64)


def answered(outcomes: np.ndarray) -> np.ndarray:
    """True where an answer could be taken."""
    return (outcomes == Outcome.RIGHT) | (outcomes == Outcome.WRONG)


# The outcome of an item with several rows is the best of theirs: coverage asks whether it was ever answered.
_BEST_FIRST = np.array(
    [Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER, Outcome.ERROR, Outcome.MISSING], dtype=np.uint8
)
_PLACE = np.argsort(_BEST_FIRST)


class Rows:
    """Scored rows of a run on their way to values per item: the rows of an item are averaged, then the items."""

    def __init__(self, items: int, metrics: Sequence[str]) -> None:
        self.items = items
        self.metrics = tuple(metrics)
        # not lists: a file may hold very many rows
        self._index, self._repeat, self._outcome, self._values = array("q"), array("q"), array("B"), array("d")

    def add(self, index: int, repeat: int, outcome: Outcome, values: tuple[float, ...]) -> None:
        self._index.append(index)
        self._repeat.append(repeat)
        self._outcome.append(outcome)
        self._values.extend(values)

    def collect(
        self, groups: Groups, clusters: np.ndarray, seed: str, *, overall_only: frozenset[str] = frozenset()
    ) -> tuple[dict[tuple[int, str], np.ndarray], list[Aggregate]]:
        """Vectors and means of each repeat and, where there are several, of all of them (repeat 0, or None).

        Without any row there is one repeat, 1, in which everything is missing.
        """
        index, repeat = np.array(self._index, np.int64), np.array(self._repeat, np.int64)
        outcome = np.array(self._outcome, np.uint8)
        values = np.array(self._values, np.float64).reshape(len(index), len(self.metrics))
        repeats = sorted(set(self._repeat)) or [1]
        vectors: dict[tuple[int, str], np.ndarray] = {}
        aggregates = []
        for number in [*repeats, 0]:
            use = slice(None) if number == 0 or len(repeats) == 1 else repeat == number
            table, best = self._per_item(index[use], outcome[use], values[use])
            vectors[number, "outcome"] = best
            vectors.update({(number, metric): table[row] for row, metric in enumerate(self.metrics)})
            if number or len(repeats) > 1:
                named = dict(zip(self.metrics, table, strict=True))
                aggregates += means(
                    named, best, groups, clusters, repeat=number or None, seed=seed, overall_only=overall_only
                )
        return vectors, aggregates

    def _per_item(self, index: np.ndarray, outcome: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(index, minlength=self.items)
        # bincount adds row after row: plain left-to-right sums, as the public scorers average the rows of a question
        sums = np.array([np.bincount(index, column, self.items) for column in values.T]).reshape(
            len(self.metrics), self.items
        )
        table = np.full(sums.shape, np.nan)
        np.divide(sums, counts, out=table, where=counts > 0)
        best = np.full(self.items, len(_BEST_FIRST) - 1)
        np.minimum.at(best, index, _PLACE[outcome])
        return table, _BEST_FIRST[best]


def means(
    values: Mapping[str, np.ndarray],
    outcomes: np.ndarray,
    groups: Groups,
    clusters: np.ndarray,
    *,
    repeat: int | None,
    seed: str,
    no_interval: frozenset[str] = frozenset(),
    overall_only: frozenset[str] = frozenset(),
) -> list[Aggregate]:
    """Mean of each metric over each group, in two variants.

    `values[metric]` is float64 over the items, NaN where an item has no row. Variant "" counts a missing item as 0 and keeps
    it in the denominator; variant "done_only" leaves it out. A group without any counted item has value None and n = 0.
    Intervals (95 %) are those of `statistics.mean_intervals` over `clusters`; dimensions in `no_interval` get none, and
    metrics in `overall_only` only that of the whole.
    """
    out: list[Aggregate] = []
    drawn: list[tuple[Aggregate, int, np.ndarray]] = []
    rows = []
    same: list[tuple[Aggregate, Aggregate]] = []
    is_answered = answered(outcomes)
    for row, (metric, raw) in enumerate(values.items()):
        present = ~np.isnan(raw)
        filled = np.where(present, raw, 0.0)
        rows.append(filled)
        complete = bool(present.all())
        for pair, index in groups.items():
            whole = _mean(filled, index, is_answered, Aggregate(repeat, metric, "", *pair, None, 0, 0))
            use = index if complete else index[present[index]]
            done = replace(whole, variant="done_only")
            if len(use) < len(index):
                done = _mean(filled, use, is_answered, Aggregate(repeat, metric, "done_only", *pair, None, 0, 0))
            out += [whole, done]
            if pair[0] in no_interval or (pair[0] != "overall" and metric in overall_only):
                continue
            if whole.n:
                drawn.append((whole, row, index))
            # where nothing is missing both variants are one figure, and its interval is not drawn twice
            if done.n == whole.n:
                same.append((done, whole))
            elif done.n:
                drawn.append((done, row, use))
    if drawn:
        drawn_from, members = [row for _, row, _ in drawn], [index for _, _, index in drawn]
        bounds = statistics.mean_intervals(np.array(rows), members, clusters, seed=seed, rows=drawn_from)
        for (figure, _, _), (low, high) in zip(drawn, bounds, strict=True):
            figure.ci_low, figure.ci_high = low, high
    for done, whole in same:
        done.ci_low, done.ci_high = whole.ci_low, whole.ci_high
    return out


def _mean(values: np.ndarray, index: np.ndarray, is_answered: np.ndarray, row: Aggregate) -> Aggregate:
    """Fill value, n and n_answered of a row over the items of `index`; the sum is exact, whatever their order."""
    if len(index):
        row.value, row.n, row.n_answered = statistics.mean(values[index]), len(index), int(is_answered[index].sum())
    return row


def weighted(rows: Sequence[Aggregate], name: str, weights: Mapping[tuple[str, str], float]) -> list[Aggregate]:
    """The named aggregate of means over facets, (dimension, facet) -> weight, for each repeat, metric and variant; n are all
    their items. Where a facet has no value there is no aggregate: a weight is never given to another facet. No interval.
    """
    found: dict[tuple[int | None, str, str], dict[tuple[str, str], Aggregate]] = {}
    for row in rows:
        if (row.dimension, row.facet) in weights and row.value is not None:
            found.setdefault((row.repeat, row.metric, row.variant), {})[row.dimension, row.facet] = row
    out = []
    for place, parts in found.items():
        if parts.keys() == weights.keys():
            value = math.fsum(weights[pair] * (part.value or 0.0) for pair, part in parts.items())
            n, heard = (sum(getattr(part, field) for part in parts.values()) for field in ("n", "n_answered"))
            out.append(Aggregate(*place, "aggregate", name, value, n, heard))
    return out
