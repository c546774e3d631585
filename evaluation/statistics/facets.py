"""Differences between facets of the items, and between an entry and the middle of the board on one facet."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evaluation.statistics.comparison import sign_test_needs
from evaluation.statistics.intervals import CONFIDENCE, mean, percentiles, resampled_means
from evaluation.statistics.resampling import RESAMPLES, dense, quantise, resampled_sums

Bounds = tuple[float, float]


def independent_difference(one: tuple[float, float, float], other: tuple[float, float, float]) -> Bounds:
    """Interval of the difference of two means over separate clusters, from (value, low, high) of each.

    The square-and-add rule: R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10, which for Wilson's intervals
    it is. It has width where the two have, also at 0 % and 100 % and with one item.
    """
    (a, a_low, a_high), (b, b_low, b_high) = one, other
    return a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)


def group_differences(
    values: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    clusters: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Bounds]:
    """Interval of mean over `one` minus mean over `other` for each entry, where the two groups of items share clusters.

    `values` (entries, items). Both means are taken in the same resamples; one in which a group has no item is left out. With
    fewer clusters in the smaller group than a sign test needs (6 at 95 %) the interval is stretched to hold 0. ValueError when
    a group is empty, no resample holds both or a value is missing.
    """
    fewest = min(len(np.unique(clusters[group])) for group in (one, other))
    out = []
    for row in np.atleast_2d(values):
        samples = resampled_means(row, [one, other], clusters, seed=seed, resamples=resamples)
        gaps = samples[:, 0] - samples[:, 1]
        kept = gaps[~np.isnan(gaps)]
        if not len(kept):
            raise ValueError("no resample holds items of both groups")
        low, high = (float(bound[0]) for bound in percentiles(kept[np.newaxis], confidence))
        out.append((min(low, 0.0), max(high, 0.0)) if fewest < sign_test_needs(confidence) else (low, high))
    return out


def differences_to_median(
    values: np.ndarray,
    entry: int,
    groups: Sequence[np.ndarray],
    clusters: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[tuple[float, float, float] | None]:
    """(difference, low, high) of an entry's mean minus the median of all entries' means, for each group of items.

    `values` (entries, items), none missing. The median is taken anew in each resample, of all entries with this one. None for an
    empty group; with fewer clusters than a sign test needs the interval is stretched to hold 0. Memory is
    entries x resamples float64.
    """
    codes, count = dense(clusters)
    out: list[tuple[float, float, float] | None] = []
    for group in groups:
        if not len(group):
            out.append(None)
            continue
        means = [mean(row[group]) for row in values]
        near = quantise(values[:, group])
        stacked = [np.bincount(codes[group], row, count) for row in near]
        stacked.append(np.bincount(codes[group], minlength=count).astype(np.float64))
        drawn = np.concatenate([part for _, part in resampled_sums(np.array(stacked), seed, resamples)], axis=1)
        drawn = drawn[:, drawn[-1] > 0]
        samples = drawn[:-1].astype(np.float64) / drawn[-1]
        gaps = samples[entry] - np.median(samples, axis=0)
        low, high = (float(bound[0]) for bound in percentiles(gaps[np.newaxis], confidence))
        if len(np.unique(codes[group])) < sign_test_needs(confidence):
            low, high = min(low, 0.0), max(high, 0.0)
        out.append((means[entry] - float(np.median(means)), low, high))
    return out
