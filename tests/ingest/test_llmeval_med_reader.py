from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.protocols.llmeval_med import CATEGORIES
from ingest.documents import DocumentError, loads
from ingest.readers.llmeval_med import is_dataset, is_scored, kind, repeat_of, rows

SHARED = Path(os.environ.get("CLINBOARD_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CONFORMANCE = SHARED / "conformance" / "llmeval_med"

MK, MLU, MR, MSE, MTG = CATEGORIES
ANSWERED = {"groupCode": 5, "round": 1, "model_answer": "answer"}
SCORED = {**ANSWERED, "model_answer_judgement": "[4]", "model_answer_score": "4"}
QUESTION = {"groupCode": 5, "round": 1, "problem": "?", "sanswer": float("nan")}


def resolve(document: Any, pointer: str) -> Any:
    """RFC 6901, read plainly."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


@pytest.mark.parametrize(
    ("name", "repeat"),
    [
        ("run1_score.json", 1),
        ("run3_score.json", 3),
        ("dataset_run12_processed_score.json", 12),
        ("model-Run2-scored.JSON", 2),
        ("run_2_score.json", 2),
        ("dataset_processed_score.json", 1),
        ("run3_answers.json", 1),
        ("run7/score.json", 1),
        ("run7/run2_score.json", 2),
    ],
)
def test_the_judging_run_stands_in_the_name(name: str, repeat: int) -> None:
    assert repeat_of(name) == repeat


def test_run_0_is_refused() -> None:
    with pytest.raises(ValueError, match="run0_score"):
        repeat_of("run0_score.json")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({MK: [SCORED]}, "scored"),
        ({MK: [QUESTION], MR: [ANSWERED, {**ANSWERED, "model_answer_score": None}]}, "scored"),
        ({MK: [ANSWERED]}, "answers"),
        ({MK: [QUESTION]}, "dataset"),
        ({MK: [QUESTION], "医疗常识": [QUESTION]}, "dataset"),
        ({MK: ["text", SCORED]}, "scored"),
        ({MK: ["text"]}, None),
        ({MK: []}, None),
        ({MK: {"n_questions": 141}}, None),
        ({"per_category": {}, "overall": {}}, None),
        ({"questions": [SCORED]}, None),
        ({}, None),
        ([SCORED], None),
        ("text", None),
        (None, None),
    ],
)
def test_documents_are_told_apart_by_content(document: Any, expected: str | None) -> None:
    assert kind(document) == expected
    assert is_scored(document) == (expected == "scored")
    assert is_dataset(document) == (expected == "dataset")


def test_plain_json_is_read() -> None:
    document = {MK: [SCORED]}
    assert loads(json.dumps(document, ensure_ascii=False).encode()) == document


def test_byte_order_mark_and_bare_nan_are_read() -> None:
    found = loads(b"\xef\xbb\xbf" + json.dumps({MK: [QUESTION]}).encode())
    assert math.isnan(found[MK][0]["sanswer"])


def test_lone_surrogates_are_read() -> None:
    assert loads(rb'{"a": "\ud800"}') == {"a": "\ud800"}


def test_endless_integers_are_read() -> None:
    assert loads(b"[" + b"9" * 5000 + b", 12]") == [math.inf, 12]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("data", "reason", "line", "column", "offset"),
    [
        ('{"医": 1,\n "疗": }'.encode(), "Expecting value", 2, 7, 19),
        (b'{"a": 1}\nmore', "Extra data", 2, 1, 9),
        (b"", "Expecting value", 1, 1, 0),
        ('{"医":\n "疗'.encode() + b"\xff", "not UTF-8", 2, 4, 13),
        (b"[" * 200_000, "nested too deeply", 1, 1, 0),
    ],
)
def test_faults_are_told_with_their_place(
    bom: bytes, data: bytes, reason: str, line: int, column: int, offset: int
) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        loads(bom + data)
    error = caught.value
    assert isinstance(error, DocumentError)
    assert (error.line, error.column, error.offset) == (line, column, len(bom) + offset)
    assert f"line {line}, column {column}, byte {len(bom) + offset}" in str(error)


@given(st.binary(max_size=40))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused_with_a_place_inside_them(data: bytes) -> None:
    try:
        loads(data)
    except DocumentError as error:
        assert 0 <= error.offset <= len(data)
        assert error.line >= 1 and error.column >= 1


def test_a_row_is_the_question_as_it_stands() -> None:
    document = {
        MLU: [
            {
                "category1": "一般语言理解",
                "category2": "信息抽取",
                "scene": "表格",
                "difficulty": "难",
                **SCORED,
                "model_answer_score": " 4 ",
            }
        ]
    }
    problems: list[tuple[str, str]] = []
    ((pointer, row),) = rows(document, 3, problems)
    assert pointer == f"/{MLU}/0" and problems == []
    assert (row.key, row.category, row.groupCode, row.round) == ("MLU:5:1", MLU, 5, 1)
    assert (row.category2, row.scene, row.difficulty) == ("信息抽取", "表格", "难")
    assert (row.score, row.answer, row.judgement, row.repeat) == (" 4 ", "answer", "[4]", 3)


def test_fields_that_hold_no_text_are_none() -> None:
    ((_, row),) = rows({MK: [{**SCORED, "model_answer": 3, "model_answer_judgement": math.nan}]}, 1, [])
    assert (row.answer, row.judgement, row.difficulty) == (None, None, None)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("text", "not an object"),
        (None, "not an object"),
        ([SCORED], "not an object"),
        ({"round": 1}, "no groupCode"),
        ({"groupCode": 1}, "no round"),
        ({"groupCode": None, "round": 1}, "no groupCode"),
        ({"groupCode": " ", "round": 1}, "no groupCode"),
        ({"groupCode": math.nan, "round": 1}, "no groupCode"),
        ({"groupCode": True, "round": 1}, "no groupCode"),
        ({"groupCode": 1, "round": []}, "no round"),
    ],
)
def test_a_question_without_identity_is_reported_and_the_next_one_read(question: Any, reason: str) -> None:
    problems: list[tuple[str, str]] = []
    found = list(rows({MK: [question, SCORED]}, 1, problems))
    assert [pointer for pointer, _ in found] == [f"/{MK}/1"]
    assert problems == [(f"/{MK}/0", reason)]


def test_an_unknown_category_is_reported_and_never_guessed() -> None:
    problems: list[tuple[str, str]] = []
    document = {"a/b~c": [SCORED], MK: 5, MR: [SCORED]}
    assert [pointer for pointer, _ in rows(document, 1, problems)] == [f"/{MR}/0"]
    assert problems == [("/a~1b~0c", "unknown category"), (f"/{MK}", "not a list of questions")]


NAMES = st.one_of(st.sampled_from(list(CATEGORIES)), st.text("~/01a", max_size=4))
VALUES = st.lists(st.one_of(st.just(SCORED), st.just(QUESTION), st.none(), st.just({})), max_size=4)


@given(st.dictionaries(NAMES, VALUES))
@settings(deadline=None)
def test_every_question_is_a_row_or_a_problem_and_pointers_lead_back(document: dict[str, list[Any]]) -> None:
    problems: list[tuple[str, str]] = []
    found = list(rows(document, 1, problems))
    for pointer, row in found:
        assert resolve(document, pointer).get("model_answer_score") == row.score
    for pointer, reason in problems:
        assert resolve(document, pointer) in (None, {}) or reason == "unknown category"
    whole = sum(len(listed) for category, listed in document.items() if category in CATEGORIES)
    assert len(found) + sum(reason != "unknown category" for _, reason in problems) == whole


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the shared folder is not there")
def test_conformance_files() -> None:
    dataset = loads((CONFORMANCE / "dataset.json").read_bytes())
    assert kind(dataset) == "dataset"
    for folder in sorted(CONFORMANCE.glob("synthetic-llm-*")):
        for path in sorted(folder.glob("*.json")):
            document = loads(path.read_bytes())
            if path.name.startswith("expected_"):
                assert kind(document) is None
                continue
            assert kind(document) == "scored"
            problems: list[tuple[str, str]] = []
            found = list(rows(document, repeat_of(path.name), problems))
            assert problems == []
            assert len(found) == sum(map(len, document.values()))
            assert {row.repeat for _, row in found} == {int(path.name[3])}
            for pointer, row in found:
                assert resolve(document, pointer)["model_answer_score"] == row.score
