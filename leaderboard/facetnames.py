"""Which items the facets of a dimension hold, how a facet stands in an address, and how its name is shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from django.utils.text import slugify

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Split, SplitItem
from leaderboard.facets import in_order, places_of

NO_FACET = ("unmapped", "not given")  # facets that say that nothing is known
CODE = 4  # letters of a facet that says little without its name
_NUMBERED = re.compile(r"\s*chapter\s+\d+:\s*", re.I)


def facet_key(facet: str) -> str:
    """The facet in an address: readable, and eight hexadecimal digits of its SHA-256, so that any text has an own one."""
    words = slugify(facet, allow_unicode=True)[:60].strip("-")
    digest = hashlib.sha256(facet.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{words}-{digest}" if words else digest


def ordered(spec: BenchmarkSpec, dimension: str, facets: Iterable[str]) -> list[str]:
    """As the benchmark orders them, the others after them; what says that nothing is known comes last."""
    facets = list(facets)
    known = [facet for facet in facets if facet not in NO_FACET]
    first = [facet for facet in spec.facet_order.get(dimension, ()) if facet in known]
    rest = in_order([facet for facet in known if facet not in first])
    return [*first, *rest, *(facet for facet in facets if facet in NO_FACET)]


def short(spec: BenchmarkSpec, dimension: str, facet: str) -> str:
    """For the head of a column: `Neoplasms` of `Chapter 2: Neoplasms`, a code with its name; "" is `not given`."""
    other = spec.facet_name(dimension, facet) if len(facet) <= CODE else ""
    return " ".join(part for part in (_NUMBERED.sub("", facet) or facet, other) if part) or "not given"


def full(spec: BenchmarkSpec, dimension: str, facet: str) -> str:
    """The facet as it is written, with its name in full or in English where the benchmark has one."""
    other = spec.facet_name(dimension, facet)
    return f"{facet or 'not given'} ({other})" if other else facet or "not given"


def members(split: Split, dimension: str) -> dict[str, np.ndarray]:
    """Facet -> indexes of its items among the scored ones, in canonical order; empty where no item has the dimension.

    Two queries the first time; then as long as items and labels stay the same none.
    """
    return _members(split.pk, split.fingerprint, split.labels_fingerprint, split.gold_missing, dimension)


@lru_cache(64)
def _members(split_id: int, fingerprint: str, labels: str, gold_missing: bool, dimension: str) -> dict[str, np.ndarray]:
    place = places_of(split_id, fingerprint, gold_missing)
    found: dict[str, list[int]] = {}
    rows = SplitItem.objects.filter(split=split_id, item__scored=True, item__facets__dimension=dimension)
    held = rows.order_by("position").values_list("item_id", "item__facets__name")
    for item, facet in held:
        found.setdefault(facet, []).append(place[item])
    return {facet: np.array(sorted(set(items)), dtype=np.int64) for facet, items in found.items()}


def carried(split: Split, dimension: str, other: str) -> dict[str, frozenset[str | None]]:
    """Facet of `dimension` -> the facets of `other` that its items carry, with None where one of them carries none.

    Queries as `members`, for each of the two.
    """
    return _carried(split.pk, split.fingerprint, split.labels_fingerprint, split.gold_missing, dimension, other)


@lru_cache(64)
def _carried(
    split_id: int, fingerprint: str, labels: str, gold_missing: bool, dimension: str, other: str
) -> dict[str, frozenset[str | None]]:
    of_item: dict[int, list[str | None]] = {}
    for name, items in _members(split_id, fingerprint, labels, gold_missing, other).items():
        for item in items.tolist():
            of_item.setdefault(item, []).append(name)
    held = _members(split_id, fingerprint, labels, gold_missing, dimension)
    return {
        facet: frozenset(name for item in items.tolist() for name in of_item.get(item, [None]))
        for facet, items in held.items()
    }
