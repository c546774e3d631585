"""How often the 95 % intervals hold the truth: simulated data, fixed seeds.

    python -m bench.coverage [--runs 2000]

A star marks coverage outside 93-97 %. docs/statistics.md has what it prints, and why.

1. Independent items, right or wrong: Wilson, worked out exactly by summing the binomial.
2. Independent items with graded values (a quarter of the right ones only half right): the bootstrap of a mean.
3. Items of a case sharing their ease, 4 a case: the cluster bootstrap of a mean; beside it what Wilson would cover that
   takes the items as independent.
4. Two entries of equal skill: how often they are called different (nominally 5 %).
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from evaluation import statistics


def wilson_coverage(n: int, share: float) -> float:
    """Chance that the interval of a binomial draw holds `share`, exact up to rounding."""

    def chance(k: int) -> float:
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(share) + (n - k) * math.log1p(-share))

    bounds = [statistics.wilson(k, n) for k in range(n + 1)]
    return math.fsum(chance(k) for k, (low, high) in enumerate(bounds) if low <= share <= high)


def graded_coverage(n: int, share: float, runs: int, stream: np.random.RandomState) -> float:
    """Coverage of the bootstrap over n independent items worth 0, 1/2 or 1; their mean is `share`."""
    everything, codes = [np.arange(n)], np.arange(n)
    held = 0
    for _ in range(runs):
        # an item is worth something with chance 8/7 share, and then a half in 1 of 4: 8/7 x 7/8
        worth = stream.random_sample(n) < min(1, share * 8 / 7)
        values = worth * np.where(stream.random_sample(n) < (0.25 if share < 7 / 8 else 2 * (1 - share)), 0.5, 1.0)
        ((low, high),) = statistics.mean_intervals(values, everything, codes, seed="coverage", resamples=1000)
        held += low <= share <= high
    return held / runs


def starred(value: float) -> str:
    return f"{value:6.1%}{' ' if 0.93 <= value <= 0.97 else '*'}"


def cluster_coverage(clusters: int, share: float, runs: int, stream: np.random.RandomState) -> tuple[float, float]:
    """Coverage of the bootstrap over cases and of Wilson over items, with 4 items a case and an ease from a beta."""
    codes = np.repeat(np.arange(clusters), 4)
    everything = [np.arange(len(codes))]
    held = naive = 0
    for _ in range(runs):
        ease = stream.beta(2 * share, 2 * (1 - share), size=clusters)[codes]
        values = (stream.random_sample(len(codes)) < ease).astype(float)
        ((low, high),) = statistics.mean_intervals(values, everything, codes, seed="coverage", resamples=1000)
        held += low <= share <= high
        low, high = statistics.wilson(values.sum(), len(values))
        naive += low <= share <= high
    return held / runs, naive / runs


def false_differences(clusters: int, share: float, runs: int, stream: np.random.RandomState) -> float:
    """How often two entries of equal skill on the same cases have an interval without 0."""
    sizes = np.full(clusters, 4.0)
    found = 0
    for _ in range(runs):
        ease = stream.beta(2 * share, 2 * (1 - share), size=clusters)
        matrix = stream.binomial(4, ease, size=(2, clusters)).astype(float)
        pair = statistics.paired_differences(matrix, sizes, seed="coverage", resamples=1000)
        found += pair.low[0, 1] > 0 or pair.high[0, 1] < 0
    return found / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="simulated data sets a row (default: %(default)s)")
    runs = parser.parse_args().runs
    stream = np.random.RandomState(20260201)

    print("independent items, right or wrong: Wilson, exact")
    for n in (40, 100, 1407):
        row = [(share, wilson_coverage(n, share)) for share in (0.01, 0.1, 0.3, 0.5, 0.9, 0.99)]
        print(f"  n={n:<5}", "  ".join(f"p={share:<4} {starred(value)}" for share, value in row))

    print(f"independent items, graded: bootstrap, {runs} runs a cell")
    for n in (40, 100, 1407):
        row = [(share, graded_coverage(n, share, runs, stream)) for share in (0.01, 0.3, 0.99)]
        print(f"  n={n:<5}", "  ".join(f"p={share:<4} {starred(value)}" for share, value in row), flush=True)

    print(f"4 items a case: cluster bootstrap, {runs} runs a row")
    for clusters in (10, 40, 100, 1407):
        for share in (0.01, 0.3, 0.9, 0.99):
            held, naive = cluster_coverage(clusters, share, runs, stream)
            print(
                f"  cases={clusters:<4} p={share:<4}  bootstrap {starred(held)}  Wilson over items {naive:6.1%}",
                flush=True,
            )

    print(f"equal entries called different, {runs} runs a row")
    for clusters in (5, 10, 40, 100, 400):
        for share in (0.3, 0.98):
            print(f"  cases={clusters:<4} p={share:<4}  {false_differences(clusters, share, runs, stream):6.1%}")


if __name__ == "__main__":
    main()
