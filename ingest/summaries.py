"""Stored summaries: what a scorer once wrote beside a run, set against what the items give."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.protocols.base import Aggregate
from ingest import documents
from ingest.readers.base import FileContent, printable
from ingest.select import Chosen, Seen

# JSON summaries are unrounded; LiveClin's are rounded to 4 decimals.
EXACT, FOUR_DECIMALS = 1e-9, 5e-5 + 1e-12
Figure = tuple[str, float, str, str, str, str]  # name, theirs, metric, variant, dimension, facet
Ours = Mapping[tuple[str, str, str, str], float | None]


@dataclass(slots=True)
class Comparison:
    """`rows` holds [figure, theirs, ours]; `agrees` is None where nothing of ours can be compared."""

    path: str
    form: str
    rows: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def largest_difference(self) -> float | None:
        return max((abs(theirs - ours) for _, theirs, ours in self.rows), default=None)

    @property
    def agrees(self) -> bool | None:
        largest = self.largest_difference
        if largest is None:
            return None
        return largest <= (FOUR_DECIMALS if self.form == "liveclin" else EXACT)


def overall_scores(aggregates: Iterable[Aggregate]) -> dict[tuple[str, str, str, str], float | None]:
    """(metric, variant, dimension, facet) -> value over all repeats, or of the only repeat."""
    table: dict[tuple[str, str, str, str], float | None] = {}
    for row in sorted(aggregates, key=lambda row: row.repeat is None):
        table[row.metric, row.variant, row.dimension, row.facet] = row.value
    return table


def compare(path: str, form: str, document: Any, ours: Ours, task_names: Mapping[str, str]) -> Comparison:
    """Set each figure of a summary beside ours. `task_names` maps a task as rows spell it to the gold's spelling."""
    figures = _FORMS.get(form)
    comparison = Comparison(path, form)
    if figures is None or not isinstance(document, dict):
        return comparison
    for name, theirs, metric, variant, dimension, facet in figures(document):
        if dimension == "task":
            facet = task_names.get(facet, facet)
        value = ours.get((metric, variant, dimension, facet))
        # NaN, infinite and endless numbers are no figures
        is_figure = isinstance(theirs, (int, float)) and not isinstance(theirs, bool) and abs(theirs) < 1e300
        if is_figure and value is not None:
            comparison.rows.append((printable(name), float(theirs), value))
    return comparison


def _block(name: str, block: Any, variant: str, dimension: str, facet: str) -> Iterator[Figure]:
    # an entry without rows is printed as 0.0 by the public scorer and is no figure
    if isinstance(block, dict) and block.get("completed", block.get("total", 1)):
        for metric in ("f1", "precision", "recall"):
            if metric in block:
                yield f"{name} {metric}".strip(), block[metric], metric, variant, dimension, facet


def _text(document: dict[str, Any]) -> Iterator[Figure]:
    yield from _block("overall", document.get("overall"), "done_only", "overall", "")
    for key, dimension in (("per_task", "task"), ("per_task_type", "task_type")):
        blocks = document.get(key)
        for facet, block in blocks.items() if isinstance(blocks, dict) else ():
            yield from _block(facet, block, "done_only", dimension, facet)


def _old_flat(document: dict[str, Any]) -> Iterator[Figure]:
    # the old scorer kept a missing question in the denominator
    for facet, block in document.items():
        yield from _block(facet, block, "", "task", facet)


def _diagnoses(document: dict[str, Any]) -> Iterator[Figure]:
    names = {"f1_score": "f1", "precision": "precision", "recall": "recall", "exact_match": "exact_match"}
    by_task = document.get("by_task")
    for facet, block in by_task.items() if isinstance(by_task, dict) else ():
        averages = block.get("avg") if isinstance(block, dict) else None
        for theirs, metric in names.items():
            if isinstance(averages, dict) and theirs in averages:
                yield f"{facet} {metric}", averages[theirs], metric, "done_only", "task", facet


def _liveclin(document: dict[str, Any]) -> Iterator[Figure]:
    accuracies = ("case_accuracy", "question_accuracy")
    yield from ((name, document[name], name, "done_only", "overall", "") for name in accuracies if name in document)
    groups = (
        ("by_rarity", "rarity", accuracies, "done_only"),
        ("by_chapter", "icd_chapter", accuracies, "done_only"),
        ("by_stage", "stage", accuracies[1:], "done_only"),
        ("by_position", "position", accuracies[1:], "done_only"),
        ("by_image_modality", "image_modality", accuracies[1:], "per_figure"),
        ("by_table_modality", "table_modality", accuracies[1:], "per_figure"),
    )
    for key, dimension, metrics, variant in groups:
        blocks = document.get(key)
        for facet, block in blocks.items() if isinstance(blocks, dict) else ():
            for metric in metrics:
                if isinstance(block, dict) and metric in block:
                    yield f"{facet} {metric}", block[metric], metric, variant, dimension, facet


_FORMS = {
    "newest": _text,
    "middle": _text,
    "old_flat": _old_flat,
    "diagnoses": _diagnoses,
    "liveclin": _liveclin,
}


class Summaries:
    """The summary files of a tree, each with the run that it stands beside."""

    def __init__(self, beside: dict[str, list[Seen]]):
        self._beside = beside

    @classmethod
    def beside(cls, chosen: Iterable[Chosen], seen: Iterable[Seen]) -> Summaries:
        """Find the run of each summary; one physical file counts once, by its path in the run's own folder if it has one."""
        runs = [run for run in chosen if not run.archived]
        found: dict[str, dict[str, Seen]] = {}
        for one in seen:
            if one.kind.name != "summary" or one.entry.archived:
                continue
            run = next((run for run in runs if belongs_to(one, run)), None)
            if run is None:
                continue
            files = found.setdefault(run.path, {})
            if one.entry.real not in files or posixpath.dirname(one.path) == posixpath.dirname(run.path):
                files[one.entry.real] = one
        return cls({path: list(files.values()) for path, files in found.items()})

    def of(self, chosen: Chosen) -> list[Seen]:
        return self._beside.get(chosen.path, [])

    def compare(
        self,
        chosen: Chosen,
        contents: Iterable[FileContent],
        aggregates: Iterable[Aggregate],
        task_names: Mapping[str, str],
    ) -> tuple[list[Comparison], list[tuple[str, str]]]:
        """All summaries of a run set against its aggregates, and (path, why) of those that could not be read."""
        ours = overall_scores(aggregates)
        compared = [
            compare(content.entry.path, "liveclin", content.about["summary"], ours, {})
            for content in contents
            if content.about.get("summary")
        ]
        unread = []
        for one in self.of(chosen):
            try:
                document = documents.loads(documents.read_whole(one.entry.real))
            except (ValueError, OSError) as error:
                unread.append((one.path, str(error)))
                continue
            compared.append(compare(one.path, one.kind.about["form"], document, ours, task_names))
        return compared, unread


def belongs_to(summary: Seen, run: Chosen) -> bool:
    """A summary belongs to the run of its own folder, by logical or physical path, or lies in `<mode>/scored/<model>/`."""
    file = run.files[0][0]
    if posixpath.dirname(summary.path) == posixpath.dirname(run.path):
        return True
    if posixpath.dirname(summary.entry.physical) == posixpath.dirname(file.entry.physical):
        return True
    parts = summary.path.split("/")
    if len(parts) < 4 or parts[-3] != "scored":
        return False
    return (parts[-4], parts[-2]) == (run.mode, run.model) and run.path.startswith("/".join([*parts[:-3], ""]))
