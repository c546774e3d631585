"""The ends of an interval against those of all resampled means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.statistics import resampling
from tests.evaluation.plain_bootstrap import grouped_items, quick


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
