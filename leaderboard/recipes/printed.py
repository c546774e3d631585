r"""What an exported `.tex` says: its recipes, and each printed figure with its row and column. No Django here.

A file may hold several tables and lists of macros; each begins with the comment that holds its recipe. Text, type and layout
may be edited freely; a line of the body keeps the comment behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from leaderboard.tables.latex import COLUMNS, ROW

RECIPE, SEEN = "clinboard-recipe ", "clinboard-seen "
CELL = "% clinboard-cell "
Kind = TypeVar("Kind", str, list)
_MACRO = re.compile(r"\s*\\(?:re)?newcommand\*?\s*\{?\\([A-Za-z]+)\}?\s*\{(.*)\}\s*\Z")


class Place(NamedTuple):
    """Where a figure stands: `what` is "" for the figure itself, `low` or `high` for a bound."""

    row: str
    column: str
    what: str = ""


@dataclass
class Printed:
    """One exported table or list of macros. `cells` hold source; `loose` are lines of a body that cannot be traced."""

    recipe: str
    seen: str = ""
    line: int = 0
    cells: dict[Place, str] = field(default_factory=dict)
    macros: dict[Place, str] = field(default_factory=dict)
    loose: list[tuple[int, str]] = field(default_factory=list)


def read(text: str) -> list[Printed]:
    """The tables and macros in the text of a file, in order; none where it holds no recipe."""
    out: list[Printed] = []
    columns: list[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.strip().removeprefix("%").strip()
        if bare.startswith(RECIPE.strip()) and line.lstrip().startswith("%"):
            out.append(Printed(bare.removeprefix(RECIPE.strip()).strip(), line=number))
            columns = None
        elif not out:
            continue
        elif bare.startswith(SEEN.strip()) and line.lstrip().startswith("%"):
            out[-1].seen = bare.removeprefix(SEEN.strip()).strip()
        elif (keys := _behind(COLUMNS, line)[1]) is not None:
            columns = _json(keys, list)
        elif _behind(CELL, line)[1] is not None:
            _macro(out[-1], number, line)
        elif columns is not None and (
            _behind(ROW, line)[1] is not None or re.search(r"(?<!\\)&", _without_comment(line))
        ):
            _row(out[-1], number, line, columns)
        if r"\end{tabular}" in line:
            columns = None
    return out


def _row(printed: Printed, number: int, line: str, columns: list[str]) -> None:
    body, place = _behind(ROW, line)
    row = None if place is None else _json(place, str)
    body = re.sub(r"\\\\\s*(?:\[[^\]]*\])?\s*\Z", "", body.rstrip())
    cells = re.split(r"(?<!\\)&", body if place is not None else _without_comment(body))
    if row is None:
        printed.loose.append((number, "has figures but no comment that says which row it is"))
    elif len(cells) != len(columns):
        printed.loose.append((number, f"has {len(cells)} cells for {len(columns)} columns"))
    else:
        printed.cells |= {Place(row, column): cell.strip() for column, cell in zip(columns, cells, strict=True)}


def _macro(printed: Printed, number: int, line: str) -> None:
    body, place = _behind(CELL, line)
    found, where = _MACRO.match(body), _json(place or "", list)
    if found is None or where is None or len(where) != 3:
        printed.loose.append((number, "is no macro that can be read"))
    else:
        printed.macros[Place(*where)] = found[2]


def _behind(mark: str, line: str) -> tuple[str, str | None]:
    """(what stands before our comment, what it holds); None where the line has none. An escaped % begins no comment."""
    body, *rest = re.split(r"(?<!\\)%", line, maxsplit=1)
    word = mark.strip("% ")
    told = rest[0].strip() if rest else ""
    return (body, told.removeprefix(word)) if told.startswith(f"{word} ") else (line, None)


def _json(text: str, kind: type[Kind]) -> Kind | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def _without_comment(line: str) -> str:
    return re.split(r"(?<!\\)%", line)[0]


def plain(source: str) -> str:
    r"""The figure that a cell's source prints, without type, signs and footnotes: `36.2 30.0–40.0`."""
    text = re.sub(r"\\rlap\s*\{\s*\\textsuperscript\{[^{}]*\}\s*\}|\\textsuperscript\{[^{}]*\}", "", source)
    text = re.sub(r"\\phantom\{\\hspace\{[^{}]*\}\{\\scriptsize [^{}]*(?:\{[^{}]*\}[^{}]*)*\}\}", "", text)
    text = re.sub(
        r"\\ensuremath\{\\approx\}\\,|\\hspace\{[^{}]*\}", lambda found: " " if "hspace" in found[0] else "", text
    )
    text = re.sub(r"\\ensuremath\{-\}|\$-\$|(?<![\w–-])−", "-", text)
    while True:
        bare = re.sub(r"\\(?:textbf|underline|textit|emph|mathbf)\{([^{}]*)\}", r"\1", text)
        bare = re.sub(r"\{(?:\\[a-z]+size|\\small|\\tiny)\s+([^{}]*)\}", r"\1", bare)
        if bare == text:
            break
        text = bare
    text = text.replace("--", "–").replace("~", " ").replace(r"\,", "").replace("{}", "")
    return " ".join(text.split())


def emphasis(source: str) -> str:
    return "bold" if r"\textbf" in source else "underlined" if r"\underline" in source else ""


def differences(printed: Printed, now: Printed) -> Iterator[tuple[Place, str, str]]:
    """(place, printed, now) of each figure that is printed otherwise than it would be now."""
    for sources, fresh in ((printed.cells, now.cells), (printed.macros, now.macros)):
        for place, source in sources.items():
            was = _said(source)
            is_now = _said(fresh[place]) if place in fresh else "not there"
            if was != is_now:
                yield place, was, is_now


def _said(source: str) -> str:
    """What is printed, and how, in words."""
    text, kind = plain(source) or "nothing", emphasis(source)
    return f"{text} ({kind})" if kind else text
