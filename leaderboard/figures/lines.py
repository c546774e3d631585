"""Lines over the stages or positions of a case: a line a model, told apart by colour, dash and mark, named at its end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from leaderboard.figures.axis import axis, heading, room_for_ticks, spread, titled, upright
from leaderboard.figures.heat import _heads
from leaderboard.figures.inputs import FigureError, Matrix
from leaderboard.figures.page import LINE, MARGIN, SOFT, Page

MOST = 7
# Okabe and Ito's colours without the yellow, which paper swallows; dash and mark tell the lines apart in grey.
STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#000000", "-", "o"),
    ("#0072B2", (0, (5, 1.5)), "s"),
    ("#D55E00", (0, (1, 1)), "^"),
    ("#009E73", (0, (6, 1.5, 1, 1.5)), "D"),
    ("#CC79A7", "-", "v"),
    ("#56B4E9", (0, (3, 1)), "P"),
    ("#E69F00", (0, (2, 1, 1, 1)), "X"),
)


def lines(page: Page, matrix: Matrix) -> None:
    """The first seven rows are named; the others are thin grey lines, and counted in words."""
    text, small = page.width.text, page.width.small
    values = [square.value for row in matrix.squares for square in row if square.value is not None]
    if not values:
        raise FigureError("There is no figure to draw in this table.")
    rows = [row for row, squares in enumerate(matrix.squares) if any(square.value is not None for square in squares)]
    named, others = rows[:MOST], rows[MOST:]
    labels = {row: page.wrap(matrix.names[row], small, page.width.mm * 0.26) for row in named}
    label_room = max(page.size(line, small)[0] for found in labels.values() for line in found)
    step = page.leading(text)
    top = heading(page, matrix.title)
    for line in page.wrap(titled(matrix.column, matrix.label), small, page.width.mm - 2 * MARGIN):
        page.text(MARGIN, top + page.leading(small) / 2, line, small)
        top += page.leading(small)
    top += step * 0.6
    tall = max(page.width.mm * (0.55 if page.width.name == "single" else 0.36), 0)
    gap = page.leading(small) * max(len(found) for found in labels.values())
    tall = max(tall, gap * len(named))
    scale = axis(values, matrix.column, top + tall, top)
    left = MARGIN + room_for_ticks(page, scale) + 2
    right = page.width.mm - MARGIN - label_room - 6
    wide = (right - left) / len(matrix.heads)
    upright(page, scale, left, right)
    xs = [left + (place + 0.5) * wide for place in range(len(matrix.heads))]
    for row in others:
        _draw(page, matrix, row, xs, scale.at, (SOFT, "-", ""), 0.4)
    ends = []
    for row, style in zip(named, STYLES, strict=False):
        _draw(page, matrix, row, xs, scale.at, style, 1.1)
        ends.append(
            [(x, scale.at(s.value)) for x, s in zip(xs, matrix.squares[row], strict=True) if s.value is not None][-1]
        )
    for row, style, (x, y), at in zip(
        named, STYLES, ends, spread([y for _, y in ends], gap, top, top + tall), strict=False
    ):
        page.line([x + 1.2, right + 1, right + 3], [y, y, at] if x > right - wide else [y, at, at], LINE, 0.5, zorder=1)
        page.mark(right + 4, at, style[2], style[0], small * 0.6)
        page.lines(right + 5.5, at, labels[row], small)
    y = _heads(page, list(matrix.heads), left, wide, top + tall + step * 0.4)
    if others:
        words = "one other model" if len(others) == 1 else f"{len(others)} other models"
        y = page.below(y, f"Thin grey lines: {words}.")
    page.close(page.below(y, matrix.source) + MARGIN)


def _draw(page: Page, matrix: Matrix, row: int, xs: list[float], at: Any, style: Any, weight: float) -> None:
    """A line is broken where a figure is missing."""
    color, dash, shape = style
    places = [
        (x, None if square.value is None else at(square.value))
        for x, square in zip(xs, matrix.squares[row], strict=True)
    ]
    for (x, y), (x2, y2) in pairwise(places):
        if y is not None and y2 is not None:
            page.line([x, x2], [y, y2], color, weight, linestyle=dash, zorder=3 if shape else 2)
    for x, y in places:
        if y is not None and shape:
            page.mark(x, y, shape, color, page.width.small * 0.55)
