"""The data that a page offers, in words: only what its reader may have."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from evaluation.models import Benchmark, Run
from leaderboard.data.eee import evaluator_name
from leaderboard.data.items import ItemsHidden, check_items
from leaderboard.models import Board

if TYPE_CHECKING:
    from evaluation.querysets import Person

ITEMS = "one row for each answer: what was taken from it, the verdict, and its place in the file"

EEE = "the scores of the board's evaluator as a document of schema 0.3, for other tools"


def board_downloads(board: Board, user: Person) -> dict[str, Any]:
    """`downloads` and `items_for` of templates/leaderboard/_data.html."""
    archive = ("Archive, zip", reverse("board-archive", args=[board.slug]), "the table, all scores, runs, checksums")
    return _with_items([archive], "board-items", board.slug, board.benchmark, user)


def run_downloads(run: Run, evaluators: Collection[str], user: Person) -> dict[str, Any]:
    """As `board_downloads`; `evaluators` are the names of its current ones."""
    document = ("Run, JSON", reverse("api:run", args=[run.key]), "files, counts, protocol and all scores")
    links = [document]
    found = _with_items(links, "run-items", run.key, run.split.release.benchmark, user)
    if evaluator_name(run) in evaluators:
        eee = [("Every Eval Ever, JSON", reverse("run-eee", args=[run.key]), EEE)]
        if not found["items_for"]:
            instances = reverse("run-eee-instances", args=[run.key])
            eee.append(("Every Eval Ever instances, JSON Lines", instances, "the instances that the document names"))
        links[1:1] = eee
    return found


def _with_items(
    links: list[tuple[str, str, str]], name: str, key: str, benchmark: Benchmark, user: Person
) -> dict[str, Any]:
    try:
        check_items(benchmark, user)
    except ItemsHidden as error:
        return {"downloads": links, "items_for": str(error)}
    forms = [("Items, JSON Lines", "jsonl"), ("Items, Parquet", "parquet")]
    links += [(label, reverse(name, args=[key, form]), ITEMS) for label, form in forms]
    return {"downloads": links, "items_for": ""}
