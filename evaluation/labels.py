"""Own dimensions of items: what a lab adds to what the gold says. No evaluator's headline rests on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from django.db import transaction

from evaluation.benchmarks import BENCHMARKS
from evaluation.facts import insert_rows
from evaluation.models import Facet, Item, Labelling, Release, Split


class BuiltIn(ValueError):
    """A dimension that the benchmark itself has cannot be set by labels."""


def built_in(release: Release) -> set[str]:
    """The dimensions that the benchmark and the gold of a release have already."""
    gold = Facet.objects.filter(release=release, labelling=None).values_list("dimension", flat=True)
    return {"overall", *BENCHMARKS[release.benchmark.slug].dimensions, *gold.distinct()}


@transaction.atomic
def store_labels(
    release: Release, dimension: str, labels: Iterable[tuple[str, str]], files: Sequence[tuple[str, str]]
) -> bool:
    """Make a dimension of a release what `labels` ((item key, facet) pairs) say, in place of what they said before.

    Keys that are no items of the release are left out; `files` holds (name, sha256) of the sources. Returns whether
    anything changed; the same labels from other files change only the source. Raises BuiltIn.
    """
    if dimension in built_in(release):
        raise BuiltIn(f"{dimension!r} is a dimension of {release} itself")
    ids = dict(release.items.values_list("key", "pk"))
    pairs = sorted({(key, facet) for key, facet in labels if key in ids})
    source = [list(file) for file in files]
    fingerprint = _hash(pairs)
    labelling = Labelling.objects.filter(release=release, dimension=dimension).first()
    if labelling is not None and labelling.fingerprint == fingerprint:
        if labelling.files != source:
            Labelling.objects.filter(pk=labelling.pk).update(files=source)
        return False
    if labelling is not None:
        labelling.delete()  # takes its facets and their links along
    labelling = Labelling.objects.create(release=release, dimension=dimension, files=source, fingerprint=fingerprint)
    names = sorted({facet for _, facet in pairs})
    Facet.objects.bulk_create(
        [Facet(release=release, dimension=dimension, name=name, labelling=labelling) for name in names]
    )
    facets = dict(labelling.facets.values_list("name", "pk"))
    links = ((ids[key], facets[facet]) for key, facet in pairs)
    insert_rows(Item.facets.through, ("item_id", "facet_id"), links)
    for split in release.splits.all():
        Split.objects.filter(pk=split.pk).update(labels_fingerprint=labels_fingerprint(split))
    return True


def labels_fingerprint(split: Split) -> str:
    """sha256 over the labels of a split's items; empty where they have none."""
    links = Item.facets.through.objects.filter(item__splits=split, facet__labelling__isnull=False)
    triples = sorted(links.values_list("item__key", "facet__dimension", "facet__name"))
    return _hash(triples) if triples else ""


def _hash(content: Sequence[tuple[str, ...]]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
