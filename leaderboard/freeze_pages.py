"""What the pages of freezes show: the list, one freeze, two against each other, and how to cite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from evaluation.benchmarks import BENCHMARKS
from leaderboard.citations import Entry, cite_freeze, cite_release
from leaderboard.exports import EXPORTS
from leaderboard.freeze_diff import compare
from leaderboard.freezing import table_of
from leaderboard.models import Board, Freeze
from leaderboard.tables import Cell, Column, Group, Row, Table

if TYPE_CHECKING:
    from evaluation.querysets import Person


def address(freeze: Freeze) -> str:
    return f"{settings.ADDRESS}{freeze.get_absolute_url()}"


def frozen_table(freeze: Freeze) -> Table:
    return table_of(freeze.document, freeze.digest, address(freeze))


def release_entry(board: Board) -> Entry:
    return cite_release(BENCHMARKS[board.benchmark.slug], board.split.release.name, timezone.now().date())


def freeze_entry(freeze: Freeze) -> Entry:
    document = freeze.document
    board = document["board"]
    return cite_freeze(
        f"{board['name']}, {board['subtitle'].replace(' · ', ', ')}: the board of {document['date']}",
        freeze.digest,
        document["date"],
        board["release"],
        [f"{rule['name']} ({rule['fingerprint'][:12]})" for rule in document["evaluators"]],
        document["terms"],
        address(freeze),
        timezone.now().date(),
    )


def freezes_page(user: Person, board: str = "") -> dict[str, Any]:
    """The visible freezes, the newest first; of one board where its slug is given. Two queries at most."""
    found = Freeze.objects.visible_to(user)
    if board:
        found = found.filter(board=board)
    rows = []
    previous: dict[str, Freeze] = {}
    shown = list(found[:500])
    for freeze in reversed(shown):
        before = previous.get(freeze.board)
        previous[freeze.board] = freeze
        facts = freeze.document["board"]
        diff = reverse("freeze-diff", args=[before.address, freeze.address]) if before else ""
        cells = (
            Cell(freeze.address, value=freeze.digest, href=freeze.get_absolute_url()),
            Cell(f"{facts['name']} {facts['subtitle']}", value=freeze.board),
            Cell(freeze.document["date"], value=freeze.document["date"]),
            Cell("public" if freeze.public else f"private: by the rights of {freeze.document['seen']}"),
            Cell("the one before it", href=diff) if before else Cell("–", note="the first of its board"),
        )
        rows.append(Row(freeze.digest, cells, "all"))
    table = Table(
        "freezes",
        "Freezes",
        "",
        (
            Column("address", "Freeze", "link", help="The beginning of the hash of its content."),
            Column("board", "Board", "text"),
            Column("date", "Frozen", "date"),
            Column("seen", "Seen by", "text"),
            Column("diff", "Against", "link"),
        ),
        tuple(reversed(rows)),
        (Group("all", ""),),
    )
    return {"table": table, "board": board, "any": bool(rows)}


def freeze_page(freeze: Freeze, user: Person) -> dict[str, Any]:
    """The freeze and the others of its board that `user` may see. Two queries, one of them for the freeze itself."""
    document = freeze.document
    others = Freeze.objects.visible_to(user).filter(board=freeze.board).exclude(pk=freeze.pk)[:20]
    entry = freeze_entry(freeze)
    return {
        "freeze": freeze,
        "document": document,
        "table": frozen_table(freeze),
        "address": address(freeze),
        "citation": entry.in_words(),
        "bibtex": entry.bibtex(),
        "forms": [
            (form.label, reverse("freeze-table", args=[freeze.address, name]))
            for name, form in EXPORTS.items()
            if name != "json"
        ],
        "raw": reverse("freeze-content", args=[freeze.address]),
        "others": [
            (other.document["date"], other, reverse("freeze-diff", args=_in_time(other, freeze))) for other in others
        ],
        "runs": sum(len(runs) for runs in document["runs"].values()),
        "crumbs": [("Freezes", reverse("freezes")), (freeze.address, "")],
    }


def _in_time(one: Freeze, other: Freeze) -> list[str]:
    first, second = sorted((one, other), key=lambda freeze: (freeze.frozen_at, freeze.pk))
    return [first.address, second.address]


def diff_page(before: Freeze, after: Freeze) -> dict[str, Any]:
    return {
        "before": before,
        "after": after,
        "diff": compare(before.document, after.document),
        "other_board": before.board != after.board,
        "crumbs": [("Freezes", reverse("freezes")), (after.address, after.get_absolute_url()), ("What changed", "")],
    }
