"""LiveClin through the commands: the public evaluator's summaries, and which gold and repeat a results file belongs to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.trees import SHARED, Row, Tree, ingest, live_case, live_results, scores, tables

CONFORMANCE = SHARED / "conformance" / "liveclin"
needs_shared = pytest.mark.usefixtures("shared")
pytestmark = pytest.mark.django_db

# The blocks of a summary: its key -> our dimension and variant.
BLOCKS = {
    "by_rarity": ("rarity", ""),
    "by_chapter": ("icd_chapter", ""),
    "by_stage": ("stage", ""),
    "by_position": ("position", ""),
    "by_image_modality": ("image_modality", "per_figure"),
    "by_table_modality": ("table_modality", "per_figure"),
}
# A figure of a block: metric -> its denominator and its count of hits.
FIGURES = {
    "case_accuracy": ("cases", "correct_cases"),
    "question_accuracy": ("mcqs", "correct_mcqs"),
    "error_rate": ("mcqs", "errors"),
}


def figures_of(summary: Row) -> dict[tuple[str, str, str, str], tuple[float, int, int]]:
    """(metric, variant, dimension, facet) -> (value as printed, denominator, hits) of every figure in a summary."""
    blocks = {("overall", "", ""): {name.removeprefix("total_"): value for name, value in summary.items()}}
    for key, (dimension, variant) in BLOCKS.items():
        blocks |= {(dimension, variant, facet): block for facet, block in summary[key].items()}
    names = [cluster for inside in summary["by_subcategory"].values() for cluster in inside]
    for chapter, inside in summary["by_subcategory"].items():
        for cluster, block in inside.items():
            shared = names.count(cluster) > 1
            blocks["disease_cluster", "", f"{chapter} / {cluster}" if shared else cluster] = block
    return {
        (metric, variant, dimension, facet): (block[metric], block[total], block[hits])
        for (dimension, variant, facet), block in blocks.items()
        for metric, (total, hits) in FIGURES.items()
        if metric in block
    }


@needs_shared
def test_every_count_and_accuracy_of_the_official_summaries() -> None:
    """The whole conformance folder as ROOT: the dataset lies in it."""
    result = ingest(CONFORMANCE)
    assert result.code == 0, result.document["findings"]
    found = scores("--benchmark", "liveclin")
    assert len(result.runs) == len(found) == 4
    compared = 0
    for path, run in result.runs.items():
        document = json.loads((CONFORMANCE / path).read_text("utf-8"))
        assert (run["model"], run["release"]) == (document["meta"]["model"], document["meta"]["dataset"])
        assert (run["split"], run["mode"], run["repeats"], run["rankable"]) == ("full", "chat", [1], True)
        assert (run["rows"], run["expected_items"], run["missing"], run["extra"]) == (279, 279, 0, 0)
        assert [(s["path"], s["form"], s["agrees"]) for s in run["summaries"]] == [(path, "liveclin", True)]
        ours = found[run["model"]]
        for (metric, variant, dimension, facet), (value, total, hits) in figures_of(document["summary"]).items():
            row = ours[1, metric, variant, dimension, facet]
            assert (round(row["value"], 4), row["n"]) == (value, total), (path, metric, dimension, facet)
            assert row["value"] * row["n"] == pytest.approx(hits, abs=1e-9)
            compared += 1
    assert compared == 388


@needs_shared
def test_scores_come_from_the_responses_and_not_from_the_stored_letters(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    source = sorted(CONFORMANCE.glob("results/*.json"))[0]
    document = json.loads(source.read_text("utf-8"))
    wanted = document["summary"]["question_accuracy"]
    for case in document["cases"]:
        for question in case["mcqs"]:
            question |= {"extracted_answer": "Z", "is_correct": not question["is_correct"]}
    tree.json("a.json", document)
    ingest(tree, "--gold", CONFORMANCE / "dataset.jsonl")
    (ours,) = scores().values()
    assert round(ours[1, "question_accuracy", "", "overall", ""]["value"], 4) == wanted


@needs_shared
def test_a_second_ingest_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "liveclin"
    shutil.copytree(CONFORMANCE, root)
    first = ingest(root)
    before = tables()
    again = ingest(root)
    assert {run["state"] for run in again.runs.values()} == {"unchanged"}
    assert (again.document["rows_read"], again.document["rows_loaded"]) == (0, 0)
    assert tables() == before
    assert [{**run, "state": "new"} for run in again.document["runs"]] == first.document["runs"]


# --- invented: two cases of three questions ---------------------------------------------------------------------------

CASES = {"PMC1": "ABC", "PMC2": "DEF"}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "live")
    tree.lines("dataset.jsonl", [live_case(case, golds) for case, golds in CASES.items()])
    return tree


def whole(ours: dict[Any, Row], metric: str, variant: str = "", repeat: int | None = 1) -> tuple[float, int]:
    row = ours[repeat, metric, variant, "overall", ""]
    return row["value"], row["n"]


def test_hand_counted_figures(tree: Tree) -> None:
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC", "PMC2": "DE-"}))
    result = ingest(tree)
    assert result.code == 0
    (run,) = result.runs.values()
    assert (run["benchmark"], run["model"], run["model_known"]) == ("liveclin", "aster", False)
    ours = scores()["aster"]
    assert whole(ours, "case_accuracy") == (0.5, 2)
    assert whole(ours, "question_accuracy") == (pytest.approx(5 / 6), 6)
    assert ours[1, "question_accuracy", "", "overall", ""]["n_answered"] == 5


def test_the_repeat_stands_in_the_name_of_the_file(tree: Tree) -> None:
    tree.json("aster_2025_H1.json", live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"}))
    tree.json("aster_2025_H1_run2.json", live_results("aster", {"PMC1": "ABC", "PMC2": "AAA"}))
    result = ingest(tree)
    assert {path: run["repeats"] for path, run in result.runs.items()} == {
        "aster_2025_H1.json": [1],
        "aster_2025_H1_run2.json": [2],
    }
    assert {run["state"] for run in result.runs.values()} == {"new"}
    ours = scores()["aster"]
    assert whole(ours, "case_accuracy", repeat=1) == (1.0, 2)
    assert whole(ours, "case_accuracy", repeat=2) == (0.5, 2)


def test_an_interrupted_run_has_both_readings(tree: Tree) -> None:
    tree.json("aster.json", live_results("aster", {"PMC1": "ABA"}))
    result = ingest(tree)
    (run,) = result.runs.values()
    assert (run["missing"], run["unique_items"], run["summaries"]) == (3, 3, [])
    ours = scores()["aster"]
    assert whole(ours, "question_accuracy") == (pytest.approx(2 / 6), 6)
    assert whole(ours, "question_accuracy", "done_only") == (pytest.approx(2 / 3), 3)


def test_a_summary_that_does_not_fit_its_rows_is_stale(tree: Tree) -> None:
    document = live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"})
    tree.json("aster.json", document | {"summary": {"case_accuracy": 0.5, "question_accuracy": 1.0}})
    result = ingest(tree)
    (run,) = result.runs.values()
    assert [(s["agrees"], s["largest_difference"]) for s in run["summaries"]] == [(False, 0.5)]
    (finding,) = result.findings("stale_summary")
    assert (finding["path"], finding["severity"]) == ("aster.json", "warning")
    assert "case_accuracy" in finding["message"]


def test_the_release_is_the_one_in_the_file_unless_it_is_stated(tree: Tree) -> None:
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC"}, dataset="2024_H2"))
    assert next(iter(ingest(tree, "--dry-run").runs.values()))["release"] == "2024_H2"
    result = ingest(tree, "--release", "mine")
    (run,) = result.runs.values()
    assert run["release"] == "mine"
    assert {row["release"] for row in scores()["aster"].values()} == {"mine"}


def test_gold_belongs_to_the_release_whose_results_match_its_ids(tree: Tree) -> None:
    """Two releases in one folder: each dataset file is told by the ids of the results, whatever its name."""
    tree.lines("zz.jsonl", [live_case("PMC7", "AA"), live_case("PMC8", "BB")])
    tree.json("old.json", live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"}, dataset="2025_H1"))
    tree.json("new.json", live_results("aster", {"PMC7": "AA", "PMC8": "BA"}, dataset="2025_H2"))
    result = ingest(tree)
    assert result.code == 0
    assert {run["release"]: run["expected_items"] for run in result.runs.values()} == {"2025_H1": 6, "2025_H2": 4}
    assert {run["extra"] for run in result.runs.values()} == {0}


def test_a_dataset_that_changes_under_the_same_name_is_an_error(tree: Tree) -> None:
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"}))
    ingest(tree)
    before = scores()
    tree.lines("dataset.jsonl", [live_case("PMC1", "ABC"), live_case("PMC2", "DEA")])
    result = ingest(tree)
    (finding,) = result.findings("gold_differs")
    assert finding["path"] == "dataset.jsonl" and result.not_runs == {"aster.json": "no_gold"}
    assert (result.code, scores()) == (1, before)
    tree.lines("dataset.jsonl", [live_case("PMC9", "ABC")])  # of another release altogether
    result = ingest(tree)
    assert (result.code, result.runs["aster.json"]["state"]) == (0, "unchanged")


def test_gold_of_a_stated_release_serves_that_release_only(tree: Tree) -> None:
    (tree.root / "dataset.jsonl").rename(tree.root.parent / "gold.jsonl")
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC"}))
    gold = tree.root.parent / "gold.jsonl"
    wrong = ingest(tree, "--gold", f"2025_H2={gold}")
    assert (wrong.code, wrong.not_runs) == (1, {"aster.json": "no_gold"})
    right = ingest(tree, "--gold", f"2025_H1={gold}")
    assert right.runs["aster.json"]["expected_items"] == 6


def test_without_gold_nothing_is_loaded(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "live")
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC"}))
    result = ingest(tree)
    assert (result.code, result.document["runs"], result.not_runs) == (1, [], {"aster.json": "no_gold"})
    (finding,) = result.findings("gold_missing")
    assert finding["severity"] == "error" and "--gold" in finding["message"]
    assert tables()["evaluation.Run"] == []


def test_two_files_that_claim_one_repeat_are_undecided_and_neither_is_loaded(tree: Tree) -> None:
    for name in ("a.json", "b.json"):
        tree.json(name, live_results("aster", {"PMC1": "ABC"}, started_at=name))
    tree.json("c.json", live_results("borea", {"PMC1": "ABC"}))
    result = ingest(tree)
    assert result.code == 1
    assert result.not_runs == {"a.json": "undecided", "b.json": "undecided"}
    assert [(f["path"], f["severity"]) for f in result.findings("undecided")] == [
        ("a.json", "error"),
        ("b.json", "error"),
    ]
    assert result.runs.keys() == {"c.json"}


def test_the_configuration_says_which_of_two_files_wins(tree: Tree) -> None:
    for name in ("a.json", "b.json"):
        tree.json(name, live_results("aster", {"PMC1": "ABC"}, started_at=name))
    tree.text("clinboard.yaml", "wins:\n  - {path: b.json, why: the complete one}\n")
    result = ingest(tree)
    assert (result.code, result.runs.keys()) == (0, {"b.json"})
    assert result.not_runs.keys() == {"a.json"}


def test_a_changed_file_replaces_its_run(tree: Tree) -> None:
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC"}))
    first = ingest(tree).runs["aster.json"]
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"}))
    second = ingest(tree).runs["aster.json"]
    assert (first["state"], second["state"]) == ("new", "replaced") and first["id"] != second["id"]
    assert {row["run"] for row in scores()["aster"].values()} == {second["id"]}


def test_a_question_that_cannot_be_read_costs_itself(tree: Tree) -> None:
    document = live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"})
    document["cases"][0]["mcqs"][1]["mcq_index"] = "one"
    document["cases"][1] = {"case_id": 7, "mcqs": []}
    document["cases"].append("nonsense")
    tree.json("aster.json", document)
    result = ingest(tree)
    (run,) = result.runs.values()
    assert (run["rows"], run["malformed"]) == (2, 3)
    messages = [finding["message"] for finding in result.findings("bad_row")]
    assert [message.partition(":")[0] for message in messages] == ["/cases/0/mcqs/1", "/cases/1", "/cases/2"]
    assert "mcq_index" in messages[0] and "7" in messages[1]
    assert result.code == 1


@pytest.mark.parametrize("field", ["cases", "mcqs"])
@pytest.mark.parametrize("value", [{}, "text", 3, None])
def test_a_list_that_is_none_is_told(tree: Tree, field: str, value: Any) -> None:
    document = live_results("aster", {"PMC1": "ABC", "PMC2": "DEF"})
    place = document if field == "cases" else document["cases"][0]
    place[field] = value
    tree.json("aster.json", document)
    result = ingest(tree)
    assert result.code == 1
    (finding,) = result.findings("bad_row")
    assert finding["path"] == "aster.json"
    assert field in finding["message"] and repr(value) in finding["message"]
    # without any row it is no run; without one case it is a partial one
    assert result.not_runs == ({"aster.json": "unknown_form"} if field == "cases" else {})


def test_api_base_is_nowhere_in_the_tables(tree: Tree) -> None:
    """It may be an internal address."""
    tree.json("aster.json", live_results("aster", {"PMC1": "ABC"}, api_base="http://10.9.8.7:1/v1", image_mode="url"))
    ingest(tree)
    assert "10.9.8.7" not in repr(tables())
    assert "'image_mode': 'url'" in repr(tables()["evaluation.Run"])
