"""Standardisation to another mix, differences to one entry, to the median and between facets: each against a slow plain twin."""

from __future__ import annotations

import itertools
import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics import (
    cluster_sums,
    differences_to,
    differences_to_median,
    effective,
    group_differences,
    independent_difference,
    mix_weights,
    paired_differences,
    percentile_interval,
    resample_counts,
    weighted_intervals,
    wilson,
)

FEW = 200  # resamples in tests


def board(entries: int = 4, clusters: int = 15, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Right or wrong (entries, items) and the cluster of each item, one to three of them."""
    stream = np.random.RandomState(seed)
    codes = np.repeat(np.arange(clusters), stream.randint(1, 4, size=clusters))
    return (stream.random_sample((entries, len(codes))) < np.linspace(0.3, 0.8, entries)[:, None]).astype(float), codes


# --- weights ----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=30),
    st.lists(st.floats(0.01, 100), min_size=4, max_size=4),
)
def test_one_margin_is_the_weighted_mean_of_the_facets_means(
    items: list[tuple[int, float]], given: list[float]
) -> None:
    codes = np.array([facet for facet, _ in items])
    held = sorted(set(codes.tolist()))
    shares = [share if facet in held else 0.0 for facet, share in enumerate(given)]
    weights = mix_weights([(codes, shares)], len(items))
    plain = 0.0
    for facet in held:
        own = [value for other, value in items if other == facet]
        plain += shares[facet] / sum(shares) * (sum(own) / len(own))
    mean = sum(w * value for w, (_, value) in zip(weights.tolist(), items, strict=True)) / weights.sum()
    assert mean == pytest.approx(plain, abs=1e-12)
    assert weights.sum() == pytest.approx(len(items))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_two_margins_are_both_met_and_weights_depend_on_the_pair_alone(seed: int) -> None:
    stream = np.random.RandomState(seed)
    pairs = [
        *itertools.product(range(3), range(2)),
        *zip(stream.randint(3, size=20), stream.randint(2, size=20), strict=True),
    ]
    one, other = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    wanted = stream.dirichlet([1, 1, 1]) + 0.01, stream.dirichlet([1, 1]) + 0.01
    weights = mix_weights([(one, wanted[0]), (other, wanted[1])], len(pairs))
    for codes, shares in ((one, wanted[0]), (other, wanted[1])):
        for facet, share in enumerate(shares):
            assert weights[codes == facet].sum() / weights.sum() == pytest.approx(share / shares.sum(), abs=1e-8)
    by_pair: dict[tuple[int, int], float] = {}
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        assert weight == pytest.approx(by_pair.setdefault(pair, weight))
    # what fitting keeps: odds ratios, here all 1 x counts, so a weight is a product of a row and a column factor
    assert by_pair[0, 0] * by_pair[1, 1] == pytest.approx(by_pair[0, 1] * by_pair[1, 0])


def test_an_item_without_a_facet_or_in_one_of_share_0_weighs_nothing() -> None:
    assert mix_weights([(np.array([0, 0, 1, -1]), [1, 0])], 4).tolist() == [2, 2, 0, 0]


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        ([(np.array([0, 0]), [1, 1])], "no item left"),
        ([(np.array([0, 1]), [0, 0])], "0 or more"),
        ([(np.array([0, 1]), [-1, 2])], "0 or more"),
        ([(np.array([0, 1]), [1, math.nan])], "0 or more"),
        ([(np.array([0, 1]), [1, 1]), (np.array([0, 1]), [9, 1])], "no weights"),
        ([(np.array([0, 1]), [1, 0]), (np.array([0, 1]), [0, 1])], "no item left"),
        ([(np.zeros(0, int), [1])], "no item left"),
    ],
)
def test_what_cannot_be_met_is_refused(margins: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mix_weights(margins, len(margins[0][0]))


def test_effective_number_of_clusters() -> None:
    assert effective(np.ones(7)) == 7
    assert effective(np.array([3.0, 1.0])) == 16 / 10
    assert effective(np.zeros(3)) == 0


# --- intervals and differences ----------------------------------------------------------------------------------------


def plain_resampled(matrix: np.ndarray, sizes: np.ndarray) -> list[list[float]]:
    """Each entry's weighted mean in each resample, cluster by cluster."""
    counts = resample_counts(len(sizes), "seed", FEW).tolist()

    def total(drawn: list[int], row: list[float]) -> float:
        return sum(n * value for n, value in zip(drawn, row, strict=True))

    return [[total(drawn, row) / total(drawn, sizes.tolist()) for drawn in counts] for row in matrix.tolist()]


def test_weighted_intervals_equal_those_of_a_plain_bootstrap() -> None:
    values, clusters = board()
    weights = np.where(clusters % 2, 0.5, 1.75)
    matrix, sizes = cluster_sums(values, clusters, weights)
    found = weighted_intervals(matrix, sizes, seed="seed", resamples=FEW)
    for bounds, samples in zip(found, plain_resampled(matrix, sizes), strict=True):
        assert bounds == pytest.approx(percentile_interval(np.array(samples)), abs=1e-9)


def test_an_interval_has_width_at_0_at_100_per_cent_and_on_one_item() -> None:
    matrix, sizes = cluster_sums(np.array([[1.0] * 8, [0.0] * 8]), np.arange(8))
    assert weighted_intervals(matrix, sizes, seed="s", resamples=FEW) == [wilson(8, 8), wilson(0, 8)]
    matrix, sizes = cluster_sums(np.array([[1.0]]), np.arange(1))
    assert weighted_intervals(matrix, sizes, seed="s", resamples=FEW) == [wilson(1, 1)]
    with pytest.raises(ValueError, match="needs items"):
        weighted_intervals(np.zeros((1, 0)), np.zeros(0), seed="s", resamples=FEW)


@pytest.mark.parametrize("clusters", [3, 15])
def test_differences_to_one_are_a_column_of_all_pairs(clusters: int) -> None:
    values, codes = board(clusters=clusters)
    matrix, sizes = cluster_sums(values, codes, 1.0 + codes % 3)
    pairs = paired_differences(matrix, sizes, seed="seed", resamples=FEW)
    for reference in range(len(values)):
        found = differences_to(matrix, sizes, reference, seed="seed", resamples=FEW)
        for mine, theirs in zip(found, pairs, strict=True):
            np.testing.assert_allclose(mine, theirs[:, reference], atol=1e-12)


def test_newcombe_in_his_own_paper() -> None:
    """R. G. Newcombe (1998), table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/10, 0/10 - 0/20."""
    for (a, m), (b, n), low, high in (
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0),
        ((0, 10), (0, 20), -0.1611, 0.2775),
    ):
        found = independent_difference((a / m, *wilson(a, m)), (b / n, *wilson(b, n)))
        assert found == pytest.approx((low, high), abs=5e-5)


def test_groups_that_share_clusters_are_resampled_together() -> None:
    values, codes = board(clusters=20)
    one, other = np.flatnonzero(np.arange(len(codes)) % 2), np.flatnonzero(np.arange(len(codes)) % 2 == 0)
    counts = resample_counts(20, "seed", FEW).tolist()
    found = group_differences(values, one, other, codes, seed="seed", resamples=FEW)
    for row, bounds in zip(values.tolist(), found, strict=True):
        gaps = []
        for drawn in counts:
            means = [
                sum(drawn[codes[i]] * row[i] for i in group) / sum(drawn[codes[i]] for i in group)
                for group in (one, other)
            ]
            gaps.append(means[0] - means[1])
        assert bounds == pytest.approx(percentile_interval(np.array(gaps)), abs=1e-9)


def test_a_difference_on_few_clusters_holds_0() -> None:
    values = np.array([[1.0, 1.0, 0.0, 0.0]])
    one, other, clusters = np.array([0, 1]), np.array([2, 3]), np.array([0, 1, 0, 1])
    ((low, high),) = group_differences(values, one, other, clusters, seed="s", resamples=FEW)
    assert low <= 0 <= high
    with pytest.raises(ValueError, match="without items"):
        group_differences(values, np.array([0]), np.zeros(0, int), np.arange(4), seed="s", resamples=FEW)


def test_difference_to_the_median_equals_its_plain_twin() -> None:
    values, codes = board(entries=5, clusters=12)
    group = np.flatnonzero(codes != 3)
    counts = resample_counts(12, "seed", FEW).tolist()
    found = differences_to_median(values, 1, [group, np.zeros(0, int)], codes, seed="seed", resamples=FEW)
    rows = values.tolist()
    means = [sum(row[i] for i in group) / len(group) for row in rows]
    gaps = []
    for drawn in counts:
        size = sum(drawn[codes[i]] for i in group)
        drawn_means = [sum(drawn[codes[i]] * row[i] for i in group) / size for row in rows]
        gaps.append(drawn_means[1] - median(drawn_means))
    assert found[0] == pytest.approx((means[1] - median(means), *percentile_interval(np.array(gaps))), abs=1e-9)
    assert found[1] is None


def test_one_entry_alone_is_its_own_median() -> None:
    values, codes = board(entries=1)
    assert differences_to_median(values, 0, [np.arange(len(codes))], codes, seed="s", resamples=FEW) == [(0, 0, 0)]
