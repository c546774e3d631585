"""Parts of pages that are made once for a state of a board and kept under it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from django.core.cache import cache

from evaluation.models import Evaluation, Run
from leaderboard.models import Board

if TYPE_CHECKING:
    from evaluation.querysets import Person

VERSION = version("clinboard")
KEPT_S = 3600
MOST = 2_000_000  # characters of a part that is kept


def state(board: Board, user: Person) -> str:
    """A hash of all that the recomputed figures of a board say to `user`, "" where they see none: one query.

    Two people who see the same runs have the same state, and what one may not see is in no other's.
    """
    evaluations = (
        Evaluation.objects.visible_to(user)
        .current()
        .filter(
            run__state=Run.State.LIVE,
            run__split=board.split_id,
            run__mode=board.mode,
            run__shots=board.shots,
            run__conversation_kept=board.conversation_kept,
        )
        .order_by("pk")
    )
    split, benchmark = board.split, board.benchmark
    rows = list(
        evaluations.values_list(
            "pk",
            "run__key",
            "run__protocol__snapshot",
            "run__answered_at",
            "evaluator__fingerprint",
            "gold_fingerprint",
            "labels_fingerprint",
            "run__model__slug",
            "run__model__name",
            "run__model__organisation",
            "run__model__access",
        )
    )
    if not rows:
        return ""
    content = [
        rows,
        [board.pk, board.slug, board.metric, board.min_coverage, split.release.name, split.name, split.rankable],
        [split.fingerprint, split.labels_fingerprint, split.gold_missing, split.expected_items],
        [benchmark.name, benchmark.licence, benchmark.attribution, VERSION],
    ]
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def kept(
    board: Board, user: Person, name: str, chosen: Mapping[str, str], make: Callable[[], str | None]
) -> str | None:
    """The part of a page as it was made for this state of the board and these choices, else made now.

    None where the person sees no evaluation on the board, or where there is nothing to show. That is not kept, nor is what
    is very long.
    """
    now = state(board, user)
    if not now:
        return None
    words = json.dumps([name, sorted(chosen.items())])
    key = f"part:{hashlib.sha256((now + words).encode()).hexdigest()}"
    found = cache.get(key)
    if found is None:
        found = make()
        if found is not None and len(found) <= MOST:
            cache.set(key, found, timeout=KEPT_S)
    return found
