"""Breakdowns: each figure is a stored one, on its facet, with its n; colours, order, differences and addresses."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import LanguageModel, Score
from evaluation.statistics import independent_difference
from leaderboard.breakdowns import FEW
from leaderboard.charts import charts
from leaderboard.facetnames import facet_key, full, short
from leaderboard.heat import step_of, top_of
from leaderboard.pathway import _apart, pathway
from tests.ingest.trees import Tree, live_case, live_results
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, broken_down, ehr_tree, load

pytestmark = pytest.mark.django_db
NEOPLASMS, EYE = "Chapter 2: Neoplasms", "Chapter 7: Diseases of the eye and adnexa"
BY = f"/boards/{LIVE_BOARD}/by"
CASES = 32


def world(root: Path, runs: dict[str, list[str]] | None = None) -> None:
    """32 cases of two questions, gold A and B: 24 rare neoplasms, then 8 of the eye that are not rare."""
    tree = Tree(root)
    eye = {"Level1": EYE, "Level2": "Lens (H25-H28)", "Rarity": "unrare"}
    tree.lines("dataset.jsonl", [live_case(f"PMC{n}", "AB", **({} if n < 24 else eye)) for n in range(CASES)])
    runs = runs or {"alder": ["AB"] * 20 + ["AC"] * 12, "birch": ["AB"] * 6 + ["CB"] * 18 + ["AB"] * 8}
    for model, letters in runs.items():
        tree.json(f"{model}.json", live_results(model, {f"PMC{n}": pair for n, pair in enumerate(letters)}))
    load(tree)


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    response = client.get(address)
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_each_cell_is_the_stored_figure_of_its_facet(tmp_path: Path) -> None:
    world(tmp_path)
    found = broken_down("icd_chapter")
    assert found.metric == "case_accuracy" and found.facets == [NEOPLASMS, EYE]
    assert [entry.model.name for entry in found.entries] == ["alder", "birch"]
    assert [{facet: (v.value, v.n) for facet, v in cells.items()} for cells in found.cells] == [
        {NEOPLASMS: (20 / 24, 24), EYE: (0.0, 8)},
        {NEOPLASMS: (6 / 24, 24), EYE: (1.0, 8)},
    ]
    for entry, cells in zip(found.entries, found.cells, strict=True):
        stored = Score.objects.filter(
            evaluation=entry.evaluations[0], dimension="icd_chapter", metric="case_accuracy", variant=""
        )
        assert {s.facet: (s.ci_low, s.ci_high) for s in stored} == {f: (v.low, v.high) for f, v in cells.items()}


def test_places_of_cases_and_of_questions(tmp_path: Path) -> None:
    world(tmp_path)
    cases = broken_down("icd_chapter").members
    assert {facet: len(places) for facet, places in cases.items()} == {NEOPLASMS: 24, EYE: 8}
    assert {facet: len(places) for facet, places in broken_down("position").members.items()} == {"Q1": 32, "Q2": 32}


def test_the_page_says_n_what_is_hatched_and_that_columns_add_up(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    text = unescape(client.get(f"{BY}/icd_chapter/").content.decode())
    assert "The columns add up to all 32 cases; none is unmapped." in text
    assert f"Hatched: fewer than {FEW} cases." in text
    cells = re.findall(r'<td class="hm hm-(\d+)( few)?" title="([^"]*)">([^<]*)</td>', text)
    # the lightest step is 100 %; 8 cases are few, 24 are not
    assert [(int(step), bool(few), figure) for step, few, _, figure in cells] == [
        (17, False, "83"),
        (0, True, "0"),
        (5, False, "25"),
        (20, True, "100"),
    ]
    assert cells[0][2].endswith("n = 24") and "83.3 %, 95 % " in cells[0][2]
    assert "<td>24</td>" in text and "H00–H59" in text


def test_several_facets_an_item_do_not_add_up_and_it_is_said(tmp_path: Path, client: Client) -> None:
    tree = Tree(tmp_path)
    details = [{"type": "CT scan"}, {"type": "chest X-ray"}]
    cases = [live_case(f"PMC{n}", "AB") for n in range(10)]
    for case in cases[:4]:
        case["exam_creation"]["final_policy"]["mcqs"][1]["image_details"] = details
    tree.lines("dataset.jsonl", cases)
    tree.json("alder.json", live_results("alder", {f"PMC{n}": "AB" for n in range(10)}))
    load(tree)
    text = client.get(f"{BY}/image_modality/").content.decode()
    assert (
        "16 of 20 questions carry no image modality and stand in no column; 4 stand in several columns, as they carry "
        "several: the columns do not add up to the whole."
    ) in text


def test_sorted_by_a_facet_with_missing_last_both_ways(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    key = facet_key(EYE)

    def order(sort: str) -> list[str]:
        return [row["Model"] for row in rows_of(client, f"{BY}/icd_chapter/?sort={sort}&format=csv")]

    assert order(key) == ["birch", "alder"] and order(f"-{key}") == ["alder", "birch"]
    found = broken_down("icd_chapter")
    del found.cells[0][EYE]
    from leaderboard.breakdowns import in_turn

    assert in_turn(found, key) == in_turn(found, f"-{key}") == [1, 0]
    text = client.get(f"{BY}/icd_chapter/?sort={key}").content.decode()
    assert 'aria-sort="descending"' in text and f"sort=-{key}" in text


@pytest.mark.parametrize(
    "query", ["?metric=f1", "?sort=nothing-00000000", "?model=nobody", "?view=odd", "?one=a&other=b", "?format=exe"]
)
def test_an_address_that_means_nothing_is_not_there(tmp_path: Path, client: Client, query: str) -> None:
    world(tmp_path)
    assert client.get(f"{BY}/icd_chapter/").status_code == 200
    assert client.get(f"{BY}/icd_chapter/{query}").status_code == 404
    assert client.get(f"{BY}/nothing/").status_code == client.get(f"{BY}/icd_chapter/nothing/").status_code == 404


def test_a_facet_has_its_own_ranks(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    address = f"{BY}/icd_chapter/{facet_key(EYE)}/"
    rows = rows_of(client, f"{address}?format=csv")
    assert [(row["Rank"], row["Model"], row["Rank on the whole board"]) for row in rows] == [
        ("1", "birch", "2"),
        ("2", "alder", "1"),
    ]
    text = client.get(address).content.decode()
    assert "birch is first of two here." in text and "Only 8 cases" in text


def test_no_ranks_where_less_is_better_or_nothing_is_stored(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    for metric, words in (
        ("first_break", "more of it is not better"),
        ("still_right", "are not stored for this metric"),
    ):
        text = client.get(f"{BY}/position/{facet_key('Q1')}/?metric={metric}").content.decode()
        assert words in text and "not ranked" in text


def test_rare_minus_not_rare(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    found = broken_down("rarity")
    text = unescape(client.get(f"{BY}/rarity/").content.decode())
    assert "rare minus unrare" in text and "Kendall's τ-b -1.00" in text and "Newcombe 1998" in text
    for entry, cells in zip(found.entries, found.cells, strict=True):
        ends = [(cells[f].value, cells[f].low, cells[f].high) for f in ("rare", "unrare")]
        low, high = independent_difference(*ends)
        assert f"{entry.model.name}" in text and f"{100 * low:.1f}" in text and f"{100 * high:.1f}" in text


def test_two_facets_that_share_cases(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    one, other = facet_key("Q1"), facet_key("Q2")
    text = client.get(f"{BY}/position/?one={one}&other={other}").content.decode()
    assert "over the same resampled cases" in text
    assert ">37.5<" in text  # alder: 32/32 - 20/32
    assert client.get(f"{BY}/position/?one={one}&other={one}").status_code == 404


def test_against_the_median(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    text = client.get(f"{BY}/icd_chapter/?model=alder").content.decode()
    part = text[text.index('id="against"') : text.index('id="contrast"')]
    # neoplasms: 20/24 against the mean of 20/24 and 6/24; the eye: 0 against 1/2
    assert ">29.2<" in part and ">-50.0<" in part


@pytest.mark.parametrize(("dimension", "is_there"), [("position", True), ("icd_chapter", False)])
def test_the_pathway_as_lines_stands_above_its_table(
    tmp_path: Path, client: Client, dimension: str, is_there: bool
) -> None:
    world(tmp_path)
    text = client.get(f"{BY}/{dimension}/").content.decode()
    assert ('<figure class="lines">' in text) == is_there
    assert not re.search(r'\sstyle="', text)


def test_interactive_charts_hold_the_figures_of_the_table(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    html = client.get(f"{BY}/icd_chapter/?view=chart").content.decode()
    (told,) = re.findall(r'<script id="heat" type="application/json">(.*?)</script>', html)
    (heat,) = json.loads(told)["data"]
    assert heat["z"] == [[100 * (20 / 24), 0.0], [25.0, 100.0]]
    assert heat["text"] == [["83", "(0)"], ["25", "(100)"]]  # in brackets: eight cases
    assert (
        heat["customdata"][1][1].startswith(f"{EYE} (H00–H59): 100.0 %, 95 % ") and "n = 8" in heat["customdata"][1][1]
    )
    assert "view=table" in html and "83.3" in html and "<noscript>" in html
    assert "plotly" not in client.get(f"{BY}/icd_chapter/").content.decode()


def test_an_interactive_line_has_its_intervals(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    found = broken_down("position")
    lines, heat = charts(found, "")
    assert (lines.key, heat.key) == ("lines", "heat")
    for line, cells in zip(lines.figure["data"], found.cells, strict=True):
        for place, facet in enumerate(("Q1", "Q2")):
            value, bars = cells[facet], line["error_y"]
            assert value.low is not None and value.high is not None
            assert line["y"][place] == 100 * value.value
            assert line["y"][place] + bars["array"][place] == pytest.approx(100 * value.high)
            assert line["y"][place] - bars["arrayminus"][place] == pytest.approx(100 * value.low)


def test_no_name_breaks_out_of_a_chart(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    LanguageModel.objects.filter(slug="alder").update(name="</script><script>alert(1)</script>")
    html = client.get(f"{BY}/icd_chapter/?view=chart").content.decode()
    assert "<script>" not in html and "alert(1)" in html


def test_the_first_line_of_the_pathway_is_the_chosen_one(tmp_path: Path) -> None:
    world(tmp_path)
    lines = pathway(broken_down("position"), "birch")
    assert lines is not None and [line.name for line in lines.lines] == ["birch", "alder"]
    assert lines.lines[0].whiskers and not lines.lines[1].whiskers
    assert pathway(broken_down("rarity", "question_accuracy")) is not None  # no whiskers are no fault


def test_a_board_of_other_facets(tmp_path: Path, client: Client) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 3}))
    response = client.get(f"/boards/{EHR_BOARD}/by/")
    assert response.status_code == 302
    assert client.get(response.headers["Location"]).status_code == 200


@pytest.mark.parametrize("form", ["csv", "json", "md", "tex", "parquet", "html"])
def test_every_form_holds_the_same_table(tmp_path: Path, client: Client, form: str) -> None:
    world(tmp_path)
    response = client.get(f"{BY}/icd_chapter/?format={form}")
    assert response.status_code == 200 and response.headers["Content-Disposition"].startswith("attachment")
    assert form == "parquet" or "83.3" in response.content.decode()


def test_queries_do_not_grow(
    tmp_path: Path, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world(tmp_path, {name: ["AB"] * n + ["CC"] * (CASES - n) for n, name in enumerate(("a", "b", "c", "d"), 5)})
    cache.clear()
    for path in ("icd_chapter/", "position/", f"icd_chapter/{facet_key(EYE)}/", "icd_chapter/?model=a"):
        cache.clear()
        with django_assert_max_num_queries(12):
            client.get(f"{BY}/{path}")
        with django_assert_max_num_queries(2):
            client.get(f"{BY}/{path}")


# --- pure --------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_facet_has_a_safe_address_of_its_own(one: str, other: str) -> None:
    key = facet_key(one)
    assert key == facet_key(one) and not set(key) & set("/?#%&=+.\\ \n") and key.strip("-") == key
    assert one == other or key != facet_key(other)


@given(st.floats(0, 1), st.floats(0, 1))
def test_steps_follow_the_figures(one: float, other: float) -> None:
    top = top_of([one, other], "%")
    assert (
        0 <= step_of(one, top) <= 20 and max(one, other) <= top + 1e-9 <= max(one, other) + 0.1 + 1e-8
    ) or top == 0.1
    assert one > other or step_of(one, top) <= step_of(other, top)


def test_the_colours_end_at_a_round_figure() -> None:
    assert [round(top_of([value], "%"), 9) for value in (0.0, 0.05, 0.3, 0.61, 1.0)] == [0.1, 0.1, 0.3, 0.7, 1.0]
    assert top_of([], "%") == 0.1 and top_of([4.2], "") == 5


@given(st.lists(st.floats(16, 254), min_size=1, max_size=5))
def test_names_of_lines_stand_apart(places: list[float]) -> None:
    moved = _apart(places, 15, 16, 254)
    ordered = sorted(moved)
    assert all(b - a >= 15 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert np.argsort(moved, kind="stable").tolist() == np.argsort(places, kind="stable").tolist()


def test_names_of_facets() -> None:
    live, med = BENCHMARKS["liveclin"], BENCHMARKS["llmeval-med"]
    assert short(live, "icd_chapter", NEOPLASMS) == "Neoplasms"
    assert full(live, "icd_chapter", NEOPLASMS) == "Chapter 2: Neoplasms (C00–D48)"
    assert full(live, "icd_chapter", "Chapter 99: Odd") == "Chapter 99: Odd"
    assert full(live, "rarity", "unrare") == "unrare (not rare)"
    assert short(med, "category", "MK") == "MK Medical knowledge 医疗知识"
    assert short(med, "scene", "") == full(med, "scene", "") == "not given"
