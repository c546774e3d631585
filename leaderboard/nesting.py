"""Facets that lie in facets of another dimension: the disease clusters of a chapter, the tasks of a task group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Split
from leaderboard.facetnames import carried, facet_key, full, ordered, short
from leaderboard.words import small

# the first code of a range, by which ICD-10 orders its blocks: `Digestive organs (C15-C26)`
_CODE = re.compile(r"[(\[]([A-Z]\d\d)")
_NO_CODE = "~"


class Above(NamedTuple):
    """What stands above facets: a facet of the dimension above, None where theirs is not just one; `about` says it in full."""

    key: str
    text: str
    about: str
    facet: str | None = None


def above(spec: BenchmarkSpec, split: Split, dimension: str, facets: Iterable[str]) -> dict[str, Above]:
    """Facet -> what stands above it, both in the order of pages; those of several come behind those of one, then the unmapped.

    Found from the items: a facet lies in another when all of its items carry that one and no other of its dimension. Empty
    where the benchmark declares nothing above the dimension, and where no facet lies in just one. Four queries at most, as
    `facetnames.members`.
    """
    parent = spec.nested.get(dimension, "")
    held = carried(split, dimension, parent) if parent else {}
    facets = list(facets)
    single = {facet: name for facet in facets if (name := _only(held.get(facet, frozenset()))) is not None}
    if not single:
        return {}
    label = small(spec.dimensions[parent])
    groups = {
        name: Above(facet_key(name), short(spec, parent, name), full(spec, parent, name), name)
        for name in ordered(spec, parent, dict.fromkeys(single[facet] for facet in held if facet in single))
    }
    several = Above("several", f"more than one {label}", f"Their items do not all carry the same {label}.")
    unmapped = Above("unmapped", "unmapped", f"Their items carry no {label}.")
    found = {
        facet: groups[single[facet]] if facet in single else several if held.get(facet, {None}) != {None} else unmapped
        for facet in facets
    }
    places = {group.key: place for place, group in enumerate((*groups.values(), several, unmapped))}
    return {facet: found[facet] for facet in sorted(facets, key=lambda facet: (places[found[facet].key], _code(facet)))}


def _only(names: frozenset[str | None]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def _code(facet: str) -> str:
    found = _CODE.search(facet)
    return found[1] if found else _NO_CODE
