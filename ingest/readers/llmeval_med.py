"""LLMEval-Med documents: one JSON object, category name in Chinese -> list of questions.

Dataset, answers and scored files share that shape and are told apart by what their questions carry.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from evaluation.protocols.base import Answer
from evaluation.protocols.llmeval_med import CATEGORIES, Problems, ScoredRow, questions
from ingest.documents import loads, unpack
from ingest.readers.base import FileContent, Row, Trouble
from ingest.walk import Entry

RUN = re.compile(r"run[ _-]?([0-9]+).*score.*\.json", re.IGNORECASE)


def repeat_of(filename: str) -> int:
    """The judging run of a scored file: N of `…run<N>…score….json`, 1 for a name without a number.

    Only the last part of a path counts. Raises ValueError for run 0 (runs count from 1) and for numbers that are none.
    """
    name = PurePosixPath(filename).name
    found = RUN.search(name)
    repeat = int(found[1]) if found else 1
    if not 0 < repeat < 10**9:
        raise ValueError(f"judging runs count from 1 and are few: {name!r}")
    return repeat


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


def read(
    entry: Entry,
    repeat: int | None,
    take: Callable[[ScoredRow], Answer],
    progress: Callable[[int, int], None],
) -> FileContent:
    """Read one scored document as judging run `repeat`. ValueError says where it does not parse; OSError passes through."""
    stored = Path(entry.real).read_bytes()
    text = unpack(stored)
    content = FileContent(entry, sha256=hashlib.sha256(stored).hexdigest(), size=len(stored), longest=len(text))
    problems: Problems = []
    for pointer, row in rows(loads(text), repeat or 1, problems):
        content.rows.append(Row(take(row), 0, 0, len(text), pointer))
    content.malformed = len(problems)
    content.troubles = [Trouble("error", "bad_row", f"{pointer}: {reason}") for pointer, reason in problems]
    content.parsed = len(content.rows)
    progress(len(stored), len(content.rows))
    return content
