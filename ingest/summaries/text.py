"""Summaries of the text scorers and of LiveClin: figure by figure beside the run's own scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.summaries.comparison import EXACT, FOUR_DECIMALS, Comparison, Recomputed, is_figure

Figure = tuple[str, float, str, str, str, str]  # name, theirs, metric, variant, dimension, facet


def compare(path: str, form: str, document: Any, ours: Recomputed) -> Comparison:
    """Set each figure of a summary beside ours; a form of which nothing is known compares nothing."""
    comparison = Comparison(path, form, tolerance=FOUR_DECIMALS if form == "liveclin" else EXACT)
    figures = _FORMS.get(form)
    if figures is None or not isinstance(document, dict):
        return comparison
    for name, theirs, metric, variant, dimension, facet in figures(document):
        if dimension == "task":
            facet = ours.task_names.get(facet, facet)
        value = ours.scores.get((metric, variant, dimension, facet))
        if is_figure(theirs) and value is not None:
            comparison.rows.append((name, float(theirs), value))
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
