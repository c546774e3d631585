r"""In-text numbers as LaTeX macros: one for each figure of a table, with names of letters only. No Django here."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

from leaderboard.recipes.printed import CELL
from leaderboard.tables import Cell, Column, Table
from leaderboard.tables.cells import NUMERIC
from leaderboard.tables.latex import comment, figure

_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def macros(table: Table, prefix: str, about: Sequence[str] = ()) -> str:
    r"""`\newcommand{\LiveclinGPTFiveCaseAccuracy}{35.5}` a line, for each figure; bounds end in `Low` and `High`.

    The prefix keeps the tables of one paper apart. Where two names are the same a letter is added. A figure that is missing
    has no macro.
    """
    lines = ["% " + comment(line) for line in about]
    taken: set[str] = set()
    heads = {column.key: _letters(f"{column.over} {_said(column.label)}") for column in table.columns}
    for row in table.rows:
        names = next(cell.text for column, cell in zip(table.columns, row.cells, strict=True) if column.kind == "model")
        for column, cell in zip(table.columns, row.cells, strict=True):
            if column.kind not in NUMERIC or cell.missing:
                continue
            for what, text in figures(column, cell):
                wanted = _letters(prefix) + (_letters(names) or "Model") + heads[column.key] + what.capitalize()
                name = _free(wanted, taken)
                place = comment(json.dumps([row.key, column.key, what]))
                lines.append(rf"\newcommand{{\{name}}}{{{figure(text)}}} {CELL}{place}")
    return "\n".join(lines) + "\n"


def figures(column: Column, cell: Cell) -> list[tuple[str, str]]:
    """(what, text): the figure itself ("") and the bounds of its interval."""
    out = [("", cell.text)]
    if cell.low is not None and cell.high is not None:
        out += [("low", column.format(cell.low)), ("high", column.format(cell.high))]
    return out


def _said(label: str) -> str:
    """The sign of a difference as a word."""
    return label.replace("Δ", "Difference").replace("∆", "Difference")


def _letters(text: str) -> str:
    """`GPT-4.1` is `GPTFourPointOne`: digits in words, accents taken off, every word with a capital, the rest left out."""
    text = unicodedata.normalize("NFKD", text)
    text = re.sub(r"(?<=\d)\.(?=\d)", " Point ", text, flags=re.ASCII)
    text = re.sub(r"[0-9]", lambda digit: f" {_DIGITS[int(digit[0])]} ", text)
    words = re.findall(r"[A-Za-z]+", text)
    return "".join(word[:1].upper() + word[1:] for word in words)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a letter behind it where it is taken."""
    free, place = name, 0
    while free in taken:
        free, place = f"{name}{'X' * (place // 26)}{chr(ord('A') + place % 26)}", place + 1
    taken.add(free)
    return free
