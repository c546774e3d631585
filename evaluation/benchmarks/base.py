"""What a benchmark declares about itself. Pure data: no Django."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluation.benchmarks.about import About
from evaluation.benchmarks.examples import Example
from evaluation.protocols.base import Answer, Evaluator, ItemSpec
from evaluation.protocols.encoder import Encoder


class StoredEvaluator(Evaluator, Protocol):
    """Counts what a scorer left beside a run: `over` gives the evaluator of the run that the rows are of."""

    def over(self, rows: Sequence[Any], basis: Any) -> Evaluator: ...


class OptionalEvaluator(Evaluator, Protocol):
    """Needs what is not always there. `missing` says in words what that is; it is empty where nothing is missing."""

    @property
    def missing(self) -> str: ...

    @property
    def encoder(self) -> Encoder: ...

    def using(self, encoder: Encoder) -> Evaluator:
        """The same evaluator with another way to its vectors, such as one that keeps them."""


class GoldCounter(Protocol):
    """Counts what items do not keep, of gold documents while they are read.

    `over` passes them on, `counts` gives names and numbers; it is told which files of a name lie beside the gold file.
    """

    def over(self, rows: Iterable[Any]) -> Iterator[Any]: ...

    def counts(self, lies_there: Callable[[str], bool]) -> dict[str, int]: ...


@dataclass(frozen=True)
class Citation:
    """What a benchmark's own sources say of how to cite it; what they do not say stays empty, never guessed."""

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    eprint: str = ""  # at arXiv
    published: str = ""  # where it is, in words


@dataclass(frozen=True)
class BenchmarkSpec:
    """A benchmark: its words, its rules and its published sizes.

    `items` turns gold documents (rows as dictionaries, in file order) into items; it raises ValueError with row, field and
    value for a row that cannot be read. `counter` makes what counts the same documents, where a check of the gold or a
    size needs it. `read` takes the answer out of a row; `comparable` gives the form in which two
    answers to one question are the same or not. `sizes` maps a split to its published number of expected items: another number in
    the gold is a warning, never an error. `unit` is the word for what is resampled and counted as independent.
    `evaluators` are applied to every run, the first is the one that the board shows; `stored_evaluator` only to runs with
    scored rows beside them, `optional_evaluators` only on demand.
    `facet_order` gives a dimension's facets in the order that they are shown in (others after them), `facet_name` a facet's
    name in full or in English, "" where there is no other; `nested` maps a dimension to the one that its facets lie in, as a
    cluster lies in a chapter; `pathway` names the dimensions that run along in time, `mix` those in which a clinic would tell
    its own cases.
    """

    slug: str
    name: str
    description: str
    unit: str
    item_word: str
    items: Callable[[Iterable[Any]], list[ItemSpec]]
    read: Callable[[Any], Answer]
    comparable: Callable[[Answer], Hashable]
    counter: Callable[[], GoldCounter] | None = None
    evaluators: tuple[Evaluator, ...] = ()
    stored_evaluator: StoredEvaluator | None = None
    optional_evaluators: tuple[OptionalEvaluator, ...] = ()
    dimensions: dict[str, str] = field(default_factory=dict)
    facet_order: dict[str, tuple[str, ...]] = field(default_factory=dict)
    facet_name: Callable[[str, str], str] = lambda dimension, facet: ""
    nested: dict[str, str] = field(default_factory=dict)
    pathway: tuple[str, ...] = ()
    mix: tuple[str, ...] = ()
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
    citation: Citation = Citation()
    about: About = field(default_factory=About)

    @property
    def evaluator(self) -> Evaluator | None:
        """The evaluator that the board shows; None while a benchmark has none."""
        return self.evaluators[0] if self.evaluators else None

    @property
    def standing_evaluators(self) -> tuple[Evaluator, ...]:
        """Those that an ingest applies: to every run, and to runs with stored verdicts."""
        return (*self.evaluators, *((self.stored_evaluator,) if self.stored_evaluator else ()))

    @property
    def all_evaluators(self) -> tuple[Evaluator, ...]:
        """Of every kind, the one that the board shows first."""
        return (*self.standing_evaluators, *self.optional_evaluators)

    def named(self, name: str) -> Evaluator | None:
        return next((evaluator for evaluator in self.all_evaluators if evaluator.name == name), None)
