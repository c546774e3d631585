"""Every figure of LiveClin's evaluators against a slow and plain second count of invented runs."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from evaluation.protocols import liveclin
from evaluation.protocols.base import ItemSpec, Result
from evaluation.protocols.liveclin import LiveClinMCQ, QuestionRow
from evaluation.protocols.mcq import extract
from tests.evaluation.liveclin_invented import OFFICIAL, details, make_case, mcq, plain_letter, row, score

CASE_ONLY = {"icd_chapter", "disease_cluster", "rarity", "questions_per_case"}
CLASSIFY = {
    "image_modality": liveclin.official_image_modalities,
    "table_modality": liveclin.official_table_modalities,
}
Counts = dict[tuple, tuple[Fraction | None, int, int]]


def plain_counts(items: list[ItemSpec], rows: list[QuestionRow], ours: bool = False) -> Counts:
    """(repeat, metric, variant, dimension, facet) -> (value, n, n_answered), by dictionaries and loops."""
    known = {item.key for item in items}
    repeats = sorted({each.repeat for each in rows}) or [1]
    answers: dict[int, dict[str, tuple[str, QuestionRow]]] = {repeat: {} for repeat in repeats}
    gold = {item.key: item.gold for item in items}
    for each in rows:
        if each.key in known and each.key not in answers[each.repeat]:
            letter = extract(each.model_response).letter if ours else plain_letter(each.model_response or "")
            state = "error" if each.error else "none" if letter is None else "wrong"
            state = "right" if state == "wrong" and letter == gold[each.key] else state
            answers[each.repeat][each.key] = state, each
    out: Counts = {}
    for scope in [*repeats, *([None] if len(repeats) > 1 else [])]:
        scoped = [answers[repeat] for repeat in repeats if scope in (None, repeat)]
        out |= plain_scope(scope, items, scoped)
    return out


def plain_scope(scope: int | None, items: list[ItemSpec], scoped: list[dict[str, tuple[str, QuestionRow]]]) -> Counts:
    def states(key: str) -> list[str]:
        return [of[key][0] for of in scoped if key in of]

    def share(flags: list[bool]) -> Fraction | None:
        return Fraction(sum(flags), len(flags)) if flags else None

    def mean(values: list[Fraction | None]) -> Fraction | None:
        return sum((value or Fraction(0) for value in values), Fraction(0)) / len(values) if values else None

    questions: dict[tuple[str, str], list[ItemSpec]] = {("overall", ""): list(items)}
    members: dict[str, list[str]] = defaultdict(list)
    cases: dict[tuple[str, str], dict[str, None]] = {("overall", ""): {}}
    for item in items:
        members[item.case].append(item.key)
        cases["overall", ""][item.case] = None
        for pair in item.facets:
            questions.setdefault(pair, []).append(item)
            if pair[0] in CASE_ONLY:
                cases.setdefault(pair, {})[item.case] = None

    answered = {item.key: bool({"right", "wrong"} & set(states(item.key))) for item in items}
    out: Counts = {}
    for pair, group in questions.items():
        for variant in ("", "done_only"):
            kept = [item.key for item in group if variant == "" or states(item.key)]
            n_answered = sum(answered[key] for key in kept)
            right = mean([share([state == "right" for state in states(key)]) for key in kept])
            if pair[0] != "stage_text" or variant == "":
                out[scope, "question_accuracy", variant, *pair] = right, len(kept), n_answered
            if pair[0] in ("overall", "position"):
                failed = mean([share([state == "error" for state in states(key)]) for key in kept])
                out[scope, "error_rate", variant, *pair] = failed, len(kept), n_answered
    for pair, group in cases.items():
        values = {
            case: share(
                [
                    all(of.get(key, ("",))[0] == "right" for key in members[case])
                    for of in scoped
                    if any(key in of for key in members[case])
                ]
            )
            for case in group
        }
        for variant in ("", "done_only"):
            kept = [case for case in group if variant == "" or values[case] is not None]
            n_answered = sum(all(answered[key] for key in members[case]) for case in kept)
            out[scope, "case_accuracy", variant, *pair] = mean([values[case] for case in kept]), len(kept), n_answered
    out |= plain_journeys(scope, members, scoped, answered, out)
    figures: dict[tuple[str, str], list[str]] = defaultdict(list)
    for of in scoped:
        for state, each in of.values():
            for dimension, labels in (("image_modality", each.image_types), ("table_modality", each.table_types)):
                for label in labels or []:
                    for facet in CLASSIFY[dimension](label) or ("unmapped",):
                        figures[dimension, facet].append(state)
    for pair, found in figures.items():
        n_answered = sum(state in ("right", "wrong") for state in found)
        out[scope, "question_accuracy", "per_figure", *pair] = (
            share([s == "right" for s in found]),
            len(found),
            n_answered,
        )
    return out


def plain_journeys(
    scope: int | None,
    members: dict[str, list[str]],
    scoped: list[dict[str, tuple[str, QuestionRow]]],
    answered: dict[str, bool],
    known: Counts,
) -> Counts:
    """Breaks and survival along the cases, the case accuracy of independent errors, and what all repeats share."""
    out: Counts = {}
    whole = sum(all(answered[key] for key in keys) for keys in members.values())

    def broken_at(keys: list[str], of: dict[str, tuple[str, QuestionRow]]) -> int:
        return next((n for n, key in enumerate(keys, 1) if of.get(key, ("",))[0] != "right"), 99)

    for number in range(1, max(map(len, members.values()), default=0) + 1):
        for variant in ("", "done_only"):
            breaks, rights, n, n_answered = Fraction(0), Fraction(0), 0, 0
            for keys in members.values():
                places = [broken_at(keys, of) for of in scoped if any(key in of for key in keys)]
                if places:
                    breaks += Fraction(sum(place == number for place in places), len(places))
                    rights += Fraction(sum(place > number for place in places), len(places))
                if places or variant == "":
                    n, n_answered = n + 1, n_answered + all(answered[key] for key in keys)
            for metric, total in (("first_break", breaks), ("still_right", rights)):
                out[scope, metric, variant, "position", f"Q{number}"] = total / n if n else None, n, n_answered
    products = []
    for keys in members.values():
        product = Fraction(1)
        for number in range(1, len(keys) + 1):
            product *= known[scope, "question_accuracy", "", "position", f"Q{number}"][0] or Fraction(0)
        products.append(product)
    expected = sum(products, Fraction(0)) / len(products) if products else None
    out[scope, "expected_case_accuracy", "", "overall", ""] = expected, len(members), whole
    if scope is None:
        for metric, these in (("right_in_all_repeats", all), ("right_in_any_repeat", any)):
            right = [these(broken_at(keys, of) == 99 for of in scoped) for keys in members.values()]
            out[None, metric, "", "overall", ""] = Fraction(sum(right), len(right)), len(right), whole
    return out


def invented_run(seed: int, repeats: int) -> tuple[list[ItemSpec], list[QuestionRow]]:
    """A small dataset and rows with missing, failed, skipped, doubled and strange ones among them."""
    chance = random.Random(seed)
    labels = ["CT", "PET/CT", "ECG", "OCT", "Cytology", "Blood counts", "Sleep diary", "Pre-Post comparison"]

    def some() -> list[str]:
        return chance.choices(labels, k=chance.randrange(3))

    cases = [
        make_case(
            f"P{number}",
            *(
                mcq(
                    chance.choice("ABC"), chance.choice(["", "Discharge", "Biopsy"]), details(*some()), details(*some())
                )
                for _ in range(chance.randint(1, 4))
            ),
            Level1=chance.choice(["Chapter 1: I", "Chapter 2: II"]),
            Level2=chance.choice(["Shared", None]),
            Rarity=chance.choice(["rare", "unrare"]),
        )
        for number in range(chance.randint(1, 7))
    ]
    items = liveclin.items(cases)
    rows = []
    for repeat in range(1, repeats + 1):
        for item in items:
            for _ in range(chance.choices([0, 1, 2], [2, 10, 1])[0]):
                response = chance.choice(
                    [rf"\boxed{{{item.gold}}}", item.gold, "Option A", "I would wait", "none", None]
                )
                error = chance.choices([None, "Skipped: prior question failed"], [9, 1])[0]
                rows.append(row(item.key, response, repeat, error, some(), some()))
        rows.append(row("stranger:0", "A", repeat, None, ["CT"]))
    chance.shuffle(rows)
    return items, rows


def assert_counts(result: Result, expected: Counts) -> None:
    found = {(a.repeat, a.metric, a.variant, a.dimension, a.facet): a for a in result.aggregates}
    assert len(found) == len(result.aggregates)
    assert set(found) == set(expected)
    for key, (value, n, n_answered) in expected.items():
        assert (found[key].n, found[key].n_answered) == (n, n_answered), key
        if value is None or (key[0] is not None and key[1] != "expected_case_accuracy"):
            assert found[key].value == (None if value is None else float(value)), key
        else:
            assert found[key].value == pytest.approx(float(value), abs=1e-12), key


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_every_figure_equals_the_plain_count(seed: int, repeats: int) -> None:
    items, rows = invented_run(seed, repeats)
    assert_counts(score(items, *rows), plain_counts(items, rows))


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_our_reading_is_counted_alike_but_for_the_figures(seed: int, repeats: int) -> None:
    items, rows = invented_run(seed, repeats)
    evaluator = LiveClinMCQ()
    result = evaluator.evaluate(items, [OFFICIAL.read(each) for each in rows], "seed")
    expected = {key: count for key, count in plain_counts(items, rows, ours=True).items() if key[2] != "per_figure"}
    assert_counts(result, expected)
