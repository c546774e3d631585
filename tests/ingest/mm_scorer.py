"""A plain scorer of the three forms of MM summaries, and trees that hold what it wrote."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.ingest.trees import Called, Row, Tree, answered, failed, finish

FIVE = ("precision", "recall", "f1", "accuracy", "subset_match")
FULL = "mm_bench/agentic/full2703"
SCORED = "mm_bench/agentic/scored"

VOCABULARY = {"first thing": "Finding One", "second": "Finding Two"}


def plain_row(row: Row, form: str, verdict: Any = True) -> Row | None:
    """A scored row as the form's scorer writes it; None where the row has no label."""
    names = [entry["name"] for entry in row.get("label") or []]
    if not names:
        return None
    response, note = None, "no_finish_call"
    if row["messages"]:
        response, note = json.loads(row["messages"][0]["tool_calls"][0]["function"]["arguments"])["response"], "ok"
    texts = response or []
    out: Row = {
        "qid": row["qid"],
        "run_index": row["run_index"],
        "task": row["task"],
        "len_gold": len(names),
        "gold_names": names,
        "prediction_raw": response,
        "prediction_strs": texts,
        "note": note,
        "status": row["status"],
    }
    if response is None:
        return {**out, "route": "incomplete", "correct": False, **dict.fromkeys(FIVE, 0.0)}
    if len(names) == 1:
        judged = {
            "judge_subtype": "generic_string",
            "judge_match": verdict,
            "judge_reason": "made up",
            "judge_raw": "{}",
        }
        return {**out, "route": "llm_judge", **judged, "correct": verdict, **dict.fromkeys(FIVE, float(bool(verdict)))}
    raw = plain_set(texts, names)
    if form == "old_summary":
        return {**out, "route": "set_f1", **raw}
    mapped = [VOCABULARY.get(text.strip().lower(), text) for text in texts]
    out |= {"route": "set_f1", "prediction_strs_mapped": mapped}
    out |= plain_set([" ".join(text.split()) for text in mapped], names)
    return out if form == "summary_vocab" else {**out, **{f"{name}_raw": value for name, value in raw.items()}}


def plain_set(texts: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    mine, gold = {text.strip().lower() for text in texts} - {""}, {name.strip().lower() for name in names}
    hits = len(mine & gold)
    return {
        "precision": hits / len(mine) if mine else 0.0,
        "recall": hits / len(gold),
        "f1": 2 * hits / (len(mine) + len(gold)),
        "accuracy": hits / len(mine | gold),
        "subset_match": float(mine == gold),
    }


def average(rows: Sequence[Row], name: str) -> float:
    return (
        sum(row.get(name, row.get(name.removesuffix("_raw"), 0.0)) or 0.0 for row in rows) / len(rows) if rows else 0.0
    )


def plain_summary(rows: Sequence[Row], form: str) -> Row:
    """The summary of scored rows, key by key as the format page lists them."""
    names = [*FIVE, *(f"{name}_raw" for name in FIVE)] if form == "integrated" else list(FIVE)
    use = [row for row in rows if form != "summary_vocab" or row["route"] != "incomplete"]
    one, several = [r for r in use if r["len_gold"] == 1], [r for r in use if r["len_gold"] > 1]

    def lost(own: Sequence[Row]) -> int:
        return len([row for row in own if row["route"] == "incomplete"])

    def table(own: Sequence[Row]) -> dict[str, list[Row]]:
        return {task: [row for row in own if row["task"] == task] for task in sorted({row["task"] for row in own})}

    out: Row = {f"len2plus_{name}": average(several, name) for name in names}
    out |= {"len2plus_count": len(several), "len1_count": len(one), "len1_accuracy": average(one, "f1")}
    sets = {task: {"count": len(own)} | {n: average(own, n) for n in names} for task, own in table(several).items()}
    len1 = {task: {"count": len(own), "accuracy": average(own, "f1")} for task, own in table(one).items()}
    if form == "summary_vocab":
        out |= {
            "per_task_len2plus_vocab": sets,
            "per_task_len1": len1,
            "vocab_threshold": 0.55,
            "vocab_model": "made-up",
        }
    else:
        for task, own in table(several).items():
            sets[task]["incomplete"] = lost(own)
        for task, own in table(one).items():
            judged = [row for row in own if row["route"] == "llm_judge"]
            len1[task] |= {"incomplete": lost(own), "correct": sum(row["f1"] > 0 for row in own)}
            len1[task]["by_subtype"] = {"generic_string": len(judged)} if judged else {}
            len1[task]["by_subtype_accuracy"] = {"generic_string": average(judged, "f1")} if judged else {}
        out |= {"total": len(rows), "incomplete": lost(rows), "per_task_len1": len1, "per_task_len2plus": sets}
    if form != "old_summary":
        unified = {f"unified_{name}": average(rows, name) for name in names}
        out |= {name: value for name, value in unified.items() if form == "integrated" or "subset" not in name}
        out |= {"unified_count": len(rows), "vocab_model": "made-up"}
        out["per_task_unified"] = {
            task: {"count": len(own)} | {n: average(own, n) for n in names} for task, own in table(rows).items()
        }
    return out


FORMS = ("old_summary", "integrated", "summary_vocab")
FILES = {
    "old_summary": ("summary.json", "scored.jsonl"),
    "integrated": ("summary.json", "scored.jsonl"),
    "summary_vocab": ("summary_vocab.json", "rescored.jsonl"),
}


def gold_rows(count: int = 12) -> list[Row]:
    labels = [["yes"], ["Finding One", "Finding Two"], ["7"], ["Finding Two", "Ward", "Finding One"]]
    return [
        {
            "qid": f"ehrxqa_test_{number}",
            "task": f"ehrxqa_{'table' if number % 3 else 'image'}",
            "subject_id": number // 2,
            "label": [{"name": name} for name in labels[number % 4]],
        }
        for number in range(count)
    ]


def results(golds: Sequence[Row], seed: int = 1) -> list[Row]:
    """One row a question, drawn; some incomplete, one failed without label."""
    generator = random.Random(seed)
    choices = ["yes", "No", "7", "first thing", "SECOND ", "finding  one", "Finding Two", "ward", "nothing"]
    rows = []
    for gold in golds:
        answers = generator.sample(choices, generator.randint(1, 3))
        rows.append(answered(gold["qid"], *answers, task=gold["task"], label=gold["label"]))
    rows[3] |= {"messages": [], "status": "incomplete", "stop_reason": "no_final_answer"}
    rows[4] |= {"messages": finish('{"response": null}')}
    rows[5] = failed(golds[5]["qid"], task=golds[5]["task"])
    return rows


def score(rows: Iterable[Row], form: str) -> list[Row]:
    found = [plain_row(row, form, verdict=row["qid"][-1] in "0248") for row in rows]
    return [row for row in found if row is not None]


def mm_tree(root: Path, *models: str) -> Tree:
    tree = Tree(root)
    tree.lines("gold/mm_bench.jsonl", gold_rows())
    for number, model in enumerate(models or ("glm_4_7",)):
        tree.lines(f"{FULL}/{model}/results.jsonl", results(gold_rows(), number))
    return tree


def write_scores(tree: Tree, folder: str, rows: Sequence[Row], form: str = "old_summary", **changed: Any) -> list[Row]:
    """The summary and the row file of a form, made from results rows; `changed` figures replace what is right."""
    scored = score(rows, form)
    summary, beside = FILES[form]
    tree.json(f"{folder}/{summary}", plain_summary(scored, form) | changed)
    tree.lines(f"{folder}/{beside}", scored)
    return scored


def only(called: Called) -> Row:
    """The only summary of the only run that has one."""
    (found,) = [summary for run in called.runs.values() for summary in run["summaries"]]
    return found


def homes(called: Called) -> dict[str, str]:
    """Path of each summary -> path of its run."""
    return {summary["path"]: path for path, run in called.runs.items() for summary in run["summaries"]}
