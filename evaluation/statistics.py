"""Means, intervals, ranks and agreement: every number here is the same on every machine.

Uncertainty comes from resampling whole clusters (cases, patients, conversations) with replacement: B. Efron and
R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapters 8 and 13. Resamples are seeded by a text, so the
same content has the same interval for ever. Values are rounded to multiples of 2**-30 before they are resampled: sums
of such numbers are exact in float64 (as long as a sum stays below 2**23), so they do not depend on the order of the
items, on the linear algebra library or on threads. That rounding touches only intervals (by less than 1e-9), never a
mean.

No function drops a missing value on its own, except `percentile_interval` and where None is said to be allowed: the
caller decides whether missing counts as 0 or leaves the denominator.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from threading import Lock

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95

_STEP = 2.0**-30
_BLOCK = 2**18  # counts that are unpacked at a time: 2 MB as float64
_CACHE_BYTES = 2**25
_cache: OrderedDict[tuple[int, str, int], np.ndarray] = OrderedDict()
_cache_lock = Lock()


def mean(values: Sequence[float] | np.ndarray) -> float:
    """Arithmetic mean from an exactly rounded sum, so the order of the values does not matter.

    ValueError when empty or when a value is NaN: the mean of nothing is blank, which is the caller's to show.
    """
    if not len(values):
        raise ValueError("the mean of no values is undefined")
    result = math.fsum(values) / len(values)
    if math.isnan(result):
        raise ValueError("a missing value has no place in a mean")
    return result


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
    z2 = NormalDist().inv_cdf(1 - _tail(confidence)) ** 2
    centre = share + z2 / (2 * n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # at the ends the bounds are 0 and 1 by algebra; rounding must not move them
    low = 0.0 if share == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if share == 1 else min(1.0, (centre + half) / scale)
    return low, high


def resample_counts(clusters: int, seed: str, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each cluster is drawn in each resample: uint8 (resamples, clusters), read-only.

    Drawn by NumPy's `RandomState`, whose stream is frozen (NEP 19), from the SHA-256 of `seed`. The last two matrices
    are kept while they stay below 32 MB together. ValueError when clusters or resamples < 1.
    """
    key = (clusters, seed, resamples)
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        counts = np.empty((resamples, clusters), dtype=np.uint8)
        for part, block in _drawn(clusters, seed, resamples):
            counts[part] = block
        counts.flags.writeable = False
        if counts.nbytes <= _CACHE_BYTES:
            _cache[key] = counts
            while len(_cache) > 2 or sum(kept.nbytes for kept in _cache.values()) > _CACHE_BYTES:
                _cache.popitem(last=False)
        return counts


def resampled_means(
    values: np.ndarray,
    groups: Sequence[np.ndarray],
    clusters: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
) -> np.ndarray:
    """Mean of each group of items in each resample of the clusters: float64 (resamples, groups).

    `values` are the n items' values, `groups` arrays of item indexes, `clusters` n integers that are equal where items
    belong together. All clusters of `clusters` are resampled, also those without an item in a group: the sum of
    count x value over the sum of counts, so a group's size varies as it would in a new sample (a ratio estimator). A
    resample in which a group has no item is NaN. Only the order of the cluster codes matters, not their size; the order
    of the items does not. ValueError when a group is empty or holds a NaN.
    """
    if not len(groups):
        return np.empty((resamples, 0))
    if not all(len(group) for group in groups):
        raise ValueError("a group without items has no mean")
    codes, count = _dense(clusters)
    quantised = _quantise(np.asarray(values, dtype=np.float64))
    sums = np.empty((2 * len(groups), count))
    for row, group in enumerate(groups):
        sums[row] = np.bincount(codes[group], weights=quantised[group], minlength=count)
        sums[len(groups) + row] = np.bincount(codes[group], minlength=count)
    if np.isnan(sums).any():
        raise ValueError("a missing value has no place in a mean")
    means = np.empty((len(groups), resamples))
    for part, product in _resampled_sums(sums, seed, resamples):
        total, size = np.split(product.astype(np.float64), 2)
        with np.errstate(invalid="ignore"):
            means[:, part] = total / size
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
    low, high = _percentiles(kept[np.newaxis], confidence)
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
) -> list[tuple[float, float]]:
    """An interval for the mean of each group of items; the values of a group lie in 0..`upper`.

    - Independent units, every value 0 or `upper` and every item of the group in a cluster of its own: Wilson.
    - Else the percentile interval of `resampled_means`.
    - Where that has no width (one cluster, or all clusters with the same mean, as at 0 % and 100 %), the sample says
      nothing about the spread: Wilson with as many units as the group has clusters and mean / upper as the share. No
      value in 0..upper spreads more than a yes or no, so this errs on the wide side.

    ValueError when a group is empty, or holds a NaN or a value outside 0..upper.
    """
    values, clusters = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    units, independent = [], []
    for group in groups:
        held = values[group] if len(group) else np.full(1, np.nan)
        if not ((held >= 0) & (held <= upper)).all():
            raise ValueError(f"an interval needs values, all of them in 0..{upper}")
        units.append(len(np.unique(clusters[group])))
        independent.append(units[-1] == len(held) and bool(((held == 0) | (held == upper)).all()))
    left = [index for index, alone in enumerate(independent) if not alone]
    samples = resampled_means(values, [groups[index] for index in left], clusters, seed=seed, resamples=resamples)
    bounds = [(math.nan, math.nan)] * len(groups)
    for column, index in zip(samples.T, left, strict=True):
        if not np.isnan(column).all():
            bounds[index] = percentile_interval(column, confidence)
    for index, (low, high) in enumerate(bounds):
        if not low < high:
            share = mean(values[groups[index]]) / upper
            low, high = wilson(share * units[index], units[index], confidence)
            bounds[index] = low * upper, high * upper
    return bounds


def _tail(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
    return (1 - confidence) / 2


def _dense(clusters: np.ndarray) -> tuple[np.ndarray, int]:
    """Cluster codes as 0 .. count - 1 in the order of the given codes, and their count."""
    known, codes = np.unique(clusters, return_inverse=True)
    return codes, len(known)


def _quantise(values: np.ndarray) -> np.ndarray:
    return np.rint(values / _STEP) * _STEP


def _percentiles(samples: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of each row of samples, none of them NaN; see `percentile_interval`."""
    position = _tail(confidence) * (samples.shape[1] - 1)
    outer = math.floor(position)
    inner = min(outer + 1, samples.shape[1] - 1)
    ordered = np.partition(samples, sorted({outer, inner, -1 - outer, -1 - inner}), axis=1)
    # both ends are read from their own side, so the interval of the negated samples is the exact mirror image
    low = ordered[:, outer] + (position - outer) * (ordered[:, inner] - ordered[:, outer])
    high = ordered[:, -1 - outer] + (position - outer) * (ordered[:, -1 - inner] - ordered[:, -1 - outer])
    return low, high


def _drawn(clusters: int, seed: str, resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the rows of `resample_counts`."""
    if clusters < 1 or resamples < 1:
        raise ValueError(f"{resamples} resamples of {clusters} clusters")
    digest = hashlib.sha256(seed.encode()).digest()
    stream = np.random.RandomState(np.frombuffer(digest, dtype=">u4").astype(np.uint32))
    rows = max(1, _BLOCK // clusters)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = stream.randint(clusters, size=(size, clusters), dtype=np.int64)
        drawn += np.arange(size)[:, np.newaxis] * clusters
        counts = np.bincount(drawn.ravel(), minlength=size * clusters)
        # a byte is enough: the chance that one cluster is drawn more than 255 times is below 1 / 256!
        yield slice(start, start + size), counts.reshape(size, clusters).astype(np.uint8)


def _resampled_sums(sums: np.ndarray, seed: str, resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Sum over the clusters of count x sums, (rows, clusters) -> blocks of (rows, resamples), exact.

    Whole numbers are summed in float32, twice as fast and as exact while no sum can reach 2**24.
    """
    clusters = sums.shape[1]
    whole = clusters * np.abs(sums).max() < 2**24 and bool((sums == np.rint(sums)).all())
    sums = sums.astype(np.float32 if whole else np.float64)
    if clusters * resamples <= _CACHE_BYTES:
        counts, rows = resample_counts(clusters, seed, resamples), max(1, _BLOCK // clusters)
        parts = (slice(start, min(start + rows, resamples)) for start in range(0, resamples, rows))
        blocks: Iterator[tuple[slice, np.ndarray]] = ((part, counts[part]) for part in parts)
    else:
        blocks = _drawn(clusters, seed, resamples)
    for part, block in blocks:
        yield part, sums @ block.astype(sums.dtype).T
