"""MM-Bench with a vocabulary: every figure of the pack by the true encoder, and the rules by a tiny invented one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.benchmarks.mm_bench import DIMENSIONS, ENCODER, SPEC
from evaluation.encoded import Kept, on_demand
from evaluation.models import EncodedText
from evaluation.protocols.clinseek_mm import mm_items
from evaluation.protocols.clinseek_mm_vocab import (
    THRESHOLD,
    ClinSeekMMSummaryVocab,
    ClinSeekMMVocab,
    nearest,
    vocabulary,
)
from evaluation.protocols.encoder import MiniLM, erf, tensors
from tests.evaluation.test_clinseek_mm_raw import (
    FIVE,
    Row,
    answers_of,
    failed,
    gold_row,
    official_figures,
    overall,
    pack,
    row,
    rows_of,
    table,
)
from tests.needs import need

__all__ = ["pack"]


class Letters:
    """A text's vector: how often each letter stands in it."""

    name, missing = "letters", ""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        counts = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], dtype=np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def evaluate(golds: Sequence[Row], rows: Sequence[Row], kind: type[ClinSeekMMVocab] = ClinSeekMMVocab) -> Any:
    return kind(("task",), Letters()).evaluate(mm_items(golds), answers_of(rows), "seed")


# --- the official values, by the true encoder -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    need("vocab", not ENCODER.missing, ENCODER.missing)
    return ENCODER


def zero_figures(block: dict[str, Any]) -> dict[tuple[str, str, str], tuple[float, int]]:
    found = {}
    for name in FIVE[:4]:
        found[f"unified_{name}", "overall", ""] = block[f"unified_{name}"], block["total"]
        for task, entry in block["per_task_unified"].items():
            found[f"unified_{name}", "task", task] = entry[name], entry["count"]
    return found


def summary_figures(block: dict[str, Any]) -> dict[tuple[str, str, str], tuple[float, int]]:
    """As `official_figures`, of the old re-scorer's form: no unified_subset_match over all, another key by task."""
    block = {"unified_subset_match": None, "per_task_len2plus": block["per_task_len2plus_vocab"], **block}
    return {place: figure for place, figure in official_figures(block).items() if figure[0] is not None}


def test_every_official_figure_of_the_pack(pack: Path, encoder: MiniLM) -> None:
    golds = [json.loads(line) for line in (pack / "gold" / "mm_bench.jsonl").read_text().splitlines()]
    items = SPEC.items(golds)
    expected = json.loads((pack / "expected.json").read_text())
    compared = 0
    for run in (run for run in expected["runs"] if run["benchmark"] == "mm_bench"):
        answers, _ = rows_of(pack / run["physical"])
        scores = run["scores"]
        official = scores.get("official_on_cleaned_copy") or scores["official"]
        wanted = {
            ClinSeekMMVocab: {
                "done_only": official_figures(official["vocab"]),
                "": zero_figures(scores["missing_as_zero"]),
            },
            ClinSeekMMSummaryVocab: {"done_only": summary_figures(official["summary_vocab_form"])},
        }
        for kind, variants in wanted.items():
            ours = table(kind(tuple(DIMENSIONS), encoder).evaluate(items, answers, "seed").aggregates)
            for variant, figures in variants.items():
                for (metric, dimension, facet), (value, n) in figures.items():
                    own = ours[1, metric, variant, dimension, facet]
                    assert (own.value or 0.0, own.n) == (pytest.approx(value, abs=1e-9), n), (
                        run["path"],
                        metric,
                        facet,
                    )
                    compared += 1
    assert compared > 1500


def test_similarities_are_those_that_the_true_encoder_gave(pack: Path, encoder: MiniLM) -> None:
    golds = [json.loads(line) for line in (pack / "gold" / "mm_bench.jsonl").read_text().splitlines()]
    words = vocabulary((gold["task"], gold["label"]) for gold in golds)
    compared = 0
    for file in pack.rglob("rescored.jsonl"):
        for line in file.read_text().splitlines():
            one = json.loads(line)
            if one["task"] in words and one.get("prediction_strs_mapped"):
                found = nearest(one["prediction_strs"], words[one["task"]], encoder)
                assert [likeness for _, likeness in found] == pytest.approx(one["mapping_similarity"], abs=1e-4)
                given = zip(one["prediction_strs"], found, strict=True)
                assert one["prediction_strs_mapped"] == [name if s >= THRESHOLD else text for text, (name, s) in given]
                compared += len(found)
    assert compared > 100


def test_a_vector_does_not_depend_on_its_neighbours(encoder: MiniLM) -> None:
    texts = ["made up", "a longer text that is made up", "made up", "\ud800 lone", "x " * 400, ""]
    together = encoder(texts)
    assert np.abs(together - np.concatenate([encoder([text]) for text in texts])).max() < 1e-6
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert encoder([]).shape == (0, 384)


def test_erf_against_the_standard_library() -> None:
    points = np.linspace(-5, 5, 2001)
    assert erf(points) == pytest.approx([math.erf(point) for point in points], abs=1.6e-7)


def test_other_weights_are_refused() -> None:
    with pytest.raises(RuntimeError, match="are not those of all-MiniLM-L6-v2"):
        tensors(b"made up", "0" * 64)


# --- rules, by an invented encoder ------------------------------------------------------------------------------------

A, B = gold_row("a", "Stone"), gold_row("b", "Alder", "Birch")


def test_a_near_string_is_mapped_and_a_far_one_stays() -> None:
    result = evaluate([B], [row(B, "aldder", "zzz")])
    assert overall(result, "len2plus_f1") == (0.5, 1)
    assert overall(evaluate([B], [row(B, "aldder", "birchh")]), "len2plus_f1") == (1.0, 1)


def test_two_strings_mapped_to_one_name_count_once() -> None:
    result = evaluate([B], [row(B, "aldder", "alderr")])
    assert overall(result, "len2plus_precision") == (1.0, 1)


def test_one_gold_item_stays_with_the_strict_rule() -> None:
    assert overall(evaluate([A], [row(A, "stonee")]), "len1_accuracy") == (0.0, 1)


def test_open_answers_are_never_mapped_but_white_space_is_collapsed() -> None:
    gold = gold_row("b", "Alder", "Red Birch", task="ehrxqa_table")
    result = evaluate([gold], [row(gold, "aldder", "red   birch")])
    assert overall(result, "len2plus_f1") == (0.5, 1)


def test_the_own_vocabulary_is_that_of_the_rows_the_other_that_of_the_gold() -> None:
    more = gold_row("c", "Zzz", "Yyy")
    rows = [row(B, "zzzz", "birch")]
    assert overall(evaluate([B, more], rows), "len2plus_f1", "done_only") == (0.5, 1)
    near = vocabulary([("made_up", more["label"]), ("made_up", B["label"])])
    assert near == {"made_up": ["Alder", "Birch", "Yyy", "Zzz"]}
    # with the gold's vocabulary zzzz becomes Zzz, which is as wrong
    assert overall(evaluate([B, more], rows, ClinSeekMMSummaryVocab), "len2plus_f1", "done_only") == (0.5, 1)
    assert overall(evaluate([B, more], [row(B, "aldder")], ClinSeekMMSummaryVocab), "unified_f1") == (
        pytest.approx(1 / 3),
        2,
    )


def test_only_the_old_form_leaves_incomplete_rows_out() -> None:
    rows = [row(B, "alder", "birch"), failed("c", task="made_up", label=B["label"])]
    golds = [B, {**B, "qid": "c"}]
    assert overall(evaluate(golds, rows), "len2plus_f1", "done_only") == (0.5, 2)
    old = evaluate(golds, rows, ClinSeekMMSummaryVocab)
    assert overall(old, "len2plus_f1", "done_only") == (1.0, 1)
    assert overall(old, "unified_f1", "done_only") == (0.5, 2)
    assert overall(old, "len2plus_f1") == (0.5, 2)


def test_equally_near_names_the_first_in_order() -> None:
    assert nearest(["ab"], ["ab", "ba"], Letters()) == [("ab", pytest.approx(1.0))]
    assert vocabulary([("t", [{"name": "ba"}, {"name": "ab"}, {"name": None, "value": 3}])]) == {"t": ["ab", "ba"]}


def test_the_encoder_belongs_to_the_fingerprint() -> None:
    other = Letters()
    other.name = "others"  # type: ignore[misc]
    one = ClinSeekMMVocab(("task",), Letters())
    assert one.fingerprint != one.using(other).fingerprint
    assert one.fingerprint != ClinSeekMMSummaryVocab(("task",), Letters()).fingerprint


def test_without_the_extra_the_evaluators_are_absent_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.protocols.encoder.find_spec", lambda name: None)
    assert on_demand(SPEC) == []
    for evaluator in SPEC.optional_evaluators:
        assert "extra vocab is not installed" in evaluator.missing
    with pytest.raises(RuntimeError, match="extra vocab is not installed"):
        MiniLM()(["made up"])


@pytest.mark.django_db
def test_vectors_are_kept_by_encoder_and_text() -> None:
    letters = Letters()
    kept = Kept(letters)
    first = kept(["ab", "cd", "ab"])
    assert letters.asked == ["ab", "cd"]
    again = Kept(letters)(["cd", "ab", "\ud800"])
    assert letters.asked == ["ab", "cd", "\ud800"]
    assert np.array_equal(first[[1, 0]], again[:2]) and first.dtype == np.float32
    assert EncodedText.objects.count() == 3
    other = Letters()
    other.name = "others"  # type: ignore[misc]
    Kept(other)(["ab"])
    assert other.asked == ["ab"] and EncodedText.objects.count() == 4
    assert kept([]).size == 0
