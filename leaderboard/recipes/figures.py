"""The figures of one column: for each model what was recomputed, else what is reported, with spread and ties."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from django.core.cache import cache

from evaluation import statistics
from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Evaluation, LanguageModel, Score, SplitItem, Vector
from leaderboard.models import Board, ReportedScore
from leaderboard.recipes.recipe import ColumnWish, Recipe
from leaderboard.standings import PARTIAL, STALE, Entry, Standing
from leaderboard.words import REPORTED_TIE

if TYPE_CHECKING:
    from evaluation.querysets import Person

RowKey = tuple[int, str]
Bounds = tuple[float, float]
Kept = TypeVar("Kept")
_REPORTED_FIELDS = ("metric", "variant", "dimension", "facet")


@dataclass
class Told:
    """A figure of one model. `spread` holds its repeats, `decimals` the digits of its source, `order` its place there."""

    model: LanguageModel
    value: float
    origin: str
    n: int | None = None
    n_answered: int | None = None
    low: float | None = None
    high: float | None = None
    spread: tuple[float, ...] = ()
    reported_sd: float | None = None
    partial: bool = False
    ranked: bool = False
    decimals: int | None = None
    order: int | None = None
    note: str = ""
    protocol: str = ""
    source: int | None = None
    values: np.ndarray | None = field(default=None, repr=False)  # of each item of the column, where they are known

    @property
    def sd(self) -> float | None:
        """As the source states it, else the sample standard deviation (ddof 1) over repeats; None of fewer than two."""
        if self.reported_sd is not None:
            return self.reported_sd
        return statistics.mean_sd(self.spread)[1] if len(self.spread) > 1 else None


@dataclass
class Figures:
    """A column's figures by (model, snapshot). `items` names what they are over; `clusters` are the units of its items."""

    wish: ColumnWish
    standing: Standing
    metric: str
    evaluator: str
    items: str
    seed: str
    told: dict[RowKey, Told] = field(default_factory=dict)
    clusters: np.ndarray | None = field(default=None, repr=False)

    @property
    def board(self) -> Board:
        return self.standing.board

    @property
    def spec(self) -> BenchmarkSpec:
        return self.standing.spec

    @property
    def sources(self) -> set[int]:
        """Of the reported figures."""
        return {told.source for told in self.told.values() if told.source is not None}

    def difference(self, other: Figures, key: RowKey) -> Bounds | None:
        """The 95 % interval of the paired difference of one model; None where the items of either are not known."""
        one, two = self.told.get(key), other.told.get(key)
        if not one or not two or self.clusters is None or self.items != other.items:
            return None
        if one.values is None or two.values is None:
            return None
        matrix, sizes = statistics.cluster_sums(np.array([one.values, two.values]), self.clusters)

        def compute() -> Bounds:
            found = statistics.paired_differences(matrix, sizes, seed=self.seed)
            return float(found.low[0, 1]), float(found.high[0, 1])

        return _kept("difference", self.seed, matrix, sizes, compute)

    @property
    def all_reported(self) -> bool:
        return all(told.origin == "reported" for told in self.told.values())

    def best_and_second(self, shown: Iterable[RowKey]) -> tuple[list[RowKey], list[RowKey]]:
        """The best of the shown rows with all that cannot be told from it, and the best of the rest.

        Recomputed figures that were heard on enough compete with each other, paired over the same resamples as on the board;
        where the values of items are not known only equal figures are tied. Reported figures compete only where nothing was
        recomputed, and a gap below REPORTED_TIE is a tie. A single figure is no contest.
        """
        shown = set(shown)
        rivals = {key: told for key, told in self.told.items() if key in shown and (told.ranked or self.all_reported)}
        if len(rivals) < 2:
            return [], []
        top = max(told.value for told in rivals.values())
        slack = REPORTED_TIE - 1e-9 if self.all_reported else 0.0
        best = [key for key, told in rivals.items() if told.value >= top - slack]
        if self.clusters is not None and all(told.values is not None for told in rivals.values()):
            values = [told.value for told in rivals.values()]
            matrix, sizes = statistics.cluster_sums(np.array([told.values for told in rivals.values()]), self.clusters)
            places = _kept(
                f"ranks {values}",
                self.seed,
                matrix,
                sizes,
                lambda: statistics.rank_intervals(values, matrix, sizes, seed=self.seed),
            )
            best = [key for key, place in zip(rivals, places, strict=True) if place and place.tied_with_leader]
        rest = {key: told.value for key, told in rivals.items() if key not in best}
        second = [key for key, value in rest.items() if value == max(rest.values())]
        return best, second


def _kept(what: str, seed: str, matrix: np.ndarray, sizes: np.ndarray, compute: Callable[[], Kept]) -> Kept:
    """What `compute` gives, kept under a hash of all that it rests on: never stale, and the same for whoever may see it."""
    content = hashlib.sha256(f"{what} {seed} {matrix.shape} ".encode())
    content.update(np.ascontiguousarray(matrix).tobytes())
    content.update(np.ascontiguousarray(sizes).tobytes())
    key = f"recipe:{content.hexdigest()}"
    found = cache.get(key)
    if found is None:
        found = compute()
        cache.set(key, found, timeout=None)
    return found


def collect(recipe: Recipe, wish: ColumnWish, standing: Standing, user: Person) -> Figures:
    """All figures of the column's place that `user` may see. Raises RecipeError for an evaluator that is not there."""
    board, spec = standing.board, standing.spec
    names = [evaluator.name for evaluator in spec.evaluators]
    if wish.evaluator and wish.evaluator not in names:
        index = [other.name for other in recipe.columns].index(wish.name)
        known = ", ".join(names) or "there are none"
        raise recipe.error(("columns", index, "evaluator"), f"is {wish.evaluator!r}; known are: {known}")
    evaluator = wish.evaluator or (names[0] if names else "")
    metric = wish.metric or board.metric
    place = f"{wish.dimension}={wish.facet}" if wish.facet or wish.dimension != "overall" else "all"
    split = board.split
    items = " ".join(filter(None, (spec.slug, split.release.name, split.name, place, split.fingerprint[:12])))
    out = Figures(replace(wish, metric=metric), standing, metric, evaluator, items, split.fingerprint)
    if recipe.figures != "reported":
        _recomputed(recipe, out, user)
    if recipe.figures != "recomputed":
        for key, told in _reported(out).items():
            out.told.setdefault(key, told)
    return out


# --- recomputed -------------------------------------------------------------------------------------------------------


def _recomputed(recipe: Recipe, out: Figures, user: Person) -> None:
    entries = [entry for entry in out.standing.entries if recipe.partial or entry.why_unranked != PARTIAL]
    evaluations = _evaluations(out, entries, user)
    scores = _scores(out, [pk for own in evaluations.values() for pk in own])
    found: list[tuple[Entry, list[dict[int | None, Score]]]] = []
    for entry in entries:
        tables = [scores.get(pk, {}) for pk in evaluations.get(entry.key, ())]
        if tables and all(tables):
            found.append((entry, tables))
    if not found:
        return
    vectors = _item_values(out, {entry.key: evaluations[entry.key] for entry, _ in found})
    for entry, tables in found:
        whole = [_whole(table) for table in tables]
        if not all(score is not None and score.value is not None for score in whole):
            continue
        told = _told(entry, [score for score in whole if score is not None], tables)
        values = vectors.get(entry.key)
        if values is not None and len(values) == told.n:
            told.values = values
            if len(tables) > 1 and out.clusters is not None:
                everything = [np.arange(len(values))]
                bounds = statistics.mean_intervals(values, everything, out.clusters, seed=out.seed)[0]
                if bounds is not None:
                    told.low, told.high = bounds
        out.told[entry.model.pk, entry.snapshot] = told


def _evaluations(out: Figures, entries: Sequence[Entry], user: Person) -> dict[str, list[int]]:
    """Entry -> its evaluations by the column's evaluator."""
    first = out.spec.evaluator
    if first and out.evaluator == first.name:
        return {entry.key: [evaluation.pk for evaluation in entry.evaluations] for entry in entries}
    runs = {run.pk: entry.key for entry in entries for run in entry.runs}
    chosen = Evaluation.objects.visible_to(user).current().filter(run__in=runs, evaluator__name=out.evaluator)
    found: dict[str, list[int]] = {}
    for pk, run in chosen.order_by("run").values_list("pk", "run_id"):
        found.setdefault(runs[run], []).append(pk)
    return {entry.key: found[entry.key] for entry in entries if len(found.get(entry.key, ())) == len(entry.runs)}


def _scores(out: Figures, evaluations: Sequence[int]) -> dict[int, dict[int | None, Score]]:
    wish = out.wish
    rows = Score.objects.filter(
        evaluation__in=evaluations,
        metric=out.metric,
        variant=wish.variant,
        dimension=wish.dimension,
        facet=wish.facet,
    )
    found: dict[int, dict[int | None, Score]] = {}
    for score in rows:
        found.setdefault(score.evaluation_id, {})[score.repeat] = score
    return found


def _whole(table: dict[int | None, Score]) -> Score | None:
    """Over all repeats, or of the only one."""
    return table.get(None) or (next(iter(table.values())) if len(table) == 1 else None)


def _told(entry: Entry, whole: Sequence[Score], tables: Sequence[dict[int | None, Score]]) -> Told:
    spread = [score.value for table in tables for repeat, score in sorted(table.items(), key=str) if repeat is not None]
    least = min(whole, key=lambda score: score.n_answered)
    return Told(
        entry.model,
        statistics.mean([score.value for score in whole if score.value is not None]),
        entry.runs[0].origin,
        n=least.n,
        n_answered=least.n_answered,
        low=whole[0].ci_low if len(whole) == 1 else None,
        high=whole[0].ci_high if len(whole) == 1 else None,
        spread=tuple(value for value in spread if value is not None),
        partial=entry.why_unranked == PARTIAL,
        ranked=not entry.why_unranked,
        note="Scored by earlier rules or against earlier gold." if entry.why_unranked == STALE else "",
    )


def _item_values(out: Figures, evaluations: dict[str, list[int]]) -> dict[str, np.ndarray]:
    """Entry -> the metric's value of each item of the column, missing ones 0; nothing for a metric that has no vector.

    Sets `out.clusters`. Only the plain variant has values of items.
    """
    if out.wish.variant:
        return {}
    every = [pk for own in evaluations.values() for pk in own]
    rows = Vector.objects.filter(evaluation__in=every, repeat=0, name=out.metric)
    data = {pk: np.frombuffer(raw, dtype="<f8") for pk, raw in rows.values_list("evaluation_id", "data")}
    if len(data) < len(every):
        return {}
    kept, clusters = _kept_items(out)
    if not len(kept) or any(len(vector) <= kept[-1] for vector in data.values()):
        return {}
    out.clusters = clusters
    return {
        key: np.mean([np.nan_to_num(data[pk], nan=0.0)[kept] for pk in own], axis=0) for key, own in evaluations.items()
    }


def _kept_items(out: Figures) -> tuple[np.ndarray, np.ndarray]:
    """Indexes of the column's items among the scored ones of the split, and a code of the unit that each belongs to.

    Where the headline repeats a case's value on each of its items, the first item of a case stands for it.
    """
    rows = SplitItem.objects.filter(split=out.board.split, item__scored=True).order_by("position")
    inside = None
    if out.wish.dimension != "overall":
        facet: dict[str, Any] = {"item__facets__dimension": out.wish.dimension, "item__facets__name": out.wish.facet}
        inside = set(rows.filter(**facet).values_list("item_id", flat=True))
    once = out.standing.shown.of_cases and out.metric == out.standing.shown.figures[0].metric
    codes: dict[str, int] = {}
    cases: set[str] = set()
    kept, clusters = [], []
    found = rows.values_list("item_id", "item__key", "item__case", "item__cluster")
    for index, (pk, key, case, cluster) in enumerate(found):
        code = codes.setdefault(cluster or key, len(codes))
        if (inside is not None and pk not in inside) or (once and (case or key) in cases):
            continue
        cases.add(case or key)
        kept.append(index)
        clusters.append(code)
    return np.array(kept, dtype=np.int64), np.array(clusters, dtype=np.int64)


# --- reported ---------------------------------------------------------------------------------------------------------


def _reported(out: Figures) -> dict[RowKey, Told]:
    """Models' reported figures. Of several of one model the first of the sources' own order counts, the others are noted.

    Figures that stand on no board are told only where the column names their source.
    """
    board, wish = out.board, out.wish
    place = dict(zip(_REPORTED_FIELDS, (out.metric, wish.variant, wish.dimension, wish.facet), strict=True))
    rows = ReportedScore.objects.filter(split=board.split, mode=board.mode, human=False, model__isnull=False, **place)
    rows = rows.filter(source__key=wish.source) if wish.source else rows.filter(on_board=True)
    if not wish.source and (board.shots is not None or board.conversation_kept is not None):
        rows = rows.filter(protocol=board.protocol)
    found = list(rows.select_related("model", "source").order_by("order", "pk"))
    decimals: dict[int, int] = {}
    for row in found:
        decimals[row.source_id] = max(decimals.get(row.source_id, 0), _decimals(row))
    out_rows: dict[RowKey, Told] = {}
    for row in found:
        if row.model is None:
            continue
        key = (row.model.pk, "")
        if key in out_rows:
            first = out_rows[key]
            more = f"{row.source.text} gives {row.printed}" + (f" ({row.note})" if row.note else "")
            out_rows[key] = replace(first, note="; ".join(filter(None, (first.note, more))))
            continue
        out_rows[key] = Told(
            row.model,
            row.value,
            "reported",
            n=row.n,
            spread=tuple(row.runs),
            reported_sd=row.reported_sd,
            decimals=decimals[row.source_id],
            order=row.order,
            note=_own_note(row, found),
            protocol=row.protocol,
            source=row.source_id,
        )
    return out_rows


def _own_note(row: ReportedScore, found: Sequence[ReportedScore]) -> str:
    """What is told of this figure and not of all alike."""
    return "" if len(found) > 1 and len({other.note for other in found}) == 1 else row.note


def _decimals(row: ReportedScore) -> int:
    """Decimal places of the printed figure in percent."""
    exponent = Decimal(row.printed).as_tuple().exponent
    places = -exponent if isinstance(exponent, int) else 0
    return max(0, places if row.unit == "percent" else places - 2)
