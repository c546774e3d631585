"""Two evaluators on one run: both headlines, how many items differ and which way, and the list for who may see items."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Q
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, ItemScore, Response, Run, Score, Vector
from evaluation.protocols.base import Outcome
from leaderboard.scores import metric_name, score_tables
from leaderboard.tables import format_value

if TYPE_CHECKING:
    from evaluation.querysets import Person

PER_PAGE = 100
BOTH, FIRST, SECOND, NEITHER = "both", "only_first", "only_second", "neither"


@dataclass(frozen=True)
class Tally:
    """Items that both evaluators count right, only the first, only the second, neither; over all repeats together."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def items(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def differ(self) -> int:
        return self.only_first + self.only_second


def tally(first: np.ndarray, second: np.ndarray) -> Tally:
    """Counts over two vectors of outcomes (uint8) of the same items in the same order. ValueError where they differ in length."""
    if first.shape != second.shape:
        raise ValueError(f"outcomes of {len(first)} and {len(second)} items cannot be set side by side")
    one, two = first == Outcome.RIGHT, second == Outcome.RIGHT
    counts = [one & two, one & ~two, ~one & two, ~one & ~two]
    return Tally(*(int(np.count_nonzero(count)) for count in counts))


@dataclass(frozen=True)
class Headline:
    """The headline figure of one evaluation; `value` is None where nothing was measured."""

    evaluation: Evaluation
    value: float | None
    n: int

    @property
    def name(self) -> str:
        return self.evaluation.evaluator.name

    @property
    def metric(self) -> str:
        return metric_name(self.evaluation.evaluator.headline)

    @property
    def text(self) -> str:
        return "–" if self.value is None else f"{format_value(self.value, '%', None)} %"


@dataclass(frozen=True)
class Beside:
    """The board's evaluator and another one; `counts` is None where they do not rest on the same items."""

    first: Headline
    second: Headline
    counts: Tally | None


@dataclass(frozen=True)
class Difference:
    """An answer that two evaluators read or count differently: what each took (JSON value), by which rule, to what outcome."""

    item: str
    repeat: int
    way: str
    first: Any
    first_rule: str
    first_outcome: str
    second: Any
    second_rule: str
    second_outcome: str


def current_evaluations(run: Run) -> list[Evaluation]:
    """The run's current evaluations: the one that the board shows first, then in the order of the benchmark's evaluators."""
    spec = BENCHMARKS[run.split.release.benchmark.slug]
    order = {evaluator.name: place for place, evaluator in enumerate(spec.evaluators)}
    found = run.evaluations.filter(current=True).select_related("evaluator").order_by("pk")
    return sorted(found, key=lambda one: order.get(one.evaluator.name, len(order)))


def set_beside(evaluations: Sequence[Evaluation]) -> list[Beside]:
    """The first evaluation beside each other one. Two queries, none where there is only one."""
    if len(evaluations) < 2:
        return []
    scores = Score.objects.filter(evaluation__in=evaluations, dimension="overall", variant="")
    figures: dict[tuple[int, str], dict[int | None, tuple[float | None, int]]] = {}
    for pk, metric, repeat, value, n in scores.values_list("evaluation_id", "metric", "repeat", "value", "n"):
        figures.setdefault((pk, metric), {})[repeat] = value, n
    vectors: dict[int, dict[int, np.ndarray]] = {}
    rows = Vector.objects.filter(evaluation__in=evaluations, name="outcome").order_by("repeat")
    for pk, repeat, data in rows.values_list("evaluation_id", "repeat", "data"):
        vectors.setdefault(pk, {})[repeat] = np.frombuffer(data, dtype=np.uint8)

    def headline(one: Evaluation) -> Headline:
        found = figures.get((one.pk, one.evaluator.headline), {})
        value, n = found.get(None) or (next(iter(found.values())) if len(found) == 1 else (None, 0))
        return Headline(one, value, n)

    first = evaluations[0]
    return [
        Beside(headline(first), headline(other), _counts(first, other, vectors.get(first.pk), vectors.get(other.pk)))
        for other in evaluations[1:]
    ]


Vectors = Mapping[int, np.ndarray]


def _counts(first: Evaluation, other: Evaluation, mine: Vectors | None, theirs: Vectors | None) -> Tally | None:
    """Over each repeat's own vector; repeat 0, over all of them, only where it is the only one."""
    if first.gold_fingerprint != other.gold_fingerprint or not mine or not theirs or mine.keys() != theirs.keys():
        return None
    repeats = [repeat for repeat in mine if repeat] or [0]
    one, two = (np.concatenate([vectors[repeat] for repeat in repeats]) for vectors in (mine, theirs))
    return tally(one, two) if one.shape == two.shape else None


def sees_items(run: Run, user: Person) -> bool:
    """Whether a person may see what derives from single items of the run's benchmark."""
    return run.split.release.benchmark.items_visible_to(user)


def differences(run: Run, first: Evaluation, second: Evaluation) -> list[Difference]:
    """Answers with another outcome or another answer taken: those that only one counts right first, then by the file.

    Rows saved from broken lines and ids off the gold count in no headline and are left out. Only for who `sees_items`.
    """
    fields = ("ordinal", "outcome", "prediction", "rule")
    scores = ItemScore.objects.filter(value__isnull=False).order_by("ordinal")
    mine = {row[0]: row[1:] for row in scores.filter(evaluation=first).values_list(*fields)}
    both = [
        (ordinal, mine[ordinal], (outcome, prediction, rule))
        for ordinal, outcome, prediction, rule in scores.filter(evaluation=second).values_list(*fields)
        if ordinal in mine and mine[ordinal][:2] != (outcome, prediction)
    ]
    places: dict[int, tuple[str, int]] = {}
    for start in range(0, len(both), 500):
        chunk = [ordinal for ordinal, _, _ in both[start : start + 500]]
        rows = Response.objects.filter(Q(run=run), ordinal__in=chunk, recovered=False, item__isnull=False)
        places |= {o: (key, repeat) for o, key, repeat in rows.values_list("ordinal", "item__key", "repeat")}
    found = [
        Difference(
            *places[ordinal],
            _way(one[0], two[0]),
            _plain(one[1]),
            one[2],
            _outcome(one[0]),
            _plain(two[1]),
            two[2],
            _outcome(two[0]),
        )
        for ordinal, one, two in both
        if ordinal in places
    ]
    return sorted(found, key=lambda row: (FIRST, SECOND, NEITHER, BOTH).index(row.way))


def _way(first: int, second: int) -> str:
    one, two = first == Outcome.RIGHT, second == Outcome.RIGHT
    return (BOTH if two else FIRST) if one else (SECOND if two else NEITHER)


def _outcome(number: int) -> str:
    return Outcome(number).name.lower().replace("_", " ")


def _plain(prediction: str) -> Any:
    """The stored JSON, or its text where it was cut."""
    try:
        return json.loads(prediction)
    except ValueError:
        return prediction


# --- page and document ------------------------------------------------------------------------------------------------

WAYS = {FIRST: "only the first", SECOND: "only the second", NEITHER: "neither", BOTH: "both"}


def _shown(value: Any) -> str:
    if value is None or value in ("", []):
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _chosen(run: Run, other: str) -> tuple[list[Beside], Beside] | None:
    pairs = set_beside(current_evaluations(run))
    found = next((pair for pair in pairs if pair.second.name == other), pairs[0] if pairs and not other else None)
    return (pairs, found) if found else None


def evaluators_page(run: Run, user: Person, query: Mapping[str, Any]) -> dict[str, Any] | None:
    """The context of the page; None where the run has no second evaluation of that name (`with`)."""
    if (chosen := _chosen(run, str(query.get("with", "")))) is None:
        return None
    pairs, pair = chosen
    spec = BENCHMARKS[run.split.release.benchmark.slug]
    page: Page | None = None
    if sees_items(run, user) and pair.counts:
        found = differences(run, pair.first.evaluation, pair.second.evaluation)
        page = Paginator(found, PER_PAGE).get_page(query.get("page"))
    return {
        "run": run,
        "title": f"{run.model.name} on {spec.name}: two evaluators",
        "pair": pair,
        "others": [one for one in pairs if one is not pair],
        "item_word": spec.item_word,
        "page": page,
        "rows": [(row, WAYS[row.way], _shown(row.first), _shown(row.second)) for row in page or ()],
        "query": f"&with={pair.second.name}",
        "tables": score_tables(run, pair.second.evaluation, spec),
        "crumbs": [
            ("Boards", reverse("home")),
            (f"Run {run.key}", run.get_absolute_url()),
            ("Two evaluators", ""),
        ],
    }


def evaluators_document(run: Run, user: Person, page: int = 1) -> dict[str, Any]:
    """Every current evaluation beside the board's; `answers` is null for who may not see items."""
    evaluations = current_evaluations(run)
    visible = len(evaluations) > 1 and sees_items(run, user)
    pairs = []
    for pair in set_beside(evaluations):
        found = differences(run, pair.first.evaluation, pair.second.evaluation) if visible and pair.counts else None
        shown = Paginator(found, PER_PAGE).get_page(page) if found is not None else None
        pairs.append(
            {
                **{
                    name: {"evaluator": side.name, "metric": side.evaluation.evaluator.headline}
                    | {"value": side.value, "n": side.n}
                    for name, side in (("first", pair.first), ("second", pair.second))
                },
                "counts": {**asdict(pair.counts), "items": pair.counts.items} if pair.counts else None,
                "differing_answers": len(found) if found is not None else None,
                "page": shown.number if shown else None,
                "pages": shown.paginator.num_pages if shown else None,
                "answers": [asdict(row) for row in shown] if shown else None,
            }
        )
    return {"run": run.key, "evaluators": [one.evaluator.name for one in evaluations], "pairs": pairs}
