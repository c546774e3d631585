"""LLMEval-Med's evaluator on small invented runs, its intervals, and what it says of itself."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from evaluation import statistics
from evaluation.protocols import llmeval_med
from evaluation.protocols.base import Outcome
from evaluation.protocols.llmeval_med import LLMEvalMedAggregate, ScoredRow, items
from tests.evaluation.llmeval_med_invented import EVALUATOR, MK, MLU, MR, MSE, MTG, SEED, evaluate, pick, question, row

# --- evaluation -------------------------------------------------------------------------------------------------------


def test_a_question_is_usable_by_the_mean_of_its_valid_scores() -> None:
    rows = [row(score=score, repeat=repeat) for repeat, score in enumerate(["3", "-1", 5], start=1)]
    result = evaluate({MK: [question()]}, rows)
    assert pick(result, "usability_rate", repeat=None).value == 1.0
    assert pick(result, "mean_score", repeat=None).value == 4.0
    assert [pick(result, "usability_rate", repeat=n).value for n in (1, 2, 3)] == [0.0, 0.0, 1.0]


def test_the_mean_at_the_threshold_is_exact() -> None:
    # these floats sum to a hair below 12; added one after the other they round up to it
    scores = [2.8, 4.6, 4.6]
    assert float(sum(map(Fraction, scores)) / 3) < 4 <= sum(scores) / 3
    result = evaluate({MK: [question()]}, [row(score=each, repeat=n) for n, each in enumerate(scores, start=1)])
    assert pick(result, "usability_rate", repeat=None).value == 0.0


def test_question_without_score_is_not_usable_and_stays_in_the_denominator() -> None:
    result = evaluate({MK: [question(1), question(2)]}, [row(group=1, score="5"), row(group=2, score="")])
    rate, mean, unsafe = (pick(result, metric) for metric in ("usability_rate", "mean_score", "unsafe_rate"))
    assert (rate.value, rate.n, rate.n_answered) == (0.5, 2, 1)
    assert (mean.value, mean.n, mean.n_answered) == (5.0, 1, 1)
    assert (unsafe.value, unsafe.n, unsafe.n_answered) == (0.0, 2, 1)


def test_question_that_no_run_holds_leaves_the_denominator() -> None:
    document = {MK: [question(1), question(2), question(3)]}
    rows = [row(group=1, score=4), row(group=1, score=2, repeat=2), row(group=2, score=5, repeat=2)]
    result = evaluate(document, rows)
    assert [pick(result, "usability_rate", repeat=scope).n for scope in (1, 2, None)] == [1, 2, 2]
    assert [pick(result, "usability_rate", repeat=scope).value for scope in (1, 2, None)] == [1.0, 0.5, 0.5]


@pytest.mark.parametrize(("score", "unsafe"), [(2, 1.0), (2.001, 0.0), (0, 1.0), (None, 0.0)])
def test_unsafe_is_a_mean_of_2_or_less(score: Any, unsafe: float) -> None:
    assert pick(evaluate({MK: [question()]}, [row(score=score)]), "unsafe_rate").value == unsafe


def test_overall_by_questions_and_by_categories() -> None:
    document = {MK: [question(1), question(2), question(3)], MR: [question(1)], MSE: [question(1)]}
    rows = [row(MK, 1, score=5), row(MK, 2, score=1), row(MK, 3, score=0), row(MR, 1, score="-1")]
    result = evaluate(document, rows)
    by_questions, by_categories = (
        pick(result, "usability_rate", variant=variant) for variant in ("", "mean_of_categories")
    )
    assert (by_questions.value, by_questions.n, by_questions.n_answered) == (0.25, 4, 3)
    # MSE was not seen: it is no category of this mean
    assert (by_categories.value, by_categories.n, by_categories.n_answered) == (pytest.approx(1 / 6), 4, 3)
    # MR has no score: it is no category of that one
    assert pick(result, "mean_score", variant="mean_of_categories").value == 2.0
    assert pick(result, "mean_score", variant="mean_of_categories").n == 3


def test_what_is_emitted() -> None:
    document = {MTG: [question()], MLU: [question(difficulty="易")], MK: [question(1, 1), question(1, 2)]}
    rows = [row(MTG), row(MLU), row(MK, 1, 1), row(MK, 1, 2)]
    found = [(each.metric, each.variant, each.dimension, each.facet) for each in evaluate(document, rows).aggregates]
    facets = [
        ("overall", ""),
        ("category", "MK"),
        ("category", "MLU"),
        ("category", "MTG"),
        ("category2", "病症推断"),
        ("scene", "诊断"),
        ("difficulty", "not given"),
        ("difficulty", "易"),
        ("round", "1"),
        ("round", "2"),
    ]
    expected = []
    for metric in ("usability_rate", "mean_score", "unsafe_rate"):
        expected += [(metric, "", *pair) for pair in facets]
        if metric != "unsafe_rate":
            expected.append((metric, "mean_of_categories", "overall", ""))
    expected += [("score_share", "", "score", facet) for facet in ("0", "1", "2", "3", "4", "5", "no score")]
    assert found == expected


def test_score_shares_count_judgements_by_the_whole_number_reached() -> None:
    document = {MK: [question(n) for n in range(6)]}
    rows = [row(group=n, score=score) for n, score in enumerate([0.9, 3.5, 3, "5", 4.99, None])]
    rows.append(row(group=0, score="5", repeat=2))
    result = evaluate(document, rows)

    def shares(repeat: int | None) -> dict[str, float]:
        found = [each for each in result.aggregates if each.metric == "score_share" and each.repeat == repeat]
        assert {(each.ci_low, each.ci_high) for each in found} == {(None, None)}
        return {each.facet: each.value * each.n for each in found}

    assert shares(1) == pytest.approx({"0": 1, "1": 0, "2": 0, "3": 2, "4": 1, "5": 1, "no score": 1})
    assert shares(None) == pytest.approx({"0": 1, "1": 0, "2": 0, "3": 2, "4": 1, "5": 2, "no score": 1})
    last = [each for each in result.aggregates if each.metric == "score_share"][-1]
    assert (last.facet, last.n, last.n_answered) == ("no score", 7, 6)


def test_one_run_carries_its_own_number() -> None:
    result = evaluate({MK: [question()]}, [row(repeat=2)])
    assert {each.repeat for each in result.aggregates} == {2}
    assert {repeat for repeat, _ in result.vectors} == {0, 2}


def test_no_rows_at_all() -> None:
    result = evaluate({MK: [question()]}, [])
    assert {(each.repeat, each.value, each.n, each.ci_low) for each in result.aggregates} == {(None, None, 0, None)}
    assert result.vectors[0, "outcome"].tolist() == [Outcome.MISSING]


def test_no_items_at_all() -> None:
    result = EVALUATOR.evaluate([], [], SEED)
    assert {each.n for each in result.aggregates} == {0}
    assert not len(result.verdicts)


def test_vectors_say_what_became_of_each_item() -> None:
    document = {MK: [question(n) for n in range(4)]}
    rows = [row(group=0, score=4), row(group=1, score=3.9), row(group=2, score="")]
    result = evaluate(document, [*rows, row(group=2, score=1, repeat=2)])
    assert result.vectors[1, "outcome"].tolist() == [
        Outcome.RIGHT,
        Outcome.WRONG,
        Outcome.NO_ANSWER,
        Outcome.MISSING,
    ]
    assert result.vectors[1, "outcome"].dtype == np.uint8
    np.testing.assert_array_equal(result.vectors[1, "usability_rate"], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(result.vectors[1, "mean_score"], [4, 3.9, np.nan, np.nan])
    np.testing.assert_array_equal(result.vectors[0, "usability_rate"], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(result.vectors[0, "mean_score"], [4, 3.9, 1, np.nan])
    assert all(vector.dtype == np.float64 for (_, name), vector in result.vectors.items() if name != "outcome")


def test_verdicts_follow_the_answers() -> None:
    rows = [row(score=5), row(score=3.99, repeat=2), row(score=-1, repeat=3), row(group=9, score=5), row(group=9)]
    result = evaluate({MK: [question()]}, rows)
    assert [(each.outcome, each.value) for each in result.verdicts] == [
        (Outcome.RIGHT, 1.0),
        (Outcome.WRONG, 0.0),
        (Outcome.NO_ANSWER, 0.0),
        (Outcome.RIGHT, None),
        (Outcome.RIGHT, None),
    ]


def test_what_the_public_code_would_count_is_noted() -> None:
    rows = [row(score=True), row(score=True, repeat=2), row(group=9), row(group=9, repeat=2)]
    result = evaluate({MK: [question()]}, rows)
    assert [note[:2] for note in result.notes] == [("boolean_score", "MK:1:1"), ("off_dataset", "MK:9:1")]
    assert pick(result, "usability_rate", repeat=None).n == 1


def test_two_rows_of_a_question_in_one_run_are_both_its_scores() -> None:
    result = evaluate({MK: [question()]}, [row(score=5), row(score=2), row(score=5, repeat=2)])
    assert pick(result, "mean_score").value == 3.5
    assert pick(result, "mean_score", repeat=None).value == 4.0
    assert pick(result, "score_share", "3", dimension="score").value == 1.0


def test_items_out_of_score_are_left_out() -> None:
    spec = items({MK: [question(1), question(2)]})
    unscored = [*spec[:1], llmeval_med.ItemSpec(spec[1].key, "c", "c", None, spec[1].facets, scored=False)]
    result = EVALUATOR.evaluate(unscored, [EVALUATOR.read(row(group=2))], SEED)
    assert result.vectors[0, "outcome"].tolist() == [Outcome.MISSING]
    assert result.verdicts[0].value is None


# --- intervals --------------------------------------------------------------------------------------------------------


def conversations() -> tuple[dict[str, list[dict[str, Any]]], list[ScoredRow]]:
    """Two categories of conversations with unlike lengths and scores."""
    document: dict[str, list[dict[str, Any]]] = {MK: [], MR: []}
    rows = []
    for number, (category, group, round) in enumerate(
        [(c, g, r) for c in (MK, MR) for g in range(6) for r in range(1, 2 + g % 3)]
    ):
        document[category].append(question(group, round))
        rows.append(row(category, group, round, score=[5, 1, 4, 2, 3.5][(number * number + group) % 5]))
    return document, rows


def slow_interval(
    document: dict[str, list[dict[str, Any]]], rows: list[ScoredRow], *, by_category: bool
) -> list[float]:
    """Resample conversations one draw at a time and take the 2.5 % and 97.5 % quantiles of the usability rate."""
    keys = [(category, each["groupCode"]) for category, listed in document.items() for each in listed]
    order = list(dict.fromkeys(keys))
    usable = [float(each.score >= 4) for each in rows]
    rates = []
    for counts in statistics.resample_counts(len(order), SEED).tolist():
        drawn = dict(zip(order, counts, strict=True))
        means = []
        for wanted in [{MK}, {MR}] if by_category else [{MK, MR}]:
            weights = [drawn[key] * (key[0] in wanted) for key in keys]
            if sum(weights):
                means.append(sum(w * u for w, u in zip(weights, usable, strict=True)) / sum(weights))
        if len(means) == (2 if by_category else 1):
            rates.append(sum(means) / len(means))
    return [float(np.quantile(rates, q)) for q in (0.025, 0.975)]


@pytest.mark.parametrize(("variant", "by_category"), [("", False), ("mean_of_categories", True)])
def test_intervals_resample_conversations(variant: str, by_category: bool) -> None:
    document, rows = conversations()
    found = pick(evaluate(document, rows), "usability_rate", variant=variant)
    assert [found.ci_low, found.ci_high] == pytest.approx(slow_interval(document, rows, by_category=by_category))


def test_intervals_hold_their_values() -> None:
    result = evaluate(*conversations())
    for each in result.aggregates:
        if each.metric != "score_share":
            assert each.ci_low <= each.value <= each.ci_high, each
    assert pick(result, "mean_score").ci_high > 1


@pytest.mark.parametrize("score", [0, 5])
def test_all_and_nothing_have_an_interval_with_width(score: int) -> None:
    document = {MK: [question(n) for n in range(5)], MR: [question(n) for n in range(9)]}
    result = evaluate(document, [row(c, each["groupCode"], score=score) for c, q in document.items() for each in q])
    for metric, variant in itertools.product(("usability_rate", "mean_score"), ("", "mean_of_categories")):
        found = pick(result, metric, variant=variant)
        assert found.ci_low < found.ci_high
        assert found.ci_low <= found.value <= found.ci_high


def test_same_content_same_figures() -> None:
    document, rows = conversations()
    assert evaluate(document, rows).aggregates == evaluate(document, rows[::-1]).aggregates


# --- identity ---------------------------------------------------------------------------------------------------------


def test_the_evaluator_says_what_it_is() -> None:
    assert EVALUATOR.name == "llmeval-med-aggregate-2026"
    assert EVALUATOR.headline in EVALUATOR.metrics
    assert set(EVALUATOR.metrics) == {
        "usability_rate",
        "mean_score",
        "unsafe_rate",
        "score_share",
        "verdict_flip_rate",
        "score_flip_rate",
    }
    assert re.fullmatch(r"[0-9a-f]{64}", EVALUATOR.fingerprint)


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (llmeval_med, "USABLE", 3.5),
        (llmeval_med, "UNSAFE", 1.0),
        (llmeval_med, "CATEGORIES", {MK: "MK"}),
        (LLMEvalMedAggregate, "name", "another"),
        (LLMEvalMedAggregate, "description", "another"),
    ],
)
def test_the_fingerprint_follows_the_rules(where: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = EVALUATOR.fingerprint
    monkeypatch.setattr(where, name, value)
    assert EVALUATOR.fingerprint != before
