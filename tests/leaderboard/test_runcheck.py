"""The run check: every point met, not met and not stated, at its threshold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.protocols.base import Outcome
from leaderboard.runcheck import FAR_BELOW, MET, NOT_MET, NOT_STATED, Facts, Part, run_check, temperature
from leaderboard.runfacts import count_outcomes, outcomes_of
from tests.ingest.trees import answered, run_path
from tests.leaderboard.worlds import QUESTIONS, ehr_rows, ehr_tree, live_tree, load

GOOD = Facts(
    outcomes={Outcome.RIGHT: 60, Outcome.WRONG: 40},
    several_questions=True,
    conversation_kept=True,
    shots=0,
    decoding="temperature 0, at most 8192 new tokens",
    repeats=3,
    snapshot="2026-09-02",
    images=Part(0.5, 0.4, 0.6, 50),
    texts=Part(0.6, 0.5, 0.7, 50),
    tells_images=True,
)


def states(**other: Any) -> dict[str, str]:
    return {check.name: check.state for check in run_check(replace(GOOD, **other))}


def test_a_good_run_meets_every_point() -> None:
    assert set(states().values()) == {MET} and len(states()) == 9


@pytest.mark.parametrize(
    ("name", "other", "state"),
    [
        ("Conversation kept", {"conversation_kept": False}, NOT_MET),
        ("Conversation kept", {"conversation_kept": None}, NOT_STATED),
        ("Zero-shot", {"shots": 2}, NOT_MET),
        ("Zero-shot", {"shots": None}, NOT_STATED),
        ("Temperature", {"decoding": "temperature 1.0"}, NOT_MET),
        ("Temperature", {"decoding": "greedy"}, NOT_STATED),
        ("3 runs", {"repeats": 2}, NOT_MET),
        ("Snapshot", {"snapshot": ""}, NOT_STATED),
        ("Coverage", {"outcomes": {Outcome.RIGHT: 95, Outcome.MISSING: 5}}, MET),
        ("Coverage", {"outcomes": {Outcome.RIGHT: 94, Outcome.MISSING: 6}}, NOT_MET),
        ("Coverage", {"outcomes": {Outcome.RIGHT: 94, Outcome.ERROR: 6}}, NOT_MET),
        ("Coverage", {"outcomes": {Outcome.NO_ANSWER: 100}}, MET),
        ("Coverage", {"outcomes": {}}, NOT_STATED),
        ("Failed calls", {"outcomes": {Outcome.RIGHT: 99, Outcome.ERROR: 1}}, MET),
        ("Failed calls", {"outcomes": {Outcome.RIGHT: 98, Outcome.ERROR: 2}}, NOT_MET),
        ("Failed calls", {"outcomes": {}}, NOT_STATED),
        ("No answer taken", {"outcomes": {Outcome.RIGHT: 95, Outcome.NO_ANSWER: 5}}, MET),
        ("No answer taken", {"outcomes": {Outcome.RIGHT: 94, Outcome.NO_ANSWER: 6}}, NOT_MET),
    ],
)
def test_each_point_at_its_threshold(name: str, other: dict[str, Any], state: str) -> None:
    assert states(**other)[name] == state


@pytest.mark.parametrize(
    ("images", "texts", "state"),
    [
        (Part(0.2, 0.1, 0.3, 50), Part(0.6, 0.5, 0.7, 50), NOT_MET),
        (Part(0.2, 0.1, 0.55, 50), Part(0.6, 0.5, 0.7, 50), MET),  # the intervals meet
        (Part(0.5, 0.49, 0.51, 900), Part(0.6, 0.59, 0.61, 900), MET),  # apart, and yet near
        (Part(0.9, 0.8, 0.95, 50), Part(0.2, 0.1, 0.3, 50), MET),
        (Part(0.2, 0.1, 0.3, 19), Part(0.6, 0.5, 0.7, 50), NOT_STATED),
        (None, Part(0.6, 0.5, 0.7, 50), NOT_STATED),
    ],
)
def test_image_items_far_below_text_items(images: Part | None, texts: Part | None, state: str) -> None:
    assert states(images=images, texts=texts)["Image items against text items"] == state
    assert FAR_BELOW == 0.15


def test_points_that_do_not_apply_are_left_out() -> None:
    assert not {"Conversation kept", "Image items against text items"} & set(
        states(several_questions=False, tells_images=False)
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("temperature 0", 0),
        ("Temperature: 0.7, top-p 0.9", 0.7),
        ("top-p 1; temp=0.", 0),
        ("temperature 0 to 1", None),
        ("temperature 0-1", None),
        ("temperature 1e-3", None),
        ("temperature 0, later temperature 1", None),
        ("temperature 0; temperature 0.0", 0),
        ("template 3", None),
        ("at most 8192 tokens", None),
        ("", None),
    ],
)
def test_temperature_is_read_or_left(text: str, value: float | None) -> None:
    assert temperature(text) == value


@given(st.text(), st.integers(0, 200))
def test_any_text_on_decoding_is_survived(text: str, tenths: int) -> None:
    temperature(text)
    assert temperature(f"temperature {tenths / 10}, {text.replace('temp', '').replace('TEMP', '')}") in (
        tenths / 10,
        None,
    )


@given(st.dictionaries(st.sampled_from(list(Outcome)), st.integers(0, 400)))
def test_shares_by_a_plain_twin(outcomes: dict[Outcome, int]) -> None:
    plain = [outcome for outcome, count in outcomes.items() for _ in range(count)]
    found = states(outcomes=outcomes)
    if not plain:
        assert found["Coverage"] == found["Failed calls"] == found["No answer taken"] == NOT_STATED
        return
    heard = sum(outcome in (Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER) for outcome in plain)
    assert (found["Coverage"] == MET) == (100 * heard >= 95 * len(plain))
    assert (found["Failed calls"] == MET) == (100 * plain.count(Outcome.ERROR) <= len(plain))
    assert (found["No answer taken"] == MET) == (20 * plain.count(Outcome.NO_ANSWER) <= len(plain))


@pytest.mark.django_db
def test_outcomes_are_counted_over_repeats(tmp_path: Path, client: Client) -> None:
    tree = ehr_tree(tmp_path, {})
    second = [answered(q, "alpha", run_index=2) for q in QUESTIONS[:18]]
    tree.lines(run_path("alder"), ehr_rows(5) + second)
    (run,) = load(tree)
    counts = count_outcomes(run.evaluations.get(current=True))
    assert counts == {
        Outcome.RIGHT: 23,
        Outcome.WRONG: 15,
        Outcome.NO_ANSWER: 0,
        Outcome.ERROR: 0,
        Outcome.MISSING: 2,
    }
    assert [tile.share for tile in outcomes_of(counts)][::4] == ["57.5 % of 40", "5.0 % of 40"]
    page = client.get(run.get_absolute_url()).content.decode()
    assert "Run check" in page and "at least 3" in page and "95.0 % (38 of 40)" in page


@pytest.mark.django_db
def test_repeats_in_other_runs_count(tmp_path: Path, client: Client) -> None:
    runs = load(live_tree(tmp_path, {f"a_run{n}": ("Aster", ["AB"] * 8) for n in (1, 2, 3)}))
    page = client.get(runs[0].get_absolute_url()).content.decode()
    row = page[page.index(">3 runs<") :][:300]
    assert "✓" in row and ">3<" in row


def test_no_evaluation_has_no_outcomes() -> None:
    assert count_outcomes(None) == {} and outcomes_of({}) == [] and outcomes_of({Outcome.RIGHT: 0}) == []
