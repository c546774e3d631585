"""MM-Bench: gold names and the extraction of answers, against the specification and the pack's counts of notes."""

from __future__ import annotations

import json
import os
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from evaluation.benchmarks import BENCHMARKS
from evaluation.protocols.clinseek_mm import gold_names, mm_items, prediction_set, read, strings, take
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from tests.evaluation.test_clinseek_text import JSON, ROW, call, said

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
PACK = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"
GOOD = '{"response": ["Yes"]}'


def row_of(messages: Any) -> ClinSeekRow:
    raw = {"qid": "q1", "messages": messages}
    try:
        return msgspec.json.decode(json.dumps(raw), type=ClinSeekRow)
    except msgspec.MsgspecError:
        return from_dict(raw)


FINISHES: list[tuple[str, list[Any], tuple[str, ...], str]] = [
    ("object as text", said(call(GOOD)), ("Yes",), "ok"),
    ("object", said(call({"response": ["Yes"]})), ("Yes",), "ok"),
    ("bare finish", said(call(GOOD, "finish")), ("Yes",), "ok"),
    ("ehr_finish", said(call(GOOD, "ehr_finish")), (), "no_finish_call"),
    ("browser.finish", said(call(GOOD, "browser.finish")), (), "no_finish_call"),
    ("EHR.Finish", said(call(GOOD, "EHR.Finish")), (), "no_finish_call"),
    ("list", said(call(["Yes"])), (), "bad_json_args"),
    ("list as text", said(call('["Yes"]')), (), "no_response_key"),
    ("string as text", said(call('"Yes"')), (), "no_response_key"),
    ("number as text", said(call("7")), (), "no_response_key"),
    ("null as text", said(call("null")), (), "no_response_key"),
    ("python text", said(call("{'response': ['Yes']}")), (), "bad_json_args"),
    ("cut", said(call('{"response": ["Yes')), (), "bad_json_args"),
    ("empty text", said(call("")), (), "bad_json_args"),
    ("number", said(call(7)), (), "bad_json_args"),
    ("empty object", said(call("{}")), (), "no_response_key"),
    ("null arguments", said(call(None)), (), "no_finish_call"),
    ("no arguments", said(call()), (), "no_finish_call"),
    ("null response", said(call('{"response": null}')), (), "null_response"),
    ("response is a string", said(call('{"response": " Yes "}')), (" Yes ",), "ok"),
    ("response is a number", said(call('{"response": 7}')), ("7",), "ok"),
    ("response is true", said(call('{"response": true}')), ("True",), "ok"),
    ("top level", said({"name": "ehr.finish", "arguments": GOOD}), ("Yes",), "ok"),
    (
        "top level comes first",
        said({"name": "ehr.finish", "arguments": GOOD, **call('{"response": ["No"]}')}),
        ("Yes",),
        "ok",
    ),
    ("top level without name", said({"arguments": GOOD, **call('{"response": ["No"]}')}), ("No",), "ok"),
    ("the first call of a message", said(call(GOOD), call('{"response": ["No"]}')), ("Yes",), "ok"),
    ("the last message", said(call('{"response": ["No"]}')) + said(call(GOOD)), ("Yes",), "ok"),
    ("null in the last message is passed over", said(call(GOOD)) + said(call(None)), ("Yes",), "ok"),
    ("missing in the last message is passed over", said(call(GOOD)) + said(call()), ("Yes",), "ok"),
    ("null in the same message is passed over", said(call(None), call(GOOD)), ("Yes",), "ok"),
    ("a bad last one is not mended", said(call(GOOD)) + said(call("{")), (), "bad_json_args"),
    ("a keyless last one is not mended", said(call(GOOD)) + said(call("{}")), (), "no_response_key"),
    ("a later tool call", said(call(GOOD)) + said(call("{}", "ehr.think")), ("Yes",), "ok"),
    ("null function", said({"function": None}), (), "no_finish_call"),
    ("no messages", [], (), "no_finish_call"),
]


@pytest.mark.parametrize(
    ("messages", "predictions", "note"), [row[1:] for row in FINISHES], ids=[f[0] for f in FINISHES]
)
def test_the_first_finish_call_of_the_last_message_decides(
    messages: list[Any], predictions: tuple[str, ...], note: str
) -> None:
    assert take(row_of(messages)) == take(from_dict({"messages": messages})) == (predictions, note)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (None, ()),
        ("text", ("text",)),
        (7, ("7",)),
        ([], ()),
        (["a", 7, None, True, 1.5], ("a", "7", "None", "True", "1.5")),
        ([{"name": "a", "value": "b"}, {"value": "b"}, {"text": "c"}, {"answer": "d"}], ("a", "b", "c", "d")),
        ([{"name": "", "value": "b"}, {"name": None, "text": "c"}], ("b", "c")),
        ([{"value": 0}, {"value": 7}], ('{"value": 0}', "7")),
        ([{"other": "x"}, {}], ('{"other": "x"}', "{}")),
        ([["a", "b"]], ("['a', 'b']",)),
    ],
)
def test_predictions_as_strings(response: Any, expected: tuple[str, ...]) -> None:
    assert strings(response) == expected


@pytest.mark.parametrize("depth", [300, 700, 900, 980, 990, 5_000])
@pytest.mark.parametrize(
    "inside", ['{"response": %s}', '{"response": [{"a": %s}]}', '{"response": [{"name": %s}]}', "%s"]
)
def test_nesting_bombs_are_a_note(depth: int, inside: str) -> None:
    text = inside % ("[" * depth + "]" * depth)
    assert take(row_of(said(call(text))))[1] in {"ok", "bad_json_args", "no_response_key"}


def test_prediction_sets_are_stripped_folded_and_without_blanks() -> None:
    assert prediction_set([" A ", "a", "", "  ", "B"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ([{"name": "A"}, {"name": "B", "value": "x"}], ["A", "B"]),
        ([{"name": None, "value": 7}, {"value": "x"}, {"other": 1}], ["7", "x"]),
        ([{"name": " "}, {"name": ""}, ""], []),
        ("yes", ["yes"]),
        (["a", None, 3], ["a", "None", "3"]),
        ({"name": "A"}, ["{'name': 'A'}"]),
        ([], []),
        (None, []),
    ],
)
def test_names_of_a_label(label: Any, names: list[str]) -> None:
    assert gold_names(label) == names


def test_items() -> None:
    row = {"qid": "q1", "task": "ehrxqa_table", "subject_id": 7, "scope": "patient_scope", "label": [{"name": "3"}]}
    cohort = {"qid": "q2", "task": "ehrxqa_table", "subject_id": None, "ground_truth": [{"name": "4"}]}
    first, second, third = mm_items([row, cohort, {**row, "qid": "q3", "label": []}])
    assert (first.key, first.cluster, first.scored) == ("q1", "7", True)
    assert first.facets == (("task", "ehrxqa_table"), ("scope", "patient_scope"), ("gold_items", "one"))
    assert (second.cluster, second.gold, second.scored) == ("q2", [{"name": "4"}], True)
    assert third.scored is False


@pytest.mark.parametrize("field", ["qid", "task"])
@pytest.mark.parametrize("value", [None, "", 7, []])
def test_a_gold_row_that_cannot_be_read_is_named(field: str, value: Any) -> None:
    row = {"qid": "q1", "task": "t", "label": []}
    with pytest.raises(ValueError, match=rf"gold row 2: {field} is "):
        mm_items([row, {**row, field: value}])


def test_an_answer_says_whether_the_call_failed() -> None:
    answer = read(from_dict({"qid": "q1", "run_index": 2, "status": "error", "messages": []}))
    assert (answer.item, answer.repeat, answer.prediction, answer.rule, answer.error) == (
        "q1",
        2,
        (),
        "no_finish_call",
        True,
    )


def test_two_answers_are_the_same_when_their_sets_are() -> None:
    comparable = BENCHMARKS["mm-bench"].comparable
    first, second = (read(row_of(said(call(json.dumps({"response": r}))))) for r in (["A ", "b"], ["B", "a", ""]))
    assert comparable(first) == comparable(second)


@settings(deadline=None, max_examples=400)
@given(ROW)
def test_any_json_row_is_read(raw: dict[str, Any]) -> None:
    row = from_dict(raw)
    if row.item is not None:
        answer = read(row)
        assert all(isinstance(text, str) for text in answer.prediction)
        hash(BENCHMARKS["mm-bench"].comparable(answer))


@settings(deadline=None)
@given(JSON)
def test_any_label_has_names(label: Any) -> None:
    assert all(isinstance(name, str) and name.strip() for name in gold_names(label))


@pytest.mark.usefixtures("shared")
def test_notes_of_every_row_of_the_pack() -> None:
    """The public scorers' own counts, text and MM: by what rule each row's answer was taken, or why there is none."""
    compared = 0
    with tarfile.open(PACK) as archive:
        expected = json.load(archive.extractfile("clinseek/expected.json"))  # type: ignore[arg-type]
        for run in expected["runs"]:
            member = archive.extractfile(f"clinseek/{run['physical']}")
            assert member is not None
            bad = {line["line"] for line in run["file"]["malformed_lines"]} | set(run["file"]["lines_without_qid"])
            found: Counter[str] = Counter()
            benchmark = BENCHMARKS[run["benchmark"].replace("_", "-")]
            for number, line in enumerate(member.read().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
                if line.strip() and number not in bad:
                    rule = benchmark.read(from_dict(json.loads(line))).rule
                    # the public scorer says ok and counts the row as incomplete all the same
                    found["ok" if rule == "null_response" else rule] += 1
            assert found == run["counts"]["answer_source_counts"], run["path"]
            compared += sum(found.values())
    assert compared == 1718
