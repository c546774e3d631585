"""Every figure of LLMEval-Med's evaluator against a plain second count, the flips between judging runs too."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.protocols.llmeval_med import CATEGORIES, ScoredRow, items, valid_score
from tests.evaluation.llmeval_med_invented import MK, MTG, evaluate, pick, question, row

# --- usability, mean and safety ---------------------------------------------------------------------------------------


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


# --- flips ------------------------------------------------------------------------------------------------------------


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
