"""How often the 95 % intervals hold the truth: simulated data, fixed seeds.

    python bench/coverage.py [--runs 2000]

1. Wilson, worked out exactly by summing the binomial; a star marks coverage outside 93-97 %, as happens for shares near
   0 or 1 at small n, where whole numbers leave no finer choice.
2. Cluster bootstrap of a mean, items of a case sharing their ease; beside it what Wilson would cover that takes the
   items as independent.
3. Two entries of equal skill: how often they are called different (nominally 5 %).
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from evaluation import statistics


def wilson_coverage(n: int, share: float) -> float:
    """Chance that the interval of a binomial draw holds `share`, exact up to rounding."""

    def chance(k: int) -> float:
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(share) + (n - k) * math.log1p(-share))

    bounds = [statistics.wilson(k, n) for k in range(n + 1)]
    return math.fsum(chance(k) for k, (low, high) in enumerate(bounds) if low <= share <= high)


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

    print("Wilson, exact coverage")
    for n in (40, 100, 1407):
        row = [(share, wilson_coverage(n, share)) for share in (0.01, 0.1, 0.3, 0.5, 0.9, 0.99)]
        cells = (f"p={share:<4} {value:6.1%}{' ' if 0.93 <= value <= 0.97 else '*'}" for share, value in row)
        print(f"  n={n:<5}", "  ".join(cells))

    print(f"cluster bootstrap, {runs} runs a row")
    for clusters in (10, 40, 100, 400):
        for share in (0.3, 0.9):
            held, naive = cluster_coverage(clusters, share, runs, stream)
            print(f"  cases={clusters:<4} p={share}  bootstrap {held:6.1%}  Wilson over items {naive:6.1%}")

    print(f"equal entries called different, {runs} runs a row")
    for clusters in (5, 10, 40, 100, 400):
        for share in (0.3, 0.98):
            print(f"  cases={clusters:<4} p={share:<4}  {false_differences(clusters, share, runs, stream):6.1%}")


if __name__ == "__main__":
    main()
