"""Answers and verdicts in columns give back what was put in."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.protocols.base import Answer, Answers, Outcome, Verdict, Verdicts, joined
from ingest.readers.base import Row, Rows, duplicate_counts

TEXTS = st.text(st.characters(codec=None), max_size=5)  # lone surrogates too
PREDICTIONS = st.none() | TEXTS | st.floats(allow_nan=False) | st.lists(TEXTS, max_size=3).map(tuple)
EXTRAS = st.none() | st.tuples(TEXTS, st.booleans()) | st.lists(TEXTS, max_size=2)
ANSWERS = st.lists(
    st.builds(
        Answer,
        st.sampled_from("abc"),
        st.integers(1, 3),
        PREDICTIONS,
        st.sampled_from(["x", "y"]),
        st.booleans(),
        EXTRAS,
    )
)


@given(ANSWERS)
def test_answers_come_back_as_they_were(answers: list[Answer]) -> None:
    columns = Answers(answers)
    assert list(columns) == answers
    assert columns[1:-1] == answers[1:-1]
    assert columns.repeats == sorted({answer.repeat for answer in answers})
    assert set(columns.ids) == {answer.item for answer in answers}
    empty = (None, (), "")
    assert [Outcome(status) for status in columns.status] == [
        Outcome.ERROR if a.error else Outcome.NO_ANSWER if a.prediction in empty else Outcome.WRONG for a in answers
    ]


@given(ANSWERS, ANSWERS)
def test_joined_answers_follow_one_another(first: list[Answer], second: list[Answer]) -> None:
    assert list(joined([Answers(first), Answers(), Answers(second)])) == first + second


def test_the_only_part_is_not_copied() -> None:
    only = Answers([Answer("a", 1, None, "x")])
    assert joined([Answers(), only]) is only


def test_places_outside_are_refused() -> None:
    columns = Answers([Answer("a", 1, None, "x"), Answer("b", 1, None, "x")])
    assert (columns[-1].item, columns[-2].item) == ("b", "a")
    for index in (2, -3):
        with pytest.raises(IndexError):
            columns[index]


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.none() | st.floats(0, 1))), st.integers(0, 5))
def test_verdicts_come_back_as_they_were(pairs: list[tuple[Outcome, float | None]], start: int) -> None:
    columns = Verdicts()
    for pair in pairs:
        columns.add(*pair)
    expected = [Verdict(*pair) for pair in pairs]
    assert list(columns) == expected
    columns.extend(columns, start)
    assert list(columns) == expected + expected[start:]


@given(ANSWERS)
def test_duplicates_against_plain_counting(answers: list[Answer]) -> None:
    groups = defaultdict(list)
    for answer in answers:
        groups[answer.item, answer.repeat].append(answer.prediction)
    twins = [{repr(each) for each in group} for group in groups.values() if len(group) > 1]
    expected = sum(len(group) == 1 for group in twins), sum(len(group) > 1 for group in twins)
    assert duplicate_counts(Answers(answers), lambda answer: repr(answer.prediction)) == expected


def test_rows_keep_their_places_with_and_without_pointers() -> None:
    rows = Rows()
    given = [
        Row(Answer("a", 1, "A", "x"), 1, 0, 10),
        Row(Answer("b", 1, "B", "x"), 0, 11, 5, "/1"),
        Row(Answer("c", 1, "C", "x"), 3, 17, 2**40),
    ]
    for row in given:
        rows.append(row)
    assert list(rows) == given and rows[-1] == given[-1]
    assert list(rows.pointers) == ["", "/1", ""]
