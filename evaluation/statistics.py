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
from dataclasses import dataclass
from statistics import NormalDist, stdev
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95

_STEP = 2.0**-30
_BLOCK = 2**18  # counts that are unpacked at a time: 2 MB as float64
_CACHE_BYTES = 2**24
_cache: OrderedDict[tuple[int, str, int], np.ndarray] = OrderedDict()
_last_sizes: dict[tuple[str, int, str, int], np.ndarray] = {}
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
    # by algebra the share lies inside, and is the bound itself at 0 and 1: rounding must not undo that
    low = max(0.0, min(share, (centre - half) / scale))
    high = min(1.0, max(share, (centre + half) / scale))
    return low, high


def resample_counts(clusters: int, seed: str, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each cluster is drawn in each resample: uint8 (resamples, clusters).

    Drawn by NumPy's `RandomState`, whose stream is frozen (NEP 19), from the SHA-256 of `seed`. ValueError when clusters
    or resamples < 1.
    """
    return np.concatenate([block for _, block in _drawn(clusters, seed, resamples)])


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
    codes, count = _dense(clusters)
    quantised = np.broadcast_to(_quantise(np.asarray(values, dtype=np.float64)), (len(groups), len(codes)))
    sums = np.array(
        [np.bincount(codes[group], own[group], count) for own, group in zip(quantised, groups, strict=True)]
    )
    if np.isnan(sums).any():
        raise ValueError("a missing value has no place in a mean")
    sizes = _resampled_sizes(codes, groups, count, seed, resamples)
    means = np.empty((len(groups), resamples))
    for part, total in _resampled_sums(sums, seed, resamples):
        with np.errstate(invalid="ignore"):
            means[:, part] = total.astype(np.float64) / sizes[:, part]
    return means.T


def _resampled_sizes(
    codes: np.ndarray, groups: Sequence[np.ndarray], clusters: int, seed: str, resamples: int
) -> np.ndarray:
    """Items of each group in each resample: float32 or float64 (groups, resamples), whole numbers.

    Runs of one split have the same groups and differ in their values alone, so the last answer is kept.
    """
    content = hashlib.sha256(codes.tobytes())
    for group in groups:
        content.update(len(group).to_bytes(8, "little") + np.ascontiguousarray(group, dtype=np.int64).tobytes())
    key = (content.hexdigest(), clusters, seed, resamples)
    kept = _last_sizes.get(key)
    if kept is None:
        counts = np.array([np.bincount(codes[group], minlength=clusters) for group in groups], dtype=np.float64)
        # as float32 where the sums came so, exact for whole numbers: half the memory
        kept = np.concatenate([part for _, part in _resampled_sums(counts, seed, resamples)], axis=1)
        kept.flags.writeable = False
        if kept.nbytes <= _CACHE_BYTES:
            _last_sizes.clear()
            _last_sizes[key] = kept
    return kept


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

    `values` are the n items' values, or one row of them a group (groups, n): one pass over the resamples serves all.

    - Independent units, every value 0 or `upper` and every item of the group in a cluster of its own: Wilson.
    - Else the percentile interval of `resampled_means`. With few clusters it is too narrow: at 95 % it holds the truth
      about 90 times in 100 with 10 clusters, 93 with 40, 95 from 100 on (bench/coverage.py).
    - Where that has no width (one cluster, or all clusters with the same mean, as at 0 % and 100 %), the sample says
      nothing about the spread: Wilson with as many units as the group has clusters and mean / upper as the share. No
      value in 0..upper spreads more than a yes or no, so this errs on the wide side.

    ValueError when a group is empty, or holds a NaN or a value outside 0..upper.
    """
    clusters = np.asarray(clusters)
    values = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(groups), len(clusters)))
    units, independent = [], []
    for own, group in zip(values, groups, strict=True):
        held = own[group] if len(group) else np.full(1, np.nan)
        if not ((held >= 0) & (held <= upper)).all():
            raise ValueError(f"an interval needs values, all of them in 0..{upper}")
        units.append(_dense(clusters[group])[1])
        independent.append(units[-1] == len(held) and bool(((held == 0) | (held == upper)).all()))
    left = [index for index, alone in enumerate(independent) if not alone]
    samples = resampled_means(values[left], [groups[index] for index in left], clusters, seed=seed, resamples=resamples)
    bounds = [(math.nan, math.nan)] * len(groups)
    for column, index in zip(samples.T, left, strict=True):
        if not np.isnan(column).all():
            bounds[index] = percentile_interval(column, confidence)
    for index, (low, high) in enumerate(bounds):
        if not low < high:
            share = min(1.0, mean(values[index][groups[index]]) / upper)
            low, high = wilson(share * units[index], units[index], confidence)
            bounds[index] = low * upper, high * upper
    return bounds


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
    codes, count = _dense(clusters)
    weights = np.ones(len(codes)) if weights is None else _quantise(np.asarray(weights, dtype=np.float64))
    rows = [np.bincount(codes, weights=_quantise(row * weights), minlength=count) for row in values]
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
    matrix, sizes = _checked(matrix, sizes)
    values = matrix.sum(axis=1) / sizes.sum()
    difference = values[:, np.newaxis] - values
    low, high = np.zeros_like(difference), np.zeros_like(difference)
    differing = _differing_clusters(matrix)
    if method == "normal":
        residuals = matrix - values[:, np.newaxis] * sizes
        covariance = residuals @ residuals.T / sizes.sum() ** 2 * (len(sizes) / max(1, len(sizes) - 1))
        variance = np.diag(covariance)[:, np.newaxis] + np.diag(covariance) - 2 * covariance
        error = np.sqrt(np.where(differing, np.maximum(variance, 0), 0))
        half = NormalDist().inv_cdf(1 - _tail(confidence)) * error
        low, high = difference - half, difference + half
    else:
        sums, weights = _resampled_pairs(matrix, sizes, seed, resamples)
        for entry in range(len(matrix)):
            for start in range(entry + 1, len(matrix), 64):
                others = slice(start, start + 64)
                low[entry, others], high[entry, others] = _percentiles(
                    (sums[entry] - sums[others]) / weights, confidence
                )
        low, high = low - high.T, high - low.T
    few = differing < _sign_test_needs(confidence)
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
    sums, sizes = _checked(np.asarray(matrix)[[index for index, _ in ranked]], sizes)
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


def mean_sd(values: Sequence[float]) -> tuple[float, float | None, int]:
    """Mean, sample standard deviation (ddof 1) and number of runs; of one run there is no deviation: None.

    ValueError when empty or when a value is NaN.
    """
    average = mean(values)
    return average, stdev([float(value) for value in values]) if len(values) > 1 else None, len(values)


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's rank correlation with correction for ties (M. G. Kendall, Biometrika 33 (1945) 239-251), in -1..1.

    None when there are fewer than two pairs of values, or one side is constant. ValueError when the lengths differ or a
    value is NaN.
    """
    left, right = _paired_arrays(x, y)
    agreement = left_untied = right_untied = 0
    for index in range(1, len(left)):
        dx, dy = np.sign(left[index] - left[:index]), np.sign(right[index] - right[:index])
        agreement += int((dx * dy).sum())
        left_untied += int(np.count_nonzero(dx))
        right_untied += int(np.count_nonzero(dy))
    return agreement / math.sqrt(left_untied * right_untied) if left_untied and right_untied else None


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rank correlation: Pearson's of the ranks, equal values at their mean rank, in -1..1.

    None when there are fewer than two pairs of values, or one side is constant. ValueError when the lengths differ or a
    value is NaN.
    """
    left, right = (_centred_ranks(side) for side in _paired_arrays(x, y))
    spread = sum(a * a for a in left) * sum(b * b for b in right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.sqrt(spread) if spread else None


def cohen_kappa(table: Sequence[Sequence[float]] | np.ndarray) -> float | None:
    """Cohen's unweighted kappa of a square table of counts, [label of one rater][label of the other], in -1..1.

    J. Cohen, Educational and Psychological Measurement 20 (1960) 37-46: (observed - chance) / (1 - chance) agreement.
    None for an empty table, and where chance alone agrees fully (both raters gave the same label to everything).
    ValueError when the table is not square or a count is negative or missing.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not (counts >= 0).all():
        raise ValueError("agreement needs a square table of counts")
    total = counts.sum()
    chance = float(counts.sum(axis=0) @ counts.sum(axis=1))
    possible = float(total * total) - chance
    return (float(total * np.trace(counts)) - chance) / possible if possible > 0 else None


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


def _kept(clusters: int, seed: str, resamples: int) -> np.ndarray:
    """What `resample_counts` gives, two counts a byte: the first half of the clusters in the low bits, the rest in the high.

    As it is where a cluster is drawn more than 15 times, which chance hardly ever does (1 / 16! for each). The last two are
    kept while they stay below `_CACHE_BYTES` together.
    """
    key = (clusters, seed, resamples)
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        half = (clusters + 1) // 2
        packed = np.zeros((resamples, half), dtype=np.uint8)
        for part, block in _drawn(clusters, seed, resamples):
            if block.max() > 15:
                packed = resample_counts(clusters, seed, resamples)
                break
            packed[part] = block[:, :half]
            packed[part, : clusters - half] |= block[:, half:] << 4
        _cache[key] = packed
        while len(_cache) > 2 or (len(_cache) > 1 and sum(kept.nbytes for kept in _cache.values()) > _CACHE_BYTES):
            _cache.popitem(last=False)
        return packed


def _blocks(clusters: int, seed: str, resamples: int, dtype: np.dtype) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the rows of `resample_counts` as `dtype`, drawn only once where they are small enough to be kept."""
    if clusters * resamples > 2 * _CACHE_BYTES:
        yield from ((part, block.astype(dtype)) for part, block in _drawn(clusters, seed, resamples))
        return
    kept, rows = _kept(clusters, seed, resamples), max(1, _BLOCK // clusters)
    half = kept.shape[1]
    for start in range(0, resamples, rows):
        part = slice(start, min(start + rows, resamples))
        block = np.empty((part.stop - start, clusters), dtype)
        if half == clusters > 1:
            block[:] = kept[part]
        else:
            block[:, :half] = kept[part] & 15
            block[:, half:] = kept[part, : clusters - half] >> 4
        yield part, block


def _resampled_sums(sums: np.ndarray, seed: str, resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Sum over the clusters of count x sums, (rows, clusters) -> blocks of (rows, resamples), exact.

    Whole numbers are summed in float32, twice as fast and as exact while no sum can reach 2**24.
    """
    clusters = sums.shape[1]
    whole = clusters * np.abs(sums).max() < 2**24 and bool((sums == np.rint(sums)).all())
    sums = sums.astype(np.float32 if whole else np.float64)
    for part, block in _blocks(clusters, seed, resamples, sums.dtype):
        yield part, sums @ block.T


def _checked(matrix: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    matrix, sizes = _quantise(np.asarray(matrix, dtype=np.float64)), _quantise(np.asarray(sizes, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1:] != sizes.shape:
        raise ValueError(f"sums of shape {matrix.shape} do not fit sizes of shape {sizes.shape}")
    if np.isnan(matrix).any() or not (sizes >= 0).all() or not sizes.sum() > 0:
        raise ValueError("a comparison needs items, none of them missing")
    return matrix, sizes


def _resampled_pairs(matrix: np.ndarray, sizes: np.ndarray, seed: str, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Every entry's sum in each resample (entries, resamples) and the resample's size, without the empty resamples."""
    parts = [product for _, product in _resampled_sums(np.vstack([matrix, sizes]), seed, resamples)]
    sums = np.concatenate(parts, axis=1)
    filled = sums[-1] > 0
    if not filled.any():
        raise ValueError("no resample holds an item")
    return np.compress(filled, sums[:-1], axis=1), sums[-1, filled].astype(np.float64)


def _differing_clusters(matrix: np.ndarray) -> np.ndarray:
    """In how many clusters each pair of entries has different sums: (entries, entries)."""
    out = np.zeros((len(matrix), len(matrix)), dtype=np.int64)
    for entry, row in enumerate(matrix):
        out[entry, entry + 1 :] = np.count_nonzero(row != matrix[entry + 1 :], axis=1)
    return out + out.T


def _sign_test_needs(confidence: float) -> int:
    """The fewest clusters, all in favour of one entry, at which a two-sided sign test is significant."""
    return math.ceil(math.log2(1 / _tail(confidence)))


def _significantly_better(
    values: np.ndarray, matrix: np.ndarray, sizes: np.ndarray, seed: str, resamples: int, confidence: float
) -> np.ndarray:
    """[i, j] is True where entry i is significantly better than entry j.

    The lower bound of a difference is above 0 when few enough resamples are not, so counting them decides nearly all
    pairs; only where the bound lies between two order statistics with 0 between them is it worked out.
    """
    order = np.argsort(-values, kind="stable")
    sums, weights = _resampled_pairs(matrix[order], sizes, seed, resamples)
    outer = math.floor(_tail(confidence) * (len(weights) - 1))
    above = np.zeros((len(values), len(values)), dtype=bool)
    for entry in range(len(values) - 1):
        wins = np.bitwise_count(np.packbits(sums[entry] > sums[entry + 1 :], axis=1)).sum(axis=1, dtype=np.int64)
        others = len(weights) - wins
        above[entry, entry + 1 :] = others <= outer
        for other in entry + 1 + np.flatnonzero(others == outer + 1):
            low, _ = _percentiles(((sums[entry] - sums[other]) / weights)[np.newaxis], confidence)
            above[entry, other] = low[0] > 0
    better = np.zeros_like(above)
    better[np.ix_(order, order)] = above
    return better & (values[:, np.newaxis] > values) & (_differing_clusters(matrix) >= _sign_test_needs(confidence))


def _paired_arrays(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.shape != right.shape or np.isnan(left).any() or np.isnan(right).any():
        raise ValueError("a correlation needs pairs of values, none of them missing")
    return left, right


def _centred_ranks(values: np.ndarray) -> list[int]:
    """Twice the mean ranks minus their mean: whole numbers, so that sums of products are exact."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    doubled = 2 * np.cumsum(counts) - counts + 1
    return [int(rank) for rank in (doubled[codes] - (len(values) + 1))]
