"""Means over another mix of items than the one at hand, and how far entries lie behind the best of them.

Direct standardisation: the mean of the facets' means, weighted by given shares (K. J. Rothman, S. Greenland and T. L. Lash,
Modern Epidemiology, 3rd edition, 2008, chapter 3). Shares of several dimensions, of which only the margins are known, are
met together by iterative proportional fitting (W. E. Deming and F. F. Stephan, Annals of Mathematical Statistics 11 (1940)
427-444).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluation.statistics.comparison import checked, differing_from, resampled_pairs, sign_test_needs
from evaluation.statistics.intervals import CONFIDENCE, percentiles, wilson
from evaluation.statistics.resampling import RESAMPLES

ROUNDS, CLOSE = 1000, 1e-9


class Behind(NamedTuple):
    """Entry minus the reference: three float64 arrays (entries,), zero for the reference itself."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mix_weights(margins: Sequence[tuple[np.ndarray, Sequence[float]]], items: int) -> np.ndarray:
    """A weight for each item, so that the weighted items have the given shares: float64 (items,), their sum `items`.

    A margin is a facet number for each item (items,), -1 for an item without one, and a share >= 0 for each facet; shares are
    divided by their sum. An item without a facet in some margin, or in a facet of share 0, weighs 0. With one margin an item
    of facet g weighs items x share_g / n_g: the weighted mean is the mean of the facets' means. Several margins are fitted in
    turn, from equal weights. ValueError where a facet with a share has no item left, and where no weights meet all margins.
    """
    weights = np.ones(items)
    shares = []
    for codes, given in margins:
        wanted = np.asarray(given, dtype=np.float64)
        if not (wanted >= 0).all() or not wanted.sum() > 0:
            raise ValueError("shares are 0 or more, and one of them is more")
        shares.append(wanted / wanted.sum())
        weights[codes < 0] = 0
        weights[codes >= 0] *= wanted[codes[codes >= 0]] > 0
    for _ in range(ROUNDS):
        off = 0.0
        for (codes, _), wanted in zip(margins, shares, strict=True):
            used = codes >= 0
            held = np.bincount(codes[used], weights[used], len(wanted))
            if (held[wanted > 0] <= 0).any():
                raise ValueError("a facet with a share has no item left")
            off = max(off, float(np.abs(held / held.sum() - wanted).max()))
            factor = np.divide(wanted, held, out=np.zeros(len(wanted)), where=held > 0)
            weights[used] *= factor[codes[used]]
        if off < CLOSE or len(margins) == 1:
            return weights * (items / weights.sum())
    raise ValueError("no weights of the items meet all the shares")


def weighted_intervals(
    matrix: np.ndarray,
    sizes: np.ndarray,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[tuple[float, float]]:
    """The interval of each entry's weighted mean, a share in 0..1, from the weighted sums of `cluster_sums`.

    Percentiles over the resampled clusters. Where the samples have no width (all right, all wrong, one cluster), Wilson's
    interval with the effective number of clusters (see `effective`). ValueError as for `paired_differences`.
    """
    matrix, sizes = checked(matrix, sizes)
    sums, weights = resampled_pairs(matrix, sizes, seed, resamples)
    lows, highs = percentiles(sums / weights, confidence)
    out = []
    for row, low, high in zip(matrix, lows.tolist(), highs.tolist(), strict=True):
        if not low < high:
            units = max(1, int(effective(sizes)))
            low, high = wilson(min(1.0, float(row.sum() / sizes.sum())) * units, units, confidence)
        out.append((low, high))
    return out


def effective(sizes: np.ndarray) -> float:
    """How many equally weighted clusters tell as much: (sum of weights)^2 / sum of squares (L. Kish, Survey Sampling, 1965).

    0 where nothing has a weight.
    """
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else 0.0


def differences_to(
    matrix: np.ndarray,
    sizes: np.ndarray,
    reference: int,
    *,
    seed: str,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Behind:
    """The column of `paired_differences` that belongs to one entry, without the others: each entry minus it."""
    matrix, sizes = checked(matrix, sizes)
    values = matrix.sum(axis=1) / sizes.sum()
    sums, weights = resampled_pairs(matrix, sizes, seed, resamples)
    low, high = percentiles((sums - sums[reference]) / weights, confidence)
    few = differing_from(matrix, reference) < sign_test_needs(confidence)
    low, high = np.where(few, np.minimum(low, 0), low), np.where(few, np.maximum(high, 0), high)
    return Behind(values - values[reference], low, high)
