"""A board over some of its items only: those that carry every chosen facet. Figures anew, ranks as they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from django.core.cache import cache

from evaluation import statistics
from evaluation.models import Facet, Item, Split, SplitItem, Vector
from evaluation.protocols.base import Outcome
from leaderboard.standings import Entry, Figure, Standing, Value, clusters_of, vectors_of

Pair = tuple[str, str]
MOST_OFFERED = 100  # facets of one dimension; more make a list that nobody reads


def offered(split: Split) -> dict[str, list[str]]:
    """Dimension -> its facets in the split's release, in their order of creation; dimensions with very many left out."""
    found: dict[str, list[str]] = {}
    rows = Facet.objects.filter(release=split.release_id).order_by("pk")
    for dimension, name in rows.values_list("dimension", "name"):
        found.setdefault(dimension, []).append(name)
    return {dimension: names for dimension, names in found.items() if 1 < len(names) <= MOST_OFFERED}


@lru_cache(16)
def places_of(split_id: int, fingerprint: str, gold_missing: bool) -> dict[int, int]:
    """Item -> its place in vectors: the scored items of a split in canonical order."""
    rows = SplitItem.objects.filter(split=split_id, item__scored=True).order_by("position")
    return {item: place for place, item in enumerate(rows.values_list("item_id", flat=True))}


def chosen_items(split: Split, facets: Iterable[Pair]) -> np.ndarray:
    """Whether each scored item carries all the facets: bool, in canonical order. One query a facet."""
    places = places_of(split.pk, split.fingerprint, split.gold_missing)
    chosen = np.ones(len(places), bool)
    for dimension, name in facets:
        carried = np.zeros(len(places), bool)
        items = Item.facets.through.objects.filter(
            facet__release=split.release_id, facet__dimension=dimension, facet__name=name
        )
        carried[[places[item] for item in items.values_list("item_id", flat=True) if item in places]] = True
        chosen &= carried
    return chosen


def restrict(standing: Standing, facets: Sequence[Pair]) -> str:
    """Put figures over the chosen items in place of those over all; a sentence that says over what they are.

    A case counts where all of its items are chosen. A figure that is no mean over items is left out. Reported figures,
    which are over all items, are taken off. Missing items count as in the benchmark's headline. Intervals as everywhere:
    `statistics.mean_intervals` over whole clusters.
    """
    split, what = standing.board.split, standing.shown
    chosen = chosen_items(split, facets)
    clusters, firsts = clusters_of(split.pk, split.fingerprint, split.gold_missing)
    left_out = len(standing.reported)
    standing.reported, standing.humans = [], []
    cases = _whole_cases(chosen, firsts, clusters) if what.of_cases else np.zeros(0, np.int64)
    of_items = np.flatnonzero(chosen)
    evaluations = [evaluation for entry in standing.entries for evaluation in entry.evaluations]
    outcomes = vectors_of(evaluations, "outcome")
    for entry in standing.entries:
        _cover(entry, [outcomes[one.pk][of_items] for one in entry.evaluations if one.pk in outcomes])
    for figure in what.figures:
        kept = cases if figure.metric == "case_accuracy" else of_items
        plain = figure.metric in what.by_item and (figure.variant, figure.dimension) == ("", "overall")
        found = _means(standing, figure, kept, clusters) if plain and len(kept) and evaluations else []
        for entry, value in zip(standing.entries, found or [None] * len(standing.entries), strict=True):
            entry.figures.pop(figure, None)
            if value is not None:
                entry.figures[figure] = value
    _spread(standing, cases if what.of_cases else of_items)
    word = standing.spec.item_word
    over = f"{len(of_items):,} of {len(chosen):,} {word}s"
    if what.of_cases:
        over += f" and the {len(cases):,} {standing.spec.unit}s that lie wholly among them"
    said = f"Figures are over {over}; ranks are those of the whole board."
    return said + (f" {left_out} reported figures are over everything and are not shown." if left_out else "")


def _whole_cases(chosen: np.ndarray, firsts: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The first items of the cases of which every item is chosen; a case is a cluster."""
    whole = np.bincount(clusters, weights=chosen) == np.bincount(clusters)
    return firsts[whole[clusters[firsts]]]


def _cover(entry: Entry, outcomes: Sequence[np.ndarray]) -> None:
    """Coverage over the chosen items; of several runs the least complete one speaks for all."""
    entry.done_only = None
    if not outcomes:
        return
    heard = [int((~np.isin(one, (Outcome.MISSING, Outcome.ERROR))).sum()) for one in outcomes]
    least = outcomes[heard.index(min(heard))]
    entry.expected, entry.heard = len(least), min(heard)
    entry.present = int(np.count_nonzero(least != Outcome.MISSING))
    entry.answered = int(np.isin(least, (Outcome.RIGHT, Outcome.WRONG)).sum())


def _spread(standing: Standing, kept: np.ndarray) -> None:
    """The headline of each repeat over the kept items; empty where there is nothing to take a mean of. One query."""
    metric = standing.headline.metric
    missing = standing.shown.by_item.get(metric)
    runs = [evaluation.pk for entry in standing.entries for evaluation in entry.evaluations]
    by_run: dict[int, dict[int, np.ndarray]] = {}
    rows = Vector.objects.filter(evaluation__in=runs, name=metric).order_by("repeat")
    for pk, repeat, data in rows.values_list("evaluation_id", "repeat", "data"):
        by_run.setdefault(pk, {})[repeat] = np.frombuffer(data, dtype="<f8")[kept]
    for entry in standing.entries:
        entry.spread = []
        for evaluation in entry.evaluations:
            found = by_run.get(evaluation.pk, {})
            for values in [found[repeat] for repeat in found if repeat] or list(found.values()):
                own = values[~np.isnan(values)] if missing is None else np.nan_to_num(values, nan=missing)
                entry.spread += [statistics.mean(own)] if len(own) else []


def _means(standing: Standing, figure: Figure, kept: np.ndarray, clusters: np.ndarray) -> list[Value | None]:
    """The mean of a figure over the kept items for every entry, with intervals; kept in the cache under what it rests on."""
    split = standing.board.split
    missing = standing.shown.by_item[figure.metric]
    runs = [[evaluation.pk for evaluation in entry.evaluations] for entry in standing.entries]
    told = json.dumps([split.fingerprint, figure.metric, runs])
    key = "facets:" + hashlib.sha256(told.encode() + kept.astype("<i8").tobytes()).hexdigest()
    if (found := cache.get(key)) is not None:
        return found
    vectors = vectors_of([one for entry in standing.entries for one in entry.evaluations], figure.metric)
    upper = 5.0 if figure.unit == "of 5" else 1.0
    made: list[Value | None] = []
    for entry in standing.entries:
        stacked = np.array([vectors[one.pk][kept] for one in entry.evaluations])
        if missing is not None:
            row = np.nan_to_num(stacked, nan=missing).mean(axis=0)
        else:
            counts = (~np.isnan(stacked)).sum(axis=0)
            row = np.divide(np.nansum(stacked, axis=0), counts, out=np.full(len(kept), np.nan), where=counts > 0)
        use = np.flatnonzero(~np.isnan(row))
        if not len(use):
            made.append(None)
            continue
        own = clusters[kept]
        ((low, high),) = statistics.mean_intervals(np.nan_to_num(row), [use], own, seed=split.fingerprint, upper=upper)
        answered = entry.answered if figure.metric != "case_accuracy" else len(use)
        made.append(Value(statistics.mean(row[use]), low, high, len(use), answered))
    cache.set(key, made, timeout=None)
    return made


_NUMBERED = re.compile(r"(\D*)(\d+)")


def in_order(facets: Iterable[str]) -> list[str]:
    """`Chapter 2` before `Chapter 14`, where all begin alike and count on; else as they come."""
    facets = list(facets)
    numbers = {facet: match for facet in facets if (match := _NUMBERED.match(facet))}
    if len(numbers) < len(facets) or len({match[1] for match in numbers.values()}) != 1:
        return facets
    return sorted(facets, key=lambda facet: (int(numbers[facet][2]), facet))
