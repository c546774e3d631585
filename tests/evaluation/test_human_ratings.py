"""Agreement of judge and people against counting by hand and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from evaluation.protocols.human_ratings import Rating, agreement
from evaluation.protocols.llmeval_med import human_usable

GOOD, BAD, UNSAFE = Rating(1, 5, 5, 5, 5), Rating(1, 3, 3, 3, 3), Rating(0, 5, 5, 5, 5)


def test_by_hand() -> None:
    judged = np.array([1.0, 1.0, 0.0, 0.0, math.nan])
    ratings = [(0, GOOD), (0, GOOD), (1, UNSAFE), (2, BAD), (3, GOOD), (4, GOOD)]
    found = agreement(judged, ratings, np.arange(5), seed="h")
    assert found.table == ((1, 1), (1, 2))  # people not usable: judge no, yes; people usable: judge no, yes
    assert (found.n, found.items, found.unjudged) == (5, 4, 1)
    assert found.rate == 3 / 5 and found.low < 3 / 5 < found.high
    # chance: both usable 3/5 x 3/5, both not 2/5 x 2/5
    assert found.kappa == pytest.approx((3 / 5 - 13 / 25) / (1 - 13 / 25))


@pytest.mark.parametrize("ratings", [[], [(0, GOOD)]])
def test_nothing_to_compare_has_no_figure(ratings: list) -> None:
    found = agreement(np.array([math.nan]), ratings, np.arange(1), seed="n")
    assert (found.n, found.items, found.unjudged) == (0, 0, len(ratings))
    assert (found.rate, found.low, found.high, found.kappa) == (None, None, None, None)


def test_one_rating_and_full_agreement_have_width_and_no_kappa() -> None:
    for n in (1, 2, 30):
        found = agreement(np.ones(n), [(item, GOOD) for item in range(n)], np.arange(n), seed="1")
        assert (found.rate, found.kappa, found.high) == (1, None, 1)
        assert found.low < 0.95


def test_ratings_off_their_scales_are_refused() -> None:
    with pytest.raises(ValueError, match="outside the scale"):
        agreement(np.ones(1), [(0, Rating(1, 6, 5, 5, 5))], np.arange(1), seed="x")


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.builds(Rating, st.integers(0, 1), *[st.integers(0, 5)] * 4)), max_size=40),
    st.lists(st.sampled_from([0.0, 1.0, math.nan]), min_size=10, max_size=10),
    st.randoms(),
)
def test_the_table_and_kappa_are_those_of_a_plain_count(ratings: list, judged: list[float], random: object) -> None:
    found = agreement(np.array(judged), ratings, np.arange(10) // 2, seed="p")
    pairs = [(human_usable(*rating), judged[item] == 1) for item, rating in ratings if judged[item] in (0, 1)]
    assert found.n == len(pairs) and found.unjudged == len(ratings) - len(pairs)
    table = [[sum(pair == (people, judge) for pair in pairs) for judge in (False, True)] for people in (False, True)]
    assert [list(row) for row in found.table] == table
    if pairs:
        assert found.rate == pytest.approx(sum(people == judge for people, judge in pairs) / len(pairs))
        assert found.low <= found.rate <= found.high
    if found.kappa is not None:
        assert found.kappa == pytest.approx(cohens_kappa(np.array(table)).kappa, abs=1e-9)
    shuffled = random.sample(ratings, len(ratings))
    assert agreement(np.array(judged), shuffled, np.arange(10) // 2, seed="p") == found
