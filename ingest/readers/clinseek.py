"""Reader of ClinSeek results: one JSON object a line, or one JSON array of them (formats/clinseek.md, section 1)."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.protocols.base import Answer
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from ingest import lines
from ingest.arrays import ArrayReader
from ingest.lines import Bad, LineReader
from ingest.readers.base import FileContent, Row, Trouble
from ingest.walk import Entry

# Rows between two words to whoever watches.
_PACE = 100


def read(
    entry: Entry,
    repeat: int | None,
    take: Callable[[ClinSeekRow], Answer],
    progress: Callable[[int, int], None],
) -> FileContent:
    """Stream a file once: answers with their places, counts and sha256. A stated `repeat` counts in place of what the rows
    say. `progress` is told stored bytes and rows as they pass.

    A row without an id is parsed but cannot be loaded: it becomes a finding. OSError passes through.
    """
    array = lines.holds_array(entry.real)
    reader = (ArrayReader if array else LineReader)(entry.real, ClinSeekRow, slow=from_dict)
    content = FileContent(entry)
    told = rows = 0
    for number, offset, length, row in reader:
        rows += 1
        if rows % _PACE == 0:
            progress(reader.taken - told, _PACE)
            told = reader.taken
        line, pointer = (0, f"/{number}") if array else (number, "")
        if row.item is None:
            message = f"qid is {row.qid!r}: the row cannot be joined to a question and is not loaded"
            content.troubles.append(_trouble("error", "no_id", message, line, offset, pointer))
            continue
        answer = take(row)
        answer.repeat = repeat or answer.repeat
        content.rows.append(Row(answer, line, offset, length, pointer))
        content.signs.add(row, answer)
        content.effort.add(row)
        if isinstance(row.backend_model_id, str):
            content.provider_ids[row.backend_model_id] += 1
    progress(reader.size - told, rows % _PACE)
    content.sha256, content.size = reader.sha256, reader.size
    content.lines, content.blank, content.parsed = reader.lines, reader.blank_lines, reader.parsed
    content.malformed, content.longest = reader.bad_lines, reader.longest
    for bad in reader.bad:
        line, pointer = (0, f"/{bad.line}") if array else (bad.line, "")
        saved = _recovered(entry.real, bad, repeat, take)
        message = bad.message + (
            f" {len(saved)} rows could be split off safely; no headline counts them." if saved else ""
        )
        content.troubles.append(_trouble("error", bad.reason, message, line, bad.offset, pointer))
        content.recovered.extend(saved)
    if array:
        message = f"one JSON array of {reader.lines} elements in place of lines: places are JSON Pointers"
        content.troubles.append(Trouble("info", "json_array", message))
    if reader.invalid_rows:
        message = (
            f"{reader.invalid_rows} rows hold bytes that are not UTF-8, in parts that are not scored: they are loaded; the "
            "official scorers stop at such a file"
        )
        content.troubles.append(Trouble("warning", "invalid_utf8", message))
    content.flags = _flags(reader)
    return content


def _trouble(severity: str, code: str, message: str, line: int, offset: int, pointer: str) -> Trouble:
    """A trouble at a line, or at an element of an array."""
    return Trouble(severity, code, f"{pointer}: {message}" if pointer else message, line or None, offset)


def _flags(reader: LineReader[ClinSeekRow]) -> list[str]:
    """What is odd about the file and costs nothing."""
    mixed = 0 < reader.crlf < reader.lines - (not reader.final_newline)
    flags = {
        "byte-order mark": reader.bom,
        "CRLF line ends": reader.crlf and not mixed,
        f"mixed line ends: {reader.crlf} of {reader.lines} lines end in CRLF": mixed,
        "no newline at the end": not reader.final_newline and reader.size > 0,
        f"{reader.nan_rows} rows with NaN or Infinity": reader.nan_rows,
        f"{reader.surrogate_rows} rows with lone surrogates": reader.surrogate_rows,
    }
    return [text for text, there in flags.items() if there]


def _recovered(path: str, bad: Bad, repeat: int | None, take: Callable[[ClinSeekRow], Answer]) -> list[Row]:
    """The rows that stand whole in a glued or cut line, each with its own place."""
    if bad.reason not in ("glued", "cut_start_then_row"):
        return []
    rows = []
    for start, length, found in lines.recover(lines.read_bytes(path, bad.offset, bad.length)):
        row = from_dict(found)
        if row.item is not None:
            answer = take(row)
            answer.repeat = repeat or answer.repeat
            rows.append(Row(answer, bad.line, bad.offset + start, length))
    return rows
