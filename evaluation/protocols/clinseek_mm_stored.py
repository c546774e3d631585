"""MM-Bench rows that a scorer wrote, counted once more: stored verdicts and mapped strings, in the form of its summaries.

Nothing here judges or maps: where a verdict is missing the row is wrong, as for the scorer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evaluation.protocols.base import Answer
from evaluation.protocols.clinseek_mm import (
    RIGHT,
    VALUES,
    WRONG,
    Values,
    gold_names,
    prediction_set,
    set_values,
    strings,
)

Block = dict[str, Any]


class ScoredRow(msgspec.Struct):
    """The part of a row of `scored.jsonl` or `rescored.jsonl` that counts; what any writer left out is None."""

    qid: Any = None
    run_index: Any = None
    task: Any = None
    len_gold: Any = None
    gold_names: Any = None
    prediction_raw: Any = None
    prediction_strs: Any = None
    note: Any = None
    status: Any = None
    route: Any = None
    judge_subtype: Any = None
    judge_match: Any = None
    judge_reason: Any = None
    judge_raw: Any = None
    correct: Any = None
    prediction_strs_mapped: Any = None

    @property
    def item(self) -> str:
        return str(self.qid)

    @property
    def repeat(self) -> int:
        """As of a results row: 1 where there is no run index."""
        return self.run_index if isinstance(self.run_index, int) and self.run_index > 0 else 1

    @property
    def taken(self) -> tuple[tuple[str, ...], str]:
        """The answer in the form of `clinseek_mm.take`, so that both can be compared."""
        if self.note != "ok":
            return (), str(self.note)
        return strings(self.prediction_strs), "ok" if self.prediction_raw is not None else "null_response"


@dataclass(frozen=True, slots=True)
class Counted:
    """One row as a scorer counts it. `single`: its gold has one name; `raw`: its values before any mapping."""

    task: str
    single: bool
    incomplete: bool
    values: Values
    raw: Values
    subtype: str = ""


def counted(rows: Sequence[ScoredRow]) -> list[Counted]:
    """Rows as they were scored: verdicts as stored, set values anew from the mapped strings, or the raw ones without.

    Where any row is mapped a vocabulary was in use, and white space counts as collapsed also in tasks that it skipped.
    """
    mapped = any(row.prediction_strs_mapped is not None for row in rows)
    return [_counted(row, mapped) for row in rows]


def _counted(row: ScoredRow, mapped: bool) -> Counted:
    names = [str(name) for name in row.gold_names] if isinstance(row.gold_names, list) else []
    single = (row.len_gold if isinstance(row.len_gold, int) else len(names)) == 1
    if row.route == "incomplete":
        values = raw = WRONG
    elif single:
        verdict = row.judge_match if row.judge_match is not None else row.correct
        values = raw = RIGHT if verdict else WRONG
    else:
        own = strings(row.prediction_strs)
        values = raw = set_values(prediction_set(own), prediction_set(names))
        if mapped:
            new = own if row.prediction_strs_mapped is None else strings(row.prediction_strs_mapped)
            values = set_values(_collapsed(new), _collapsed(names))
    return Counted(str(row.task), single, row.route == "incomplete", values, raw, str(row.judge_subtype or ""))


def _collapsed(texts: Iterable[str]) -> frozenset[str]:
    return prediction_set(" ".join(text.split()) for text in texts)


def counted_answers(answers: Iterable[Answer]) -> list[Counted]:
    """Answers as a scorer would count them, without verdicts and mapping: good for counts and raw set values alone.

    Rows without a label of their own drop out, as they do there.
    """
    rows = []
    for answer in answers:
        names = gold_names(answer.extra.label)
        incomplete = answer.rule != "ok"
        values = WRONG
        if len(names) > 1 and not incomplete:
            values = set_values(prediction_set(answer.prediction), prediction_set(names))
        if names:
            rows.append(Counted(str(answer.extra.task), len(names) == 1, incomplete, values, values))
    return rows


# --- the forms of summaries -------------------------------------------------------------------------------------------


def summarise(rows: Sequence[Counted], form: str) -> Block:
    """The summary of `form` (old_summary, integrated, summary_vocab) over the rows, under the scorer's own keys.

    Incomplete rows count as 0, but in the blocks for one and for several gold items of summary_vocab, which leave them
    out. A mean over no rows is 0, as there.
    """
    vocab, both = form == "summary_vocab", form == "integrated"
    seen = [row for row in rows if not (vocab and row.incomplete)]
    one, several = [row for row in seen if row.single], [row for row in seen if not row.single]
    out: Block = {"len1_count": len(one), "len1_accuracy": _mean(row.values[0] for row in one)}
    out |= _prefixed("len2plus", several, both)
    out["per_task_len1"] = {task: _len1(own, vocab) for task, own in _by_task(one).items()}
    out["per_task_len2plus_vocab" if vocab else "per_task_len2plus"] = {
        task: {**_set(own, both), **({} if vocab else _incomplete(own))} for task, own in _by_task(several).items()
    }
    if not vocab:
        out |= {"total": len(rows), **_incomplete(rows)}
    if form != "old_summary":
        out |= _prefixed("unified", rows, both)
        out["per_task_unified"] = {task: _set(own, both) for task, own in _by_task(rows).items()}
    if vocab:
        del out["unified_subset_match"]
    return out


def judge_free(path: tuple[str, ...], form: str) -> bool:
    """Whether the figure at `path` of a summary rests on neither judge nor encoder: counts, and raw set values.

    Subtypes are the judge's, and one of them is called `count`.
    """
    if len(path) > 2 and path[2].startswith("by_subtype"):
        return False
    if path[-1] in ("total", "incomplete", "count") or path[-1].endswith("_count"):
        return True
    raw = form == "old_summary" or path[-1].endswith("_raw")
    return raw and path[0].startswith(("len2plus_", "per_task_len2plus"))


def _len1(rows: Sequence[Counted], vocab: bool) -> Block:
    block = {"count": len(rows), "accuracy": _mean(row.values[0] for row in rows)}
    if vocab:
        return block
    by_subtype: dict[str, list[Counted]] = defaultdict(list)
    for row in rows:
        if not row.incomplete:
            by_subtype[row.subtype].append(row)
    return {
        **block,
        **_incomplete(rows),
        "correct": sum(row.values[0] > 0 for row in rows),
        "by_subtype": {subtype: len(own) for subtype, own in by_subtype.items()},
        "by_subtype_accuracy": {subtype: _mean(row.values[0] for row in own) for subtype, own in by_subtype.items()},
    }


def _set(rows: Sequence[Counted], both: bool) -> Block:
    block: Block = {"count": len(rows)}
    for place, name in enumerate(VALUES):
        block[name] = _mean(row.values[place] for row in rows)
        if both:
            block[f"{name}_raw"] = _mean(row.raw[place] for row in rows)
    return block


def _prefixed(kind: str, rows: Sequence[Counted], both: bool) -> Block:
    return {f"{kind}_{name}": value for name, value in _set(rows, both).items()}


def _incomplete(rows: Sequence[Counted]) -> Block:
    return {"incomplete": sum(row.incomplete for row in rows)}


def _by_task(rows: Iterable[Counted]) -> dict[str, list[Counted]]:
    found: dict[str, list[Counted]] = defaultdict(list)
    for row in rows:
        found[row.task].append(row)
    return found


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
