"""Reader of ClinSeek results: one JSON object a line (formats/clinseek.md, section 1)."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.protocols.base import Answer
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from ingest import lines
from ingest.lines import Bad, LineReader
from ingest.readers.base import FileContent, Row, Trouble
from ingest.walk import Entry


def read(
    entry: Entry,
    file: int,
    repeat: int | None,
    take: Callable[[ClinSeekRow], Answer],
    progress: Callable[[int], None],
) -> FileContent:
    """Stream a file once: answers with their places, counts and sha256. `progress` is told bytes as they pass.
    A stated `repeat` counts in place of what the rows say.

    A row without an id is parsed but cannot be loaded: it becomes a finding. OSError passes through.
    """
    reader = LineReader(entry.real, ClinSeekRow, slow=from_dict)
    content = FileContent(entry)
    for number, offset, length, row in reader:
        progress(length + 1)
        if row.item is None:
            message = f"qid is {row.qid!r}: the row cannot be joined to a question and is not loaded"
            content.troubles.append(Trouble("error", "no_id", message, number, offset))
            continue
        answer = take(row)
        answer.repeat = repeat or answer.repeat
        content.rows.append(Row(answer, file, number, offset, length))
        content.signs.add(row, answer)
        if isinstance(row.backend_model_id, str):
            content.provider_ids[row.backend_model_id] += 1
    content.sha256, content.size = reader.sha256, reader.size
    content.lines, content.blank, content.parsed = reader.lines, reader.blank_lines, reader.parsed
    content.malformed, content.longest = reader.bad_lines, reader.longest
    for bad in reader.bad:
        saved = _recovered(entry.real, bad, file, repeat, take)
        message = bad.message + (
            f" {len(saved)} rows could be split off safely; no headline counts them." if saved else ""
        )
        content.troubles.append(Trouble("error", bad.reason, message, bad.line, bad.offset))
        content.recovered += saved
    flags = {
        "byte-order mark": reader.bom,
        "CRLF line ends": reader.crlf,
        "no newline at the end": not reader.final_newline and reader.size > 0,
        f"{reader.nan_rows} rows with NaN or Infinity": reader.nan_rows,
        f"{reader.surrogate_rows} rows with lone surrogates": reader.surrogate_rows,
    }
    content.flags = [text for text, there in flags.items() if there]
    return content


def _recovered(path: str, bad: Bad, file: int, repeat: int | None, take: Callable[[ClinSeekRow], Answer]) -> list[Row]:
    """The rows that stand whole in a glued or cut line, each with its own place."""
    if bad.reason not in ("glued", "cut_start_then_row"):
        return []
    rows = []
    for start, length, found in lines.recover(lines.read_bytes(path, bad.offset, bad.length)):
        row = from_dict(found)
        if row.item is not None:
            answer = take(row)
            answer.repeat = repeat or answer.repeat
            rows.append(Row(answer, file, bad.line, bad.offset + start, length, recovered=True))
    return rows
