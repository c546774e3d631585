"""The items that a run is measured against: from gold at hand, else from what is loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.items import GoldDiffers, SplitItems, check_split, load_items, store_split
from evaluation.labels import built_in
from evaluation.models import Benchmark, Release, Split
from evaluation.protocols.llmeval_med import items as scored_items
from ingest import documents
from ingest.context import CannotIngest, Context, this_host
from ingest.gold import GoldFile, GoldShelf
from ingest.labelling import Labeller
from ingest.labels import LabelsError
from ingest.models import GoldPlace
from ingest.readers.base import FileContent, printable
from ingest.select import Chosen, Seen


@dataclass(slots=True)
class FoundItems:
    """The items of a split, or the reason why its runs cannot be loaded."""

    items: SplitItems | None
    reason: str = ""


@dataclass
class ItemBook:
    """Finds the items of each (benchmark, release, split) once. `scored_files` are the selected LLMEval-Med files."""

    context: Context
    shelf: GoldShelf
    scored_files: Sequence[Seen]
    _splits: dict[tuple[str, str, str], FoundItems] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.labeller = Labeller(self.context.labels, self.context.report)

    def check_labels(self, chosen: Iterable[Chosen]) -> None:
        """Raises CannotIngest where labels do not fit the items of the chosen runs, as far as gold and tables tell."""
        if not self.context.labels:
            return
        items: dict[str, set[str]] = {}
        own: dict[str, set[str]] = {}
        for slug in sorted({one.benchmark for one in chosen}):
            loaded = Release.objects.filter(benchmark__slug=slug)
            items[slug] = set(loaded.values_list("items__key", flat=True))
            own[slug] = {"overall", *BENCHMARKS[slug].dimensions}.union(*map(built_in, loaded))
            for gold in self.shelf.files:
                if gold.benchmark == slug:
                    with contextlib.suppress(ValueError, OSError):  # told where the gold is needed
                        specs = gold.items()
                        items[slug] |= {spec.key for spec in specs}
                        own[slug] |= {dimension for spec in specs for dimension, _ in spec.facets}
        try:
            self.labeller.check(items, own)
        except LabelsError as error:
            raise CannotIngest(str(error)) from error

    def has_gold_for(self, benchmark: str) -> bool:
        return any(gold.benchmark == benchmark for gold in self.shelf.files)

    def items(self, chosen: Chosen, release: str, contents: Sequence[FileContent] | None) -> FoundItems:
        """The split of a run: made from gold at hand, else the loaded one; for LLMEval-Med else from the scored files."""
        key = (chosen.benchmark, release, chosen.split)
        if key not in self._splits:
            # runs come split by split: one split's items are enough to hold
            self._splits = {old: found for old, found in self._splits.items() if found.items is None}
            self._splits[key] = self._find_items(chosen, release, contents)
        return self._splits[key]

    def _find_items(self, chosen: Chosen, release: str, contents: Sequence[FileContent] | None) -> FoundItems:
        benchmark = Benchmark.objects.get(slug=chosen.benchmark)
        spec = BENCHMARKS[chosen.benchmark]
        loaded = Split.objects.filter(release__benchmark=benchmark, release__name=release, name=chosen.split).first()
        ids = None
        if chosen.benchmark == "liveclin" and contents is not None:
            ids = {item for content in contents for item in content.rows.answers.ids}
        elif chosen.benchmark == "liveclin" and loaded is not None:
            ids = set(loaded.items.values_list("key", flat=True))
        try:
            gold = self.shelf.choose(chosen.benchmark, release, chosen.split, ids)
            specs = gold.items() if gold else []
            if gold:
                gold.forget()
        except (ValueError, OSError) as error:
            self.context.report.find("error", "bad_gold", chosen.path, str(error))
            return FoundItems(None, "no_gold")
        if gold is not None:
            return self._store(benchmark, release, chosen, specs, gold.path, spec, gold)
        if loaded is not None and not loaded.gold_missing:
            return FoundItems(self._labelled(loaded))
        if chosen.benchmark == "llmeval-med":
            return self._items_from_scored_files(benchmark, release, chosen)
        others = [gold.path for gold in self.shelf.files if gold.benchmark == chosen.benchmark]
        at_hand = f" (at hand, but not for it: {', '.join(others)})" if others else ""
        message = f"no gold for {chosen.benchmark} {release} {chosen.split}{at_hand}: give it with --gold"
        self.context.report.find("error", "gold_missing", chosen.path, message)
        return FoundItems(None, "no_gold")

    def _items_from_scored_files(self, benchmark: Benchmark, release: str, chosen: Chosen) -> FoundItems:
        message = "the dataset was not given: items come from the scored files, and the runs are not ranked (--gold)"
        scored = []
        for seen in self.scored_files:
            try:
                scored.append(documents.loads(documents.read_whole(seen.entry.real)))
            except (ValueError, OSError) as error:
                self.context.report.find("error", "bad_json", seen.path, str(error))
        self.context.report.find("warning", "gold_missing", chosen.path, message)
        try:
            # only what identifies an item: answers and scores differ between the files and are no gold
            specs = scored_items(*scored, problems=[])
        except ValueError as error:
            self.context.report.find("error", "bad_gold", chosen.path, str(error))
            return FoundItems(None, "no_gold")
        return self._store(benchmark, release, chosen, specs, chosen.path, BENCHMARKS["llmeval-med"], None)

    def _store(
        self,
        benchmark: Benchmark,
        release: str,
        chosen: Chosen,
        specs: list,
        path: str,
        spec: BenchmarkSpec,
        gold: GoldFile | None,
    ) -> FoundItems:
        gold_missing = gold is None
        published = self.context.config.expected(chosen.benchmark, chosen.split) or spec.sizes.get(chosen.split)
        size = sum(item.scored for item in specs)
        if published is not None and size != published and not gold_missing:
            message = f"the gold holds {size} expected items, {published} are published for split {chosen.split}"
            self.context.report.find("warning", "split_size", path, message)
        rankable = not gold_missing and not chosen.split.startswith(("smoke", "demo")) and release != "demo"
        try:
            if self.context.options.dry_run:
                check_split(benchmark, release, chosen.split, specs)
                split = Split(release=Release(benchmark=benchmark, name=release), name=chosen.split, rankable=rankable)
                split.expected_items = size
                self.labeller.meet(chosen.benchmark, (item.key for item in specs))
                return FoundItems(SplitItems(split, specs, {item.key: 0 for item in specs}))
            split = store_split(benchmark, release, chosen.split, specs, rankable=rankable, gold_missing=gold_missing)
        except GoldDiffers as error:
            self.context.report.find("error", "gold_differs", path, str(error))
            return FoundItems(None, "no_gold")
        except ValueError as error:
            self.context.report.find("error", "bad_gold", path, str(error))
            return FoundItems(None, "no_gold")
        if gold is not None:
            _keep_place(split, gold)
        return FoundItems(self._labelled(split))

    def _labelled(self, split: Split) -> SplitItems:
        self.label(split)
        return load_items(split)

    def label(self, split: Split) -> None:
        """Put the labels of this pass on a stored split."""
        if self.context.options.dry_run:
            self.labeller.meet(split.release.benchmark.slug, split.items.values_list("key", flat=True))
        else:
            self.labeller.put_on(split)


def _keep_place(split: Split, gold: GoldFile) -> None:
    """What was counted in the gold, and where pages find it again. The last reading counts, of whichever copy."""
    counts = gold.counts()
    if split.gold_counts != counts:
        split.gold_counts = counts
        split.save(update_fields=["gold_counts"])
    GoldPlace.objects.update_or_create(
        split=split,
        host=this_host(),
        defaults={
            "path": printable(gold.path),
            "place": printable(gold.real),
            "size": gold.size,
            "modified_at": gold.modified_at,
            "sha256": gold.sha256,
        },
    )
