"""Scoring again: a new evaluation beside the old one, from the very bytes that were read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, ItemScore, Run, Score, Vector
from ingest.rescore import CannotRescore, rescore
from tests.conftest import People
from tests.ingest.trees import Tree, answered, called, ingest, run_path, small_tree

pytestmark = pytest.mark.django_db

COLUMNS = ("repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered", "ci_low", "ci_high")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A run with two repeats, a twin, a row off gold and two rows that stand glued on one line."""
    tree = small_tree(tmp_path)
    rows = [answered("q1", "alpha"), answered("q1", "beta"), answered("off", "x"), answered("q2", "delta", run_index=2)]
    glued = json.dumps(answered("q2", "gamma")) + json.dumps(answered("q3", "yes"))
    (tree.root / run_path("glm_4_7")).write_text("".join(json.dumps(row) + "\n" for row in rows) + glued + "\n")
    ingest(tree, "--gold", tree.root / "gold")
    return tree


@pytest.fixture
def newer_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator of EHR-Bench as a later version of the code would have it."""
    evaluator = BENCHMARKS["ehr-bench"].evaluator
    monkeypatch.setattr(evaluator, "description", "Other words, so another fingerprint.")


def facts(evaluation: Evaluation) -> dict[str, list]:
    """All that an evaluation says."""
    return {
        "scores": sorted(map(repr, Score.objects.filter(evaluation=evaluation).values_list(*COLUMNS))),
        "verdicts": list(
            ItemScore.objects.filter(evaluation=evaluation)
            .order_by("ordinal")
            .values_list("ordinal", "outcome", "value", "rule", "prediction")
        ),
        "vectors": sorted(
            (repeat, name, bytes(data))
            for repeat, name, data in Vector.objects.filter(evaluation=evaluation).values_list("repeat", "name", "data")
        ),
    }


def test_nothing_is_due_after_an_ingest(tree: Tree) -> None:
    told = called("rescore")
    assert (told.code, told.out) == (0, "Nothing is due.\n")
    assert Evaluation.objects.count() == 1


def test_newer_rules_make_a_new_evaluation_beside_the_old(tree: Tree, newer_rules: None) -> None:
    told = called("rescore")
    assert told.code == 0 and "1 evaluations made" in told.out
    old, new = Evaluation.objects.order_by("pk")
    assert (old.current, new.current) == (False, True)
    assert old.evaluator.fingerprint != new.evaluator.fingerprint
    assert len(facts(old)["verdicts"]) == 6  # four rows and two that were saved
    assert facts(new) == facts(old)
    assert called("rescore").out == "Nothing is due.\n"


def test_it_is_repeated_on_request_alone(tree: Tree) -> None:
    assert "clinseek-text-2026, f1" in called("rescore", "--evaluator", "clinseek-text-2026").out
    assert "(as before)" in called("rescore", "--all").out
    assert Evaluation.objects.count() == 3
    assert Evaluation.objects.get(current=True) == Evaluation.objects.latest("pk")


def test_a_file_that_changed_is_not_scored(tree: Tree, newer_rules: None) -> None:
    with (tree.root / run_path("glm_4_7")).open("a") as file:
        file.write("\n")
    told = called("rescore")
    assert told.code == 1
    assert "holds other bytes than were read: ingest its tree again" in told.err
    assert Evaluation.objects.count() == 1


def test_a_file_that_is_gone_is_said_so(tree: Tree, newer_rules: None) -> None:
    (tree.root / run_path("glm_4_7")).unlink()
    with pytest.raises(CannotRescore, match=r"results\.jsonl is not on this machine"):
        rescore(Run.objects.get())
    assert Evaluation.objects.get().current


def test_wrong_names_are_refused(tree: Tree) -> None:
    for arguments, said in ((("--run", "nobody"), "no such run"), (("--evaluator", "best"), "no such evaluator")):
        with pytest.raises(CommandError, match=said) as refused:
            called("rescore", *arguments)
        assert refused.value.returncode == 2


def test_staff_score_chosen_runs_again_in_the_admin(tree: Tree, people: People) -> None:
    client = Client()
    people.staff.is_superuser = True
    people.staff.save()
    client.force_login(people.staff)
    run = Run.objects.get()
    sent = {"action": "score_again", "_selected_action": [run.pk]}
    page = client.post(reverse("admin:evaluation_run_changelist"), sent, follow=True)
    assert f"{run.key}" in page.content.decode() and "scored again by clinseek-text-2026" in page.content.decode()
    assert run.evaluations.count() == 2
