"""The methods paragraph of a paper: benchmark, release, evaluator, statistics and dates, from what the pages say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.models import Board, ReportSource
from leaderboard.recipes.words import reported_source
from leaderboard.tables.latex import comment
from leaderboard.tables.texescape import escape
from leaderboard.words import day

if TYPE_CHECKING:
    from leaderboard.recipes.build import Built
    from leaderboard.recipes.figures import Figures


def methods(built: Built, about: Sequence[str] = ()) -> str:
    """One LaTeX paragraph, text escaped; `about` become comments before it."""
    return "\n".join([*("% " + comment(line) for line in about), *map(escape, sentences(built))]) + "\n"


def sentences(built: Built) -> list[str]:
    """The paragraph, a sentence or a few on one thing in each text."""
    figures = [found for found in built.figures if found is not None]
    shown = {row.key for row in built.table.rows}
    out = []
    for slug in dict.fromkeys(found.spec.slug for found in figures):
        out += _benchmark([found for found in figures if found.spec.slug == slug])
    recomputed = [found for found in figures if not found.all_reported]
    if recomputed and shown:
        out.append(_statistics(built, recomputed))
    keys = {key for found in figures for key in found.sources}
    if keys:
        sources = " ".join(
            reported_source(source) for source in ReportSource.objects.filter(pk__in=keys).order_by("key")
        )
        out.append(f"Figures marked as reported were not recomputed; they are taken from: {sources}")
    return out


def _benchmark(figures: Sequence[Figures]) -> list[str]:
    spec = figures[0].spec
    boards = list({found.board.pk: found.board for found in figures}.values())
    releases = ", ".join(
        dict.fromkeys(f"{board.split.release.name} ({_split(board, spec.item_word)})" for board in boards)
    )
    modes = " and ".join(dict.fromkeys(board.mode for board in boards))
    stated = "; ".join(dict.fromkeys(board.protocol for board in boards))
    out = [f"{spec.name}: {spec.description[:1].lower()}{spec.description[1:]}"]
    out.append(f"Release {releases}; mode {modes}; shots and conversation: {stated}.")
    recomputed = [found for found in figures if not found.all_reported]
    if recomputed:
        names = ", ".join(dict.fromkeys(found.evaluator for found in recomputed))
        newest = max((day(found.standing.updated) for found in recomputed), default="")
        dated = f"; the newest answers are of {newest}" if newest else ""
        out.append(f"Scores were computed from the answers by the evaluator {names}{dated}. {spec.how_computed}")
    return out


def _split(board: Board, word: str) -> str:
    items = board.split.expected_items
    return f"split {board.split.name}, {items:,} {word}s" if items else f"split {board.split.name}"


def _statistics(built: Built, figures: Sequence[Figures]) -> str:
    units = " and ".join(dict.fromkeys(f"{found.spec.unit}s" for found in figures))
    text = (
        f"Intervals are 95 % percentile intervals from 10,000 resamples of whole {units}; two models, or two modes of one "
        f"model, are told apart when the interval of their difference over the same resamples lies off zero."
    )
    if built.recipe.uncertainty == "sd":
        text += " Standard deviations are those of a sample (ddof 1), over the repeats of a model."
    return text
