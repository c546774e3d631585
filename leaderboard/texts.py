"""Texts of files for a page: in pieces, with the spans that were taken marked, never as anything but text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ingest.readers.base import printable

PIECE = 20_000  # characters of a text on a page
FIRST = 4_000  # of a message among many


class Mark(NamedTuple):
    """A part of a text that somebody took: from `start` to before `end` in characters."""

    start: int
    end: int
    who: str


class Segment(NamedTuple):
    """A stretch of text and who took it, empty where nobody did."""

    text: str
    who: str


def segments(text: str, marks: Iterable[Mark], start: int, end: int) -> list[Segment]:
    """The stretches of `text[start:end]`, cut where a mark begins or ends; joined they are that text, made printable."""
    held = [mark for mark in marks if mark.start < end and mark.end > start]
    bounds = sorted({start, end, *(min(max(at, start), end) for mark in held for at in (mark.start, mark.end))})
    return [
        Segment(
            printable(text[low:high]),
            ", ".join(mark.who for mark in held if mark.start <= low and high <= mark.end),
        )
        for low, high in pairwise(bounds)
    ]


@dataclass(frozen=True)
class Text:
    """One piece of a text. `before` and `after` are where the neighbouring pieces begin, None where there is none."""

    key: str
    label: str
    length: int
    start: int
    end: int
    parts: list[Segment]
    before: int | None
    after: int | None
    elsewhere: list[Mark]

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end == self.length


def text_piece(key: str, label: str, text: str, start: int = 0, size: int = PIECE, marks: Sequence[Mark] = ()) -> Text:
    """The piece of `text` that begins at `start` (brought into the text); marks that lie outside it are in `elsewhere`."""
    start = min(max(start, 0), max(len(text) - 1, 0))
    end = min(start + size, len(text))
    return Text(
        key,
        label,
        len(text),
        start,
        end,
        segments(text, marks, start, end),
        max(start - PIECE, 0) if start else None,
        end if end < len(text) else None,
        [mark for mark in marks if mark.end <= start or mark.start >= end],
    )


def as_text(value: Any) -> str:
    """A value of a JSON document as text: a text as it is, nothing as the empty text, all else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
