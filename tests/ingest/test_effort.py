"""What rows say of the effort of a run, against the public scorer's own averages and a plain twin."""

from __future__ import annotations

import json
import tarfile
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from ingest.effort import Effort
from tests.ingest.trees import SHARED

PACK = "clinseek/results/ehr_bench/agentic/full1800/qwen3_vl_235b/"


def of(*rows: dict[str, Any]) -> Effort:
    effort = Effort()
    for row in rows:
        effort.add(from_dict(row))
    return effort


def call(name: Any, flat: bool = False) -> dict[str, Any]:
    return {"name": name, "arguments": "{}"} if flat else {"function": {"name": name, "arguments": "{}"}}


def test_turns_calls_and_browser_calls() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [call("browser.search"), call("ehr.think")]},
        {"role": "tool", "content": "t"},
        {"role": "assistant", "tool_calls": [call("browser.open", flat=True), call("browsers")]},
        {"role": "assistant", "tool_calls": None},
    ]
    effort = of({"qid": "a", "messages": messages}, {"qid": "b", "messages": []}, {"qid": "c"})
    assert (effort.rows, effort.turns, effort.calls, effort.browser_calls) == (3, 3, 4, 2)
    assert effort.tokens_rows == effort.seconds_rows == 0


def test_tokens_and_times_count_only_where_they_are_stated() -> None:
    effort = of(
        {
            "qid": "a",
            "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
            "elapsed_seconds": 1.5,
        },
        {"qid": "b", "usage": {}, "elapsed_seconds": None},
        {"qid": "c", "usage": {"prompt_tokens": 5}, "elapsed_seconds": "2"},
        {"qid": "d", "usage": "none", "elapsed_seconds": float("nan")},
        {"qid": "e", "usage": {"prompt_tokens": True, "completion_tokens": 1}, "elapsed_seconds": True},
        {"qid": "f", "usage": {"prompt_tokens": -1, "completion_tokens": 1}, "elapsed_seconds": 2},
    )
    assert (effort.tokens_rows, effort.prompt_tokens, effort.completion_tokens) == (1, 100, 7)
    assert (effort.seconds_rows, effort.seconds) == (2, 3.5)


def test_sums_of_files_add_up_and_nothing_is_nothing() -> None:
    one, other = of({"qid": "a", "elapsed_seconds": 1}), of({"qid": "b", "elapsed_seconds": 2})
    assert (one + other).as_counts() == of(
        {"qid": "a", "elapsed_seconds": 1}, {"qid": "b", "elapsed_seconds": 2}
    ).as_counts()
    assert Effort().as_counts() == {}


names = st.sampled_from(["browser.search", "ehr.finish", "browser", "", None, 3])
calls = st.lists(st.builds(call, names, st.booleans()), max_size=4)
messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["assistant", "tool", None, 1]), "tool_calls": st.none() | calls}),
    max_size=5,
)


@given(st.lists(messages, max_size=5))
def test_counts_by_a_plain_twin(rows: list[list[dict[str, Any]]]) -> None:
    effort = of(*({"qid": str(number), "messages": row} for number, row in enumerate(rows)))
    flat = [message for row in rows for message in row]
    told = [one for message in flat for one in message["tool_calls"] or []]
    called = [one.get("function", one)["name"] for one in told]
    assert effort.turns == sum(message["role"] == "assistant" for message in flat)
    assert effort.calls == len(called)
    assert effort.browser_calls == sum(isinstance(name, str) and name[:8] == "browser." for name in called)


def test_averages_are_those_of_the_public_scorer() -> None:
    archive = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"
    if not archive.is_file():
        pytest.skip("the conformance pack is not there")
    with tarfile.open(archive) as pack:
        told = json.load(pack.extractfile(PACK + "summary.json"))["overall"]  # type: ignore[arg-type]
        lines = pack.extractfile(PACK + "results.jsonl").read().splitlines()  # type: ignore[union-attr]
    effort = Effort()
    for line in lines:
        effort.add(msgspec.json.decode(line, type=ClinSeekRow))
    assert told["runs"] == effort.rows
    assert told["tool_calls_avg"] == effort.calls / effort.rows
    assert told["turns_avg"] == effort.turns / effort.rows
    assert told["browser_tool_pct"] == 100 * effort.browser_calls / effort.calls
