"""The forms that a table leaves the product in, by their short names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from leaderboard.tables import csvfile, latex, markdown, parquet
from leaderboard.tables.table import Table


@dataclass(frozen=True)
class Form:
    """A rendering: what it is called, the type and ending of its file, and the function that makes its bytes."""

    name: str
    label: str
    content_type: str
    make: Callable[[Table], bytes]


def as_json(table: Table) -> bytes:
    return (json.dumps(table.as_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("csv", "CSV", "text/csv; charset=utf-8", csvfile.as_csv),
        Form("json", "JSON", "application/json", as_json),
        Form("md", "Markdown", "text/markdown; charset=utf-8", markdown.as_markdown),
        Form("tex", "LaTeX", "application/x-tex; charset=utf-8", latex.as_latex),
        Form("parquet", "Parquet", "application/vnd.apache.parquet", parquet.as_parquet),
    )
}


def render(table: Table, form: str, *, bom: bool = False) -> bytes:
    """The table as a file; `bom` puts a byte-order mark before CSV, for spreadsheets. Raises KeyError for an unknown form.

    A page (`html`) needs templates and is made by `leaderboard.exports`.
    """
    make = partial(csvfile.as_csv, bom=True) if form == "csv" and bom else FORMS[form].make
    return make(table)
