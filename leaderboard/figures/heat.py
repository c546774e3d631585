"""The heat map: rows by columns of one metric, the figure printed in every square, few items hatched."""

from __future__ import annotations

from typing import Any

from leaderboard.figures.axis import heading, key, titled
from leaderboard.figures.inputs import FigureError, Matrix
from leaderboard.figures.page import INK, LINE, MARGIN, SOFT, Page

FEW = 20  # items: below this a figure is mostly chance
TALLEST_HEAD = 42.0  # mm


def heat(page: Page, matrix: Matrix) -> None:
    """Columns that do not fit side by side are continued below, with the names again: a figure is never made too small."""
    from matplotlib import colormaps

    text, small = page.width.text, page.width.small
    values = [square.value for row in matrix.squares for square in row if square.value is not None]
    if not values:
        raise FigureError("There is no figure to draw in this table.")
    low, high = min(values), max(values)
    colors = colormaps["cividis"]
    names = [page.wrap(name, text, page.width.mm * 0.3) for name in matrix.names]
    left = MARGIN + max(page.size(line, text)[0] for lines in names for line in lines) + 2
    room = page.width.mm - MARGIN - left
    digits = max(page.size(square.text, small)[0] for row in matrix.squares for square in row)
    least = digits + 1.6
    many = max(1, int(room // least))
    panels = -(-len(matrix.heads) // many)
    many = -(-len(matrix.heads) // panels)  # as even as can be
    wide = min(room / many, 22 * text / 8)
    step = page.leading(text)
    tall = step * (max(len(lines) for lines in names) + 0.35)
    y = heading(page, matrix.title)
    for first in range(0, len(matrix.heads), many):
        columns = range(first, min(first + many, len(matrix.heads)))
        y = _heads(page, [matrix.heads[column] for column in columns], left, wide, y)
        for row, lines in enumerate(names):
            middle = y + tall / 2
            page.lines(MARGIN, middle, lines, text)
            for place, column in enumerate(columns):
                square, x = matrix.squares[row][column], left + place * wide
                if square.value is None:
                    page.box(x, y, wide, tall, "white", edgecolor=LINE, linewidth=0.5)
                    page.text(x + wide / 2, middle, "–", small, align="center", color=SOFT)
                    continue
                share = (square.value - low) / (high - low) if high > low else 0.5
                color = colors(share)
                ink = "white" if _light(color) < 0.5 else "black"
                few = square.n is not None and square.n < FEW
                page.box(x, y, wide, tall, color, edgecolor="white", linewidth=0.5)
                style: dict[str, Any] = {}
                if few:
                    page.box(x, y, wide, tall, "none", hatch="///", edgecolor=ink, linewidth=0, zorder=1.5)
                    style = {"bbox": {"facecolor": color, "edgecolor": "none", "pad": 0.8}}
                page.text(x + wide / 2, middle, square.text, small, align="center", color=ink, **style)
            y += tall
        y += step * 0.6
    y = _bar(page, y, matrix, low, high)
    squares = [square for row in matrix.squares for square in row]
    if any(square.value is not None and square.n is not None and square.n < FEW for square in squares):

        def hatched(x: float, y: float) -> None:
            page.box(x - 1.2, y - 0.8, 2.4, 1.6, "white", hatch="//////", edgecolor=INK, linewidth=0.4)

        y = key(page, y, [(hatched, f"fewer than {FEW} items: mostly chance")])
    page.close(page.below(y, matrix.source) + MARGIN)


def _heads(page: Page, heads: list[str], left: float, wide: float, y: float) -> float:
    """Level where every one fits in three lines, else upright; gives where they end."""
    small = page.width.small
    step = page.leading(small)
    level = [page.wrap(head, small, wide - 0.8) for head in heads]
    words = [word for head in heads for word in head.split()]
    if all(len(lines) <= 3 for lines in level) and all(page.size(word, small)[0] <= wide - 0.8 for word in words):
        tall = step * max(map(len, level))
        for place, lines in enumerate(level):
            for number, line in enumerate(lines):
                at = y + tall - step * (len(lines) - number - 0.5)
                page.text(left + (place + 0.5) * wide, at, line, small, align="center")
        return y + tall + step * 0.2
    most = max(1, int(wide // step))
    length = TALLEST_HEAD
    while any(len(page.wrap(head, small, length)) > most for head in heads) and length < 4 * TALLEST_HEAD:
        length *= 1.25
    turned = [page.wrap(head, small, length) for head in heads]
    tall = max(page.size(line, small)[0] for lines in turned for line in lines) + 0.5
    for place, lines in enumerate(turned):
        for number, line in enumerate(lines):
            x = left + (place + 0.5) * wide + (number - (len(lines) - 1) / 2) * step + step * 0.25
            page.text(x, y + tall, line, small, rotation=90, rotation_mode="anchor")
    return y + tall + step * 0.4


def _bar(page: Page, y: float, matrix: Matrix, low: float, high: float) -> float:
    """What the colours stand for, from the lowest to the highest figure."""
    from matplotlib import colormaps

    small = page.width.small
    step, x = page.leading(small), MARGIN
    words = [matrix.column.format(low), matrix.column.format(high)]
    x += page.size(words[0], small)[0] + 1
    long, parts = page.width.mm * 0.25, 64
    page.text(MARGIN, y + step / 2, words[0], small)
    for part in range(parts):
        color = colormaps["cividis"](part / (parts - 1))
        page.box(x + part * long / parts, y + 0.2 * step, long / parts + 0.02, 0.6 * step, color)
    x += long + 1
    page.text(x, y + step / 2, words[1], small)
    x += page.size(words[1], small)[0] + 2
    title = page.wrap(titled(matrix.column, matrix.label), small, page.width.mm - MARGIN - x)
    for number, line in enumerate(title):
        page.text(x, y + step * (number + 0.5), line, small)
    return y + step * (len(title) + 0.3)


def _light(color: tuple[float, float, float, float]) -> float:
    """Perceived lightness of a colour, 0..1 (weights of Rec. 709)."""
    return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]
