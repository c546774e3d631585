"""Statistics against plain second implementations, exact arithmetic and SciPy."""

from __future__ import annotations

import ast
import math
import sys
from collections import Counter
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.statistics import resampling

quick = settings(deadline=None, max_examples=40)
finite = st.floats(-1e6, 1e6)

FROZEN = [[2, 0, 1, 0, 0, 3], [2, 2, 1, 0, 0, 1], [1, 1, 1, 0, 1, 2], [1, 1, 1, 1, 1, 1]]
FROZEN_BIG = "1f4f0a7752fa44caf442bb38d308612dd5f52be16dee98becfbd1edbc9e9c5fe"


def plain_counts(clusters: int, seed: str, resamples: int) -> list[Counter[int]]:
    """Every draw one after the other, straight from the stream."""
    digest = sha256(seed.encode()).digest()
    stream = np.random.RandomState([int.from_bytes(digest[at : at + 4], "big") for at in range(0, 32, 4)])
    return [Counter(int(stream.randint(clusters, dtype=np.int64)) for _ in range(clusters)) for _ in range(resamples)]


def plain_means(values, group, clusters, seed, resamples) -> list[float]:
    """Mean of a group in each resample by exact fractions; the values must be multiples of 2**-30."""
    known = sorted(set(clusters))
    means = []
    for drawn in plain_counts(len(known), seed, resamples):
        count = [drawn[known.index(clusters[item])] for item in group]
        total = sum(Fraction(values[item]) * times for item, times in zip(group, count, strict=True))
        means.append(float(total / sum(count)) if sum(count) else math.nan)
    return means


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


def board(entries: int, clusters: int, seed: int, whole: bool = True) -> tuple[list[float], np.ndarray, np.ndarray]:
    """An invented board: values, cluster sums and sizes of entries of rising skill."""
    stream = np.random.RandomState(seed)
    codes = np.repeat(np.arange(clusters), stream.randint(1, 5, size=clusters))
    ease = stream.random_sample(clusters)[codes] - 0.5
    skill = np.linspace(0.3, 0.7, entries)[:, np.newaxis]
    items = (stream.random_sample((entries, len(codes))) < skill + ease / 2).astype(float)
    if not whole:
        items = items * 0.7 + 0.1
    matrix, sizes = statistics.cluster_sums(items, codes)
    return [statistics.mean(row) for row in items], matrix, sizes


def plain_differences(matrix, sizes, first, second, seed, resamples) -> np.ndarray:
    counts = statistics.resample_counts(len(sizes), seed, resamples).astype(float)
    return (counts @ matrix[first] - counts @ matrix[second]) / (counts @ sizes)


# means


@quick
@given(st.lists(finite, min_size=1, max_size=30), st.randoms())
def test_a_mean_is_exact_and_blind_to_order(values, random):
    expected = float(sum(map(Fraction, values))) / len(values)
    random.shuffle(values)
    assert statistics.mean(values) == expected
    assert statistics.mean(np.array(values)) == expected


@pytest.mark.parametrize("values", [[], np.array([]), [math.nan], [1.0, math.nan]])
def test_no_mean_of_nothing_or_of_missing_values(values):
    with pytest.raises(ValueError):
        statistics.mean(values)


# Wilson


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


# resampling


def test_resample_counts_are_frozen():
    counts = statistics.resample_counts(6, "clinboard", 4)
    assert counts.dtype == np.uint8
    assert counts.tolist() == FROZEN
    big = statistics.resample_counts(1407, "liveclin 2025_H1", 300)
    assert sha256(big.tobytes()).hexdigest() == FROZEN_BIG


@quick
@given(st.integers(1, 300), st.text(max_size=5), st.integers(1, 4))
def test_resample_counts_are_the_draws_of_the_stream(clusters, seed, resamples):
    counts = statistics.resample_counts(clusters, seed, resamples)
    assert counts.shape == (resamples, clusters)
    for row, drawn in zip(counts, plain_counts(clusters, seed, resamples), strict=True):
        assert row.tolist() == [drawn[code] for code in range(clusters)]


def test_counts_do_not_depend_on_the_block(monkeypatch):
    whole = statistics.resample_counts(50, "blocks", 100)
    resampling._cache.clear()
    monkeypatch.setattr(resampling, "_BLOCK", 333)
    assert (statistics.resample_counts(50, "blocks", 100) == whole).all()


def test_counts_are_kept_within_limits(monkeypatch):
    def use(clusters, seed, resamples):
        statistics.resampled_means(
            np.arange(clusters) / clusters, [np.arange(clusters)], np.arange(clusters), seed=seed, resamples=resamples
        )

    resampling._cache.clear()
    for seed in "abc":
        use(20, seed, 50)
    assert [(key[1], kept.nbytes) for key, kept in resampling._cache.items()] == [("b", 500), ("c", 500)]
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 900)
    use(20, "d", 50)
    assert [key[1] for key in resampling._cache] == ["d"]
    use(20, "e", 91)
    assert [key[1] for key in resampling._cache] == ["d"]


@pytest.mark.parametrize("clusters", [1, 2, 3, 20, 33])
def test_kept_counts_are_those_that_are_drawn(clusters):
    for dtype in (np.float32, np.float64):
        blocks = [block.copy() for _, block in resampling.blocks(clusters, "kept", 40, np.dtype(dtype))]
        assert (np.concatenate(blocks) == statistics.resample_counts(clusters, "kept", 40)).all()


def test_a_cluster_that_is_drawn_more_than_15_times_is_kept_as_it_is(monkeypatch):
    drawn = [[20, 0, 0, 0], [16, 4, 0, 0], [5, 5, 5, 5]]
    counts = np.array(drawn, dtype=np.uint8)
    monkeypatch.setattr(resampling, "_drawn", lambda *_: iter([(slice(0, 2), counts[:2]), (slice(2, 3), counts[2:])]))
    resampling._cache.clear()
    for _ in range(2):
        (block,) = (block for _, block in resampling.blocks(4, "unlucky", 3, np.dtype(np.float64)))
        assert block.tolist() == drawn
    resampling._cache.clear()


@pytest.mark.parametrize(("clusters", "resamples"), [(0, 10), (10, 0)])
def test_nothing_cannot_be_resampled(clusters, resamples):
    with pytest.raises(ValueError):
        statistics.resample_counts(clusters, "s", resamples)


@st.composite
def grouped_items(draw, graded: bool = True):
    size = draw(st.integers(1, 25))
    value = st.integers(0, 2**30).map(lambda step: step / 2**30) if graded else st.sampled_from([0.0, 1.0])
    values = draw(st.lists(value, min_size=size, max_size=size))
    clusters = draw(st.lists(st.integers(-3, 9), min_size=size, max_size=size))
    group = st.lists(st.integers(0, size - 1), min_size=1, unique=True)
    return np.array(values), draw(st.lists(group, min_size=1, max_size=4)), np.array(clusters)


@quick
@given(st.booleans().flatmap(grouped_items))
def test_resampled_means_are_exact(items):
    values, groups, clusters = items
    means = statistics.resampled_means(values, [np.array(group) for group in groups], clusters, seed="m", resamples=12)
    assert means.shape == (12, len(groups))
    for column, group in zip(means.T, groups, strict=True):
        expected = plain_means(values.tolist(), group, clusters.tolist(), "m", 12)
        assert np.array_equal(column, expected, equal_nan=True)  # bit for bit


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


def test_means_of_any_fractions_are_blind_to_the_order_of_items():
    stream = np.random.RandomState(22)
    values, codes, order = stream.random_sample(500), stream.randint(0, 9, 500), stream.permutation(500)
    straight = statistics.resampled_means(values, [np.arange(500)], codes, seed="f", resamples=50)
    mixed = statistics.resampled_means(values[order], [np.arange(500)], codes[order], seed="f", resamples=50)
    assert (straight == mixed).all()


def test_big_whole_numbers_are_summed_exactly():
    values = np.array([3_000_001.0, 5_000_002.0, 8.0, 4_000_037.0] * 5)
    clusters = np.arange(20) // 2
    found = statistics.resampled_means(values, [np.arange(20)], clusters, seed="w", resamples=20)[:, 0]
    assert found.tolist() == plain_means(values.tolist(), list(range(20)), clusters.tolist(), "w", 20)


def test_a_stream_too_big_to_keep_gives_the_same_means(monkeypatch):
    stream = np.random.RandomState(5)
    items = stream.random_sample(90), [np.arange(90), np.arange(5)], stream.randint(0, 30, 90)
    kept = statistics.resampled_means(*items, seed="big", resamples=200)
    resampling._cache.clear()
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 1)
    assert np.array_equal(statistics.resampled_means(*items, seed="big", resamples=200), kept, equal_nan=True)
    assert not resampling._cache


def test_a_resample_without_items_of_the_group_is_missing_and_left_out():
    values, clusters = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0, 1, 2, 3])
    means = statistics.resampled_means(values, [np.array([0, 1])], clusters, seed="n", resamples=400)[:, 0]
    drawn = statistics.resample_counts(4, "n", 400)[:, :2].sum(axis=1)
    assert (np.isnan(means) == (drawn == 0)).all() and np.isnan(means).any()
    assert statistics.percentile_interval(means) == statistics.percentile_interval(means[drawn > 0])


@pytest.mark.parametrize("function", [statistics.resampled_means, statistics.mean_intervals])
def test_groups_must_hold_known_values(function):
    values, clusters = np.array([0.5, math.nan, 0.5]), np.array([0, 1, 1])
    assert len(function(values, [np.array([0, 2])], clusters, seed="s", resamples=9))
    with pytest.raises(ValueError):
        function(values, [np.array([0, 1])], clusters, seed="s", resamples=9)
    with pytest.raises(ValueError):
        function(values, [np.array([0]), np.arange(0)], clusters, seed="s", resamples=9)


def test_no_groups_need_no_items():
    nothing = np.array([]), [], np.array([], dtype=np.int64)
    assert statistics.mean_intervals(*nothing, seed="s") == []
    assert statistics.resampled_means(*nothing, seed="s").shape == (statistics.RESAMPLES, 0)


# intervals


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


def plain_intervals(values, groups, clusters, seed, resamples) -> list[tuple[float, float]]:
    """Percentiles of all resampled means, every one of them exact."""
    columns = (
        statistics.resampled_means(own, [group], clusters, seed=seed, resamples=resamples)[:, 0]
        for own, group in zip(values, groups, strict=True)
    )
    return [statistics.percentile_interval(column) for column in columns]


# steps of 2**-30 are far below what float32 can tell apart
VALUES = {
    "thirds": [0, 1 / 3, 2 / 3, 1],
    "close": [0.5, 0.5 + 2**-30, 0.5 + 2**-29],
    "whole": [0, 1],
    "few": [0] * 50 + [0.7],
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("cache", [2**24, 1])
def test_intervals_are_those_of_all_resampled_means_to_the_last_digit(kind, cache, monkeypatch):
    monkeypatch.setattr(resampling, "_CACHE_BYTES", cache)
    monkeypatch.setattr(resampling, "_BLOCK", 5000)
    stream = np.random.RandomState(8)
    clusters, task = stream.randint(0, 90, size=300), stream.randint(0, 8, size=300)
    values = np.array([stream.choice(VALUES[kind], size=300), stream.random_sample(300)])
    # all items, two halves, the tasks that make them up, one task twice over, a few items, one item twice
    groups = [np.arange(300), *(np.flatnonzero(task % 2 == half) for half in (0, 1))]
    groups += [np.flatnonzero(task == one) for one in range(8)] + [
        np.flatnonzero(task == 3),
        np.arange(6),
        np.array([7, 7, 9]),
    ]
    rows = [0] * len(groups) + [1, 1]
    groups += [np.arange(300), np.arange(0, 300, 7)]
    found = statistics.mean_intervals(values, groups, clusters, seed="t", resamples=2000, rows=rows)
    expected = plain_intervals(values[rows], groups, clusters, "t", 2000)
    alone = [len(set(clusters[group])) == len(group) for group in groups]  # those may have Wilson's
    wide = [
        (one, other)
        for one, other, single in zip(found, expected, alone, strict=True)
        if other[0] < other[1] and not single
    ]
    assert len(wide) > 8 and all(one == other for one, other in wide)
    assert statistics.mean_intervals(values[rows], groups, clusters, seed="t", resamples=2000) == found


@quick
@given(grouped_items(), st.sampled_from([1, 2, 3, 7, 40, 41, 200]), st.sampled_from([0.5, 0.95, 0.999]))
def test_the_ends_are_found_for_any_number_of_resamples(items, resamples, confidence):
    values, groups, clusters = items
    groups = [np.array(group) for group in groups]
    found = statistics.mean_intervals(values, groups, clusters, seed="g", resamples=resamples, confidence=confidence)
    means = statistics.resampled_means(values, groups, clusters, seed="g", resamples=resamples)
    for interval, column in zip(found, means.T, strict=True):
        if not np.isnan(column).all():
            expected = statistics.percentile_interval(column, confidence)
            assert interval == expected or expected[0] == expected[1] or set(values) <= {0, 1}


def test_sizes_are_kept_within_limits(monkeypatch):
    resampling._sizes.clear()
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 900)
    for group in ([0, 1], [1, 2], [0, 1], [2, 3]):
        statistics.resampled_means(np.arange(4) / 4, [np.array(group)], np.arange(4), seed="s", resamples=50)
    assert [sizes.nbytes for sizes in resampling._sizes.values()] == [200, 200]
    resampling._sizes.clear()


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


# ranks


@quick
@given(st.lists(st.none() | st.sampled_from([0.1, 0.2, 0.2 + 1e-16, 0.3, 0.30000000000000004, math.nan])))
def test_ranks_are_one_more_than_the_number_of_better_values(values):
    known = [value for value in values if value is not None and not math.isnan(value)]
    expected = [
        None if value is None or math.isnan(value) else 1 + sum(other > value for other in known) for value in values
    ]
    assert statistics.order_ranks(values) == expected


def test_items_are_summed_by_cluster():
    matrix, sizes = statistics.cluster_sums(np.array([[1, 0, 1, 1], [0, 0.5, 0, 1]]), np.array([7, 3, 7, 5]))
    assert matrix.tolist() == [[0, 1, 2], [0.5, 1, 0]]
    assert sizes.tolist() == [1, 1, 2]
    with pytest.raises(ValueError):
        statistics.cluster_sums(np.array([[1, math.nan]]), np.array([0, 1]))


def test_sums_are_blind_to_the_order_of_items():
    stream = np.random.RandomState(21)
    items, codes, order = stream.random_sample((3, 500)), stream.randint(0, 9, 500), stream.permutation(500)
    matrix, sizes = statistics.cluster_sums(items, codes)
    shuffled, shuffled_sizes = statistics.cluster_sums(items[:, order], codes[order])
    assert (shuffled == matrix).all() and (shuffled_sizes == sizes).all()
    assert matrix.sum(axis=1) == pytest.approx(items.sum(axis=1), abs=1e-6)


def test_weights_make_a_mean_of_category_means():
    items = np.array([[1, 1, 1, 0], [0, 1, 0, 1]])  # categories of 3 and 1 items
    matrix, sizes = statistics.cluster_sums(items, np.arange(4), np.array([2 / 3, 2 / 3, 2 / 3, 2]))
    assert matrix.sum(axis=1) / sizes.sum() == pytest.approx([(1 + 0) / 2, (1 / 3 + 1) / 2])


@pytest.mark.parametrize("whole", [True, False])
def test_paired_differences_are_those_of_each_resample(whole):
    values, matrix, sizes = board(5, 40, seed=1, whole=whole)
    found = statistics.paired_differences(matrix, sizes, seed="p", resamples=500)
    for first in range(5):
        for second in range(5):
            samples = plain_differences(matrix, sizes, first, second, "p", 500)
            expected = np.quantile(samples, [0.025, 0.975])
            pair = found.low[first, second], found.high[first, second]
            assert found.difference[first, second] == pytest.approx(values[first] - values[second], abs=1e-8)
            assert pair == pytest.approx(tuple(expected), abs=1e-8)
            assert pair == (-found.high[second, first], -found.low[second, first])
    assert not found.low.diagonal().any() and not found.high.diagonal().any()


def test_normal_differences_have_the_textbook_error():
    _, matrix, _ = board(4, 60, seed=2)
    found = statistics.paired_differences(matrix, np.ones(60), seed="", method="normal")
    gap = matrix[2] - matrix[1]
    error = scipy.stats.sem(gap)  # clusters of one size: the ratio estimator is a plain mean
    half = scipy.stats.norm.ppf(0.975) * error
    assert (found.low[2, 1], found.high[2, 1]) == pytest.approx((gap.mean() - half, gap.mean() + half))


def test_both_methods_agree_on_a_board():
    _, matrix, sizes = board(20, 500, seed=4)
    percentile = statistics.paired_differences(matrix, sizes, seed="both")
    normal = statistics.paired_differences(matrix, sizes, seed="both", method="normal")
    assert np.abs(percentile.low - normal.low).max() < 0.004
    assert ((percentile.low > 0) != (normal.low > 0)).mean() < 0.02


@pytest.mark.parametrize("method", ["percentile", "normal"])
def test_a_handful_of_clusters_separates_nobody(method):
    for differing, separable in ((5, False), (6, True)):
        matrix = np.zeros((2, 100))
        matrix[0, :differing] = 1
        found = statistics.paired_differences(matrix, np.ones(100), seed="h", method=method)
        assert (found.low[0, 1] > 0) == (found.high[1, 0] < 0) == separable
        ranks = statistics.rank_intervals([differing / 100, 0], matrix, np.ones(100), seed="h")
        assert ranks[1].tied_with_leader == (not separable)
    # the sign test that sets the limit
    assert scipy.stats.binomtest(5, 5).pvalue > 0.05 > scipy.stats.binomtest(6, 6).pvalue


@pytest.mark.parametrize("method", ["percentile", "normal"])
def test_equal_answers_differ_by_nothing(method):
    _, matrix, sizes = board(2, 30, seed=5, whole=False)
    found = statistics.paired_differences(matrix[[0, 1, 0]], sizes, seed="i", method=method)
    assert found.difference[0, 2] == found.low[0, 2] == found.high[0, 2] == 0


def test_empty_resamples_of_a_facet_are_left_out():
    matrix, sizes = np.zeros((2, 12)), np.zeros(12)
    sizes[:2], matrix[0, 0] = 1, 1
    found = statistics.paired_differences(matrix, sizes, seed="f", resamples=200)
    assert (found.difference[0, 1], found.low[0, 1], found.high[0, 1]) == (0.5, 0, 1)


@pytest.mark.parametrize(
    ("matrix", "sizes"),
    [
        (np.zeros((2, 3)), np.zeros(3)),
        (np.zeros((2, 3)), np.ones(4)),
        (np.full((2, 3), math.nan), np.ones(3)),
        (np.zeros((2, 3)), np.array([1, -1, 1])),
        (np.zeros((2, 0)), np.zeros(0)),
    ],
)
def test_a_comparison_needs_items(matrix, sizes):
    with pytest.raises(ValueError):
        statistics.paired_differences(matrix, sizes, seed="s")
    with pytest.raises(ValueError):
        statistics.rank_intervals([1, 0], matrix, sizes, seed="s")


@quick
@given(st.integers(1, 9), st.integers(2, 40), st.integers(0, 10**6), st.integers(1, 90), st.booleans())
def test_rank_intervals_count_the_pairs_whose_interval_excludes_zero(entries, clusters, seed, resamples, whole):
    values, matrix, sizes = board(entries, clusters, seed, whole)
    pairs = statistics.paired_differences(matrix, sizes, seed="r", resamples=resamples)
    better = [[values[i] > values[j] and pairs.low[i, j] > 0 for j in range(entries)] for i in range(entries)]
    leaders = [i for i in range(entries) if values[i] == max(values)]
    found = statistics.rank_intervals(values, matrix, sizes, seed="r", resamples=resamples)
    for i, entry in enumerate(found):
        assert entry.rank == 1 + sum(other > values[i] for other in values)
        assert entry.low == 1 + sum(better[j][i] for j in range(entries))
        assert entry.high == entries - sum(better[i])
        assert entry.tied_with_leader == any(not better[leader][i] for leader in leaders)
        assert 1 <= entry.low <= entry.rank <= entry.high <= entries


@quick
@given(st.permutations(range(8)), st.integers(0, 50))
def test_the_order_of_the_entries_changes_nothing(order, seed):
    values, matrix, sizes = board(6, 60, seed)
    values, matrix = [*values, values[5], None], np.vstack([matrix, matrix[5], np.full(60, math.nan)])
    straight = statistics.rank_intervals(values, matrix, sizes, seed="q", resamples=99)
    assert straight[5] == straight[6] and straight[7] is None
    mixed = statistics.rank_intervals([values[at] for at in order], matrix[order], sizes, seed="q", resamples=99)
    assert mixed == [straight[at] for at in order]


def test_unranked_entries_move_no_interval():
    values, matrix, sizes = board(6, 80, seed=8)
    alone = statistics.rank_intervals(values[:3], matrix[:3], sizes, seed="u", resamples=500)
    beside = statistics.rank_intervals([*values[:3], None, math.nan, None], matrix, sizes, seed="u", resamples=500)
    assert beside == [*alone, None, None, None]
    assert statistics.rank_intervals([None, None], matrix[:2], sizes, seed="u") == [None, None]
    assert statistics.rank_intervals([], np.zeros((0, 80)), sizes, seed="u") == []


def test_a_single_entry_leads_itself():
    _, matrix, sizes = board(1, 10, seed=9)
    assert statistics.rank_intervals([0.5], matrix, sizes, seed="1") == [statistics.RankInterval(1, 1, 1, True)]


def test_the_tie_group_holds_whoever_the_leader_does_not_beat():
    stream = np.random.RandomState(13)
    items = (stream.random_sample((4, 400)) < np.array([[0.80], [0.78], [0.50], [0.20]])).astype(float)
    matrix, sizes = statistics.cluster_sums(items, np.arange(400))
    found = statistics.rank_intervals(items.mean(axis=1).tolist(), matrix, sizes, seed="t")
    assert [entry.tied_with_leader for entry in found] == [True, True, False, False]
    assert [(entry.low, entry.high) for entry in found] == [(1, 2), (1, 2), (3, 3), (4, 4)]


def test_only_a_higher_value_is_better():
    matrix = np.array([[1.0] * 50, [0.0] * 50])
    for values in ([0.5, 0.5], [0.1, 0.9]):  # stored values that say otherwise than the sums
        found = statistics.rank_intervals(values, matrix, np.ones(50), seed="v", resamples=50)
        assert [(entry.low, entry.high) for entry in found] == [(1, 2), (1, 2)]


def test_one_leader_that_does_not_beat_an_entry_is_enough_for_a_tie():
    third = np.array([1.0] * 40 + [0.0] * 60)
    near, far = third.copy(), np.zeros(100)
    near[40:48] = 1  # right wherever the third is, and 8 times more
    far[52:] = 1  # as often right as near, elsewhere
    found = statistics.rank_intervals([0.48, 0.48, 0.4], np.array([near, far, third]), np.ones(100), seed="l")
    assert [entry.rank for entry in found] == [1, 1, 3]
    assert (found[2].low, found[2].tied_with_leader) == (2, True)


# tests and agreement


@quick
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_equals_the_exact_binomial_test(b, c):
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert statistics.mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)
    assert statistics.mcnemar_exact(b, c) == statistics.mcnemar_exact(c, b)


def test_mcnemar_by_hand():
    assert statistics.mcnemar_exact(0, 0) == statistics.mcnemar_exact(3, 3) == 1.0
    assert statistics.mcnemar_exact(0, 6) == 2 / 64
    assert statistics.mcnemar_exact(1, 5) == 2 * (1 + 6) / 64
    assert statistics.mcnemar_exact(np.int64(3000), np.int64(3605)) < 1e-12
    with pytest.raises(ValueError):
        statistics.mcnemar_exact(-1, 2)


@quick
@given(st.lists(finite, min_size=2, max_size=20))
def test_sd_is_over_the_sample(values):
    average, deviation, runs = statistics.mean_sd(values)
    assert (average, runs) == (statistics.mean(values), len(values))
    assert deviation == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-9)


def test_one_run_has_no_deviation():
    assert statistics.mean_sd([0.25]) == (0.25, None, 1)
    assert statistics.mean_sd([0.25, 0.25, 0.25]) == (0.25, 0.0, 3)
    assert statistics.mean_sd(np.array([1, 2, 3])) == (2, 1, 3)
    with pytest.raises(ValueError):
        statistics.mean_sd([])


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


@pytest.mark.parametrize("path", sorted(Path(statistics.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_but_numpy_is_needed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    roots = {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    roots |= {name.split(".")[0] for name in modules if not name.startswith("evaluation.statistics")}
    assert roots - set(sys.stdlib_module_names) <= {"numpy"}
