"""Which figure of a board is asked for, and its bytes as one person may see it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from django.core.cache import cache

from evaluation.benchmarks import BENCHMARKS
from leaderboard.boards import BoardView, view_board
from leaderboard.by_facet import facet_table
from leaderboard.figures import (
    FORMS,
    KINDS,
    WIDTHS,
    FigureError,
    Matrix,
    Points,
    Ranked,
    check,
    draw,
    matrix_of,
    points_of,
    ranked_of,
)
from leaderboard.models import Board
from leaderboard.tables import Table
from leaderboard.words import INVENTED, board_subtitle

if TYPE_CHECKING:
    from evaluation.querysets import Person

LINES_BY = ("stage", "position", "round")  # dimensions in which the questions of a case follow each other


def picture(board: Board, user: Person, asked: Mapping[str, str], form: str) -> bytes:
    """The figure of `board` that `kind`, `width`, `by` and `with` ask for. Raises FigureError, in words."""
    kind, width = asked.get("kind") or "dots", asked.get("width") or "single"
    check(kind, width, form)
    if kind in ("heat", "lines"):
        return drawn(kind, _matrix(board, user, kind, asked.get("by", "")), width, form)
    first = _view(board, user)
    if kind == "scatter":
        slug = asked.get("with", "")
        other = Board.objects.visible_to(user).with_benchmark().filter(slug=slug).first()
        if other is None:
            raise FigureError(f"with is {slug!r}, which is no board here.")
        second = _view(other, user)
        points = points_of(_told(first), _told(second), _title(first), _title(second))
        return drawn(kind, points, width, form)
    return drawn(kind, ranked_of(_told(first)), width, form)


def drawn(kind: str, what: Ranked | Matrix | Points, width: str, form: str) -> bytes:
    """As `draw`; what was drawn once is kept under a hash of all that is in it, so it is never stale."""
    key = "figure:" + hashlib.sha256(repr((kind, what, width, form)).encode()).hexdigest()
    found = cache.get(key)
    if found is None:
        found = draw(kind, what, width, form)
        cache.set(key, found, timeout=24 * 3600)
    return found


def _view(board: Board, user: Person) -> BoardView:
    view = view_board(board, user)
    if view is None:
        raise FigureError("There is no figure to draw on this board.")
    return view


def _told(view: BoardView) -> Table:
    """The board's table with the terms under which its figures may be shown."""
    return with_terms(view.table, view.board)


def with_terms(table: Table, board: Board) -> Table:
    spec = BENCHMARKS[board.benchmark.slug]
    known = {label for label, _ in table.facts}
    told = [("Licence", spec.licence), ("Attribution", spec.attribution)]
    if board.split.release.name == INVENTED:
        told.append(("Invented", "these models, questions and figures do not exist"))
    if "Licence and attribution" in known:
        return table
    return replace(table, facts=(*table.facts, *((label, text) for label, text in told if text and label not in known)))


def _title(view: BoardView) -> str:
    return f"{view.table.title} {board_subtitle(view.board)}"


def _matrix(board: Board, user: Person, kind: str, by: str) -> Matrix:
    dimensions = BENCHMARKS[board.benchmark.slug].dimensions
    if by and by not in dimensions:
        raise FigureError(f"by is {by!r}; one of {', '.join(dimensions)}.")
    wanted = [by] if by else [name for name in dimensions if kind == "heat" or name in LINES_BY]
    for dimension in wanted:
        try:
            table = facet_table(board, user, dimension)
        except ValueError as error:
            if by:
                raise FigureError(str(error)) from error
            continue
        if table is not None:
            return matrix_of(with_terms(table, board))
    raise FigureError("Nothing on this board is measured by " + (by or f"a dimension that fits {kind}") + ".")


def figure_choices(board: Board) -> dict[str, object]:
    """What the form on the board's page offers."""
    dimensions = BENCHMARKS[board.benchmark.slug].dimensions
    return {
        "kinds": [(name, label) for name, label in KINDS.items() if name != "scatter"],
        "widths": [(width.name, width.label) for width in WIDTHS.values()],
        "dimensions": list(dimensions.items()),
        "forms": [(form, form.upper()) for form in FORMS],
    }
