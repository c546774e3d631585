"""What the address of a board chooses: filters, facets, columns, order. No choice moves a rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.models import LanguageModel, Run
from evaluation.statistics import percentile_interval, resample_counts
from leaderboard.boards import BoardView, view_board
from leaderboard.models import Board
from leaderboard.tables import Cell, Column, Group, Row, Table
from leaderboard.wishes import Wish, arrange
from tests.ingest.trees import Tree, ehr_gold, live_case, live_results, run_path
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, QUESTIONS, ehr_rows, ehr_tree, live_tree, load

NOBODY = AnonymousUser()


def view(address: str = "", slug: str = EHR_BOARD) -> BoardView:
    found = view_board(Board.objects.with_benchmark().get(slug=slug), NOBODY, Wish.read(QueryDict(address)))
    assert found is not None
    return found


def column(board: BoardView, key: str) -> list[str]:
    place = [one.key for one in board.table.columns].index(key)
    return [row.cells[place].text for row in board.table.rows]


def ranks(board: BoardView) -> dict[str, str]:
    return dict(zip(column(board, "model"), column(board, "rank"), strict=True))


TEXTS = st.text(max_size=6).map(str.strip)


@given(
    st.builds(
        Wish,
        q=TEXTS,
        access=TEXTS,
        organisation=TEXTS,
        family=TEXTS,
        size=TEXTS,
        released=st.sampled_from(["", "after", "before"]),
        complete=st.booleans(),
        facets=st.lists(st.tuples(st.text("abc_", min_size=1), st.text()), unique=True, max_size=3).map(tuple),
        hidden=st.lists(st.text(min_size=1), unique=True, max_size=3).map(tuple),
        together=st.booleans(),
        sort=st.text(max_size=6),
        down=st.booleans(),
    )
)
def test_an_address_gives_the_wish_that_made_it(wish: Wish) -> None:
    assert Wish.read(QueryDict(wish.address()[1:].encode())) == wish


def test_what_is_not_understood_is_told_and_passed_over() -> None:
    wish = Wish.read(QueryDict("released=soon&facet=stage&sort="))
    assert not wish and len(wish.problems) == 2
    assert "released is 'soon'" in wish.problems[0] and "facet is 'stage'" in wish.problems[1]


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path, db: None) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 9, "cedar": 3}))
    facts = {
        "alder": {"access": "open", "organisation": "Grove", "family": "Tree", "size": "7B", "released_on": "2026-01"},
        "birch": {"access": "proprietary", "organisation": "Wood", "family": "Tree", "released_on": "2024-05"},
    }
    for name, values in facts.items():
        LanguageModel.objects.filter(name=name).update(**values)


@pytest.mark.parametrize(
    ("address", "left"),
    [
        ("q=BIR", {"birch": "2"}),
        ("q=wood", {"birch": "2"}),
        ("access=open", {"alder": "1"}),
        ("access=unknown", {"cedar": "3"}),
        ("organisation=Wood", {"birch": "2"}),
        ("family=Tree", {"alder": "1", "birch": "2"}),
        ("size=7B&q=a", {"alder": "1"}),
        ("family=Tree&access=open", {"alder": "1"}),
        ("q=nothing", {}),
    ],
)
def test_filters_hide_rows_and_move_no_rank(three: None, address: str, left: dict[str, str]) -> None:
    board = view(address)
    assert ranks(board) == left
    assert board.sentence == view().sentence
    hidden = "no row" if len(left) == 3 else "hidden; ranks are those of the whole board."
    assert any(hidden in told for told in board.chosen)


def test_only_filters_that_differ_are_offered(three: None) -> None:
    board = view()
    assert board.choice is not None
    assert {one.name for one in board.choice.selects} == {"access", "organisation", "family", "size"}
    assert [option.label for option in board.choice.selects[0].options] == ["open", "proprietary", "not stated"]


def test_partial_runs_are_hidden_on_request(tmp_path: Path, three: None) -> None:
    load(ehr_tree(tmp_path / "part", {"dogwood": 5}, asked=12))
    assert "dogwood" in ranks(view()) and "dogwood" not in ranks(view("complete=1"))


def test_released_before_and_after_the_newest_questions(tmp_path: Path, db: None) -> None:
    right = ["AB"] * 8
    load(live_tree(tmp_path, {"a": ("alder", right), "b": ("birch", right), "c": ("cedar", right)}))
    for name, day in (("alder", "2026-01"), ("birch", "2025-05-31")):
        LanguageModel.objects.filter(name=name).update(released_on=day)
    assert list(ranks(view("released=after", LIVE_BOARD))) == ["alder"]
    assert list(ranks(view("released=before", LIVE_BOARD))) == ["birch"]


def test_filters_stand_on_the_page_with_a_way_off(client: Client, three: None) -> None:
    text = client.get(f"/boards/{EHR_BOARD}/?family=Tree&q=%3Cb%3E").content.decode()
    assert "“&lt;b&gt;”" in text and "<b>”" not in text
    assert 'href="?family=Tree#choose"' in text
    assert "Three rows are hidden" in text
    document = client.get(f"/api/v1/boards/{EHR_BOARD}?access=open").json()
    assert [row["key"] for row in document["table"]["rows"]] == ["alder"]
    assert document["chosen"] == ["Two rows are hidden; ranks are those of the whole board."]


# --- facets -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tasks(tmp_path: Path, db: None) -> None:
    """20 questions, a patient each: q00-q11 of the task labs, the rest of the task notes. alder has 9 right, birch 14."""
    tree = Tree(tmp_path)
    labs = ehr_gold({question: ["Alpha"] for question in QUESTIONS[:12]}, task="labs")
    notes = [
        {**row, "subject_id": 500 + n}
        for n, row in enumerate(
            ehr_gold({q: ["Alpha"] for q in QUESTIONS[12:]}, task="notes", task_type="risk_prediction")
        )
    ]
    tree.json("gold/ehr_bench.json", [*labs, *notes])
    for model, right in (("alder", 9), ("birch", 14)):
        tree.lines(run_path(model), ehr_rows(right, 20))
    load(tree)


def test_a_facet_gives_figures_over_its_items(tasks: None) -> None:
    board = view("facet=task:notes")
    assert column(board, "model") == ["birch", "alder"]
    assert column(board, "score") == ["25.0", "0.0"]
    assert column(board, "rank") == ["1", "2"]
    assert board.chosen == ("Figures are over 8 of 20 questions; ranks are those of the whole board.",)
    score = next(row.cells[2] for row in board.table.rows if row.key == "birch")
    assert (score.n, score.value) == (8, 0.25)
    coverage = [one.key for one in board.table.columns].index("coverage")
    assert {(row.cells[coverage].n, row.cells[coverage].n_answered) for row in board.table.rows} == {(8, 8)}


def test_the_interval_over_a_facet_is_that_of_its_items_alone(tmp_path: Path, db: None) -> None:
    """Graded values, several questions a patient: against percentiles of plainly resampled means."""
    tree = Tree(tmp_path)
    gold = ehr_gold({question: ["Alpha", "Beta"] for question in QUESTIONS}, task="labs")
    for number, row in enumerate(gold):
        row["subject_id"], row["task"] = number // 2, "labs" if number < 12 else "notes"
    tree.json("gold/ehr_bench.json", gold)
    tree.lines(run_path("alder"), ehr_rows(7, 20))
    load(tree)
    (score,) = [row.cells[2] for row in view("facet=task:labs").table.rows]
    values = np.array([2 / 3] * 7 + [0.0] * 5).reshape(6, 2).sum(axis=1)
    counts = resample_counts(6, Board.objects.get().split.fingerprint).astype(float)
    low, high = percentile_interval(counts @ values / (counts @ np.full(6, 2)))
    assert score.value == pytest.approx(7 * 2 / 3 / 12)
    assert (score.low, score.high) == pytest.approx((low, high), abs=1e-8)


def test_facets_together_are_a_conjunction(tasks: None) -> None:
    board = view("facet=task:labs&facet=task_type:decision_making")
    assert board.chosen[0].startswith("Figures are over 12 of 20 questions")
    empty = view("facet=task:labs&facet=task_type:risk_prediction")
    assert empty.chosen[0].startswith("Figures are over 0 of 20 questions")
    assert column(empty, "score") == ["–", "–"]


def test_an_unknown_facet_is_told_and_passed_over(tasks: None) -> None:
    board = view("facet=task:poetry&sort=nothing")
    assert board.chosen == (
        "Passed over: there is no facet 'task:poetry'.",
        "Passed over: there is no column 'nothing' to sort by.",
    )
    assert column(board, "score") == ["70.0", "45.0"]


def test_repeats_and_their_spread_are_those_of_the_facet(tmp_path: Path, db: None) -> None:
    """Three runs over three rare cases and a common one, of which the rare ones give 1, 2 and 3 of 3 right."""
    tree = Tree(tmp_path)
    tree.lines("dataset.jsonl", [live_case(f"PMC{n}", "A", Rarity="rare" if n < 3 else "common") for n in range(4)])
    for run in (1, 2, 3):
        letters = {f"PMC{n}": "A" if n < run else "B" for n in range(4)}
        tree.json(f"a_run{run}.json", live_results("alder", letters))
    load(tree)
    board = view("facet=rarity:rare", LIVE_BOARD)
    assert column(board, "score") == ["66.7"]
    assert column(board, "repeats") == ["3 ± 33.33"]


def test_a_case_counts_where_all_of_its_questions_are_chosen(tmp_path: Path, db: None) -> None:
    tree = Tree(tmp_path)
    tree.lines("dataset.jsonl", [live_case(f"PMC{n}", "AB", Rarity="rare" if n < 2 else "common") for n in range(5)])
    tree.json("a.json", live_results("alder", {"PMC0": "AB", "PMC1": "AA", "PMC2": "AB", "PMC3": "BB", "PMC4": "BB"}))
    load(tree)
    rare = view("facet=rarity:rare", LIVE_BOARD)
    assert (column(rare, "score"), column(rare, "figure-2")) == (["50.0"], ["75.0"])
    assert "over 4 of 10 questions and the 2 cases that lie wholly among them" in rare.chosen[0]
    second = view("facet=position:Q2", LIVE_BOARD)
    assert (column(second, "score"), column(second, "figure-2")) == (["–"], ["80.0"])


def test_what_was_passed_over_once_is_not_told_again(three: None) -> None:
    assert len(view("released=soon").chosen) == 1
    assert view("").chosen == ()


# --- order and columns ------------------------------------------------------------------------------------------------


def table(values: list[tuple[str, float | None]], groups: str = "") -> Table:
    columns = (Column("model", "Model", "model"), Column("score", "Score", "score", metric="m", unit="%"))
    rows = tuple(
        Row(f"{number}", (Cell(name, value=name), columns[1].cell(value)), groups[number] if groups else "a")
        for number, (name, value) in enumerate(values)
    )
    return Table("t", "T", "", columns, rows, tuple(Group(key, "") for key in dict.fromkeys(groups or "a")))


def names(arranged: Table) -> str:
    return "".join(row.cells[0].text for row in arranged.rows)


FIGURES = st.none() | st.sampled_from([0.0, 0.1, 0.5, 1.0])


@given(st.lists(FIGURES, max_size=8), st.booleans())
def test_order_is_stable_and_missing_comes_last(figures: list[float | None], down: bool) -> None:
    given_rows = list(zip("abcdefgh", figures, strict=False))
    found = names(arrange(table(given_rows), Wish(sort="score", down=down)))
    # plainly: pick the best that is left, the first of equals
    left, expected = [one for one in given_rows if one[1] is not None], ""
    while left:
        best = (max if down else min)(one[1] for one in left)
        first = next(one for one in left if one[1] == best)
        expected += first[0]
        left.remove(first)
    assert found == expected + "".join(name for name, figure in given_rows if figure is None)


def test_rows_are_ordered_inside_their_groups() -> None:
    made = table([("a", 0.1), ("b", 0.9), ("c", 0.5), ("d", 0.7)], "xxyy")
    assert names(arrange(made, Wish(sort="score", down=True))) == "badc"


def test_text_is_ordered_without_regard_to_case() -> None:
    made = table([("b", 0.1), ("A", 0.9), ("c", 0.5)])
    assert names(arrange(made, Wish(sort="model"))) == "Abc"


def test_headings_lead_to_their_order_and_back(client: Client, three: None) -> None:
    plain = {heading.column.key: heading.sorting for heading in view().table.headings}
    assert plain["rank"] is not None and plain["rank"].order == "ascending"
    assert plain["score"] is not None and plain["score"] == ("?sort=score&down=1", "")
    there = {heading.column.key: heading.sorting for heading in view("sort=score&down=1&q=a").table.headings}
    assert there["score"] == ("?q=a&sort=score", "descending")
    text = client.get(f"/boards/{EHR_BOARD}/?sort=score&down=1").content.decode()
    assert text.count("aria-sort=") == 1 and 'aria-sort="descending"' in text


def test_columns_are_left_out_but_those_that_name_the_row(three: None) -> None:
    keys = [one.key for one in view("hide=origin&hide=rank&hide=coverage&hide=unknown").table.columns]
    assert "origin" not in keys and "coverage" not in keys
    assert keys[:3] == ["rank", "model", "score"]


def test_reported_figures_stand_in_one_order_only_when_asked(client: Client, published: None, tmp_path: Path) -> None:
    load(live_tree(tmp_path, {"a": ("alder", ["AB"] * 8)}))
    apart, joined = view("", LIVE_BOARD), view("together=1", LIVE_BOARD)
    assert {row.group for row in apart.table.rows} == {"ranked", "reported"}
    assert {row.group for row in joined.table.rows} == {"both"}
    scores = [row.cells[2].value for row in joined.table.rows]
    assert scores == sorted(scores, reverse=True) and len(scores) == len(apart.table.rows)
    lines = [line for section in joined.table.sections for line in section.lines]
    assert sum(line.reported for line in lines) == len(lines) - 1


@pytest.fixture
def published(db: None) -> None:
    from tests.ingest.trees import called

    assert called("load_published").code == 0


def test_a_chosen_board_costs_few_queries(tasks: None, client: Client, django_assert_max_num_queries: Any) -> None:
    address = f"/boards/{EHR_BOARD}/?facet=task:labs&facet=task_type:decision_making&sort=score&q=a"
    client.get(address)
    with django_assert_max_num_queries(10):
        assert client.get(address).status_code == 200
    assert Run.objects.count() == 2
