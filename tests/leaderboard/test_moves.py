"""What an earlier version of an evaluator would change on a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from evaluation.models import Evaluation
from leaderboard.boards import view_board
from leaderboard.models import Board
from leaderboard.moves import moves_page
from tests.conftest import People
from tests.ingest.trees import Tree, live_case, live_results
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree, load, older_rules

pytestmark = pytest.mark.django_db
PAGE = f"/boards/{EHR_BOARD}/evaluators/"


def context(people: People, who: str = "anonymous", **query: str) -> dict[str, Any]:
    found = moves_page(Board.objects.with_benchmark().get(), people[who], query)
    assert found is not None
    return found


def rows(found: dict[str, Any]) -> dict[str, list[str]]:
    return {row.key: [cell.text for cell in row.cells[1:]] for row in found["table"].rows}


def test_values_ranks_and_items_that_move(tmp_path: Path, people: People) -> None:
    """Of 20 questions alder has 10 right and birch 9 now; by the older rules alder had lost two and birch had one more."""
    alder, birch = load(ehr_tree(tmp_path, {"alder": 10, "birch": 9}))
    older_rules(alder, q00=0.0, q01=0.0)
    older_rules(birch, q00=0.0, q19=1.0)
    found = context(people)
    assert rows(found) == {
        "alder": ["2", "1", "40.0", "50.0", "+10.0", "2", "0"],
        "birch": ["1", "2", "45.0", "45.0", "0.0", "1", "1"],
    }
    assert "2 of 2 entries change their rank" in found["table"].notes[0]
    assert found["items_moved"] == 3 and found["items"] is None
    assert context(people, "member")["items"] == [("q00", 2), ("q01", 1), ("q19", 1)]


def test_the_order_of_the_two_can_be_chosen(tmp_path: Path, people: People) -> None:
    (alder,) = load(ehr_tree(tmp_path, {"alder": 10}))
    older_rules(alder, q00=0.0)
    now = alder.evaluations.get(current=True).evaluator.fingerprint[:16]
    assert rows(context(people))["alder"][2:5] == ["45.0", "50.0", "+5.0"]
    assert rows(context(people, a=now, b="0" * 16))["alder"][2:5] == ["50.0", "45.0", "-5.0"]
    assert moves_page(Board.objects.with_benchmark().get(), people.anonymous, {"a": "ffff"}) is None


def test_a_run_that_only_one_scored_stands_apart_with_the_reason(tmp_path: Path, people: People) -> None:
    alder, _ = load(ehr_tree(tmp_path, {"alder": 10, "birch": 9}))
    older_rules(alder)
    table = context(people)["table"]
    assert [(row.key, row.group) for row in table.rows] == [("alder", "both"), ("birch", "apart")]
    assert table.rows[1].cells[3].note == "one of its runs was not scored by both"


def test_other_gold_is_not_set_side_by_side(tmp_path: Path, people: People) -> None:
    (alder,) = load(ehr_tree(tmp_path, {"alder": 10}))
    Evaluation.objects.filter(pk=older_rules(alder).pk).update(gold_fingerprint="other")
    assert context(people)["table"].rows[0].cells[3].note == "scored against other gold"


def test_one_evaluator_alone_is_said_so(tmp_path: Path, client: Client) -> None:
    load(ehr_tree(tmp_path, {"alder": 10}))
    assert "were scored by one evaluator only" in client.get(PAGE).content.decode()
    assert client.get(f"{PAGE}?a=ffff").status_code == 404
    assert PAGE in client.get(f"/boards/{EHR_BOARD}/").content.decode()


def test_a_figure_over_cases_is_that_of_the_board(tmp_path: Path, people: People) -> None:
    """Cases of three, one and one question, the second wrong: two of three, whatever the number of questions."""
    tree = Tree(tmp_path)
    tree.lines("dataset.jsonl", [live_case("PMC0", "ABC"), live_case("PMC1", "A"), live_case("PMC2", "B")])
    tree.json("a.json", live_results("alder", {"PMC0": "ABC", "PMC1": "B", "PMC2": "B"}))
    load(tree)
    document = rows(context(people))["alder"]
    by_board = view_board(Board.objects.with_benchmark().get(), people.anonymous)
    assert by_board is not None
    place = [column.key for column in by_board.table.columns].index("score")
    assert document[3] == by_board.table.rows[0].cells[place].text == "66.7"


def test_the_page_costs_few_queries(tmp_path: Path, client: Client, django_assert_max_num_queries: Any) -> None:
    for run in load(ehr_tree(tmp_path, {f"model_{n}": n for n in range(12)})):
        older_rules(run, q03=1.0)
    with django_assert_max_num_queries(10):
        assert client.get(PAGE).status_code == 200
