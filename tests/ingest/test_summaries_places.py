"""Which run a stored summary is of: by its path, by its rows, or of none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ingest.models import SourceFile, StoredSummary
from tests.ingest.mm_scorer import FULL, SCORED, gold_rows, homes, mm_tree, only, results, write_scores
from tests.ingest.trees import Tree, answered, finish, ingest, run_path, small_tree


@pytest.mark.django_db
@pytest.mark.parametrize(
    "folder",
    [
        f"{SCORED}/glm_4_7",
        f"{FULL}/glm_4_7",
        "mm_bench/agentic/scored_vocab/glm_4_7",
        "mm_bench/scored/glm_4_7",
        "scored/glm_4_7",
    ],
)
def test_a_scored_directory_is_named_after_the_results_directory(tmp_path: Path, folder: str) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    write_scores(tree, folder, results(gold_rows(), 0), "integrated")
    assert homes(ingest(tree)) == {f"{folder}/summary.json": f"{FULL}/glm_4_7/results.jsonl"}


@pytest.mark.django_db
def test_a_linked_scored_directory_is_shown_by_the_models_name(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(
        tree,
        "mm_bench/agentic/full2703/_multi_eval_raw/s/scored_vocab/glm-4-7",
        results(gold_rows(), 0),
        "summary_vocab",
    )
    tree.link(f"{SCORED}/glm_4_7", "../full2703/_multi_eval_raw/s/scored_vocab/glm-4-7")
    assert homes(ingest(tree)) == {f"{SCORED}/glm_4_7/summary_vocab.json": f"{FULL}/glm_4_7/results.jsonl"}


def two_inputs(root: Path, *, seeds: tuple[int, int] = (1, 2)) -> Tree:
    """Agentic and one-shot results of one model, whose scorer wrote both into `mm_bench/scored/glm_4_7`."""
    tree = mm_tree(root)
    for mode, seed in zip(("agentic", "oneshot"), seeds, strict=True):
        tree.lines(f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl", results(gold_rows(), seed))
    return tree


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["agentic", "oneshot"])
def test_two_inputs_in_one_directory_the_rows_say_whose_it_is(tmp_path: Path, mode: str) -> None:
    tree = two_inputs(tmp_path)
    rows = results(gold_rows(), 1 if mode == "agentic" else 2)
    write_scores(tree, "mm_bench/scored/glm_4_7", rows)
    rows[0]["messages"] = finish('{"response": ["changed since"]}')
    tree.lines(f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl", rows)
    called = ingest(tree)
    assert homes(called) == {"mm_bench/scored/glm_4_7/summary.json": f"mm_bench/{mode}/full2703/glm_4_7/results.jsonl"}
    assert "ehrxqa_test_0" in called.findings("stale_scored_rows")[0]["message"]
    again = ingest(tree)
    assert homes(again) == homes(called) and again.document["rows_read"] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("with_rows", [True, False])
def test_two_inputs_that_fit_alike_are_a_finding_and_never_a_guess(tmp_path: Path, with_rows: bool) -> None:
    tree = two_inputs(tmp_path, seeds=(1, 1))
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 1))
    if not with_rows:
        (tmp_path / "mm_bench/scored/glm_4_7/scored.jsonl").unlink()
    called = ingest(tree)
    assert homes(called) == {}
    (finding,) = called.findings("summary_without_run")
    assert finding["path"] == "mm_bench/scored/glm_4_7/summary.json"
    assert "mm_bench/agentic" in finding["message"] and "mm_bench/oneshot" in finding["message"]
    again = ingest(tree)
    assert (homes(again), again.document["rows_read"]) == ({}, 0)
    assert again.findings("summary_without_run") == called.findings("summary_without_run")


@pytest.mark.django_db
def test_an_undecided_summary_finds_its_run_when_the_other_one_changes(tmp_path: Path) -> None:
    tree = two_inputs(tmp_path, seeds=(1, 1))
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 1))
    assert homes(ingest(tree)) == {}
    tree.lines("mm_bench/oneshot/full2703/glm_4_7/results.jsonl", results(gold_rows(), 2))
    called = ingest(tree)
    # the agentic run itself is unchanged, and is read again for the sake of its summary
    assert homes(called) == {"mm_bench/scored/glm_4_7/summary.json": f"{FULL}/glm_4_7/results.jsonl"}
    assert only(called)["agrees"] is True
    assert StoredSummary.objects.count() == 1


@pytest.mark.django_db
def test_a_summary_that_no_path_names_goes_to_the_run_whose_answers_its_rows_are(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5", "minimax_m2_5")
    write_scores(tree, "somewhere/else", results(gold_rows(), 1))
    called = ingest(tree)
    assert homes(called) == {"somewhere/else/summary.json": f"{FULL}/kimi_k2_5/results.jsonl"}
    assert homes(ingest(tree)) == homes(called)


@pytest.mark.django_db
def test_one_answer_off_is_enough_where_no_path_names_the_run(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    scored = write_scores(tree, "somewhere/else", results(gold_rows(), 1))
    scored[-1]["prediction_strs"] = ["another"]
    tree.lines("somewhere/else/scored.jsonl", scored)
    called = ingest(tree)
    assert homes(called) == {}
    assert "its path names none" in called.findings("summary_without_run")[0]["message"]
    assert ingest(tree).findings("summary_without_run") == called.findings("summary_without_run")


@pytest.mark.django_db
def test_an_archived_summary_is_reported_with_its_run_and_stays_archived(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path, "glm_4_7", "kimi_k2_5")
    write_scores(tree, "_archive/mm_scored_novocab", results(gold_rows(), 0))
    write_scores(tree, "_archive/of_nobody", results(gold_rows(), 9))
    called = ingest(tree)
    path = "_archive/mm_scored_novocab/summary.json"
    assert homes(called) == {path: f"{FULL}/glm_4_7/results.jsonl"}
    assert only(called)["agrees"] is True
    assert called.not_runs[path] == "archived"
    assert SourceFile.objects.get(path=path).fate == "archived"
    assert "summary_without_run" not in called.codes
    again = ingest(tree)
    assert again.document["rows_read"] == 0 and homes(again) == homes(called)


@pytest.mark.django_db
def test_a_summary_of_another_benchmark_is_not_the_runs(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    tree.json(f"{FULL}/glm_4_7/scores.json", {"per_task": {}, "per_task_type": {}})
    called = ingest(tree)
    assert homes(called) == {} and len(called.findings("summary_without_run")) == 1


@pytest.mark.django_db
def test_nothing_is_said_of_summaries_beside_refused_results(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.lines(run_path("glm_4_7_retried"), [answered("q1", "x")])
    tree.json("ehr_bench/agentic/full1800/glm_4_7_retried/scores.json", {"per_task": {}, "per_task_type": {}})
    called = ingest(tree)
    assert called.not_runs[run_path("glm_4_7_retried")] == "retried"
    assert "summary_without_run" not in called.codes


@pytest.mark.django_db
def test_a_dry_run_of_a_new_tree_says_the_same(tmp_path: Path) -> None:
    tree = two_inputs(tmp_path)
    write_scores(tree, "mm_bench/scored/glm_4_7", results(gold_rows(), 2))
    write_scores(tree, "_archive/x", results(gold_rows(), 1), "integrated")
    dry = ingest(tree, "--dry-run")
    assert not StoredSummary.objects.exists()
    real = ingest(tree)
    assert homes(dry) == homes(real) and len(homes(real)) == 2
    assert Counter(map(str, dry.document["findings"])) == Counter(map(str, real.document["findings"]))
