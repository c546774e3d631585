"""MM-Bench without vocabulary and judge: the official block, the headline with missing as 0, and every rule by itself."""

from __future__ import annotations

import json
import math
import random
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.benchmarks.mm_bench import EVALUATOR, SPEC
from evaluation.protocols import readings
from evaluation.protocols.base import Aggregate, Answer, ItemSpec, Outcome, Result
from evaluation.protocols.clinseek_mm import mm_items, read, take
from evaluation.protocols.clinseek_mm_means import METRICS, strict
from evaluation.protocols.clinseek_mm_raw import ClinSeekMMRaw
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from tests.ingest.trees import SHARED, Row, answered, failed, finish

PACK = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"
FIVE = ("f1", "precision", "recall", "accuracy", "subset_match")
Place = tuple[int | None, str, str, str, str]


def gold_row(qid: str, *names: str, task: str = "made_up", subject: Any = None, **fields: Any) -> Row:
    return {"qid": qid, "task": task, "subject_id": subject, "label": [{"name": name} for name in names], **fields}


def row(gold: Row, *answers: Any, **fields: Any) -> Row:
    """A results row as the writers make it: every field of the gold row is copied into it."""
    return answered(gold["qid"], *answers, **{"task": gold["task"], "label": gold["label"], **fields})


def answers_of(rows: Iterable[Row]) -> list[Answer]:
    return [read(from_dict(row)) for row in rows]


def evaluate(golds: Sequence[Row], rows: Iterable[Row]) -> Result:
    return ClinSeekMMRaw(("task", "gold_items")).evaluate(mm_items(golds), answers_of(rows), "seed")


def table(aggregates: Iterable[Aggregate]) -> dict[Place, Aggregate]:
    found: dict[Place, Aggregate] = {}
    for one in aggregates:
        place = (one.repeat, one.metric, one.variant, one.dimension, one.facet)
        assert place not in found, "an aggregate stands twice"
        found[place] = one
    return found


def overall(result: Result, metric: str, variant: str = "", repeat: int | None = 1) -> tuple[float | None, int]:
    one = table(result.aggregates)[repeat, metric, variant, "overall", ""]
    return one.value, one.n


def codes(result: Result) -> Counter[str]:
    return Counter(code for code, _, _ in result.notes)


# --- the official values ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PACK.exists():
        pytest.skip("the folder with the official values is not here")
    base = tmp_path_factory.mktemp("clinseek")
    with tarfile.open(PACK) as archive:
        archive.extractall(base, filter="fully_trusted")  # noqa: S202 - links are part of it
    return base / "clinseek"


def rows_of(file: Path) -> tuple[list[Answer], list[Answer]]:
    """(answers, those of rows that can be split off broken lines) by the plainest of readers."""
    good, saved = [], []
    for line in file.read_text().split("\n"):
        try:
            good += [json.loads(line)] if line.strip() else []
        except ValueError:
            at = 0
            while 0 <= at < len(line):
                try:
                    found, at = json.JSONDecoder().raw_decode(line, at)
                except ValueError:
                    break
                saved.append(found)
    return answers_of(good), answers_of(saved)


def official_figures(block: dict[str, Any], raw: str = "") -> dict[tuple[str, str, str], tuple[float, int]]:
    """(metric, dimension, facet) -> (value, n) of a block of the public scorer; `raw` = "_raw" takes its raw values."""
    found = {("len1_accuracy", "overall", ""): (block["len1_accuracy"], block["len1_count"])}
    found |= {
        ("len1_accuracy", "task", task): (entry["accuracy"], entry["count"])
        for task, entry in block["per_task_len1"].items()
    }
    for kind in ("unified", "len2plus"):
        for name in FIVE:
            metric = f"{kind}_{name}"
            found[metric, "overall", ""] = block[metric + raw], block[f"{kind}_count"]
            for task, entry in block[f"per_task_{kind}"].items():
                found[metric, "task", task] = entry[name + raw], entry["count"]
    return found


def headline_figures(block: dict[str, Any]) -> dict[tuple[str, str, str], tuple[float, int]]:
    found = {}
    for name in FIVE[:4]:
        found[f"unified_{name}", "overall", ""] = block[f"unified_{name}_raw"], block["total"]
        for task, entry in block["per_task_unified"].items():
            found[f"unified_{name}", "task", task] = entry[f"{name}_raw"], entry["count"]
    return found


def test_every_official_figure_of_the_pack(pack: Path) -> None:
    golds = [json.loads(line) for line in (pack / "gold" / "mm_bench.jsonl").read_text().splitlines()]
    items = SPEC.items(golds)
    expected = json.loads((pack / "expected.json").read_text())
    compared, recovered = 0, 0
    for run in (run for run in expected["runs"] if run["benchmark"] == "mm_bench"):
        answers, saved = rows_of(pack / run["physical"])
        ours = table(readings.evaluate(EVALUATOR, items, answers, saved, "seed").aggregates)
        scores = run["scores"]
        official = (scores.get("official_on_cleaned_copy") or scores["official"])["no_vocab"]
        wanted = {"done_only": official_figures(official), "": headline_figures(scores["missing_as_zero"])}
        if "recovered_missing_as_zero" in scores:
            recovered += 1
            wanted["recovered"] = headline_figures(scores["recovered_missing_as_zero"])
            copy = scores["official_on_recovered_copy"]["vocab"]
            wanted["recovered_done_only"] = official_figures(copy, "_raw")
        assert {place[2] for place in ours} - {"first_row", "every_row"} == wanted.keys()
        for variant, figures in wanted.items():
            for (metric, dimension, facet), (value, n) in figures.items():
                own = ours[1, metric, variant, dimension, facet]
                assert own.n == n, (run["path"], variant, metric, facet)
                assert own.value == pytest.approx(value, abs=1e-9), (run["path"], variant, metric, facet)
                assert 0 <= own.n_answered <= own.n
                compared += 1
    assert compared > 1100 and recovered == 1


# --- a slow plain twin ------------------------------------------------------------------------------------------------


def plain_names(label: Any) -> list[str]:
    return [entry["name"] for entry in label or [] if entry["name"].strip()]


def plain_scores(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The public scorer over rows as they stand in a file, with the strict rule for a judge: one dict a row that counts."""
    scored, verdicts = [], {}
    for number, row in enumerate(rows):
        names = plain_names(row.get("label"))
        if not names:
            continue
        answer = None
        for message in reversed(row["messages"]):
            calls = [call["function"] for call in message["tool_calls"] if call["function"]["name"] == "ehr.finish"]
            if calls:
                answer = json.loads(calls[0]["arguments"])["response"]
                break
        one = {"qid": row["qid"], "task": row["task"], "single": len(names) == 1, "key": None, "number": number}
        one |= dict.fromkeys(FIVE, 0.0)
        if answer is not None and len(names) == 1:
            one["key"] = (row["qid"], row.get("run_index"))
            text = " ".join(" | ".join(answer).strip().lower().split())
            gold = " ".join(names[0].strip().lower().split())
            verdicts[one["key"]] = bool(answer) and text.rstrip(".") == gold.rstrip(".")
        elif answer is not None:
            mine, gold = ({text.strip().lower() for text in texts} - {""} for texts in (answer, names))
            hits = len(mine & gold)
            one["precision"] = hits / len(mine) if mine else 0.0
            one["recall"] = hits / len(gold)
            one["f1"] = 2 * hits / (len(mine) + len(gold))
            one["accuracy"] = hits / len(mine | gold)
            one["subset_match"] = float(mine == gold)
        scored.append(one)
    for one in scored:
        if one["key"] in verdicts:
            one |= dict.fromkeys(FIVE, float(verdicts.pop(one["key"])))
    return scored


def plain_means(scored: Sequence[dict[str, Any]]) -> dict[str, tuple[float | None, int]]:
    found = {}
    for metric in METRICS:
        kind, name = metric.split("_", 1)
        wanted = {"unified": (True, False), "len1": (True,), "len2plus": (False,)}[kind]
        values = [one[name] for one in scored if one["single"] in wanted]
        found[metric] = (sum(values) / len(values) if values else None, len(values))
    return found


WORDS = ["alpha", "Beta", " gamma", "delta.", "a  b"]
ANSWERS = [*WORDS, "ALPHA", "beta ", "gamma.", "delta", "A b", "", "none of it"]


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    golds = [
        gold_row(
            f"q{number}",
            *draw(st.lists(st.sampled_from(WORDS), max_size=3)),
            task=draw(st.sampled_from(["one", "two"])),
            subject=draw(st.sampled_from([None, 1, 2])),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    rows = []
    for gold in draw(st.lists(st.sampled_from(golds), max_size=12)):
        one = row(gold, *draw(st.lists(st.sampled_from(ANSWERS), max_size=3)))
        match draw(st.integers(0, 7)):
            case 0:
                one = failed(gold["qid"], task=gold["task"], label=gold["label"])
            case 1:
                del one["label"]
            case 2:
                one["label"] = [{"name": "other"}, {"name": "alpha"}]
            case 3:
                del one["run_index"]
            case 4:
                one["messages"] = finish('{"response": null}')
            case 5:
                one["qid"] = "unheard of"
        rows.append(one)
    return golds, rows


@given(runs())
@settings(deadline=None, max_examples=150)
def test_done_only_is_what_the_plain_twin_of_the_public_scorer_says(run: tuple[list[Row], list[Row]]) -> None:
    golds, rows = run
    if not any(plain_names(gold["label"]) for gold in golds):
        return
    result = table(evaluate(golds, rows).aggregates)
    scored = plain_scores(rows)
    for task in ("", "one", "two"):
        wanted = plain_means([one for one in scored if task in ("", one["task"])])
        dimension = "task" if task else "overall"
        for metric, (value, n) in wanted.items():
            own = result.get((1, metric, "done_only", dimension, task))
            if own is None:  # a task of which neither gold nor rows know anything
                assert not n
                continue
            assert own.n == n
            assert own.value == (None if value is None else pytest.approx(value, abs=1e-12))


@given(runs())
@settings(deadline=None, max_examples=150)
def test_the_headline_is_the_first_row_over_all_items_with_gold(run: tuple[list[Row], list[Row]]) -> None:
    golds, rows = run
    named = [gold for gold in golds if plain_names(gold["label"])]
    if not named:
        return
    result = evaluate(golds, rows)
    by_gold = {gold["qid"]: gold for gold in named}
    official = {one["number"]: one for one in plain_scores(rows)}
    first: dict[str, dict[str, Any]] = {}
    for labelled in (True, False):  # a row with a label goes before one without
        for number, one in enumerate(rows):
            gold = by_gold.get(one["qid"])
            if gold is None or bool(plain_names(one.get("label"))) != labelled:
                continue
            same = official.get(number) if one.get("label") == gold["label"] else None
            first.setdefault(one["qid"], same or plain_scores([{**one, "label": gold["label"], "run_index": 1}])[0])
    nothing = dict.fromkeys(FIVE, 0.0)
    scored = [
        {**nothing, **first.get(gold["qid"], {}), "single": len(plain_names(gold["label"])) == 1} for gold in named
    ]
    for metric, (value, n) in plain_means(scored).items():
        got, count = overall(result, metric)
        assert count == n
        assert got == (None if value is None else pytest.approx(value, abs=1e-12))
    vector = result.vectors[0, "unified_f1"]
    assert [math.isnan(v) for v in vector] == [gold["qid"] not in first for gold in named]
    assert np.nansum(vector) == pytest.approx(sum(one["f1"] for one in scored), abs=1e-12)


# --- the strict rule --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("7", "7", True),
        ("7", " 7. ", True),
        ("7", "7...", True),
        ("Made-up  Ward", "made-up ward", True),
        ("Made-up\tWard.", "MADE-UP WARD", True),
        ("7", "seven", False),
        ("7", "7.0", False),
        ("yes", "yes, it is", False),
        ("yes", "yes!", False),
        ("0.5", "0.5", True),
        ("no", "", False),
        ("ß", "SS", False),
    ],
)
def test_one_gold_item_by_the_strict_rule(gold: str, answer: str, right: bool) -> None:
    golds = [gold_row("q", gold)]
    result = evaluate(golds, [row(golds[0], answer)])
    assert [overall(result, f"unified_{name}") for name in FIVE] == [(float(right), 1)] * 5
    assert overall(result, "len1_accuracy") == (float(right), 1)
    assert overall(result, "len2plus_f1") == (None, 0)


def test_strict_form() -> None:
    assert strict("  A \n b .") == "a b "
    assert strict("...") == ""


def test_several_strings_against_one_name_are_no_match_unless_joined_so() -> None:
    golds = [gold_row("q", "a | b"), gold_row("p", "a")]
    result = evaluate(golds, [row(golds[0], "A", "b"), row(golds[1], "a", "a")])
    assert list(result.vectors[0, "unified_f1"]) == [1.0, 0.0]


def test_an_empty_list_and_the_stored_verdict_count_for_nothing() -> None:
    golds = [gold_row("q", "yes")]
    result = evaluate(golds, [row(golds[0], judge_match=True, correct=True)])
    assert overall(result, "unified_f1") == (0.0, 1)
    assert result.verdicts[0].outcome == Outcome.NO_ANSWER


def test_two_gold_items_by_sets() -> None:
    """The worked example of the format page: F1 0.5, Jaccard 1/3."""
    golds = [gold_row("q", "Finding One", "Finding Two")]
    result = evaluate(golds, [row(golds[0], "finding one", "Something else", " FINDING ONE ", "")])
    got = [overall(result, f"len2plus_{name}")[0] for name in FIVE]
    assert got == pytest.approx([0.5, 0.5, 0.5, 1 / 3, 0.0])
    assert overall(result, "len1_accuracy") == (None, 0)


def test_twice_the_same_gold_item_is_routed_by_the_number_before_sets_are_made() -> None:
    golds = [gold_row("q", "Alpha", "alpha")]
    result = evaluate(golds, [row(golds[0], "alpha")])
    assert overall(result, "len2plus_subset_match") == (1.0, 1)
    assert overall(result, "len1_accuracy") == (None, 0)


# --- extraction -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name", "taken"),
    [
        ('{"response": ["a", null, true, 3]}', "ehr.finish", (("a", "None", "True", "3"), "ok")),
        ('{"response": "a"}', "finish", (("a",), "ok")),
        ('{"response": null}', "ehr.finish", ((), "null_response")),
        ('{"response": []}', "ehr.finish", ((), "ok")),
        ('{"response": [{"name": "", "value": "v"}, {"name": 0}]}', "ehr.finish", (("v", '{"name": 0}'), "ok")),
        ({"response": 5}, "ehr.finish", (("5",), "ok")),
        ("{'response': ['a']}", "ehr.finish", ((), "bad_json_args")),
        ("", "ehr.finish", ((), "bad_json_args")),
        (["a"], "ehr.finish", ((), "bad_json_args")),
        ('["a"]', "ehr.finish", ((), "no_response_key")),
        ("{}", "ehr.finish", ((), "no_response_key")),
        (None, "ehr.finish", ((), "no_finish_call")),
        ('{"response": ["a"]}', "browser.finish", ((), "no_finish_call")),
        ('{"response": ["a"]}', "EHR.Finish", ((), "no_finish_call")),
    ],
)
def test_extraction(arguments: Any, name: str, taken: tuple[tuple[str, ...], str]) -> None:
    assert take(from_dict({"qid": "q", "messages": finish(arguments, name)})) == taken


def test_a_last_call_without_arguments_is_passed_over_a_bad_one_is_not() -> None:
    good, empty, bad = finish('{"response": ["a"]}'), finish(None), finish("{")
    assert take(from_dict({"messages": [*good, *empty]})) == (("a",), "ok")
    assert take(from_dict({"messages": [*good, *bad]})) == ((), "bad_json_args")


@pytest.mark.parametrize("arguments", ['{"response": null}', "{", "{}", None])
def test_incomplete_rows_are_wrong_in_every_denominator(arguments: Any) -> None:
    golds = [gold_row("q", "a"), gold_row("p", "a", "b")]
    rows = [{**row(gold, "a"), "messages": finish(arguments)} for gold in golds]
    result = evaluate(golds, rows)
    assert [overall(result, metric, "done_only")[0] for metric in METRICS] == [0.0] * len(METRICS)
    assert overall(result, "len1_accuracy", "done_only") == (0.0, 1)
    assert {verdict.outcome for verdict in result.verdicts} == {Outcome.NO_ANSWER}


# --- what counts ------------------------------------------------------------------------------------------------------

A, B, C = gold_row("a", "yes", subject=1), gold_row("b", "Alpha", "Beta", subject=1), gold_row("c", "no", subject=2)
EMPTY = gold_row("e", subject=3)


def test_missing_counts_zero_in_the_headline_and_not_at_all_in_done_only() -> None:
    result = evaluate([A, B, C, EMPTY], [row(A, "yes"), row(B, "alpha"), row(EMPTY, "x")])
    assert overall(result, "unified_f1") == (pytest.approx((1 + 2 / 3 + 0) / 3), 3)
    assert overall(result, "unified_f1", "done_only") == (pytest.approx((1 + 2 / 3) / 2), 2)
    assert overall(result, "len1_accuracy") == (0.5, 2)
    assert overall(result, "len1_accuracy", "done_only") == (1.0, 1)
    ours = table(result.aggregates)
    assert ours[1, "unified_f1", "", "overall", ""].n_answered == 2
    assert ours[1, "unified_f1", "", "gold_items", "one"].value == 0.5
    assert ours[1, "unified_f1", "", "gold_items", "two or more"].n == 1
    assert list(result.vectors[0, "outcome"]) == [Outcome.RIGHT, Outcome.RIGHT, Outcome.MISSING]
    assert result.verdicts[2].value is None
    assert result.notes == []


def test_no_rows_and_no_items() -> None:
    nothing = evaluate([A, B], [])
    assert overall(nothing, "unified_f1") == (0.0, 2)
    assert overall(nothing, "unified_f1", "done_only") == (None, 0)
    none = evaluate([EMPTY], [row(EMPTY, "x")])
    assert overall(none, "unified_f1") == overall(none, "unified_f1", "done_only") == (None, 0)


def test_a_row_without_a_label_drops_out_of_done_only_and_counts_by_the_gold_in_the_headline() -> None:
    rows = [{**row(A, "yes"), "label": None}, {**row(B, "x"), "ground_truth": B["label"], "label": []}, row(C, "no")]
    result = evaluate([A, B, C], rows)
    assert overall(result, "unified_f1", "done_only") == (1.0, 1)
    assert overall(result, "unified_f1") == (pytest.approx(2 / 3), 3)
    assert codes(result) == {"no_label": 2}


def test_a_failed_worker_without_label_does_not_stand_in_the_way_of_a_later_row() -> None:
    result = evaluate([A], [{**failed("a"), "label": None}, row(A, "yes")])
    assert overall(result, "unified_f1") == overall(result, "unified_f1", "done_only") == (1.0, 1)


def test_done_only_goes_by_the_rows_own_label_the_headline_by_the_gold() -> None:
    result = evaluate([A], [row(A, "maybe", label=[{"name": "maybe"}])])
    assert overall(result, "unified_f1") == (0.0, 1)
    assert overall(result, "unified_f1", "done_only") == (1.0, 1)
    assert codes(result) == {"label_differs": 1}


def test_a_label_that_differs_only_beside_the_names_is_the_same() -> None:
    assert evaluate([A], [row(A, "yes", label=[{"name": "YES", "value": 3}])]).notes == []


def test_ids_that_the_gold_does_not_know_count_in_done_only_alone() -> None:
    stranger = gold_row("z", "maybe", task="unheard of")
    result = evaluate([A], [row(A, "no"), row(stranger, "maybe")])
    assert overall(result, "unified_f1") == (0.0, 1)
    assert overall(result, "unified_f1", "done_only") == (0.5, 2)
    assert table(result.aggregates)[1, "unified_f1", "done_only", "task", "unheard of"].value == 1.0
    assert codes(result) == {"off_gold": 1}
    assert result.verdicts[1].value is None


def test_two_rows_of_one_question_and_run_share_one_verdict() -> None:
    """The first takes the last's, the others count wrong; the variant first_row says what the first alone would give."""
    rows = [row(A, "no"), row(A, "maybe"), row(A, "yes")]
    items, answers = mm_items([A, C]), answers_of([*rows, row(C, "no")])
    result = readings.evaluate(ClinSeekMMRaw(("task",)), items, answers, [], "seed")
    assert overall(result, "unified_f1", "done_only") == (0.5, 4)
    assert overall(result, "unified_f1") == (1.0, 2)
    assert overall(result, "unified_f1", "first_row") == (0.5, 2)
    assert [verdict.value for verdict in result.verdicts] == [0.0, 0.0, 1.0, 1.0]
    assert codes(result) == {"second_verdict": 2}


def test_rows_with_and_without_a_run_index_have_verdicts_of_their_own() -> None:
    bare = row(A, "no")
    del bare["run_index"]
    result = evaluate([A], [row(A, "yes"), bare])
    assert overall(result, "unified_f1", "done_only") == (0.5, 2)
    assert overall(result, "unified_f1") == (1.0, 1)
    assert result.notes == []


def test_set_rows_and_incomplete_rows_share_nothing() -> None:
    rows = [row(B, "alpha", "beta"), row(B, "x"), failed("a", task="made_up", label=A["label"]), row(A, "yes")]
    result = evaluate([A, B], rows)
    assert overall(result, "unified_f1", "done_only") == (0.5, 4)
    assert overall(result, "unified_f1") == (0.5, 2)
    assert result.notes == []


def test_a_task_spelled_otherwise_counts_under_the_name_in_gold() -> None:
    result = evaluate([A, B], [row(A, "yes", task="made up"), row(B)])
    assert result.task_names == {"made up": "made_up"}
    ours = table(result.aggregates)
    assert ours[1, "unified_f1", "done_only", "task", "made_up"].n == 2
    assert not [place for place in ours if place[4] == "made up"]


def test_several_repeats_each_by_itself_and_all_together() -> None:
    rows = [row(A, "yes"), row(C, "no"), row(A, "no", run_index=2), row(A, "yes", run_index=3)]
    result = evaluate([A, C], rows)
    assert overall(result, "unified_f1", repeat=1) == (1.0, 2)
    assert overall(result, "unified_f1", repeat=2) == (0.0, 2)
    assert overall(result, "unified_f1", "done_only", repeat=3) == (1.0, 1)
    # an item has the mean of its repeats; the public scorer counts every row
    assert overall(result, "unified_f1", repeat=None) == (pytest.approx((2 / 3 + 1) / 2), 2)
    assert overall(result, "unified_f1", "done_only", repeat=None) == (0.75, 4)


def test_outcomes() -> None:
    rows = [
        row(A, "yes"),
        row(A, "no"),
        row(A),
        failed("a", task="made_up", label=A["label"]),
        row(A, status="error"),
        row(A, "yes", status="error"),
    ]
    result = evaluate([A], rows)
    right, wrong, nothing, error = Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER, Outcome.ERROR
    assert [verdict.outcome for verdict in result.verdicts] == [right, wrong, nothing, error, error, right]


# --- intervals and identity -------------------------------------------------------------------------------------------


def test_facets_have_intervals_for_the_headline_alone_the_whole_for_every_metric() -> None:
    generator = random.Random(7)
    golds = [gold_row(f"q{n}", *["Alpha", "Beta"][: 1 + n % 2], subject=n // 3) for n in range(60)]
    rows = [row(gold, generator.choice(["alpha", "beta", "x"])) for gold in golds[:50]]
    for one in evaluate(golds, rows).aggregates:
        shown = one.dimension == "overall" or one.metric == "unified_f1"
        if one.n == 0 or not shown:
            assert one.ci_low is one.ci_high is None
        else:
            assert one.ci_low is not None and one.ci_high is not None and one.value is not None
            assert 0 <= one.ci_low <= one.value <= one.ci_high <= 1 and one.ci_low < one.ci_high


def test_order_of_rows_of_different_questions_moves_nothing() -> None:
    golds = [gold_row(f"q{n}", *["Alpha", "Beta"][: 1 + n % 2], subject=n // 2) for n in range(9)]
    rows = [row(gold, "alpha") for gold in golds]
    key = lambda result: sorted(map(repr, result.aggregates))  # noqa: E731
    assert key(evaluate(golds, rows)) == key(evaluate(golds, rows[::-1]))


def test_the_typed_reader_and_the_slow_lane_give_the_same_answers() -> None:
    import msgspec

    rows = [row(A, "yes"), failed("a"), {**row(B, "x"), "run_index": None}]
    for one in rows:
        assert read(msgspec.json.decode(json.dumps(one), type=ClinSeekRow)) == read(from_dict(one))


def test_the_fingerprint_tells_dimensions_apart() -> None:
    assert ClinSeekMMRaw(("task",)).fingerprint == ClinSeekMMRaw(("task",)).fingerprint
    assert ClinSeekMMRaw(("task",)).fingerprint != EVALUATOR.fingerprint
    assert EVALUATOR.metrics.keys() == set(METRICS)
    assert EVALUATOR.headline == METRICS[0]


def test_items_carry_their_facets_and_empty_gold_stands_in_no_denominator() -> None:
    items = mm_items([A, {**B, "scope": "patient_scope", "source_benchmark": "medmod"}, EMPTY])
    assert [item.scored for item in items] == [True, True, False]
    assert items[1].facets == (
        ("task", "made_up"),
        ("scope", "patient_scope"),
        ("source_benchmark", "medmod"),
        ("gold_items", "two or more"),
    )
    assert ("gold_items", "one") in items[0].facets and "gold_items" not in dict(items[2].facets)
    counts: dict[bool, int] = defaultdict(int)
    for item in items:
        assert isinstance(item, ItemSpec)
        counts[item.scored] += 1
    assert counts == {True: 2, False: 1}
