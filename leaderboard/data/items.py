"""Item-level rows: one answer to one item with what the evaluator said of it, streamed in batches.

A verdict on a single item gives its gold away to whoever knows the answer, so all of it is for those alone who may see the
benchmark's items; runs go through `visible_to` besides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Benchmark, Evaluation, Item, ItemScore, Response, Run
from evaluation.protocols.base import Outcome
from leaderboard.models import Board

if TYPE_CHECKING:
    from evaluation.querysets import Person

BATCH = 2_000  # rows
Row = tuple[Any, ...]
# Every column with its type; `prediction` and `gold` hold JSON, the prediction cut at 2,000 characters.
COLUMNS: dict[str, type] = {
    "run": str,
    "benchmark": str,
    "release": str,
    "split": str,
    "mode": str,
    "protocol": str,
    "model": str,
    "model_slug": str,
    "evaluator": str,
    "repeat": int,
    "item": str,
    "case": str,
    "cluster": str,
    "scored": bool,
    "outcome": str,
    "value": float,
    "rule": str,
    "prediction": str,
    "gold": str,
    "recovered": bool,
    "file": str,
    "file_sha256": str,
    "line": int,
    "offset": int,
    "length": int,
    "pointer": str,
}
NULLABLE = {"value", "gold", "line"}
WHO = {
    Benchmark.Access.NOBODY: "nobody",
    Benchmark.Access.GROUP: "the people of its data-access group",
    Benchmark.Access.MEMBERS: "people who are signed in",
}
_OUTCOMES = {outcome.value: outcome.name.lower() for outcome in Outcome}


class ItemsHidden(PermissionDenied):
    """The benchmark's items are not for this person; the text says for whom they are."""


def check_items(benchmark: Benchmark, user: Person) -> None:
    """Raises ItemsHidden where `user` may not see the benchmark's items."""
    if not benchmark.items_visible_to(user):
        who = WHO[Benchmark.Access(benchmark.item_access)]
        raise ItemsHidden(f"Items and answers of {benchmark.name} are shown to {who}.")


@dataclass(frozen=True)
class ItemRows:
    """The item-level rows of some evaluations of one benchmark, in a fixed order; may be gone through again."""

    benchmark: Benchmark
    evaluations: Sequence[Evaluation]

    @cached_property
    def count(self) -> int:
        """How many rows there are."""
        return ItemScore.objects.filter(evaluation__in=[one.pk for one in self.evaluations]).count()

    @property
    def about(self) -> dict[str, str]:
        """Where they come from and under what terms, for files that can say it."""
        names = sorted({one.evaluator.name for one in self.evaluations})
        return {
            "benchmark": self.benchmark.name,
            "licence": self.benchmark.licence,
            "attribution": self.benchmark.attribution,
            "evaluator": ", ".join(names),
        }

    def batches(self) -> Iterator[list[Row]]:
        """Rows in the order of COLUMNS, at most BATCH at a time: by evaluation, then in the order of reading.

        Read by ranges of the primary key, so that nothing is held open between two batches.
        """
        split, items = None, {}
        for evaluation in self.evaluations:
            run = evaluation.run
            if run.split_id != split:  # the runs of a board have one split
                split, items = run.split_id, _items(run.split_id)
            files = {pk: (path, sha256) for pk, path, sha256 in run.files.values_list("pk", "path", "sha256")}
            start = 0
            while batch := _batch(evaluation, start, items, files):
                yield batch
                start += BATCH


def of_run(run: Run, user: Person, evaluator: str = "") -> ItemRows:
    """The rows of a run that `user` may see. Raises ItemsHidden, and LookupError for an evaluator that it does not have."""
    return _chosen(run.split.release.benchmark, user, evaluator, run=run)


def of_board(board: Board, user: Person, evaluator: str = "") -> ItemRows:
    """The rows of the visible live runs of a board's key; raises as `of_run`."""
    key = {"split": board.split, "mode": board.mode, "shots": board.shots}
    places = {f"run__{name}": value for name, value in {**key, "conversation_kept": board.conversation_kept}.items()}
    return _chosen(board.benchmark, user, evaluator, run__state=Run.State.LIVE, **places)


def of_benchmark(benchmark: Benchmark, user: Person, evaluator: str = "") -> ItemRows:
    """The rows of all visible live runs of a benchmark; raises as `of_run`."""
    return _chosen(benchmark, user, evaluator, run__state=Run.State.LIVE, run__split__release__benchmark=benchmark)


def _chosen(benchmark: Benchmark, user: Person, evaluator: str, **which: Any) -> ItemRows:
    """Of one evaluator, that of the board where none is named: figures of two are not to be mixed by accident."""
    check_items(benchmark, user)
    spec = BENCHMARKS[benchmark.slug]
    known = [one.name for one in spec.evaluators]
    name = evaluator or (known[0] if known else "")
    found = Evaluation.objects.visible_to(user).current().filter(evaluator__name=name, **which)
    if evaluator and evaluator not in known and not found.exists():
        raise LookupError(f"{evaluator!r} is no evaluator of {benchmark.slug}; there are {', '.join(known)}")
    ordered = found.order_by(
        "run__split__release__name", "run__split__name", "run__mode", "run__model_name", "run__key"
    )
    return ItemRows(
        benchmark, list(ordered.select_related("evaluator", "run__split__release__benchmark", "run__model"))
    )


def _batch(evaluation: Evaluation, start: int, items: dict[int, Row], files: dict[int, tuple[str, str]]) -> list[Row]:
    here = {"ordinal__gte": start, "ordinal__lt": start + BATCH}
    answers = Response.objects.filter(run=evaluation.run_id, **here).order_by("ordinal")
    verdicts = ItemScore.objects.filter(evaluation=evaluation, **here).order_by("ordinal")
    head = _head(evaluation)
    place = ("item_id", "item_key", "repeat", "recovered", "file_id", "line", "offset", "length", "pointer")
    given = ("outcome", "value", "rule", "prediction")
    rows = []
    for answer, verdict in zip(answers.values_list(*place), verdicts.values_list(*given), strict=True):
        item_id, written, repeat, recovered, file_id, line, offset, length, pointer = answer
        outcome, value, rule, prediction = verdict
        key, case, cluster, scored, gold = items.get(item_id) or (written, "", "", False, None)
        rows.append(
            (
                *head,
                repeat,
                key,
                case,
                cluster,
                scored,
                _OUTCOMES[outcome],
                value,
                rule,
                prediction,
                gold,
                recovered,
                *files[file_id],
                line or None,
                offset,
                length,
                pointer,
            )
        )
    return rows


def _head(evaluation: Evaluation) -> tuple[str, ...]:
    run = evaluation.run
    release = run.split.release
    place = (release.benchmark.slug, release.name, run.split.name, run.mode, run.protocol_text)
    return (run.key, *place, run.model.name, run.model.slug, evaluation.evaluator.name)


def _items(split: int) -> dict[int, Row]:
    """(key, case, cluster, scored, gold as JSON) of the items of a split, by primary key."""
    fields = ("pk", "key", "case", "cluster", "scored", "gold")
    rows = Item.objects.filter(splits=split).values_list(*fields).iterator(chunk_size=1000)
    return {pk: (key, case, cluster, scored, json.dumps(gold)) for pk, key, case, cluster, scored, gold in rows}
