"""MM-Bench by the verdicts and mapped strings that a scorer stored: protocol `clinseek-mm-stored-2026`."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.protocols import aggregate
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts
from evaluation.protocols.clinseek_mm import VALUES, Values, read
from evaluation.protocols.clinseek_mm_means import HEADLINE, MEANINGS, METRICS, Prepared
from evaluation.protocols.clinseek_mm_stored import Counted, ScoredRow, counted
from evaluation.protocols.clinseek_rows import ClinSeekRow

COMPLETE_ONLY = "complete_only"
_VECTORS = METRICS[: len(VALUES)]


def raw(metric: str) -> str:
    """The scorer's name of a metric over strings as they were given, where its file maps them."""
    return f"{metric}_raw"


@dataclass(frozen=True, slots=True)
class Basis:
    """What an evaluation of stored verdicts rests on: a row file, whether its strings were mapped to a vocabulary, and the
    ids whose rows were scored from another answer than the run holds.
    """

    path: str
    sha256: str
    form: str
    rows: int
    mapped: bool
    stale: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        names = ("path", "sha256", "form", "rows", "mapped")
        return {name: getattr(self, name) for name in names} | {"stale": [*self.stale]}


def is_mapped(rows: Sequence[ScoredRow]) -> bool:
    return any(row.prediction_strs_mapped is not None for row in rows)


@dataclass(frozen=True, slots=True)
class _Row:
    """A scored row as `clinseek_mm_means` counts rows."""

    item: str
    index: int
    repeat: int
    row: Counted
    values: Values
    outcome: Outcome

    @property
    def task(self) -> str:
        return self.row.task

    @property
    def single(self) -> bool:
        return self.row.single

    @property
    def incomplete(self) -> bool:
        return self.row.incomplete


class ClinSeekMMStored(Evaluator):
    """Evaluator `clinseek-mm-stored-2026`, of a run by the rows of one scored file (`over`).

    Nothing is judged, mapped or compared with the gold here. `done_only` counts every row of the file, an incomplete one as
    0, as the public scorer prints; `complete_only` leaves incomplete rows out of the figures for one and for several gold
    items, as the old re-scorer does. Variant "" is over the items with gold: an item without a scored row counts 0, of
    several rows of one repeat the first counts, over several repeats an item has the mean of its own. Sets are those of
    the mapped strings where the file holds such, and figures named raw those of the strings as given, as the scorer prints
    both; `basis` says which it is. A row that was scored from another
    answer than the run holds counts with what it was scored from; which ones these are stands in `basis`.
    """

    name = "clinseek-mm-stored-2026"
    judged = True
    headline = HEADLINE
    metrics = (
        MEANINGS
        | {
            "unified_f1": "Mean over all questions: set F1 of the stored strings where gold has several items, the stored "
            "verdict of the judge where it has one.",
            "len1_accuracy": "Share of questions with one gold item that the stored verdict of the judge calls right.",
        }
        | {
            raw(
                metric
            ): f"As {metric}, by the strings as given; only where {metric} is by strings mapped to a vocabulary."
            for metric in METRICS
            if metric != "len1_accuracy"
        }
    )
    description = (
        "Rests on stored verdicts: what a judge, and where its file says so an encoder, once decided, counted once more and "
        "judged by nobody here. One gold item: the stored verdict; without one the row is wrong. Two or more: sets of the "
        "stored mapped strings, or of the strings as given where none were mapped (and in figures named raw). A question "
        "without a scored row counts 0. "
        "Variant done_only counts every row of the file, complete_only those with a readable answer."
    )

    def __init__(self, dimensions: tuple[str, ...]) -> None:
        self.dimensions = dimensions
        self.rows: Sequence[ScoredRow] = ()
        self.basis: Basis | None = None

    @property
    def fingerprint(self) -> str:
        content = json.dumps([self.name, self.description, self.dimensions, self.metrics])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: ClinSeekRow) -> Answer:
        """Take the answer out of one row. The row must have an id."""
        return read(row)

    def over(self, rows: Sequence[ScoredRow], basis: Basis) -> ClinSeekMMStored:
        """The evaluator of the run that these scored rows are of."""
        bound = ClinSeekMMStored(self.dimensions)
        bound.rows, bound.basis = rows, basis
        return bound

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        """Figures of the scored rows; the verdicts are those on `answers`, MISSING where none was scored."""
        ready = Prepared(items, self.dimensions)
        rows = self._rows(ready, answers)
        vectors, aggregates = _figures(ready, rows, seed)
        if is_mapped(self.rows):
            more, figures = _figures(ready, [replace(row, values=row.row.raw) for row in rows], seed)
            vectors |= {(repeat, raw(name)): values for (repeat, name), values in more.items() if name != "outcome"}
            aggregates += [replace(one, metric=raw(one.metric)) for one in figures if one.metric != "len1_accuracy"]
        return Result(_verdicts(rows, answers), vectors, aggregates)

    def _rows(self, ready: Prepared, answers: Sequence[Answer]) -> list[_Row]:
        # a repeat may be stated for a whole file, against what its rows say
        repeats = {answer.repeat for answer in answers}
        only = repeats.pop() if len(repeats) == 1 else None
        return [
            _Row(
                scored.item,
                ready.place.get(scored.item, -1),
                only or scored.repeat,
                row,
                row.values,
                _outcome(scored, row),
            )
            for scored, row in zip(self.rows, counted(self.rows), strict=True)
        ]


def _outcome(scored: ScoredRow, row: Counted) -> Outcome:
    if row.values[0] > 0:
        return Outcome.RIGHT
    if scored.status == "error":
        return Outcome.ERROR
    return Outcome.WRONG if not row.incomplete and any(scored.taken[0]) else Outcome.NO_ANSWER


def _figures(
    ready: Prepared, rows: Sequence[_Row], seed: str
) -> tuple[dict[tuple[int, str], np.ndarray], list[Aggregate]]:
    first: dict[tuple[int, int], _Row] = {}
    for row in rows:
        if row.index >= 0:
            first.setdefault((row.index, row.repeat), row)
    table = aggregate.Rows(len(ready.scored), _VECTORS)
    for (index, repeat), row in first.items():
        table.add(index, repeat, row.outcome, row.values)
    vectors, _ = table.collect({}, ready.clusters, seed)
    repeats = sorted({repeat for repeat, _ in vectors if repeat})
    aggregates: list[Aggregate] = []
    over: list[int | None] = [*repeats, *([None] if len(repeats) > 1 else [])]
    for number in over:
        values = np.array([vectors[number or 0, metric] for metric in _VECTORS])
        counting = [row for row in rows if number in (None, row.repeat)]
        aggregates += ready.aggregates(values, vectors[number or 0, "outcome"], counting, number, seed)
        complete = ready.over_complete(counting, number, seed)
        aggregates += [replace(one, variant=COMPLETE_ONLY) for one in complete]
    return vectors, aggregates


def _verdicts(rows: Sequence[_Row], answers: Sequence[Answer]) -> Verdicts:
    """The n-th answer of a question and repeat has the verdict of their n-th scored row."""
    waiting: dict[tuple[str, int], list[_Row]] = defaultdict(list)
    for row in reversed(rows):
        waiting[row.item, row.repeat].append(row)
    verdicts = Verdicts()
    for answer in answers:
        own = waiting.get((answer.item, answer.repeat))
        if not own:
            verdicts.add(Outcome.MISSING, None)
            continue
        one = own.pop()
        verdicts.add(one.outcome, one.values[0] if one.index >= 0 else None)
    return verdicts
