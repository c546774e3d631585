"""A model's page: its results over boards, whether it may know the questions, predecessor and successors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.models import LanguageModel, Run, Score
from leaderboard.boards import view_board
from leaderboard.lists import model_and_relatives, model_page
from leaderboard.models import Board, ReportedScore, ReportSource
from leaderboard.results import EXPOSED, OLDER, UNKNOWN, exposure
from tests.conftest import People
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree, live_tree, load

NOBODY = AnonymousUser()


@pytest.mark.parametrize(
    ("cutoff", "released", "question", "words"),
    [
        ("2025-07", "", "2025-06", EXPOSED),
        ("2025-05", "2026-01", "2025-06", OLDER),  # the cut-off counts where it is stated
        ("", "2026-01", "2025-06", EXPOSED),
        ("", "2024", "2025-06", OLDER),
        ("2025-06", "", "2025-06", OLDER),
        ("2025", "", "2025-06", UNKNOWN),  # too rough
        ("2025-06-30", "", "2025-06", UNKNOWN),
        ("", "", "2025-06", UNKNOWN),
        ("2025-07", "", "", UNKNOWN),
    ],
)
def test_exposure(cutoff: str, released: str, question: str, words: str) -> None:
    assert exposure(LanguageModel(knowledge_cutoff=cutoff, released_on=released), question).words == words


@given(st.dates(), st.dates())
def test_exposure_by_a_plain_twin(model: Any, question: Any) -> None:
    found = exposure(LanguageModel(knowledge_cutoff=model.isoformat()), question.isoformat()).words
    assert found == (EXPOSED if model > question else OLDER) or model.year < 1000 or question.year < 1000


@pytest.fixture
def family(tmp_path: Path, db: None) -> dict[str, LanguageModel]:
    """alder on two boards; birch is its predecessor, cedar its successor, elm is known by a private run only."""
    load(ehr_tree(tmp_path / "ehr", {"alder": 18, "birch": 5, "cedar": 12}))
    load(live_tree(tmp_path / "live", {f"a_run{n}": ("alder", ["AB"] * (8 - n) + ["AC"] * n) for n in (1, 2, 3)}))
    load(ehr_tree(tmp_path / "hidden", {"elm": 20}), "private")
    found = {run.model_name: run.model for run in Run.objects.select_related("model")}
    LanguageModel.objects.filter(pk=found["alder"].pk).update(
        predecessor=found["birch"], family="Trees", size="7B", released_on="2026-01", knowledge_cutoff="2025-11"
    )
    LanguageModel.objects.filter(pk__in=(found["cedar"].pk, found["elm"].pk)).update(predecessor=found["alder"])
    return {name: LanguageModel.objects.get(pk=model.pk) for name, model in found.items()}


def context(slug: str, user: Any = NOBODY) -> dict[str, Any]:
    model, relatives = model_and_relatives(slug, user)
    assert model is not None
    return model_page(model, relatives, user)


def test_the_results_are_the_cells_of_the_boards(family: dict[str, LanguageModel]) -> None:
    table = context("alder")["results_table"]
    keys = [column.key for column in table.columns]
    rows = {row.cells[0].value: dict(zip(keys, row.cells, strict=True)) for row in table.rows}
    assert rows.keys() == {EHR_BOARD, "liveclin-2025_h1-full-chat"}
    for slug, mine in rows.items():
        view = view_board(Board.objects.with_benchmark().get(slug=slug), NOBODY)
        assert view is not None
        places = {column.key: place for place, column in enumerate(view.table.columns)}
        (theirs,) = (row.cells for row in view.table.rows if row.key == "alder")
        for key in ("rank", "coverage", "repeats", "origin", "answered_at"):
            assert mine[key] == theirs[places[key]]
        score = theirs[places["score"]]
        assert (mine["score"].value, mine["score"].low, mine["score"].high) == (score.value, score.low, score.high)
        assert mine["score"].text == f"{score.text} %" and mine["score"].sub == score.sub != ""
    assert rows["liveclin-2025_h1-full-chat"]["repeats"].text.startswith("3 ± ")
    assert rows["liveclin-2025_h1-full-chat"]["exposure"].text == EXPOSED
    assert rows[EHR_BOARD]["exposure"].text == UNKNOWN


def test_the_difference_is_newer_less_older(family: dict[str, LanguageModel]) -> None:
    table = context("alder")["relatives_table"]
    found = {row.cells[0].text: row.cells for row in table.rows}
    values = {
        score.evaluation.run.model_name: score.value or 0.0
        for score in Score.objects.filter(
            evaluation__current=True, dimension="overall", metric="f1", variant="", repeat=1
        ).select_related("evaluation__run")
    }
    assert found.keys() == {"birch", "cedar"}
    assert found["birch"][4].value == values["alder"] - values["birch"] and found["birch"][4].text == "+65.0"
    assert found["cedar"][4].value == values["cedar"] - values["alder"] and found["cedar"][4].text == "−30.0"
    assert found["birch"][5].href == f"/compare/?a={EHR_BOARD}%2Falder&b={EHR_BOARD}%2Fbirch"


def test_the_link_leads_to_the_head_to_head(family: dict[str, LanguageModel], client: Client) -> None:
    page = client.get("/models/alder/").content.decode()
    link = re.search(r'href="(/compare/[^"]*birch)"', page)
    assert link is not None
    answer = client.get(link[1].replace("&amp;", "&"))
    assert answer.status_code == 200 and "birch" in answer.content.decode()


def test_a_successor_of_a_private_run_is_told_to_nobody_else(
    family: dict[str, LanguageModel], people: People, client: Client
) -> None:
    page = client.get("/models/alder/").content.decode()
    assert "cedar" in page and "birch" in page and "elm" not in page and "Trees" in page and "2025-11" in page
    client.force_login(people.staff)
    assert "elm" in client.get("/models/alder/").content.decode()


def test_reported_figures_stand_marked_below(family: dict[str, LanguageModel]) -> None:
    run = Run.objects.filter(model=family["alder"], mode="agentic").get()
    source = ReportSource.objects.create(key="s", text="A paper")
    told = {"split": run.split, "mode": "agentic", "metric": "f1", "source": source, "value": 0.5, "printed": "50.0"}
    ReportedScore.objects.create(model=family["alder"], **told)
    ReportedScore.objects.create(model=family["birch"], **told)
    table = context("alder")["results_table"]
    assert [row.group for row in table.rows] == ["ours", "ours", "reported"]
    row = table.rows[-1]
    assert row.cells[3].text == "50.0 %" and row.cells[6].origin == "reported" and not row.cells[3].href


def test_a_model_without_facts_and_relatives(tmp_path: Path, client: Client, db: None) -> None:
    load(ehr_tree(tmp_path, {"alone": 3}))
    made = context("alone")
    assert made["relatives_table"] is None and made["successors"] == [] and made["predecessor"] is None
    assert client.get("/models/alone/").content.decode().count("not stated") >= 6


def test_the_page_costs_few_queries(
    family: dict[str, LanguageModel], client: Client, django_assert_max_num_queries: Any
) -> None:
    for most in (10 + 2 * 2, 10):  # ranks and intervals of two boards are made once
        with django_assert_max_num_queries(most):
            assert client.get("/models/alder/").status_code == 200
