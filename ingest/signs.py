"""Signs of trouble in ClinSeek rows: what rows say that no broken line and no score shows (formats/clinseek.md, 8.4).

Rows are counted by their shape while the file streams by, one counter a file. What a shape means is asked once, at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evaluation.protocols.base import Answer, ItemSpec
from evaluation.protocols.clinseek_rows import ClinSeekRow

# Who made the finish call, by the id that the runners give to calls of their own (section 1.5).
_ORIGINS = {
    "synthetic_finish": "salvaged",
    "repair_synthetic_finish": "repaired",
    "one_shot": "one-shot",
    "call_qa_finish": "one-shot",
}
_MADE = tuple(_ORIGINS)
_TOOL_NAMES = ("ehr.finish", "finish")
_FOUND = ("finish_tool_call", "ok")
_NOT_FOUND = ("no_prediction", "no_finish_call")
_UNREADABLE = ("finish_parse_error", "finish_tool_call_non_list", "bad_json_args", "no_response_key")
# Of a task half done at most this share of the questions has a row.
HALF_DONE = 2 / 3
# A region that answered fewer rows than this share of what the middle region did.
FEW_ROWS = 1 / 2
# An answer of more characters is prose; one of fewer is not, however it ends.
_LONG_ANSWER, _SHORT_ANSWER = 300, 20
_LONGEST_NAME = 80

_FAULTS = (
    ("throttling", r"throttl|too many requests|rate.?limit|quota|\b429\b"),
    ("TLS", r"ssl|tls|certificate"),
    ("time-out", r"time.?d?.?out|deadline"),
    ("connection", r"connection|broken pipe|endpoint"),
    ("service", r"internal server|service.?unavailable|overloaded|\b50[0-9]\b"),
)
_FAULT = [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _FAULTS]
_CLASS = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception)\b")
_ENDS_OF_ERROR = 2_000


class Shape(NamedTuple):
    """What counts of a row. Values of other types than expected stand as None."""

    status: str | None
    stop_reason: str | None
    completed: bool
    begun: bool  # there are messages
    rule: str  # that took the answer
    given: bool  # the answer holds anything
    prose: bool  # it reads like text, not like a list of answers
    finish: str | None  # name of the last finish call
    origin: str | None  # who made it, where it was not the model
    fault: str | None  # kind of error of a failed call
    region: str | None
    leaked: bool
    images_dropped: bool

    @property
    def misnamed(self) -> bool:
        """The last finish call has another name than the tool."""
        return self.finish is not None and self.finish not in _TOOL_NAMES


@dataclass(frozen=True, slots=True)
class Sign:
    """One kind of trouble. `means` completes "12 of 600 rows"; `by` splits the count; `advice` is what a person can do."""

    code: str
    severity: str
    fits: Callable[[Shape], object]
    means: str
    advice: str
    by: Callable[[Shape], str | None] | None = None


SIGNS = (
    Sign(
        "curated_text_leak",
        "warning",
        lambda row: row.leaked,
        "hold the curated <patient_timeline> in their question: the model was given what it should find with tools, so the run "
        "is no agentic one",
        "Run it again with the short prompt (the public runner uses it only for data files whose name contains ehr_bench), "
        "or leave the run out in clinboard.yaml.",
    ),
    Sign(
        "salvaged_answers",
        "warning",
        lambda row: row.origin == "salvaged",
        "have an answer that the runner made out of plain text, for the model called no finish tool",
        "Scored like any other; look at some of them before you compare models, for text split into lines costs precision.",
    ),
    Sign(
        "repaired_answers",
        "warning",
        lambda row: row.origin == "repaired" or row.stop_reason == "repair_finish_tool_call",
        "have an answer that a repair script put in after the run",
        "Scored like any other; give the file before the repair where the model's own answers should count.",
    ),
    Sign(
        "prose_answers",
        "warning",
        lambda row: row.prose,
        "have whole sentences or long text among their answers: each line counts as one wrong answer",
        "Look at them; a parser that reads the reply better would have to run again, here they count as they stand.",
        by=lambda row: row.origin or "the model's own call",
    ),
    Sign(
        "no_finish_call",
        "warning",
        lambda row: row.completed and row.rule in _NOT_FOUND and not row.misnamed,
        "say they are completed and hold no finish call in which the scorer finds an answer: they count 0",
        "Run these questions again, or repair the rows from the text of their last message.",
        by=lambda row: row.stop_reason,
    ),
    Sign(
        "finish_namespace",
        "warning",
        lambda row: row.misnamed and row.rule == "no_finish_call",
        "give their answer to a tool of another name, which the official scorer of this benchmark does not take: they count 0",
        "Correct the name of the tool in the runner or in the rows, and ingest again.",
        by=lambda row: row.finish,
    ),
    Sign(
        "finish_namespace",
        "info",
        lambda row: row.misnamed and row.rule.startswith("finish_"),
        "give their answer to a tool of another name, which the official scorer of this benchmark takes all the same",
        "Nothing is lost here; the scorer of MM-Bench would not take them.",
        by=lambda row: row.finish,
    ),
    Sign(
        "unreadable_answers",
        "warning",
        lambda row: row.rule in _UNREADABLE,
        "call the finish tool with arguments that hold no answer the scorer can read: they count 0",
        "Look at some of them: a runner that checks the arguments lets the model try again.",
        by=lambda row: row.rule,
    ),
    Sign(
        "empty_answers",
        "info",
        lambda row: row.rule in _FOUND and not row.given and row.fault is None,
        "give an empty answer although the call did not fail: they count 0",
        "Many of them hint at replies that the runner could not read; look at the model's text.",
    ),
    Sign(
        "incomplete_rows",
        "info",
        lambda row: row.status == "incomplete",
        "end without an answer (limit of rounds or of browser calls, or the model stopped)",
        "Part of the result, counted 0; a higher limit is another protocol.",
    ),
    Sign(
        "failed_calls",
        "warning",
        lambda row: row.fault is not None,
        "are calls that failed: they count 0 and say nothing about the model",
        "Take these rows out of the file and run their questions again: the public runner skips every id that is there.",
        by=lambda row: f"{row.fault} in {row.region}" if row.region else row.fault,
    ),
    Sign(
        "empty_trajectories",
        "info",
        lambda row: not row.begun,
        "hold no message: what the model did before the failure is lost",
        "Nothing can be looked up for them.",
    ),
    Sign(
        "images_dropped",
        "warning",
        lambda row: row.images_dropped,
        "were asked without some of their images, which the runner dropped",
        "The model could not see what it was asked about: check the paths of the images and run these questions again.",
    ),
    Sign(
        "old_rows",
        "info",
        lambda row: row.status is None and row.stop_reason is None,
        "have neither status nor stop reason: an older runner wrote them",
        "Read all the same; a call counts as failed where the row holds an error.",
    ),
)


@dataclass(slots=True)
class Signs:
    """The rows of one or more files by shape and by task. Rows that were saved from broken lines are not among them."""

    shapes: dict[tuple, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)

    def add(self, row: ClinSeekRow, answer: Answer) -> None:
        """Count one row with the answer that its benchmark's rules took out of it."""
        name, origin = _last_finish(row)
        prose = False
        for text in answer.prediction:
            if isinstance(text, str) and len(text) > _SHORT_ANSWER and _is_prose(text):
                prose = True
        images = row.multimodal_summary
        shape = (
            _word(row.status),
            _word(row.stop_reason),
            row.completed is True,
            bool(row.messages),
            answer.rule,
            bool(answer.prediction),
            prose,
            name,
            origin,
            _fault(row.error_text) if answer.error else None,
            _word(row.backend_region),
            # the prompt of a one-shot row holds that text by right
            origin != "one-shot" and b"patient_timeline" in bytes(row.question) and _leaks(bytes(row.question)),
            images is not None and bool(images.dropped_image_paths),
        )
        self.shapes[shape] = self.shapes.get(shape, 0) + 1
        if isinstance(row.task, str):
            self.tasks[row.task] = self.tasks.get(row.task, 0) + 1

    def __add__(self, other: Signs) -> Signs:
        shapes, tasks = Counter(self.shapes), Counter(self.tasks)
        shapes.update(other.shapes)
        tasks.update(other.tasks)
        return Signs(shapes, tasks)

    def findings(
        self, mode: str, items: Sequence[ItemSpec], found: Collection[str], task_names: Mapping[str, str]
    ) -> Iterator[tuple[str, str, str]]:
        """(severity, code, message), at most one a code: what the rows of a run say of themselves and against its items.

        `found` are the ids that have a row; `task_names` maps a task as rows spell it to the gold's spelling.
        """
        counts = Counter({Shape(*shape): count for shape, count in self.shapes.items()})
        total = counts.total()
        for sign in SIGNS:
            fitting = Counter({shape: count for shape, count in counts.items() if sign.fits(shape)})
            if sign.code == "curated_text_leak" and mode != "agentic":
                continue
            if count := fitting.total():
                told = f"{count} of {total} rows{_split(fitting, sign)} {sign.means}. {sign.advice}"
                yield sign.severity, sign.code, told
        yield from _regions(counts)
        if total:
            yield from _foreign(self.tasks, items, task_names, total)
            yield from _missing(items, found)


def _last_finish(row: ClinSeekRow) -> tuple[str | None, str | None]:
    """Name and origin of the last finish call, whatever its namespace."""
    for message in reversed(row.messages or ()):
        for call in reversed(message.tool_calls or ()):
            name = call.function.name if call.function else call.name
            if name == "ehr.finish" or (isinstance(name, str) and "finish" in name.lower()):
                if isinstance(call.id, str) and call.id.startswith(_MADE):
                    return name, _ORIGINS[next(start for start in _MADE if call.id.startswith(start))]
                return name, None
    return None, None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_prose(text: str) -> bool:
    return len(text) > _LONG_ANSWER or (text.rstrip()[-1:] in (".", "!", "?", ":") and text.count(" ") >= 4)


def _leaks(question: bytes) -> bool:
    return b"<patient_timeline>" in question or b"\\u003cpatient_timeline\\u003e" in question.lower()


def _fault(error: str) -> str:
    """The kind of a failure by its text; of other ones the name of the exception."""
    text = error[:_ENDS_OF_ERROR] + "\n" + error[-_ENDS_OF_ERROR:]
    for name, pattern in _FAULT:
        if pattern.search(text):
            return name
    named = _CLASS.search(text)
    return named[0] if named else "without a reason" if not error.strip() else "other"


def _split(fitting: Counter[Shape], sign: Sign) -> str:
    if sign.by is None:
        return ""
    parts: Counter[str] = Counter()
    for shape, count in fitting.items():
        parts[_short(sign.by(shape) or "not told")] += count
    return f" ({_list(f'{name} {count}' for name, count in parts.most_common())})"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"


def _list(parts: Iterable[str], most: int = 50) -> str:
    listed = list(parts)
    more = [f"{len(listed) - most} more"] if len(listed) > most else []
    return ", ".join(listed[:most] + more)


def _regions(counts: Counter[Shape]) -> Iterator[tuple[str, str, str]]:
    """Questions are dealt to the regions in turn, so a region that answered far fewer of them had trouble."""
    rows: Counter[str] = Counter()
    for shape, count in counts.items():
        if shape.region:
            rows[shape.region] += count
    middle = sorted(rows.values())[len(rows) // 2] if rows else 0
    few = {region: count for region, count in rows.items() if count < FEW_ROWS * middle}
    if few:
        told = _list(f"{_short(region)} {count}" for region, count in sorted(few.items()))
        yield (
            "warning",
            "region_rows",
            f"far fewer rows than from the other regions, where {middle} are usual: {told}. That region was slow or refused "
            "calls; the questions it was dealt may be missing, or another region took them over.",
        )


def _foreign(
    tasks: Mapping[str, int], items: Sequence[ItemSpec], task_names: Mapping[str, str], total: int
) -> Iterator[tuple[str, str, str]]:
    known = {name for item in items for dimension, name in item.facets if dimension == "task"} | task_names.keys()
    foreign = Counter({task: count for task, count in tasks.items() if task not in known}) if known else Counter()
    if foreign:
        told = _list(f"{_short(task)!r} {count}" for task, count in foreign.most_common())
        yield (
            "warning",
            "foreign_tasks",
            f"{foreign.total()} of {total} rows are of tasks that the gold does not have: {told}. Rows of another benchmark or "
            "split were joined in, or the gold is another one; no figure counts them.",
        )


def _missing(items: Sequence[ItemSpec], found: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Whole tasks without a row, and tasks half done: a score over what is done hides both."""
    wanted: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for item in items:
        task = next((name for dimension, name in item.facets if dimension == "task"), None)
        if task is not None and item.scored:
            wanted[task] += 1
            done[task] += item.key in found
    never = [task for task in wanted if not done[task]]
    half = [task for task in wanted if 0 < done[task] <= HALF_DONE * wanted[task]]
    if never or half:
        parts = [f"without any row: {_list(f'{task} ({wanted[task]})' for task in never)}"] if never else []
        parts += [f"half done: {_list(f'{task} ({done[task]} of {wanted[task]})' for task in half)}"] if half else []
        yield (
            "warning",
            "tasks_missing",
            f"{len(never)} of {len(wanted)} tasks have no row, {len(half)} are half done; {'; '.join(parts)}. Missing questions "
            "count 0 in the headline and are left out of done_only, which hides them. Run them, or read the run as partial.",
        )
