"""Ranks, intervals and all pairs of a large board, cold, against one scipy bootstrap of one pair.

    python -m bench.statistics [--entries 200] [--cases 1407] [--repeat 5]

Invented entries of rising skill on cases of 3 to 6 questions. Prints the medians of interleaved rounds, each with empty
caches; the goal is 0.5 s for the whole. The bare product is the least that ranks by resampling can take: counts that are
there already, times the values, in float32. All pairs are the normal intervals that a comparison of thousands uses; those
that decide ranks are percentiles, worked out for all pairs on a line of their own.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.stats

from evaluation import statistics
from evaluation.statistics import resampling

GOAL = 0.5


def board(entries: int, cases: int) -> tuple[np.ndarray, np.ndarray]:
    """Right or wrong (entries, questions) of an invented board, and the case of each question."""
    stream = np.random.RandomState(1407)
    codes = np.repeat(np.arange(cases), stream.randint(3, 7, size=cases))
    ease = stream.random_sample(cases)[codes] - 0.5
    skill = np.linspace(0.6, 0.95, entries)[:, np.newaxis]
    return (stream.random_sample((entries, len(codes))) < skill + ease / 4).astype(float), codes


def cold(work: Callable[[], object]) -> float:
    resampling._cache.clear()
    resampling._sizes.clear()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=200)
    parser.add_argument("--cases", type=int, default=1407)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    questions, codes = board(options.entries, options.cases)
    right = np.array([np.bincount(codes, row) for row in questions]) == np.bincount(codes)
    cases, clusters = right.astype(float), np.arange(options.cases)
    means = [statistics.mean(row) for row in cases]
    matrix, sizes = statistics.cluster_sums(cases, clusters)
    whole = [clusters] * options.entries
    every = [np.arange(len(codes))] * options.entries
    counts = statistics.resample_counts(options.cases, "bench").astype(np.float32).T
    single = cases.astype(np.float32)

    def ranks() -> object:
        return statistics.rank_intervals(means, matrix, sizes, seed="bench")

    def intervals() -> object:
        return statistics.mean_intervals(cases, whole, clusters, seed="bench")

    def pairs() -> object:
        return statistics.paired_differences(matrix, sizes, seed="bench", method="normal")

    def one_pair() -> object:
        gap = cases[-1] - cases[-2]
        return scipy.stats.bootstrap(
            (gap,), np.mean, n_resamples=statistics.RESAMPLES, method="percentile", batch=1000, rng=1
        )

    timed: dict[str, Callable[[], object]] = {
        "all of it": lambda: (ranks(), intervals(), pairs()),
        "ranks": ranks,
        "intervals": intervals,
        "all pairs": pairs,
        "question intervals": lambda: statistics.mean_intervals(questions, every, codes, seed="bench"),
        "all pairs, percentile": lambda: statistics.paired_differences(matrix, sizes, seed="bench"),
        "bare product": lambda: single @ counts,
        "scipy, one pair": one_pair,
    }
    rounds = [[cold(work) for work in timed.values()] for _ in range(options.repeat)]
    spent = dict(zip(timed, (median(column) for column in zip(*rounds, strict=True)), strict=True))
    number = options.entries * (options.entries - 1) // 2
    print(f"{options.entries} entries x {options.cases} cases, {number} pairs, {statistics.RESAMPLES} resamples, cold")
    for name, seconds in spent.items():
        print(f"  {name:<22} {seconds:7.3f} s")
    whole_board = spent["all of it"]
    print(
        f"all of it: {whole_board:.3f} s of {GOAL} s ({'kept' if whole_board <= GOAL else 'MISSED'}), "
        f"{whole_board / spent['scipy, one pair']:.2f} of one scipy bootstrap of one pair, "
        f"{whole_board / spent['bare product']:.1f} bare products"
    )


if __name__ == "__main__":
    main()
