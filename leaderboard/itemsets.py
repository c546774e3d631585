"""The scored items of a split in the order of every vector, with what they are grouped by. Kept in memory as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.items import load_items
from evaluation.models import Benchmark, Evaluation, Item, Split, Vector
from evaluation.protocols.aggregate import facet_groups
from evaluation.querysets import item_gate

if TYPE_CHECKING:
    from evaluation.querysets import Person

Groups = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class ItemSet:
    """`ids` are primary keys; `clusters` and `cases` number what is resampled and what is a case, one code an item; `firsts`
    are the places of the first item of each case; `groups` maps dimension -> facet -> places of its items.
    """

    ids: np.ndarray
    clusters: np.ndarray
    cases: np.ndarray
    firsts: np.ndarray
    groups: Groups

    def __len__(self) -> int:
        return len(self.ids)

    def case_groups(self) -> Groups:
        """Dimensions in which all items of each case have the same facets: dimension -> facet -> numbers of cases."""
        sizes = np.bincount(self.cases, minlength=len(self.firsts))
        found: Groups = {}
        for dimension, facets in self.groups.items():
            held = {facet: np.bincount(self.cases[places], minlength=len(sizes)) for facet, places in facets.items()}
            if all(((count == 0) | (count == sizes)).all() for count in held.values()):
                found[dimension] = {facet: np.flatnonzero(count) for facet, count in held.items()}
        return found


def item_set(split: Split) -> ItemSet:
    """Five queries the first time, then none while items, gold and labels stay. `split` comes with its benchmark."""
    return _item_set(split.pk, split.fingerprint, split.gold_missing, split.labels_fingerprint)


@lru_cache(16)
def _item_set(pk: int, fingerprint: str, gold_missing: bool, labels: str) -> ItemSet:
    split = Split.objects.select_related("release__benchmark").get(pk=pk)
    loaded = load_items(split)
    specs = [spec for spec in loaded.specs if spec.scored]
    own = dict.fromkeys(dimension for spec in specs for dimension, _ in spec.facets)
    dimensions = dict.fromkeys([*BENCHMARKS[split.release.benchmark.slug].dimensions, *own])
    groups: Groups = {}
    for (dimension, facet), places in facet_groups(specs, dimensions).items():
        if dimension != "overall":
            groups.setdefault(dimension, {})[facet] = places
    cases: dict[str, int] = {}
    codes = np.array([cases.setdefault(spec.case or spec.key, len(cases)) for spec in specs], np.int64)
    clusters: dict[str, int] = {}
    return ItemSet(
        np.array([loaded.ids[spec.key] for spec in specs], np.int64),
        np.array([clusters.setdefault(spec.cluster or spec.key, len(clusters)) for spec in specs], np.int64),
        codes,
        np.unique(codes, return_index=True)[1],
        groups,
    )


def outcomes(evaluation: Evaluation, repeat: int, size: int) -> np.ndarray | None:
    """The outcomes of an evaluation (uint8); `repeat` 0 is over all of them. None where they are of other items."""
    rows = Vector.objects.filter(evaluation=evaluation, repeat=repeat, name="outcome")
    found = [np.frombuffer(data, np.uint8) for data in rows.values_list("data", flat=True)]
    return found[0] if found and len(found[0]) == size else None


def shows_items(benchmark: Benchmark, user: Person) -> bool:
    """Whether a person may see what derives from single items of a benchmark."""
    return Benchmark.objects.filter(item_gate(user), pk=benchmark.pk).exists()


# Keys and names may hold any character, slashes, dots and CJK too: in a query they all have one safe form.


def item_address(benchmark: str, release: str, key: str) -> str:
    """The page of an item over all models."""
    return f"{reverse('item', args=[benchmark])}?{urlencode({'release': release, 'item': key})}"


def case_address(benchmark: str, release: str, case: str) -> str:
    """The page of a case over all models."""
    return f"{reverse('case', args=[benchmark])}?{urlencode({'release': release, 'case': case})}"


def case_link(benchmark: str, release: str, item: Item) -> str:
    """The page of an item's case; "" where an item is its own case."""
    return case_address(benchmark, release, item.case) if item.case not in ("", item.key) else ""
