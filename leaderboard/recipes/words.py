"""What stands beside a table made from a recipe, in words: headings, notes and facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from leaderboard.models import Board, ReportSource
from leaderboard.recipes.recipe import ColumnWish, Recipe
from leaderboard.scores import VARIANTS, metric_name
from leaderboard.words import day

if TYPE_CHECKING:
    from leaderboard.recipes.figures import Figures
    from leaderboard.tables import Cell

_FEW_SHOT = re.compile(r"\b(?:[1-9]\d*|few|one|two|three|four|five)[- ]shot\b", re.IGNORECASE)


def metric_words(metric: str, variant: str) -> str:
    """`Usability rate, mean of categories`."""
    words = VARIANTS.get(variant, variant.replace("_", " "))
    return f"{metric_name(metric)}, {words}" if words else metric_name(metric)


def column_words(wish: ColumnWish, metric: str, variant: str, default: str) -> tuple[str, str]:
    """(what stands over the column, its label): together they always name the metric."""
    words = metric_words(metric, variant)
    plain = metric_name(metric)
    if wish.over:
        over = wish.over if plain.lower() in wish.over.lower() else f"{wish.over}, {_small(plain)}"
        return over, wish.label or default
    if not wish.label:
        return "", words if not wish.is_difference else f"{default}, {_small(words)}"
    return "", wish.label if plain.lower() in wish.label.lower() else f"{wish.label}, {_small(plain)}"


def _small(label: str) -> str:
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def notes(recipe: Recipe, figures: Sequence[Figures], cells: Mapping[Any, Mapping[str, Cell]]) -> list[str]:
    """The sentences below the table: what is bold, what stands beside a figure, what a few-shot column lacks, the sources."""
    shown = [told for found in figures for key, told in found.told.items() if key in cells]
    recomputed = any(told.origin != "reported" for told in shown)
    reported = any(told.origin == "reported" for told in shown)
    out = _emphasis(recipe, cells, recomputed, any(found.all_reported and found.told for found in figures))
    units = " and ".join(dict.fromkeys(f"{found.spec.unit}s" for found in figures))
    if recipe.uncertainty == "interval" and recomputed:
        out.append(
            f"Beside each recomputed figure: its 95 % interval, from 10,000 resamples of whole {units}; of a difference, "
            "paired over the same resamples."
        )
    if recipe.uncertainty == "sd":
        out.append(
            "±: sample standard deviation over the repeats (ddof 1), in the unit of the figure; none of a single run."
        )
    if any(len(told.spread) > 1 for told in shown if told.origin != "reported"):
        out.append("A recomputed figure with several repeats is the mean over them.")
    for found in figures:
        out += _few_shot(found, figures, cells)
    if reported:
        out += [f"Reported: {text}" for text in _sources(figures)]
    return out


def _emphasis(recipe: Recipe, cells: Mapping[Any, Mapping[str, Cell]], recomputed: bool, reported: bool) -> list[str]:
    given = {cell.emphasis for line in cells.values() for cell in line.values()}
    out = []
    if "best" in given:
        words = ["the best of a column and all that cannot be told from it (paired, 95 %)"] if recomputed else []
        words += ["the highest of reported figures and all less than 1.5 points below it"] if reported else []
        out.append(f"Bold: {'; '.join(words)}.")
    if "second" in given:
        out.append("Underlined: the best of the rest.")
    return out


def _few_shot(found: Figures, figures: Sequence[Figures], cells: Mapping[Any, Mapping[str, Cell]]) -> list[str]:
    """A few-shot figure stands beside its zero-shot twin, or the table says that it does not."""
    board = found.board
    few = [
        key
        for key, told in found.told.items()
        if key in cells and ((board.shots or 0) > 0 or _FEW_SHOT.search(told.protocol))
    ]
    if not few:
        return []
    twins = [
        other
        for other in figures
        if other is not found
        and other.board.shots == 0
        and other.board.split_id == board.split_id
        and (other.board.mode, other.metric, other.wish.variant) == (board.mode, found.metric, found.wish.variant)
        and (other.wish.dimension, other.wish.facet) == (found.wish.dimension, found.wish.facet)
    ]
    alone = [found.told[key].model.name for key in few if not any(key in twin.told for twin in twins)]
    if not alone:
        return []
    name = found.wish.label or metric_words(found.metric, found.wish.variant)
    shots = f"{board.shots}-shot" if board.shots else "few-shot"
    return [f"{name}: {shots}, without a zero-shot figure of the same model beside it for {', '.join(alone)}."]


def _sources(figures: Sequence[Figures]) -> list[str]:
    """The sources of the reported figures, each once."""
    keys = {key for found in figures for key in found.sources}
    sources = ReportSource.objects.filter(pk__in=keys).order_by("key")
    return [reported_source(source) for source in sources]


def reported_source(source: ReportSource) -> str:
    parts = [source.text, f"commit {source.commit}" if source.commit else "", source.url]
    parts.append(f"retrieved {source.retrieved}" if source.retrieved else "")
    return "; ".join(part for part in parts if part) + "."


def facts(figures: Sequence[Figures]) -> tuple[tuple[str, str], ...]:
    """Release, evaluator, dates, licence and attribution, each said once."""
    boards = {found.board.pk: found.board for found in figures}.values()
    evaluators = dict.fromkeys(
        found.evaluator for found in figures if any(told.origin != "reported" for told in found.told.values())
    )
    updated = max((day(found.standing.updated) for found in figures if not found.all_reported), default="")
    out = [
        ("Benchmark" if len(boards) == 1 else "Benchmarks", "; ".join(board_words(board) for board in boards)),
        ("Evaluator", ", ".join(evaluators) or "none: figures as reported"),
    ]
    out += [("Newest answers", updated)] if updated else []
    specs = {found.spec.slug: found.spec for found in figures}.values()
    terms = "; ".join(
        f"{spec.name}: {', '.join(filter(None, (spec.licence, spec.attribution)))}"
        for spec in specs
        if spec.licence or spec.attribution
    )
    out += [("Licence and attribution", terms)] if terms else []
    return (*out, ("Made", timezone.now().date().isoformat()))


def board_words(board: Board) -> str:
    """`LiveClin 2025_H1, full, chat`; what is stated of shots and conversation behind it."""
    release = board.split.release
    stated = "" if board.shots is None and board.conversation_kept is None else board.protocol
    return ", ".join(filter(None, (f"{release.benchmark.name} {release.name}", board.split.name, board.mode, stated)))
