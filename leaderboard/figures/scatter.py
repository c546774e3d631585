"""Two boards against each other: a point a model, with both intervals, named beside it or by a number and a key."""

from __future__ import annotations

from functools import partial

from leaderboard.figures.axis import across, axis, heading, key, room_for_ticks, titled, upright
from leaderboard.figures.dots import SHAPES
from leaderboard.figures.inputs import MEANINGS, PLAIN, TOLD, Mark, Points
from leaderboard.figures.page import LINE, MARGIN, SOFT, Page

Box = tuple[float, float, float, float]  # left, top, right, bottom


def scatter(page: Page, points: Points) -> None:
    """No line is fitted: models are no sample of anything, and a slope would say more than the points do."""
    text, small = page.width.text, page.width.small
    step = page.leading(text)
    top = heading(page, f"{points.y_title} against {points.x_title}")
    for line in page.wrap(f"{points.y_title}: {titled(points.y)}", small, page.width.mm - 2 * MARGIN):
        page.text(MARGIN, top + page.leading(small) / 2, line, small)
        top += page.leading(small)
    top += step * 0.6
    tall = page.width.mm * (0.85 if page.width.name == "single" else 0.45)
    wanted_y = [figure for point in points.points for figure in _figures(point.y)]
    wanted_x = [figure for point in points.points for figure in _figures(point.x)]
    up = axis(wanted_y, points.y, top + tall, top)
    left = MARGIN + room_for_ticks(page, up) + 2
    right = page.width.mm - MARGIN - 3
    along = axis(wanted_x, points.x, left, right)
    upright(page, up, left, right)
    size = text * 0.6
    dots = [(along.at(point.x.value), up.at(point.y.value)) for point in points.points]
    reach = size * 0.18 + 0.4
    taken: list[Box] = [(x - reach, y - reach, x + reach, y + reach) for x, y in dots]
    for point, (x, y) in zip(points.points, dots, strict=True):
        for mark, scale, level in ((point.x, along, True), (point.y, up, False)):
            if mark.low is not None and mark.high is not None:
                low, high = scale.at(mark.low), scale.at(mark.high)
                page.line([low, high] if level else [x, x], [y, y] if level else [low, high], SOFT, 0.5)
                low, high = sorted((low, high))
                taken.append((low, y - 0.1, high, y + 0.1) if level else (x - 0.1, low, x + 0.1, high))
        shape, color, hollow = SHAPES[_kind(point.x, point.y)]
        page.mark(x, y, shape, color, size, hollow)
    numbered: list[str] = []
    for point, (x, y) in zip(points.points, dots, strict=True):
        area = (left, top, page.width.mm - MARGIN, top + tall)
        if not _named(page, point.name, x, y, reach, taken, area):
            numbered.append(point.name)
            _named(page, str(len(numbered)), x, y, reach, taken, area, anyhow=True)
    y = across(page, along, top, top + tall, f"{points.x_title}: {titled(points.x)}")
    kinds = {_kind(point.x, point.y) for point in points.points}
    entries = []
    for kind in [kind for kind in SHAPES if kind in kinds and kinds != {PLAIN}]:
        shape, color, hollow = SHAPES[kind]
        draw = partial(page.mark, shape=shape, color=color, size=small * 0.6, hollow=hollow)
        words = MEANINGS[kind] + (", on one board at least" if kind == TOLD else "")
        entries.append((lambda x, y, draw=draw: draw(x, y), words))
    y = key(page, y, entries)
    if numbered:
        y = page.below(y, "; ".join(f"{number} {name}" for number, name in enumerate(numbered, 1)) + ".")
    if any(mark.low is not None for point in points.points for mark in (point.x, point.y)):
        y = page.below(y, "Lines: 95 % intervals.")
    if points.left_out:
        y = page.below(y, f"On one of the boards only, so not shown: {', '.join(points.left_out)}.")
    page.close(page.below(y, points.source) + MARGIN)


def _figures(mark: Mark) -> list[float]:
    return [figure for figure in (mark.value, mark.low, mark.high) if figure is not None]


def _kind(x: Mark, y: Mark) -> str:
    """The more doubtful of the two; ties are of one board and not shown here."""
    kinds = [mark.kind for mark in (x, y)]
    return next((kind for kind in reversed(SHAPES) if kind in kinds and kind not in ("tie", PLAIN)), PLAIN)


def _named(
    page: Page, name: str, x: float, y: float, reach: float, taken: list[Box], area: Box, anyhow: bool = False
) -> bool:
    """Set beside a point where it lies on nothing and inside the area; a number is at last led out by a line."""
    small = page.width.small
    wide, high = page.size(name, small)
    high = max(high, page.leading(small) * 0.8)
    for far in (1, 2, 3) if not anyhow else range(1, 60):
        for dx, dy in ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1)):
            out = reach * far
            left = x + out if dx > 0 else x - out - wide if dx < 0 else x - wide / 2
            middle = y + dy * (out + high / 2 if dx == 0 else out * (1 if far == 1 else 0.8) + high / 4)
            box = (left, middle - high / 2, left + wide, middle + high / 2)
            inside = box[0] >= area[0] and box[2] <= area[2] and box[1] >= area[1] and box[3] <= area[3]
            if inside and not any(_meet(box, other) for other in taken):
                if far > 1:
                    page.line([x, left if dx > 0 else left + wide if dx < 0 else x], [y, middle], LINE, 0.4, zorder=1)
                page.text(left, middle, name, small)
                taken.append(box)
                return True
    return False


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
