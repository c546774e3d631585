"""The labels of one ingest: checked against all items at hand before anything is loaded, then put on each release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evaluation.labels import BuiltIn, store_labels
from evaluation.models import Split
from ingest.labels import LabelsError, LabelsFile, Problem
from ingest.report import Report

EXAMPLES = 5


class Labeller:
    """Puts the labels of `files` on the releases of a pass, and remembers which items were met."""

    def __init__(self, files: Sequence[LabelsFile], report: Report) -> None:
        self.files = files
        self.report = report
        self._done: set[int] = set()
        self._met: dict[str, set[str]] = defaultdict(set)  # benchmark -> keys of its items
        self._set: dict[tuple[str, str], tuple[set[tuple[str, str]], list[LabelsFile]]] = {}

    def check(self, items: Mapping[str, set[str]], built_in: Mapping[str, set[str]]) -> None:
        """Raises LabelsError where a line names an item of two benchmarks or a dimension that a benchmark has already.

        Both arguments are by benchmark: the keys of its items, and its own dimensions.
        """
        for file in self.files:
            problems: list[Problem] = []
            for label in file.labels:
                owners = [slug for slug in items if file.benchmark in (None, slug) and label.item in items[slug]]
                if len(owners) > 1:
                    told = (
                        f"is {label.item!r}, an item of {' and of '.join(owners)}: say which, --labels {owners[0]}=FILE"
                    )
                    problems.append((label.line, "item", told))
                for slug in owners or ([file.benchmark] if file.benchmark else []):
                    if label.dimension in built_in.get(slug, {"overall"}):
                        told = f"is {label.dimension!r}, which {slug} has already: give it another name"
                        problems.append((label.line, "dimension", told))
            if problems:
                raise LabelsError(file.name, problems)

    def meet(self, benchmark: str, keys: Iterable[str]) -> None:
        """Items of a split of this pass, whose labels cannot be written (a dry run)."""
        self._met[benchmark].update(keys)

    def put_on(self, split: Split) -> None:
        """Own dimensions of the split's release become what the files say; `split` gets its new fingerprint."""
        if not self.files:
            return
        release = split.release
        if split.pk in self._done:
            split.refresh_from_db(fields=["labels_fingerprint"])
            return
        self._done.add(split.pk)
        benchmark = release.benchmark.slug
        keys = set(release.items.values_list("key", flat=True))
        self.meet(benchmark, keys)
        for dimension, (pairs, files) in self._about(benchmark, keys).items():
            source = [(file.name, file.sha256) for file in files]
            try:
                store_labels(release, dimension, pairs, source)
            except BuiltIn as error:
                self.report.find("error", "bad_labels", files[0].name, f"{error}: its labels were not taken")
                continue
            self._set[f"{benchmark} {release.name}", dimension] = pairs, files
        split.refresh_from_db(fields=["labels_fingerprint"])

    def tell(self) -> None:
        """What was set, and which items of the files are in no split of this pass, as findings."""
        for (release, dimension), (pairs, files) in self._set.items():
            items, facets = ({pair[side] for pair in pairs} for side in (0, 1))
            text = f"sets {dimension!r} on {len(items):,} items of {release}: {len(facets):,} facets"
            for file in files:
                self.report.find("info", "labels", file.name, f"{text} (sha256 {file.sha256})")
        for file in self.files:
            met = self._met[file.benchmark] if file.benchmark else set().union(*self._met.values())
            named = dict.fromkeys(label.item for label in file.labels)
            unknown = [item for item in named if item not in met]
            if unknown:
                examples = ", ".join(map(repr, unknown[:EXAMPLES])) + (", ..." if len(unknown) > EXAMPLES else "")
                where = f"{file.benchmark} in this tree" if file.benchmark else "this tree"
                text = f"{len(unknown):,} of {len(named):,} items are in no split of {where}: {examples}"
                self.report.find("warning", "unknown_labels", file.name, text)

    def _about(self, benchmark: str, keys: set[str]) -> dict[str, tuple[set[tuple[str, str]], list[LabelsFile]]]:
        """dimension -> (item, facet) pairs of known items, and the files that say so."""
        found: dict[str, tuple[set[tuple[str, str]], list[LabelsFile]]] = {}
        for file in self.files:
            if file.benchmark not in (None, benchmark):
                continue
            for label in file.labels:
                if label.item in keys:
                    pairs, files = found.setdefault(label.dimension, (set(), []))
                    pairs.add((label.item, label.facet))
                    if file not in files:
                        files.append(file)
        return found
