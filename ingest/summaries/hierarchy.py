"""Leaves of the hierarchical tree: counts and set scores over the rows of one task (formats/clinseek.md, section 4.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from evaluation.protocols.clinseek_text import set_scores
from evaluation.statistics import mean
from ingest.readers.base import Trouble
from ingest.summaries.comparison import Comparison, Recomputed, Summary, numbers, read_rows

FORM = "hierarchical"
METRICS = ("f1", "precision", "recall")


class LeafRow(msgspec.Struct):
    """The part of a row of `rows.jsonl` that is compared."""

    qid: Any = None
    pred: Any = None
    f1: Any = None
    precision: Any = None
    recall: Any = None

    @property
    def item(self) -> str:
        return str(self.qid)


def compare(summary: Summary, document: Any, ours: Recomputed) -> Comparison:
    """Against the run's rows of the leaf's questions, every one counted; nothing to compare without the leaf's row file.

    Of MM-Bench, where the leaf holds judged and mapped values, those come from its own rows and only the count from the
    run. OSError of the row file passes through.
    """
    comparison = Comparison(summary.path, summary.form)
    if summary.rows is None or not isinstance(document, dict):
        return comparison
    rows, bad = read_rows(summary.rows, LeafRow)
    if bad:
        message = f"{bad} lines of {summary.rows.base} give no row"
        comparison.troubles.append(Trouble("warning", "bad_scored_rows", message))
    asked = {row.item for row in rows}
    answers = [answer for answer in ours.answers if answer.item in asked]
    if ours.benchmark == "mm-bench":
        values = [tuple(getattr(row, name) for name in METRICS) for row in rows]
    else:
        values = [
            set_scores(_strings(answer.prediction), _strings(_names(ours.gold[answer.item])))[:3]
            for answer in answers
            if answer.item in ours.gold
        ]
    recomputed = {"count": float(len(answers))}
    for place, name in enumerate(METRICS):
        column = [value[place] for value in values if isinstance(value[place], (int, float))]
        if column:
            recomputed[name] = mean(column)
    theirs = dict(numbers(document))
    comparison.rows = [(name, theirs[name,], value) for name, value in recomputed.items() if (name,) in theirs]
    if len(answers) and len(rows) > len(answers):
        message = (
            f"{len(rows)} rows in {summary.rows.base} for {len(answers)} rows of the run: the builder wrote behind what was "
            "there, and every count is too high"
        )
        comparison.troubles.append(Trouble("warning", "rows_written_twice", message))
    return comparison


def _strings(values: Iterable[Any]) -> frozenset[str]:
    """As the re-scorer compares: every value as text, stripped and lower-cased."""
    return frozenset(str(value).strip().lower() for value in values)


def _names(label: Any) -> list[Any]:
    entries = label if isinstance(label, list) else [label]
    keys = ("name", "value", "text", "answer")
    return [
        next((entry[key] for key in keys if entry.get(key)), "") if isinstance(entry, dict) else entry
        for entry in entries
    ]
