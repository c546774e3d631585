"""LiveClin's official protocol against the figures that the public evaluator wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.protocols import liveclin
from evaluation.protocols.base import ItemSpec, Outcome, Result
from evaluation.protocols.liveclin import QuestionRow
from tests.evaluation.liveclin_invented import CONFORMANCE, OFFICIAL, RESULTS, find, needs_shared, score


@pytest.fixture(scope="module")
def official_items() -> list[ItemSpec]:
    with (CONFORMANCE / "dataset.jsonl").open(encoding="utf-8") as lines:
        return liveclin.items(json.loads(line) for line in lines)


def rows_of(document: dict, cases: int | None = None) -> list[QuestionRow]:
    names = ("mcq_index", "model_response", "error", "image_types", "table_types")
    return [
        QuestionRow(case["case_id"], *(question[name] for name in names))
        for case in document["cases"][:cases]
        for question in case["mcqs"]
    ]


def assert_block(result: Result, block: dict, dimension: str, facet: str, variant: str = "") -> None:
    """Every number of one block of the official summary: counts exactly, shares as they are printed."""
    counted = [("question_accuracy", "mcqs", "correct_mcqs")]
    if "cases" in block:
        counted.append(("case_accuracy", "cases", "correct_cases"))
    if "errors" in block:
        counted.append(("error_rate", "mcqs", "errors"))
    for metric, total, hits in counted:
        found = find(result, metric, dimension, facet, variant)
        assert (found.n, found.value * found.n) == (block[total], pytest.approx(block[hits], abs=1e-9))
        assert round(found.value, 4) == block[metric]
    assert {name for names in counted for name in names} == set(block)


@needs_shared
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_figure_of_the_official_summary(path: Path, official_items: list[ItemSpec]) -> None:
    document = json.loads(path.read_text("utf-8"))
    summary = document["summary"]
    result = score(official_items, *rows_of(document))
    assert result.notes == []
    overall = {name.removeprefix("total_"): value for name, value in summary.items() if not name.startswith("by_")}
    assert_block(result, overall, "overall", "")
    blocks = {
        ("rarity", ""): summary["by_rarity"],
        ("icd_chapter", ""): summary["by_chapter"],
        ("stage", ""): summary["by_stage"],
        ("position", ""): summary["by_position"],
        ("image_modality", "per_figure"): summary["by_image_modality"],
        ("table_modality", "per_figure"): summary["by_table_modality"],
        ("disease_cluster", ""): {},
    }
    named = {pair for item in official_items for pair in item.facets}
    for chapter, clusters in summary["by_subcategory"].items():
        for cluster, block in clusters.items():
            facet = f"{chapter} / {cluster}"
            blocks["disease_cluster", ""][facet if ("disease_cluster", facet) in named else cluster] = block
    assert len(blocks) == len([name for name in summary if name.startswith("by_")])
    for (dimension, variant), by_facet in blocks.items():
        for facet, block in by_facet.items():
            assert_block(result, block, dimension, facet, variant)
        ours = {a.facet for a in result.aggregates if (a.dimension, a.variant) == (dimension, variant)}
        assert ours - {"unmapped"} == set(by_facet)


@needs_shared
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_letters_and_verdicts_of_every_official_row(path: Path, official_items: list[ItemSpec]) -> None:
    document = json.loads(path.read_text("utf-8"))
    questions = [question for case in document["cases"] for question in case["mcqs"]]
    answers = [OFFICIAL.read(each) for each in rows_of(document)]
    assert [answer.prediction for answer in answers] == [question["extracted_answer"] for question in questions]
    verdicts = OFFICIAL.evaluate(official_items, answers, "seed").verdicts
    assert [verdict.value for verdict in verdicts] == [float(question["is_correct"]) for question in questions]
    assert [verdict.outcome is Outcome.ERROR for verdict in verdicts] == [
        bool(question["error"]) for question in questions
    ]


@needs_shared
def test_an_interrupted_file_prints_done_only(official_items: list[ItemSpec]) -> None:
    document = json.loads(RESULTS[0].read_text("utf-8"))
    result = score(official_items, *rows_of(document, cases=23))
    kept = document["cases"][:23]
    questions = [question["is_correct"] for case in kept for question in case["mcqs"]]
    whole = [all(question["is_correct"] for question in case["mcqs"]) for case in kept]
    assert find(result, "question_accuracy", variant="done_only").value == sum(questions) / len(questions)
    assert find(result, "case_accuracy", variant="done_only").value == sum(whole) / 23
    assert find(result, "case_accuracy").value == sum(whole) / 60
    assert find(result, "case_accuracy").n_answered == 23 - sum(
        any(question["extracted_answer"] is None for question in case["mcqs"]) for case in kept
    )
