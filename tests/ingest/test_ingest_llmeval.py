"""LLMEval-Med through the commands: the public aggregator's figures, judging runs, and a dataset that comes late."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from evaluation.models import Evaluation, Run
from tests.ingest.trees import SHARED, Called, Row, Tree, ingest, med_document, scores, tables

CONFORMANCE = SHARED / "conformance" / "llmeval_med"
needs_shared = pytest.mark.usefixtures("shared")


def assert_official(ours: dict, repeat: int | None, expected: Row) -> None:
    """Every figure of an `expected_*.json`: percent with two decimals."""
    blocks = {("category", code): block for code, block in expected["per_category"].items()}
    blocks["overall", ""] = {**expected["overall"], "usability_rate": expected["overall"]["OP"]}
    for (dimension, facet), block in blocks.items():
        row = ours[repeat, "usability_rate", "", dimension, facet]
        assert (round(row["value"] * 100, 2), row["n"]) == (block["usability_rate"], block["n_questions"])
        assert row["value"] * row["n"] == pytest.approx(block["n_usable"], abs=1e-9)
    rates = [block["n_usable"] / block["n_questions"] for block in expected["per_category"].values()]
    plain_mean = ours[repeat, "usability_rate", "mean_of_categories", "overall", ""]
    assert plain_mean["value"] == pytest.approx(sum(rates) / 5, abs=1e-12)


@pytest.fixture(scope="module")
def official(shared: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Called]:
    """The whole conformance folder as ROOT, once: the dataset lies in it, and so do aggregates that are no runs."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield ingest(CONFORMANCE)
        transaction.set_rollback(True)


@needs_shared
def test_the_public_aggregator_is_reproduced(official: Called) -> None:
    result = official
    assert result.code == 0, result.document["findings"]
    assert {path: (run["model"], run["repeats"]) for path, run in result.runs.items()} == {
        f"synthetic-llm-{model}/run{number}_score.json": (f"synthetic-llm-{model}", [number])
        for model in (1, 2)
        for number in (1, 2, 3)
    }
    assert len({run["id"] for run in result.runs.values()}) == 2
    for run in result.runs.values():
        assert (run["benchmark"], run["release"], run["split"], run["mode"]) == ("llmeval-med", "2025", "full", "chat")
        assert (run["expected_items"], run["rankable"], run["state"]) == (667, True, "new")
    found = scores("--benchmark", "llmeval-med")
    for model, ours in found.items():
        assert {key[0] for key in ours} == {1, 2, 3, None}
        for name, repeat in (("expected_run1.json", 1), ("expected_mean_of_3.json", None)):
            assert_official(ours, repeat, json.loads((CONFORMANCE / model / name).read_text("utf-8")))


@needs_shared
def test_counts_are_those_of_each_file(official: Called) -> None:
    for path, run in official.runs.items():
        document = json.loads((CONFORMANCE / path).read_text("utf-8"))
        keys = {
            (name, str(question["groupCode"]), str(question["round"]))
            for name, listed in document.items()
            for question in listed
        }
        rows = sum(map(len, document.values()))
        assert (run["rows"], run["parsed"], run["unique_items"], run["missing"]) == (
            rows,
            rows,
            len(keys),
            667 - len(keys),
        )


@needs_shared
def test_a_second_ingest_changes_nothing(official: Called) -> None:
    before = tables()
    again = ingest(CONFORMANCE)
    assert [{**run, "state": "new"} for run in again.document["runs"]] == official.document["runs"]
    assert {run["state"] for run in again.runs.values()} == {"unchanged"}
    assert tables() == before


# --- invented: three questions, two of them one conversation ----------------------------------------------------------


@pytest.fixture
def tree(db: None, tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "med")
    tree.json("aster/run1_score.json", med_document({(1, 1): "5", (1, 2): 3, (2, 1): "4"}))
    tree.json("aster/run2_score.json", med_document({(1, 1): 4, (1, 2): -1, (2, 1): "3"}))
    return tree


def rate(repeat: int | None, model: str = "aster") -> tuple[float, int]:
    row = scores()[model][repeat, "usability_rate", "", "overall", ""]
    return row["value"], row["n"]


def test_hand_counted_rates(tree: Tree) -> None:
    tree.json("dataset.json", med_document())
    result = ingest(tree)
    assert result.code == 0
    assert rate(1) == (pytest.approx(2 / 3), 3)
    assert rate(2) == (pytest.approx(1 / 3), 3)
    assert rate(None) == (pytest.approx(1 / 3), 3)  # means 4.5, 3 and 3.5


def test_without_the_dataset_it_is_loaded_and_not_rankable(tree: Tree) -> None:
    result = ingest(tree)
    assert result.code == 0
    (finding,) = result.findings("gold_missing")
    assert finding["severity"] == "warning" and "--gold" in finding["message"]
    assert {run["rankable"] for run in result.runs.values()} == {False}
    assert result.document["rows_loaded"] == 6
    assert rate(1) == (pytest.approx(2 / 3), 3)


def test_the_same_without_the_dataset_changes_nothing(tree: Tree) -> None:
    first, before = ingest(tree), tables()
    again = ingest(tree)
    assert {run["state"] for run in again.runs.values()} == {"unchanged"}
    assert again.document["findings"] == first.document["findings"]
    assert tables() == before


@pytest.mark.parametrize("models", [["aster"], ["aster", "borea", "cirrus"]])
def test_a_dataset_that_comes_later_scores_and_ranks_every_run(tree: Tree, models: list[str]) -> None:
    for model in models[1:]:
        shutil.copytree(tree.root / "aster", tree.root / model)
    ingest(tree, "--visibility", "public")
    # a fourth question that no scored file holds, and other reference answers
    tree.json("dataset.json", med_document({(1, 1): None, (1, 2): None, (2, 1): None, (9, 1): None}))
    dataset = json.loads((tree.root / "dataset.json").read_text("utf-8"))
    for question in dataset["医疗知识"]:
        del question["model_answer"], question["model_answer_score"]
    tree.json("dataset.json", dataset)
    result = ingest(tree)
    assert result.code == 0
    assert {run["rankable"] for run in result.runs.values()} == {True}
    assert {run["expected_items"] for run in result.runs.values()} == {4}
    assert {run["missing"] for run in result.runs.values()} == {1}
    assert not result.findings("gold_missing")
    for model in models:
        assert rate(1, model) == (pytest.approx(2 / 3), 3)  # the denominator is the questions seen: the named exception
    assert set(Run.objects.values_list("visibility", flat=True)) == {"public"}
    before = tables()
    again = ingest(tree)
    assert {run["state"] for run in again.runs.values()} == {"unchanged"}
    assert tables() == before


def test_a_dataset_that_is_taken_away_leaves_what_is_loaded(tree: Tree) -> None:
    tree.json("dataset.json", med_document())
    ingest(tree)
    (tree.root / "dataset.json").unlink()
    result = ingest(tree)
    assert {run["state"] for run in result.runs.values()} == {"unchanged"}
    assert {run["rankable"] for run in result.runs.values()} == {True}


def test_a_new_model_without_the_dataset_joins_what_is_loaded(tree: Tree) -> None:
    tree.json("dataset.json", med_document())
    ingest(tree)
    (tree.root / "dataset.json").unlink()
    tree.json("borea/run1_score.json", med_document({(1, 1): "5", (1, 2): "5", (2, 1): "5"}))
    result = ingest(tree)
    assert (result.runs["borea/run1_score.json"]["rankable"], result.findings("gold_missing")) == (True, [])
    assert rate(1, "borea") == (1.0, 3)


def test_a_further_judging_run_replaces_the_run(tree: Tree) -> None:
    tree.json("dataset.json", med_document())
    before = ingest(tree).runs["aster/run1_score.json"]["id"]
    tree.json("aster/run3_score.json", med_document({(1, 1): 5, (1, 2): 5, (2, 1): 5}))
    result = ingest(tree)
    assert {run["state"] for run in result.runs.values()} == {"replaced"}
    assert {key[0] for key in scores()["aster"]} == {1, 2, 3, None}
    assert Run.objects.get(key=before).state == "superseded"


def test_one_file_without_a_number_is_run_1(db: None, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "med")
    tree.json("dataset.json", med_document())
    tree.json("aster/score.json", med_document({(1, 1): 5}))
    result = ingest(tree)
    assert result.runs["aster/score.json"]["repeats"] == [1]
    assert {key[0] for key in scores()["aster"]} == {1}


def test_files_in_the_root_itself_belong_to_a_model_of_its_name(db: None, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "aster")
    tree.json("run1_score.json", med_document({(1, 1): 5}))
    assert ingest(tree).runs["run1_score.json"]["model"] == "aster"


def undecided(result: Called) -> set[str]:
    assert {finding["severity"] for finding in result.findings("undecided")} == {"error"}
    return {path for path, reason in result.not_runs.items() if reason == "undecided"}


def test_two_files_for_one_judging_run_are_undecided(tree: Tree) -> None:
    tree.json("aster/run1_score_old.json", med_document({(1, 1): 1}))
    result = ingest(tree)
    assert (result.code, result.document["runs"]) == (1, [])
    # nothing is loaded for the model: a judging run of it is not decided
    assert undecided(result) == {f"aster/{n}" for n in ("run1_score.json", "run1_score_old.json", "run2_score.json")}


def test_one_model_in_two_folders_is_undecided(tree: Tree) -> None:
    tree.json("other/aster/run3_score.json", med_document({(1, 1): 1}))
    assert undecided(ingest(tree)) == {
        f"{d}/run{n}_score.json" for d, n in (("aster", 1), ("aster", 2), ("other/aster", 3))
    }


@pytest.mark.parametrize("name", ["run0_score.json", "run99999999999999999999_score.json"])
def test_a_number_that_no_judging_run_has_is_undecided_and_stops_nothing(tree: Tree, name: str) -> None:
    tree.json("dataset.json", med_document())
    tree.json(f"borea/{name}", med_document({(1, 1): 1}))
    result = ingest(tree)
    assert undecided(result) == {f"borea/{name}"}
    assert {run["model"] for run in result.runs.values()} == {"aster"}


def test_answers_without_scores_are_no_run(db: None, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "med")
    document = med_document({(1, 1): None})
    del document["医疗知识"][0]["model_answer_score"]
    tree.json("aster/answers.json", document)
    result = ingest(tree)
    assert result.not_runs == {"aster/answers.json": "unknown_form"}
    assert "without scores" in result.findings("unknown_form")[0]["message"]


def test_questions_that_cannot_be_told_apart_cost_themselves(tree: Tree) -> None:
    tree.json("dataset.json", med_document())
    document = med_document({(1, 1): 5, (1, 2): 5, (2, 1): 5})
    del document["医疗知识"][1]["round"]
    document["unheard of"] = []
    tree.json("aster/run1_score.json", document)
    result = ingest(tree)
    run = result.runs["aster/run1_score.json"]
    assert (run["rows"], run["malformed"], result.code) == (2, 2, 1)
    assert {finding["path"] for finding in result.findings("bad_row")} == {"aster/run1_score.json"}


@pytest.mark.django_db
def test_the_judge_belongs_to_the_evaluation(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for model in ("Aster", "Boreal"):
        tree.json(f"{model}/run1_score.json", med_document({(1, 1): 4}))
    tree.text("clinboard.yaml", "runs: [{path: 'Aster/**', judge: Invented Judge 2}]\n")
    ingest(tree)
    told = {one.run.model_name: one.instruments for one in Evaluation.objects.select_related("run")}
    assert told == {"Aster": {"judge": "Invented Judge 2"}, "Boreal": {"judge": "not stated"}}
