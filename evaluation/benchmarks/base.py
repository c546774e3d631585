"""What a benchmark declares about itself. Pure data: no Django."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from evaluation.benchmarks.examples import Example
from evaluation.protocols.base import Answer, Evaluator, ItemSpec


@dataclass(frozen=True)
class BenchmarkSpec:
    """A benchmark: its words, its rules and its published sizes.

    `items` turns gold documents (rows as dictionaries, in file order) into items; it raises ValueError with row, field and
    value for a row that cannot be read. `read` takes the answer out of a row; `comparable` gives the form in which two
    answers to one question are the same or not. `sizes` maps a split to its published number of expected items: another number in
    the gold is a warning, never an error. `unit` is the word for what is resampled and counted as independent.
    """

    slug: str
    name: str
    description: str
    unit: str
    item_word: str
    items: Callable[[Iterable[Any]], list[ItemSpec]]
    read: Callable[[Any], Answer]
    comparable: Callable[[Answer], Hashable]
    evaluators: tuple[Evaluator, ...] = ()
    dimensions: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    default_release: str = ""
    licence: str = ""
    attribution: str = ""
    item_access: str = "group"
    how_computed: str = ""
    how_not_to_read: str = ""
    # release -> the latest month from which its questions come, where its source says so
    newest_questions: dict[str, str] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()

    @property
    def evaluator(self) -> Evaluator | None:
        """The evaluator that the board shows; None while a benchmark has none."""
        return self.evaluators[0] if self.evaluators else None
