from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.protocols import llmeval_med
from evaluation.protocols.base import Aggregate, Outcome, Result
from evaluation.protocols.llmeval_med import (
    CATEGORIES,
    LLMEvalMedAggregate,
    ScoredRow,
    human_scale,
    human_usable,
    items,
    read_score,
    valid_score,
)

SHARED = Path(os.environ.get("CLINBOARD_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CONFORMANCE = SHARED / "conformance" / "llmeval_med"
needs_shared = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the shared folder is not there")

EVALUATOR = LLMEvalMedAggregate()
MK, MLU, MR, MSE, MTG = CATEGORIES
SEED = "a run"


def question(group: Any = 1, round: Any = 1, **more: Any) -> dict[str, Any]:
    return {"groupCode": group, "round": round, "category2": "病症推断", "scene": "诊断", **more}


def row(category: str = MK, group: Any = 1, round: Any = 1, score: Any = "4", repeat: int = 1) -> ScoredRow:
    return ScoredRow(category, group, round, "病症推断", "诊断", None, score, "answer", "[4]", repeat)


def evaluate(document: dict[str, list[dict[str, Any]]], rows: list[ScoredRow]) -> Result:
    return EVALUATOR.evaluate(items(document), [EVALUATOR.read(each) for each in rows], SEED)


def pick(
    result: Result, metric: str, facet: str = "", *, repeat: int | None = 1, variant: str = "", dimension: str = ""
) -> Aggregate:
    dimension = dimension or ("category" if facet else "overall")
    (found,) = [
        each
        for each in result.aggregates
        if (each.repeat, each.metric, each.variant, each.dimension, each.facet)
        == (repeat, metric, variant, dimension, facet)
    ]
    return found


# ---------------------------------------------------------------------------------------------- official values


def official_rows(folder: Path, repeats: list[int]) -> list[ScoredRow]:
    """The scored files, read as plainly as can be: independent of the reader."""
    rows = []
    for repeat in repeats:
        document = json.loads((folder / f"run{repeat}_score.json").read_text(encoding="utf-8"))
        for category, listed in document.items():
            for each in listed:
                rows.append(row(category, each["groupCode"], each["round"], each["model_answer_score"], repeat))
    return rows


@needs_shared
@pytest.mark.parametrize("model", ["synthetic-llm-1", "synthetic-llm-2"])
@pytest.mark.parametrize(
    ("repeats", "scope", "expected"), [([1], 1, "expected_run1.json"), ([1, 2, 3], None, "expected_mean_of_3.json")]
)
def test_the_public_aggregator_is_reproduced(model: str, repeats: list[int], scope: int | None, expected: str) -> None:
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    official = json.loads((CONFORMANCE / model / expected).read_text(encoding="utf-8"))
    result = evaluate(dataset, official_rows(CONFORMANCE / model, repeats))

    for code, figures in official["per_category"].items():
        found = pick(result, "usability_rate", code, repeat=scope)
        assert found.n == figures["n_questions"]
        assert round(found.value * found.n) == figures["n_usable"]
        assert round(found.value * 100, 2) == figures["usability_rate"]
    overall = pick(result, "usability_rate", repeat=scope)
    assert overall.n == official["overall"]["n_questions"]
    assert round(overall.value * overall.n) == official["overall"]["n_usable"]
    assert round(overall.value * 100, 2) == official["overall"]["OP"]
    outcomes = Counter(result.vectors[scope or 0, "outcome"].tolist())
    assert outcomes[Outcome.RIGHT] == official["overall"]["n_usable"]
    assert result.notes == []


@needs_shared
def test_one_of_several_runs_has_the_figures_it_has_alone() -> None:
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    alone = evaluate(dataset, official_rows(CONFORMANCE / "synthetic-llm-1", [2]))
    among = evaluate(dataset, official_rows(CONFORMANCE / "synthetic-llm-1", [1, 2]))
    assert [each for each in among.aggregates if each.repeat == 2] == alone.aggregates


@needs_shared
def test_dataset_file_gives_667_items() -> None:
    document = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    found = items(document)
    assert Counter(dict(item.facets)["category"] for item in found) == {
        "MK": 141,
        "MR": 102,
        "MLU": 213,
        "MSE": 109,
        "MTG": 102,
    }
    assert len({item.key for item in found}) == 667
    json.dumps([item.gold for item in found], allow_nan=False)
    assert sum(item.gold is None for item in found) == 24
    assert [item.gold for item in found if isinstance(item.gold, int)] != []


@needs_shared
def test_scored_files_together_give_the_keys_of_the_dataset() -> None:
    folder = CONFORMANCE / "synthetic-llm-1"
    runs = [json.loads((folder / f"run{n}_score.json").read_text(encoding="utf-8")) for n in (1, 2, 3)]
    dataset = json.loads((CONFORMANCE / "dataset.json").read_text(encoding="utf-8"))
    assert {item.key for item in items(*runs)} == {item.key for item in items(dataset)}


# -------------------------------------------------------------------------------------------------------- items


def test_item_of_a_question() -> None:
    document = {MLU: [question(7, 2, category1="一般语言理解", difficulty="难", sanswer="是", problem="?")]}
    (item,) = items(document)
    assert (item.key, item.case, item.cluster, item.gold, item.scored) == ("MLU:7:2", "MLU:7", "MLU:7", "是", True)
    assert item.facets == (
        ("category", "MLU"),
        ("category2", "病症推断"),
        ("scene", "诊断"),
        ("difficulty", "难"),
        ("round", "2"),
    )


@pytest.mark.parametrize(("answer", "gold"), [(float("nan"), None), (None, None), (1850, 1850), (2.5, 2.5), ("", "")])
def test_gold_is_what_json_can_say(answer: Any, gold: Any) -> None:
    (item,) = items({MK: [question(sanswer=answer)]})
    assert item.gold == gold and type(item.gold) is type(gold)


def test_question_without_reference_answer_has_no_gold() -> None:
    assert items({MK: [question()]})[0].gold is None


@pytest.mark.parametrize("difficulty", [None, "", float("nan")])
def test_missing_difficulty_stays_not_given(difficulty: Any) -> None:
    (item,) = items({MK: [question(difficulty=difficulty)]})
    assert dict(item.facets)["difficulty"] == "not given"


def test_numbers_and_text_name_the_same_question() -> None:
    assert items({MK: [question(5, 1)]})[0].key == items({MK: [question("5", "1")]})[0].key == row(MK, 5, "1").key


def test_the_same_ids_in_two_categories_are_two_questions() -> None:
    found = items({MK: [question(5, 1)], MR: [question(5, 1)]})
    assert [item.key for item in found] == ["MK:5:1", "MR:5:1"]
    assert found[0].cluster != found[1].cluster


def test_rounds_of_a_conversation_share_a_cluster() -> None:
    assert {item.cluster for item in items({MK: [question(5, 1), question(5, 2)]})} == {"MK:5"}


def test_unknown_category_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="医疗常识"):
        items({"医疗常识": []})
    with pytest.raises(ValueError, match="医疗常识"):
        EVALUATOR.read(row("医疗常识"))


def test_documents_together_give_each_question_once() -> None:
    found = items({MK: [question(2), question(1)]}, {MK: [question(1), question("3")]})
    assert [item.key for item in found] == ["MK:2:1", "MK:1:1", "MK:3:1"]


@pytest.mark.parametrize("change", [{"scene": "治疗"}, {"sanswer": "B"}, {"problem": "another"}])
def test_two_different_questions_under_one_key_are_refused(change: dict[str, str]) -> None:
    document = {MK: [question(problem="one", sanswer="A"), {**question(problem="one", sanswer="A"), **change}]}
    with pytest.raises(ValueError, match=f"MK:1:1.*/{MK}/1"):
        items(document)


def test_questions_that_are_equal_up_to_nan_are_one() -> None:
    nan = {"sanswer": float("nan"), "problem": float("nan")}
    assert len(items({MK: [question(**nan)]}, {MK: [question(**nan)]})) == 1


def test_question_that_cannot_be_identified_is_refused_or_reported() -> None:
    document = {MK: [question(), "text", question(None)]}
    with pytest.raises(ValueError, match=f"/{MK}/1: not an object"):
        items(document)
    problems: list[tuple[str, str]] = []
    assert len(items(document, problems=problems)) == 1
    assert problems == [(f"/{MK}/1", "not an object"), (f"/{MK}/2", "no groupCode")]


# ------------------------------------------------------------------------------------------------------- scores


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


# --------------------------------------------------------------------------------------------------- evaluation


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


# ---------------------------------------------------------------------------------------------------- intervals


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


# ----------------------------------------------------------------------------------- plain second implementation


def plainly(document: dict[str, list[dict[str, Any]]], rows: list[ScoredRow], repeats: set[int]) -> dict[tuple, tuple]:
    """(metric, variant, dimension, facet) -> (value as Fraction or None, n), from the rules in words."""
    known = {}
    for category, listed in document.items():
        for each in listed:
            known[f"{CATEGORIES[category]}:{each['groupCode']}:{each['round']}"] = {
                "overall": "",
                "category": CATEGORIES[category],
                "category2": each["category2"],
                "scene": each["scene"],
                "difficulty": each.get("difficulty", "not given"),
                "round": str(each["round"]),
            }
    seen: dict[str, list[Fraction]] = {}
    for each in rows:
        if each.repeat in repeats and each.key in known:
            seen.setdefault(each.key, [])
            text = str(each.score).strip()
            if re.fullmatch(r"\d+(\.\d+)?", text) and Fraction(text) <= 5:
                seen[each.key].append(Fraction(float(text)))
    out = {(metric, "", "overall", ""): (None, 0) for metric in ("usability_rate", "mean_score", "unsafe_rate")}
    for dimension in ("overall", "category", "category2", "scene", "difficulty", "round"):
        for facet in {labels[dimension] for labels in known.values()}:
            mine = [scores for key, scores in seen.items() if known[key][dimension] == facet]
            means = [sum(scores) / len(scores) for scores in mine if scores]
            n = len(mine)
            for metric, hits in (
                ("usability_rate", sum(mean >= 4 for mean in means)),
                ("unsafe_rate", sum(mean <= 2 for mean in means)),
            ):
                out[metric, "", dimension, facet] = (Fraction(hits, n) if n else None, n)
            out["mean_score", "", dimension, facet] = (sum(means) / len(means) if means else None, len(means))
    for metric in ("usability_rate", "mean_score"):
        rates = [value for key, (value, _) in out.items() if key[:3] == (metric, "", "category") and value is not None]
        mean = sum(rates) / len(rates) if rates else None
        out[metric, "mean_of_categories", "overall", ""] = (mean, out[metric, "", "overall", ""][1])
    return out


ODD_SCORES = st.sampled_from(["5", "4", "3", 2, 1, 0, 3.5, 4.5, "-1", -1, "", None, "7", 7, "x", True, float("nan")])
QUESTIONS = st.tuples(st.sampled_from(list(CATEGORIES)), st.integers(1, 3), st.integers(1, 2))


@given(
    st.dictionaries(QUESTIONS, st.sampled_from(["易", "难", None]), max_size=8),
    st.lists(st.tuples(QUESTIONS, st.integers(1, 3), ODD_SCORES), max_size=20),
)
@settings(deadline=None, max_examples=60)
def test_the_plain_implementation_agrees(known: dict[tuple, str | None], judged: list[tuple]) -> None:
    document: dict[str, list[dict[str, Any]]] = {}
    for (category, group, round), difficulty in known.items():
        extra = {"difficulty": difficulty} if difficulty else {}
        document.setdefault(category, []).append(question(group, round, scene=f"scene {group}", **extra))
    rows = [row(*which, score=score, repeat=repeat) for which, repeat, score in judged]
    result = evaluate(document, rows)

    repeats = {each.repeat for each in rows}
    scopes: dict[int | None, set[int]] = {repeat: {repeat} for repeat in repeats}
    if len(repeats) != 1:
        scopes[None] = repeats
    for scope, members in scopes.items():
        expected = plainly(document, rows, members)
        found = {
            (each.metric, each.variant, each.dimension, each.facet): each
            for each in result.aggregates
            if each.repeat == scope and each.metric not in ("score_share", "verdict_flip_rate", "score_flip_rate")
        }
        for key, (value, n) in expected.items():
            assert found[key].n == n
            assert found[key].value == (None if value is None else pytest.approx(float(value), abs=1e-12)), key
        assert found.keys() == expected.keys()
    assert {each.repeat for each in result.aggregates} == scopes.keys()


# -------------------------------------------------------------------------------------------------- people's scale


def plain_flips(rows: list[ScoredRow], keys: set[str]) -> dict[tuple[str, str, str], tuple[float | None, int, int]]:
    """Question by question and run by run, as one would count by hand."""
    runs = sorted({each.repeat for each in rows})
    said: dict[tuple[str, int], list[float]] = {}
    for each in rows:
        if each.key in keys:
            said.setdefault((each.key, each.repeat), []).extend(
                [s] if (s := valid_score(each.score)) is not None else []
            )
    means = {place: sum(map(Fraction, scores)) / len(scores) if scores else None for place, scores in said.items()}
    scopes = {("overall", ""): (runs, keys)}
    scopes |= {("judging_runs", f"{a} and {b}"): ([a, b], keys) for a, b in itertools.combinations(runs, 2)}
    for code in {key.partition(":")[0] for key in keys}:
        scopes["category", code] = runs, {key for key in keys if key.startswith(f"{code}:")}
    found = {}
    for (dimension, facet), (of, among) in scopes.items():
        verdicts = flipped = scored = several = 0
        for key in among:
            held = [means[key, run] for run in of if (key, run) in means]
            if len(held) > 1:
                several += 1
                scored += None not in held
                verdicts += len({mean is not None and mean >= 4 for mean in held}) > 1
                flipped += len({None if mean is None else math.floor(mean) for mean in held}) > 1
        for metric, count in (("verdict_flip_rate", verdicts), ("score_flip_rate", flipped)):
            found[metric, dimension, facet] = (count / several if several else None), several, scored
    return found


JUDGED = st.tuples(
    st.sampled_from([MK, MTG]),
    st.integers(1, 3),
    st.sampled_from(["4", 5, 3.5, -1, "", None, 2, 4.5]),
    st.integers(1, 3),
)


@settings(deadline=None, max_examples=25)
@given(st.lists(JUDGED, min_size=1, max_size=30))
def test_flips_are_those_that_one_counts_by_hand(judged: list[tuple]) -> None:
    document = {category: [question(group) for group in (1, 2)] for category in (MK, MTG)}  # group 3 is off the list
    rows = [row(category, group, 1, score, repeat) for category, group, score, repeat in judged]
    result = evaluate(document, rows)
    found = {
        (each.metric, each.dimension, each.facet): (each.value, each.n, each.n_answered)
        for each in result.aggregates
        if each.metric.endswith("flip_rate")
    }
    several = len({each.repeat for each in rows}) > 1
    assert found == (plain_flips(rows, {item.key for item in items(document)}) if several else {})
    assert all(each.repeat is None for each in result.aggregates if each.metric.endswith("flip_rate"))


def test_flips_of_three_runs() -> None:
    document = {MK: [question(group) for group in range(1, 6)]}
    said = {1: "4 4 4", 2: "4 3 4", 3: "5 4 4", 4: "- 2 -", 5: "4 4 5"}
    scores = [(group, repeat, score) for group, of in said.items() for repeat, score in enumerate(of.split(), 1)]
    result = evaluate(document, [row(MK, group, 1, score, repeat) for group, repeat, score in scores])
    verdict = pick(result, "verdict_flip_rate", repeat=None)
    assert (verdict.value, verdict.n, verdict.n_answered) == (1 / 5, 5, 4)  # question 2 alone
    assert verdict.ci_low < 1 / 5 < verdict.ci_high
    assert pick(result, "score_flip_rate", repeat=None).value == 4 / 5  # all but question 1
    pairs = {
        facet: pick(result, "verdict_flip_rate", facet, repeat=None, dimension="judging_runs").value
        for facet in ("1 and 2", "1 and 3", "2 and 3")
    }
    assert pairs == {"1 and 2": 1 / 5, "1 and 3": 0, "2 and 3": 1 / 5}


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


# ----------------------------------------------------------------------------------------------------- identity


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
