"""What the hall does when a run comes in."""

from __future__ import annotations

import hashlib

from django.utils.text import slugify

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Run, Split
from leaderboard.models import Board


def open_board(run: Run, **_kwargs: object) -> None:
    """Make the board that a live run of a benchmark with an evaluator belongs to, if there is none yet."""
    if run.state == Run.State.LIVE:
        ensure_board(run.split, run.mode, run.shots, run.conversation_kept)


def ensure_board(
    split: Split, mode: str, shots: int | None = None, conversation_kept: bool | None = None
) -> Board | None:
    """The board of a comparability key; None while the benchmark has no evaluator and no reported metric of its own."""
    benchmark = split.release.benchmark
    evaluator = BENCHMARKS[benchmark.slug].evaluator
    key = {"split": split, "mode": mode, "shots": shots, "conversation_kept": conversation_kept}
    metric = evaluator.headline if evaluator else "f1"
    board = Board.objects.filter(**key).first()
    return board or Board.objects.create(slug=board_slug(split, mode, shots, conversation_kept), metric=metric, **key)


def board_slug(split: Split, mode: str, shots: int | None, conversation_kept: bool | None) -> str:
    """`liveclin-2025_h1-full-chat`; a hash is added where names lose letters, so that two keys never share a slug."""
    parts = [split.release.benchmark.slug, split.release.name, split.name, mode]
    if shots is not None:
        parts.append(f"{shots}-shot")
    if conversation_kept is not None:
        parts.append("kept" if conversation_kept else "one-by-one")
    text = "-".join(parts)
    slug = slugify(text)
    if slug == text.lower() and len(slug) <= 190:
        return slug
    return f"{slug[:180]}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:6]}"
