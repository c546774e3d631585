"""LLMEval-Med documents: one JSON object, category name in Chinese -> list of questions.

Dataset, answers and scored files share that shape and are told apart by what their questions carry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from evaluation.protocols.llmeval_med import CATEGORIES, Problems, ScoredRow, questions

BOM = b"\xef\xbb\xbf"
RUN = re.compile(r"run[ _-]?([0-9]+).*score.*\.json", re.IGNORECASE)


class DocumentError(ValueError):
    """Bytes that are no JSON document. `line` and `column` (in characters) count from 1, `offset` (in bytes) from 0."""

    def __init__(self, reason: str, line: int, column: int, offset: int) -> None:
        super().__init__(f"{reason}: line {line}, column {column}, byte {offset}")
        self.reason, self.line, self.column, self.offset = reason, line, column, offset


def repeat_of(filename: str) -> int:
    """The judging run of a scored file: N of `…run<N>…score….json`, 1 for a name without a number.

    Only the last part of a path counts. Raises ValueError for run 0: runs count from 1.
    """
    name = PurePosixPath(filename).name
    found = RUN.search(name)
    repeat = int(found[1]) if found else 1
    if repeat == 0:
        raise ValueError(f"judging runs count from 1: {name!r}")
    return repeat


def loads(data: bytes) -> Any:
    """The document in `data`, UTF-8 with or without a byte-order mark; bare NaN is read as a float NaN.

    Raises DocumentError (a ValueError) with the place of the fault; for nesting too deep to read that is the start.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    try:
        text = data[start:].decode()
    except UnicodeDecodeError as error:
        before = data[start : start + error.start].decode()
        raise _error("not UTF-8", before, start + error.start) from error
    try:
        return json.loads(text, parse_int=_integer)
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


def kind(document: object) -> str | None:
    """`scored`, `answers` or `dataset` by what the questions carry; None for any other document.

    One known category is enough: a name beside it that is unknown is a finding of `rows`, not another kind of file.
    """
    if not isinstance(document, Mapping) or not CATEGORIES.keys() & document.keys():
        return None
    if not all(isinstance(listed, list) for listed in document.values()):
        return None
    fields = [question.keys() for listed in document.values() for question in listed if isinstance(question, dict)]
    if any("model_answer_score" in names for names in fields):
        return "scored"
    if any("model_answer" in names for names in fields):
        return "answers"
    return "dataset" if fields else None


def is_scored(document: object) -> bool:
    """Whether any question carries a judge's score, empty or not."""
    return kind(document) == "scored"


def is_dataset(document: object) -> bool:
    """Whether the questions carry neither an answer nor a score."""
    return kind(document) == "dataset"


def rows(document: Mapping[str, Any], repeat: int, problems: Problems) -> Iterator[tuple[str, ScoredRow]]:
    """(JSON Pointer, row) of each question, in the document's order, scores untouched.

    What gives no row (an unknown category, a question that is not an object or lacks `groupCode` or `round`) is
    appended to `problems` as (JSON Pointer, reason) while the iterator runs. Text fields that hold no text are None.
    """
    for pointer, category, question in questions(document, problems):
        yield (
            pointer,
            ScoredRow(
                category=category,
                groupCode=question["groupCode"],
                round=question["round"],
                category2=_text(question.get("category2")),
                scene=_text(question.get("scene")),
                difficulty=_text(question.get("difficulty")),
                score=question.get("model_answer_score"),
                answer=_text(question.get("model_answer")),
                judgement=_text(question.get("model_answer_judgement")),
                repeat=repeat,
            ),
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
