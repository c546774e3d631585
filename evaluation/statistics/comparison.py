"""Entries that answered the same items: differences, ranks and the tie group of the leader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from evaluation.statistics.intervals import CONFIDENCE, percentiles, tail
from evaluation.statistics.resampling import RESAMPLES, dense, quantise, resampled_sums


class Differences(NamedTuple):
    """Row minus column for every pair of entries: three float64 arrays (entries, entries), zero on the diagonal."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, slots=True)
class RankInterval:
    """A rank, the ranks that cannot be ruled out (low <= rank <= high), and whether the entry may be the leader."""

    rank: int
    low: int
    high: int
    tied_with_leader: bool


def order_ranks(values: Sequence[float | None]) -> list[int | None]:
    """Competition ranks (1, 2, 2, 4), the highest value first, by full precision: only equal values share a rank.

    None and NaN are never ranked, and take no place from the others.
    """
    placed: dict[float, int] = {}
    known = sorted((value for value in values if value is not None and not math.isnan(value)), reverse=True)
    for place, value in enumerate(known, start=1):
        placed.setdefault(value, place)
    return [None if value is None else placed.get(value) for value in values]


def cluster_sums(
    values: np.ndarray, clusters: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Items to clusters, as `paired_differences` and `rank_intervals` want them: (entries, items) -> matrix, sizes.

    `matrix` (entries, clusters) holds the sums of the values, `sizes` (clusters,) the number of items, clusters in the
    order of their codes. With `weights` (items,) both are weighted: a mean of category means gives each item
    items / (categories x items of its category). ValueError when a value is missing: entries are compared on items that
    they share.
    """
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if np.isnan(values).any():
        raise ValueError("entries are compared on the items that they share: fill or drop the missing values first")
    codes, count = dense(clusters)
    weights = np.ones(len(codes)) if weights is None else quantise(np.asarray(weights, dtype=np.float64))
    rows = [np.bincount(codes, weights=quantise(row * weights), minlength=count) for row in values]
    return np.array(rows).reshape(len(values), count), np.bincount(codes, weights=weights, minlength=count)


def paired_differences(
    matrix: np.ndarray,
    sizes: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    method: Literal["percentile", "normal"] = "percentile",
) -> Differences:
    """Difference of every pair of entries on the same items, with its interval.

    `matrix` (entries, clusters) and `sizes` (clusters,) are those of `cluster_sums`; an entry's value is the sum of its
    row over the sum of the sizes. "percentile" takes both entries' values in the same resamples of the clusters: these
    are the intervals that decide ranks, at about 0.15 ms a pair. "normal" is difference -+ z x standard error of a
    ratio estimator (W. G. Cochran, Sampling Techniques, 1977, chapter 6), for thousands of pairs at once: it needs no
    seed, is exact only up to rounding, and can disagree about a pair near the border or with few clusters.

    A handful of clusters cannot tell two entries apart: where they differ in so few that an exact sign test is not
    significant even if all point one way (fewer than 6 at 95 %), the interval is stretched to hold 0. Entries with the
    same answers differ by 0 without width. ValueError when a sum is missing or there is no item.
    """
    matrix, sizes = checked(matrix, sizes)
    values = matrix.sum(axis=1) / sizes.sum()
    difference = values[:, np.newaxis] - values
    low, high = np.zeros_like(difference), np.zeros_like(difference)
    differing = _differing_clusters(matrix)
    if method == "normal":
        residuals = matrix - values[:, np.newaxis] * sizes
        covariance = residuals @ residuals.T / sizes.sum() ** 2 * (len(sizes) / max(1, len(sizes) - 1))
        variance = np.diag(covariance)[:, np.newaxis] + np.diag(covariance) - 2 * covariance
        error = np.sqrt(np.where(differing, np.maximum(variance, 0), 0))
        half = NormalDist().inv_cdf(1 - tail(confidence)) * error
        low, high = difference - half, difference + half
    else:
        sums, weights = resampled_pairs(matrix, sizes, seed, resamples)
        for entry in range(len(matrix)):
            for start in range(entry + 1, len(matrix), 64):
                others = slice(start, start + 64)
                low[entry, others], high[entry, others] = percentiles(
                    (sums[entry] - sums[others]) / weights, confidence
                )
        low, high = low - high.T, high - low.T
    few = differing < sign_test_needs(confidence)
    return Differences(difference, np.where(few, np.minimum(low, 0), low), np.where(few, np.maximum(high, 0), high))


def rank_intervals(
    values: Sequence[float | None],
    matrix: np.ndarray,
    sizes: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[RankInterval | None]:
    """Rank of every entry with its interval: 1 + entries significantly better .. N - entries significantly worse.

    `values` are the stored values that are ranked, the highest first (see `order_ranks`); an entry with None is not
    ranked, gets None and counts in no other's interval. `matrix` and `sizes` are as for `paired_differences`, a row an
    entry. One entry is significantly better than another when its value is higher and the percentile interval of their
    paired difference lies above 0; no correction for the number of pairs is made. The tie group of the leader holds
    every entry that some entry of rank 1 is not significantly better than. Entries with the same answers share rank,
    interval and group; the order of the entries matters to nothing. ValueError when a ranked entry has a missing sum or
    there is no item.
    """
    ranks = order_ranks(values)
    ranked = [(index, rank) for index, rank in enumerate(ranks) if rank is not None]
    out: list[RankInterval | None] = [None] * len(ranks)
    if not ranked:
        return out
    kept = np.array([values[index] for index, _ in ranked], dtype=np.float64)
    sums, sizes = checked(np.asarray(matrix)[[index for index, _ in ranked]], sizes)
    better = _significantly_better(kept, sums, sizes, seed, resamples, confidence)
    leaders = kept == kept.max()
    for place, (index, rank) in enumerate(ranked):
        low, high = 1 + int(better[:, place].sum()), len(ranked) - int(better[place].sum())
        out[index] = RankInterval(rank, low, high, not better[leaders, place].all())
    return out


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p of McNemar's exact test, `b` and `c` the items that only one of two entries has right.

    Twice the smaller tail of a binomial with b + c trials of 1/2, at most 1; after Q. McNemar, Psychometrika 12 (1947).
    Without any such item there is nothing to test: 1.0. Items must be independent. ValueError when a count is negative.
    """
    if b < 0 or c < 0:
        raise ValueError(f"counts of {b} and {c} items")
    trials, term, tail = int(b) + int(c), 1, 0
    for k in range(min(int(b), int(c)) + 1):
        tail += term
        term = term * (trials - k) // (k + 1)
    return min(1.0, 2 * tail / 2**trials)


def checked(matrix: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    matrix, sizes = quantise(np.asarray(matrix, dtype=np.float64)), quantise(np.asarray(sizes, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1:] != sizes.shape:
        raise ValueError(f"sums of shape {matrix.shape} do not fit sizes of shape {sizes.shape}")
    if np.isnan(matrix).any() or not (sizes >= 0).all() or not sizes.sum() > 0:
        raise ValueError("a comparison needs items, none of them missing")
    return matrix, sizes


def resampled_pairs(matrix: np.ndarray, sizes: np.ndarray, seed: str, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Every entry's sum in each resample (entries, resamples) and the resample's size, without the empty resamples."""
    parts = [product for _, product in resampled_sums(np.vstack([matrix, sizes]), seed, resamples)]
    sums = np.concatenate(parts, axis=1)
    filled = sums[-1] > 0
    if not filled.any():
        raise ValueError("no resample holds an item")
    kept = sums if filled.all() else np.compress(filled, sums, axis=1)
    return kept[:-1], kept[-1].astype(np.float64)


def _differing_clusters(matrix: np.ndarray) -> np.ndarray:
    """In how many clusters each pair of entries has different sums: (entries, entries)."""
    out = np.zeros((len(matrix), len(matrix)), dtype=np.int64)
    with np.errstate(invalid="ignore"):
        small = matrix.astype(np.uint8)
    if (small == matrix).all():  # as of right and wrong: an eighth of the bytes to compare
        matrix = small
    for entry, row in enumerate(matrix):
        out[entry, entry + 1 :] = np.count_nonzero(row != matrix[entry + 1 :], axis=1)
    return out + out.T


def differing_from(matrix: np.ndarray, reference: int) -> np.ndarray:
    """In how many clusters each entry's sums differ from those of one of them: (entries,)."""
    return np.count_nonzero(matrix != matrix[reference], axis=1)


def sign_test_needs(confidence: float) -> int:
    """The fewest clusters, all in favour of one entry, at which a two-sided sign test is significant."""
    return math.ceil(math.log2(1 / tail(confidence)))


def _significantly_better(
    values: np.ndarray, matrix: np.ndarray, sizes: np.ndarray, seed: str, resamples: int, confidence: float
) -> np.ndarray:
    """[i, j] is True where entry i is significantly better than entry j.

    The lower bound of a difference is above 0 when few enough resamples are not, so counting them decides nearly all
    pairs; only where the bound lies between two order statistics with 0 between them is it worked out.
    """
    order = np.argsort(-values, kind="stable")
    sums, weights = resampled_pairs(matrix[order], sizes, seed, resamples)
    outer = math.floor(tail(confidence) * (len(weights) - 1))
    above = np.zeros((len(values), len(values)), dtype=bool)
    lowest, highest = sums.min(axis=1), sums.max(axis=1)
    for entry in range(len(values) - 1):
        others = np.zeros(len(values) - entry - 1, dtype=np.int64)
        # beyond each other in all resamples: never lost; most of the rest are lost too often in the first few already
        left = np.flatnonzero(lowest[entry] <= highest[entry + 1 :])
        for resamples_seen in (min(1000, len(weights)), len(weights)):
            first = slice(0, resamples_seen)
            others[left] = _not_won(sums[entry, first], sums[entry + 1 + left, first])
            left = left[others[left] <= outer + 1]
        above[entry, entry + 1 :] = others <= outer
        for other in entry + 1 + np.flatnonzero(others == outer + 1):
            low, _ = percentiles(((sums[entry] - sums[other]) / weights)[np.newaxis], confidence)
            above[entry, other] = low[0] > 0
    better = np.zeros_like(above)
    better[np.ix_(order, order)] = above
    return better & (values[:, np.newaxis] > values) & (_differing_clusters(matrix) >= sign_test_needs(confidence))


def _not_won(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """In how many resamples one entry's sum is not above that of each of the others."""
    wins = np.bitwise_count(np.packbits(one > others, axis=1)).sum(axis=1, dtype=np.int64)
    return len(one) - wins
