"""Whole JSON documents: reading, unpacking, parsing with the place of a fault."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ingest import lines

BOM = b"\xef\xbb\xbf"


class DocumentError(ValueError):
    """Bytes that are no JSON document. `line` and `column` (in characters) count from 1, `offset` (in bytes) from 0."""

    def __init__(self, reason: str, line: int, column: int, offset: int) -> None:
        super().__init__(f"{reason}: line {line}, column {column}, byte {offset}")
        self.reason, self.line, self.column, self.offset = reason, line, column, offset


def loads(data: bytes, constant: Callable[[str], Any] = float) -> Any:
    """The document in `data`, UTF-8 with or without a byte-order mark; bare NaN and Infinity become `constant` of them.

    Raises DocumentError (a ValueError) with the place of the fault; for nesting too deep to read that is the start.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    try:
        text = data[start:].decode()
    except UnicodeDecodeError as error:
        before = data[start : start + error.start].decode()
        raise _error("not UTF-8", before, start + error.start) from error
    try:
        return json.loads(text, parse_int=_integer, parse_constant=constant)
    except json.JSONDecodeError as error:
        before = text[: error.pos]
        raise _error(error.msg, before, start + len(before.encode())) from error
    except RecursionError as error:
        raise _error("nested too deeply", "", start) from error


def _error(reason: str, before: str, offset: int) -> DocumentError:
    return DocumentError(reason, before.count("\n") + 1, len(before) - before.rfind("\n"), offset)


def _integer(digits: str) -> int | float:
    # Python refuses to read integers of thousands of digits; past the range of a float they are infinite here
    return int(digits) if len(digits) < 400 else float(digits)


def unpack(stored: bytes) -> bytes:
    """The bytes of a file as they were before gzip or zstd, told by its first bytes. ValueError when damaged or cut."""
    archive = lines.unpacked(io.BufferedReader(io.BytesIO(stored)))
    if archive is None:
        return stored
    data = archive.readall()
    if archive.damage:
        raise ValueError(archive.damage)
    return data


def read_whole(path: str) -> bytes:
    """A whole file, unpacked. OSError passes through; ValueError when an archive is damaged."""
    return unpack(Path(path).read_bytes())


def dictionaries(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of JSON Lines that must be whole, bare NaN as null: ValueError names the first line that is none."""
    for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads(line, constant=lambda name: None)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        if not isinstance(value, dict):
            raise ValueError(f"line {number}: no JSON object")
        yield value
