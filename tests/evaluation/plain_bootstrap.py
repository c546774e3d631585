"""A plain second bootstrap, one draw after the other in exact fractions, and the items that are drawn for it."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from hashlib import sha256

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

quick = settings(deadline=None, max_examples=40)
finite = st.floats(-1e6, 1e6)


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


@st.composite
def grouped_items(draw, graded: bool = True):
    size = draw(st.integers(1, 25))
    value = st.integers(0, 2**30).map(lambda step: step / 2**30) if graded else st.sampled_from([0.0, 1.0])
    values = draw(st.lists(value, min_size=size, max_size=size))
    clusters = draw(st.lists(st.integers(-3, 9), min_size=size, max_size=size))
    group = st.lists(st.integers(0, size - 1), min_size=1, unique=True)
    return np.array(values), draw(st.lists(group, min_size=1, max_size=4)), np.array(clusters)
