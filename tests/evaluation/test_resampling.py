"""The draws of the bootstrap: frozen, those of the stream, and kept within limits."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.statistics import resampling
from tests.evaluation.plain_bootstrap import plain_counts, quick

FROZEN = [[2, 0, 1, 0, 0, 3], [2, 2, 1, 0, 0, 1], [1, 1, 1, 0, 1, 2], [1, 1, 1, 1, 1, 1]]
FROZEN_BIG = "1f4f0a7752fa44caf442bb38d308612dd5f52be16dee98becfbd1edbc9e9c5fe"


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


def test_sizes_are_kept_within_limits(monkeypatch):
    resampling._sizes.clear()
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 250)
    for group in ([0, 1], [1, 2], [0, 1], [2, 3]):
        statistics.resampled_means(np.arange(4) / 4, [np.array(group)], np.arange(4), seed="s", resamples=50)
    assert [sizes.nbytes for sizes in resampling._sizes.values()] == [100, 100]
    resampling._sizes.clear()
