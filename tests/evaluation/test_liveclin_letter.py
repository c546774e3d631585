"""The letter of LiveClin's official rules, against what the public evaluator took and a plain second reading."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation.protocols import liveclin
from evaluation.protocols.liveclin import official_letter
from tests.evaluation.liveclin_invented import CONFORMANCE, needs_shared, plain_letter


@needs_shared
def test_letters_are_the_official_ones() -> None:
    lines = [json.loads(line) for line in (CONFORMANCE / "answers.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) > 200
    assert [official_letter(line["response"])[0] for line in lines] == [line["letter"] for line in lines]


@pytest.mark.parametrize(
    ("response", "letter", "rule", "place"),
    [
        (r"so \boxed{ c }, later \boxed{D}", "C", "boxed", 11),
        (r"The answer is D. \BOXED{b}", "B", "boxed", 24),
        ("selected option - H", "H", "phrase", 18),
        ("the answer is j", "J", "phrase", 14),
        ("my answers: B and E", "B", "phrase", 12),
        ("an optional F test", "F", "last_capital", 12),
        ("A or B\n (c)\n d.) \nthanks", "D", "last_line", 13),
        ("c", "C", "last_line", 0),
        ("A\r\nnothing more", "A", "last_line", 0),
        ("A x\n)\n", "A", "last_capital", 0),
        ("I am not sure", "I", "last_capital", 0),
        ("**Answer**: C. because A fits better", "A", "last_capital", 23),
        (r"\boxed{A, C}", "C", "last_capital", 10),
        ("Hepatitis B was given; no choice is correct", "B", "last_capital", 10),
        ("答案是（C）", "C", "last_capital", 4),
    ],
)
def test_each_rule_says_where_it_took_the_letter(response: str, letter: str, rule: str, place: int) -> None:
    assert official_letter(response) == (letter, rule, (place, place + 1))


@pytest.mark.parametrize(
    "response", [None, "", "  \n ", "K", "the answer isAA", "Ｃ", "答案是C", "none of them", "answer: İ"]
)
def test_no_rule_no_letter(response: str | None) -> None:
    assert official_letter(response) == (None, "none", None)


WORDS = ["\\boxed{", "}", "answer", "Option", "selected option", " is", ":", "-", "**", "the", "é", "_", ".", ")", "("]
SIGNS = ["\n", "\r", " ", "\t", "\u00a0", "\u200b", "i", "s", "a", "I", "J", "K", "C", "B"]
texts = st.lists(st.sampled_from(WORDS + SIGNS), max_size=12).map("".join)


@settings(deadline=None, max_examples=500)
@given(texts)
@example("answer is i")
@example("answer iii sis")
@example("\n\nA\n.\n)\n x")
def test_the_letter_equals_the_plain_reading(response: str) -> None:
    assert official_letter(response)[0] == plain_letter(response)


@settings(deadline=None)
@given(st.text() | texts)
@example("answer: ı")
def test_the_letter_is_one_of_ten_and_stands_where_it_is_said(response: str) -> None:
    letter, rule, span = official_letter(response)
    if letter is None:
        assert (rule, span) == ("none", None)
    else:
        assert letter in tuple(liveclin.LETTERS)
        assert rule in liveclin.LETTER_RULES
        assert response[slice(*span)].upper() == letter


MEGABYTE = 2**20


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "\n",
        "i",
        "A",
        "A)",
        "a.",
        "A x\n",
        "\\boxed{",
        "answer ",
        "selected option is ",
        "\\boxed{ ",
        "a\n.x",
        "\n)",
    ],
)
@pytest.mark.parametrize(("start", "end"), [("", ""), ("answer", "x"), ("\\boxed{", "x"), ("A", "x")])
def test_a_megabyte_is_searched_in_linear_time(start: str, unit: str, end: str) -> None:
    response = start + unit * (MEGABYTE // len(unit)) + end
    begin = time.process_time()
    official_letter(response)
    # a tenth of that is usual; a quadratic search would take hours
    assert time.process_time() - begin < 2
