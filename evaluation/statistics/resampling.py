"""The draws of the bootstrap, frozen for ever, and exact sums over them.

Values are rounded to multiples of 2**-30 before they are resampled: sums of such numbers are exact in float64 (as long as
a sum stays below 2**23), so they do not depend on the order of the items, on the linear algebra library or on threads.
That rounding touches only intervals (by less than 1e-9), never a mean.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

import numpy as np

RESAMPLES = 10_000

_STEP = 2.0**-30
_BLOCK = 2**16  # counts that are unpacked at a time: half a MB as float64
_CACHE_BYTES = 2**24
_cache: OrderedDict[tuple[int, str, int], np.ndarray] = OrderedDict()
_sizes: OrderedDict[tuple[bytes, str, int], np.ndarray] = OrderedDict()
_cache_lock = Lock()


def resample_counts(clusters: int, seed: str, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each cluster is drawn in each resample: uint8 (resamples, clusters).

    Drawn by NumPy's `RandomState`, whose stream is frozen (NEP 19), from the SHA-256 of `seed`. ValueError when clusters
    or resamples < 1.
    """
    return np.concatenate([block for _, block in _drawn(clusters, seed, resamples)])


def _drawn(clusters: int, seed: str, resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the rows of `resample_counts`."""
    if clusters < 1 or resamples < 1:
        raise ValueError(f"{resamples} resamples of {clusters} clusters")
    digest = hashlib.sha256(seed.encode()).digest()
    stream = np.random.RandomState(np.frombuffer(digest, dtype=">u4").astype(np.uint32))
    rows = max(1, _BLOCK // clusters)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = stream.randint(clusters, size=(size, clusters), dtype=np.int64)
        drawn += np.arange(size)[:, np.newaxis] * clusters
        counts = np.bincount(drawn.ravel(), minlength=size * clusters)
        # a byte is enough: the chance that one cluster is drawn more than 255 times is below 1 / 256!
        yield slice(start, start + size), counts.reshape(size, clusters).astype(np.uint8)


def _kept(clusters: int, seed: str, resamples: int) -> np.ndarray:
    """What `resample_counts` gives, two counts a byte: the first half of the clusters in the low bits, the rest in the high.

    As it is where a cluster is drawn more than 15 times, which chance hardly ever does (1 / 16! for each). The last two are
    kept while they stay below `_CACHE_BYTES` together.
    """
    key = (clusters, seed, resamples)
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        half = (clusters + 1) // 2
        packed = np.zeros((resamples, half), dtype=np.uint8)
        for part, block in _drawn(clusters, seed, resamples):
            if block.max() > 15:
                packed = resample_counts(clusters, seed, resamples)
                break
            packed[part] = block[:, :half]
            packed[part, : clusters - half] |= block[:, half:] << 4
        _cache[key] = packed
        while len(_cache) > 2 or (len(_cache) > 1 and sum(kept.nbytes for kept in _cache.values()) > _CACHE_BYTES):
            _cache.popitem(last=False)
        return packed


def is_kept(clusters: int, resamples: int) -> bool:
    """Whether the counts are small enough to be drawn once and kept."""
    return clusters * resamples <= 2 * _CACHE_BYTES


def blocks(clusters: int, seed: str, resamples: int, dtype: np.dtype) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the rows of `resample_counts` as `dtype`, drawn only once where they are kept.

    A block is overwritten by the next one: fresh memory for each would cost more than the counts.
    """
    if not is_kept(clusters, resamples):
        yield from ((part, block.astype(dtype)) for part, block in _drawn(clusters, seed, resamples))
        return
    kept, rows = _kept(clusters, seed, resamples), min(resamples, max(1, _BLOCK // clusters))
    half = kept.shape[1]
    buffer, nibbles = np.empty((rows, clusters), dtype), np.empty((rows, half), np.uint8)
    for start in range(0, resamples, rows):
        part = slice(start, min(start + rows, resamples))
        size = part.stop - start
        block, nibble = buffer[:size], nibbles[:size]
        if half == clusters > 1:
            block[:] = kept[part]
        else:
            block[:, :half] = np.bitwise_and(kept[part], 15, out=nibble)
            block[:, half:] = np.right_shift(kept[part], 4, out=nibble)[:, : clusters - half]
        yield part, block


def counts_at(clusters: int, seed: str, resamples: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows and columns of `resample_counts`, where they are kept: uint8 (rows, columns)."""
    kept = _kept(clusters, seed, resamples)
    half = kept.shape[1]
    if half == clusters > 1:
        return kept[rows[:, np.newaxis], columns]
    return kept[rows[:, np.newaxis], columns % half] >> np.where(columns < half, 0, 4).astype(np.uint8) & 15


def resampled_sums(sums: np.ndarray, seed: str, resamples: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Sum over the clusters of count x sums, (rows, clusters) -> blocks of (rows, resamples), exact.

    Whole numbers are summed in float32, twice as fast and as exact while no sum can reach 2**24.
    """
    clusters = sums.shape[1]
    whole = clusters * np.abs(sums).max() < 2**24 and bool((sums == np.rint(sums)).all())
    sums = sums.astype(np.float32 if whole else np.float64)
    used = np.flatnonzero(sums.any(axis=0))  # of a facet a few clusters: the others add nothing
    some = 2 * len(used) < clusters
    sums = sums[:, used] if some else sums
    for part, block in blocks(clusters, seed, resamples, sums.dtype):
        yield part, sums @ (block[:, used] if some else block).T


def dense(clusters: np.ndarray) -> tuple[np.ndarray, int]:
    """Cluster codes as 0 .. count - 1 in the order of the given codes, and their count."""
    known, codes = np.unique(clusters, return_inverse=True)
    return codes, len(known)


def quantise(values: np.ndarray) -> np.ndarray:
    return np.rint(values / _STEP) * _STEP


def resampled_sizes(weights: np.ndarray, seed: str, resamples: int) -> list[np.ndarray]:
    """Items of each group in each resample, from its items in each cluster: whole numbers, (groups, clusters) -> (resamples,)
    each, uint16 where they fit.

    Runs of one split have the same groups and differ in their values alone, so the last answers are kept.
    """
    keys = [(hashlib.sha256(row).digest(), seed, resamples) for row in weights]
    found = {key: _sizes[key] for key in keys if key in _sizes}
    new = {key: row for key, row in zip(keys, weights, strict=True) if key not in found}
    if new:
        counts = np.array(list(new.values()), dtype=np.float64)
        small = counts.shape[1] * counts.max() < 2**16
        sizes = np.empty((len(counts), resamples), np.uint16 if small else np.float64)
        for part, product in resampled_sums(counts, seed, resamples):
            sizes[:, part] = product
        found.update((key, row.copy()) for key, row in zip(new, sizes, strict=True))
    with _cache_lock:
        for key in keys:
            _sizes[key] = found[key]
            _sizes.move_to_end(key)
        held = sum(row.nbytes for row in _sizes.values())
        while held > _CACHE_BYTES:
            held -= _sizes.popitem(last=False)[1].nbytes
    return [found[key] for key in keys]
