"""Stored summaries that are there as Markdown alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ingest.readers import mm_markdown
from ingest.summaries.comparison import numbers
from tests.ingest.mm_scorer import (
    FILES,
    FORMS,
    FULL,
    SCORED,
    gold_rows,
    mm_tree,
    only,
    plain_summary,
    results,
    score,
    write_scores,
)
from tests.ingest.trees import Row, ingest


def as_markdown(document: Row, form: str) -> str:
    """A summary in words, with 4 decimals, as section 4.5 of the format page describes it."""

    def cell(entry: Row, name: str) -> str:
        return f"{entry[f'{name}_raw']:.4f} → {entry[name]:.4f}" if f"{name}_raw" in entry else f"{entry[name]:.4f}"

    def table(title: str, entries: Row, columns: Sequence[tuple[str, str]]) -> list[str]:
        lines = [f"## {title}", "", f"| task | n | {' | '.join(head for head, _ in columns)} |", "|---|" * 2]
        for task, entry in entries.items():
            cells = [str(entry[key]) if key == "incomplete" else cell(entry, key) for _, key in columns]
            lines.append(f"| {task} | {entry['count']} | {' | '.join(cells)} |")
        return [*lines, ""]

    sets = [("precision", "precision"), ("recall", "recall"), ("F1 (raw → mapped)", "f1"), ("jaccard", "accuracy")]
    unified = "Per-task unified F1 (len=1 judge + len>=2 set metrics)"
    d = document
    if form == "summary_vocab":
        lines = ["# Vocabulary-normalized re-scoring — made up", ""]
        lines += [f"- len=1 rows unchanged (judge verdicts preserved). n={d['len1_count']}."]
        lines += [f"- len≥2 rows re-scored after vocabulary mapping. n={d['len2plus_count']}.", "", "## Headline", ""]
        lines += ["| metric | before | after | Δ |", "|---|---:|---:|---:|"]
        lines += [
            f"| {name} | 0.1000 | {d[f'len2plus_{name}']:.4f} | +1.00 pp |" for name in ("precision", "recall", "f1")
        ]
        lines += ["", *table("Per-task len≥2 after normalization", d["per_task_len2plus_vocab"], sets)]
        lines += table(unified, d["per_task_unified"], sets)
        lines += ["### Overall unified F1", "", f"- n = {d['unified_count']}", f"- F1 = **{d['unified_f1']:.4f}**"]
        lines += [f"- precision = {d['unified_precision']:.4f}", f"- recall = {d['unified_recall']:.4f}"]
        return "\n".join([*lines, f"- jaccard accuracy = {d['unified_accuracy']:.4f}", ""])
    lines = ["# Scoring summary — `results.jsonl`", "", f"- total rows: **{d['total']}**"]
    lines += [f"- incomplete (no finish): **{d['incomplete']}**"]
    judge = f"- len=1 (judge) accuracy: **{d['len1_accuracy']:.4f}** (n={d['len1_count']})"
    if form == "integrated":
        lines += ["- vocab normalization: model=`made-up`, threshold=0.55", "", judge]
        lines += [
            f"- len>=2 F1 (mapped): **{d['len2plus_f1']:.4f}** | raw: {d['len2plus_f1_raw']:.4f} | ΔF1: +14.85 pp "
            f"(n={d['len2plus_count']})"
        ]
        lines += [
            f"- **unified F1 (mapped): {d['unified_f1']:.4f}** | raw: {d['unified_f1_raw']:.4f} (n={d['unified_count']})"
        ]
    else:
        lines += ["", judge]
        lines += [
            f"- len>=2 F1: **{d['len2plus_f1']:.4f}** | P: {d['len2plus_precision']:.4f} | R: {d['len2plus_recall']:.4f} | "
            f"subset_match: {d['len2plus_subset_match']:.4f} (n={d['len2plus_count']})"
        ]
    one = [("accuracy", "accuracy"), ("incomplete", "incomplete")]
    lines += ["", *table("Per-task (len=1, judge accuracy)", d["per_task_len1"], one)]
    lines += table("Per-task (len>=2, set metrics)", d["per_task_len2plus"], [*sets, ("incomplete", "incomplete")])
    return "\n".join(lines + (table(unified, d["per_task_unified"], sets) if form == "integrated" else []))


@pytest.mark.parametrize("form", FORMS)
def test_markdown_says_what_the_json_says(form: str) -> None:
    document = plain_summary(score(results(gold_rows(40), 3), form), form)
    parsed = mm_markdown.parse(as_markdown(document, form))
    assert parsed is not None and parsed[0] == form
    theirs, whole = dict(numbers(parsed[1])), dict(numbers(document))
    assert len(theirs) > 20 and theirs.keys() <= whole.keys()
    assert theirs == pytest.approx({path: whole[path] for path in theirs}, abs=5.1e-5)


@pytest.mark.parametrize("text", ["", "# Scoring", "# Scored by hand\n\n| task | n |\n|---|---|\n| a | 1 |"])
def test_other_markdown_is_no_summary(text: str) -> None:
    assert mm_markdown.parse(text) is None


@pytest.mark.parametrize(
    "text", ["# Scoring summary\n|\n||\n| a |\n## Per-task (len=1)\n| x | n |\n| y | - |\n- total rows: **?**"]
)
def test_broken_markdown_gives_no_figures(text: str) -> None:
    parsed = mm_markdown.parse(text)
    assert parsed is not None and list(numbers(parsed[1])) == []


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_markdown_alone_is_compared_to_its_four_decimals(tmp_path: Path, form: str) -> None:
    tree = mm_tree(tmp_path)
    document = plain_summary(score(results(gold_rows(), 0), form), form)
    name = f"{SCORED}/glm_4_7/{FILES[form][0].replace('.json', '.md')}"
    tree.text(name, as_markdown(document, form))
    summary = only(ingest(tree))
    assert (summary["path"], summary["form"], summary["agrees"]) == (name, f"{form}_md_only", True)
    assert summary["largest_difference"] <= 5.1e-5
    tree.text(name, as_markdown({**document, "len1_count": 99}, form))
    assert only(ingest(tree))["agrees"] is False


@pytest.mark.django_db
def test_markdown_beside_its_json_and_other_markdown_are_left_alone(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, f"{SCORED}/glm_4_7", results(gold_rows(), 0))
    tree.text(f"{SCORED}/glm_4_7/summary.md", "# Scoring summary\n- total rows: **99**")
    tree.text(f"{FULL}/glm_4_7/summary.md", "# Notes of somebody")
    called = ingest(tree)
    assert only(called)["agrees"] is True and "summary_without_run" not in called.codes
