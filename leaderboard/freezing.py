"""Freezing: what a board says now as one document that is never written again, and what tells two of them apart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from evaluation.querysets import sees_everything
from leaderboard.boardtable import board_table
from leaderboard.citations import terms
from leaderboard.models import Board, Freeze
from leaderboard.standings import rank, standings
from leaderboard.tables import Table
from leaderboard.tables.stored import from_dict
from leaderboard.words import board_subtitle, ranking_in_words

if TYPE_CHECKING:
    from evaluation.querysets import Person

FORMAT = "clinboard-freeze-1"
PUBLIC, STAFF = "public", "staff"


class NothingToFreeze(ValueError):
    """The board has nothing on it for the person by whose eyes it was to be frozen."""


def canonical(document: Any) -> str:
    """JSON with sorted keys, without white space, in UTF-8 when it is encoded: the text that is hashed and stored."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def state(board: Board, user: Person, seen: str) -> dict[str, Any]:
    """All that the board says to `user` today, with what it rests on. `seen` says by whose rights, in words.

    Raises NothingToFreeze where there is nothing on it for them.
    """
    standing = standings([board], user)[0]
    if not standing.entries and not standing.reported:
        raise NothingToFreeze(f"There is nothing on {board.slug} that {seen} may see.")
    rank(standing)
    release, split = board.split.release, board.split
    rules = {
        (evaluation.evaluator.name, evaluation.evaluator.fingerprint)
        for entry in standing.entries
        for evaluation in entry.evaluations
    }
    return {
        "format": FORMAT,
        "date": timezone.now().date().isoformat(),
        "seen": seen,
        "board": {
            "slug": board.slug,
            "benchmark": board.benchmark.slug,
            "name": standing.spec.name,
            "subtitle": board_subtitle(board),
            "release": release.name,
            "split": split.name,
            "mode": board.mode,
            "shots": board.shots,
            "conversation_kept": board.conversation_kept,
            "metric": standing.headline.metric,
            "min_coverage": board.min_coverage,
        },
        "sentence": ranking_in_words(standing),
        "fingerprints": {
            "release": release.fingerprint,
            "split": split.fingerprint,
            "labels": split.labels_fingerprint,
        },
        "evaluators": [{"name": name, "fingerprint": fingerprint} for name, fingerprint in sorted(rules)],
        "runs": {
            entry.key: [
                {
                    "key": evaluation.run.key,
                    "evaluator": evaluation.evaluator.name,
                    "evaluator_fingerprint": evaluation.evaluator.fingerprint,
                    "gold_fingerprint": evaluation.gold_fingerprint,
                }
                for evaluation in entry.evaluations
            ]
            for entry in standing.entries
        },
        "terms": terms(standing.spec),
        "table": board_table(standing).as_dict(),
    }


def freeze(board: Board, user: Person | None = None) -> Freeze:
    """The board as the public sees it, or as `user` does; the same state on the same day is the freeze that is there.

    A freeze for the public is made of what is public alone. Any other is seen by staff and, where it was made by the
    rights of a person who is not staff, by that person. Raises NothingToFreeze.
    """
    owner: Any = None
    if user is None:
        seen = PUBLIC
    elif sees_everything(user):
        seen = STAFF
    else:
        seen, owner = f"the person {user.get_username()}", user
    content = canonical(state(board, AnonymousUser() if user is None else user, seen))
    found, _ = Freeze.objects.get_or_create(
        digest=digest(content),
        defaults={
            "content": content,
            "board": board.slug,
            "public": user is None,
            "owner": owner,
        },
    )
    return found


def table_of(document: dict[str, Any], digest: str, address: str) -> Table:
    """The frozen table as it was, with the facts by which it is known: date, hash, address and terms."""
    table = from_dict(document["table"])
    known = {label for label, _ in table.facts}
    told = [
        ("Frozen", document["date"]),
        ("sha256", digest),
        ("Address", address),
        ("Licence and attribution", document["terms"]),
    ]
    facts = (*table.facts, *((label, value) for label, value in told if value and label not in known))
    return replace(table, facts=facts)
