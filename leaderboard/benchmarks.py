"""The page of a benchmark and of one release: what it is, and its sizes counted from what is loaded beside each source's figure.

Public facts, and of releases and splits only those that have a board which the person may see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.db.models import Count, F, Q
from django.urls import reverse

from evaluation.benchmarks import BenchmarkSpec
from evaluation.benchmarks.about import StatedSize
from evaluation.models import Item, Split, SplitItem
from leaderboard.models import Board
from leaderboard.tables import Cell, Column, Group, Row, Table
from leaderboard.words import INVENTED, board_subtitle

if TYPE_CHECKING:
    from evaluation.querysets import Person

UNCOUNTED = "the gold was read before this was counted: ingest it again"
KEPT = 3600  # seconds; a split's items change only with its fingerprint, its facets also with the code


@dataclass(frozen=True)
class Counts:
    """What is loaded of a split. `facets`: dimension -> facet -> (items, cases); `fits`: items that pass each gold check;
    `gold`: what was counted in the gold file when it was read.
    """

    items: int = 0
    scored: int = 0
    cases: int = 0
    clusters: int = 0
    facets: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    fits: dict[str, int] = field(default_factory=dict)
    gold: dict[str, int] = field(default_factory=dict)

    def of(self, how: tuple[str, ...]) -> int | None:
        """What `StatedSize.count` asks for; None where loaded items cannot tell. A dimension that is not there tells nothing."""
        if not how:
            return None
        what, *place = how
        if not place:
            return int(getattr(self, what))
        if what == "gold":
            return self.gold.get(place[0])
        facets = self.facets.get(place[0])
        if facets is None:
            return None
        if what == "facets":
            return len(facets)
        items, cases = facets.get(place[1], (0, 0))
        return items if what == "items" else cases


def benchmark_page(spec: BenchmarkSpec, user: Person) -> dict[str, Any]:
    """The context of the page: sizes of the release that the sources are about, and every release with a board. 5 queries."""
    boards = _boards(spec, user)
    releases: dict[str, list[Board]] = {}
    for board in boards:
        releases.setdefault(board.split.release.name, []).append(board)
    counts = count_splits(_splits(releases.get(spec.about.release, ())), spec)
    return {
        **_about(spec),
        "sizes": sizes_table(spec, spec.about.sizes, counts),
        "releases": [
            {
                "name": name,
                "href": _release_href(spec, name),
                "invented": name == INVENTED,
                "newest": spec.newest_questions.get(name, ""),
                "splits": _splits(found),
                "boards": _named(found),
            }
            for name, found in releases.items()
        ],
        "crumbs": [("Boards", reverse("home")), (spec.name, "")],
    }


def release_page(spec: BenchmarkSpec, name: str, user: Person) -> dict[str, Any] | None:
    """The context of the page of one release; None where no board of it is for this person. 5 queries."""
    boards = [board for board in _boards(spec, user) if board.split.release.name == name]
    if not boards:
        return None
    splits = _splits(boards)
    counts = count_splits(splits, spec)
    stated = spec.about.sizes if name == spec.about.release else ()
    return {
        **_about(spec),
        "release": name,
        "invented": name == INVENTED,
        "newest": spec.newest_questions.get(name, ""),
        "boards": _named(boards),
        "splits": [
            {
                "split": split,
                "facts": _counted(split, counts[split.name], spec),
                "checks": gold_checks(split, counts[split.name], spec),
                "dimensions": dimensions_table(split, counts[split.name], spec),
                "sizes": sizes_table(spec, [size for size in stated if size.split == split.name], counts),
            }
            for split in splits
        ],
        "crumbs": [("Boards", reverse("home")), (spec.name, reverse("benchmark", args=[spec.slug])), (name, "")],
    }


def _boards(spec: BenchmarkSpec, user: Person) -> list[Board]:
    found = Board.objects.visible_to(user).with_benchmark().filter(split__release__benchmark__slug=spec.slug)
    return sorted(found, key=lambda board: (board.split.release.name == INVENTED, board.slug))


def _splits(boards: Iterable[Board]) -> list[Split]:
    """The splits of the boards, the ranked ones first."""
    found = {board.split_id: board.split for board in boards}
    return sorted(found.values(), key=lambda split: (not split.rankable, split.name))


def _named(boards: Iterable[Board]) -> list[tuple[str, str]]:
    return [(board_subtitle(board), board.get_absolute_url()) for board in boards]


def _release_href(spec: BenchmarkSpec, name: str) -> str:
    return reverse("release", args=[spec.slug, name])


def _about(spec: BenchmarkSpec) -> dict[str, Any]:
    return {"spec": spec, "about": spec.about, "how_href": reverse("how", args=[spec.slug])}


# --- counting ---------------------------------------------------------------------------------------------------------


def count_splits(splits: Iterable[Split], spec: BenchmarkSpec) -> dict[str, Counts]:
    """split name -> what is loaded of it. Three queries for all that are not counted yet; a split without items counts 0."""
    wanted = list(splits)
    known = {split.name: cache.get(_key(split, spec)) for split in wanted}
    new = [split for split in wanted if known[split.name] is None]
    for split, counts in zip(new, _count(new, spec), strict=True):
        cache.set(_key(split, spec), counts, KEPT)
        known[split.name] = counts
    return known


def _key(split: Split, spec: BenchmarkSpec) -> str:
    asked = [*spec.dimensions, *(check.name for check in spec.about.gold_checks)]
    content = json.dumps([split.pk, split.fingerprint, split.gold_missing, split.gold_counts, asked])
    return "sizes:" + hashlib.sha256(content.encode()).hexdigest()


def _count(splits: list[Split], spec: BenchmarkSpec) -> list[Counts]:
    if not splits:
        return []
    places = SplitItem.objects.filter(split__in=splits)
    whole = {
        row["split"]: row
        for row in places.values("split")
        .order_by()
        .annotate(
            n=Count("pk"),
            scored=Count("pk", filter=Q(item__scored=True)),
            cases=Count("item__case", distinct=True),
            clusters=Count("item__cluster", distinct=True),
        )
    }
    facets: dict[int, dict[str, dict[str, tuple[int, int]]]] = {}
    links = Item.facets.through.objects.filter(
        item__splits__in=splits, facet__dimension__in=spec.dimensions, facet__labelling=None
    ).values_list("item__splits", "facet__dimension", "facet__name")
    counted = links.order_by().annotate(items=Count("item"), cases=Count("item__case", distinct=True))
    for split, dimension, name, items, cases in counted:
        facets.setdefault(split, {}).setdefault(dimension, {})[name] = (items, cases)
    checks = [check for check in spec.about.gold_checks if check.fits is not None]
    fits: dict[int, dict[str, int]] = {split.pk: {check.name: 0 for check in checks} for split in splits}
    if checks:
        for split, gold in places.values_list(F("split"), "item__gold").order_by().iterator(chunk_size=1000):
            for check in checks:
                fits[split][check.name] += bool(check.fits and check.fits(gold))
    none = {"n": 0, "scored": 0, "cases": 0, "clusters": 0}
    return [
        Counts(
            own["n"],
            own["scored"],
            own["cases"],
            own["clusters"],
            facets.get(split.pk, {}),
            fits.get(split.pk, {}),
            split.gold_counts,
        )
        for split in splits
        for own in [whole.get(split.pk, none)]
    ]


# --- tables -----------------------------------------------------------------------------------------------------------


def sizes_table(spec: BenchmarkSpec, sizes: Iterable[StatedSize], counts: dict[str, Counts]) -> Table | None:
    """Each source's figure beside what is counted; None where no source gives a size. Where sources differ both stand there."""
    stated = list(sizes)
    if not stated:
        return None
    columns = (
        Column("what", "Size", "model"),
        Column("split", "Split", "text"),
        Column("stated", "Stated", "count"),
        Column("source", "By", "text"),
        Column(
            "counted",
            "Counted here",
            "count",
            help="From the items that are loaded, and the gold file when it was read.",
        ),
        Column("difference", "Difference", "count", help="Counted less stated."),
    )
    rows = []
    for place, size in enumerate(stated):
        own = counts.get(size.split)
        found = own.of(size.count) if own is not None and own.items else None
        why = (
            "loaded items do not keep it"
            if not size.count
            else "this split is not loaded here"
            if own is None or not own.items
            else UNCOUNTED
            if size.count[0] == "gold"
            else "the loaded items have no such dimension"
        )
        missing = Cell("–", note=why)
        rows.append(
            Row(
                str(place),
                (
                    Cell(size.what, sub=size.note),
                    Cell(size.split),
                    Cell(f"{size.value:,}", value=size.value),
                    Cell(size.source),
                    missing if found is None else Cell(f"{found:,}", value=found),
                    missing if found is None else _difference(found - size.value),
                ),
                "all",
            )
        )
    notes = []
    if not any(own.items for own in counts.values()):
        notes.append("No items of this release are loaded here, so nothing could be counted.")
    if any(not size.count for size in stated):
        notes.append("Loaded items keep neither pictures nor the pool that questions were drawn from.")
    if ("gold", "images") in (size.count for size in stated):
        notes.append("An image is counted once a case that names its file, a table each time that it is shown.")
    return Table(
        "sizes",
        f"Sizes of {spec.name} {spec.about.release}",
        "",
        columns,
        tuple(rows),
        (Group("all", ""),),
        notes=tuple(notes),
    )


def _difference(number: int) -> Cell:
    return Cell(f"{number:+,}".replace("-", "−") if number else "0", value=number)


def dimensions_table(split: Split, counts: Counts, spec: BenchmarkSpec) -> Table | None:
    """What the split can be broken down by: facets of each dimension, and how many items carry none of them."""
    rows = [
        Row(
            dimension,
            (
                Cell(name, sub=dimension),
                Cell(f"{len(facets):,}", value=len(facets)),
                Cell(_largest(facets)),
            ),
            "all",
        )
        for dimension, name in spec.dimensions.items()
        if (facets := counts.facets.get(dimension))
    ]
    if not rows:
        return None
    columns = (
        Column("dimension", "Dimension", "model"),
        Column("facets", "Facets", "count"),
        Column("largest", f"Largest facet, its {spec.item_word}s", "text"),
    )
    title = f"Dimensions of {split.name}"
    return Table(f"dimensions-{split.pk}", title, "", columns, tuple(rows), (Group("all", ""),))


def _largest(facets: dict[str, tuple[int, int]]) -> str:
    name, (items, _) = max(facets.items(), key=lambda pair: (pair[1][0], pair[0]))
    return f"{name}, {items:,}"


def _counted(split: Split, counts: Counts, spec: BenchmarkSpec) -> list[tuple[str, str]]:
    facts = [(f"{spec.item_word.capitalize()}s", f"{counts.items:,}"), ("In the denominator", f"{counts.scored:,}")]
    if spec.unit == "case":
        facts.append(("Cases", f"{counts.cases:,}"))
    else:
        facts.append((f"{spec.unit.capitalize()}s", f"{counts.clusters:,}"))
    published = spec.sizes.get(split.name)
    if published is not None:
        facts.append(("Published denominator", f"{published:,}"))
    facts.append(("Ranked", "yes" if split.rankable else "no: for trials"))
    return facts


def gold_checks(split: Split, counts: Counts, spec: BenchmarkSpec) -> list[tuple[str, str, str]]:
    """(point, state, words) of each check of the split's gold."""
    if split.gold_missing:
        return [(check.name, "not checked", "the gold was not given") for check in spec.about.gold_checks]
    found = []
    for check in spec.about.gold_checks:
        n, of, words = counts.fits.get(check.name, 0), counts.items, f"{spec.item_word}s"
        if check.counted:
            if not set(check.counted) <= set(counts.gold):
                found.append((check.name, "not checked", UNCOUNTED))
                continue
            n, of, words = *(counts.gold[name] for name in check.counted), check.words
        state = "not checked" if not counts.items else "met" if n == of else "not met"
        found.append((check.name, state, f"{n:,} of {of:,} {words}"))
    return found
