"""Rank correlations against SciPy, and kappa against a plain count."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics
from tests.evaluation.plain_bootstrap import finite, quick


@quick
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6) | finite), min_size=2, max_size=25))
def test_rank_correlations_equal_scipy(pairs):
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert statistics.kendall_tau_b(x, y) is None and statistics.spearman(x, y) is None
        return
    assert statistics.kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)
    assert statistics.spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
    assert statistics.kendall_tau_b(y, x) == statistics.kendall_tau_b(x, y)
    assert statistics.spearman(x, [-value for value in y]) == -statistics.spearman(x, y)


def test_the_same_order_correlates_fully():
    x, y = [1.0, 2.0, 2.0, 5.0], [10.0, 20.0, 20.0, 21.0]
    assert statistics.kendall_tau_b(x, y) == statistics.spearman(x, y) == 1.0


@pytest.mark.parametrize("function", [statistics.kendall_tau_b, statistics.spearman])
def test_correlations_need_pairs_of_values(function):
    assert function([], []) is None and function([1], [2]) is None
    for x, y in (([1, 2], [1]), ([1, math.nan], [1, 2])):
        with pytest.raises(ValueError):
            function(x, y)


@quick
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40))
def test_kappa_is_agreement_beyond_chance(ratings):
    table = np.zeros((3, 3))
    for first, second in ratings:
        table[first, second] += 1
    found = statistics.cohen_kappa(table)
    if not ratings:
        assert found is None
        return
    total = len(ratings)
    firsts, seconds = Counter(first for first, _ in ratings), Counter(second for _, second in ratings)
    observed = Fraction(sum(first == second for first, second in ratings), total)
    chance = Fraction(sum(firsts[label] * seconds[label] for label in range(3)), total**2)
    assert found == (None if chance == 1 else pytest.approx(float((observed - chance) / (1 - chance)), abs=1e-12))


def test_kappa_by_hand():
    # 35 of 50 agree; chance is (25 x 30 + 25 x 20) / 2500 = 0.5
    assert statistics.cohen_kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert statistics.cohen_kappa([[7, 0], [0, 3]]) == 1
    assert statistics.cohen_kappa([[7, 0], [0, 0]]) is None
    for table in ([[1, 2, 3], [1, 2, 3]], [1, 2], [[1, -1], [0, 2]], [[1, math.nan], [0, 2]]):
        with pytest.raises(ValueError):
            statistics.cohen_kappa(table)
