"""Items of a split: written once, read back in order, changed only where scored files stood for the dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.facts import insert_rows
from evaluation.items import GoldDiffers, check_split, gold_fingerprint, load_items, store_split
from evaluation.models import Benchmark, Facet, Item, Release, Score, Split, SplitItem
from evaluation.protocols.base import ItemSpec
from tests.ingest.trees import tables

pytestmark = pytest.mark.django_db

SPECS = [
    ItemSpec("q2", "case", "p1", ["Beta", {"name": "x", "n": 1.5}], (("task", "t1"), ("kind", "k"))),
    ItemSpec("q1", "case", "p1", "yes", (("task", "t1"), ("task", "t2"))),
    ItemSpec("q3", "q3", "p2", None, (), scored=False),
]


@pytest.fixture
def benchmark() -> Benchmark:
    return Benchmark.objects.get(slug="ehr-bench")


def store(benchmark: Benchmark, specs: list[ItemSpec], split: str = "full", release: str = "v1", **more: Any) -> Split:
    return store_split(benchmark, release, split, specs, rankable=True, **more)


def test_items_come_back_as_they_went_in_and_in_order(benchmark: Benchmark) -> None:
    split = store(benchmark, SPECS)
    found = load_items(split)
    assert found.specs == SPECS
    assert list(found.ids) == ["q2", "q1", "q3"]
    assert {Item.objects.get(pk=pk).key for pk in found.ids.values()} == {"q1", "q2", "q3"}
    assert (split.expected_items, split.rankable, split.gold_missing) == (2, True, False)
    assert split.fingerprint == gold_fingerprint(SPECS)


def test_reading_costs_the_same_number_of_queries_whatever_the_size(benchmark: Benchmark) -> None:
    counts = []
    for name, size in (("small", 2), ("large", 300)):
        specs = [ItemSpec(f"{name}{n}", "c", "p", "x", (("task", f"t{n % 7}"), ("more", "m"))) for n in range(size)]
        split = store(benchmark, specs, split=name)
        with CaptureQueriesContext(connection) as queries:
            assert load_items(split).specs == specs
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 3


def test_the_same_again_writes_nothing_in_any_order(benchmark: Benchmark) -> None:
    store(benchmark, SPECS)
    before = tables()
    assert store(benchmark, SPECS[::-1]).expected_items == 2
    assert tables() == before


def test_splits_of_a_release_share_items(benchmark: Benchmark) -> None:
    store(benchmark, SPECS)
    smoke = store(benchmark, SPECS[1:2], split="smoke20")
    assert Item.objects.count() == 3 and SplitItem.objects.count() == 4
    assert [spec.key for spec in load_items(smoke).specs] == ["q1"]
    assert Release.objects.get().splits.count() == 2


def test_the_same_id_in_another_release_is_another_item(benchmark: Benchmark) -> None:
    store(benchmark, SPECS)
    store(benchmark, [replace(SPECS[1], gold="no")], release="v2")
    assert sorted(Item.objects.filter(key="q1").values_list("release__name", "gold")) == [("v1", "yes"), ("v2", "no")]


OTHER = [
    [replace(SPECS[0], gold=["Beta"]), *SPECS[1:]],
    SPECS[:2],
    [*SPECS, ItemSpec("q4", "q4", "p", "x")],
    [SPECS[0], replace(SPECS[1], scored=False), SPECS[2]],
    [replace(SPECS[0], key="Q2"), *SPECS[1:]],
]


@pytest.mark.parametrize("specs", OTHER)
def test_other_gold_under_the_same_name_is_refused(benchmark: Benchmark, specs: list[ItemSpec]) -> None:
    store(benchmark, SPECS)
    before = tables()
    for refuse in (check_split, store_split):
        rankable = {} if refuse is check_split else {"rankable": True}
        with pytest.raises(GoldDiffers, match="--release"):
            refuse(benchmark, "v1", "full", specs, **rankable)  # type: ignore[operator]
    assert tables() == before
    assert gold_fingerprint(specs) != gold_fingerprint(SPECS)


def test_other_gold_in_another_split_is_refused_with_the_items_name(benchmark: Benchmark) -> None:
    store(benchmark, SPECS)
    with pytest.raises(GoldDiffers, match="'q1'"):
        store(benchmark, [replace(SPECS[1], gold="no")], split="smoke20")
    assert not Split.objects.filter(name="smoke20").exists()


def test_no_items_are_no_split(benchmark: Benchmark) -> None:
    with pytest.raises(ValueError, match="no items"):
        store(benchmark, [])
    assert not Release.objects.exists()


BAD = [
    ({"key": "k" * 301}, "301 characters"),
    ({"key": "a\0"}, r"U\+0000"),
    ({"case": "\ud800"}, r"U\+D800"),
    ({"cluster": "c" * 301}, "301 characters"),
    ({"facets": (("task", "t" * 501),)}, "501 characters"),
    ({"facets": (("task", "\udfff"),)}, r"U\+DFFF"),
    ({"gold": "a\0b"}, r"U\+0000"),
    ({"gold": [{"a": ["\udc00"]}]}, r"U\+DC00"),
    ({"gold": [{"\0": 1}]}, r"U\+0000"),
    ({"gold": [float("nan")]}, "cannot be stored"),
    ({"gold": float("inf")}, "cannot be stored"),
]


@pytest.mark.parametrize(("change", "told"), BAD, ids=[str(row[0])[:40] for row in BAD])
def test_what_no_database_stores_is_refused_alike_on_all(
    benchmark: Benchmark, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        store(benchmark, [SPECS[1], replace(SPECS[0], **change)])
    assert not Item.objects.exists()


def test_a_gold_nested_too_deeply_is_refused(benchmark: Benchmark) -> None:
    gold: list = []
    for _ in range(100_000):
        gold = [gold]
    with pytest.raises(ValueError, match="cannot be stored"):
        store(benchmark, [replace(SPECS[0], gold=gold)])


@pytest.mark.parametrize(
    "gold", ["🫀", "\\u0000", "a\tb\n", ["模型"], {"n": 10**25, "f": 0.1, "e": 1e-7}, True, 0, "", []]
)
def test_sound_gold_comes_back_equal(benchmark: Benchmark, gold: Any) -> None:
    specs = [replace(SPECS[0], gold=gold)]
    assert load_items(store(benchmark, specs)).specs == specs
    check_split(benchmark, "v1", "full", specs)
    store(benchmark, specs, split="another")


# --- scored files that stand for the dataset --------------------------------------------------------------------------

MADE = [replace(spec, gold=None) for spec in SPECS[:2]]


def test_gold_that_comes_later_keeps_the_rows_of_the_items(benchmark: Benchmark) -> None:
    before = load_items(store(benchmark, MADE, gold_missing=True))
    assert before.split.gold_missing
    after = load_items(store(benchmark, SPECS))
    assert after.specs == SPECS and not after.split.gold_missing
    assert {key: after.ids[key] for key in before.ids} == before.ids
    assert after.split.pk == before.split.pk


def test_facets_follow_the_gold_that_comes_later(benchmark: Benchmark) -> None:
    store(benchmark, [replace(MADE[1], facets=(("task", "old"),))], gold_missing=True)
    store(benchmark, [SPECS[1]])
    links = Item.facets.through.objects.values_list("facet__name", flat=True)
    assert sorted(links) == ["t1", "t2"]


def test_more_scored_files_widen_the_split(benchmark: Benchmark) -> None:
    before = load_items(store(benchmark, MADE[:1], gold_missing=True))
    after = load_items(store(benchmark, MADE, gold_missing=True))
    assert [spec.key for spec in after.specs] == ["q2", "q1"]
    assert after.ids["q2"] == before.ids["q2"]
    assert after.split.expected_items == 2


# --- bulk writing -----------------------------------------------------------------------------------------------------


def test_rows_are_written_as_they_are(benchmark: Benchmark) -> None:
    release = Release.objects.create(benchmark=benchmark, name="v1")
    texts = ["plain", "tab\tand\nlines", "\\N", "quote ' \" ;--", "🫀", "", "%s", "\x01"]
    insert_rows(Facet, ("release_id", "dimension", "name"), ((release.pk, "d", text) for text in texts))
    assert sorted(Facet.objects.values_list("name", flat=True)) == sorted(texts)


def test_no_rows_are_no_error() -> None:
    insert_rows(Score, ("evaluation_id", "metric"), iter(()))
    assert not Score.objects.exists()


def test_dimensions_new_to_the_code_are_added_to_items_that_are_there(benchmark: Benchmark) -> None:
    """The gold is the same, so nothing else changes; a facet of a known dimension is not added again."""
    old = store(benchmark, [replace(spec, facets=spec.facets[:1]) for spec in SPECS])
    new = [replace(spec, facets=(*spec.facets[:1], ("later", f"of {spec.key}"))) for spec in SPECS]
    split = store(benchmark, new)
    assert (split.pk, split.fingerprint) == (old.pk, old.fingerprint)
    assert load_items(split).specs == new
    assert store(benchmark, new) and load_items(split).specs == new
