"""The text scorer: extraction of answers, gold, set scores and their means, against plain twins and the specification."""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.ehr_bench import GROUP_OF_TASK, TASK_GROUPS
from evaluation.protocols.base import Answer, ItemSpec, Outcome, Result
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from evaluation.protocols.clinseek_text import (
    ClinSeekText,
    gold_strings,
    item_key,
    parse_arguments,
    prediction_set,
    set_scores,
    take,
    text_items,
)

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
FORMATS = SHARED / "formats" / "clinseek.md"
TEXT = ClinSeekText("ehr-bench", ("task_type", "task"))
decode = msgspec.json.Decoder(ClinSeekRow).decode


def row_of(messages: Any, **fields: Any) -> ClinSeekRow:
    """A row as the reader gives it: the typed decoder, else the slow lane."""
    raw = {"qid": "q1", "messages": messages, **fields}
    try:
        return decode(json.dumps(raw))
    except msgspec.MsgspecError:
        return from_dict(raw)


MISSING = object()


def call(arguments: Any = MISSING, name: Any = "ehr.finish") -> dict[str, Any]:
    function = {"name": name}
    return {"id": "c1", "function": function if arguments is MISSING else function | {"arguments": arguments}}


def said(*calls: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": "", "tool_calls": list(calls)}]


GOOD = '{"response": ["Yes"]}'

# --- extraction -------------------------------------------------------------------------------------------------------

FINISHES: list[tuple[str, list[Any], tuple[str, ...], str]] = [
    ("object as text", said(call(GOOD)), ("Yes",), "finish_tool_call"),
    ("object", said(call({"response": ["Yes"]})), ("Yes",), "finish_tool_call"),
    ("list", said(call(["Yes", "No"])), ("Yes", "No"), "finish_tool_call"),
    ("list as text", said(call('["Yes"]')), ("Yes",), "finish_tool_call"),
    ("plain string as text", said(call('" Yes "')), ("Yes",), "finish_tool_call"),
    ("response is a string", said(call('{"response": "  Yes "}')), ("Yes",), "finish_tool_call"),
    ("response is blank", said(call('{"response": "   "}')), (), "finish_tool_call_non_list"),
    ("response is null", said(call('{"response": null}')), (), "finish_tool_call_non_list"),
    ("response is a number", said(call('{"response": 7}')), (), "finish_tool_call_non_list"),
    ("response is an object", said(call('{"response": {"name": "Yes"}}')), (), "finish_tool_call_non_list"),
    ("response is empty", said(call('{"response": []}')), (), "finish_tool_call"),
    (
        "response is mixed",
        said(call('{"response": [1, null, {"name": "x"}, "", "Yes"]}')),
        ("", "Yes"),
        "finish_tool_call",
    ),
    ("response of objects", said(call('{"response": [{"name": "Yes"}]}')), (), "finish_tool_call"),
    ("no response", said(call('{"answer": ["Yes"]}')), (), "finish_tool_call"),
    ("empty object", said(call("{}")), (), "finish_tool_call"),
    ("no arguments", said(call()), (), "finish_tool_call"),
    ("null arguments", said(call(None)), (), "finish_parse_error"),
    ("null as text", said(call("null")), (), "finish_tool_call_non_list"),
    ("number as text", said(call("7")), (), "finish_tool_call_non_list"),
    ("python text", said(call("{'response': ['Yes', None]}")), ("Yes",), "finish_tool_call"),
    ("python list", said(call("['Yes']")), ("Yes",), "finish_tool_call"),
    ("python string", said(call("'Yes'")), ("Yes",), "finish_tool_call"),
    ("bad json", said(call('{"response": ["Yes')), (), "finish_parse_error"),
    ("plain words", said(call("yes it is")), (), "finish_parse_error"),
    ("empty text", said(call("")), (), "finish_parse_error"),
    ("ehr_finish", said(call(GOOD, "ehr_finish")), ("Yes",), "finish_tool_call"),
    ("bare finish", said(call(GOOD, "finish")), ("Yes",), "finish_tool_call"),
    ("browser.finish", said(call(GOOD, "browser.finish")), ("Yes",), "finish_tool_call"),
    ("EHR.Finish", said(call(GOOD, "EHR.Finish")), ("Yes",), "finish_tool_call"),
    ("another tool", said(call(GOOD, "ehr.think")), (), "no_prediction"),
    ("the last message wins", said(call('["No"]')) + said(call(GOOD)), ("Yes",), "finish_tool_call"),
    ("the last call wins", said(call('["No"]'), call("{}", "ehr.think"), call(GOOD)), ("Yes",), "finish_tool_call"),
    ("a bad last one is not mended", said(call(GOOD)) + said(call('{"response":')), (), "finish_parse_error"),
    ("a null last one is not mended", said(call(GOOD)) + said(call(None)), (), "finish_parse_error"),
    ("a later tool call", said(call(GOOD)) + said(call("{}", "ehr.think")), ("Yes",), "finish_tool_call"),
    ("name at the top level", said({"name": "ehr.finish", "arguments": GOOD}), (), "no_prediction"),
    ("null function", said({"function": None}, call(GOOD)), ("Yes",), "finish_tool_call"),
    ("null name", said(call(GOOD), call(GOOD, None)), ("Yes",), "finish_tool_call"),
    ("any role", [{"role": "user", "tool_calls": [call(GOOD)]}], ("Yes",), "finish_tool_call"),
    ("text without finish", [{"role": "assistant", "content": "Exact Answer: Yes"}], (), "no_prediction"),
    ("null calls", [{"role": "assistant", "tool_calls": None}], (), "no_prediction"),
    ("no messages", [], (), "no_prediction"),
]


@pytest.mark.parametrize(
    ("messages", "predictions", "source"), [row[1:] for row in FINISHES], ids=[f[0] for f in FINISHES]
)
def test_the_last_finish_call_decides(messages: list[Any], predictions: tuple[str, ...], source: str) -> None:
    assert take(row_of(messages)) == (predictions, source)
    assert take(from_dict({"qid": "q1", "messages": messages})) == (predictions, source)


@pytest.mark.parametrize("status", ["success", "error", "incomplete", None, 3])
def test_status_is_not_consulted(status: Any) -> None:
    row = row_of(said(call(GOOD)), status=status, completed=False, stop_reason="exception")
    answer = TEXT.read(row)
    assert answer.prediction == ("Yes",)
    assert answer.error == (status == "error" or status is None)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "-" * 100_000 + "1", "(" * 5_000, "9" * 10_000, "{" * 990 + "}" * 990, "\x00"]
)
def test_arguments_made_to_break_a_parser(text: str) -> None:
    assert take(row_of(said(call(text))))[1] in ("finish_parse_error", "finish_tool_call_non_list")


def test_python_objects_that_json_cannot_write_are_left_out() -> None:
    answer = TEXT.read(row_of(said(call("{'response': [{(1, 2): b'x'}, {1}, 2j, 'Yes']}"))))
    assert answer.prediction == ("Yes",)
    json.dumps(answer.prediction)


def test_parsed_arguments() -> None:
    assert parse_arguments('{"a": NaN}')[0] and parse_arguments("{'a': (1, 2)}") == (True, {"a": (1, 2)})
    assert parse_arguments(["x"]) == (True, ["x"]) and parse_arguments(None) == (False, None)


# --- odd rows ---------------------------------------------------------------------------------------------------------

STOPPING: list[tuple[str, Any]] = [
    ("null messages", None),
    ("messages is an object", {"role": "user"}),
    ("a message is a text", ["hello"]),
    ("a call is a text", said("finish")),
    ("calls is an object", [{"tool_calls": {"function": {}}}]),
    ("null function", said({"function": None})),
    ("function is a text", said({"function": "finish"})),
    ("null name", said(call(GOOD, None))),
    ("name is a number", said(call(GOOD, 7))),
]
GOING = [
    [],
    said(call(GOOD)),
    said({"name": "ehr.finish"}),
    said({"function": {}}),
    [{"role": "user", "tool_calls": None}],
]


@pytest.mark.parametrize("messages", [row[1] for row in STOPPING], ids=[row[0] for row in STOPPING])
def test_rows_that_stop_the_public_scorer_are_marked(messages: Any) -> None:
    for row in (row_of(messages), from_dict({"qid": "q1", "messages": messages})):
        assert row.odd_shape


@pytest.mark.parametrize("messages", GOING)
def test_rows_that_it_takes_are_not(messages: Any) -> None:
    for row in (row_of(messages), from_dict({"qid": "q1", "messages": messages}), from_dict({"qid": "q1"})):
        assert not row.odd_shape
    assert not decode(b'{"qid": "q1"}').odd_shape


@pytest.mark.parametrize(
    ("qid", "item"),
    [
        ("q", "q"),
        ("", ""),
        (7, "7"),
        (7.5, "7.5"),
        (None, None),
        (True, None),
        ([], None),
        ({}, None),
        ("unknown", "unknown"),
    ],
)
def test_the_id_of_a_row(qid: Any, item: str | None) -> None:
    assert row_of([], qid=qid).item == item and from_dict({"qid": qid}).item == item
    assert from_dict({}).item is None


@pytest.mark.parametrize(
    ("index", "repeat"),
    [
        (1, 1),
        (3, 3),
        (2.0, 2),
        (None, 1),
        (0, 1),
        (-2, 1),
        (2.5, 1),
        ("2", 1),
        (True, 1),
        ([2], 1),
        (10**30, 1),
        (1e300, 1),
    ],
)
def test_the_repeat_of_a_row(index: Any, repeat: int) -> None:
    assert row_of([], run_index=index).repeat == repeat
    assert from_dict({"run_index": math.nan}).repeat == from_dict({}).repeat == 1


# --- gold -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "strings"),
    [
        ("yes", ["yes"]),
        ([], []),
        (["A", "b"], ["A", "b"]),
        ([{"name": "A"}, {"name": None}, {"name": "B", "atc_name": ""}], ["A", "B"]),
        ([{"name": "A", "atc_name": "X"}, {"name": "B"}, {"name": "C", "atc_name": None}], ["X"]),
        ([{"icd": 1}, "mixed", 7, None], ["mixed"]),
        (None, []),
        ({"name": "A"}, []),
    ],
)
def test_gold_as_strings(label: Any, strings: list[str]) -> None:
    assert gold_strings(label) == strings


def test_ids_of_gold_rows() -> None:
    row = {"qid": "own", "task": "t", "subject_id": 1, "hadm_id": 2}
    assert item_key(row, build=False) == "own" and item_key(row, build=True) == "t_1_2"
    assert item_key({**row, "qid": None, "query_id": "other"}, build=False) == "other"
    assert item_key({**row, "qid": "", "hadm_id": None}, build=False) == "t_1"


def test_facets_of_items() -> None:
    row = {"qid": "a", "subject_id": 1, "task": "ICU_Stay_7day", "task_type": "risk_prediction", "label": "no"}
    (item,) = BENCHMARKS["ehr-bench"].items([row])
    assert item == ItemSpec(
        "a",
        "a",
        "1",
        "no",
        (("task", "ICU_Stay_7day"), ("task_type", "risk_prediction"), ("task_group", "ICU_StayLength")),
    )
    row = {"subject_id": 1, "task": "transfers", "label": [{"name": "W"}]}
    assert BENCHMARKS["agent-ehr-bench"].items([row])[0].facets == (
        ("task", "transfers"),
        ("aggregate", "overall_5_tasks"),
    )
    (item,) = BENCHMARKS["agent-ehr-bench"].items([{**row, "task": "prescriptions"}])
    assert item.facets == (("task", "prescriptions"),)


def test_the_45_tasks_lie_in_20_groups_once_each() -> None:
    assert (len(TASK_GROUPS), len(GROUP_OF_TASK), sum(map(len, TASK_GROUPS.values()))) == (20, 45, 45)


# --- set scores -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "gold", "scores"),
    [
        ({"a"}, {"a"}, (1.0, 1.0, 1.0, 1.0)),
        ({"a", "b"}, {"a"}, (2 / 3, 0.5, 1.0, 0.0)),
        ({"a"}, {"a", "b"}, (2 / 3, 1.0, 0.5, 0.0)),
        ({"c"}, {"a"}, (0.0, 0.0, 0.0, 0.0)),
        (set(), {"a"}, (0.0, 0.0, 0.0, 0.0)),
        (set(), set(), (0.0, 0.0, 0.0, 0.0)),
        ({"a"}, set(), (0.0, 0.0, 0.0, 0.0)),
        ({"a", ""}, {"a"}, (2 / 3, 0.5, 1.0, 0.0)),
    ],
)
def test_scores_of_two_sets(predicted: set[str], gold: set[str], scores: tuple[float, ...]) -> None:
    assert set_scores(frozenset(predicted), frozenset(gold)) == scores


def plain_scores(predicted: list[str], gold: list[str]) -> tuple[float, float, float, float]:
    """The same by counting one by one."""
    ours = [text for number, text in enumerate(predicted) if text not in predicted[:number]]
    theirs = [text for number, text in enumerate(gold) if text not in gold[:number]]
    if not ours:
        return 0.0, 0.0, 0.0, 0.0
    hits = sum(text in theirs for text in ours)
    precision, recall = hits / len(ours), hits / len(theirs) if theirs else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f1, precision, recall, float(hits == len(ours) == len(theirs))


WORDS = st.lists(st.sampled_from(["a", "b", "c", "", "ä"]), max_size=6)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_set_scores_equal_their_plain_twin(predicted: list[str], gold: list[str]) -> None:
    found = set_scores(frozenset(predicted), frozenset(gold))
    assert found == pytest.approx(plain_scores(predicted, gold), abs=1e-15)
    assert all(0 <= value <= 1 for value in found)


def test_only_case_is_folded() -> None:
    assert prediction_set(["Test A", "test a ", "TEST A", 7, None, {"name": "x"}]) == {"test a", "test a "}
    assert prediction_set(["Straße"]) != prediction_set(["STRASSE"])


# --- the mean ---------------------------------------------------------------------------------------------------------


def items_of(**labels: Any) -> list[ItemSpec]:
    rows = [
        {"qid": qid, "subject_id": qid, "task": task, "task_type": kind, "label": label}
        for qid, (task, kind, label) in labels.items()
    ]
    return text_items(rows)


ITEMS = items_of(a=("t1", "risk", "yes"), b=("t1", "risk", "no"), c=("t2", "decision", ["x", "y"]))


def answer(qid: str, *texts: str, repeat: int = 1, error: bool = False, task: Any = None, odd: bool = False) -> Answer:
    return Answer(qid, repeat, texts, "finish_tool_call", error, (task, odd))


def value(
    result: Result, metric: str = "f1", variant: str = "", facet: tuple = ("overall", ""), repeat: Any = 1
) -> Any:
    (row,) = (
        row
        for row in result.aggregates
        if (row.repeat, row.metric, row.variant, row.dimension, row.facet) == (repeat, metric, variant, *facet)
    )
    return row.value, row.n, row.n_answered


def test_hand_counted_means() -> None:
    result = TEXT.evaluate(ITEMS, [answer("a", "YES"), answer("c", "x", "z")], "seed")
    assert value(result) == (pytest.approx(1.5 / 3), 3, 2)
    assert value(result, variant="done_only") == (pytest.approx(1.5 / 2), 2, 2)
    assert value(result, facet=("task", "t1")) == (0.5, 2, 1)
    assert value(result, variant="done_only", facet=("task_type", "risk")) == (1.0, 1, 1)
    assert value(result, "exact_match") == (pytest.approx(1 / 3), 3, 2)


def test_rows_of_one_question_are_averaged_twins_too() -> None:
    twice = [answer("a", "yes"), answer("a", "yes"), answer("a", "no")]
    assert value(TEXT.evaluate(ITEMS[:1], twice, "seed"))[0] == pytest.approx(2 / 3)


def test_repeats_and_all_of_them() -> None:
    answers = [answer("a", "yes"), answer("a", "no", repeat=3), answer("b", "no", repeat=3)]
    result = TEXT.evaluate(ITEMS[:2], answers, "seed")
    assert {row.repeat for row in result.aggregates} == {1, 3, None}
    assert value(result, repeat=1)[0] == 0.5 and value(result, repeat=3)[0] == 0.5
    assert value(result, repeat=None)[0] == pytest.approx((0.5 + 1) / 2)


def test_a_single_repeat_keeps_its_number() -> None:
    result = TEXT.evaluate(ITEMS[:1], [answer("a", "yes", repeat=2)], "seed")
    assert {row.repeat for row in result.aggregates} == {2}


def test_outcomes_of_rows_and_items() -> None:
    answers = [
        answer("a"),
        answer("a", error=True),
        answer("a", "maybe"),
        answer("b", error=True),
        answer("c", "x", error=True),
        answer("elsewhere", "x"),
        answer("elsewhere"),
        answer("elsewhere", error=True),
    ]
    result = TEXT.evaluate(ITEMS, answers, "seed")
    assert [verdict.outcome for verdict in result.verdicts] == [
        Outcome.NO_ANSWER,
        Outcome.ERROR,
        Outcome.WRONG,
        Outcome.ERROR,
        Outcome.RIGHT,  # it failed, but what it had given counts, as in the public scorer
        Outcome.WRONG,
        Outcome.NO_ANSWER,
        Outcome.ERROR,
    ]
    assert [verdict.value for verdict in result.verdicts][-4:] == [pytest.approx(2 / 3), None, None, None]
    assert list(result.vectors[1, "outcome"]) == [Outcome.WRONG, Outcome.ERROR, Outcome.RIGHT]


def test_nothing_at_all() -> None:
    empty = TEXT.evaluate([], [], "seed")
    assert {(row.value, row.n) for row in empty.aggregates} == {(None, 0)}
    missing = TEXT.evaluate(ITEMS, [], "seed")
    assert value(missing) == (0.0, 3, 0) and value(missing, variant="done_only") == (None, 0, 0)
    assert list(missing.vectors[1, "outcome"]) == [Outcome.MISSING] * 3
    assert np.isnan(missing.vectors[1, "f1"]).all()


def test_one_item_has_an_interval_or_none_but_no_crash() -> None:
    result = TEXT.evaluate(ITEMS[:1], [answer("a", "yes")], "seed")
    (row,) = [r for r in result.aggregates if (r.metric, r.variant, r.dimension) == ("f1", "", "overall")]
    assert row.value == 1.0 and (row.ci_low is None or row.ci_low <= 1.0)


def test_a_task_spelled_otherwise_is_told_and_counts_under_gold() -> None:
    result = TEXT.evaluate(ITEMS, [answer("a", "yes", task="T1"), answer("b", "no", task="t1")], "seed")
    assert result.task_names == {"T1": "t1"}
    assert [note[0] for note in result.notes] == ["task_differs"]
    assert value(result, facet=("task", "t1")) == (1.0, 2, 2)


def test_an_odd_row_is_told_and_costs_nothing_else() -> None:
    result = TEXT.evaluate(ITEMS, [answer("a", "yes", odd=True), answer("b", "no")], "seed")
    assert [note[:2] for note in result.notes] == [("odd_shape", "a")]
    assert value(result, variant="done_only") == (1.0, 2, 2)


def test_unscored_items_stand_in_no_denominator() -> None:
    hidden = [*ITEMS[:1], ItemSpec("b", "b", "b", "no", (("task", "t1"),), scored=False)]
    result = TEXT.evaluate(hidden, [answer("a", "yes"), answer("b", "no")], "seed")
    assert value(result) == (1.0, 1, 1)
    assert result.verdicts[1].value is None


ANSWERS = st.lists(
    st.tuples(
        st.sampled_from("abcdz"), st.integers(1, 3), st.lists(st.sampled_from(["yes", "X", "y", ""]), max_size=3)
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(ANSWERS)
def test_means_equal_their_plain_twin(rows: list[tuple[str, int, list[str]]]) -> None:
    """Mean over a question's rows, then over questions: overall, by task and by task type, both variants, each repeat."""
    golds = {item.key: [text.lower() for text in gold_strings(item.gold)] for item in ITEMS}
    answers = [answer(qid, *texts, repeat=repeat) for qid, repeat, texts in rows]
    result = TEXT.evaluate(ITEMS, answers, "seed")
    known = [row for row in rows if row[0] in golds]
    repeats = sorted({row[1] for row in known}) or [1]
    for repeat in [*repeats, None] if len(repeats) > 1 else repeats:
        by_item: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for qid, index, texts in known:
            if repeat in (None, index):
                by_item[qid].append(plain_scores([text.lower() for text in texts], golds[qid]))
        for facet in (("overall", ""), ("task", "t1"), ("task", "t2"), ("task_type", "decision")):
            members = [item.key for item in ITEMS if facet[0] == "overall" or facet in item.facets]
            done = [qid for qid in members if by_item[qid]]
            for number, metric in enumerate(("f1", "precision", "recall", "exact_match")):
                total = sum(sum(scores[number] for scores in by_item[qid]) / len(by_item[qid]) for qid in done)
                got, n, _ = value(result, metric, "", facet, repeat)
                assert (got, n) == (pytest.approx(total / len(members), abs=1e-12), len(members))
                got, n, _ = value(result, metric, "done_only", facet, repeat)
                assert n == len(done)
                assert got == (pytest.approx(total / len(done), abs=1e-12) if done else None)


def test_the_fingerprint_follows_the_benchmark_and_its_dimensions() -> None:
    fingerprints = {ClinSeekText(*given).fingerprint for given in (("a", ("task",)), ("b", ("task",)), ("a", ("x",)))}
    assert len(fingerprints) == 3
    assert TEXT.fingerprint == ClinSeekText("ehr-bench", ("task_type", "task")).fingerprint


# --- the specification's own lines ------------------------------------------------------------------------------------

needs_shared = pytest.mark.usefixtures("shared")
BLOCK = re.compile(r"```jsonl\n(.*?)```\n+([^\n]*)", re.S)


def spec_blocks() -> list[tuple[list[dict[str, Any]], str]]:
    """(rows, the sentence below) of every block of JSON Lines in the formats' page."""
    return [
        ([json.loads(line) for line in block[1].strip().split("\n")], block[2])
        for block in BLOCK.finditer(FORMATS.read_text("utf-8"))
    ]


def number(text: str) -> float:
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


@needs_shared
def test_every_scored_line_of_the_specification() -> None:
    compared = 0
    for rows, sentence in spec_blocks():
        if not re.match(r"Scores of these|Expected P/R/F1", sentence):
            continue
        told = [
            entry.strip() for entry in sentence.partition("=" if "F1 =" in sentence else ":")[2].rstrip(".").split(";")
        ]
        assert len(told) == len(rows)
        for row, entry in zip(rows, told, strict=True):
            gold = frozenset(text.lower() for text in gold_strings(row["label"]))
            f1, precision, recall, _ = set_scores(prediction_set(take(from_dict(row))[0]), gold)
            if entry.count("/") == 2:
                wanted = [float(part) for part in entry.split("/")]
                assert [round(part, 3) for part in (precision, recall, f1)] == wanted, row["qid"]
            else:
                assert f1 == pytest.approx(number(entry)), row["qid"]
            compared += 1
    assert compared == 12


@needs_shared
def test_gold_lines_of_the_specification_are_read() -> None:
    rows = [rows for rows, _ in spec_blocks() if "messages" not in rows[0] and "label" in rows[0]]
    ehr = [row for block in rows for row in block if "source_idx" in row]
    agent = [row for block in rows for row in block if "qid" not in row]
    assert [item.key for item in BENCHMARKS["ehr-bench"].items(ehr)] == [row["qid"] for row in ehr] != []
    assert [item.key for item in BENCHMARKS["agent-ehr-bench"].items(agent)] == [
        "diagnoses_ccs_99000010_88000010",
        "labevents_99000011",
        "prescriptions_99000012",
        "transfers_99000013",
    ]


@needs_shared
def test_vllm_rows_of_the_specification() -> None:
    rows = [row for block, _ in spec_blocks() for row in block if row.get("qa_mode")]
    assert [take(from_dict(row)) for row in rows] == [(("no",), "finish_tool_call"), ((), "finish_tool_call")]
    assert [TEXT.read(from_dict(row)).error for row in rows] == [False, True]


# --- any row at all ---------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["ehr.finish", GOOD]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FUNCTION = st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON})
CALL = st.fixed_dictionaries({}, optional={"id": JSON, "function": FUNCTION | JSON, "name": JSON, "arguments": JSON})
MESSAGE = st.fixed_dictionaries(
    {}, optional={"role": JSON, "content": JSON, "tool_calls": st.lists(CALL | JSON, max_size=3) | JSON}
)
ROW = st.fixed_dictionaries(
    {},
    optional={
        "qid": st.sampled_from(["a", "b"]) | JSON,
        "run_index": st.integers(-1, 3) | JSON,
        "status": JSON,
        "stop_reason": JSON,
        "task": JSON,
        "label": JSON,
        "messages": st.lists(MESSAGE | JSON, max_size=3) | JSON,
        "passed_over": JSON,
    },
)


@settings(deadline=None, max_examples=400)
@given(st.lists(ROW, max_size=4))
def test_any_json_rows_are_read_and_evaluated(rows: list[dict[str, Any]]) -> None:
    answers = [TEXT.read(row) for row in map(from_dict, rows) if row.item is not None]
    result = TEXT.evaluate(ITEMS, answers, "seed")
    assert len(result.verdicts) == len(answers)
    for answer_ in answers:
        assert all(isinstance(text, str) for text in answer_.prediction) and answer_.repeat >= 1
        json.dumps(answer_.prediction)


@settings(deadline=None, max_examples=400)
@given(ROW)
def test_both_lanes_read_the_same(raw: dict[str, Any]) -> None:
    """What the typed decoder takes, the slow lane reads the same way."""
    raw.pop("passed_over", None)
    try:
        fast = decode(json.dumps(raw))
    except (msgspec.MsgspecError, UnicodeError):
        return
    slow = from_dict(json.loads(json.dumps(raw)))
    assert (fast.item, fast.repeat, fast.failed, fast.odd_shape) == (
        slow.item,
        slow.repeat,
        slow.failed,
        slow.odd_shape,
    )
    assert take(fast) == take(slow)
