"""Reader of LiveClin results: one JSON document a model (formats/liveclin.md)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from reprlib import repr as short
from typing import Any

import msgspec

from evaluation.protocols.base import Answer
from evaluation.protocols.liveclin import QuestionRow
from ingest import documents
from ingest.readers.base import FileContent, Row, Trouble, printable
from ingest.walk import Entry

# As long as the tables hold them.
LONGEST = {"model": 500, "dataset": 100}
_PROTOCOL = ("image_mode", "liveclin_version")
_NO_NAME = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def about(keys: dict[str, msgspec.Raw]) -> dict[str, Any] | None:
    """Model and release of a results document by its top-level keys; None where it is none.

    Raises ValueError with field and value where it is one that does not say whose it is.
    """
    if not {"meta", "cases"} <= keys.keys():
        return None
    meta = documents.loads(bytes(keys["meta"]))
    if not isinstance(meta, dict):
        raise ValueError(f"meta is {short(meta)}, expected an object")
    return {field: _name(meta.get(field), field) for field in LONGEST}


def _name(value: Any, field: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST[field] or _NO_NAME.search(value):
        raise ValueError(
            f"meta.{field} is {short(value)}, expected a name of 1 to {LONGEST[field]} printable characters"
        )
    return value


def questions(document: dict[str, Any]) -> Iterator[tuple[str, QuestionRow | str]]:
    """(JSON Pointer, row) of every question; in place of a row a sentence that says why there is none."""
    if not isinstance(document.get("cases"), list):
        yield "/cases", f"cases is {short(document.get('cases'))}, expected a list"
        return
    for c, case in enumerate(document["cases"]):
        if not isinstance(case, dict):
            yield f"/cases/{c}", f"the case is {short(case)}, expected an object"
        elif not isinstance(case.get("case_id"), str):
            yield f"/cases/{c}", f"case_id is {short(case.get('case_id'))}, expected a text"
        elif not isinstance(case.get("mcqs"), list):
            yield f"/cases/{c}/mcqs", f"mcqs is {short(case.get('mcqs'))}, expected a list"
        else:
            for m, mcq in enumerate(case["mcqs"]):
                yield f"/cases/{c}/mcqs/{m}", _question(case["case_id"], mcq)


def _question(case_id: str, mcq: Any) -> QuestionRow | str:
    if not isinstance(mcq, dict):
        return f"the question is {short(mcq)}, expected an object"
    try:
        return msgspec.convert({**mcq, "case_id": case_id}, QuestionRow)
    except msgspec.ValidationError as error:
        return str(error)


def read(
    entry: Entry,
    repeat: int | None,
    take: Callable[[QuestionRow], Answer],
    progress: Callable[[int, int], None],
) -> FileContent:
    """Read one results document. ValueError says where it does not parse; OSError passes through."""
    stored = Path(entry.real).read_bytes()
    text = documents.unpack(stored)
    content = FileContent(entry, sha256=hashlib.sha256(stored).hexdigest(), size=len(stored), longest=len(text))
    document = documents.loads(text)
    if not isinstance(document, dict):
        raise ValueError("the document is no JSON object")
    for pointer, row in questions(document):
        if isinstance(row, str):
            content.malformed += 1
            content.troubles.append(Trouble("error", "bad_row", f"{pointer}: {row}"))
            continue
        row.repeat = repeat or 1
        content.rows.append(Row(take(row), 0, 0, len(text), pointer))
    progress(len(stored), len(content.rows))
    content.parsed = len(content.rows)
    told = document.get("meta")
    meta: dict[str, Any] = told if isinstance(told, dict) else {}
    content.about = {
        "finished_at": meta.get("finished_at") or meta.get("started_at"),
        "protocol": {
            name: printable(meta[name]) for name in _PROTOCOL if meta.get(name) and isinstance(meta[name], str)
        },
        "summary": document.get("summary") or {},
    }
    return content
