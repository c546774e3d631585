"""Recipes: read with every mistake named, the same as an address, and made into tables that say only what is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import LanguageModel, Run
from leaderboard.models import Board, ReportedScore
from leaderboard.recipes.build import build
from leaderboard.recipes.recipe import ColumnWish, Recipe, RecipeError, from_json, from_query, load
from tests.conftest import ROOT, People
from tests.ingest.trees import Tree, answered, ehr_gold, run_path
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree
from tests.leaderboard.worlds import load as ingest

PUBLIC = AnonymousUser()


def recipe(*columns: dict[str, Any], **more: Any) -> Recipe:
    return from_json(json.dumps({"title": "T", "columns": list(columns) or [{"board": EHR_BOARD}], **more}))


def texts(made: Recipe, user: Any = PUBLIC) -> dict[str, list[str]]:
    """Row key -> printed cells behind the name."""
    return {row.key: [cell.text for cell in row.cells[1:]] for row in build(made, user).table.rows}


# Reading

BOARD = {"board": EHR_BOARD}


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("columns: []\n", "r.yaml line 1: has no 'title'"),
        ("title: T\ncolumns: []\n", "r.yaml line 2: columns is empty: a table has at least one column"),
        (
            "title: T\ncolumns:\n  - {board: b, metrik: f1}\n",
            "r.yaml line 3: columns[0].metrik is not a known key; did you mean",
        ),
        ("title: T\ncolumns:\n  - board: b\ndigits: 9\n", "r.yaml line 4: digits is 9, expected at most 6"),
        ("title: T\ncolumns:\n  - metric: f1\n", "r.yaml line 3: columns[0] names no board"),
        ("title: T\ncolumns:\n  - board: b\nuncertainty: se\n", "r.yaml line 4: uncertainty is 'se', expected one of"),
        (
            "title: T\ncolumns:\n  - {board: b, name: a}\n  - {of: a, minus: z}\n",
            "r.yaml line 4: columns[1].minus is 'z', which is no",
        ),
        ("title: T\ncolumns:\n  - {board: b}\n  - {of: c1}\n", "r.yaml line 4: columns[1] has no 'minus'"),
        (
            "title: T\ncolumns:\n  - {board: b}\nrows:\n  models: [x, x]\n",
            "r.yaml line 5: rows.models[1] is 'x', which is listed",
        ),
        ("title: T\ntitle: T\n", "r.yaml line 2: title is given twice, first in line 1"),
        (
            "title: T\nlabel: 'a}\\input{b'\ncolumns:\n  - board: b\n",
            "r.yaml line 2: label is 'a}\\\\input{b', expected letters",
        ),
        ("title: &a T\n", "r.yaml line 1: anchors and aliases"),
    ],
)
def test_every_mistake_is_named_with_file_line_field_and_value(tmp_path: Path, yaml: str, told: str) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(yaml)
    with pytest.raises(RecipeError) as error:
        load(file)
    assert told in str(error.value)


def test_mistakes_of_an_address_are_named_alike() -> None:
    with pytest.raises(RecipeError) as error:
        from_query("title=T&c1.board=b&digits=many&bold=perhaps&colour=red")
    assert str(error.value).split("\n") == [
        "the address: colour is not a known key; did you mean 'columns'?",
        "the address: digits is 'many', expected an integer of at least 0",
        "the address: bold is 'perhaps', expected true or false",
    ]


NAME = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
COLUMN = st.fixed_dictionaries(
    {"board": NAME},
    optional={
        "metric": NAME,
        "facet": NAME,
        "label": NAME,
        "shots": st.integers(0, 9),
        "conversation_kept": st.booleans(),
    },
)
ROWS = st.one_of(
    st.fixed_dictionaries({"models": st.lists(NAME, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"groups": st.lists(NAME, min_size=1, max_size=2, unique=True).map(
        lambda labels: [{"label": label, "models": [f"m {label}"]} for label in labels]
    )}),
    st.fixed_dictionaries({"access": st.lists(st.sampled_from(["open", "not stated"]), min_size=1, max_size=2, unique=True)}),
)  # fmt: skip


@given(
    st.fixed_dictionaries(
        {"title": NAME, "columns": st.lists(COLUMN, min_size=1, max_size=3)},
        optional={"rows": ROWS, "digits": st.integers(0, 6), "bold": st.booleans(), "show": st.just("fraction")},
    )
)
@settings(deadline=None)
def test_an_address_is_the_recipe(document: dict[str, Any]) -> None:
    made = from_json(json.dumps(document))
    assert from_query(made.query) == made
    assert from_json(made.as_json) == made


# Figures


@pytest.fixture
def board(db: None, tmp_path: Path) -> Board:
    """Four models on one board: 18, 17 and 6 of 20 right, and one that was asked only half of the questions."""
    ingest(ehr_tree(tmp_path / "a", {"first": 18, "second": 17, "third": 6}))
    ingest(ehr_tree(tmp_path / "b", {"half": 10}, asked=10))
    return Board.objects.get(slug=EHR_BOARD)


def test_figures_are_those_of_the_board(board: Board, client: Client) -> None:
    page = client.get(f"/api/v1/boards/{board.slug}").json()["table"]["rows"]
    figures = {row["cells"]["model"]["text"]: row["cells"]["score"]["text"] for row in page}
    table = build(recipe(), PUBLIC).table
    assert {row.cells[0].text: row.cells[1].text for row in table.rows} == figures
    assert list(figures.values()) == ["90.0", "85.0", "30.0", "50.0"]


def test_best_is_bold_with_its_ties_and_the_best_of_the_rest_underlined(board: Board, client: Client) -> None:
    """The same ties as the board's page marks; the partial run does not compete, though it is better than the third."""
    page = client.get(f"/api/v1/boards/{board.slug}").json()["table"]["rows"]
    tied = {row["key"] for row in page if row["cells"]["rank"].get("tie")}
    table = build(recipe(underline=True), PUBLIC).table
    by_emphasis = {
        word: {row.key for row in table.rows if row.cells[1].emphasis == word} for word in ("best", "second")
    }
    assert by_emphasis == {"best": tied, "second": {"third"}} and tied == {"first", "second"}
    half = next(row for row in table.rows if row.key == "half")
    assert half.cells[1].partial and half.cells[1].emphasis == ""
    assert any(mark.sign == "‡" for mark in table.legend)


def test_nothing_is_bold_unless_asked_for(board: Board) -> None:
    table = build(recipe(bold=False), PUBLIC).table
    assert not any(cell.emphasis for row in table.rows for cell in row.cells)


def test_partial_runs_can_be_left_out(board: Board) -> None:
    assert "half" not in texts(recipe(rows={"partial": False}))


def test_rows_stand_as_listed_and_in_groups(board: Board) -> None:
    rows = {"groups": [{"label": "Ours", "models": ["third"]}, {"label": "Theirs", "models": ["first", "half"]}]}
    table = build(recipe(rows=rows), PUBLIC).table
    assert [row.key for row in table.rows] == ["third", "first", "half"]
    assert [group.label for group in table.groups] == ["Ours", "Theirs"]


def test_rows_by_access_and_filters(board: Board) -> None:
    LanguageModel.objects.filter(slug="first").update(access="open", organisation="Lab", family="Aster")
    LanguageModel.objects.filter(slug="second").update(access="proprietary")
    table = build(recipe(rows={"group_by": "access"}), PUBLIC).table
    assert [group.label for group in table.groups] == ["Proprietary", "Open", "Access not stated"]
    assert [row.key for row in table.rows][:2] == ["second", "first"]
    assert list(texts(recipe(rows={"access": ["open"]}))) == ["first"]
    assert list(texts(recipe(rows={"organisations": ["Lab"]}))) == ["first"]
    assert list(texts(recipe(rows={"families": ["Aster"]}))) == ["first"]
    families = build(recipe(rows={"group_by": "family"}), PUBLIC).table
    assert [group.label for group in families.groups] == ["Aster", "Family not stated"]
    assert [group.label for group in build(recipe(rows={"group_by": "organisation"}), PUBLIC).table.groups] == [
        "Lab",
        "Organisation not stated",
    ]


@pytest.mark.parametrize(
    ("more", "printed"),
    [
        ({}, "90.0"),
        ({"digits": 3}, "90.000"),
        ({"show": "fraction"}, "0.900"),
        ({"show": "fraction", "digits": 1}, "0.9"),
    ],
)
def test_digits_and_units(board: Board, more: dict[str, Any], printed: str) -> None:
    assert texts(recipe(**more))["first"] == [printed]


def test_intervals_and_counts(board: Board) -> None:
    cell = build(recipe(uncertainty="interval", n=True), PUBLIC).table.rows[0].cells
    assert cell[1].low is not None and cell[1].sub == f"{cell[1].low * 100:.1f}–{cell[1].high * 100:.1f}"
    assert (cell[2].text, cell[2].value) == ("20", 20)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"board": "nothing"}, "columns[0] fits no board: nothing"),
        (
            {"benchmark": "ehr-bench", "evaluator": "judge"},
            "columns[0].evaluator is 'judge'; known are: clinseek-text-2026",
        ),
    ],
)
def test_what_is_not_there_is_named(board: Board, wish: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message.replace("[", r"\[")):
        build(recipe(wish), PUBLIC)


def test_a_model_that_is_not_there_is_named(board: Board) -> None:
    with pytest.raises(RecipeError, match=r"rows.models\[1\] is 'nobody', which is no model here"):
        build(recipe(rows={"models": ["first", "nobody"]}), PUBLIC)


def test_a_column_that_fits_two_boards_is_not_guessed(board: Board, tmp_path: Path) -> None:
    ingest(ehr_tree(tmp_path / "o", {"first": 3}, mode="oneshot"))
    with pytest.raises(RecipeError, match=r"fits more than one board: .*agentic, .*oneshot. Say which one"):
        build(recipe({"benchmark": "ehr-bench"}), PUBLIC)


# Differences


@pytest.fixture
def modes(db: None, tmp_path: Path) -> None:
    """`both` answered the same questions in both modes, `one` in one."""
    ingest(ehr_tree(tmp_path / "agentic", {"both": 18, "one": 9}))
    ingest(ehr_tree(tmp_path / "oneshot", {"both": 6}, mode="oneshot"))


DELTA = (
    {"name": "a", "benchmark": "ehr-bench", "mode": "agentic"},
    {"name": "o", "benchmark": "ehr-bench", "mode": "oneshot"},
    {"name": "d", "of": "a", "minus": "o"},
)


def test_a_difference_is_paired(modes: None) -> None:
    """18 right against 6 of the same 20: 12 questions flipped, each its own patient; the bounds by plain resampling."""
    table = build(recipe(*DELTA, uncertainty="interval"), PUBLIC).table
    cell = table.rows[0].cells[3]
    flips = np.array([1.0] * 12 + [0.0] * 8)
    draws = np.random.default_rng(1).integers(0, 20, (20_000, 20))
    low, high = np.percentile(flips[draws].mean(axis=1), [2.5, 97.5])
    assert cell.text == "60.0" and table.columns[3].unit == "pp"
    assert (cell.low, cell.high) == (pytest.approx(low, abs=0.051), pytest.approx(high, abs=0.051))
    assert table.rows[1].cells[3].missing


def test_a_difference_over_other_items_is_refused_in_words(modes: None, tmp_path: Path, client: Client) -> None:
    ingest(ehr_tree(tmp_path / "other", {"both": 9}, split="smoke20"))
    columns = (
        {"name": "a", "benchmark": "ehr-bench", "mode": "agentic", "split": "full1800"},
        {"name": "o", "benchmark": "ehr-bench", "mode": "agentic", "split": "smoke20"},
        DELTA[2],
    )
    made = recipe(*columns)
    with pytest.raises(RecipeError, match=r"columns\[2\] No difference of .* their items differ"):
        build(made, PUBLIC)
    page = client.get(f"/tables/?{made.query}")
    assert page.status_code == 200 and "their items differ" in page.content.decode()
    answer = client.get(f"/tables/?{made.query}&format=csv")
    assert answer.status_code == 400 and b"their items differ" in answer.content


def test_a_difference_of_a_reported_and_a_recomputed_figure_is_not_formed(db: None, tmp_path: Path) -> None:
    call_command("load_published", ROOT / "fixtures" / "published", verbosity=0, stdout=open("/dev/null", "w"))  # noqa: SIM115
    ingest(ehr_tree(tmp_path / "t", {"glm_4_7": 10}))
    table = build(recipe(*DELTA, rows={"models": ["GLM-4.7"]}), PUBLIC).table
    agentic, oneshot, difference = table.rows[0].cells[1:]
    assert (agentic.origin, oneshot.origin) == ("ours", "reported")
    assert difference.missing and "one figure is reported" in difference.note


# Heads, few-shot


@pytest.mark.parametrize(
    ("wish", "over", "label"),
    [
        ({}, "", "F1"),
        ({"label": "Agentic"}, "", "Agentic, F1"),
        ({"label": "F1 with tools"}, "", "F1 with tools"),
        ({"over": "All"}, "All, F1", "agentic"),
        ({"over": "Set F1", "label": "Agentic"}, "Set F1", "Agentic"),
        ({"metric": "exact_match", "variant": "done_only"}, "", "Exact match, missing left out"),
    ],
)
def test_a_head_always_names_its_metric(board: Board, wish: dict[str, str], over: str, label: str) -> None:
    column = build(recipe({**BOARD, **wish}), PUBLIC).table.columns[1]
    assert (column.over, column.label) == (over, label)


def test_a_few_shot_figure_does_not_leave_alone(db: None, tmp_path: Path) -> None:
    for name, shots in (("zero", 0), ("five", 5)):
        tree = ehr_tree(tmp_path / name, {"model_a": 10 + shots} | ({"model_b": 8} if shots else {}))
        tree.text("clinboard.yaml", f"runs:\n  - {{path: '**', shots: {shots}}}\n")
        ingest(tree)
    five = {"benchmark": "ehr-bench", "shots": 5, "label": "Five"}
    alone = " ".join(build(recipe(five), PUBLIC).table.notes)
    assert "Five: 5-shot, without a zero-shot figure of the same model beside it for model_a, model_b." in alone
    beside = " ".join(build(recipe(five, {"benchmark": "ehr-bench", "shots": 0}), PUBLIC).table.notes)
    assert "beside it for model_b." in beside
    from django.test import Client

    slug = Board.objects.get(shots=5).slug
    told = Client().get(f"/boards/{slug}/table.md").content.decode()
    assert "All figures are 5-shot" in told and Board.objects.get(shots=0).slug in told


# Spread


def test_sd_is_over_the_repeats_and_named(db: None, tmp_path: Path) -> None:
    """Three repeats with 10, 12 and 14 of 20 right: the sample sd of .5, .6 and .7 is .1."""
    tree = Tree(tmp_path / "t")
    tree.json("gold/ehr_bench.json", ehr_gold({f"q{n:02}": ["Alpha"] for n in range(20)}))
    rows = [
        answered(f"q{n:02}", "alpha" if n < right else "omega", run_index=repeat)
        for repeat, right in ((1, 10), (2, 12), (3, 14))
        for n in range(20)
    ]
    tree.lines(run_path("thrice"), rows)
    ingest(tree)
    table = build(recipe(uncertainty="sd"), PUBLIC).table
    assert [(row.cells[1].text, row.cells[1].sub) for row in table.rows] == [("60.0", "± 10.00")]
    assert any("sample standard deviation over the repeats" in note for note in table.notes)


# Reported figures


@pytest.fixture
def published(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_published", ROOT / "fixtures" / "published")


def test_a_reported_figure_gets_no_digits_that_its_source_does_not_give(published: None) -> None:
    made = replace(load(ROOT / "docs/recipes/liveclin-main.yaml"), digits=3)
    assert texts(made)["o3"][0] == "35.7"


def test_reported_figures_closer_than_a_point_and_a_half_are_tied(published: None) -> None:
    table = build(load(ROOT / "docs/recipes/liveclin-main.yaml"), PUBLIC).table
    marked = {row.cells[0].text: row.cells[1].emphasis for row in table.rows if row.cells[1].emphasis}
    assert marked == {"o3": "best", "GPT-5": "best", "InternVL-3.5-241B": "best", "Gemini-2.5 Pro": "second"}


def test_two_sources_that_differ_are_both_told(published: None) -> None:
    table = build(load(ROOT / "docs/recipes/liveclin-main.yaml"), PUBLIC).table
    cell = next(row for row in table.rows if row.cells[0].text == "LingShu-7B").cells[1]
    assert cell.text == "15.3" and "assets/result.png gives 11.1" in cell.note


def test_a_side_figure_needs_its_source_to_be_named(published: None) -> None:
    wish = {"board": Board.objects.get(split__release__name="2025_H1").slug, "metric": "question_accuracy"}
    assert texts(recipe(wish)) == {}
    assert texts(recipe({**wish, "source": "liveclin_2025_H1/readme"})) == {"gpt-5": ["78.4"]}
    assert ReportedScore.objects.filter(metric="question_accuracy", dimension="overall", on_board=True).count() == 0


# Rights and the page


def test_another_evaluator_or_person_sees_what_is_theirs(board: Board, people: People, tmp_path: Path) -> None:
    (hidden,) = ingest(ehr_tree(tmp_path / "p", {"secret": 20}), "private", owner=people.owner)
    assert hidden.visibility == Run.Visibility.PRIVATE
    before = build(recipe(), PUBLIC).table.as_dict()
    assert "secret" not in json.dumps(before)
    assert "secret" in texts(recipe(), people.owner)
    with pytest.raises(RecipeError, match="'secret', which is no model here"):
        build(recipe(rows={"models": ["secret"]}), people.stranger)


def test_the_page_shows_the_form_the_table_and_every_form_of_it(board: Board, client: Client) -> None:
    empty = client.get("/tables/").content.decode()
    assert 'name="c1.board"' in empty and "Preview" not in empty
    made = recipe({**BOARD, "label": "With tools"}, caption="Said <b>")
    page = client.get(f"/tables/?{made.query}").content.decode()
    assert "With tools, F1" in page and "Said &lt;b&gt;" in page and 'name="c2.board"' in page
    for form in ("csv", "json", "md", "tex", "parquet", "html", "macros", "methods"):
        answer = client.get(f"/tables/?{made.query}&format={form}")
        assert answer.status_code == 200 and 'filename="t' in answer["Content-Disposition"], form
    assert client.get(f"/tables/?{made.query}&format=exe").status_code == 404


def test_the_api_gives_the_table_of_the_page(board: Board, client: Client) -> None:
    answer = client.get(f"/api/v1/tables?{recipe().query}").json()
    table = build(recipe(), PUBLIC, "http://testserver").table
    assert answer["table"] == json.loads(json.dumps(table.as_dict()))
    assert answer["recipe"] == recipe().document and answer["page"] == f"/tables/?{recipe().query}"
    wrong = client.get("/api/v1/tables?title=T&c1.board=nothing")
    assert wrong.status_code == 400 and "fits no board: nothing" in wrong.json()["detail"]


def test_a_column_can_be_left_out_with_its_differences() -> None:
    made = recipe(*DELTA)
    assert [wish.name for wish in from_query(made.without(1)).columns] == ["a"]
    assert isinstance(made.columns[0], ColumnWish)
