"""Who stands where on a board: from runs to entries with values, coverage, intervals and ranks. No formatting here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet

from evaluation import statistics
from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.models import Evaluation, Facet, LanguageModel, Run, Score, Split, SplitItem, Vector
from evaluation.protocols.base import Outcome
from leaderboard.models import Board, ReportedScore

if TYPE_CHECKING:
    from evaluation.querysets import Person

# Why an entry has no rank.
STALE, PARTIAL, UNRANKED_SPLIT = "stale", "partial", "split"
Key = tuple[int, str, int | None, bool | None]


@dataclass(frozen=True)
class Figure:
    """A stored aggregate that a board shows in a column."""

    metric: str
    label: str
    variant: str = ""
    dimension: str = "overall"
    facet: str = ""
    unit: str = "%"
    precision: int | None = None
    help: str = ""

    @property
    def place(self) -> tuple[str, str, str, str]:
        return self.metric, self.variant, self.dimension, self.facet


@dataclass(frozen=True)
class Shown:
    """What a benchmark's board shows: the headline first. `reported` is the figure that published values are about."""

    figures: tuple[Figure, ...]
    reported: Figure
    of_cases: bool = False  # the headline's vector repeats a case's value on each of its items
    repeats: str = "runs"
    # figures that are plain means of a vector over items, with what stands in for a missing one (None: left out)
    by_item: dict[str, float | None] = field(default_factory=dict)


_F1 = Figure("f1", "F1")
_FIVE = Figure(
    "f1",
    "F1, 5 tasks",
    dimension="aggregate",
    facet="overall_5_tasks",
    help="Set F1 over the five tasks of the published average: all but prescriptions.",
)
_MULTIMODAL = Figure(
    "f1",
    "F1, 989 questions",
    dimension="aggregate",
    facet="overall_multimodal_989",
    help="Set F1 over the questions that have images, the mean as published. It rests on a judge's verdicts and mapped answers, "
    "so nothing recomputed by the strict rule stands in this column: what stored verdicts give is on the pages of the runs.",
)
_USABLE = Figure("usability_rate", "Usability rate")
_CATEGORIES = Figure(
    "usability_rate",
    "Mean of categories",
    variant="mean_of_categories",
    help="Plain mean of the usability rates of the five categories: the paper's OP.",
)
_CASES = Figure("case_accuracy", "Case accuracy")
SHOWN: dict[str, Shown] = {
    "liveclin": Shown(
        (_CASES, Figure("question_accuracy", "Question accuracy")),
        _CASES,
        of_cases=True,
        by_item={"case_accuracy": 0.0, "question_accuracy": 0.0},
    ),
    "ehr-bench": Shown((_F1, Figure("exact_match", "Exact match")), _F1, by_item={"f1": 0.0, "exact_match": 0.0}),
    "agent-ehr-bench": Shown((_F1, _FIVE), _FIVE, by_item={"f1": 0.0}),
    "mm-bench": Shown(
        (
            Figure("unified_f1", "Unified F1"),
            Figure("len1_accuracy", "One item, accuracy"),
            Figure("len2plus_f1", "Two or more items, F1"),
        ),
        _MULTIMODAL,
        by_item={"unified_f1": 0.0},
    ),
    "llmeval-med": Shown(
        (_USABLE, _CATEGORIES, Figure("mean_score", "Mean score", unit="of 5", precision=2)),
        _CATEGORIES,
        repeats="judging runs",
        by_item={"usability_rate": None, "mean_score": None},
    ),
}


def shown(spec: BenchmarkSpec, metric: str) -> Shown:
    """The benchmark's columns; where nothing is said of it, its headline alone."""
    plain = Figure(metric, metric.replace("_", " ").capitalize())
    return SHOWN.get(spec.slug) or Shown((plain,), plain)


@dataclass(frozen=True, slots=True)
class Value:
    """A figure of an entry. `low` and `high` may be missing; `n` is the denominator of one run."""

    value: float
    low: float | None
    high: float | None
    n: int
    n_answered: int


@dataclass
class Entry:
    """A model at a snapshot, over its runs that count. `why_unranked` is empty for a ranked entry.

    Of `expected` items `present` have a row, `heard` one whose call did not fail, `answered` one with an answer in it; of
    several runs the least complete one speaks for all. `spread` is the headline of each repeat.
    """

    model: LanguageModel
    snapshot: str
    evaluations: list[Evaluation]
    passed_over: int
    figures: dict[Figure, Value] = field(default_factory=dict)
    done_only: float | None = None
    spread: list[float] = field(default_factory=list)
    expected: int = 0
    present: int = 0
    heard: int = 0
    answered: int = 0
    why_unranked: str = ""
    rank: statistics.RankInterval | None = None

    @property
    def runs(self) -> list[Run]:
        return [evaluation.run for evaluation in self.evaluations]

    @property
    def key(self) -> str:
        return f"{self.model.slug} {self.snapshot}".strip()

    @property
    def answered_at(self) -> datetime | None:
        return max((run.answered_at for run in self.runs if run.answered_at), default=None)

    @property
    def heard_share(self) -> float:
        return self.heard / self.expected if self.expected else 0.0


@dataclass
class Standing:
    """A board as one person sees it. `entries`: the ranked ones first, best first; then the others, best first."""

    board: Board
    spec: BenchmarkSpec
    shown: Shown
    entries: list[Entry]
    reported: list[ReportedScore]
    humans: list[ReportedScore]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The columns; where nothing was recomputed, only the one that is reported, and where it is none of ours, that last."""
        shown = self.shown
        if not self.entries:
            return (shown.reported,)
        return (
            shown.figures if shown.reported in shown.figures or not self.reported else (*shown.figures, shown.reported)
        )

    @property
    def headline(self) -> Figure:
        return self.figures[0]

    @property
    def newest_question(self) -> str:
        """The latest month from which questions come, "" where no source says so."""
        return self.spec.newest_questions.get(self.board.split.release.name, "")

    @property
    def ranked(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.why_unranked]

    @property
    def models(self) -> int:
        """Distinct models on the board, recomputed or reported."""
        return len({entry.model.pk for entry in self.entries} | {row.model_id for row in self.reported})

    @property
    def updated(self) -> datetime | None:
        return max((entry.answered_at for entry in self.entries if entry.answered_at), default=None)


def standings(boards: Sequence[Board], user: Person) -> list[Standing]:
    """The boards in their order, as `user` sees them, without intervals over several runs and without rank intervals.

    Four queries, whatever the number of boards. `boards` come with their benchmark (`select_related`).
    """
    evaluations = _evaluations(boards, user)
    by_key: dict[Key, list[Evaluation]] = {}
    for evaluation in evaluations.select_related("run__model", "evaluator").defer("run__counts"):
        run = evaluation.run
        by_key.setdefault((run.split_id, run.mode, run.shots, run.conversation_kept), []).append(evaluation)
    scores = _scores(evaluations)
    outcomes = vectors_of(evaluations, "outcome")
    reported: dict[tuple[int, str], list[ReportedScore]] = {}
    for row in _reported(boards).select_related("model", "source"):
        reported.setdefault((row.split_id, row.mode), []).append(row)

    out = []
    for board in boards:
        spec = BENCHMARKS[board.benchmark.slug]
        what = shown(spec, board.metric)
        here = [row for row in reported.get((board.split_id, board.mode), []) if _stands_on(row, board, what.reported)]
        entries = _entries(board, spec, by_key.get(_key(board), []))
        for entry in entries:
            _fill(entry, board, what, spec, scores, outcomes)
        entries = [entry for entry in entries if what.figures[0] in entry.figures]
        entries.sort(key=lambda entry: (bool(entry.why_unranked), -_headline(entry, what), entry.key))
        people = [row for row in here if row.human]
        figures = sorted((row for row in here if not row.human), key=lambda row: (-row.value, row.order))
        out.append(Standing(board, spec, what, entries, figures, people))
    return out


def entries_of(board: Board, user: Person, models: Iterable[str]) -> list[Entry]:
    """The entries of these models (slugs) on a board as `user` sees them, without figures and ranks; one query."""
    evaluations = _evaluations([board], user).filter(
        run__shots=board.shots, run__conversation_kept=board.conversation_kept, run__model__slug__in=set(models)
    )
    found = evaluations.select_related("run__model", "evaluator").defer("run__counts")
    return _entries(board, BENCHMARKS[board.benchmark.slug], found)


def _evaluations(boards: Sequence[Board], user: Person) -> QuerySet[Evaluation]:
    """What `user` may see of the current evaluations of live runs, by the evaluators that boards show."""
    evaluators = {spec.evaluator.name for spec in BENCHMARKS.values() if spec.evaluator}
    return (
        Evaluation.objects.visible_to(user)
        .current()
        .filter(
            run__state=Run.State.LIVE,
            run__split__in={board.split_id for board in boards},
            run__mode__in={board.mode for board in boards},
            evaluator__name__in=evaluators,
        )
    )


def _reported(boards: Sequence[Board]) -> QuerySet[ReportedScore]:
    return ReportedScore.objects.filter(on_board=True, split__in={board.split_id for board in boards})


_MODEL = ("pk", *(field.attname for field in LanguageModel._meta.concrete_fields))
_RUN = ("key", "protocol", "repeats", "origin", "answered_at", "loaded_at", "shots", "conversation_kept")


def version(board: Board, user: Person) -> str:
    """A hash of all that a board says to `user`: equal while that is the same. Three plain queries, no object a row.

    Scores and vectors are not looked at: they are never changed once their evaluation is made.
    """
    split, spec = board.split, BENCHMARKS[board.benchmark.slug]
    fields = ("pk", "gold_fingerprint", "evaluator__fingerprint", *(f"run__{name}" for name in _RUN))
    seen = _evaluations([board], user).order_by("pk")
    own = [field.attname for field in ReportedScore._meta.concrete_fields]
    reported = _reported([board]).order_by("pk")
    facets = Facet.objects.filter(release=split.release_id).aggregate(newest=Max("pk"), count=Count("pk"))
    told = [
        [getattr(one, field.attname) for one in (board, split, split.release) for field in one._meta.concrete_fields],
        spec.evaluator.fingerprint if spec.evaluator else "",
        list(seen.values_list(*fields, *(f"run__model__{name}" for name in _MODEL))),
        list(reported.values_list(*own, "source__text", "source__url", *(f"model__{name}" for name in _MODEL))),
        facets,
    ]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _key(board: Board) -> Key:
    return board.split_id, board.mode, board.shots, board.conversation_kept


def _stands_on(row: ReportedScore, board: Board, figure: Figure) -> bool:
    """A figure of another stated protocol belongs to another board."""
    stated = board.shots is not None or board.conversation_kept is not None
    same_protocol = row.human or not stated or row.protocol == board.protocol
    return same_protocol and (row.metric, row.variant, row.dimension, row.facet) == figure.place


def _headline(entry: Entry, what: Shown) -> float:
    return entry.figures[what.figures[0]].value


Scores = dict[int, dict[tuple[str, str, str, str], dict[int | None, Value]]]


def _scores(evaluations: Iterable[Evaluation]) -> Scores:
    """evaluation -> (metric, variant, dimension, facet) -> repeat -> value, of what boards show."""
    figures = {figure for what in SHOWN.values() for figure in what.figures}
    fields = ("metric", "variant", "dimension", "facet", "repeat", "value", "ci_low", "ci_high", "n", "n_answered")
    rows = Score.objects.filter(
        evaluation__in=evaluations,
        dimension__in={"overall"} | {figure.dimension for figure in figures},
        value__isnull=False,
    )
    out: Scores = {}
    for evaluation, metric, variant, dimension, facet, repeat, *value in rows.values_list("evaluation_id", *fields):
        place = (metric, variant, dimension, facet)
        out.setdefault(evaluation, {}).setdefault(place, {})[repeat] = Value(*value)
    return out


def vectors_of(evaluations: Iterable[Evaluation], name: str) -> dict[int, np.ndarray]:
    """evaluation -> its vector over all repeats."""
    rows = Vector.objects.filter(evaluation__in=evaluations, repeat=0, name=name)
    kind = np.uint8 if name == "outcome" else np.dtype("<f8")
    return {pk: np.frombuffer(data, dtype=kind) for pk, data in rows.values_list("evaluation_id", "data")}


def _entries(board: Board, spec: BenchmarkSpec, evaluations: Iterable[Evaluation]) -> list[Entry]:
    """One entry a model and snapshot. Of runs that hold the same repeat the one with the newest answers counts."""
    groups: dict[tuple[int, str], list[Evaluation]] = {}
    for evaluation in evaluations:
        run = evaluation.run
        groups.setdefault((run.model_id, str(run.protocol.get("snapshot") or "")), []).append(evaluation)
    out = []
    for (_, snapshot), found in groups.items():
        found.sort(key=lambda e: (e.run.answered_at or e.run.loaded_at, e.run.loaded_at, e.run.pk), reverse=True)
        taken: set[int] = set()
        counting = []
        for evaluation in found:
            repeats = set(evaluation.run.repeats) or {1}
            if not repeats & taken:
                taken |= repeats
                counting.append(evaluation)
        counting.sort(key=lambda e: min(e.run.repeats, default=1))
        out.append(Entry(counting[0].run.model, snapshot, counting, len(found) - len(counting)))
    return out


def _fill(
    entry: Entry,
    board: Board,
    what: Shown,
    spec: BenchmarkSpec,
    scores: Scores,
    outcomes: dict[int, np.ndarray],
) -> None:
    """Values over the entry's runs (plain means; an interval only of a single run), coverage and why it has no rank."""
    tables = [scores.get(evaluation.pk, {}) for evaluation in entry.evaluations]
    for figure in what.figures:
        found = [over_repeats(table.get(figure.place, {})) for table in tables]
        values = [value for value in found if value is not None]
        if len(values) == len(tables) == 1:
            entry.figures[figure] = values[0]
        elif values and len(values) == len(tables):
            mean = statistics.mean([value.value for value in values])
            least = min(values, key=lambda value: value.n_answered)
            entry.figures[figure] = Value(mean, None, None, least.n, least.n_answered)
    headline = what.figures[0]
    done = [over_repeats(table.get((headline.metric, "done_only", "overall", "")) or {}) for table in tables]
    if all(done):
        entry.done_only = statistics.mean([value.value for value in done if value])
    for table in tables:
        by_repeat = table.get(headline.place, {})
        entry.spread += [value.value for repeat, value in sorted(by_repeat.items(), key=str) if repeat is not None]

    seen = [outcomes[evaluation.pk] for evaluation in entry.evaluations if evaluation.pk in outcomes]
    if seen:
        least_complete = min(seen, key=_heard)
        entry.expected, entry.heard = len(least_complete), _heard(least_complete)
        entry.present = int(np.count_nonzero(least_complete != Outcome.MISSING))
        entry.answered = int(np.isin(least_complete, (Outcome.RIGHT, Outcome.WRONG)).sum())
    stale = any(
        evaluation.evaluator.fingerprint != spec.evaluator.fingerprint
        or evaluation.gold_fingerprint != board.split.fingerprint
        for evaluation in entry.evaluations
        if spec.evaluator
    )
    if stale:
        entry.why_unranked = STALE
    elif entry.heard_share < board.min_coverage:
        entry.why_unranked = PARTIAL
    elif not board.split.rankable:
        entry.why_unranked = UNRANKED_SPLIT


def over_repeats(values: dict[int | None, Value]) -> Value | None:
    """The figure over all repeats, or of the only one."""
    return values.get(None) or (next(iter(values.values())) if len(values) == 1 else None)


def _heard(outcome: np.ndarray) -> int:
    return int((~np.isin(outcome, (Outcome.MISSING, Outcome.ERROR))).sum())


# --- intervals and ranks ----------------------------------------------------------------------------------------------


def rank(standing: Standing) -> None:
    """Add the intervals of entries over several runs, and rank, rank interval and tie group of the ranked ones.

    Two queries the first time. The result is kept under a hash of what it rests on (runs, rules, gold), so it is never
    stale and never shows one person what another may see.
    """
    entries = [entry for entry in standing.entries if entry.why_unranked != STALE]
    if not entries:
        return
    split = standing.board.split
    content = [
        [standing.spec.slug, entries[0].evaluations[0].evaluator.fingerprint, standing.headline.place],
        [split.fingerprint, split.gold_missing],
        [[bool(entry.why_unranked), [run.key for run in entry.runs]] for entry in entries],
    ]
    key = "standing:" + hashlib.sha256(json.dumps(content).encode()).hexdigest()
    found = cache.get(key)
    if found is None:
        found = _compute(standing, entries)
        cache.set(key, found, timeout=None)
    for entry, bounds, place in zip(entries, *found, strict=True):
        entry.rank = place
        if bounds is not None:
            value = entry.figures[standing.headline]
            entry.figures[standing.headline] = replace(value, low=bounds[0], high=bounds[1])


Bounds = tuple[float, float] | None


def _compute(standing: Standing, entries: Sequence[Entry]) -> tuple[list[Bounds], list[statistics.RankInterval | None]]:
    """For each entry the interval, where it has several runs, and the place, where it is ranked."""
    split = standing.board.split
    vectors = vectors_of(
        [evaluation for entry in entries for evaluation in entry.evaluations], standing.headline.metric
    )
    kept = units_of(standing.shown, split)
    clusters = clusters_of(split.pk, split.fingerprint, split.gold_missing)[0][kept]
    # what is missing counts 0, as in the headline; several runs are averaged item by item
    values = [
        np.mean([np.nan_to_num(vectors[evaluation.pk], nan=0.0)[kept] for evaluation in entry.evaluations], axis=0)
        for entry in entries
    ]
    everything = [np.arange(len(kept))]
    bounds = [
        statistics.mean_intervals(row, everything, clusters, seed=split.fingerprint)[0]
        if len(entry.evaluations) > 1
        else None
        for entry, row in zip(entries, values, strict=True)
    ]
    matrix, sizes = statistics.cluster_sums(np.array(values), clusters)
    headlines = [None if entry.why_unranked else _headline(entry, standing.shown) for entry in entries]
    return bounds, statistics.rank_intervals(headlines, matrix, sizes, seed=split.fingerprint)


def units_of(what: Shown, split: Split) -> np.ndarray:
    """Places in the headline's vector of what it counts: one item of each case where it is over cases, else every item."""
    clusters, firsts = clusters_of(split.pk, split.fingerprint, split.gold_missing)
    return firsts if what.of_cases else np.arange(len(clusters))


@lru_cache(16)
def clusters_of(split_id: int, fingerprint: str, gold_missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """A cluster code for each scored item in canonical order, and the index of the first item of each case."""
    codes: dict[str, int] = {}
    firsts: dict[str, int] = {}
    rows = SplitItem.objects.filter(split_id=split_id, item__scored=True).order_by("position")
    clusters = []
    for index, (key, case, cluster) in enumerate(rows.values_list("item__key", "item__case", "item__cluster")):
        clusters.append(codes.setdefault(cluster or key, len(codes)))
        firsts.setdefault(case or key, index)
    return np.array(clusters, dtype=np.int64), np.array(list(firsts.values()), dtype=np.int64)
