"""Entries that answered the same items: ranks, differences and the exact test, against plain second counts and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics
from tests.evaluation.plain_bootstrap import quick


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
