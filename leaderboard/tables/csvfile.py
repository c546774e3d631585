"""A table as CSV (RFC 4180), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from leaderboard.tables.flat import flatten
from leaderboard.tables.table import Table

# A spreadsheet takes a cell that begins like this for a formula, also behind blanks and in full-width letters.
_FORMULA = re.compile(r"[\s\ufeff]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:,\d{3})*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z", re.ASCII)


def neutral(cell: Any) -> Any:
    """The cell, with an apostrophe before text that a spreadsheet would take for a formula. Numbers stay, negative ones too.

    OWASP, "CSV Injection".
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.match(cell):
        return f"'{cell}"
    return cell


def as_csv(table: Table, bom: bool = False) -> bytes:
    """One line a row, the head first: every text as the page prints it, without separators of thousands; UTF-8."""
    columns = flatten(table)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([neutral(column.name) for column in columns])
    for row in zip(*(column.texts for column in columns), strict=True):
        writer.writerow([neutral(text) for text in row])
    return out.getvalue().encode("utf-8-sig" if bom else "utf-8", "surrogatepass")
