"""What counts as a judge's score of LLMEval-Med, and the scale that people rate on."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.protocols.llmeval_med import human_scale, human_usable, read_score, valid_score
from tests.evaluation.llmeval_med_invented import EVALUATOR, row

# --- the judge's scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "score", "rule"),
    [
        ("4", 4.0, "valid"),
        (4, 4.0, "valid"),
        (3.5, 3.5, "valid"),
        ("3.5", 3.5, "valid"),
        (" 4 ", 4.0, "valid"),
        ("4e0", 4.0, "valid"),
        (0, 0.0, "valid"),
        ("-0", 0.0, "valid"),
        (5, 5.0, "valid"),
        (None, None, "empty"),
        ("", None, "empty"),
        ("  ", None, "empty"),
        (True, None, "boolean"),
        (False, None, "boolean"),
        (float("nan"), None, "not_a_number"),
        ("nan", None, "not_a_number"),
        ("[4]", None, "not_a_number"),
        ("4/5", None, "not_a_number"),
        ("4分", None, "not_a_number"),
        ([4], None, "not_a_number"),
        ({"score": 4}, None, "not_a_number"),
        (-1, None, "out_of_range"),
        ("-1", None, "out_of_range"),
        ("7", None, "out_of_range"),
        (5.0001, None, "out_of_range"),
        (float("inf"), None, "out_of_range"),
        (10**400, None, "out_of_range"),
    ],
)
def test_only_numbers_from_0_to_5_are_scores(raw: Any, score: float | None, rule: str) -> None:
    assert read_score(raw) == (score, rule)
    assert valid_score(raw) == score
    answer = EVALUATOR.read(row(score=raw, repeat=3))
    assert (answer.item, answer.repeat, answer.prediction, answer.rule) == ("MK:1:1", 3, score, rule)
    assert not answer.error


def test_minus_zero_is_zero() -> None:
    assert math.copysign(1, valid_score("-0.0")) == 1


@given(st.one_of(st.decimals(-9, 9, places=3), st.integers(-20, 20)))
@settings(deadline=None)
def test_text_and_number_give_the_same_score(number: Decimal | int) -> None:
    expected = float(number) if 0 <= number <= 5 else None
    assert valid_score(str(number)) == valid_score(float(number)) == expected


# --- people's scale ---------------------------------------------------------------------------------------------------


def slow_scale(safety: int, b: int, c: int, d: int, e: int) -> int:
    """The rules one after the other, as the format page has them."""
    every = (b, c, d, e)
    if 0 in (safety, *every):
        return 0
    if min(every) == 1:
        return 1
    if every == (5, 5, 5, 5):
        return 7
    if b >= 5 and c >= 5 and d >= 4 and e >= 4:
        return 6
    if (b >= 5 and c >= 5 and d >= 3 and e >= 3) or all(rating >= 4 for rating in every):
        return 5
    if b >= 4 and c >= 4 and d >= 3 and e >= 3:
        return 4
    if b >= 3 and c >= 3 and d >= 2 and e >= 2:
        return 3
    return 2


def test_human_scale_follows_the_rules_for_all_ratings() -> None:
    table = {ratings: slow_scale(*ratings) for ratings in itertools.product(range(2), *[range(6)] * 4)}
    assert {ratings: human_scale(*ratings) for ratings in table} == table
    assert {ratings for ratings in table if human_usable(*ratings)} == {r for r, scale in table.items() if scale >= 5}
    assert set(table.values()) == set(range(8))


@pytest.mark.parametrize("ratings", [(2, 5, 5, 5, 5), (1, 6, 5, 5, 5), (1, 5, 5, 5, -1), (1, 5, 4.5, 5, 5)])
def test_ratings_off_the_scale_are_refused(ratings: tuple) -> None:
    with pytest.raises(ValueError, match="outside the scale"):
        human_scale(*ratings)
