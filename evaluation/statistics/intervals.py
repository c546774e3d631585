"""Means and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, stdev

import numpy as np

from evaluation.statistics.resampling import RESAMPLES, dense, quantise, resampled_sizes, resampled_sums
from evaluation.statistics.tails import adds_exactly, mean_bounds

CONFIDENCE = 0.95


def mean(values: Sequence[float] | np.ndarray) -> float:
    """Arithmetic mean from an exactly rounded sum, so the order of the values does not matter.

    ValueError when empty or when a value is NaN: the mean of nothing is blank, which is the caller's to show.
    """
    if not len(values):
        raise ValueError("the mean of no values is undefined")
    # a list is summed three times as fast as an array
    result = math.fsum(values.tolist() if isinstance(values, np.ndarray) else values) / len(values)
    if math.isnan(result):
        raise ValueError("a missing value has no place in a mean")
    return result


def mean_sd(values: Sequence[float]) -> tuple[float, float | None, int]:
    """Mean, sample standard deviation (ddof 1) and number of runs; of one run there is no deviation: None.

    ValueError when empty or when a value is NaN.
    """
    average = mean(values)
    return average, stdev([float(value) for value in values]) if len(values) > 1 else None, len(values)


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a proportion of `n` independent units, as fractions inside 0..1.

    E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212; without continuity correction. It
    has width at 0 % and at 100 %, and always holds successes / n. `successes` need not be whole (a mean of graded
    values times n: then the interval is on the wide side). ValueError when n < 1 (show a blank) or successes are
    outside 0..n.
    """
    if n < 1:
        raise ValueError("a proportion of no units is undefined")
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} units")
    share = successes / n
    z2 = NormalDist().inv_cdf(1 - tail(confidence)) ** 2
    centre = share + z2 / (2 * n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # by algebra the share lies inside, and is the bound itself at 0 and 1: rounding must not undo that
    low = max(0.0, min(share, (centre - half) / scale))
    high = min(1.0, max(share, (centre + half) / scale))
    return low, high


def resampled_means(
    values: np.ndarray,
    groups: Sequence[np.ndarray],
    clusters: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
) -> np.ndarray:
    """Mean of each group of items in each resample of the clusters: float64 (resamples, groups).

    `values` are the n items' values, or one row of them a group (groups, n); `groups` are arrays of item indexes,
    `clusters` n integers that are equal where items belong together. All clusters of `clusters` are resampled, also
    those without an item in a group: the sum of count x value over the sum of counts, so a group's size varies as it
    would in a new sample (a ratio estimator). A resample in which a group has no item is NaN. Only the order of the
    cluster codes matters, not their size; the order of the items does not. ValueError when a group is empty or holds
    a NaN.
    """
    if not len(groups):
        return np.empty((resamples, 0))
    if not all(len(group) for group in groups):
        raise ValueError("a group without items has no mean")
    codes, count = dense(clusters)
    quantised = np.broadcast_to(quantise(np.asarray(values, dtype=np.float64)), (len(groups), len(codes)))
    sums = np.array(
        [np.bincount(codes[group], own[group], count) for own, group in zip(quantised, groups, strict=True)]
    )
    if np.isnan(sums).any():
        raise ValueError("a missing value has no place in a mean")
    weights = np.array([np.bincount(codes[group], minlength=count) for group in groups])
    sizes = np.array(resampled_sizes(weights, seed, resamples))
    means = np.empty((len(groups), resamples))
    for part, total in resampled_sums(sums, seed, resamples):
        with np.errstate(invalid="ignore"):
            means[:, part] = total.astype(np.float64) / sizes[:, part]
    return means.T


def percentile_interval(samples: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The central `confidence` of the samples: the percentile interval of a bootstrap.

    Quantiles are interpolated linearly between order statistics at (count - 1) x probability, counted from either end
    (type 7 of R. J. Hyndman and Y. Fan, The American Statistician 50 (1996) 361-365). NaN is left out; ValueError when
    nothing is left. One sample gives an interval without width.
    """
    samples = np.asarray(samples, dtype=np.float64)
    kept = samples[~np.isnan(samples)]
    if not len(kept):
        raise ValueError("no samples to take percentiles of")
    low, high = percentiles(kept[np.newaxis], confidence)
    return float(low[0]), float(high[0])


def mean_intervals(
    values: np.ndarray,
    groups: Sequence[np.ndarray],
    clusters: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    upper: float = 1.0,
    rows: Sequence[int] | None = None,
) -> list[tuple[float, float]]:
    """An interval for the mean of each group of items; the values of a group lie in 0..`upper`.

    `values` are the n items' values, or several rows of them: `rows` names the row that each group reads, without it each
    has its own. One pass over the resamples serves all.

    - Independent units, every value 0 or `upper` and every item of the group in a cluster of its own: Wilson.
    - Else the percentile interval of `resampled_means`. With few clusters, or shares near 0 or 1, it holds the truth less
      often than it says: docs/statistics.md has where.
    - Where that has no width (one cluster, or all clusters with the same mean, as at 0 % and 100 %), the sample says
      nothing about the spread: Wilson with as many units as the group has clusters and mean / upper as the share. No
      value in 0..upper spreads more than a yes or no, so this errs on the wide side.

    ValueError when a group is empty, or holds a NaN or a value outside 0..upper.
    """
    codes, count = dense(clusters)
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows is None:
        rows = [0] * len(groups) if len(values) == 1 else range(len(groups))
    quantised = quantise(values)
    bounds = [(math.nan, math.nan)] * len(groups)
    units, left, weights, sums, whole = [], [], [], [], []
    for index, (row, group) in enumerate(zip(rows, groups, strict=True)):
        held = values[row][group] if len(group) else np.full(1, np.nan)
        if not ((held >= 0) & (held <= upper)).all():
            raise ValueError(f"an interval needs values, all of them in 0..{upper}")
        weight = np.bincount(codes[group], minlength=count)
        units.append(int(np.count_nonzero(weight)))
        if units[-1] < len(held) or not ((held == 0) | (held == upper)).all():
            left.append(index)
            weights.append(weight)
            near = quantised[row][group]
            sums.append(np.bincount(codes[group], near, count))
            whole.append(adds_exactly(near, count * float(sums[-1].max())))
    if left:
        split = _split([rows[index] for index in left], [groups[index] for index in left], sums, quantised, codes)
        sizes = resampled_sizes(np.array(weights), seed, resamples)
        found = mean_bounds(np.array(sums), whole, *split, sizes, seed, resamples, tail(confidence))
        for index, bound in zip(left, found, strict=True):
            bounds[index] = bound
    for index, (low, high) in enumerate(bounds):
        if not low < high:
            share = min(1.0, mean(values[rows[index], groups[index]]) / upper)
            low, high = wilson(share * units[index], units[index], confidence)
            bounds[index] = low * upper, high * upper
    return bounds


def _split(
    rows: Sequence[int], groups: Sequence[np.ndarray], sums: Sequence[np.ndarray], values: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fewer sums over the clusters than there are groups, and which of them add up to each group: parts, mix.

    Items that are in the same groups are one part: a task group is the sum of its tasks. Where that makes no fewer of
    them, each group is a part of its own.
    """
    parts: list[np.ndarray] = []
    mix = np.zeros((len(groups), len(groups)), bool)
    for row in dict.fromkeys(rows):
        own = [index for index, other in enumerate(rows) if other == row]
        if len(own) == 1:
            mix[own, len(parts)] = True
            parts.append(sums[own[0]])
            continue
        member = np.zeros((len(codes), len(own)), bool)
        for column, index in enumerate(own):
            member[groups[index], column] = True
        packed = np.packbits(member, axis=1)
        kinds: dict[bytes, int] = {}
        kind = np.array(
            [kinds.setdefault(pattern, len(kinds)) for (pattern,) in packed.view(f"V{packed.shape[1]}").tolist()]
        )
        first = len(parts)
        twice = member.sum() < sum(len(groups[index]) for index in own)
        if len(kinds) < len(own) and not twice:
            count = len(sums[0])
            parts += list(np.bincount(kind * count + codes, values[row], len(kinds) * count).reshape(-1, count))
            _, example = np.unique(kind, return_index=True)
            mix[own, first : len(parts)] = member[example].T
        else:
            parts += [sums[index] for index in own]
            mix[own, range(first, len(parts))] = True
    return np.array(parts), mix[:, : len(parts)]


def percentiles(samples: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of each row of samples, none of them NaN; see `percentile_interval`."""
    position = tail(confidence) * (samples.shape[1] - 1)
    outer = math.floor(position)
    inner = min(outer + 1, samples.shape[1] - 1)
    ordered = np.partition(samples, sorted({outer, inner, -1 - outer, -1 - inner}), axis=1)
    # both ends are read from their own side, so the interval of the negated samples is the exact mirror image
    low = ordered[:, outer] + (position - outer) * (ordered[:, inner] - ordered[:, outer])
    high = ordered[:, -1 - outer] + (position - outer) * (ordered[:, -1 - inner] - ordered[:, -1 - outer])
    return low, high


def tail(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
    return (1 - confidence) / 2
