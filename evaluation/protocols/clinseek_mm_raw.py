"""MM-Bench without vocabulary and without a judge: protocol `clinseek-mm-raw-2026`."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.protocols import aggregate
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts
from evaluation.protocols.clinseek_mm import VALUES, WRONG, Own, Values, prediction_set, read
from evaluation.protocols.clinseek_mm_means import HEADLINE, MEANINGS, METRICS, Gold, Prepared
from evaluation.protocols.clinseek_rows import ClinSeekRow


@dataclass(slots=True)
class _Row:
    """A row as the public scorer counts it.

    `index` is the place of its item, or -1 where the gold does not score it; `single` says that its own label has one name,
    `by_gold` are its values where the gold says otherwise than its own label.
    """

    answer: Answer
    index: int
    single: bool
    values: Values
    by_gold: Values | None

    @property
    def item(self) -> str:
        return self.answer.item

    @property
    def task(self) -> str:
        return str(self.answer.extra.task)

    @property
    def incomplete(self) -> bool:
        return self.answer.rule != "ok"

    @property
    def outcome(self) -> Outcome:
        return _outcome(self.answer, self.values)


def _outcome(answer: Answer, values: Values) -> Outcome:
    if values[0] > 0:
        return Outcome.RIGHT
    if answer.error:
        return Outcome.ERROR
    return Outcome.WRONG if prediction_set(answer.prediction) else Outcome.NO_ANSWER


class ClinSeekMMRaw(Evaluator):
    """Evaluator `clinseek-mm-raw-2026`.

    Variant `done_only` is what the public scorer prints without vocabulary, with the strict rule in place of its judge,
    faults included: every row counts, by its own label and not by the gold's, rows without one in no denominator; of
    several one-name rows of one question and run the first takes the verdict of the last and the others count wrong.
    Variant "" is over the items with gold, a missing one as 0: of an item's rows in one repeat the first with a label counts
    as in `done_only`, but by the gold; over several repeats an item has the mean of its own. Broken lines and a byte-order
    mark, at which the public scorer stops, cost only themselves; a task that a row spells otherwise than the gold counts
    under the gold's name. All that differs is told in `notes`.
    """

    name = "clinseek-mm-raw-2026"
    drops_incomplete = False  # from the done_only figures for one and for several gold items
    headline = HEADLINE
    metrics = MEANINGS | {
        "unified_f1": "Mean over all questions: set F1 where gold has several items, 1 or 0 by the strict rule where it has one.",
        "len1_accuracy": "Share of right answers among the questions with one gold item, by the strict rule.",
    }
    description = (
        "No vocabulary, no judge. The last message with a call named ehr.finish or finish decides, by its first such call. "
        "One gold item: right if gold and answer are equal after strip, lower case, white space collapsed and trailing full "
        "stops removed: a lower bound of what a judge accepts. Two or more: sets of stripped, lower-cased strings. First row "
        "of a question; missing questions count 0. Variant done_only counts as the public scorer does: every row, by its own "
        "label."
    )

    def __init__(self, dimensions: tuple[str, ...]) -> None:
        self.dimensions = dimensions
        self._last: Prepared | None = None

    @property
    def fingerprint(self) -> str:
        content = json.dumps([self.name, self.description, self.dimensions, self.metrics])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: ClinSeekRow) -> Answer:
        """Take the answer out of one row. The row must have an id."""
        return read(row)

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        ready = self._prepare(items)
        compare = self._comparison(items, answers)
        verdicts, counted, left_out, notes = Verdicts(), [], [], []
        task_names: dict[str, str] = {}
        for answer in answers:
            own: Own = answer.extra
            index = ready.place.get(answer.item, -1)
            by_gold = compare(ready.gold[index], answer) if index >= 0 else None
            verdicts.add(_outcome(answer, by_gold or WRONG), by_gold and by_gold[0])
            # labels are the gold's as a rule: compared as they are, that costs least
            own_is_gold = index >= 0 and own.label == ready.scored[index].gold
            gold = ready.gold[index] if own_is_gold else Gold.of(own.label)
            same = index >= 0 and gold == ready.gold[index]
            if gold is None:
                left_out.append(_Row(answer, index, False, WRONG, by_gold))
            else:
                values = by_gold if same and by_gold else compare(gold, answer)
                counted.append(_Row(answer, index, gold.single is not None, values, None if same else by_gold))
            if index >= 0 and isinstance(own.task, str) and own.task != ready.tasks[index]:
                task_names[own.task] = ready.tasks[index]
                said = f"task {own.task!r} in the row, {ready.tasks[index]!r} in the gold"
                notes.append(("task_differs", answer.item, said))
            if (note := _label_note(index, same, gold)) is not None:
                notes.append((note[0], answer.item, note[1]))
        notes += _share_verdicts(counted)
        first: dict[tuple[int, int], _Row] = {}
        for row in (*counted, *left_out):
            if row.index >= 0:
                first.setdefault((row.index, row.answer.repeat), row)
        rows = aggregate.Rows(len(ready.scored), METRICS[: len(VALUES)])
        for (index, repeat), row in first.items():
            values = row.by_gold or row.values
            rows.add(index, repeat, _outcome(row.answer, values), values)
        vectors, _ = rows.collect({}, ready.clusters, seed)
        repeats = sorted({repeat for repeat, _ in vectors if repeat})
        aggregates: list[Aggregate] = []
        over: list[int | None] = [*repeats, *([None] if len(repeats) > 1 else [])]
        for number in over:
            table = np.array([vectors[number or 0, metric] for metric in METRICS[: len(VALUES)]])
            official = [row for row in counted if number in (None, row.answer.repeat)]
            found = ready.aggregates(table, vectors[number or 0, "outcome"], official, number, seed)
            if self.drops_incomplete:
                found = [row for row in found if row.variant == "" or row.metric.startswith("unified")]
                found += ready.over_complete(official, number, seed)
            aggregates += found
        return Result(verdicts, vectors, aggregates, notes, task_names)

    def _comparison(self, items: Sequence[ItemSpec], answers: Sequence[Answer]) -> Callable[[Gold, Answer], Values]:
        """How an answer is compared with a gold; other evaluators look at all answers first."""
        return Gold.values

    def _prepare(self, items: Sequence[ItemSpec]) -> Prepared:
        # runs of one split come one after the other with the very same items
        kept = self._last
        if kept is None or kept.items is not items:
            kept = self._last = Prepared(items, self.dimensions)
        return kept


def _label_note(index: int, same: bool, gold: Gold | None) -> tuple[str, str] | None:
    """(code, message) where the row's own label makes the public scorer count otherwise than the gold says."""
    if index < 0 and gold is not None:
        return "off_gold", "not scored by the gold, but by the public scorer: in done_only alone"
    if index >= 0 and gold is None:
        return "no_label", "no label of its own: the public scorer leaves the row out, and so does done_only"
    if index >= 0 and not same:
        return "label_differs", "its own label is not the gold's: done_only goes by the row"
    return None


def _share_verdicts(rows: Sequence[_Row]) -> list[tuple[str, str, str]]:
    """The public scorer keeps verdicts by question and run: of several rows the first has the last's, the others none."""
    judged: dict[tuple[str, int, bool], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.single and row.answer.rule == "ok":
            judged[row.answer.item, row.answer.repeat, row.answer.extra.indexed].append(row)
    notes = []
    for same in judged.values():
        if len(same) > 1:
            same[0].values = same[-1].values
            for row in same[1:]:
                row.values = WRONG
                said = (
                    "a further row for one verdict: the public scorer gives that to the first row and counts this wrong"
                )
                notes.append(("second_verdict", row.answer.item, said))
    return notes
