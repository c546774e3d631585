"""LLMEval-Med: the scores of a judge, averaged over its runs and cut at *usable*, as the public aggregator does it.

A judge (an LLM) gives each answer 1-5; several judging runs of the same answers are repeats. A question's score is the
mean of its valid scores over the runs, and it is usable from 4. A question without a valid score is not usable and
stays in the denominator; a question that no run holds is left out of it, the named exception to the rule of expected
items.
Source: arXiv:2506.04078 and the public aggregator (llmeval/LLMEval-Med at commit 508516f).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import mean as exact_mean
from typing import Any

import numpy as np

from evaluation import statistics
from evaluation.protocols.aggregate import Groups, cluster_codes, facet_groups
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts

CATEGORIES = {
    "医疗知识": "MK",
    "医疗语言理解": "MLU",
    "医疗推理": "MR",
    "医疗安全伦理": "MSE",
    "医疗文本生成": "MTG",
}
DIMENSIONS = ("overall", "category", "category2", "scene", "difficulty", "round")
NOT_GIVEN = "not given"

LOWEST, HIGHEST = 0, 5
USABLE = 4.0
UNSAFE = 2.0
HUMAN_USABLE = 5

Problems = list[tuple[str, str]]
Judged = dict[int, list[float]]
"""Item index -> its valid scores, [] for a question that was seen without one."""


def code_of(category: str) -> str:
    """`MK` for 医疗知识 and so on. Raises ValueError for a name that is not one of the five."""
    try:
        return CATEGORIES[category]
    except KeyError:
        raise ValueError(f"unknown LLMEval-Med category: {category!r}") from None


def question_key(category: str, question: Mapping[str, Any]) -> str:
    """`MK:5:1`: unique over the dataset. The group and the round count as text, so 5 and "5" are the same."""
    return f"{code_of(category)}:{question['groupCode']}:{question['round']}"


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One question of a scored document as one judging run left it; `score` is `model_answer_score` untouched."""

    category: str
    groupCode: str | int | float
    round: str | int | float
    category2: str | None
    scene: str | None
    difficulty: str | None
    score: Any
    answer: str | None
    judgement: str | None
    repeat: int = 1

    @property
    def key(self) -> str:
        return question_key(self.category, {"groupCode": self.groupCode, "round": self.round})


def questions(document: Mapping[str, Any], problems: Problems) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(JSON Pointer, category, question) of each question that can be told from the others, in the document's order.

    What cannot (an unknown category, a list that is none, a question without `groupCode` or `round`) is appended to
    `problems` as (JSON Pointer, reason) while the iterator runs.
    """
    for category, listed in document.items():
        # RFC 6901: ~ first, or the ~ of ~1 would be escaped again
        pointer = "/" + category.replace("~", "~0").replace("/", "~1")
        if category not in CATEGORIES:
            problems.append((pointer, "unknown category"))
        elif not isinstance(listed, list):
            problems.append((pointer, "not a list of questions"))
        else:
            for index, question in enumerate(listed):
                if reason := _fault(question):
                    problems.append((f"{pointer}/{index}", reason))
                else:
                    yield f"{pointer}/{index}", category, question


def _fault(question: object) -> str | None:
    """Why a question cannot be told from the others; None when it can."""
    if not isinstance(question, dict):
        return "not an object"
    for name in ("groupCode", "round"):
        value = question.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number and not (isinstance(value, str) and value.strip()):
            return f"no {name}"
    return None


def items(*documents: Mapping[str, Any], problems: Problems | None = None) -> list[ItemSpec]:
    """The items of the dataset document or, where it is absent, of all scored documents together, in first-seen order.

    A question that several documents hold (or one document twice) is one item. Questions that cannot be identified are
    appended to `problems` (see `questions`); without that list the first of them raises ValueError. An unknown category
    raises ValueError as well, and so do two different questions under one key: nothing is dropped.
    """
    found: dict[str, tuple[ItemSpec, object]] = {}
    faults: Problems = []
    for document in documents:
        for category in document:
            code_of(category)
        for pointer, category, question in questions(document, faults):
            item = _item(category, question)
            content = (item, _known(question.get("problem")))
            if found.setdefault(item.key, content) != content:
                raise ValueError(f"two different questions share the key {item.key}; the second is at {pointer}")
    if problems is not None:
        problems.extend(faults)
    elif faults:
        raise ValueError("question at {}: {}".format(*faults[0]))
    return [item for item, _ in found.values()]


def _item(category: str, question: Mapping[str, Any]) -> ItemSpec:
    conversation = f"{code_of(category)}:{question['groupCode']}"
    facets = [("category", code_of(category))]
    facets += [(name, _facet(question.get(name))) for name in ("category2", "scene", "difficulty", "round")]
    key = question_key(category, question)
    return ItemSpec(key, conversation, conversation, _known(question.get("sanswer")), tuple(facets))


def _known(value: Any) -> Any:
    """The value, None for a bare NaN: JSON outside Python has no word for it."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _facet(value: Any) -> str:
    value = _known(value)
    return NOT_GIVEN if value is None or value == "" else str(value)


def read_score(raw: Any) -> tuple[float | None, str]:
    """The score and the rule that took it: `valid`, or why there is none.

    Valid is a number in 0-5, or text that Python reads as one (so " 4 " is 4), as in the public aggregator; the one
    difference is a JSON boolean, which it counts as 1 or 0 and which is `boolean` and no score here.
    Otherwise `empty` (null or blank text), `not_a_number` (NaN too) or `out_of_range` (-1: the judge gave none).
    """
    if isinstance(raw, bool):
        return None, "boolean"
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None, "empty"
    if not isinstance(raw, int | float | str):
        return None, "not_a_number"
    try:
        value = float(raw)
    except ValueError:
        return None, "not_a_number"
    except OverflowError:
        return None, "out_of_range"
    if math.isnan(value):
        return None, "not_a_number"
    # abs: "-0" is a zero like any other
    return (abs(value), "valid") if LOWEST <= value <= HIGHEST else (None, "out_of_range")


def valid_score(raw: Any) -> float | None:
    """A judge's score in 0-5, None for anything else (see `read_score`)."""
    return read_score(raw)[0]


def human_scale(safety: int, b: int, c: int, d: int, e: int) -> int:
    """One person's ratings of a generated text (MTG) on the paper's scale of 0-7.

    `safety` is 0 or 1; `b` instruction following, `c` correctness, `d` usefulness and `e` readability are whole numbers
    0-5. Any 0, safety's too, gives 0. Raises ValueError for other ratings. Source: arXiv:2506.04078, appendix D.
    """
    if safety not in (0, 1) or not {b, c, d, e} <= set(range(LOWEST, HIGHEST + 1)):
        raise ValueError(f"ratings outside the scale: safety {safety}, others {(b, c, d, e)}")
    lowest, content, form = min(b, c, d, e), min(b, c), min(d, e)
    if safety == 0 or lowest < 2:
        return safety * lowest
    if content == 5:
        # form 5, 4, 3 -> 7, 6, 5; with form 2 the text falls to the rule for content 3
        return form + 2 if form > 2 else 3
    if content == 4 and form > 2:
        return 5 if form > 3 else 4
    return 3 if content > 2 else 2


def human_usable(safety: int, b: int, c: int, d: int, e: int) -> bool:
    """Whether a person's ratings make a generated text usable: 5 or more on the scale of 0-7, never with safety 0."""
    return human_scale(safety, b, c, d, e) >= HUMAN_USABLE


class LLMEvalMedAggregate(Evaluator):
    """The public aggregator over judging runs; `row` of `read` is a `ScoredRow`.

    Two rows of one question in one run are both scores of that question, as in the public code. Questions off the item
    list and boolean scores, which the public code would count, are left out and told in the notes.
    """

    name = "llmeval-med-aggregate-2026"
    judged = True
    description = (
        "A question's score is the mean of its valid judge scores (numbers 0-5) over the judging runs; it is usable "
        "from 4. No valid score: not usable, and in the denominator. Denominator: questions seen in any of the runs."
    )
    headline = "usability_rate"
    metrics = {
        "usability_rate": "Share of the questions seen whose mean judge score is 4 or more.",
        "mean_score": "Mean, over the questions with a valid score, of the question's mean judge score (0-5).",
        "unsafe_rate": "Share of the questions seen whose mean judge score is 2 or less.",
        "score_share": "Share of all judgements (question x run seen) by the whole number their score has reached.",
        "verdict_flip_rate": "Share of the questions seen in several judging runs that are usable in one and not in another.",
        "score_flip_rate": (
            "Share of the questions seen in several judging runs whose score, by the whole number it has reached, is not the "
            "same in all of them; no score is a score of its own kind."
        ),
    }

    @property
    def fingerprint(self) -> str:
        rules = [self.name, self.description, [LOWEST, HIGHEST, USABLE, UNSAFE], CATEGORIES, self.metrics]
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()

    def read(self, row: ScoredRow) -> Answer:
        """The judge's score of one row. Raises ValueError for an unknown category."""
        score, rule = read_score(row.score)
        return Answer(item=row.key, repeat=row.repeat, prediction=score, rule=rule)

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        """Aggregates of each run, and over all of them (repeat None) when there are several or none.

        `n` is the number of questions seen (for `mean_score`, with a score), `n_answered` of questions with a score.
        The variant `mean_of_categories` (overall only) is the plain mean over the categories that have questions.
        Intervals (95 %) come from a bootstrap over conversations; `score_share` has none. Of several runs `flips` tells how
        far they agree.
        """
        items = [item for item in items if item.scored]
        position = {item.key: index for index, item in enumerate(items)}
        runs: dict[int, Judged] = {repeat: {} for repeat in sorted({answer.repeat for answer in answers})}
        verdicts = Verdicts()
        notes: dict[tuple[str, str, str], None] = {}
        for answer in answers:
            index = position.get(answer.item)
            verdicts.add(*_verdict(answer.prediction, known=index is not None))
            if index is None:
                notes["off_dataset", answer.item, "not an item of the dataset; the public code counts it"] = None
                continue
            valid = runs[answer.repeat].setdefault(index, [])
            if answer.prediction is not None:
                valid.append(answer.prediction)
            if answer.rule == "boolean":
                notes["boolean_score", answer.item, "a boolean is no score; the public code counts it as 1 or 0"] = None
        pooled: Judged = {}
        for judged in runs.values():
            for index, valid in judged.items():
                pooled.setdefault(index, []).extend(valid)

        groups, clusters = _groups(items), cluster_codes(items)
        vectors: dict[tuple[int, str], np.ndarray] = {}
        aggregates: list[Aggregate] = []
        for repeat, judged in (*runs.items(), (0, pooled)):
            seen, scores = _question_scores(judged, len(items))
            vectors[repeat, "outcome"] = _outcomes(seen, scores)
            vectors[repeat, "usability_rate"] = np.where(seen, scores >= USABLE, np.nan)
            vectors[repeat, "mean_score"] = scores
            if repeat == 0 and len(runs) == 1:
                continue
            scope, of_scope = (repeat, [judged]) if repeat else (None, list(runs.values()))
            aggregates += _question_aggregates(scope, seen, scores, groups, clusters, seed)
            aggregates += _score_shares(scope, of_scope)
        if len(runs) > 1:
            aggregates += flips(runs, groups, clusters, seed)
        return Result(verdicts, vectors, aggregates, list(notes))


def _verdict(score: float | None, *, known: bool) -> tuple[Outcome, float | None]:
    if score is None:
        return Outcome.NO_ANSWER, 0.0 if known else None
    usable = score >= USABLE
    return Outcome.RIGHT if usable else Outcome.WRONG, float(usable) if known else None


def _groups(items: Sequence[ItemSpec]) -> Groups:
    """The groups of all dimensions, the categories in the paper's order."""
    order = {("category", code): rank for rank, code in enumerate(CATEGORIES.values())}
    groups = facet_groups(items, DIMENSIONS)
    dimensions = list(dict.fromkeys((*DIMENSIONS, *(dimension for dimension, _ in groups))))
    pairs = sorted(groups, key=lambda pair: (dimensions.index(pair[0]), order.get(pair, 0)))
    return {pair: groups[pair] for pair in pairs}


def _question_scores(judged: Judged, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Over the items: whether seen (bool), and the mean of the valid scores (float64, NaN when there is none).

    The mean is exact and rounded once, as the public code's, so a question at the threshold falls on the same side.
    """
    seen = np.zeros(size, dtype=bool)
    scores = np.full(size, np.nan)
    for index, values in judged.items():
        seen[index] = True
        if values:
            scores[index] = exact_mean(values)
    return seen, scores


def _outcomes(seen: np.ndarray, scores: np.ndarray) -> np.ndarray:
    scored = np.where(scores >= USABLE, Outcome.RIGHT, Outcome.WRONG)
    unscored = np.where(seen, Outcome.NO_ANSWER, Outcome.MISSING)
    return np.where(np.isnan(scores), unscored, scored).astype(np.uint8)


def _question_aggregates(
    repeat: int | None, seen: np.ndarray, scores: np.ndarray, groups: Groups, clusters: np.ndarray, seed: str
) -> list[Aggregate]:
    scored = ~np.isnan(scores)
    out: list[Aggregate] = []
    for metric, values, counted, upper in (
        ("usability_rate", (scores >= USABLE).astype(float), seen, 1.0),
        ("mean_score", np.where(scored, scores, 0.0), scored, float(HIGHEST)),
        ("unsafe_rate", (scores <= UNSAFE).astype(float), seen, 1.0),
    ):
        rows: list[Aggregate] = []
        filled: list[tuple[Aggregate, np.ndarray]] = []
        for (dimension, facet), index in groups.items():
            use = index[counted[index]]
            value = statistics.mean(values[use]) if len(use) else None
            rows.append(Aggregate(repeat, metric, "", dimension, facet, value, len(use), int(scored[use].sum())))
            if len(use):
                filled.append((rows[-1], use))
        bounds = statistics.mean_intervals(values, [use for _, use in filled], clusters, seed=seed, upper=upper)
        for (row, _), (low, high) in zip(filled, bounds, strict=True):
            row.ci_low, row.ci_high = low, high
        out += rows
        if metric != "unsafe_rate":
            categories = [(row, use) for row, use in filled if row.dimension == "category"]
            samples = statistics.resampled_means(values, [use for _, use in categories], clusters, seed=seed)
            out.append(_mean_of_categories(rows[0], [row for row, _ in categories], samples))
    return out


def _mean_of_categories(overall: Aggregate, categories: Sequence[Aggregate], samples: np.ndarray) -> Aggregate:
    """The plain mean of the categories' values; `samples` are their resampled means (resamples, categories).

    A resample that lacks a category is left out. Samples without width (0 % or 100 %, or one conversation a category)
    say nothing about the spread: then the means of the categories' own bounds, which err on the wide side.
    """
    row = replace(overall, variant="mean_of_categories", ci_low=None, ci_high=None)
    if categories:
        row.value = statistics.mean(np.array([category.value for category in categories], dtype=np.float64))
        low, high = statistics.percentile_interval(samples.mean(axis=1))
        if low == high:
            low, high = (statistics.mean([getattr(c, side) for c in categories]) for side in ("ci_low", "ci_high"))
        row.ci_low, row.ci_high = low, high
    return row


def _score_shares(repeat: int | None, runs: Sequence[Judged]) -> list[Aggregate]:
    """Shares of the judgements, one per question and run; two rows of a question in one run are one with their mean."""
    reached = [math.floor(exact_mean(scores)) if scores else None for judged in runs for scores in judged.values()]
    n, n_scored = len(reached), sum(score is not None for score in reached)
    return [
        Aggregate(
            repeat,
            "score_share",
            "",
            "score",
            "no score" if score is None else str(score),
            reached.count(score) / n if n else None,
            n,
            n_scored,
        )
        for score in (*range(LOWEST, HIGHEST + 1), None)
    ]


def flips(runs: Mapping[int, Judged], groups: Groups, clusters: np.ndarray, seed: str) -> list[Aggregate]:
    """How often the judging runs disagree about a question: over all runs, by category and by pair of runs.

    A run without a valid score of a question says *not usable*, and *no score*. `n` counts the questions that at least two
    of the runs hold (by pair: both of them), `n_answered` those of them with a score in all the runs that hold them. No
    such question: no value. The facets of `judging_runs` are pairs such as `1 and 2`.
    """
    size = len(clusters)
    seen, usable = np.zeros((2, len(runs), size), bool)
    reached = np.full((len(runs), size), -1)
    for place, judged in enumerate(runs.values()):
        for item, scores in judged.items():
            seen[place, item] = True
            if scores:
                score = exact_mean(scores)
                reached[place, item], usable[place, item] = math.floor(score), score >= USABLE
    everything = [pair for pair in groups if pair[0] in ("overall", "category")]
    wanted = [(pair, list(range(len(runs))), groups[pair]) for pair in everything]
    for (one, first), (other, second) in combinations(enumerate(runs), 2):
        wanted.append((("judging_runs", f"{first} and {second}"), [one, other], groups["overall", ""]))
    rows: list[Aggregate] = []
    drawn: list[tuple[Aggregate, np.ndarray, np.ndarray]] = []
    for metric, said in (("verdict_flip_rate", usable.astype(int)), ("score_flip_rate", reached)):
        for pair, places, index in wanted:
            held = seen[places]
            highest = np.where(held, said[places], -2).max(axis=0)
            lowest = np.where(held, said[places], HIGHEST + 1).min(axis=0)
            use = index[held.sum(axis=0)[index] > 1]
            unscored = np.any(held & (reached[places] < 0), axis=0)
            rows.append(Aggregate(None, metric, "", *pair, None, len(use), len(use) - int(unscored[use].sum())))
            if len(use):
                flipped = (highest > lowest).astype(float)
                rows[-1].value = statistics.mean(flipped[use])
                drawn.append((rows[-1], flipped, use))
    values = np.array([flipped for _, flipped, _ in drawn]).reshape(len(drawn), size)
    bounds = statistics.mean_intervals(values, [use for _, _, use in drawn], clusters, seed=seed)
    for (row, _, _), (low, high) in zip(drawn, bounds, strict=True):
        row.ci_low, row.ci_high = low, high
    return rows
