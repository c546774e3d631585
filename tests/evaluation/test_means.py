"""Means, deviations and means of resamples against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.statistics import resampling
from tests.evaluation.plain_bootstrap import finite, grouped_items, plain_means, quick


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
@given(st.booleans().flatmap(grouped_items))
def test_resampled_means_are_exact(items):
    values, groups, clusters = items
    means = statistics.resampled_means(values, [np.array(group) for group in groups], clusters, seed="m", resamples=12)
    assert means.shape == (12, len(groups))
    for column, group in zip(means.T, groups, strict=True):
        expected = plain_means(values.tolist(), group, clusters.tolist(), "m", 12)
        assert np.array_equal(column, expected, equal_nan=True)  # bit for bit


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
