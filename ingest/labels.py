"""`--labels FILE`: own dimensions of items, as CSV or JSON Lines. Read strictly, with the line of everything.

CSV has the header `item,dimension,facet`, in any order of its columns; JSON Lines have objects of the same three keys.
UTF-8, with or without a byte-order mark; blank lines are passed over. An item may stand in several lines.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

from ingest.strict_rows import Pairs, Problem, RowsError, read_text, rows_of

# As long as the tables hold them.
LONGEST = {"item": 300, "dimension": 60, "facet": 500}
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class LabelsError(RowsError):
    """Everything that is wrong with a labels file."""


@dataclass(frozen=True, slots=True)
class Label:
    """One line: the item has the facet of the dimension."""

    line: int
    item: str
    dimension: str
    facet: str


@dataclass(frozen=True, slots=True)
class LabelsFile:
    """A valid file. `benchmark` is the slug whose items it is about; None: items of any benchmark of the tree."""

    name: str
    sha256: str
    benchmark: str | None
    labels: tuple[Label, ...]


def load(path: str | os.PathLike[str], benchmark: str | None = None) -> LabelsFile:
    """Read and check a file. Raises LabelsError with every problem found, also when it cannot be read at all."""
    name, sha256, text = read_text(path, LabelsError)
    problems: list[Problem] = []
    rows = [(line, row) for line, row in rows_of(text, tuple(LONGEST), problems)]
    for line, row in rows:
        problems += [(line, field, fault) for field in LONGEST if (fault := _fault(field, row[field]))]
    if not rows and not problems:
        problems.append((0, "", "holds no labels; expected CSV with the header item,dimension,facet, or JSON Lines"))
    if problems:
        raise LabelsError(name, problems)
    return LabelsFile(name, sha256, benchmark, tuple(Label(line, **row) for line, row in rows))


def _fault(field: str, value: Any) -> str:
    """What is wrong with a value, in words; empty: nothing."""
    if not isinstance(value, str):
        return f"is {short(value) if not isinstance(value, Pairs) else 'an object'}, expected text"
    if not 0 < len(value) <= LONGEST[field]:
        return f"is {short(value)}, expected text of 1 to {LONGEST[field]} characters"
    if bad := _NO_TEXT.search(value):
        return f"is {short(value)}: it holds the character U+{ord(bad[0]):04X}"
    # ids are compared as they are; a name of ours with a space at its end is a slip
    if field != "item" and value != value.strip():
        return f"is {short(value)}: it has white space at its ends"
    return ""
