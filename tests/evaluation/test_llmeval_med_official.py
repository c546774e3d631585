"""LLMEval-Med's evaluator against the values that the public aggregator gives, and its dataset file."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from evaluation.protocols.base import Outcome
from evaluation.protocols.llmeval_med import ScoredRow, items
from tests.evaluation.llmeval_med_invented import evaluate, pick, row

SHARED = Path(os.environ.get("CLINBOARD_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CONFORMANCE = SHARED / "conformance" / "llmeval_med"
needs_shared = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the shared folder is not there")


def official_rows(folder: Path, repeats: list[int]) -> list[ScoredRow]:
    """The scored files, read as plainly as can be: independent of the reader."""
    rows = []
    for repeat in repeats:
        document = json.loads((folder / f"run{repeat}_score.json").read_text(encoding="utf-8"))
        for category, listed in document.items():
            for each in listed:
                rows.append(row(category, each["groupCode"], each["round"], each["model_answer_score"], repeat))
    return rows


@needs_shared
@pytest.mark.parametrize("model", ["synthetic-llm-1", "synthetic-llm-2"])
@pytest.mark.parametrize(
    ("repeats", "scope", "expected"), [([1], 1, "expected_run1.json"), ([1, 2, 3], None, "expected_mean_of_3.json")]
)
def test_the_public_aggregator_is_reproduced(model: str, repeats: list[int], scope: int | None, expected: str) -> None:
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    official = json.loads((CONFORMANCE / model / expected).read_text(encoding="utf-8"))
    result = evaluate(dataset, official_rows(CONFORMANCE / model, repeats))

    for code, figures in official["per_category"].items():
        found = pick(result, "usability_rate", code, repeat=scope)
        assert found.n == figures["n_questions"]
        assert round(found.value * found.n) == figures["n_usable"]
        assert round(found.value * 100, 2) == figures["usability_rate"]
    overall = pick(result, "usability_rate", repeat=scope)
    assert overall.n == official["overall"]["n_questions"]
    assert round(overall.value * overall.n) == official["overall"]["n_usable"]
    assert round(overall.value * 100, 2) == official["overall"]["OP"]
    outcomes = Counter(result.vectors[scope or 0, "outcome"].tolist())
    assert outcomes[Outcome.RIGHT] == official["overall"]["n_usable"]
    assert result.notes == []


@needs_shared
def test_one_of_several_runs_has_the_figures_it_has_alone() -> None:
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    alone = evaluate(dataset, official_rows(CONFORMANCE / "synthetic-llm-1", [2]))
    among = evaluate(dataset, official_rows(CONFORMANCE / "synthetic-llm-1", [1, 2]))
    assert [each for each in among.aggregates if each.repeat == 2] == alone.aggregates


@needs_shared
def test_dataset_file_gives_667_items() -> None:
    document = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    found = items(document)
    assert Counter(dict(item.facets)["category"] for item in found) == {
        "MK": 141,
        "MR": 102,
        "MLU": 213,
        "MSE": 109,
        "MTG": 102,
    }
    assert len({item.key for item in found}) == 667
    json.dumps([item.gold for item in found], allow_nan=False)
    assert sum(item.gold is None for item in found) == 24
    assert [item.gold for item in found if isinstance(item.gold, int)] != []


@needs_shared
def test_scored_files_together_give_the_keys_of_the_dataset() -> None:
    folder = CONFORMANCE / "synthetic-llm-1"
    runs = [json.loads((folder / f"run{n}_score.json").read_text(encoding="utf-8")) for n in (1, 2, 3)]
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    assert {item.key for item in items(*runs)} == {item.key for item in items(dataset)}
