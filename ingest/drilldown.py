"""One answer read again from its place in a file, and the checks that what stands there is what was read."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Response, ResultFile, Run
from evaluation.protocols.base import Answer
from evaluation.protocols.clinseek_rows import from_dict
from evaluation.protocols.liveclin import QuestionRow
from ingest import documents, lines
from ingest.context import this_host
from ingest.models import GoldPlace, SourcePlace
from ingest.readers import llmeval_med
from ingest.readers.base import printable

MOST_ROW = 32 << 20  # bytes of a row, or of one part of a document, that a page parses
MOST_DOCUMENT = 256 << 20  # bytes of a document that a page looks through
MOST_UNPACKED = 512 << 20  # bytes that are unpacked to come to a row of an archive
MOST_HASHED = 64 << 20  # bytes of a touched file that are hashed to tell whether it has changed


class CannotRead(Exception):
    """The answer cannot be shown; the text says why in one sentence, without naming a place on disk."""


@dataclass(frozen=True)
class Found:
    """A row as it stands in its file now. `answer` is what the benchmark's protocol takes from it, `before` the earlier
    rounds of its conversation (LLMEval-Med), `checked` says how the file was told to be the one that was read.
    """

    row: dict[str, Any]
    answer: Answer
    checked: str
    before: list[dict[str, Any]] = field(default_factory=list)


def places(run: Run, file: ResultFile) -> Iterator[str]:
    """Where a file lies on this machine: below the roots of the sources that brought the run in."""
    roots = SourcePlace.objects.filter(host=this_host(), source__files__run=run).order_by("pk").distinct()
    for root in roots.values_list("path", flat=True):
        real = os.path.normpath(os.path.join(root, file.physical))
        if os.path.isfile(real):
            yield real


def read_response(response: Response) -> Found:
    """The row of a response. Raises CannotRead when its file is gone or changed, the row is another one, or too large.

    `response` comes with its run (to the benchmark), file and item.
    """
    file, slug = response.file, response.run.split.release.benchmark.slug
    real = next(places(response.run, file), None)
    if real is None:
        raise CannotRead("The file is gone: it no longer lies where it was read, or not on this machine.")
    try:
        checked = check_unchanged(file, real)
        row, before = _PARTS.get(slug, _line)(_bytes(response, real), response.pointer)
        answer = BENCHMARKS[slug].read(_TYPED.get(slug, from_dict)(row))
    except OSError as error:
        raise CannotRead(f"The file cannot be read: {error.strerror or 'the system refuses'}.") from error
    except (ValueError, TypeError, LookupError, RecursionError, EOFError, msgspec.MsgspecError) as error:
        raise CannotRead("The file has changed: no row that can be read stands at this place any more.") from error
    expected = response.item.key if response.item else response.item_key
    if printable(answer.item) != expected:
        raise CannotRead("The file has changed: the row at this place answers another question.")
    return Found(row, answer, checked, before)


def check_unchanged(file: ResultFile | GoldPlace, real: str, what: str = "file") -> str:
    """How the file is known to be the one that was read. Raises CannotRead when it is not."""
    status = os.stat(real)
    if status.st_size != file.size:
        raise CannotRead(
            f"The {what} has changed: it has {status.st_size:,} bytes, and had {file.size:,} when it was read."
        )
    if datetime.datetime.fromtimestamp(status.st_mtime_ns / 1e9, datetime.UTC) == file.modified_at:
        return f"size and time of the {what} are those of the reading"
    if status.st_size > MOST_HASHED:
        raise CannotRead(
            f"The {what} was touched since it was read, and at {status.st_size:,} bytes it is too large to be hashed for a "
            "page. Ingest again: unchanged content keeps its run."
        )
    with open(real, "rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
            raise CannotRead(f"The {what} has changed: its sha256 is not the one that was read.")
    return f"the {what} was touched, and its sha256 is the one that was read"


def _bytes(response: Response, real: str) -> bytes:
    """The bytes at the response's place: its row, or the whole document."""
    whole = response.pointer and not response.offset
    most = MOST_DOCUMENT if whole else MOST_ROW
    if response.length > most:
        what = "document" if whole else "row"
        raise CannotRead(f"The {what} has {response.length:,} bytes, more than the {most:,} that are read for a page.")
    end = response.offset + response.length
    if end > MOST_UNPACKED:
        with open(real, "rb") as stream:
            if lines.unpacked(stream) is not None:
                raise CannotRead(
                    f"{end:,} bytes would have to be unpacked for it, more than the {MOST_UNPACKED:,} of a page."
                )
    return lines.read_bytes(real, response.offset, response.length)


# --- from bytes to a row ----------------------------------------------------------------------------------------------

Part = tuple[dict[str, Any], list[dict[str, Any]]]


def _object(data: bytes) -> dict[str, Any]:
    """A JSON object, read as leniently as rows are: bytes that are no UTF-8 cost themselves only."""
    if len(data) > MOST_ROW:
        raise CannotRead(f"The row has {len(data):,} bytes, more than the {MOST_ROW:,} that are read for a page.")
    value = documents.loads(data.decode("utf-8", "replace").encode())
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def _line(data: bytes, pointer: str) -> Part:
    return _object(data), []


def steps(pointer: str) -> list[str]:
    """The steps of a JSON Pointer (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def along(document: bytes, pointer: str) -> list[bytes]:
    """The values on the way of a JSON Pointer as bytes, the document first; what lies beside the way is not built.

    A document with a bare NaN is beyond that parser: it is parsed as a whole, up to MOST_ROW. Raises ValueError, KeyError
    or IndexError where the way leads nowhere.
    """
    found = [document.removeprefix(documents.BOM)]
    try:
        for step in steps(pointer):
            if found[-1].lstrip()[:1] == b"{":
                found.append(bytes(msgspec.json.decode(found[-1], type=dict[str, msgspec.Raw])[step]))
            else:
                found.append(bytes(msgspec.json.decode(found[-1], type=list[msgspec.Raw])[int(step)]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        if len(document) > MOST_ROW:
            raise
        values = [documents.loads(document)]
        for step in steps(pointer):
            values.append(values[-1][int(step)] if isinstance(values[-1], list) else values[-1][step])
        found = [msgspec.json.encode(_finite(value)) for value in values]
    return found


def _finite(value: Any) -> Any:
    """NaN and infinity as null; lone surrogates as escapes, which no encoder takes."""
    if isinstance(value, dict):
        return {_whole(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, str):
        return _whole(value)
    return None if isinstance(value, float) and value - value != 0 else value


def _whole(text: str) -> str:
    """Lone surrogates as backslash escapes: no bytes can hold them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _live_question(data: bytes, pointer: str) -> Part:
    *_, case, _, question = along(data, pointer)
    return {**_object(question), "case_id": msgspec.json.decode(case, type=_CaseId).case_id}, []


class _CaseId(msgspec.Struct):
    case_id: str


def _med_question(data: bytes, pointer: str) -> Part:
    """The question with its category, and the earlier rounds of its group in order."""
    _, listed, question = along(data, pointer)
    row = {**_object(question), "": steps(pointer)[0]}
    group = str(row.get("groupCode"))
    others = [one for one in documents.loads(listed) if isinstance(one, dict) and str(one.get("groupCode")) == group]
    before = [one for one in others if _round(one) < _round(row)]
    return row, sorted(before, key=_round)


def _round(question: dict[str, Any]) -> float:
    try:
        return float(question.get("round", 0))
    except (TypeError, ValueError):
        return 0.0


def _med_row(row: dict[str, Any]) -> Any:
    (_, typed), *_ = llmeval_med.rows({row[""]: [row]}, 1, [])
    return typed


_PARTS: dict[str, Callable[[bytes, str], Part]] = {"liveclin": _live_question, "llmeval-med": _med_question}
_TYPED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "liveclin": lambda row: msgspec.convert(row, QuestionRow),
    "llmeval-med": _med_row,
}
