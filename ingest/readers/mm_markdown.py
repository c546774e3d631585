"""MM summaries in Markdown, for directories that have lost the JSON (formats/clinseek.md, section 4.5)."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = r"\*{0,2}\s*([-+]?\d+(?:\.\d+)?)"
_COLUMNS = {
    "n": "count",
    "accuracy": "accuracy",
    "incomplete": "incomplete",
    "precision": "precision",
    "p": "precision",
    "recall": "recall",
    "r": "recall",
    "f1": "f1",
    "jaccard": "accuracy",
    "jaccard-acc": "accuracy",
    "jaccard accuracy": "accuracy",
    "subset": "subset_match",
    "subset match": "subset_match",
    "subset_match": "subset_match",
}
# What a line of the head says: pattern -> keys of its groups.
_HEAD: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"total rows: {_NUMBER}", ("total",)),
    (rf"incomplete \(no finish\): {_NUMBER}", ("incomplete",)),
    (rf"len=1 \(judge\) accuracy: {_NUMBER}\D*\(n=(\d+)\)", ("len1_accuracy", "len1_count")),
    (
        rf"len>=2 F1: {_NUMBER}\D*P: {_NUMBER}\D*R: {_NUMBER}\D*subset_match: {_NUMBER}\D*\(n=(\d+)\)",
        ("len2plus_f1", "len2plus_precision", "len2plus_recall", "len2plus_subset_match", "len2plus_count"),
    ),
    (
        rf"len>=2 F1 \(mapped\): {_NUMBER}\D*raw: {_NUMBER}.*\(n=(\d+)\)",
        ("len2plus_f1", "len2plus_f1_raw", "len2plus_count"),
    ),
    (
        rf"unified F1 \(mapped\): {_NUMBER}\D*raw: {_NUMBER}\D*\(n=(\d+)\)",
        ("unified_f1", "unified_f1_raw", "unified_count"),
    ),
    (r"len=1 rows unchanged.* n=(\d+)", ("len1_count",)),
    (r"len[≥>]=?2 rows re-scored.* n=(\d+)", ("len2plus_count",)),
    (rf"^- n = {_NUMBER}", ("unified_count",)),
    (rf"^- F1 = {_NUMBER}", ("unified_f1",)),
    (rf"^- precision = {_NUMBER}", ("unified_precision",)),
    (rf"^- recall = {_NUMBER}", ("unified_recall",)),
    (rf"^- jaccard accuracy = {_NUMBER}", ("unified_accuracy",)),
)


def parse(text: str) -> tuple[str, dict[str, Any]] | None:
    """(form, document) under the keys of the JSON summary, as far as the Markdown has them; None for any other text.

    Figures have 4 decimals. What stands by subtype is left out: it has 2. The headline table of the vocabulary re-scorer
    gives its "after".
    """
    if re.match(r"\ufeff?# Vocabulary-normalized re-scoring", text):
        form = "summary_vocab"
    elif re.match(r"\ufeff?# Scoring summary", text):
        form = "integrated" if "vocab normalization:" in text else "old_summary"
    else:
        return None
    document: dict[str, Any] = {}
    section, columns = "", list[str]()
    for line in text.splitlines():
        if line.startswith("#"):
            section, columns = _section(line, form), []
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not columns:
                columns = [_COLUMNS.get(re.sub(r" \(raw.*", "", cell).lower(), "") for cell in cells]
            elif section == "headline" and (name := _COLUMNS.get(cells[0].lower())):
                document |= _cell(f"len2plus_{name}", cells[2] if len(cells) > 2 else "")
            elif section not in ("", "headline") and not set(cells[0]) <= set("-: "):
                entry = document.setdefault(section, {}).setdefault(cells[0], {})
                for key, cell in zip(columns, cells, strict=False):
                    entry |= _cell(key, cell) if key else {}
        else:
            for pattern, keys in _HEAD:
                if found := re.search(pattern, line):
                    document |= {key: float(value) for key, value in zip(keys, found.groups(), strict=True)}
    return form, document


def _section(heading: str, form: str) -> str:
    heading = heading.lower()
    if "headline" in heading:
        return "headline"
    if "per-task" not in heading:
        return ""
    if "unified" in heading:
        return "per_task_unified"
    if "len=1" in heading:
        return "per_task_len1"
    return "per_task_len2plus_vocab" if form == "summary_vocab" else "per_task_len2plus"


def _cell(key: str, cell: str) -> dict[str, float]:
    """One value, or two of them: raw -> mapped."""
    values = re.findall(r"[-+]?\d+(?:\.\d+)?", cell)
    if len(values) == 2 and "→" in cell:
        return {f"{key}_raw": float(values[0]), key: float(values[1])}
    return {key: float(values[0])} if len(values) == 1 else {}
