"""The shapes that every evaluator takes and gives.

An evaluator works in two steps. `read` takes an answer out of one row of a results file; it needs no gold, so it runs while
the file streams by. `evaluate` compares all answers of a run with the items of its split and gives verdicts, vectors and
aggregates. Both are pure: the same input gives the same output on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

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

    verdicts: list[Verdict]
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

    @property
    def fingerprint(self) -> str: ...

    def read(self, row: Any) -> Answer: ...

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result: ...
