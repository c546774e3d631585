"""From values per item to aggregates per facet, with intervals: the arithmetic that all evaluators share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evaluation import statistics
from evaluation.protocols.base import Aggregate, ItemSpec, Outcome

Groups = dict[tuple[str, str], np.ndarray]


def facet_groups(items: Sequence[ItemSpec], dimensions: Iterable[str]) -> Groups:
    """(dimension, facet) -> indexes of the items that carry it, facets in the order of their first item.

    ("overall", "") holds all items and comes first, also when there are none.
    """
    wanted = {dimension: order for order, dimension in enumerate(dimensions)}
    found: dict[tuple[str, str], list[int]] = {}
    for index, item in enumerate(items):
        for pair in dict.fromkeys(item.facets):
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
    is_answered = answered(outcomes)
    for metric, raw in values.items():
        present = ~np.isnan(raw)
        filled = np.where(present, raw, 0.0)
        bounds: dict[tuple[str, str], tuple[float, float]] = {}
        for variant, counted in (("", np.ones(len(raw), bool)), ("done_only", present)):
            rows = {
                pair: _mean(
                    filled, index[counted[index]], is_answered, Aggregate(repeat, metric, variant, *pair, None, 0, 0)
                )
                for pair, index in groups.items()
            }
            # where nothing is missing both variants are one figure, and its interval is not drawn twice
            fresh = [
                pair
                for pair, row in rows.items()
                if row.n
                and pair[0] not in no_interval
                and (pair[0] == "overall" or metric not in overall_only)
                and (not variant or row.n < len(groups[pair]))
            ]
            drawn = statistics.mean_intervals(
                filled, [groups[pair][counted[groups[pair]]] for pair in fresh], clusters, seed=seed
            )
            bounds.update(zip(fresh, drawn, strict=True))
            for pair, row in rows.items():
                if row.n and pair in bounds:
                    row.ci_low, row.ci_high = bounds[pair]
            out.extend(rows.values())
    return out


def _mean(values: np.ndarray, index: np.ndarray, is_answered: np.ndarray, row: Aggregate) -> Aggregate:
    """Fill value, n and n_answered of a row over the items of `index`; the sum is exact, whatever their order."""
    if len(index):
        row.value, row.n, row.n_answered = statistics.mean(values[index]), len(index), int(is_answered[index].sum())
    return row
