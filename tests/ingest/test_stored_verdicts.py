"""Stored verdicts as an evaluation: made, kept, made anew and taken away with the scored rows; shown beside the strict one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Run
from leaderboard.beside import published_beside
from leaderboard.models import Board, ReportedScore
from tests.ingest.mm_scorer import FULL, SCORED, gold_rows, mm_tree, results, write_scores
from tests.ingest.trees import called, ingest

NAME = "clinseek-mm-stored-2026"
FACETS = ("phenotype_ccs", "overall_multimodal_989")
FOLDER = f"{SCORED}/glm_4_7"


def kept() -> list[Evaluation]:
    return list(Evaluation.objects.filter(evaluator__name=NAME).order_by("pk"))


def page(address: str) -> str:
    Run.objects.update(visibility="public")
    answer = Client().get(address)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


@pytest.mark.django_db
def test_it_comes_with_the_scored_rows_stays_and_goes_with_them(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    ingest(tree)
    assert kept() == []
    scored = write_scores(tree, FOLDER, results(gold_rows(), 0))
    ingest(tree)
    (first,) = kept()
    assert first.current and first.basis["path"] == f"{FOLDER}/scored.jsonl" and first.basis["rows"] == len(scored)
    assert (first.basis["mapped"], first.basis["stale"]) == (False, [])
    assert ingest(tree).document["rows_read"] == 0 and len(kept()) == 1
    # nothing of the answers changed, so the strict evaluation is the one that was there
    strict = Evaluation.objects.get(evaluator__name="clinseek-mm-raw-2026")
    scored[0] |= {"prediction_strs": ["other"], "prediction_raw": ["other"]}
    tree.lines(f"{FOLDER}/scored.jsonl", scored)
    ingest(tree)
    old, new = kept()
    assert (old.pk, old.current, new.current, new.basis["stale"]) == (first.pk, False, True, [scored[0]["qid"]])
    assert Evaluation.objects.get(evaluator__name="clinseek-mm-raw-2026").pk == strict.pk
    shutil.rmtree(tmp_path / FOLDER)
    ingest(tree)
    assert not [evaluation for evaluation in kept() if evaluation.current]
    assert Evaluation.objects.get(evaluator__name="clinseek-mm-raw-2026").current


@pytest.mark.django_db
def test_scoring_again_counts_the_same_scored_rows_by_the_rules_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = mm_tree(tmp_path)
    scored = write_scores(tree, FOLDER, results(gold_rows(), 0))
    ingest(tree)
    stored = BENCHMARKS["mm-bench"].stored_evaluator
    assert stored is not None and called("rescore").out == "Nothing is due.\n"
    monkeypatch.setattr(type(stored), "description", "Other words, so another fingerprint.")
    assert called("rescore").code == 0
    first, new = kept()
    assert (first.current, new.current, new.basis) == (False, True, first.basis)
    assert first.evaluator.fingerprint != new.evaluator.fingerprint

    def figures(evaluation: Evaluation) -> list[tuple]:
        return sorted(evaluation.scores.values_list("metric", "variant", "dimension", "facet", "value", "n"), key=repr)

    assert figures(new) == figures(first) != []
    assert called("rescore").out == "Nothing is due.\n"
    assert "1 evaluations made" in called("rescore", "--evaluator", NAME).out and len(kept()) == 3
    tree.lines(f"{FOLDER}/scored.jsonl", scored[1:])
    told = called("rescore", "--evaluator", NAME)
    assert told.code == 1 and f"{FOLDER}/scored.jsonl holds other bytes than were read" in told.err
    (tmp_path / FOLDER / "scored.jsonl").unlink()
    assert "is not on this machine" in called("rescore", "--all").err
    assert len(kept()) == 3


@pytest.mark.django_db
def test_of_several_scored_files_the_mapped_one_stands_and_an_archived_one_last(tmp_path: Path) -> None:
    tree = mm_tree(tmp_path)
    write_scores(tree, "_archive/glm_4_7_old", results(gold_rows(), 0), "integrated")
    write_scores(tree, FOLDER, results(gold_rows(), 0))
    ingest(tree)
    assert [evaluation.basis["form"] for evaluation in kept() if evaluation.current] == ["old_summary"]
    write_scores(tree, FOLDER, results(gold_rows(), 0), "summary_vocab")
    ingest(tree)
    (now,) = [evaluation for evaluation in kept() if evaluation.current]
    assert (now.basis["form"], now.basis["mapped"]) == ("summary_vocab", True)


@pytest.mark.django_db
def test_the_pages_show_the_strict_figure_first_and_what_the_stored_one_rests_on(tmp_path: Path) -> None:
    call_command("load_published", verbosity=0)
    tree = mm_tree(tmp_path)
    scored = write_scores(tree, FOLDER, results(gold_rows(), 0))
    scored[0] |= {"prediction_strs": ["other"], "prediction_raw": ["other"]}
    tree.lines(f"{FOLDER}/scored.jsonl", scored)
    ingest(tree)
    text = page(Run.objects.get().get_absolute_url())
    strict, stored = text.index("By <code>clinseek-mm-raw-2026"), text.index(f"by <code>{NAME}")
    assert strict < text.index("Rests on stored verdicts ") < stored
    assert f"{FOLDER}/scored.jsonl" in text and "its strings as they were given" in text
    assert (
        f"1 of its questions were scored from another answer than the results file holds now: {scored[0]['qid']}."
        in text
    )
    assert "<code>clinseek-mm-vocab-2026</code> (" in text

    # published figures rest on a judge: their place is that of stored verdicts, and empty without fine tasks
    assert "Published beside recomputed" in text and "overall_multimodal_989" in text
    assert "The fine task is in no gold" in text

    text = page(reverse("how", args=["mm-bench"]))
    for name in (NAME, "clinseek-mm-vocab-2026", "clinseek-mm-summary-vocab-2026"):
        assert f'id="{name}"' in text
    assert "overall_multimodal_989" in text and "complete_only" in text

    board = Board.objects.get(split__name="full2703", mode="agentic", split__release__name="v1")
    text = page(board.get_absolute_url())
    assert "clinseek-mm-raw-2026" in text and NAME not in text.split('id="how"')[0]
    headline = Evaluation.objects.get(evaluator__name="clinseek-mm-raw-2026").scores.get(
        metric="unified_f1", variant="", dimension="overall"
    )
    assert f"{headline.value * 100:.1f}" in text
    assert "F1, 989 questions" in text and "62.6" in text  # the published figure has a column of its own


@pytest.mark.django_db
def test_with_fine_tasks_the_published_figures_have_ours_beside_them(tmp_path: Path) -> None:
    call_command("load_published", verbosity=0)
    tree = mm_tree(tmp_path)
    scored = write_scores(tree, FOLDER, results(gold_rows(), 0))
    labels = [f"{gold['qid']},fine_task,phenotype_ccs" for gold in gold_rows()[:6]]
    (tmp_path / "fine.csv").write_text("\n".join(["item,dimension,facet", *labels, ""]))
    ingest(tree, "--labels", f"mm-bench={tmp_path / 'fine.csv'}")
    by_item = {row["qid"]: row["f1"] for row in scored}
    wanted = sum(by_item.get(gold["qid"], 0.0) for gold in gold_rows()[:6]) / 6
    run = Run.objects.get()
    rows = {row.what: row for row in published_beside(run, list(run.evaluations.filter(current=True)))}
    both = [rows[f"F1, {name}"] for name in FACETS]
    assert [(row.ours, row.evaluator) for row in both] == [(f"{wanted * 100:.1f}", NAME)] * 2
    published = [ReportedScore.objects.get(model=run.model, mode="agentic", facet=f).value for f in FACETS]
    assert [row.difference.replace("−", "-") for row in both] == [f"{(wanted - one) * 100:+.1f}" for one in published]
    assert rows["F1, mortality_24h"].ours == "–" and "labels file" in rows["F1, mortality_24h"].why


@pytest.mark.django_db
def test_scores_say_why_an_evaluator_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(mm_tree(tmp_path))
    monkeypatch.setattr("evaluation.protocols.encoder.find_spec", lambda name: None)
    result = called("scores", "--json", "--benchmark", "mm-bench")
    assert result.err.count("the optional extra vocab is not installed") == 2 and result.document
    assert called("scores", "--json", "--benchmark", "ehr-bench").err == ""
    assert (tmp_path / FULL).is_dir()
