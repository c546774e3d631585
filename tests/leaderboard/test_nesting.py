"""Facets below facets: clusters stand under the chapter that all their items carry, on every page and in every file."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from evaluation.benchmarks import BENCHMARKS
from leaderboard import facetnames
from leaderboard.breakdowns import within
from leaderboard.facetnames import facet_key
from tests.ingest.trees import Tree, ehr_gold, live_case, live_results, run_path
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, broken_down, ehr_rows, load

pytestmark = pytest.mark.django_db
KIDNEY, NEOPLASMS, EYE = (
    "Chapter 14: Diseases of the genitourinary system",
    "Chapter 2: Neoplasms",
    "Chapter 7: Diseases of the eye and adnexa",
)
STONES, SKIN, BONE, LENS = "Stones (N20-N23)", "Skin (C43-C44)", "Bone (C40-C41)", "Lens (H25-H28)"
NOT_GIVEN = "not given"
# chapter, cluster, cases: not in the order of ICD-10, and one cluster that two chapters share
PARTS = [(KIDNEY, STONES, 6), (NEOPLASMS, SKIN, 21), (NEOPLASMS, BONE, 4)]
PARTS += [(NEOPLASMS, None, 3), (EYE, None, 2), (EYE, LENS, 5)]
BY = f"/boards/{LIVE_BOARD}/by"


def world(root: Path, parts: list[tuple[str, str | None, int]] | None = None) -> None:
    """Cases of two questions, gold A and B: alder is right on the first 20 cases, birch on the first question of each."""
    tree = Tree(root)
    levels = [(chapter, cluster) for chapter, cluster, count in parts or PARTS for _ in range(count)]
    cases = [live_case(f"PMC{n}", "AB", Level1=one, Level2=two) for n, (one, two) in enumerate(levels)]
    tree.lines("dataset.jsonl", cases)
    for model, pairs in (("alder", ["AB"] * 20 + ["CC"] * (len(cases) - 20)), ("birch", ["AC"] * len(cases))):
        tree.json(f"{model}.json", live_results(model, {f"PMC{n}": pair for n, pair in enumerate(pairs)}))
    load(tree)


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return unescape(response.content.decode())


def spans(text: str) -> list[tuple[str, int, str]]:
    """What stands above the heads: text, width and title."""
    found = re.findall(r'<th scope="colgroup" colspan="(\d+)" title="([^"]*)">(.*?)</th>', text)
    return [(re.sub(r"<[^>]*>", "", inside), int(width), title) for width, title, inside in found]


ABOVE = [
    ("Neoplasms", 2, "Chapter 2: Neoplasms (C00–D48)"),
    ("Diseases of the eye and adnexa", 1, "Chapter 7: Diseases of the eye and adnexa (H00–H59)"),
    ("Diseases of the genitourinary system", 1, "Chapter 14: Diseases of the genitourinary system (N00–N99)"),
    ("more than one ICD-10 chapter", 1, "Their items do not all carry the same ICD-10 chapter."),
]


def test_clusters_stand_in_the_order_of_chapters_then_of_codes_and_shared_ones_last(tmp_path: Path) -> None:
    world(tmp_path)
    found = broken_down("disease_cluster")
    assert found.facets == [BONE, SKIN, LENS, STONES, NOT_GIVEN]
    assert [found.above[facet].facet for facet in found.facets] == [NEOPLASMS, NEOPLASMS, EYE, KIDNEY, None]


@pytest.mark.parametrize("view", ["", "?view=table", f"?sort={facet_key(SKIN)}"])
def test_the_chapters_stand_above_their_clusters(tmp_path: Path, client: Client, view: str) -> None:
    world(tmp_path)
    text = page(client, f"{BY}/disease_cluster/{view}")
    assert spans(text) == ABOVE
    if view != "?view=table":
        assert f'<a href="{BY}/icd_chapter/{facet_key(NEOPLASMS)}/">Neoplasms</a>' in text
        assert text.count("sort=") >= 5 and text.count('class="facet first"') == 4
    if "sort" in view:
        assert text.count("aria-sort=") == 1 and text.index(">alder<") < text.index(">birch<")


def test_files_hold_the_chapters_too(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    address = f"{BY}/disease_cluster/?format="
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}csv").content.decode())))
    assert [name for name in rows[0] if name.endswith(", %")] == [
        "All, %",
        "Neoplasms: Bone (C40-C41), n = 4, %",
        "Neoplasms: Skin (C43-C44), n = 21, %",
        "Diseases of the eye and adnexa: Lens (H25-H28), n = 5, %",
        "Diseases of the genitourinary system: Stones (N20-N23), n = 6, %",
        "more than one ICD-10 chapter: not given, n = 5, %",
    ]
    columns = json.loads(client.get(f"{address}json").content)["columns"]
    assert [column["over_help"] for column in columns[2:4]] == ["Chapter 2: Neoplasms (C00–D48)"] * 2
    assert r"\multicolumn{2}{c}{Neoplasms}" in client.get(f"{address}tex").content.decode()


def test_against_the_median_in_groups(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    text = page(client, f"{BY}/disease_cluster/?model=alder")
    part = text[text.index('id="against"') : text.index('id="contrast"')]
    names = ["Chapter 2: Neoplasms (C00–D48)", BONE, SKIN, "Chapter 7: ", LENS, "Chapter 14: ", STONES, "more than one"]
    places = [part.index(name) for name in names]
    assert places == sorted(places) and part.count('<th scope="rowgroup"') == 4


def test_a_dimension_that_lies_in_nothing_has_no_groups(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    assert not broken_down("rarity").above and not broken_down("icd_chapter").above
    assert "colgroup" not in page(client, f"{BY}/icd_chapter/") + page(client, f"{BY}/icd_chapter/?view=table")


def test_no_groups_where_no_cluster_lies_in_just_one_chapter(tmp_path: Path, client: Client) -> None:
    world(tmp_path, [(NEOPLASMS, None, 11), (EYE, None, 11)])
    assert broken_down("disease_cluster").facets == [NOT_GIVEN]
    assert "colgroup" not in page(client, f"{BY}/disease_cluster/")


def test_what_carries_nothing_above_is_unmapped_and_last(tmp_path: Path, client: Client) -> None:
    tree = Tree(tmp_path)
    questions = [f"q{n:02}" for n in range(20)]
    tasks = ["odd_task"] * 5 + ["diagnoses_icd"] * 8 + ["labevents"] * 7
    gold = ehr_gold({question: ["Alpha"] for question in questions})
    tree.json("gold/ehr_bench.json", [row | {"task": task} for row, task in zip(gold, tasks, strict=True)])
    tree.lines(run_path("alder"), ehr_rows(9))
    load(tree)
    text = page(client, f"/boards/{EHR_BOARD}/by/task/")
    assert [span[0] for span in spans(text)] == ["Diagnosis_coding", "Lab_Microbiology_orders", "unmapped"]
    odd = page(client, f"/boards/{EHR_BOARD}/by/task/{facet_key('odd_task')}/")
    assert 'class="within"' not in odd
    group = page(client, f"/boards/{EHR_BOARD}/by/task_group/{facet_key('Diagnosis_coding')}/")
    assert "This task group by task" in group and "The columns add up to all 8 questions of this task group" in group


def test_the_page_of_a_chapter_shows_its_own_clusters_with_n(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    found = broken_down("icd_chapter")
    below = within(found, NEOPLASMS, "disease_cluster")
    assert below is not None and below.facets == [BONE, SKIN]
    whole = {entry.key: value for entry, value in zip(below.entries, below.whole, strict=True)}
    assert {key: (value.value, value.n) for key, value in whole.items() if value} == {
        "alder": (14 / 28, 28),
        "birch": (0.0, 28),
    }
    text = page(client, f"{BY}/icd_chapter/{facet_key(NEOPLASMS)}/")
    part = text[text.index("This ICD-10 chapter by disease cluster") :]
    assert re.findall(r'<td class="hm hm-\d+( few)?" title="[^"]*, n = (\d+)">([^<]*)</td>', part) == [
        (" few", "4", "0"),
        ("", "21", "67"),
        (" few", "4", "0"),
        ("", "21", "0"),
    ]
    assert f'href="{BY}/disease_cluster/{facet_key(SKIN)}/"' in part and LENS not in part
    assert "Sort" not in part and "Against the median" not in part
    assert (
        "3 of 28 cases carry no disease cluster that lies in this ICD-10 chapter alone and stand in no column: the columns "
        "do not add up to the whole."
    ) in part


def test_the_clusters_of_a_chapter_add_up_to_it(tmp_path: Path, client: Client) -> None:
    world(tmp_path, [(EYE, LENS, 10), (NEOPLASMS, SKIN, 7), (NEOPLASMS, BONE, 6)])
    text = page(client, f"{BY}/icd_chapter/{facet_key(NEOPLASMS)}/")
    assert "The columns add up to all 13 cases of this ICD-10 chapter; none is unmapped." in text
    questions = page(client, f"{BY}/icd_chapter/{facet_key(NEOPLASMS)}/?metric=question_accuracy")
    assert "The columns add up to all 26 questions of this ICD-10 chapter; none is unmapped." in questions
    assert f'href="{BY}/disease_cluster/{facet_key(SKIN)}/?metric=question_accuracy"' in questions


def test_rows_below_a_chapter_are_in_the_order_of_its_own_board(tmp_path: Path, client: Client) -> None:
    tree = Tree(tmp_path)
    levels = [(NEOPLASMS, SKIN)] * 10 + [(EYE, LENS)] * 8
    tree.lines("dataset.jsonl", [live_case(f"PMC{n}", "A", Level1=a, Level2=b) for n, (a, b) in enumerate(levels)])
    for model, letters in (("alder", "A" * 10 + "C" * 8), ("birch", "C" * 10 + "A" * 8)):
        tree.json(f"{model}.json", live_results(model, {f"PMC{n}": letter for n, letter in enumerate(letters)}))
    load(tree)
    text = page(client, f"{BY}/icd_chapter/{facet_key(EYE)}/")
    part = text[text.index("This ICD-10 chapter by") :]
    assert part.index(">birch<") < part.index(">alder<")


def test_a_cluster_leads_up_to_its_chapter_and_a_shared_one_does_not(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    text = page(client, f"{BY}/disease_cluster/{facet_key(SKIN)}/?metric=question_accuracy")
    chapter = f"{BY}/icd_chapter/{facet_key(NEOPLASMS)}/?metric=question_accuracy"
    assert f'<a href="{chapter}">Chapter 2: Neoplasms (C00–D48)</a>' in text
    assert client.get(chapter).status_code == 200
    assert 'class="within"' not in page(client, f"{BY}/disease_cluster/{facet_key(NOT_GIVEN)}/")
    assert "This disease cluster by" not in text


def test_queries_stay_few(
    tmp_path: Path, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world(tmp_path)
    clusters = f"{BY}/disease_cluster/"
    for address in (clusters, f"{clusters}{facet_key(SKIN)}/", f"{BY}/icd_chapter/{facet_key(NEOPLASMS)}/"):
        client.get(address)
        with django_assert_max_num_queries(10):  # its ranks are kept, the page of other choices is not
            client.get(f"{address}?metric=case_accuracy")
        facetnames._members.cache_clear()
        facetnames._carried.cache_clear()
        cache.clear()
        with django_assert_max_num_queries(14):
            client.get(address)


def test_each_pair_is_of_declared_dimensions_and_leads_to_an_end() -> None:
    for spec in BENCHMARKS.values():
        for dimension in spec.nested:
            seen = [dimension]
            while (parent := spec.nested.get(seen[-1])) is not None:
                assert parent in spec.dimensions and parent not in seen
                seen.append(parent)
            assert dimension in spec.dimensions
