"""The shapes that every evaluator takes and gives.

An evaluator works in two steps. `read` takes an answer out of one row of a results file; it needs no gold, so it runs while
the file streams by. `evaluate` compares all answers of a run with the items of its split and gives verdicts, vectors and
aggregates. Both are pure: the same input gives the same output on every machine.
"""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from typing import Any, Protocol, overload

import numpy as np


class Outcome(IntEnum):
    """What became of one item. The numbers stand in vectors and in the database: append, never renumber."""

    MISSING = 0  # no row at all
    WRONG = 1
    RIGHT = 2  # for valued metrics: a value above 0
    NO_ANSWER = 3  # a row, but nothing could be taken from it
    ERROR = 4  # the call failed or was skipped

    @property
    def answered(self) -> bool:
        return self in (Outcome.WRONG, Outcome.RIGHT)

    @property
    def meaning(self) -> str:
        """What it says, for a page."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.MISSING: "There is no row for the item: it was never asked, or its line is lost.",
    Outcome.WRONG: "An answer was taken, and nothing of it is right.",
    Outcome.RIGHT: "The answer is right; where answers have a value, it is above 0.",
    Outcome.NO_ANSWER: "There is a row, but no answer could be taken from it.",
    Outcome.ERROR: "The call failed or was skipped: nothing is known of the model here.",
}


@dataclass(frozen=True, slots=True)
class ItemSpec:
    """One scored question as the gold gives it.

    `facets` holds the benchmark's own (dimension, facet) pairs, `labels` those that a lab added; an item may have several
    facets of one dimension, or none. The two share no dimension.
    `scored` is False for items that stand in no denominator (MM-Bench rows with empty gold).
    """

    key: str
    case: str
    cluster: str
    gold: Any
    facets: tuple[tuple[str, str], ...] = ()
    scored: bool = True
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Answer:
    """What a protocol took out of one row: before any comparison with gold.

    `prediction` is the protocol's own form (a tuple of strings, a letter, a number or None); `rule` names the rule that took
    it; `error` says that the call failed or was skipped; `extra` carries what only this protocol needs.
    """

    item: str
    repeat: int
    prediction: Any
    rule: str
    error: bool = False
    extra: Any = None


@dataclass(slots=True)
class Verdict:
    """The evaluator's verdict on one answer, in the order of the answers. `value` is the headline metric's, None off gold."""

    outcome: Outcome
    value: float | None


class _Pool:
    """Different values, each held once, by number. Values that cannot be compared by hash are all held."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._codes: dict[Any, int] = {}

    def code(self, value: Any) -> int:
        number = len(self.values)
        try:
            found = self._codes.setdefault(value, number)
        except TypeError:
            found = number
        if found == number:
            self.values.append(value)
        return found


class Answers(Sequence[Answer]):
    """Answers in columns: some 150 bytes each where objects take a thousand, for a file may hold very many rows.

    Indexing and iterating make each `Answer` anew. `ids` are the different items; `item` (a place in `ids`), `repeat` and
    `status` are columns: int32, int32, and uint8 with the `Outcome` as far as it is known without gold, in which WRONG
    stands for any answer.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.item, self.repeat, self.status = array("i"), array("i"), array("B")
        self._ids, self._rules, self._extras = _Pool(), _Pool(), _Pool()
        self._rule, self._extra = array("H"), array("i")
        self._predictions, self._ends = bytearray(), array("q", [0])
        for answer in answers:
            self.append(answer)

    def append(self, answer: Answer) -> None:
        """Take one more; a prediction is made of plain values: text, numbers, None, tuples and lists."""
        self._predictions += marshal.dumps(answer.prediction)
        self.item.append(self._ids.code(answer.item))
        self.repeat.append(answer.repeat)
        self._rule.append(self._rules.code(answer.rule))
        given = Outcome.NO_ANSWER if answer.prediction in (None, (), "") else Outcome.WRONG
        self.status.append(Outcome.ERROR if answer.error else given)
        self._extra.append(self._extras.code(answer.extra))
        self._ends.append(len(self._predictions))

    @property
    def ids(self) -> list[str]:
        return self._ids.values

    def pairs(self) -> np.ndarray:
        """One int64 an answer, equal where item and repeat are."""
        return np.array(self.item, np.int64) << 32 | np.array(self.repeat, np.int64)

    @property
    def repeats(self) -> list[int]:
        """The different repeats, in order."""
        return sorted(set(self.repeat))

    def __len__(self) -> int:
        return len(self.item)

    def __iter__(self) -> Iterator[Answer]:
        return map(self.__getitem__, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | list[Answer]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index]
        return Answer(
            self._ids.values[self.item[number]],
            self.repeat[number],
            marshal.loads(self._predictions[self._ends[number] : self._ends[number + 1]]),  # noqa: S302 - our own
            self._rules.values[self._rule[number]],
            self.status[number] == Outcome.ERROR,
            self._extras.values[self._extra[number]],
        )


def joined(parts: Sequence[Answers]) -> Answers:
    """All answers in one; the only part itself where the others are empty."""
    full = [part for part in parts if len(part)]
    return full[0] if len(full) == 1 else Answers(chain.from_iterable(full))


class Verdicts(Sequence[Verdict]):
    """Verdicts in columns, in the order of the answers: `outcomes` uint8, `values` float64 with NaN for None."""

    def __init__(self) -> None:
        self.outcomes, self.values = array("B"), array("d")

    def add(self, outcome: Outcome, value: float | None) -> None:
        self.outcomes.append(outcome)
        self.values.append(math.nan if value is None else value)

    def extend(self, other: Verdicts, start: int = 0) -> None:
        """Append those of `other` from `start` on."""
        self.outcomes += other.outcomes[start:]
        self.values += other.values[start:]

    def __len__(self) -> int:
        return len(self.outcomes)

    @overload
    def __getitem__(self, index: int) -> Verdict: ...
    @overload
    def __getitem__(self, index: slice) -> list[Verdict]: ...
    def __getitem__(self, index: int | slice) -> Verdict | list[Verdict]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        value = self.values[index]
        return Verdict(Outcome(self.outcomes[index]), None if math.isnan(value) else value)


@dataclass(slots=True)
class Aggregate:
    """One aggregate: a metric over a facet. `value` is None when n = 0; fractions are 0..1; `repeat` None is over all repeats."""

    repeat: int | None
    metric: str
    variant: str
    dimension: str
    facet: str
    value: float | None
    n: int
    n_answered: int
    ci_low: float | None = None
    ci_high: float | None = None


@dataclass(slots=True)
class Result:
    """What an evaluator gives for one run.

    `vectors` maps (repeat, name) to an array over the scored items in their order; repeat 0 is over all repeats. The vector
    `outcome` is uint8 (see Outcome), every other one float64 with NaN where there is no row.
    `notes` are (code, item key, message) about rows that the public code would have treated in another way; `task_names`
    maps a task as rows spell it to the gold's spelling, where they differ.
    """

    verdicts: Verdicts
    vectors: dict[tuple[int, str], np.ndarray]
    aggregates: list[Aggregate]
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    task_names: dict[str, str] = field(default_factory=dict)


class Evaluator(Protocol):
    """A named, versioned rule set. `name` carries the version; `fingerprint` changes whenever a figure could change."""

    name: str
    description: str
    headline: str
    metrics: dict[str, str]
    judged: bool = False  # its figures rest on the verdicts of a judge

    @property
    def fingerprint(self) -> str: ...

    def read(self, row: Any) -> Answer: ...

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result: ...

    def taken(self, answer: Answer) -> tuple[Any, str]:
        """(prediction, rule) that this evaluator took from an answer."""
        return answer.prediction, answer.rule
