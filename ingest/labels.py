"""`--labels FILE`: own dimensions of items, as CSV or JSON Lines. Read strictly, with the line of everything.

CSV has the header `item,dimension,facet`, in any order of its columns; JSON Lines have objects of the same three keys.
UTF-8, with or without a byte-order mark; blank lines are passed over. An item may stand in several lines.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

LARGEST = 64 << 20  # bytes of a file
MOST_PROBLEMS = 20
# As long as the tables hold them.
LONGEST = {"item": 300, "dimension": 60, "facet": 500}
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

Problem = tuple[int, str, str]  # line (0: the whole file), field ("": no field), message


class LabelsError(ValueError):
    """Everything that is wrong with a labels file, by line. `str()` gives one sentence a line, the first twenty."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem[0])
        told = [_sentence(name, *problem) for problem in self.problems[:MOST_PROBLEMS]]
        if more := len(self.problems) - len(told):
            told.append(f"{name}: and {more} more")
        super().__init__("\n".join(told))


def _sentence(name: str, line: int, field: str, message: str) -> str:
    place = f"{name} line {line}" if line else name
    return f"{place}: {field} {message}" if field else f"{place}: {message}"


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
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise LabelsError(name, [(0, "", f"cannot be read: {reason}")]) from error
    if len(data) > LARGEST:
        raise LabelsError(name, [(0, "", f"is larger than {LARGEST >> 20} MB")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise LabelsError(name, [(line, "", f"is not UTF-8: byte 0x{error.object[error.start]:02x}")]) from error
    problems: list[Problem] = []
    read = _json_lines if text.lstrip().startswith("{") else _csv
    rows = [(line, row) for line, row in read(text, problems)]
    for line, row in rows:
        problems += [(line, field, fault) for field in LONGEST if (fault := _fault(field, row[field]))]
    if not rows and not problems:
        problems.append((0, "", "holds no labels; expected CSV with the header item,dimension,facet, or JSON Lines"))
    if problems:
        raise LabelsError(name, problems)
    return LabelsFile(
        name, hashlib.sha256(data).hexdigest(), benchmark, tuple(Label(line, **row) for line, row in rows)
    )


def _csv(text: str, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            if not "".join(row).strip() and len(row) < 2:
                pass
            elif header is None:
                header = row
                if sorted(header) != sorted(LONGEST):
                    problems.append((line, "", f"the header is {short(','.join(row))}, expected item,dimension,facet"))
                    return
            elif len(row) != len(header):
                problems.append((line, "", f"has {len(row)} fields, expected {len(header)}"))
            else:
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        problems.append((line, "", f"is not CSV: {error}"))


def _json_lines(text: str, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            pairs = json.loads(written, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            message = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
            problems.append((line, "", f"is not JSON: {message}"))
            continue
        if not isinstance(pairs, _Pairs):
            problems.append((line, "", "is no JSON object"))
            continue
        keys = [key for key, _ in pairs]
        faults = [
            (line, key, "is not a known key; known keys are item, dimension, facet")
            for key in keys
            if key not in LONGEST
        ]
        faults += [(line, key, "is given twice") for key in LONGEST if keys.count(key) > 1]
        faults += [(line, "", f"has no {key!r}") for key in LONGEST if key not in keys]
        problems += faults
        if not faults:
            yield line, dict(pairs)


class _Pairs(list):
    """A JSON object as it is written, keys that are given twice too."""


def _fault(field: str, value: Any) -> str:
    """What is wrong with a value, in words; empty: nothing."""
    if not isinstance(value, str):
        return f"is {short(value) if not isinstance(value, _Pairs) else 'an object'}, expected text"
    if not 0 < len(value) <= LONGEST[field]:
        return f"is {short(value)}, expected text of 1 to {LONGEST[field]} characters"
    if bad := _NO_TEXT.search(value):
        return f"is {short(value)}: it holds the character U+{ord(bad[0]):04X}"
    # ids are compared as they are; a name of ours with a space at its end is a slip
    if field != "item" and value != value.strip():
        return f"is {short(value)}: it has white space at its ends"
    return ""
