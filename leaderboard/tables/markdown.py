"""A table as Markdown (GitHub's tables), with everything that stands beside it."""

from __future__ import annotations

import re

from leaderboard.tables.cells import MISSING, NUMERIC
from leaderboard.tables.table import Line, Placed, Table

_SPECIAL = re.compile(r"[\\`*_\[\]$#~]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "@": "&#64;", "\x00": "\ufffd"}


def escape(text: str) -> str:
    """Text that Markdown prints as it is, in one line: no cell, link, emphasis, HTML or mention begins in it."""
    text = " ".join(text.split())
    return "".join(_HTML.get(sign) or (f"\\{sign}" if _SPECIAL.match(sign) else sign) for sign in text)


def as_markdown(table: Table) -> bytes:
    """Head, rows, a bold line for each group with a label; signs and footnotes as on the page, then facts; UTF-8."""
    columns = [table.columns[place] for place in table.printed]
    lines = [f"**{escape(table.title)}**", ""]
    if table.caption:
        lines += [escape(table.caption.rstrip(".")) + ".", ""]
    lines.append(_line([escape(column.full_heading) for column in columns]))
    lines.append(_line(["---:" if column.kind in NUMERIC else ":---" for column in columns]))
    for section in table.sections:
        group = section.group
        if label := " ".join(filter(None, (group.label and f"**{escape(group.label)}**", escape(group.note)))):
            lines.append(_line([label, *[""] * (len(columns) - 1)]))
        lines += [_line([_cell(placed, line) for placed in line.printed]) for line in section.lines]
    below = [f"{mark.sign} {escape(mark.meaning)}" for mark in table.legend if mark.sign]
    below += [f"Reference: {escape(mark.meaning)}" for mark in table.legend if mark.band]
    below += [f"<sup>{mark}</sup> {escape(note)}" for mark, note in table.footnotes]
    below += [escape(note) for note in table.notes]
    below += [f"{escape(label)}: {escape(value) or 'not stated'}" for label, value in table.facts]
    for text in below:
        lines += ["", text]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _cell(placed: Placed, line: Line) -> str:
    """The text in its type, its signs, the mark of its footnote, and the second line in parentheses."""
    own = placed.cell
    if own.missing:
        return MISSING
    text = escape(own.text)
    if own.emphasis == "best":
        text = f"**{text}**"
    elif own.emphasis == "second":
        text = f"<u>{text}</u>"
    signs = "".join(line.signs_of(placed))
    mark = f"<sup>{placed.mark}</sup>" if placed.mark else ""
    sub = f" ({escape(own.sub)})" if own.sub else ""
    return f"{'≈ ' if own.tie else ''}{text}{signs}{mark}{sub}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
