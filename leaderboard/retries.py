"""What did the retry change? Runs that no longer count against the live ones that took their place, item by item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db.models import Q

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Run, Vector
from ingest.models import Source
from leaderboard.scores import metric_name
from leaderboard.standings import shown, units_of
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value

MOST = 50


@dataclass(frozen=True)
class Change:
    """Two vectors of one metric side by side, over the items that have a value in both.

    `before` and `now` are means over these `common` items (None: there are none), `right_before` and `right_now` the
    numbers of items at 1 where every value is 0 or 1, else None. `better` and `worse` count items whose value rose or fell;
    `gained` and `lost` those with a row only now or only before.
    """

    common: int
    before: float | None
    now: float | None
    right_before: int | None
    right_now: int | None
    better: int
    worse: int
    gained: int
    lost: int


def change(before: np.ndarray, now: np.ndarray) -> Change:
    """Compare two vectors of one length, NaN where an item has no row. Raises ValueError for other lengths."""
    if before.shape != now.shape:
        raise ValueError(f"Vectors of {before.size} and {now.size} items cannot be compared.")
    had, has = ~np.isnan(before), ~np.isnan(now)
    both = had & has
    old, new = before[both], now[both]
    whole = bool(np.isin(old, (0, 1)).all() and np.isin(new, (0, 1)).all())
    return Change(
        common=int(both.sum()),
        before=float(old.mean()) if old.size else None,
        now=float(new.mean()) if new.size else None,
        right_before=int(old.sum()) if whole else None,
        right_now=int(new.sum()) if whole else None,
        better=int((new > old).sum()),
        worse=int((new < old).sum()),
        gained=int((has & ~had).sum()),
        lost=int((had & ~has).sum()),
    )


COLUMNS = (
    Column("model", "Model", "model"),
    Column("past", "Run before", "link"),
    Column("live", "Live run", "link"),
    Column("common", "Items in common", "count", help="With a row in both runs."),
    Column("before", "Before", "count", help="Over the items in common."),
    Column("now", "Now", "count", help="Over the items in common."),
    Column("better", "Better now", "count"),
    Column("worse", "Worse now", "count"),
    Column("gained", "Only now", "count", help="Items without a row before."),
    Column("lost", "Only before", "count", help="Items without a row now."),
)
GROUPS = (
    Group("pair", ""),
    Group("alone", "Nothing to compare with", "no live run shares model, split, mode and repeats."),
)


def retries_table(source: Source) -> Table | None:
    """The newest MOST past runs that concern a source, each against its live run; None where no past run is loaded.

    Past runs are the archived and superseded ones read from it, and those that share model, split and mode with one of its
    live runs. The live run is the one that superseded it, else the newest with the same repeats.
    """
    own = Run.objects.filter(source_files__source=source)
    live = Run.objects.live().filter(pk__in=own.values("pk")).select_related("model", "split__release__benchmark")
    by_key: dict[tuple, list[Run]] = {}
    for run in live.order_by("-answered_at", "-loaded_at"):
        by_key.setdefault(_key(run), []).append(run)
    same_key = Q(model__in={key[0] for key in by_key}, split__in={key[1] for key in by_key})
    past = (
        Run.objects.exclude(state=Run.State.LIVE)
        .filter(Q(pk__in=own.values("pk")) | same_key)
        .select_related("model", "split__release__benchmark")
        .order_by("-loaded_at", "-pk")
    )
    own_keys = set(own.exclude(state=Run.State.LIVE).values_list("pk", flat=True))
    found = [run for run in past if run.pk in own_keys or _key(run) in by_key]
    if not found:
        return None
    pairs = [(run, _live_run(run, by_key.get(_key(run), []))) for run in found[:MOST]]
    evaluations = _evaluations(run for pair in pairs for run in pair if run is not None)
    vectors = headline_vectors(evaluations.values())
    rows = tuple(_row(run, other, evaluations, vectors) for run, other in pairs)
    more = len(found) - MOST
    notes = (f"{more:,} older runs are not shown.",) if more > 0 else ()
    return Table("retries", "Runs before and now", "", COLUMNS, rows, GROUPS, notes=notes)


def _key(run: Run) -> tuple:
    return run.model_id, run.split_id, run.mode


def _live_run(run: Run, candidates: list[Run]) -> Run | None:
    successor = next((other for other in candidates if other.pk == run.superseded_by_id), None)
    return successor or next((other for other in candidates if other.repeats == run.repeats), None)


def _evaluations(runs: Iterable[Run]) -> dict[int, Evaluation]:
    """run -> its current evaluation by the benchmark's own evaluator."""
    names = {spec.evaluator.name for spec in BENCHMARKS.values() if spec.evaluator}
    found = Evaluation.objects.filter(run__in={run.pk for run in runs}, current=True, evaluator__name__in=names)
    return {evaluation.run_id: evaluation for evaluation in found.select_related("evaluator")}


def headline_vectors(evaluations: Iterable[Evaluation]) -> dict[int, np.ndarray]:
    """evaluation -> the vector of its headline over all repeats."""
    headlines = {evaluation.pk: evaluation.evaluator.headline for evaluation in evaluations}
    rows = Vector.objects.filter(evaluation__in=headlines, repeat=0, name__in=set(headlines.values()))
    return {
        pk: np.frombuffer(data, dtype="<f8")
        for pk, name, data in rows.values_list("evaluation_id", "name", "data")
        if name == headlines[pk]
    }


def _row(run: Run, other: Run | None, evaluations: dict[int, Evaluation], vectors: dict[int, np.ndarray]) -> Row:
    release = run.split.release
    where = " · ".join([release.benchmark.name, release.name, run.split.name, run.mode])
    cells = [
        Cell(run.model.name, href=run.model.get_absolute_url(), sub=where),
        Cell(run.key, href=run.get_absolute_url(), sub=run.get_state_display()),
    ]
    if other is None:
        missing = Cell(note="no live run to compare with")
        return Row(run.key, (*cells, *[missing] * (len(COLUMNS) - 2)), "alone")
    cells.append(Cell(other.key, href=other.get_absolute_url()))
    first, then = evaluations.get(run.pk), evaluations.get(other.pk)
    why = _not_comparable(first, then, vectors)
    if first is None or then is None or why:
        return Row(run.key, (*cells, *[Cell(note=why)] * (len(COLUMNS) - 3)), "pair")
    metric = then.evaluator.headline
    units = units_of(shown(BENCHMARKS[release.benchmark.slug], metric), run.split)
    found = change(vectors[first.pk][units], vectors[then.pk][units])
    if found.right_before is not None and found.right_now is not None:
        before, now = (_count(number, "right") for number in (found.right_before, found.right_now))
    else:
        figure = shown(BENCHMARKS[release.benchmark.slug], metric).figures[0]
        before, now = (
            Cell(
                f"{format_value(value, figure.unit, figure.precision)} {figure.unit}",
                value=value,
                sub=metric_name(metric),
            )
            if value is not None
            else Cell(note="no item in common")
            for value in (found.before, found.now)
        )
    counts = (found.better, found.worse, found.gained, found.lost)
    return Row(run.key, (*cells, _count(found.common), before, now, *map(_count, counts)), "pair")


def _not_comparable(first: Evaluation | None, then: Evaluation | None, vectors: dict[int, np.ndarray]) -> str:
    """Why two evaluations say nothing about each other; "" when they do."""
    if first is None or then is None or first.pk not in vectors or then.pk not in vectors:
        return "not scored"
    if first.gold_fingerprint != then.gold_fingerprint or vectors[first.pk].shape != vectors[then.pk].shape:
        return "scored against other gold"
    return "" if first.evaluator_id == then.evaluator_id else "scored by other rules"


def _count(number: int, sub: str = "") -> Cell:
    return Cell(f"{number:,}", value=number, sub=sub)
