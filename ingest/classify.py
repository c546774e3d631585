"""What is a file? Told by content; the name only breaks ties between forms that look alike inside."""

from __future__ import annotations

import itertools
import json
import posixpath
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ingest import documents, lines
from ingest.arrays import ArrayReader
from ingest.readers import liveclin, llmeval_med, mm_markdown
from ingest.walk import Entry

# What a ClinSeek results row, a scored row and so on must carry to be one.
MM_TASKS = ("ehrxqa_", "medmod_")
AGENT_TASKS = {"diagnoses_ccs", "procedures_ccs", "labevents", "prescriptions", "microbiologyevents", "transfers"}
_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz|\.zst)?$", re.IGNORECASE)
_DOCUMENT = re.compile(r"\.json(\.gz|\.zst)?$", re.IGNORECASE)
_HEAD_ROWS = 5
_LONGEST_HEAD = 64 << 20

Keys = dict[str, msgspec.Raw]


@dataclass(slots=True)
class Kind:
    """`name`: results, repaired, derived, scored, summary, operational, driver_input, gold, liveclin, llmeval, lfs_pointer,
    other (nothing of ours, not worth a word) or unknown (looks like data of ours and is not). `about`: what the look found.
    """

    name: str
    about: dict[str, Any] = field(default_factory=dict)


def classify(entry: Entry) -> Kind:
    """Look into a file, at most a few lines or, of one JSON document, its top-level keys. OSError passes through."""
    base = posixpath.basename(entry.path)
    try:
        if (_LINES.search(base) or _DOCUMENT.search(base)) and (kind := _told_by_its_start(entry, base)) is not None:
            return kind
        if _LINES.search(base):
            return _lines_kind(entry, base)
        if _DOCUMENT.search(base):
            return _document_kind(entry, base)
        if base in ("summary.md", "summary_vocab.md"):
            parsed = mm_markdown.parse(documents.read_whole(entry.real).decode("utf-8", "replace"))
            return Kind("summary_text", {"form": parsed[0]} if parsed else {})
    except ValueError as error:
        return Kind("unknown", {"message": str(error)})
    return Kind("summary_text" if base == "summary.txt" else "other")


def _told_by_its_start(entry: Entry, base: str) -> Kind | None:
    start = lines.start(entry.real)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Kind("unknown", {"message": "the text is UTF-16: save it as UTF-8"})
    if start.startswith(b"version https://git-lfs"):
        return Kind("lfs_pointer")
    return _array_kind(entry, base) if lines.starts_array(start) else None


def _lines_kind(entry: Entry, base: str) -> Kind:
    if entry.size == 0:
        return Kind("unknown", {"message": "the file is empty"})
    seen_object = False
    for line in lines.head(entry.real, _HEAD_ROWS, _LONGEST_HEAD):
        keys = top_level(line)
        if keys is None and (rows := lines.recover(line)):
            keys = _raw_values(rows[0][2])
        if keys is None:
            continue
        seen_object = True
        if (kind := _row_kind(keys, base)) is not None:
            return kind
    if re.match(r"input(_steal_\d+)?\.", base):
        return Kind("driver_input")
    # a results file whose first lines are all broken is still a results file: its name decides
    if not seen_object and re.match(r"(results|merged_unique)", base):
        return Kind("results")
    return Kind("unknown", {"message": "none of the known row forms"})


def top_level(text: bytes) -> Keys | None:
    """The top-level keys of a JSON object, values unread; None where the text is no object or does not parse."""
    try:
        return _OBJECT.decode(text.removeprefix(documents.BOM))
    except (ValueError, RecursionError):
        pass
    # NaN and lone surrogates: the slow lane, as in reading
    try:
        value = documents.loads(text)
    except ValueError:
        return None
    return _raw_values(value) if isinstance(value, dict) else None


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _raw_values(row: dict[str, Any]) -> Keys:
    return {key: _raw(value) for key, value in row.items()}


def _raw(value: Any) -> msgspec.Raw:
    try:
        return msgspec.Raw(json.dumps(value).encode())
    except RecursionError:
        return msgspec.Raw(b"null")


def _plain(keys: Keys, name: str) -> Any:
    try:
        return documents.loads(bytes(keys[name])) if name in keys else None
    except ValueError:
        return None


def _row_kind(keys: Keys, base: str) -> Kind | None:
    names = keys.keys()
    if "messages" in names:
        if ".repaired." in base or "repair_info" in names:
            return Kind("repaired")
        if {"answer", "answer_labels"} & names:
            return Kind("derived")
        return Kind("results")
    if {"route", "gold_names"} <= names or {"runs", "avg_f1"} <= names or {"aggregated", "missing_result"} <= names:
        return Kind("scored")
    if {"gold", "pred", "f1"} <= names:
        return Kind("scored")
    if "classification" in names or "coarse_task" in names:
        return Kind("other")
    if (benchmark := _gold_benchmark(keys)) is not None:
        return Kind("driver_input" if base.startswith("input") else "gold", {"benchmark": benchmark, "form": "lines"})
    return None


def _gold_benchmark(keys: Keys) -> str | None:
    names = keys.keys()
    if "exam_creation" in names:
        return "liveclin"
    if "task" not in names or not ({"label", "ground_truth"} & names):
        return None
    task = str(_plain(keys, "task"))
    if task.startswith(MM_TASKS) or {"source_benchmark", "_mm_has_image"} & names:
        return "mm-bench"
    if "task_type" in names or str(_plain(keys, "qid")).startswith("ehr_bench"):
        return "ehr-bench"
    return "agent-ehr-bench" if task in AGENT_TASKS and "subject_id" in names else None


def _document_kind(entry: Entry, base: str) -> Kind:
    text = documents.read_whole(entry.real)
    if not text.strip():
        return Kind("unknown", {"message": "the file is empty"})
    if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return Kind("unknown", {"message": "a JSON array of no known form"})
    keys = top_level(text)
    if keys is None:
        rows = text.split(b"\n", 1)
        first = top_level(rows[0]) if len(rows) > 1 else None
        if first is not None and (kind := _row_kind(first, base)) is not None:
            return kind  # lines under a .json name
        return Kind("unknown", {"message": "not one JSON document"})
    return _object_kind(keys, text, base)


def _array_kind(entry: Entry, base: str) -> Kind:
    reader = ArrayReader(entry.real, dict, slow=lambda row: row, max_line=_LONGEST_HEAD)
    for _, _, _, row in itertools.islice(reader, _HEAD_ROWS):
        if (kind := _row_kind(_raw_values(row), base)) is not None:
            return Kind(kind.name, {**kind.about, "form": "array"})
    return Kind("unknown", {"message": "a JSON array of no known form"})


def _object_kind(keys: Keys, text: bytes, base: str) -> Kind:
    names = keys.keys()
    if (about := liveclin.about(keys)) is not None:
        return Kind("liveclin", about)
    if llmeval_med.CATEGORIES.keys() & names:
        form = llmeval_med.kind(documents.loads(text))
        if form == "scored":
            return Kind("llmeval")
        if form == "dataset":
            return Kind("gold", {"benchmark": "llmeval-med", "form": "document"})
        return Kind("unknown", {"message": "answers of LLMEval-Med without scores"})
    if {"shards", "per_model"} & names or {"models", "mode", "root"} <= names or "generated_at" in names:
        return Kind("operational")
    if {"friendly_name", "model_tag", "region"} <= names or base in ("region_map.json", "status.json"):
        return Kind("other")
    if (form := summary_form(keys)) is not None:
        return Kind("summary", {"form": form})
    if base.endswith(".repaired.summary.json"):
        return Kind("other")
    first = next((top_level(bytes(value)) for value in keys.values()), None)
    if first is not None and (benchmark := _gold_benchmark(first)) is not None:
        return Kind("gold", {"benchmark": benchmark, "form": "object"})
    if (benchmark := _gold_benchmark(keys)) is not None:
        return Kind("gold", {"benchmark": benchmark, "form": "row"})
    return Kind("unknown", {"message": "none of the known JSON documents"})


def summary_form(keys: Keys) -> str | None:
    """The version of a scored summary by its keys (formats/clinseek.md, section 4)."""
    names = keys.keys()
    if {"overall", "per_task"} <= names:
        return "newest"
    if {"per_task", "per_task_type"} <= names:
        return "middle"
    if "score_denominator" in names:
        return "diagnoses"
    if "per_task_len2plus_vocab" in names:
        return "summary_vocab"
    if {"unified_f1", "vocab_model"} <= names:
        return "integrated"
    if {"len1_accuracy", "per_task_len2plus"} <= names:
        return "old_summary"
    if {"count", "f1", "precision", "recall"} <= names:
        return "hierarchical"
    if {"per_category", "overall"} <= names:
        return "llmeval_aggregate"
    entries = [_plain(keys, name) for name in names]
    if entries and all(isinstance(entry, dict) and {"total", "f1"} <= entry.keys() for entry in entries):
        return "old_flat"
    return None
