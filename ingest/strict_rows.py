"""Small files of named columns, as CSV or JSON Lines, read strictly: every problem with its line and field.

UTF-8, with or without a byte-order mark; blank lines are passed over. CSV has a header of the columns, in any order; JSON
Lines have objects of the same keys.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from reprlib import repr as short
from typing import Any

LARGEST = 64 << 20  # bytes of a file
MOST_PROBLEMS = 20

Problem = tuple[int, str, str]  # line (0: the whole file), field ("": no field), message


class RowsError(ValueError):
    """Everything that is wrong with a file, by line. `str()` gives one sentence a line, the first twenty."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem[0])
        told = [_sentence(name, *problem) for problem in self.problems[:MOST_PROBLEMS]]
        if more := len(self.problems) - len(told):
            told.append(f"{name}: and {more} more")
        super().__init__("\n".join(told))


def _sentence(name: str, line: int, field: str, message: str) -> str:
    place = f"{name} line {line}" if line else name
    return f"{place}: {field} {message}" if field else f"{place}: {message}"


def read_text(path: str | os.PathLike[str], wrong: type[RowsError]) -> tuple[str, str, str]:
    """(name, sha256, text) of a file. Raises `wrong` where it cannot be read, is larger than LARGEST or no UTF-8."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong(name, [(0, "", f"cannot be read: {reason}")]) from error
    if len(data) > LARGEST:
        raise wrong(name, [(0, "", f"is larger than {LARGEST >> 20} MB")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise wrong(name, [(line, "", f"is not UTF-8: byte 0x{error.object[error.start]:02x}")]) from error
    return name, hashlib.sha256(data).hexdigest(), text


def rows_of(text: str, keys: Sequence[str], problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) of each line that can be read, of JSON Lines where the text begins with an object, else of CSV."""
    read = json_rows if text.lstrip().startswith("{") else csv_rows
    return read(text, keys, problems)


class Pairs(list):
    """A JSON object as it is written, keys that are given twice too."""


def csv_rows(text: str, keys: Sequence[str], problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) of each line that can be read; what is wrong with the others goes to `problems`."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            if not "".join(row).strip() and len(row) < 2:
                pass
            elif header is None:
                header = row
                if sorted(header) != sorted(keys):
                    problems.append((line, "", f"the header is {short(','.join(row))}, expected {','.join(keys)}"))
                    return
            elif len(row) != len(header):
                problems.append((line, "", f"has {len(row)} fields, expected {len(header)}"))
            else:
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        problems.append((line, "", f"is not CSV: {error}"))


def json_rows(text: str, keys: Sequence[str], problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `csv_rows`; values are as JSON gives them, an object as `Pairs`."""
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            pairs = json.loads(written, object_pairs_hook=Pairs)
        except (ValueError, RecursionError) as error:
            message = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
            problems.append((line, "", f"is not JSON: {message}"))
            continue
        if not isinstance(pairs, Pairs):
            problems.append((line, "", "is no JSON object"))
            continue
        given = [key for key, _ in pairs]
        known = f"is not a known key; known keys are {', '.join(keys)}"
        faults = [(line, key, known) for key in given if key not in keys]
        faults += [(line, key, "is given twice") for key in keys if given.count(key) > 1]
        faults += [(line, "", f"has no {key!r}") for key in keys if key not in given]
        problems += faults
        if not faults:
            yield line, dict(pairs)
