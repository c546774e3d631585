"""MM-Bench with answers mapped to a vocabulary: `clinseek-mm-vocab-2026` and `clinseek-mm-summary-vocab-2026`."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evaluation.protocols.base import Answer, ItemSpec
from evaluation.protocols.clinseek_mm import Values, gold_names, prediction_set, set_values
from evaluation.protocols.clinseek_mm_means import MEANINGS, Gold
from evaluation.protocols.clinseek_mm_raw import ClinSeekMMRaw
from evaluation.protocols.encoder import Encoder

THRESHOLD = 0.55
SKIPPED = ("ehrxqa_table",)  # open answers, never mapped
Vocabulary = Mapping[str, Sequence[str]]  # task -> names in sorted order


def vocabulary(labels: Iterable[tuple[str, Any]]) -> Vocabulary:
    """task -> the names of its gold labels, sorted; a name that is null gives none, though a value may stand beside it."""
    found: dict[str, set[str]] = defaultdict(set)
    for task, label in labels:
        for entry in label if isinstance(label, list) else [label]:
            if task not in SKIPPED and not (isinstance(entry, dict) and entry.get("name") is None):
                found[task].update(gold_names([entry]))
    return {task: sorted(names) for task, names in found.items() if names}


def collapsed(texts: Iterable[str]) -> frozenset[str]:
    """Stripped, lower-cased, white space collapsed, empty ones dropped."""
    return prediction_set(" ".join(text.split()) for text in texts)


def nearest(texts: Sequence[str], names: Sequence[str], encode: Encoder) -> list[tuple[str, float]]:
    """(name, cosine similarity) of the nearest name of each text; of equally near ones the first."""
    likeness = encode(texts) @ encode(names).T
    best = likeness.argmax(1)
    return [(names[place], float(likeness[row, place])) for row, place in enumerate(best)]


def mapping(wanted: Mapping[str, Sequence[str]], words: Vocabulary, encode: Encoder) -> dict[tuple[str, str], str]:
    """(task, text) -> the nearest name where it is near enough; other texts stay as they are and stand in no entry."""
    found = {}
    for task, texts in wanted.items():
        if names := words.get(task):
            for text, (name, likeness) in zip(texts, nearest(texts, names, encode), strict=True):
                if likeness >= THRESHOLD:
                    found[task, text] = name
    return found


class ClinSeekMMVocab(ClinSeekMMRaw):
    """Evaluator `clinseek-mm-vocab-2026`: as `clinseek-mm-raw-2026`, but sets are compared after mapping.

    The vocabulary of a task is the union of the gold names in the run's own rows, as in the public scorer; a partial run
    has a smaller one. A string goes to its nearest name from similarity 0.55 on. The one-item rule stays the strict one.
    """

    name = "clinseek-mm-vocab-2026"
    metrics = MEANINGS | {
        "unified_f1": "Mean over all questions: set F1 of the mapped strings where gold has several items, 1 or 0 by the strict "
        "rule where it has one.",
        "len1_accuracy": "Share of right answers among the questions with one gold item, by the strict rule.",
        "len2plus_f1": "Set F1 of the mapped strings, mean over the questions with two or more gold items.",
    }
    description = (
        "Answers to questions with two or more gold items are mapped, string by string, to the nearest gold name of the same "
        "task in the run's own rows, by all-MiniLM-L6-v2 and from a cosine similarity of 0.55 on; ehrxqa_table is not "
        "mapped. White space is collapsed on both sides. All else is as in clinseek-mm-raw-2026: no judge, one gold item by "
        "the strict rule, missing questions count 0."
    )

    def __init__(self, dimensions: tuple[str, ...], encoder: Encoder) -> None:
        super().__init__(dimensions)
        self.encoder = encoder

    @property
    def fingerprint(self) -> str:
        content = json.dumps([self.name, self.description, self.dimensions, self.metrics, self.encoder.name, THRESHOLD])
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def missing(self) -> str:
        return self.encoder.missing

    def using(self, encoder: Encoder) -> ClinSeekMMVocab:
        return type(self)(self.dimensions, encoder)

    def _vocabulary(self, items: Sequence[ItemSpec], answers: Sequence[Answer]) -> Vocabulary:
        return vocabulary((str(answer.extra.task), answer.extra.label) for answer in answers)

    def _comparison(self, items: Sequence[ItemSpec], answers: Sequence[Answer]) -> Callable[[Gold, Answer], Values]:
        wanted: dict[str, dict[str, None]] = defaultdict(dict)
        for answer in answers:
            if answer.rule == "ok":
                wanted[str(answer.extra.task)].update(dict.fromkeys(answer.prediction))
        words = self._vocabulary(items, answers)
        near = mapping({task: list(texts) for task, texts in wanted.items() if texts}, words, self.encoder)

        def compare(gold: Gold, answer: Answer) -> Values:
            if gold.single is not None or answer.rule != "ok":
                return gold.values(answer)
            task = str(answer.extra.task)
            return set_values(
                collapsed(near.get((task, text), text) for text in answer.prediction), collapsed(gold.names)
            )

        return compare


class ClinSeekMMSummaryVocab(ClinSeekMMVocab):
    """Evaluator `clinseek-mm-summary-vocab-2026`: the vocabulary is that of the gold, as in the old re-scorer.

    In `done_only` the figures for one and for several gold items leave incomplete rows out, the unified ones do not.
    """

    name = "clinseek-mm-summary-vocab-2026"
    drops_incomplete = True
    description = (
        "As clinseek-mm-vocab-2026, with the gold names of all questions of the same task as vocabulary, so that a partial "
        "run is mapped like a full one. In variant done_only the figures for one and for two or more gold items leave "
        "incomplete rows out and the unified ones count them 0, as the old re-scorer prints them: only the unified figures "
        "compare between models."
    )

    def _vocabulary(self, items: Sequence[ItemSpec], answers: Sequence[Answer]) -> Vocabulary:
        return vocabulary((str(dict(item.facets).get("task")), item.gold) for item in items if item.scored)
