"""What another evaluator, or an earlier version of one, would change on a board: values, ranks, items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.urls import reverse

from evaluation import statistics
from evaluation.models import Evaluation, Evaluator, SplitItem
from leaderboard.models import Board
from leaderboard.retries import change, headline_vectors
from leaderboard.scores import metric_name, metric_unit
from leaderboard.standings import Entry, standings, units_of
from leaderboard.tables import Cell, Column, Group, Row, Table
from leaderboard.words import board_subtitle

if TYPE_CHECKING:
    from evaluation.querysets import Person

MOST_ITEMS = 100


@dataclass(frozen=True)
class Rules:
    """An evaluator as some evaluations of the board's runs used it. `shown`: the board shows it."""

    evaluator: Evaluator
    shown: bool

    @property
    def label(self) -> str:
        return f"{self.evaluator.name} ({self.evaluator.fingerprint[:8]})"


def moves_page(board: Board, user: Person, query: Mapping[str, Any]) -> dict[str, Any] | None:
    """The context of the page; None where there is nothing recomputed on the board, or a chosen evaluator is not there.

    `a` and `b` choose evaluators by the first digits of their fingerprints: without them the board's own stands last and
    the newest other one first.
    """
    standing = standings([board], user)[0]
    entries = standing.entries
    if not entries:
        return None
    runs = [run.pk for entry in entries for run in entry.runs]
    found = Evaluation.objects.visible_to(user).filter(run__in=runs).select_related("evaluator").order_by("-pk")
    by_rules: dict[int, dict[int, Evaluation]] = {}
    for evaluation in found:  # newest first: of one evaluator's several the newest counts
        by_rules.setdefault(evaluation.evaluator_id, {}).setdefault(evaluation.run_id, evaluation)
    spec = standing.spec
    now = spec.evaluator.fingerprint if spec.evaluator else ""
    rules = [
        Rules(evaluator, evaluator.fingerprint == now)
        for evaluator in Evaluator.objects.filter(pk__in=by_rules).order_by("-pk")
    ]
    rules.sort(key=lambda one: one.shown)  # the board's own comes last
    first, then = _pick(rules, query.get("a"), 0), _pick(rules, query.get("b"), -1)
    if first is None or then is None:
        return None
    context: dict[str, Any] = {
        "board": board,
        "subtitle": board_subtitle(board),
        "spec": spec,
        "rules": rules,
        "first": first,
        "then": then,
        "sides": [(first, "First"), (then, "Second")],
        "crumbs": [
            ("Boards", reverse("home")),
            (f"{spec.name} {board_subtitle(board)}", board.get_absolute_url()),
            ("Two evaluators", ""),
        ],
    }
    if first == then:
        return {**context, "alone": True}
    before, after = by_rules[first.evaluator.pk], by_rules[then.evaluator.pk]
    vectors = headline_vectors([*before.values(), *after.values()])
    missing = standing.shown.by_item.get(standing.headline.metric)
    moved = _Moves(entries, before, after, vectors, units_of(standing.shown, board.split), missing)
    context["table"] = moved.table(first, then)
    context["items_moved"] = int(np.count_nonzero(moved.models_moved))
    context["items"] = None
    if board.benchmark.items_visible_to(user):
        context["items"] = _items(board, moved.models_moved)
    return context


def _pick(rules: list[Rules], wanted: str | None, default: int) -> Rules | None:
    if not wanted:
        return rules[default] if rules else None
    return next((one for one in rules if one.evaluator.fingerprint.startswith(wanted)), None)


class _Moves:
    """Two evaluations of every run of the entries, side by side.

    A value is the mean over what the headline counts, as the board's, then over the runs: `units` are the places of that in
    the vectors, `missing` is what stands in for a missing item (None: it is left out). An entry without both evaluations of
    all its runs against the same gold stands apart, with the reason.
    """

    def __init__(
        self,
        entries: list[Entry],
        before: dict[int, Evaluation],
        after: dict[int, Evaluation],
        vectors: dict[int, np.ndarray],
        units: np.ndarray,
        missing: float | None,
    ) -> None:
        self.rows: list[tuple[Entry, float, float, int, int]] = []
        self.apart: list[tuple[Entry, str]] = []
        size = max((len(vector) for vector in vectors.values()), default=0)
        self.models_moved = np.zeros(size, np.int64)
        for entry in entries:
            pairs = [(before.get(run.pk), after.get(run.pk)) for run in entry.runs]
            if why := next((reason for pair in pairs if (reason := _why_not(*pair, vectors))), ""):
                self.apart.append((entry, why))
                continue
            sides = [[vectors[one.pk] for one in side if one is not None] for side in zip(*pairs, strict=True)]
            old, new = (np.array(side) for side in sides)
            self.models_moved += ((old != new) & ~(np.isnan(old) & np.isnan(new))).any(axis=0)
            old, new = (np.where(np.isnan(side), missing, side) if missing is not None else side for side in (old, new))
            found = [change(one[units], other[units]) for one, other in zip(old, new, strict=True)]
            means = [statistics.mean([_mean(row[units]) for row in side]) for side in (old, new)]
            better, worse = sum(one.better for one in found), sum(one.worse for one in found)
            self.rows.append((entry, means[0], means[1], better, worse))

    def table(self, first: Rules, then: Rules) -> Table:
        """A row an entry, by the second evaluator's order; ranks are among the entries that have both."""
        ranks = [
            statistics.order_ranks(values) for values in ([row[1] for row in self.rows], [row[2] for row in self.rows])
        ]
        metric = then.evaluator.headline
        unit, precision = metric_unit(metric)
        scores = [
            Column(
                key,
                f"{metric_name(one.evaluator.headline)}, {word}",
                "score",
                unit=unit,
                precision=precision,
                metric=one.evaluator.headline,
                evaluator=one.label,
            )
            for key, one, word in (("before", first, "first"), ("after", then, "second"))
        ]
        moved = Column(
            "moved", "Second − first", "score", unit="pp" if unit == "%" else unit, precision=precision, metric=metric
        )
        columns = (
            Column("model", "Model", "model"),
            Column("rank_before", "Rank, first", "rank"),
            Column("rank_after", "Rank, second", "rank"),
            *scores,
            moved,
            Column(
                "better",
                "Up",
                "count",
                help="Of what the figure counts, those whose value rises, in all runs together.",
            ),
            Column("worse", "Down", "count"),
        )
        rows = []
        for (entry, old, new, better, worse), was, now in zip(self.rows, *ranks, strict=True):
            cells = (
                Cell(entry.model.name, value=entry.key, href=entry.model.get_absolute_url(), sub=entry.snapshot),
                Cell(str(was), value=was),
                Cell(str(now), value=now, sub="" if was == now else f"was {was}"),
                scores[0].cell(old),
                scores[1].cell(new),
                moved.cell(new - old, text=f"{'+' if new > old else ''}{moved.format(new - old)}"),
                Cell(f"{better:,}", value=better),
                Cell(f"{worse:,}", value=worse),
            )
            rows.append((now or 0, Row(entry.key, cells, "both")))
        rows.sort(key=lambda pair: pair[0])
        rows += [
            (0, Row(entry.key, (Cell(entry.model.name, value=entry.key), *[Cell("–", note=why)] * 7), "apart"))
            for entry, why in self.apart
        ]
        changed = sum(was != now for was, now in zip(*ranks, strict=True))
        note = f"{changed} of {len(self.rows)} entries change their rank among these. Values are the board's headline."
        groups = (Group("both", ""), Group("apart", "Not set side by side"))
        return Table("moves", "Two evaluators", "", columns, tuple(row for _, row in rows), groups, notes=(note,))


def _mean(values: np.ndarray) -> float:
    """Over what is not missing; 0 where all is."""
    present = values[~np.isnan(values)]
    return statistics.mean(present) if len(present) else 0.0


def _why_not(one: Evaluation | None, other: Evaluation | None, vectors: dict[int, np.ndarray]) -> str:
    """Why the two say nothing about each other; "" where they do."""
    if one is None or other is None or one.pk not in vectors or other.pk not in vectors:
        return "one of its runs was not scored by both"
    if one.gold_fingerprint != other.gold_fingerprint or vectors[one.pk].shape != vectors[other.pk].shape:
        return "scored against other gold"
    return ""


def _items(board: Board, models_moved: np.ndarray) -> list[tuple[str, int]]:
    """(item, number of models for which its value moves), the most first, at most MOST_ITEMS."""
    places = [int(place) for place in np.argsort(-models_moved, kind="stable")[:MOST_ITEMS] if models_moved[place]]
    rows = SplitItem.objects.filter(split=board.split_id, item__scored=True).order_by("position")
    keys = list(rows.values_list("item__key", flat=True))
    return [(keys[place], int(models_moved[place])) for place in places]
