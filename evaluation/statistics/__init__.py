"""Means, intervals, ranks and agreement: every number here is the same on every machine.

Uncertainty comes from resampling whole clusters (cases, patients, conversations) with replacement: B. Efron and
R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapters 8 and 13. Resamples are seeded by a text, so the
same content has the same interval for ever.

No function drops a missing value on its own, except `percentile_interval` and where None is said to be allowed: the
caller decides whether missing counts as 0 or leaves the denominator.
"""

from evaluation.statistics.agreement import cohen_kappa, kendall_tau_b, spearman
from evaluation.statistics.comparison import (
    Differences,
    RankInterval,
    cluster_sums,
    mcnemar_exact,
    order_ranks,
    paired_differences,
    rank_intervals,
)
from evaluation.statistics.facets import differences_to_median, group_differences, independent_difference
from evaluation.statistics.intervals import (
    CONFIDENCE,
    mean,
    mean_intervals,
    mean_sd,
    percentile_interval,
    resampled_means,
    wilson,
)
from evaluation.statistics.resampling import RESAMPLES, resample_counts
from evaluation.statistics.standardised import Behind, differences_to, effective, mix_weights, weighted_intervals

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "Behind",
    "Differences",
    "RankInterval",
    "cluster_sums",
    "cohen_kappa",
    "differences_to",
    "differences_to_median",
    "effective",
    "group_differences",
    "independent_difference",
    "kendall_tau_b",
    "mcnemar_exact",
    "mean",
    "mean_intervals",
    "mean_sd",
    "mix_weights",
    "order_ranks",
    "paired_differences",
    "percentile_interval",
    "rank_intervals",
    "resample_counts",
    "resampled_means",
    "spearman",
    "weighted_intervals",
    "wilson",
]
