"""Intervals of proportions and of means against SciPy and plain second implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation import statistics
from tests.evaluation.plain_bootstrap import finite, grouped_items, plain_means, quick

# --- Wilson -----------------------------------------------------------------------------------------------------------


def plain_score_interval(successes: float, n: int, confidence: float) -> tuple[float, float]:
    """Shares that a score test does not refuse, found by halving."""
    z = scipy.stats.norm.ppf((1 + confidence) / 2)
    share = successes / n

    def refused(true: float) -> bool:
        return abs(share - true) > z * math.sqrt(true * (1 - true) / n)

    def border(inside: float, outside: float) -> float:
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if refused(middle) else (middle, outside)
        return inside

    return border(share, 0.0), border(share, 1.0)


@pytest.mark.parametrize("n", [1, 2, 9, 40, 1407])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_wilson_equals_scipy(n, confidence):
    for successes in {0, 1, n // 3, n // 2, n - 1, n}:
        expected = scipy.stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
        assert statistics.wilson(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


@quick
@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95]))
@example(225, 1.7e-27, 0.8)
def test_wilson_inverts_the_score_test(n, share, confidence):
    low, high = statistics.wilson(share * n, n, confidence)
    assert (low, high) == pytest.approx(plain_score_interval(share * n, n, confidence), abs=1e-9)
    assert 0 <= low <= share * n / n <= high <= 1
    mirrored = statistics.wilson(n - share * n, n, confidence)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_wilson_has_width_at_both_ends():
    low, high = statistics.wilson(0, 20)
    assert low == 0 and 0.1 < high < 0.2
    assert statistics.wilson(20, 20) == pytest.approx((1 - high, 1.0))
    low, high = statistics.wilson(1, 1)
    assert 0.2 < low < 0.21 and high == 1


@pytest.mark.parametrize(
    ("successes", "n", "confidence"), [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0)]
)
def test_wilson_refuses_what_is_no_proportion(successes, n, confidence):
    with pytest.raises(ValueError):
        statistics.wilson(successes, n, confidence)


@pytest.mark.parametrize("n", [40, 100, 1407])
def test_wilson_covers_the_truth_as_often_as_it_says(n):
    successes = np.random.RandomState(20260201).binomial(n, 0.3, size=20_000)
    covers = [low <= 0.3 <= high for low, high in (statistics.wilson(k, n) for k in range(n + 1))]
    assert 0.93 < np.array(covers)[successes].mean() < 0.97


# --- means ------------------------------------------------------------------------------------------------------------


@quick
@given(grouped_items(), st.randoms())
def test_intervals_are_blind_to_the_order_of_items_and_the_size_of_codes(items, random):
    values, groups, clusters = items
    given_order = statistics.mean_intervals(
        values, [np.array(group) for group in groups], clusters, seed="o", resamples=50
    )
    order = list(range(len(values)))
    random.shuffle(order)
    place = {item: at for at, item in enumerate(order)}
    shuffled = [np.array(random.sample([place[item] for item in group], len(group))) for group in groups]
    moved = statistics.mean_intervals(values[order], shuffled, 7 * clusters[order] + 100, seed="o", resamples=50)
    assert moved == given_order


@quick
@given(st.lists(finite | st.just(math.nan), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_percentiles_are_interpolated_between_order_statistics(samples, confidence):
    known = [sample for sample in samples if not math.isnan(sample)]
    if not known:
        with pytest.raises(ValueError):
            statistics.percentile_interval(np.array(samples), confidence)
        return
    low, high = statistics.percentile_interval(np.array(samples), confidence)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    assert (low, high) == pytest.approx(tuple(np.quantile(known, tails)), rel=1e-9, abs=1e-6)
    assert statistics.percentile_interval(-np.array(samples), confidence) == (-high, -low)


def test_clustered_items_have_the_interval_of_their_resamples():
    stream = np.random.RandomState(3)
    clusters = np.repeat(np.arange(12), 3)
    values = stream.randint(0, 5, size=36) / 4
    groups = [np.arange(36), np.arange(0, 36, 2), np.arange(9)]
    intervals = statistics.mean_intervals(values, groups, clusters, seed="c", resamples=300)
    for group, interval in zip(groups, intervals, strict=True):
        means = plain_means(values.tolist(), group.tolist(), clusters.tolist(), "c", 300)
        expected = np.nanquantile(means, [0.025, 0.975])
        assert interval == pytest.approx(tuple(expected), abs=1e-12)
        assert interval[0] < statistics.mean(values[group]) < interval[1]


def test_right_or_wrong_items_of_their_own_clusters_have_wilsons_interval():
    values = np.array([1.0] * 7 + [0.0] * 5 + [1.0, 1.0])
    clusters = np.array([*range(12), 12, 12])
    alone, together = statistics.mean_intervals(values, [np.arange(12), np.arange(14)], clusters, seed="w")
    assert alone == statistics.wilson(7, 12)
    assert together == statistics.percentile_interval(
        statistics.resampled_means(values, [np.arange(14)], clusters, seed="w")[:, 0]
    )


@pytest.mark.parametrize("value", [0.0, 0.25, 1 / 3, 1.0])
@pytest.mark.parametrize("units", [1, 2, 30])
def test_equal_values_have_an_interval_with_width(value, units):
    clusters = np.repeat(np.arange(units), 3)
    (interval,) = statistics.mean_intervals(
        np.full(3 * units, value), [np.arange(3 * units)], clusters, seed="e", resamples=100
    )
    assert interval == pytest.approx(statistics.wilson(value * units, units))
    assert interval[1] - interval[0] > 0.1


def test_one_cluster_and_equal_clusters_say_nothing_about_the_spread():
    values = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    clusters = np.array([0, 0, 1, 1, 2, 2])
    one, equal = statistics.mean_intervals(values, [np.arange(2), np.arange(6)], clusters, seed="z", resamples=99)
    assert one == statistics.wilson(0.5, 1)
    assert equal == statistics.wilson(1.5, 3)


def test_a_scale_beyond_one_is_said_or_refused():
    scores, clusters = np.array([5.0, 5.0, 5.0, 2.0, 3.5]), np.arange(5)
    top, mixed = statistics.mean_intervals(
        scores, [np.arange(3), np.arange(5)], clusters, seed="u", resamples=200, upper=5
    )
    assert top == pytest.approx((5 * statistics.wilson(3, 3)[0], 5.0))
    assert 2 < mixed[0] < 4.1 < mixed[1] <= 5
    for upper in (1.0, 4.0):
        with pytest.raises(ValueError):
            statistics.mean_intervals(scores, [np.arange(3)], clusters, seed="u", upper=upper)
    tenths = np.full(3, 0.1)  # their mean is above 0.1 in floating point
    ((_, high),) = statistics.mean_intervals(tenths, [np.arange(3)], np.arange(3), seed="u", upper=0.1)
    assert high == pytest.approx(0.1)


def test_cluster_intervals_cover_the_truth_about_as_often_as_they_say():
    stream = np.random.RandomState(11)
    clusters = np.repeat(np.arange(80), 3)
    hits = 0
    for _ in range(250):
        ease = stream.beta(2, 2, size=80)[clusters]  # items of a case share its ease; the mean is 0.5
        values = (stream.random_sample(240) < ease).astype(float)
        ((low, high),) = statistics.mean_intervals(values, [np.arange(240)], clusters, seed="k", resamples=400)
        hits += low <= 0.5 <= high
    assert 0.90 < hits / 250 < 0.985
