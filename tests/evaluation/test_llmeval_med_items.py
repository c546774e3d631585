"""LLMEval-Med's questions as items: their keys, facets and golds, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.protocols.llmeval_med import items
from tests.evaluation.llmeval_med_invented import EVALUATOR, MK, MLU, MR, question, row


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
