"""MM-Bench: from values per item or row to the figures that all its evaluators give, and its named aggregate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evaluation.protocols import aggregate
from evaluation.protocols.base import Aggregate, Answer, ItemSpec, Outcome
from evaluation.protocols.clinseek_mm import RIGHT, VALUES, WRONG, Values, gold_names, prediction_set, set_values

METRICS = (
    *(f"unified_{name}" for name in VALUES),
    "len1_accuracy",
    *(f"len2plus_{name}" for name in VALUES),
)
HEADLINE = METRICS[0]
MEANINGS = {
    "unified_f1": "Mean over all questions: set F1 where gold has several items, 1 or 0 by the verdict where it has one.",
    "unified_precision": "As unified_f1, with the share of the given answers that are in the gold.",
    "unified_recall": "As unified_f1, with the share of the gold that was given.",
    "unified_accuracy": "As unified_f1, with the Jaccard index: common items over all items of both sides.",
    "unified_subset_match": "Share of questions whose answer set equals the gold set.",
    "len1_accuracy": "Share of right answers among the questions with one gold item.",
    "len2plus_f1": "Set F1, mean over the questions with two or more gold items.",
    "len2plus_precision": "Share of the given answers that are in the gold, over the same questions.",
    "len2plus_recall": "Share of the gold that was given, over the same questions.",
    "len2plus_accuracy": "Jaccard index, over the same questions.",
    "len2plus_subset_match": "Share of these questions whose answer set equals the gold set.",
}

# The fine tasks of the questions with images are in no gold: a labels file says them (dimension FINE_TASK). The published
# mean over these questions weighs each one alike, so it is the plain mean over them.
FINE_TASK = "fine_task"
MULTIMODAL_TASKS = (
    "cxr_finding_presence",
    "cxr_finding_enumeration",
    "cxr_change_comparison",
    "mortality_24h",
    "inpatient_mortality_mm",
    "phenotype_ccs",
)
MULTIMODAL = ("aggregate", "overall_multimodal_989")


def facets_of(item: ItemSpec) -> tuple[tuple[str, str], ...]:
    """The (dimension, facet) pairs of an item, its named aggregate among them."""
    pairs = (*item.facets, *item.labels)
    return (*pairs, MULTIMODAL) if any((FINE_TASK, task) in item.labels for task in MULTIMODAL_TASKS) else pairs


def _groups(items: Sequence[ItemSpec], dimensions: Iterable[str]) -> aggregate.Groups:
    groups = aggregate.facet_groups(items, dimensions)
    members = [index for index, item in enumerate(items) if MULTIMODAL in facets_of(item)]
    return {**groups, MULTIMODAL: np.asarray(members)} if members else groups


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


class Row(Protocol):
    """A row as a scorer counts it: `index` is the place of its item, or -1 where the gold does not score it; `single` says
    that its own gold has one name; `incomplete` that no answer could be read in it.
    """

    @property
    def index(self) -> int: ...

    @property
    def single(self) -> bool: ...

    @property
    def values(self) -> Values: ...

    @property
    def item(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def incomplete(self) -> bool: ...

    @property
    def outcome(self) -> Outcome: ...


class Prepared:
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
        self.groups = _groups(self.scored, dimensions)
        self.clusters = aggregate.cluster_codes(self.scored)

    def aggregates(
        self, table: np.ndarray, outcomes: np.ndarray, rows: Sequence[Row], repeat: int | None, seed: str
    ) -> list[Aggregate]:
        """Variant "" over the items, `table` (VALUES, items) with NaN where none has a row, and `done_only` over `rows`."""
        official = self._by_item(rows)
        if official is not None and np.array_equal(np.nan_to_num(official), np.nan_to_num(table)):
            return means(official, self.single, outcomes, self.groups, self.clusters, repeat, seed)
        whole = means(np.nan_to_num(table), self.single, outcomes, self.groups, self.clusters, repeat, seed)
        done = self.over_rows(rows, repeat, seed)
        return [row for row in whole if row.variant == ""] + [row for row in done if row.variant == "done_only"]

    def _by_item(self, rows: Sequence[Row]) -> np.ndarray | None:
        """(VALUES, items) of rows that are one an item and of the gold's kind; None where they are not."""
        table = np.full((len(VALUES), len(self.scored)), np.nan)
        for row in rows:
            if row.index < 0 or row.single != self.single[row.index] or not np.isnan(table[0, row.index]):
                return None
            table[:, row.index] = row.values
        return table

    def over_complete(self, rows: Sequence[Row], repeat: int | None, seed: str) -> list[Aggregate]:
        """The figures for one and for several gold items, `done_only`, without the incomplete rows."""
        found = self.over_rows([row for row in rows if not row.incomplete], repeat, seed)
        return [row for row in found if row.variant == "done_only" and not row.metric.startswith("unified")]

    def over_rows(self, rows: Sequence[Row], repeat: int | None, seed: str) -> list[Aggregate]:
        """Both variants over rows, each counted."""
        groups: dict[tuple[str, str], list[int]] = {pair: [] for pair in self.groups}
        codes: dict[str, int] = {}
        clusters = []
        for number, row in enumerate(rows):
            item = self.scored[row.index] if row.index >= 0 else None
            facets = facets_of(item) if item else (("task", row.task),)
            for pair in (("overall", ""), *dict.fromkeys(facets)):
                if pair in groups or pair[0] in self.dimensions:
                    groups.setdefault(pair, []).append(number)
            cluster = (item.cluster or item.key) if item else row.item
            clusters.append(codes.setdefault(cluster, len(codes)))
        return means(
            np.array([row.values for row in rows], dtype=np.float64).reshape(len(rows), len(VALUES)).T,
            np.array([row.single for row in rows], dtype=bool),
            np.array([row.outcome for row in rows], dtype=np.uint8),
            {pair: np.array(numbers, dtype=np.int64) for pair, numbers in groups.items()},
            np.array(clusters, dtype=np.int64),
            repeat,
            seed,
        )


def means(
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
