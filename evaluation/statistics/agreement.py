"""How far two orders, or two raters, agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


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
