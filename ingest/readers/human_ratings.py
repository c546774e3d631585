"""People's ratings of one run's generated texts (LLMEval-Med, MTG), as CSV or JSON Lines. Read strictly.

CSV has a header of the columns `KEYS`, in any order; JSON Lines have objects of the same keys. UTF-8, with or without a
byte-order mark; blank lines are passed over. `docs/human-ratings.md` says what the keys mean.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

from evaluation.protocols.human_ratings import HIGHEST, RATINGS, Rating
from ingest.strict_rows import Problem, RowsError, read_text, rows_of

KEYS = ("item", "rater", *RATINGS)
# As long as the tables hold them.
LONGEST = {"item": 300, "rater": 100}
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class RatingsError(RowsError):
    """Everything that is wrong with a ratings file."""


@dataclass(frozen=True, slots=True)
class RatedLine:
    """One line: what one person said of the answer to one question."""

    line: int
    item: str
    rater: str
    rating: Rating


@dataclass(frozen=True, slots=True)
class RatingsFile:
    name: str
    sha256: str
    lines: tuple[RatedLine, ...]


def load(path: str | os.PathLike[str]) -> RatingsFile:
    """Read and check a file. Raises RatingsError with every problem found, also when it cannot be read at all."""
    name, sha256, text = read_text(path, RatingsError)
    problems: list[Problem] = []
    lines = [rated for line, row in rows_of(text, KEYS, problems) if (rated := _rated(line, row, problems))]
    first: dict[tuple[str, str], int] = {}
    for rated in lines:
        if (line := first.setdefault((rated.item, rated.rater), rated.line)) != rated.line:
            problems.append((rated.line, "item", f"is {rated.item!r}, which {rated.rater!r} has rated in line {line}"))
    if not lines and not problems:
        problems.append((0, "", f"holds no ratings; expected CSV with the header {','.join(KEYS)}, or JSON Lines"))
    if problems:
        raise RatingsError(name, problems)
    return RatingsFile(name, sha256, tuple(lines))


def _rated(line: int, row: dict[str, Any], problems: list[Problem]) -> RatedLine | None:
    """The line as a rating; None where something is wrong, which is added to the problems."""
    faults = [(line, key, fault) for key in LONGEST if (fault := _text_fault(row[key], LONGEST[key]))]
    numbers = []
    for key in RATINGS:
        most = 1 if key == "safety" else HIGHEST
        value = row[key]
        # a digit in ASCII; int() would take others, signs and spaces
        number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]", value) else value
        if type(number) is not int or not 0 <= number <= most:
            faults.append((line, key, f"is {short(value)}, expected a whole number from 0 to {most}"))
        numbers.append(number)
    problems += faults
    return None if faults else RatedLine(line, row["item"], row["rater"], Rating(*numbers))


def _text_fault(value: Any, longest: int) -> str:
    if not isinstance(value, str):
        return f"is {short(value)}, expected text"
    if not 0 < len(value) <= longest or not value.strip():
        return f"is {short(value)}, expected text of 1 to {longest} characters"
    bad = _NO_TEXT.search(value)
    return f"is {short(value)}: it holds the character U+{ord(bad[0]):04X}" if bad else ""
