"""Items of a split: from gold into the tables and back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
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


def check_split(benchmark: Benchmark, release_name: str, split_name: str, specs: Sequence[ItemSpec]) -> None:
    """Whether these items can be the split's. Writes nothing.

    Raises GoldDiffers when the loaded gold of that name is another one, and ValueError when the gold has no items or holds
    what no database stores. A split that was made from scored files takes any gold.
    """
    if not specs:
        raise ValueError("the gold holds no items")
    for what, name in (("release", release_name), ("split", split_name)):
        _check_text(what, name, 100)
    for spec in specs:
        _check_storable(spec)
    release = Release.objects.filter(benchmark=benchmark, name=release_name).first()
    if release is None:
        return
    split = release.splits.filter(name=split_name).first()
    if split is not None and split.gold_missing:
        return
    fingerprint = gold_fingerprint(specs)
    if split is not None and split.fingerprint != fingerprint:
        raise GoldDiffers(
            f"release {release_name!r} of {benchmark.slug} is loaded with other items or gold in split {split_name!r} "
            f"(fingerprint {split.fingerprint[:12]}, given {fingerprint[:12]}); load it under another name with --release"
        )
    for item, spec in _known(release, specs):
        if item.gold != spec.gold and not item.splits.filter(gold_missing=True).exists():
            raise GoldDiffers(
                f"item {spec.key!r} of {benchmark.slug} {release_name!r} has other gold in another split; "
                "load it under another name with --release"
            )


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _check_text(what: str, text: str, longest: int) -> None:
    if len(text) > longest:
        raise ValueError(f"{what} {short(text)} has {len(text)} characters, at most {longest} can be stored")
    if bad := _UNSTORABLE.search(text):
        raise ValueError(f"{what} {short(text)} holds the character U+{ord(bad[0]):04X}, which is no text")


def _check_storable(spec: ItemSpec) -> None:
    for what, text in (("id", spec.key), ("case", spec.case), ("cluster", spec.cluster)):
        _check_text(what, text, 300)
    for dimension, facet in spec.facets:
        _check_text(f"item {short(spec.key)}: {dimension}", facet, 500)
    try:
        json.dumps(spec.gold, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"item {short(spec.key)}: the gold cannot be stored: {error}") from error
    for text in _texts(spec.gold):
        _check_text(f"item {short(spec.key)}: the gold", text, 1 << 24)


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def _known(release: Release, specs: Sequence[ItemSpec]) -> list[tuple[Item, ItemSpec]]:
    by_key = {spec.key: spec for spec in specs}
    return [(item, by_key[item.key]) for item in release.items.filter(key__in=list(by_key))]


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
    """Write a split's items once. The same gold again changes nothing, but that dimensions new to the code are added.

    The items of a split that was made from scored files take the gold when it comes; they stay the same rows, so that
    responses keep theirs. Raises what `check_split` raises.
    """
    check_split(benchmark, release_name, split_name, specs)
    release, _ = Release.objects.get_or_create(benchmark=benchmark, name=release_name)
    split, made = Split.objects.get_or_create(release=release, name=split_name)
    fingerprint = gold_fingerprint(specs)
    if not made and split.fingerprint == fingerprint and split.gold_missing == gold_missing:
        _add_dimensions(release, specs)
        return split
    known = _known(release, specs)
    keys = {item.key for item, _ in known}
    linked = [spec for spec in specs if spec.key not in keys]
    if split.gold_missing:
        for item, spec in known:
            item.case, item.cluster, item.gold, item.scored = spec.case, spec.cluster, spec.gold, spec.scored
        Item.objects.bulk_update([item for item, _ in known], ["case", "cluster", "gold", "scored"], batch_size=200)
        links = Item.facets.through.objects.filter(item__in=[item for item, _ in known])
        links.filter(facet__labelling=None).delete()  # own labels stay
        linked = list(specs)
    _write_items(release, split, [spec for spec in specs if spec.key not in keys], linked, specs)
    split.fingerprint, split.rankable, split.gold_missing = fingerprint, rankable, gold_missing
    split.labels_fingerprint = labels_fingerprint(split)
    split.expected_items = sum(spec.scored for spec in specs)
    split.save()
    parts = release.splits.order_by("name").values_list("name", "fingerprint")
    release.fingerprint = hashlib.sha256(json.dumps([list(part) for part in parts]).encode()).hexdigest()
    release.save(update_fields=["fingerprint"])
    return split


def _write_items(
    release: Release, split: Split, new: Sequence[ItemSpec], linked: Sequence[ItemSpec], specs: Sequence[ItemSpec]
) -> None:
    """`new` items come into being, `linked` ones get their facets, `specs` are the split in order."""
    for start in range(0, len(new), 500):  # not all objects at once
        Item.objects.bulk_create(
            Item(
                release=release, key=spec.key, case=spec.case, cluster=spec.cluster, gold=spec.gold, scored=spec.scored
            )
            for spec in new[start : start + 500]
        )
    _link_facets(release, linked)
    ids = dict(release.items.values_list("key", "pk"))
    split_rows = [(split.pk, ids[spec.key], position) for position, spec in enumerate(specs)]
    SplitItem.objects.filter(split=split).delete()
    insert_rows(SplitItem, ("split_id", "item_id", "position"), split_rows)


def _add_dimensions(release: Release, specs: Sequence[ItemSpec]) -> None:
    """Facets of dimensions that the code did not have when the release was loaded."""
    have = set(release.facets.filter(labelling=None).values_list("dimension", flat=True))
    new = {dimension for spec in specs for dimension, _ in spec.facets} - have
    if new:
        _link_facets(release, [replace(s, facets=tuple(pair for pair in s.facets if pair[0] in new)) for s in specs])


def _link_facets(release: Release, linked: Sequence[ItemSpec]) -> None:
    wanted = {pair for spec in linked for pair in spec.facets}
    release.labellings.filter(dimension__in={dimension for dimension, _ in wanted}).delete()  # gold goes first
    have = {(facet.dimension, facet.name): facet.pk for facet in release.facets.all()}
    made = [Facet(release=release, dimension=pair[0], name=pair[1]) for pair in sorted(wanted - set(have))]
    Facet.objects.bulk_create(made, batch_size=500)
    have = {(facet.dimension, facet.name): facet.pk for facet in release.facets.all()}
    ids = dict(release.items.values_list("key", "pk"))
    links = [(ids[spec.key], have[pair]) for spec in linked for pair in dict.fromkeys(spec.facets)]
    insert_rows(Item.facets.through, ("item_id", "facet_id"), links)


def load_items(split: Split) -> SplitItems:
    """A split's items in canonical order, with their facets. Three queries, whatever the size."""
    facets: dict[tuple[int, bool], list[tuple[str, str]]] = {}
    links = Item.facets.through.objects.filter(item__splits=split).order_by("pk")
    fields = ("item_id", "facet__dimension", "facet__name", "facet__labelling_id")
    shared: dict[tuple[str, str], tuple[str, str]] = {}
    for item_id, dimension, name, labelling in links.values_list(*fields).iterator(chunk_size=500):
        pair = (dimension, name)
        facets.setdefault((item_id, labelling is not None), []).append(shared.setdefault(pair, pair))
    specs: list[ItemSpec] = []
    ids: dict[str, int] = {}
    rows = SplitItem.objects.filter(split=split).order_by("position")
    told = ("item_id", "item__key", "item__case", "item__cluster", "item__gold", "item__scored")
    for pk, key, case, cluster, answer, scored in rows.values_list(*told).iterator(chunk_size=500):
        ids[key] = pk
        gold, labels = (tuple(facets.get((pk, own), ())) for own in (False, True))
        specs.append(ItemSpec(key, case, cluster, answer, gold, scored, labels))
    return SplitItems(split, specs, ids)
