"""Two entries or runs on the same items: who is right where, by how much, and in which facets. No formatting here.

A difference is formed only inside one evaluator and one item set (docs/decisions/0033).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.core.cache import cache

from evaluation import statistics
from evaluation.models import Evaluation, Run, Vector
from evaluation.protocols.base import Outcome
from leaderboard.evaluators import BOTH, FIRST, NEITHER, SECOND, Tally, tally
from leaderboard.itemsets import Groups, ItemSet, item_set

CELLS = (BOTH, FIRST, SECOND, NEITHER)
FULL = 1.0  # the value at which an item counts as right; of several repeats: in every one of them
MOST_FACETS = 150  # of a dimension that gets a table


class Refused(Exception):
    """No difference may be formed; the text says why. `common` tells that the common items alone could be compared."""

    def __init__(self, why: str, common: bool = False) -> None:
        super().__init__(why)
        self.common = common


@dataclass(frozen=True)
class Contender:
    """One side: runs of one model on one split, each with its evaluation; `repeat` chooses one of them, 0 means all."""

    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]
    repeat: int = 0


@dataclass(frozen=True)
class Part:
    """Both values over `n` units with the difference, first minus second, and its 95 % interval.

    n = 0: all None. A facet on which the two differ nowhere has no interval.
    """

    n: int
    first: float | None
    second: float | None
    low: float | None
    high: float | None
    counts: Tally

    @property
    def difference(self) -> float | None:
        return None if self.first is None or self.second is None else self.first - self.second


@dataclass(frozen=True)
class HeadToHead:
    """`units` are places of items (of the first item of each case where cases are compared) in the first one's item set,
    `cell` the number in CELLS of each; `higher` counts the units on which the one or the other has the higher value, and
    `p` is the exact two-sided p of those counts. `graded`: some value is neither 0 nor 1. `missing` counts the units
    without a row of each side; in the values they count 0.
    """

    whole: Part
    parts: dict[str, dict[str, Part]]
    units: np.ndarray
    cell: np.ndarray
    higher: tuple[int, int]
    p: float
    graded: bool
    missing: tuple[int, int]
    clustered: bool
    key: str = ""  # equal where all of this is


# --- what may be compared ---------------------------------------------------------------------------------------------


def check(first: Contender, second: Contender, common: bool) -> None:
    """Raises Refused where no difference may be formed. Runs come with their split, release and benchmark."""
    one, two = first.runs[0].split, second.runs[0].split
    if one.release.benchmark_id != two.release.benchmark_id:
        raise Refused(
            f"{one.release.benchmark} and {two.release.benchmark} ask other questions and measure other things."
        )
    if one.release_id != two.release_id:
        raise Refused(f"{one.release.name} and {two.release.name} are two releases: they share no question.")
    for side, split in ((first, one), (second, two)):
        if not side.evaluations or len(side.evaluations) != len(side.runs):
            raise Refused(f"{side.runs[0].model} has no figures by this evaluator.")
        if any(evaluation.gold_fingerprint != split.fingerprint for evaluation in side.evaluations):
            raise Refused(f"The figures of {side.runs[0].model} rest on earlier gold: rescore it first.")
    rules = {evaluation.evaluator_id for side in (first, second) for evaluation in side.evaluations}
    if len(rules) > 1:
        raise Refused(
            "The two were scored by different evaluators, or by different versions of one: rescore them first."
        )
    same = {(run.pk, first.repeat) for run in first.runs} & {(run.pk, second.repeat) for run in second.runs}
    if same:
        raise Refused("Both sides are the same run: there is nothing to compare.")
    if one.pk != two.pk and not common:
        raise Refused(
            f"The splits {one.name} and {two.name} hold other items: a difference of their figures would say nothing.",
            True,
        )


# --- the comparison ---------------------------------------------------------------------------------------------------


def compare(first: Contender, second: Contender, metric: str, *, of_cases: bool, common: bool) -> HeadToHead:
    """Both sides on the same units. Two queries beside those of the item sets; the result is kept under its content.

    `common`: only units of both splits for which both sides have a row. Without it both are of one split, and what is
    missing counts 0. Raises Refused as `check` does, and where no unit is left.
    """
    check(first, second, common)
    content = [
        [metric, of_cases, common, first.evaluations[0].evaluator.fingerprint],
        *[
            [side.repeat, side.runs[0].split.fingerprint, side.runs[0].split.labels_fingerprint]
            for side in (first, second)
        ],
        [[run.key for run in side.runs] for side in (first, second)],
    ]
    key = "head-to-head:" + hashlib.sha256(json.dumps(content).encode()).hexdigest()
    found = cache.get(key)
    if found is None:
        found = replace(_compare(first, second, metric, of_cases, common), key=key)
        cache.set(key, found, timeout=None)
    return found


def _compare(first: Contender, second: Contender, metric: str, of_cases: bool, common: bool) -> HeadToHead:
    items = item_set(first.runs[0].split)
    mine, here = _side(first, metric, len(items))
    others = item_set(second.runs[0].split)
    theirs, there = _side(second, metric, len(others))
    units = items.firsts if of_cases else np.arange(len(items))
    if common:
        units, matched = _shared(items, others, units, of_cases)
        kept = here[units] & there[matched]
        units, matched = units[kept], matched[kept]
    else:
        matched = units
    if not len(units):
        raise Refused("There is no item for which both have a row.")
    one, two = mine[units], theirs[matched]
    codes = items.clusters[units]
    groups = items.case_groups() if of_cases else items.groups
    if of_cases:  # numbers of cases, as the units are
        place = np.full(len(items.firsts), -1)
        place[items.cases[units]] = np.arange(len(units))
    else:
        place = np.full(len(items), -1)
        place[units] = np.arange(len(units))
    held: Groups = {
        dimension: {facet: at[at >= 0] for facet, members in facets.items() for at in (place[members],)}
        for dimension, facets in groups.items()
        if len(facets) <= MOST_FACETS
    }
    seed = first.runs[0].split.fingerprint
    return HeadToHead(
        _whole(one, two, codes, seed),
        parts_of(one, two, codes, held, seed),
        units,
        _cells(one, two),
        (int((one > two).sum()), int((two > one).sum())),
        statistics.mcnemar_exact(int((one > two).sum()), int((two > one).sum())),
        bool((~np.isin(one, (0, 1))).any() or (~np.isin(two, (0, 1))).any()),
        (int((~here[units]).sum()), int((~there[matched]).sum())),
        len(np.unique(codes)) < len(codes),
    )


def _side(side: Contender, metric: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(value, whether there is a row) of each item: over several runs the mean, a missing one as 0, as the headline is."""
    rows = Vector.objects.filter(
        evaluation__in=[evaluation.pk for evaluation in side.evaluations], repeat=side.repeat, name=metric
    )
    found = [np.frombuffer(data, dtype="<f8") for data in rows.order_by("evaluation").values_list("data", flat=True)]
    if len(found) != len(side.evaluations) or any(len(row) != size for row in found):
        raise Refused(f"{side.runs[0].model} has no values of this metric for each item: rescore it first.")
    table = np.array(found)
    return np.nan_to_num(table, nan=0.0).mean(axis=0), ~np.isnan(table).all(axis=0)


def _shared(items: ItemSet, others: ItemSet, units: np.ndarray, of_cases: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places of the units that both splits hold, in each; a case only where both hold all the same items of it."""
    where = {pk: place for place, pk in enumerate(others.ids.tolist())}
    pairs = [
        (unit, where[pk]) for unit, pk in zip(units.tolist(), items.ids[units].tolist(), strict=True) if pk in where
    ]
    if of_cases:
        mine, theirs = _members(items), _members(others)
        pairs = [(a, b) for a, b in pairs if mine[items.cases[a]] == theirs[others.cases[b]]]
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)


def _members(items: ItemSet) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for case, pk in zip(items.cases.tolist(), items.ids.tolist(), strict=True):
        found.setdefault(case, set()).add(pk)
    return {case: frozenset(members) for case, members in found.items()}


def _counts(one: np.ndarray, two: np.ndarray) -> Tally:
    return tally(*(np.where(values >= FULL, Outcome.RIGHT, Outcome.WRONG) for values in (one, two)))


def _cells(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.where(one >= FULL, np.where(two >= FULL, 0, 1), np.where(two >= FULL, 2, 3)).astype(np.uint8)


def _whole(one: np.ndarray, two: np.ndarray, codes: np.ndarray, seed: str) -> Part:
    """With the resamples and the rule of the board's ranks, so that the two never contradict each other."""
    matrix, sizes = statistics.cluster_sums(np.array([one, two]), codes)
    found = statistics.paired_differences(matrix, sizes, seed=seed)
    low, high = float(found.low[0, 1]), float(found.high[0, 1])
    return Part(len(one), statistics.mean(one), statistics.mean(two), low, high, _counts(one, two))


def parts_of(
    one: np.ndarray,
    two: np.ndarray,
    codes: np.ndarray,
    groups: Mapping[str, Mapping[str, Sequence[int] | np.ndarray]],
    seed: str,
) -> dict[str, dict[str, Part]]:
    """Dimension -> facet -> part. One pass over the resamples of all clusters serves all facets.

    As for the whole, a handful of clusters tells nothing apart: where the two differ in so few that an exact sign test is
    not significant even if all point one way, the interval is stretched to hold 0. Where they differ in none there is no
    interval: the few clusters of a facet say nothing about its spread. A facet without units has no values.
    """
    filled = [np.asarray(members) for facets in groups.values() for members in facets.values() if len(members)]
    samples = iter(statistics.resampled_means(one - two, filled, codes, seed=seed).T)
    out: dict[str, dict[str, Part]] = {}
    for dimension, facets in groups.items():
        for facet, members in facets.items():
            out.setdefault(dimension, {})[facet] = _part(one, two, codes, np.asarray(members, np.int64), samples)
    return out


def _part(one: np.ndarray, two: np.ndarray, codes: np.ndarray, members: np.ndarray, samples) -> Part:
    mine, theirs = one[members], two[members]
    if not len(members):
        return Part(0, None, None, None, None, Tally(0, 0, 0, 0))
    drawn = next(samples)
    sums = np.bincount(codes[members], weights=mine - theirs)
    differing = int((np.abs(sums) > 1e-9).sum())
    low = high = None
    if differing:
        low, high = statistics.percentile_interval(drawn)
        if statistics.mcnemar_exact(differing, 0) > 1 - statistics.CONFIDENCE:
            low, high = min(low, 0.0), max(high, 0.0)
    return Part(len(members), statistics.mean(mine), statistics.mean(theirs), low, high, _counts(mine, theirs))
