"""LiveClin: the public evaluator reproduced, faults included, and our own reading of the letter beside it.

A clinical case is a conversation of 3 to 6 questions, each with one right letter. The headline is the share of cases
whose questions are all right. Protocols `liveclin-official-2026-02` and `clinboard-mcq-1` count alike and differ in the
letter alone. Source: the public code (AQ-MedAI/LiveClin at commit 45b4876).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from evaluation.protocols import liveclin_cases, mcq, mcq_words
from evaluation.protocols.aggregate import Groups, answered, facet_groups, means
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts
from evaluation.protocols.liveclin_items import (
    IMAGE_WORDS,
    KEYWORDS,
    LETTERS,
    NOT_GIVEN,
    OTHER,
    TABLE_WORDS,
    UNMAPPED,
    case_id,
    image_modalities,
    items,
    material,
    official_image_modalities,
    official_stage,
    official_table_modalities,
    relative_position,
    table_modalities,
)

__all__ = [
    "IMAGE_WORDS",
    "KEYWORDS",
    "LETTERS",
    "NOT_GIVEN",
    "OTHER",
    "TABLE_WORDS",
    "UNMAPPED",
    "LiveClinMCQ",
    "LiveClinOfficial",
    "QuestionRow",
    "case_id",
    "image_modalities",
    "items",
    "material",
    "official_image_modalities",
    "official_letter",
    "official_stage",
    "official_table_modalities",
    "relative_position",
    "table_modalities",
]

CASE_DIMENSIONS = ("icd_chapter", "disease_cluster", "rarity", "questions_per_case")
QUESTION_DIMENSIONS = (
    "stage",
    "stage_text",
    "position",
    "relative_position",
    "material",
    "image_modality",
    "table_modality",
)
ERROR_DIMENSIONS = ("overall", "position")


class QuestionRow(msgspec.Struct):
    """One question of a results file, as far as scoring needs it."""

    case_id: str
    mcq_index: int
    model_response: str | None = None
    error: str | None = None
    image_types: list[str] | None = None
    table_types: list[str] | None = None
    repeat: int = 1

    @property
    def key(self) -> str:
        return f"{self.case_id}:{self.mcq_index}"


# --- the letter -------------------------------------------------------------------------------------------------------

# The first rule that matches wins; within a rule the first place, or the last where the pattern swallows all before it.
# Every run is one character class, so a megabyte of anything is searched in linear time. "Selected option", a word of
# the phrase rule, ends in "option". The last rule is part of the protocol, but rule 3 takes every response it fits.
LETTER_RULES = {
    "boxed": re.compile(r"\\boxed\{\s*([A-J])\s*\}", re.I),
    "phrase": re.compile(r"(?:answer|option|choice)[:\-is\s]*([A-J])\b", re.I),
    "last_line": re.compile(r"\A(?s:.*)^[^\S\n]*([A-J])[\s.)]*$", re.I | re.M),
    "last_capital": re.compile(r"\A(?s:.*)\b([A-J])\b"),
    "single": re.compile(r"\A\s*([A-J])\s*\Z", re.I),
}


def official_letter(response: str | None) -> tuple[str | None, str, tuple[int, int] | None]:
    """(letter in upper case, rule that took it, its place in the response); (None, "none", None) when no rule matches.

    The response is searched as it is, reasoning included.
    """
    for rule, pattern in LETTER_RULES.items():
        if match := pattern.search(response or ""):
            # in any case A-J also matches the Turkish dotless i, whose capital is I, and the dotted capital, which is
            # its own and equals no gold letter
            letter = match[1].upper()
            return (letter, rule, match.span(1)) if letter in LETTERS else (None, "none", None)
    return None, "none", None


# --- the evaluator ----------------------------------------------------------------------------------------------------


_BEYOND = (
    "Beyond the public summary: relative position (the first and last fifth of a case by the middle of each question's "
    "stretch), material, questions per case, where cases break first and how many are still right after each question, the "
    "case accuracy to expect if errors were independent, and cases right in all and in any repeat."
)


class LiveClinOfficial(Evaluator):
    """Evaluator `liveclin-official-2026-02`."""

    name = "liveclin-official-2026-02"
    headline = "case_accuracy"
    metrics = {
        "case_accuracy": "Share of the cases whose questions are all answered right.",
        "question_accuracy": "Share of the questions answered right.",
        "error_rate": "Share of the questions whose call failed or was skipped after a failed one.",
        **liveclin_cases.METRICS,
    }
    per_figure = True
    description = (
        "The letter by the first rule that matches: first box, first phrase such as 'answer is', last line of one "
        "letter, last capital standing alone. The response is searched as it is. Failed, skipped and missing questions "
        "are wrong; variant done_only leaves missing ones out, as the public summary of an unfinished file does; "
        "per_figure counts a question once per figure or table of the results file, as the public summary does. "
        f"{_BEYOND}"
    )

    @property
    def fingerprint(self) -> str:
        patterns = [[rule, pattern.pattern, pattern.flags] for rule, pattern in LETTER_RULES.items()]
        content = json.dumps([self.name, self.description, patterns, KEYWORDS, IMAGE_WORDS, TABLE_WORDS])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: QuestionRow) -> Answer:
        """The letter of one row, none where the call failed.

        `extra` is (image types, table types, letter by `clinboard-mcq-1`, its rule) of the row.
        """
        response = None if row.error else row.model_response
        letter, rule, _ = official_letter(response)
        ours = mcq.extract(response, LETTERS)
        types = tuple(row.image_types or ()), tuple(row.table_types or ())
        return Answer(row.key, row.repeat, letter, rule, bool(row.error), (*types, ours.letter, ours.rule))

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        """Verdicts, vectors and aggregates; a verdict's value is the question's own (1 right, 0 not), never the case's.

        Of several answers to one question in one repeat the first counts; answers off the item list count nowhere. One
        set of aggregates per repeat and, when there are several, one over all (repeat None): there a question's value
        is the mean over its rows, a case's the mean over the repeats that hold any of its rows. `n` and `n_answered`
        count cases for `case_accuracy` (answered: all its questions are), figures for the variant `per_figure` (over
        all repeats: of all rows), else questions. Facets without any figure have no `per_figure`.
        """
        split = _Split([item for item in items if item.scored], seed)
        place = {item.key: index for index, item in enumerate(split.items)}
        counted: dict[int, dict[int, tuple[Answer, Outcome]]] = {
            repeat: {} for repeat in sorted({answer.repeat for answer in answers}) or [1]
        }
        verdicts, notes = Verdicts(), []
        for answer in answers:
            index = place.get(answer.item)
            letter, _ = self.taken(answer)
            outcome = _outcome(answer.error, letter, None if index is None else split.items[index].gold)
            verdicts.add(outcome, None if index is None else float(outcome is Outcome.RIGHT))
            if index is None:
                notes.append(("off_dataset", answer.item, "not an item of the dataset; the public code counts it"))
            elif index in counted[answer.repeat]:
                notes.append(("duplicate", answer.item, f"answered again in repeat {answer.repeat}; the first counts"))
            else:
                counted[answer.repeat][index] = answer, outcome

        rows = {repeat: [(index, *of[index]) for index in sorted(of)] for repeat, of in counted.items()}
        values = {repeat: split.values(found) for repeat, found in rows.items()}
        values[0] = _over_repeats(list(values.values()))
        in_all, in_any = liveclin_cases.in_all_and_any([of["case_accuracy"] for repeat, of in values.items() if repeat])
        aggregates: list[Aggregate] = []
        vectors: dict[tuple[int, str], np.ndarray] = {}
        for repeat, of in values.items():
            vectors[repeat, "outcome"] = of["outcome"]
            vectors[repeat, "question_accuracy"] = of["question_accuracy"]
            vectors[repeat, "case_accuracy"] = of["case_accuracy"][split.case]
            if repeat or len(rows) > 1:
                scope, pooled = (repeat, [rows[repeat]]) if repeat else (None, list(rows.values()))
                aggregates += split.aggregates(scope, of)
                if not repeat:
                    both = {"right_in_all_repeats": in_all, "right_in_any_repeat": in_any}
                    aggregates += split.of_cases(None, both, of["outcome"], overall_only=True)
                for side in (0, 1) if self.per_figure else ():
                    aggregates += split.per_figure(scope, [row for found in pooled for row in found], side)
        return Result(verdicts, vectors, aggregates, notes)


class LiveClinMCQ(LiveClinOfficial):
    """Evaluator `clinboard-mcq-1` of LiveClin: the official counting with the letter that a careful reader takes."""

    name = "clinboard-mcq-1"
    per_figure = False  # a count of the public summary, of no use without it
    description = (
        "The letter as a careful reader takes it: reasoning blocks passed over; of what is stated outright (a box, a tag, JSON, "
        "'the answer is', 'B is the correct answer', in some fifteen languages) the last; else the last conclusion, a line "
        "that is or begins with a letter, the only marked letter. Two letters, a refusal, an unclosed reasoning block are no "
        "answer; the pronoun, the article and letters of medical terms are no options. Counted as the official evaluator "
        f"counts; failed, skipped and missing questions are wrong; variant done_only leaves missing ones out. {_BEYOND}"
    )

    @property
    def fingerprint(self) -> str:
        rules = inspect.getsource(mcq) + inspect.getsource(mcq_words)
        return hashlib.sha256(json.dumps([self.name, self.description, rules]).encode()).hexdigest()

    def taken(self, answer: Answer) -> tuple[Any, str]:
        return answer.extra[2:]


Row = tuple[int, Answer, Outcome]
Values = dict[str, np.ndarray]


def _outcome(failed: bool, letter: str | None, gold: str | None) -> Outcome:
    if failed:
        return Outcome.ERROR
    if letter is None:
        return Outcome.NO_ANSWER
    return Outcome.RIGHT if letter == gold else Outcome.WRONG


def _over_repeats(repeats: Sequence[Values]) -> Values:
    """The best outcome, and the mean over the repeats that have a value; NaN where none has."""
    out = {}
    for name in repeats[0]:
        stack = np.stack([values[name] for values in repeats])
        if name == "outcome":
            best_first = (Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER, Outcome.ERROR, Outcome.MISSING)
            hits = [(stack == outcome).any(axis=0) for outcome in best_first]
            out[name] = np.select(hits, best_first).astype(np.uint8)
        else:
            present = ~np.isnan(stack)
            total, count = np.where(present, stack, 0.0).sum(axis=0), present.sum(axis=0)
            out[name] = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return out


class _Split:
    """The expected questions: `case` is the number of each one's case, `sizes` the number of questions in each case."""

    def __init__(self, items: Sequence[ItemSpec], seed: str):
        self.items, self.seed = items, seed
        firsts: dict[str, ItemSpec] = {}
        for item in items:
            firsts.setdefault(item.case, item)
        numbers = {case: number for number, case in enumerate(firsts)}
        self.case = np.asarray([numbers[item.case] for item in items], dtype=np.int64)
        self.sizes = np.bincount(self.case, minlength=len(firsts))
        self.position = liveclin_cases.positions(self.case)
        self.longest = int(self.sizes.max(initial=0))
        self.questions = facet_groups(items, CASE_DIMENSIONS + QUESTION_DIMENSIONS)
        # a case has the labels that all its questions have
        shared: dict[str, set[tuple[str, str]]] = {}
        for item in items:
            shared.setdefault(item.case, set(item.labels)).intersection_update(item.labels)
        labels = {case: tuple(pair for pair in firsts[case].labels if pair in shared[case]) for case in firsts}
        cases = [replace(first, labels=labels[case]) for case, first in firsts.items()]
        self.cases = facet_groups(cases, CASE_DIMENSIONS)

    def per_case(self, flags: np.ndarray) -> np.ndarray:
        return np.bincount(self.case, weights=flags, minlength=len(self.sizes))

    def values(self, rows: Sequence[Row]) -> Values:
        """Over the questions `outcome`, `question_accuracy` and `error_rate`, over the cases `case_accuracy`.

        NaN: a question without a row, a case without any row. A case with a missing question is not right.
        """
        outcome = np.full(len(self.items), Outcome.MISSING, dtype=np.uint8)
        for index, _, found in rows:
            outcome[index] = found
        present, right = outcome != Outcome.MISSING, outcome == Outcome.RIGHT
        breaks = liveclin_cases.first_breaks(self.case, self.position, right, len(self.sizes))
        return {
            "outcome": outcome,
            "question_accuracy": np.where(present, right, np.nan),
            "error_rate": np.where(present, outcome == Outcome.ERROR, np.nan),
            "case_accuracy": np.where(self.per_case(present) > 0, self.per_case(right) == self.sizes, np.nan),
            **liveclin_cases.along_the_case(breaks, self.per_case(present) > 0, self.longest),
        }

    def aggregates(self, repeat: int | None, values: Values) -> list[Aggregate]:
        """All but `per_figure`. `stage_text`, which has hundreds of facets, gets no intervals and no `done_only`."""
        out = self.of_cases(repeat, {"case_accuracy": values["case_accuracy"]}, values["outcome"])
        with_errors: Groups = {pair: group for pair, group in self.questions.items() if pair[0] in ERROR_DIMENSIONS}
        for metric, groups in (("question_accuracy", self.questions), ("error_rate", with_errors)):
            of_questions = means(
                {metric: values[metric]},
                values["outcome"],
                groups,
                self.case,
                repeat=repeat,
                seed=self.seed,
                no_interval=frozenset({"stage_text"}),
            )
            out += [row for row in of_questions if row.dimension != "stage_text" or not row.variant]
        complete = self._complete(values["outcome"])
        out += liveclin_cases.along_aggregates(values, complete, repeat, self.seed)
        expected = liveclin_cases.expected_if_independent(
            self.case, self.position, values["question_accuracy"], len(self.sizes)
        )
        counts = len(self.sizes), int(answered(complete).sum())
        out.append(Aggregate(repeat, "expected_case_accuracy", "", "overall", "", expected, *counts))
        return out

    def _complete(self, outcome: np.ndarray) -> np.ndarray:
        """An outcome for each case: of a case, only whether all its questions were answered is asked."""
        complete = self.per_case(answered(outcome)) == self.sizes
        return np.where(complete, Outcome.WRONG, Outcome.NO_ANSWER)

    def of_cases(
        self, repeat: int | None, values: Values, outcome: np.ndarray, overall_only: bool = False
    ) -> list[Aggregate]:
        """Means over the cases of values over the cases; `overall_only`: of all cases, in no other variant."""
        groups = {("overall", ""): self.cases["overall", ""]} if overall_only else self.cases
        every = np.arange(len(self.sizes))
        found = means(values, self._complete(outcome), groups, every, repeat=repeat, seed=self.seed)
        return [row for row in found if not (overall_only and row.variant)]

    def per_figure(self, repeat: int | None, rows: Sequence[Row], side: int) -> list[Aggregate]:
        """The public count: official classes of the rows' figures (side 0) or tables (side 1), once for each one."""
        dimension = ("image_modality", "table_modality")[side]
        classify = (official_image_modalities, official_table_modalities)[side]
        facets: dict[str, list[int]] = {facet: [] for facet in (*KEYWORDS[dimension], UNMAPPED)}
        figures = [(index, outcome, label) for index, answer, outcome in rows for label in answer.extra[side]]
        for number, (_, _, label) in enumerate(figures):
            for facet in classify(label) or (UNMAPPED,):
                facets[facet].append(number)
        groups = {(dimension, facet): np.asarray(numbers) for facet, numbers in facets.items() if numbers}
        outcomes = np.asarray([outcome for _, outcome, _ in figures], dtype=np.uint8)
        found = means(
            {"question_accuracy": (outcomes == Outcome.RIGHT).astype(float)},
            outcomes,
            groups,
            self.case[[index for index, _, _ in figures]],
            repeat=repeat,
            seed=self.seed,
        )
        return [replace(row, variant="per_figure") for row in found if not row.variant]
