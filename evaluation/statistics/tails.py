"""The ends of a bootstrap distribution: the very numbers that sorting the exact means gives, for half the work.

An interval needs four order statistics of 10,000 means. Sums in float32, with a bound of their error, leave a handful of
resamples that could be one of them; those alone are summed exactly. The bound: a sum of n products of numbers that are not
negative, added in whatever order, is off by less than (n + 2) x 2**-24 of itself (N. J. Higham, Accuracy and Stability of
Numerical Algorithms, 2002, chapter 3).
"""

from __future__ import annotations

import math

import numpy as np

from evaluation.statistics import resampling

_UNIT = 2.0**-24  # the relative error of one rounding to float32; whole numbers are exact up to its inverse


def mean_bounds(
    sums: np.ndarray,
    whole: list[bool],
    parts: np.ndarray,
    mix: np.ndarray,
    sizes: list[np.ndarray],
    seed: str,
    resamples: int,
    tail: float,
) -> list[tuple[float, float]]:
    """The bounds of each group's resampled means that leave `tail` outside at either end, NaN where none has an item.

    `sums` (groups, clusters) are multiples of 2**-30 and not negative; they are mix @ parts, `mix` of 0 and 1. `whole` says
    of which groups float32 adds the parts without rounding (`adds_exactly`). `sizes` are `resampling.resampled_sizes`. What
    comes out is `percentile_interval` of the group's column of `resampled_means`.
    """
    # what is not kept cannot be looked up again: then all is summed exactly
    dtype = np.dtype(np.float32 if resampling.is_kept(sums.shape[1], resamples) else np.float64)
    totals = np.empty((len(sums), resamples), dtype)
    factors, mix = parts.astype(dtype).T, mix.astype(dtype).T
    for part, block in resampling.blocks(sums.shape[1], seed, resamples, dtype):
        totals[:, part] = (block @ factors @ mix).T
    mixed = np.count_nonzero(mix, axis=0)
    return [
        _Means(own, size, total, seed, 0 if exact or dtype == np.float64 else int(terms)).bounds(tail)
        for own, size, total, exact, terms in zip(sums, sizes, totals, whole, mixed, strict=True)
    ]


def adds_exactly(values: np.ndarray, most: float) -> bool:
    """Whether sums of these values up to `most` are exact in float32: whole numbers of some step that stay small enough."""
    if not most:
        return True
    steps = values * 2.0 ** math.floor(math.log2(1 / _UNIT / most))
    return bool((steps == np.rint(steps)).all())


class _Means:
    """The resampled means of one group: estimates of all, exact values of some.

    `terms` is the number of parts that were added up to the totals, 0 where these are exact.
    """

    def __init__(self, sums: np.ndarray, sizes: np.ndarray, totals: np.ndarray, seed: str, terms: int) -> None:
        self.sums, self.sizes, self.totals, self.seed, self.exact = sums, sizes, totals, seed, not terms
        self.filled: np.ndarray | None = None  # where a group has an item in each resample
        if not sizes.all():
            self.filled = np.flatnonzero(sizes)
            self.sizes, totals = sizes[self.filled], totals[self.filled]
        self.clusters = np.flatnonzero(sums)
        self.estimates = totals / self.sizes
        # more roundings for the parts, for the division and for the borders of the window
        steps = terms + len(self.clusters) + 8 if terms else 8
        self.error = 1.01 * steps * _UNIT * float(self.estimates.max(initial=0))

    def bounds(self, tail: float) -> tuple[float, float]:
        last = len(self.sizes) - 1
        if last < 0:
            return math.nan, math.nan
        position = tail * last
        outer = math.floor(position)
        inner = min(outer + 1, last)
        (low, next_low), (next_high, high) = self._ordered(outer, inner), self._ordered(last - inner, last - outer)
        return low + (position - outer) * (next_low - low), high + (position - outer) * (next_high - high)

    def _ordered(self, first: int, second: int) -> tuple[float, float]:
        """The exact means at two neighbouring places (or one) of their order.

        Every estimate is off by `error` at most, so the estimate at a place is off by no more from the mean at that place:
        what lies further than twice that from both is on the same side of them as its estimate.
        """
        parted = np.partition(self.estimates, second)
        upper = parted[second]
        lower = parted[:second].max() if first < second else upper
        slack = 2 * self.error
        # the fewer of both sides is looked at closely
        if 2 * first < len(self.estimates):
            places = np.flatnonzero(self.estimates <= upper + slack)
            near = self.estimates[places] >= lower - slack
            below = len(places) - int(np.count_nonzero(near))
        else:
            places = np.flatnonzero(self.estimates >= lower - slack)
            near = self.estimates[places] <= upper + slack
            below = len(self.estimates) - len(places)
        places = places[near]
        means = np.sort(self._exactly(places))
        return float(means[first - below]), float(means[second - below])

    def _exactly(self, places: np.ndarray) -> np.ndarray:
        rows = places if self.filled is None else self.filled[places]
        if self.exact:
            return self.totals[rows].astype(np.float64) / self.sizes[places]
        known = self.sums[self.clusters]
        at_once = max(1, resampling._BLOCK // len(known))
        totals = [
            resampling.counts_at(len(self.sums), self.seed, len(self.totals), part, self.clusters) @ known
            for part in (rows[start : start + at_once] for start in range(0, len(rows), at_once))
        ]
        return np.concatenate(totals) / self.sizes[places]
