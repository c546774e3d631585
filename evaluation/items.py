"""Items of a split: from gold into the tables and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from evaluation.facts import insert_rows
from evaluation.labels import labels_fingerprint
from evaluation.models import Benchmark, Facet, Item, Release, Split, SplitItem
from evaluation.protocols.base import ItemSpec


class GoldDiffers(ValueError):
    """The gold given is not the gold that is loaded under this release's name."""


@dataclass(frozen=True, slots=True)
class SplitItems:
    """A split with its items in canonical order; `ids` are their primary keys."""

    split: Split
    specs: list[ItemSpec]
    ids: dict[str, int]


def gold_fingerprint(specs: Sequence[ItemSpec]) -> str:
    """sha256 over the items and their gold; the order of the file does not count."""
    content = sorted((spec.key, json.dumps(spec.gold, sort_keys=True), spec.scored) for spec in specs)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@transaction.atomic
def store_split(
    benchmark: Benchmark,
    release_name: str,
    split_name: str,
    specs: Sequence[ItemSpec],
    *,
    rankable: bool,
    gold_missing: bool = False,
) -> Split:
    """Write a split's items once. The same gold again changes nothing.

    A split that was made from scored files takes real gold when it comes. Raises GoldDiffers when the loaded gold of that
    name is another one, and ValueError when the gold has no items.
    """
    if not specs:
        raise ValueError("the gold holds no items")
    release, _ = Release.objects.get_or_create(benchmark=benchmark, name=release_name)
    split, made = Split.objects.get_or_create(release=release, name=split_name)
    fingerprint = gold_fingerprint(specs)
    if not made and split.fingerprint == fingerprint and split.gold_missing == gold_missing:
        return split
    if not made and not split.gold_missing:
        raise GoldDiffers(
            f"release {release_name!r} of {benchmark.slug} is loaded with other items or gold in split {split_name!r} "
            f"(fingerprint {split.fingerprint[:12]}, given {fingerprint[:12]}); load it under another name with --release"
        )
    known = {item.key: item for item in release.items.filter(key__in=[spec.key for spec in specs])}
    for spec in specs:
        item = known.get(spec.key)
        if item is not None and not split.gold_missing and item.gold != spec.gold:
            raise GoldDiffers(
                f"item {spec.key!r} of {benchmark.slug} {release_name!r} has other gold in another split; "
                "load it under another name with --release"
            )
    labels: list[tuple[str, int]] = []
    if split.gold_missing:
        # what was labelled keeps its labels when its gold comes
        links = Item.facets.through.objects.filter(item__in=known.values(), facet__labelling__isnull=False)
        labels = list(links.values_list("item__key", "facet"))
        release.items.filter(pk__in=[item.pk for item in known.values()]).delete()
        known = {}
    _write_items(release, split, [spec for spec in specs if spec.key not in known], specs)
    if labels:
        ids = dict(release.items.values_list("key", "pk"))
        kept = [(ids[key], facet) for key, facet in labels if key in ids]
        insert_rows(Item.facets.through, ("item_id", "facet_id"), kept)
    split.fingerprint, split.rankable, split.gold_missing = fingerprint, rankable, gold_missing
    split.labels_fingerprint = labels_fingerprint(split)
    split.expected_items = sum(spec.scored for spec in specs)
    split.save()
    parts = release.splits.order_by("name").values_list("name", "fingerprint")
    release.fingerprint = hashlib.sha256(json.dumps([list(part) for part in parts]).encode()).hexdigest()
    release.save(update_fields=["fingerprint"])
    return split


def _write_items(release: Release, split: Split, new: Sequence[ItemSpec], specs: Sequence[ItemSpec]) -> None:
    Item.objects.bulk_create(
        [
            Item(
                release=release, key=spec.key, case=spec.case, cluster=spec.cluster, gold=spec.gold, scored=spec.scored
            )
            for spec in new
        ],
        batch_size=500,
    )
    wanted = {pair for spec in new for pair in spec.facets}
    release.labellings.filter(dimension__in={dimension for dimension, _ in wanted}).delete()  # gold goes first
    have = {(facet.dimension, facet.name): facet.pk for facet in release.facets.all()}
    made = [Facet(release=release, dimension=pair[0], name=pair[1]) for pair in sorted(wanted - set(have))]
    Facet.objects.bulk_create(made, batch_size=500)
    have = {(facet.dimension, facet.name): facet.pk for facet in release.facets.all()}
    ids = dict(release.items.values_list("key", "pk"))
    links = [(ids[spec.key], have[pair]) for spec in new for pair in dict.fromkeys(spec.facets)]
    insert_rows(Item.facets.through, ("item_id", "facet_id"), links)
    split_rows = [(split.pk, ids[spec.key], position) for position, spec in enumerate(specs)]
    SplitItem.objects.filter(split=split).delete()
    insert_rows(SplitItem, ("split_id", "item_id", "position"), split_rows)


def load_items(split: Split) -> SplitItems:
    """A split's items in canonical order, with their facets. Three queries, whatever the size."""
    facets: dict[tuple[int, bool], list[tuple[str, str]]] = {}
    links = Item.facets.through.objects.filter(item__splits=split).order_by("pk")
    fields = ("item_id", "facet__dimension", "facet__name", "facet__labelling_id")
    for item_id, dimension, name, labelling in links.values_list(*fields):
        facets.setdefault((item_id, labelling is not None), []).append((dimension, name))
    specs: list[ItemSpec] = []
    ids: dict[str, int] = {}
    rows: Any = SplitItem.objects.filter(split=split).order_by("position").select_related("item")
    for row in rows:
        item = row.item
        ids[item.key] = item.pk
        gold, labels = (tuple(facets.get((item.pk, own), ())) for own in (False, True))
        specs.append(ItemSpec(item.key, item.case, item.cluster, item.gold, gold, item.scored, labels))
    return SplitItems(split, specs, ids)
