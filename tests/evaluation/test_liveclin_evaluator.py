"""LiveClin's evaluators on small cases whose figures are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation import statistics
from evaluation.protocols import liveclin
from evaluation.protocols.base import Answer, ItemSpec, Outcome
from evaluation.protocols.liveclin import LiveClinMCQ, LiveClinOfficial, QuestionRow
from tests.evaluation.liveclin_invented import OFFICIAL, find, make_case, mcq, row, score


@pytest.fixture(scope="module")
def two_cases() -> list[ItemSpec]:
    """Case X with gold A, B; case Y with gold C, D, E."""
    return liveclin.items(
        [make_case("X", mcq("A"), mcq("B")), make_case("Y", mcq("C"), mcq("D"), mcq("E"), Rarity="unrare")]
    )


def test_an_answer_carries_the_rule_and_the_types_of_its_row() -> None:
    read = OFFICIAL.read(QuestionRow("P1", 2, r"\boxed{d}", None, ["CT"], None, 3))
    assert read == Answer("P1:2", 3, "D", "boxed", False, (("CT",), (), "D", "boxed"))
    failed = OFFICIAL.read(QuestionRow("P1", 0, "B", "Rate limit: 429"))
    assert failed == Answer("P1:0", 1, None, "none", True, ((), (), None, "empty"))
    assert OFFICIAL.taken(read) == ("D", "boxed")


def test_a_case_counts_when_all_its_questions_are_right(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("Y:0", "C"),
        row("X:0", "A"),
        row("X:1", "B"),
        row("Y:1", None, error="API error: 502"),
        row("Y:2", None, error="Skipped: prior question failed"),
    )
    assert [(verdict.outcome, verdict.value) for verdict in result.verdicts] == [
        *[(Outcome.RIGHT, 1.0)] * 3,
        *[(Outcome.ERROR, 0.0)] * 2,
    ]
    cases, questions, errors = (find(result, metric) for metric in ("case_accuracy", "question_accuracy", "error_rate"))
    assert (cases.value, cases.n, cases.n_answered) == (0.5, 2, 1)
    assert (questions.value, questions.n, questions.n_answered) == (0.6, 5, 3)
    assert (errors.value, errors.n) == (0.4, 5)
    assert find(result, "error_rate", "position", "Q2").value == 0.5
    assert find(result, "case_accuracy", "rarity", "rare").value == 1.0
    assert result.vectors[1, "outcome"].tolist() == [2, 2, 2, 4, 4]
    assert result.vectors[1, "outcome"].dtype == np.uint8
    assert result.vectors[1, "question_accuracy"].tolist() == [1, 1, 1, 0, 0]
    assert result.vectors[1, "case_accuracy"].tolist() == [1, 1, 0, 0, 0]
    assert set(result.vectors) == {
        (repeat, name) for repeat in (0, 1) for name in ("outcome", "question_accuracy", "case_accuracy")
    }


def test_missing_questions_are_wrong_and_only_missing_cases_leave_done_only(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"))
    full, done = (find(result, "question_accuracy", variant=variant) for variant in ("", "done_only"))
    assert (full.value, full.n, full.n_answered) == (0.2, 5, 1)
    assert (done.value, done.n, done.n_answered) == (1.0, 1, 1)
    done = find(result, "case_accuracy", variant="done_only")
    assert (done.value, done.n, done.n_answered) == (0.0, 1, 0)
    np.testing.assert_array_equal(result.vectors[1, "question_accuracy"], [1, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(result.vectors[1, "case_accuracy"], [0, 0, np.nan, np.nan, np.nan])
    empty = find(result, "case_accuracy", "rarity", "unrare", "done_only")
    assert (empty.value, empty.n, empty.ci_low) == (None, 0, None)


def test_duplicates_and_strangers_are_told_and_not_counted(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("X:0", "B"),
        row("X:0", "A"),
        row("Z:0", "A"),
        row("Z:1", "-"),
        row("X:9", None, error="API error: 502"),
    )
    assert [(verdict.outcome, verdict.value) for verdict in result.verdicts] == [
        (Outcome.WRONG, 0.0),
        (Outcome.RIGHT, 1.0),
        (Outcome.WRONG, None),
        (Outcome.NO_ANSWER, None),
        (Outcome.ERROR, None),
    ]
    assert [(code, key) for code, key, _ in result.notes] == [
        ("duplicate", "X:0"),
        ("off_dataset", "Z:0"),
        ("off_dataset", "Z:1"),
        ("off_dataset", "X:9"),
    ]
    assert result.vectors[1, "outcome"].tolist() == [1, 0, 0, 0, 0]
    assert find(result, "question_accuracy").value == 0.0


def test_repeats_are_averaged_by_question_and_by_case(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        *(row("X:0", "A", repeat) for repeat in (1, 2, 3)),
        *(row("X:1", letter, repeat) for repeat, letter in ((1, "B"), (2, "C"), (3, "B"))),
        row("Y:0", "C", 2),
        row("Y:1", "-", 2),
        row("Y:1", None, 3, "API error: 502"),
    )
    assert find(result, "case_accuracy", repeat=2).value == 0.0
    over = find(result, "case_accuracy", repeat=None)
    assert (over.value, over.n, over.n_answered) == (pytest.approx((2 / 3 + 0) / 2), 2, 1)
    over = find(result, "question_accuracy", repeat=None)
    assert (over.value, over.n, over.n_answered) == (pytest.approx((1 + 2 / 3 + 1 + 0 + 0) / 5), 5, 3)
    assert find(result, "error_rate", repeat=None).value == pytest.approx(0.5 / 5)
    assert result.vectors[0, "outcome"].tolist() == [
        Outcome.RIGHT,
        Outcome.RIGHT,
        Outcome.RIGHT,
        Outcome.NO_ANSWER,
        Outcome.MISSING,
    ]
    np.testing.assert_allclose(result.vectors[0, "case_accuracy"], [2 / 3, 2 / 3, 0, 0, 0])


def test_one_repeat_alone_keeps_its_number(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A", 3))
    assert {aggregate.repeat for aggregate in result.aggregates} == {3}
    np.testing.assert_array_equal(result.vectors[0, "outcome"], result.vectors[3, "outcome"])


def test_per_figure_counts_the_rows_own_types(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("X:0", "A", images=["CT", "PET/CT", "Karyotype"]),
        row("X:1", "-", images=["CT"], tables=["Cytology"]),
        row("Z:0", "A", images=["MRI"]),
    )
    found = {
        (aggregate.dimension, aggregate.facet): (aggregate.value, aggregate.n, aggregate.n_answered)
        for aggregate in result.aggregates
        if aggregate.variant == "per_figure"
    }
    assert found == {
        ("image_modality", "CT"): (pytest.approx(2 / 3), 3, 2),
        ("image_modality", "PET & SPECT"): (1.0, 1, 1),
        ("image_modality", "unmapped"): (1.0, 1, 1),
        ("table_modality", "unmapped"): (0.0, 1, 0),
    }


def test_nothing_at_all_is_blank_and_no_crash(two_cases: list[ItemSpec]) -> None:
    result = score([], row("X:0", "A"))
    assert {(aggregate.value, aggregate.n, aggregate.ci_low) for aggregate in result.aggregates} == {(None, 0, None)}
    assert result.vectors[1, "case_accuracy"].shape == (0,)
    result = score(two_cases)
    assert find(result, "case_accuracy").value == 0.0
    assert find(result, "case_accuracy", variant="done_only").value is None


def test_intervals(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"), row("X:1", "B"), row("Y:0", "C"))
    cases = find(result, "case_accuracy")
    assert (cases.ci_low, cases.ci_high) == statistics.wilson(1, 2)
    questions = find(result, "question_accuracy")
    [expected] = statistics.mean_intervals(
        np.asarray([1.0, 1, 1, 0, 0]), [np.arange(5)], np.asarray([0, 0, 1, 1, 1]), seed="seed"
    )
    assert (questions.ci_low, questions.ci_high) == expected
    certain = find(result, "question_accuracy", "rarity", "rare")
    assert certain.value == 1.0 and certain.ci_low < certain.ci_high
    texts = [aggregate for aggregate in result.aggregates if aggregate.dimension == "stage_text"]
    assert [(aggregate.variant, aggregate.ci_low) for aggregate in texts] == [("", None)]


def test_cases_over_repeats_have_an_interval_from_resampled_cases(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"), row("X:1", "B"), row("X:0", "A", 2), row("X:1", "A", 2))
    over = find(result, "case_accuracy", repeat=None)
    [expected] = statistics.mean_intervals(np.asarray([0.5, 0.0]), [np.arange(2)], np.arange(2), seed="seed")
    assert (over.value, over.ci_low, over.ci_high) == (0.25, *expected)


def test_the_order_of_the_answers_changes_nothing(two_cases: list[ItemSpec]) -> None:
    rows = [row(item.key, letter, images=["CT"]) for item, letter in zip(two_cases, "ABCAE", strict=True)]
    assert score(two_cases, *rows).aggregates == score(two_cases, *reversed(rows)).aggregates


def test_the_fingerprint_follows_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = OFFICIAL.fingerprint
    assert before == LiveClinOfficial().fingerprint and len(before) == 64
    changes = {
        "KEYWORDS": liveclin.KEYWORDS | {"stage": {}},
        "TABLE_WORDS": {},
        "LETTER_RULES": dict(list(liveclin.LETTER_RULES.items())[:4]),
    }
    seen = {before}
    for name, value in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(liveclin, name, value)
            seen.add(OFFICIAL.fingerprint)
    assert len(seen) == 4


def test_every_metric_is_described() -> None:
    assert OFFICIAL.headline in OFFICIAL.metrics
    assert all(text.endswith(".") for text in OFFICIAL.metrics.values())


def test_the_two_readings_take_their_own_letter() -> None:
    items = liveclin.items([make_case("X", mcq("C"))])
    answer = OFFICIAL.read(row("X:0", "**Answer**: C. because A fits better"))
    assert (OFFICIAL.taken(answer), LiveClinMCQ().taken(answer)) == (("A", "last_capital"), ("C", "phrase"))
    for evaluator, value in ((OFFICIAL, 0.0), (LiveClinMCQ(), 1.0)):
        result = evaluator.evaluate(items, [answer], "seed")
        assert find(result, "case_accuracy").value == result.verdicts[0].value == value
    assert OFFICIAL.fingerprint != LiveClinMCQ().fingerprint


def test_cases_of_hand() -> None:
    """X (2 questions) breaks at its second, Y (3 questions) at its first; Q1 is right in half, Q2 in half, Q3 always."""
    items = liveclin.items([make_case("X", mcq("A"), mcq("B")), make_case("Y", mcq("C"), mcq("D"), mcq("E"))])
    keys = {"X:0": "A", "X:1": "A", "Y:0": "A", "Y:1": "D", "Y:2": "E"}
    result = score(items, *(row(key, letter) for key, letter in keys.items()))
    along = {
        q: (find(result, "first_break", "position", q).value, find(result, "still_right", "position", q).value)
        for q in ("Q1", "Q2", "Q3")
    }
    assert along == {"Q1": (0.5, 0.5), "Q2": (0.5, 0.0), "Q3": (0.0, 0.0)}
    # X: 1/2 x 1/2, Y: 1/2 x 1/2 x 1
    expected = find(result, "expected_case_accuracy")
    assert (expected.value, expected.n, expected.ci_low) == (0.25, 2, None)
    assert find(result, "case_accuracy").value == 0.0
    assert find(result, "case_accuracy", "questions_per_case", "3 questions").n == 1
    # of two questions both stand in the middle
    last = find(result, "question_accuracy", "relative_position", "last 20 %")
    middle = find(result, "question_accuracy", "relative_position", "middle")
    assert (last.value, last.n, middle.value, middle.n) == (1.0, 1, pytest.approx(2 / 3), 3)


def test_cases_right_in_all_and_in_any_repeat(two_cases: list[ItemSpec]) -> None:
    right = {"X:0": "A", "X:1": "B", "Y:0": "C", "Y:1": "D", "Y:2": "E"}
    rows = [row(key, letter, repeat) for repeat in (1, 2) for key, letter in right.items()]
    rows[-1] = row("Y:2", "A", 2)
    result = score(two_cases, *rows)
    for metric, value in (("right_in_all_repeats", 0.5), ("right_in_any_repeat", 1.0)):
        assert (find(result, metric, repeat=None).value, find(result, metric, repeat=None).n) == (value, 2)
    one = score(two_cases, *rows[:5])
    assert not [a for a in one.aggregates if a.metric.startswith("right_in")]


def test_without_items_nothing_is_expected() -> None:
    result = score([], row("X:0", "A"))
    assert (find(result, "expected_case_accuracy").value, find(result, "expected_case_accuracy").n) == (None, 0)
