"""MM-Bench without vocabulary and without a judge: protocol `clinseek-mm-raw-2026`."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.protocols import aggregate
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts
from evaluation.protocols.clinseek_mm import (
    RIGHT,
    VALUES,
    WRONG,
    Own,
    Values,
    gold_names,
    prediction_set,
    read,
    set_values,
)
from evaluation.protocols.clinseek_rows import ClinSeekRow

METRICS = (
    *(f"unified_{name}" for name in VALUES),
    "len1_accuracy",
    *(f"len2plus_{name}" for name in VALUES),
)
HEADLINE = METRICS[0]


def strict(text: str) -> str:
    """A text as the strict rule compares it: stripped, lower-cased, white space collapsed, trailing full stops removed."""
    return " ".join(text.lower().split()).rstrip(".")


@dataclass(frozen=True, slots=True)
class Gold:
    """The names of a gold label, ready to be compared with."""

    single: str | None  # the only name, as the strict rule compares it; None where there are several
    names: frozenset[str]

    @classmethod
    def of(cls, label: Any) -> Gold | None:
        """None where the label holds no name."""
        names = gold_names(label)
        if not names:
            return None
        return cls(strict(names[0]) if len(names) == 1 else None, prediction_set(names))

    def values(self, answer: Answer) -> Values:
        """The values of an answer; one that the scorer calls incomplete, and an empty one, are wrong."""
        if answer.rule != "ok" or not answer.prediction:
            return WRONG
        if self.single is None:
            return set_values(prediction_set(answer.prediction), self.names)
        # several strings against one name are compared as the judge would see them
        return RIGHT if strict(" | ".join(answer.prediction)) == self.single else WRONG


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
    headline = HEADLINE
    metrics = {
        "unified_f1": "Mean over all questions: set F1 where gold has several items, 1 or 0 by the strict rule where it has one.",
        "unified_precision": "As unified_f1, with the share of the given answers that are in the gold.",
        "unified_recall": "As unified_f1, with the share of the gold that was given.",
        "unified_accuracy": "As unified_f1, with the Jaccard index: common items over all items of both sides.",
        "unified_subset_match": "Share of questions whose answer set equals the gold set.",
        "len1_accuracy": "Share of right answers among the questions with one gold item, by the strict rule.",
        "len2plus_f1": "Set F1, mean over the questions with two or more gold items.",
        "len2plus_precision": "Share of the given answers that are in the gold, over the same questions.",
        "len2plus_recall": "Share of the gold that was given, over the same questions.",
        "len2plus_accuracy": "Jaccard index, over the same questions.",
        "len2plus_subset_match": "Share of these questions whose answer set equals the gold set.",
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
        self._last: _Prepared | None = None

    @property
    def fingerprint(self) -> str:
        content = json.dumps([self.name, self.description, self.dimensions, self.metrics])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: ClinSeekRow) -> Answer:
        """Take the answer out of one row. The row must have an id."""
        return read(row)

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        ready = self._prepare(items)
        verdicts, counted, left_out, notes = Verdicts(), [], [], []
        task_names: dict[str, str] = {}
        for answer in answers:
            own: Own = answer.extra
            index = ready.place.get(answer.item, -1)
            by_gold = ready.gold[index].values(answer) if index >= 0 else None
            verdicts.add(_outcome(answer, by_gold or WRONG), by_gold and by_gold[0])
            # labels are the gold's as a rule: compared as they are, that costs least
            own_is_gold = index >= 0 and own.label == ready.scored[index].gold
            gold = ready.gold[index] if own_is_gold else Gold.of(own.label)
            same = index >= 0 and gold == ready.gold[index]
            if gold is None:
                left_out.append(_Row(answer, index, False, WRONG, by_gold))
            else:
                values = by_gold if same and by_gold else gold.values(answer)
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
            aggregates += ready.aggregates(table, vectors[number or 0, "outcome"], official, number, seed)
        return Result(verdicts, vectors, aggregates, notes, task_names)

    def _prepare(self, items: Sequence[ItemSpec]) -> _Prepared:
        # runs of one split come one after the other with the very same items
        kept = self._last
        if kept is None or kept.items is not items:
            kept = self._last = _Prepared(items, self.dimensions)
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


class _Prepared:
    """What every run of a split needs of its items, and the means over them."""

    def __init__(self, items: Sequence[ItemSpec], dimensions: tuple[str, ...]) -> None:
        self.items = items
        self.dimensions = dimensions
        golds = [(item, Gold.of(item.gold)) for item in items if item.scored]
        self.scored = [item for item, gold in golds if gold is not None]
        self.gold = [gold for _, gold in golds if gold is not None]
        self.place = {item.key: index for index, item in enumerate(self.scored)}
        self.tasks = [str(dict(item.facets).get("task")) for item in self.scored]
        self.single = np.array([gold.single is not None for gold in self.gold], dtype=bool)
        self.groups = aggregate.facet_groups(self.scored, dimensions)
        self.clusters = aggregate.cluster_codes(self.scored)

    def aggregates(
        self, table: np.ndarray, outcomes: np.ndarray, rows: Sequence[_Row], repeat: int | None, seed: str
    ) -> list[Aggregate]:
        """Variant "" over the items, `table` (VALUES, items) with NaN where none has a row, and `done_only` over `rows`."""
        official = self._by_item(rows)
        if official is not None and np.array_equal(np.nan_to_num(official), np.nan_to_num(table)):
            return _means(official, self.single, outcomes, self.groups, self.clusters, repeat, seed)
        whole = _means(np.nan_to_num(table), self.single, outcomes, self.groups, self.clusters, repeat, seed)
        done = self._over_rows(rows, repeat, seed)
        return [row for row in whole if row.variant == ""] + [row for row in done if row.variant == "done_only"]

    def _by_item(self, rows: Sequence[_Row]) -> np.ndarray | None:
        """(VALUES, items) of rows that are one an item and of the gold's kind; None where they are not."""
        table = np.full((len(VALUES), len(self.scored)), np.nan)
        for row in rows:
            if row.index < 0 or row.single != self.single[row.index] or not np.isnan(table[0, row.index]):
                return None
            table[:, row.index] = row.values
        return table

    def _over_rows(self, rows: Sequence[_Row], repeat: int | None, seed: str) -> list[Aggregate]:
        groups: dict[tuple[str, str], list[int]] = {pair: [] for pair in self.groups}
        codes: dict[str, int] = {}
        clusters = []
        for number, row in enumerate(rows):
            item = self.scored[row.index] if row.index >= 0 else None
            facets = (*item.facets, *item.labels) if item else (("task", str(row.answer.extra.task)),)
            for pair in (("overall", ""), *dict.fromkeys(facets)):
                if pair in groups or pair[0] in self.dimensions:
                    groups.setdefault(pair, []).append(number)
            cluster = (item.cluster or item.key) if item else row.answer.item
            clusters.append(codes.setdefault(cluster, len(codes)))
        return _means(
            np.array([row.values for row in rows], dtype=np.float64).reshape(len(rows), len(VALUES)).T,
            np.array([row.single for row in rows], dtype=bool),
            np.array([row.outcome for row in rows], dtype=np.uint8),
            {pair: np.array(numbers, dtype=np.int64) for pair, numbers in groups.items()},
            np.array(clusters, dtype=np.int64),
            repeat,
            seed,
        )


def _means(
    table: np.ndarray,
    single: np.ndarray,
    outcomes: np.ndarray,
    groups: aggregate.Groups,
    clusters: np.ndarray,
    repeat: int | None,
    seed: str,
) -> list[Aggregate]:
    """All METRICS over the groups, in both variants; `table` holds the VALUES of each item or row.

    A group without an item of the kind that a metric counts has no value and n = 0. Facets have intervals for the headline
    alone.
    """
    rest = frozenset(METRICS[1:])
    one = {pair: index[single[index]] for pair, index in groups.items()}
    several = {pair: index[~single[index]] for pair, index in groups.items()}
    out = []
    for kind, own in (("unified", groups), ("len1", one), ("len2plus", several)):
        values = {f"{kind}_{name}": column for name, column in zip(VALUES, table, strict=True)}
        named = {metric: values[metric] for metric in METRICS if metric in values}
        out += aggregate.means(named, outcomes, own, clusters, repeat=repeat, seed=seed, overall_only=rest)
    return out
