"""How each figure is computed: every rule of the code stands there, and the examples say what the rules give."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from evaluation.benchmarks import BENCHMARKS
from leaderboard.how import example_table, how_page, said

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("slug", BENCHMARKS)
def test_every_evaluator_and_metric_stands_on_the_page(client: Client, slug: str) -> None:
    page = client.get(f"/how/{slug}/")
    assert page.status_code == 200
    ids = set(re.findall(r'id="([^"]+)"', page.content.decode()))
    for evaluator in BENCHMARKS[slug].evaluators:
        assert {evaluator.name, *(f"{evaluator.name}-{metric}" for metric in evaluator.metrics)} <= ids


def test_an_unknown_benchmark_is_not_there(client: Client) -> None:
    assert client.get("/how/nothing/").status_code == 404


def values(slug: str, metric: str) -> dict[str, tuple[str, str, str]]:
    """Of each example: outcome, value, value with missing left out."""
    evaluator = BENCHMARKS[slug].evaluator
    assert evaluator is not None
    table = example_table(slug, evaluator, metric)
    assert table is not None
    return {row.cells[0].text: tuple(cell.text for cell in row.cells[2:5]) for row in table.rows}  # type: ignore[misc]


# By hand from the rules of formats/, never from the page.
def test_edges_of_set_f1() -> None:
    found = values("ehr-bench", "f1")
    assert found["Both of two gold items, in other case and order"] == ("right", "100.0", "100.0")
    assert found["One of two gold items, nothing else"] == ("right", "66.7", "66.7")
    assert found["One of two gold items and two wrong ones"] == ("right", "40.0", "40.0")
    assert found["A space after the text"] == ("right", "50.0", "50.0")
    assert found["The call failed"] == ("error", "0.0", "0.0")
    assert found["No row for the question"] == ("missing", "0.0", "–")
    assert found["Two questions, one right, one without a row"] == ("right", "50.0", "100.0")
    assert found["No question at all"] == ("missing", "–", "–")


def test_edges_of_a_case() -> None:
    found = values("liveclin", "case_accuracy")
    assert found["A case of three questions, all right"][1] == "100.0"
    assert found["One of three questions wrong"][1] == "0.0"
    assert found["A case without any row"] == ("missing", "0.0", "–")
    assert values("liveclin", "question_accuracy")["One question without a row"][1:] == ("66.7", "100.0")


def test_edges_of_one_gold_item_and_of_judges() -> None:
    found = values("mm-bench", "unified_f1")
    assert found["One gold item, the answer with a full stop and in capitals"][1] == "100.0"
    assert found["One gold item, given with another"][1] == "0.0"
    assert found["Empty gold"][1] == "–"
    found = values("llmeval-med", "usability_rate")
    assert (found["Three judging runs give 5, 4 and 3"][1], found["Three judging runs give 4, 4 and 3"][1]) == (
        "100.0",
        "0.0",
    )


def test_docstrings_are_escaped_and_shown_whole() -> None:
    def function() -> None:
        """One `<b>`.

        - a < b
        - c
        """

    assert said(function) == ["One <code>&lt;b&gt;</code>.", "- a &lt; b", "- c"]


def test_statistics_are_explained_in_the_words_of_the_code() -> None:
    context = how_page(BENCHMARKS["liveclin"])
    assert all(paragraphs for _, paragraphs in context["statistics"])
    assert {name for name, _ in context["outcomes"]} == {"missing", "wrong", "right", "no answer", "error"}
