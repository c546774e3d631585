"""Data as downloads: named, typed, streamed or from a file that is gone once it is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from django.http import FileResponse, Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase

from leaderboard.data.files import json_lines, write_parquet
from leaderboard.data.items import COLUMNS, ItemRows
from leaderboard.exports import file_name

Answer = TypeVar("Answer", bound=HttpResponseBase)
ITEM_FORMS = {"jsonl": "application/jsonl; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def items_download(rows: ItemRows, form: str, name: str) -> HttpResponseBase:
    """Item-level rows as `jsonl`, streamed, or `parquet`, by way of a temporary file. Raises Http404 for another form."""
    if form not in ITEM_FORMS:
        raise Http404(f"{form!r} is no form of items; there are {', '.join(ITEM_FORMS)}")
    if form == "parquet":
        return file_download(
            lambda path: write_parquet(COLUMNS, rows.batches(), path, rows.about), ITEM_FORMS[form], name, form
        )
    return named(
        StreamingHttpResponse(json_lines(list(COLUMNS), rows.batches()), content_type=ITEM_FORMS[form]), name, form
    )


def file_download(write: Callable[[Path], object], content_type: str, name: str, form: str) -> FileResponse:
    """What `write` puts at a path, which no longer exists when the answer begins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "content"
        write(path)
        return named(FileResponse(path.open("rb"), content_type=content_type), name, form)


def named(answer: Answer, name: str, form: str, day: date | None = None) -> Answer:
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name(name, form, day)}"'
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer
