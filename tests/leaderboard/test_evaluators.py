"""Two evaluators on one run: counts, the list and who sees it; boards and run pages go on showing the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Benchmark, Evaluation, Run
from evaluation.protocols.base import Outcome
from leaderboard.evaluators import Tally, current_evaluations, differences, set_beside, tally
from tests.conftest import ROLES, People
from tests.ingest.trees import Row, Tree, live_case, live_results
from tests.leaderboard.worlds import LIVE_BOARD, ehr_tree, load

OFFICIAL, OURS = (evaluator.name for evaluator in BENCHMARKS["liveclin"].evaluators)
# gold A, B; B, C; what is said, and who counts it right
SAID = {
    "PMC0": ("\\boxed{A}", "\\boxed{B}"),  # both, both
    "PMC1": ("\\boxed{A}. Corrected: \\boxed{B}", "I think A is wrong"),  # ours alone; officially A, by us nothing
    "PMC2": ("I would go with Hepatitis A", "Vitamin C"),  # officially A and C, by us nothing
}
GOLD = {"PMC0": "AB", "PMC1": "BC", "PMC2": "AC"}


def said_tree(root: Path) -> Tree:
    tree = Tree(root)
    tree.lines("dataset.jsonl", [live_case(case, gold) for case, gold in GOLD.items()])
    document: Row = live_results("alder", dict.fromkeys(GOLD, "AA"))
    for case in document["cases"]:
        for question, response in zip(case["mcqs"], SAID[case["case_id"]], strict=True):
            question["model_response"] = response
    tree.json("alder.json", document)
    return tree


@pytest.fixture
def run(tmp_path: Path, people: People) -> Run:
    (run,) = load(said_tree(tmp_path))
    return run


def client(people: People, role: str) -> Client:
    made = Client()
    if role != "anonymous":
        made.force_login(people[role])
    return made


def document(people: People, run: Run, role: str) -> dict[str, Any]:
    return client(people, role).get(f"/api/v1/runs/{run.key}/evaluators").json()


@given(st.lists(st.tuples(*[st.sampled_from(list(Outcome))] * 2)))
def test_the_tally_equals_the_plain_count(pairs: list[tuple[Outcome, Outcome]]) -> None:
    found = tally(*(np.array([pair[side] for pair in pairs], np.uint8) for side in (0, 1)))
    rights = [(one is Outcome.RIGHT, two is Outcome.RIGHT) for one, two in pairs]
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    assert found == Tally(*(rights.count(kind) for kind in kinds))
    assert found.items == len(pairs)


def test_vectors_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1 items"):
        tally(np.array([2, 2], np.uint8), np.array([2], np.uint8))


def test_both_headlines_and_the_counts(run: Run) -> None:
    (pair,) = set_beside(current_evaluations(run))
    assert (pair.first.name, pair.second.name) == (OFFICIAL, OURS)
    # officially PMC0 and PMC2 are all right; by a careful reading PMC0 alone
    assert (pair.first.value, pair.second.value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert pair.counts == Tally(both=2, only_first=2, only_second=1, neither=1)


def test_the_list_says_what_each_took_by_which_rule(run: Run) -> None:
    found = differences(run, *current_evaluations(run))
    assert [(row.item, row.way, row.first, row.second) for row in found] == [
        ("PMC2:0", "only_first", "A", None),
        ("PMC2:1", "only_first", "C", None),
        ("PMC1:0", "only_second", "A", "B"),
        ("PMC1:1", "neither", "A", None),
    ]
    third = found[2]
    assert (third.first_rule, third.second_rule, third.first_outcome, third.second_outcome) == (
        "boxed",
        "boxed",
        "wrong",
        "right",
    )
    assert found[3].second_outcome == "no answer"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("access", ["nobody", "group", "members", "public"])
def test_the_list_is_for_who_may_see_items(run: Run, people: People, role: str, access: str) -> None:
    Benchmark.objects.filter(slug="liveclin").update(item_access=access)
    allowed = {"nobody": set(), "group": {"member"}, "members": set(ROLES) - {"anonymous"}, "public": set(ROLES)}[
        access
    ]
    text = client(people, role).get(f"/runs/{run.key}/evaluators/").content.decode()
    assert ("PMC1:0" in text) == (role in allowed)
    assert "Only the first" in text
    (pair,) = document(people, run, role)["pairs"]
    assert pair["counts"] == {"items": 6, "both": 2, "only_first": 2, "only_second": 1, "neither": 1}
    assert (pair["answers"] is not None) == (pair["differing_answers"] == 4) == (role in allowed)


def test_the_run_page_shows_the_first_and_leads_to_the_second(run: Run, people: People) -> None:
    text = client(people, "anonymous").get(run.get_absolute_url()).content.decode()
    assert text.count("<h3>Overall</h3>") == 1 and f"By <code>{OFFICIAL}</code>" in text
    assert f'/runs/{run.key}/evaluators/?with={OURS}"' in text
    other = client(people, "anonymous").get(f"/runs/{run.key}/evaluators/?with={OURS}").content.decode()
    assert f"Scores by {OURS}" in other and "Still right" in other
    assert client(people, "anonymous").get(f"/runs/{run.key}/evaluators/?with=nothing").status_code == 404


def test_the_board_shows_the_first(run: Run, people: People) -> None:
    table = client(people, "anonymous").get(f"/api/v1/boards/{LIVE_BOARD}").json()["table"]
    assert {column["evaluator"] for column in table["columns"] if column["evaluator"]} == {OFFICIAL}
    (row,) = table["rows"]
    assert row["cells"]["score"]["value"] == pytest.approx(2 / 3)


def test_one_evaluator_has_nothing_beside_it(tmp_path: Path, people: People) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 5}))
    Evaluation.objects.filter(run=run).exclude(pk=current_evaluations(run)[0].pk).delete()
    assert client(people, "anonymous").get(f"/runs/{run.key}/evaluators/").status_code == 404
    assert document(people, run, "anonymous")["pairs"] == []
    assert "By other rules" not in client(people, "anonymous").get(run.get_absolute_url()).content.decode()


def test_evaluations_of_other_gold_are_not_counted_together(run: Run, people: People) -> None:
    Evaluation.objects.filter(run=run, evaluator__name=OURS).update(gold_fingerprint="other")
    (pair,) = set_beside(current_evaluations(run))
    assert pair.counts is None
    assert "not made on the same items" in client(people, "member").get(run.get_absolute_url()).content.decode()
    assert document(people, run, "member")["pairs"][0]["answers"] is None
