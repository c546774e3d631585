"""The ranked dot plot: a row an entry, its interval as a bar, the tie group by shape and by a bracket with words."""

from __future__ import annotations

from functools import partial
from typing import Any

from leaderboard.figures.axis import across, axis, heading, key, titled
from leaderboard.figures.inputs import MEANINGS, PARTLY, PLAIN, TIE, TOLD, Ranked
from leaderboard.figures.page import ACCENT, INK, MARGIN, SOFT, Page

SHAPES = {PLAIN: ("o", INK, False), TIE: ("D", ACCENT, False), PARTLY: ("^", INK, True), TOLD: ("s", INK, True)}
BANDS: tuple[dict[str, Any], ...] = (
    {"facecolor": "#e4e8ea"},
    {"facecolor": "none", "edgecolor": SOFT},
    {"facecolor": "none", "hatch": "...."},
)


def dots(page: Page, ranked: Ranked) -> None:
    width, text, small = page.width, page.width.text, page.width.small
    marks = ranked.marks
    wide = width.name != "single"
    rank_room = max(page.size(mark.rank or "–", text)[0] for mark in marks) + 1.5
    names = {mark: page.wrap(mark.name, text, width.mm * 0.34) for mark in marks}
    name_room = max(page.size(line, text)[0] for lines in names.values() for line in lines)
    value_room = max(page.size(mark.text, text)[0] for mark in marks)
    between_room = max(page.size(mark.between, small)[0] for mark in marks) if wide else 0.0
    tie_room = page.leading(small) * 1.6 if sum(mark.kind == TIE for mark in marks) > 1 else 0.0
    start = MARGIN + rank_room + name_room + 4
    end = width.mm - MARGIN - tie_room - value_room - (between_room + 2 if between_room else 0) - 4
    figures = [figure for mark in marks for figure in (mark.value, mark.low, mark.high) if figure is not None]
    figures += [edge for band in ranked.bands for edge in (band.low, band.high)]
    scale = axis(figures, ranked.column, start, end, most=5 if width.name == "single" else 8)

    top = heading(page, ranked.title)
    y, places = top, []
    step = page.leading(text)
    for label, group in ranked.groups:
        if label:
            y += step * 0.2
            page.text(MARGIN, y + step / 2, label, small, color=SOFT, bold=True)
            y += step * 1.1
        for mark in group:
            high = step * (len(names[mark]) + 0.25)
            places.append((mark, y + high / 2))
            y += high
    bottom = y + step * 0.2
    for style, band in zip(BANDS, ranked.bands, strict=False):
        left, right = scale.at(band.low), scale.at(band.high)
        page.box(left, top, max(right - left, 0.4), bottom - top, "none", **style, zorder=0.5, linewidth=0.5)
    for mark, at in places:
        shape, color, hollow = SHAPES[mark.kind]
        page.text(MARGIN + rank_room - 1.5, at, mark.rank or "–", text, align="right", color=SOFT)
        page.lines(MARGIN + rank_room, at, names[mark], text)
        x = scale.at(mark.value)
        if mark.low is not None and mark.high is not None:
            low, high = scale.at(mark.low), scale.at(mark.high)
            cap = step * 0.18
            page.line([low, high], [at, at], color, 0.9)
            for edge in (low, high):
                page.line([edge, edge], [at - cap, at + cap], color, 0.9)
        page.mark(x, at, shape, color, text * 0.6, hollow)
        page.text(end + 3 + value_room, at, mark.text, text, align="right", bold=mark.kind == TIE)
        if between_room:
            page.text(end + 5 + value_room + between_room, at, mark.between, small, align="right", color=SOFT)
    if tie_room:
        tied = [at for mark, at in places if mark.kind == TIE]
        x = width.mm - MARGIN - tie_room + 1.2
        first, last = min(tied) - step * 0.4, max(tied) + step * 0.4
        page.line([x - 0.8, x, x, x - 0.8], [first, first, last, last], ACCENT, 0.9)
        words = "tied"
        if page.size("tied for first", small)[0] <= last - first:
            words = "tied for first"
        page.text(
            x + page.leading(small) * 0.55, (first + last) / 2, words, small,
            align="center", color=ACCENT, rotation=90, rotation_mode="anchor",
        )  # fmt: skip
    y = across(page, scale, top, bottom, titled(ranked.column))
    kinds = [kind for kind in SHAPES if any(mark.kind == kind for mark in marks)]
    entries = []
    for kind in kinds if kinds != [PLAIN] else []:
        shape, color, hollow = SHAPES[kind]
        draw = partial(page.mark, shape=shape, color=color, size=small * 0.6, hollow=hollow)
        entries.append((lambda x, y, draw=draw: draw(x, y), MEANINGS[kind]))
    for style, band in zip(BANDS, ranked.bands, strict=False):
        ends = "–".join(dict.fromkeys((ranked.column.format(band.low), ranked.column.format(band.high))))
        words = f"{band.label}, {ends} {ranked.column.unit}".strip() + (f" ({band.note})" if band.note else "")
        swatch = partial(page.box, width=2.4, height=1.6, color="none", linewidth=0.5, **style)
        entries.append((lambda x, y, swatch=swatch: swatch(x - 1.2, y - 0.8), words))
    y = key(page, y, entries)
    if any(mark.low is not None for mark in marks):
        y = page.below(y, "Bars: 95 % intervals.")
    page.close(page.below(y, ranked.source) + MARGIN)
