"""LiveClin: its items, and the public evaluator reproduced, faults included. Protocol `liveclin-official-2026-02`.

A clinical case is a conversation of 3 to 6 questions, each with one right letter. The headline is the share of cases
whose questions are all right. The official keywords of the breakdowns stand in `liveclin_labels.json`; a better mapping
of our own, which gives the items their modalities, stands here.
Source: the public code (AQ-MedAI/LiveClin at commit 45b4876) and the dataset of release 2025_H1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from reprlib import repr as short
from typing import Any

import msgspec
import numpy as np

from evaluation.protocols.aggregate import Groups, answered, facet_groups, means
from evaluation.protocols.base import Aggregate, Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts

LETTERS = "ABCDEFGHIJ"
NOT_GIVEN, OTHER, UNMAPPED = "not given", "Other", "unmapped"

CASE_DIMENSIONS = ("icd_chapter", "disease_cluster", "rarity")
QUESTION_DIMENSIONS = ("stage", "stage_text", "position", "image_modality", "table_modality")
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


# --- labels -----------------------------------------------------------------------------------------------------------

KEYWORDS: dict[str, dict[str, list[str]]] = json.loads(
    files("evaluation.protocols").joinpath("liveclin_labels.json").read_text("utf-8")
)
"""Official keywords: "stage", "image_modality", "table_modality" -> class -> keywords; "how" says how they are read."""

# Our mapping: the official classes with their word stems made to work, common synonyms added, and what a clinician
# would not agree with taken out: cystoscopy is an endoscopy, fluoroscopy an X-ray technique, vital signs are monitored;
# a blood pressure is no laboratory value, a radiation dose no medication, a tumour marker no staging system. OCT,
# karyotypes and gels fit no image class and stay unmapped.
# A pattern begins at a word boundary; a space in it is a space or a hyphen.
IMAGE_WORDS = {
    "X-ray": r"x.?rays?\b|radiogra[mp]|mammogra|fluoroscop|orthopantomogra",
    "CT": r"ct\b|cta\b|hrct\b|cbct\b|comput(?:ed|eri[sz]ed)(?: axial)? tomogra",
    "MRI": r"f?mri\b|mra\b|mrv\b|mrcp\b|magnetic resonance|mr (?:imag|angio|venogra|cholangio|entero|urogra|spectro)",
    "Ultrasound": r"ultraso[nu]|sonogra|endosonogra|echocardio|doppler|eus\b|ivus\b",
    "Clinical Photo": (
        r"clinical (?:photo|image)|(?:intra ?)?operative photo|slit lamp|fundus (?:photo|image)|fundoscop|retinogra"
        r"|derm(?:at)?oscop|trichoscop|colposcop"
    ),
    "Endoscopy": (
        r"\w*endoscop|(?:colono|broncho|laparo|hystero|gastro|sigmoido|cysto|uretero|arthro|thoraco|laryngo)scop"
        r"|\w*duodenoscop"
    ),
    "Angiography": r"angiogra|arteriogra|venogra|aortogra|cta\b|mra\b|mrv\b|dsa\b",
    "PET & SPECT": r"pet\b|spect\b|nuclear medicine|bone scan|scintigra|positron emission|single photon emission",
    "Pathology": (
        r"(?:histo|cyto)?patholog|histolog|histochem|cytolog|immuno(?:histo|cyto|fluor|stain)|ihc\b|gross specimen"
        r"|electron micro(?:scop|gra)|photomicrogra|(?:blood|marrow) (?:smear|film|aspirate)"
    ),
    "Biosignals": (
        r"ecg\b|ekg\b|a?eeg\b|emg\b|erg\b|electro(?:cardio|encephalo|myo|retino|cochleo|oculo)g"
        r"|physiological signal|holter|polysomnogra|cardiotocogra|nerve conduction|evoked potential"
    ),
    "Diagram & Plot": (
        r"diagram|illustration|schema|drawing|flow ?chart|timeline|pedigree|family tree|plots?\b|graphs?\b|charts?\b"
        r"|histogram|heat ?map|kaplan"
    ),
}
TABLE_WORDS = {
    "Lab Results": (
        r"labs?\b|laborator|blood\b(?! (?:pressure|loss|product|transfusion))|serum|serolog|biomarker|tumou?r marker"
        r"|(?:renal|kidney|liver|thyroid) function|acid.base|electrolyte|hormon|coagulation|biochem|ha?ematolog"
        r"|immuno(?:globulin|log|assay|phenotyp)|(?:auto)?antibod|flow cytometr|urine|urinalys|cerebrospinal|csf\b"
        r"|microbiolog|cultures?\b"
    ),
    "Medications": (
        r"medication|drugs?\b|(?<!radiation\s)(?<!radiotherapy\s)dos(?:es?|ages?|ing)\b|regimen|pharmac|prescription"
        r"|treatment (?:plan|schedule|protocol)|chemotherap|nutrition\b"
    ),
    "Demographics": (
        r"demograph|(?:baseline|patients?) (?:characteristic|information|data|detail|profile)|ages?\b|anthropometr"
        r"|growth (?:chart|curve|percentile|parameter)"
    ),
    "Monitoring": (
        r"monitor|longitudinal|serial|trend|time ?line|time course|follow ?up|surviv|outcome|responses?\b|pre.post"
        r"|clinical course|recover|progression|vital signs?|blood pressure"
    ),
    "Literature": (
        r"literature|case series|(?:reported|published|previous|prior) cases|guideline|meta ?analys"
        r"|review\b(?! of systems)"
    ),
    "Genomics": (
        r"genom|(?:cyto)?genetic|genes?\b|mutation|primers?\b|sequencing|(?:sequence|pathogenic) variant|molecular"
        r"|exome|karyotyp"
    ),
    "Pathology & IHC": r"(?:histo|cyto)?patholog|histolog|cytolog|immuno(?:histo|cyto|fluor|stain)|ihc\b|biops",
    "Procedures": (
        r"procedur|surg(?:ery|eries|ical)|(?:intra ?)?operati(?:ve|on)|transplant|intervention|engraft|dosimetr"
        r"|radiotherap|radiation dose"
    ),
    "Staging Sys": (
        r"stag(?:es?|ing)\b|tnm\b|classif|scor(?:es?|ing)\b|grad(?:es?|ing)\b|prognos|severity|criteria"
        r"|risk (?:score|strat|categor|class|group|assess|index|model)"
    ),
}

Patterns = dict[str, re.Pattern[str]]


def _keyword(keyword: str) -> str:
    return "".join({"|": r"\b", " ": r"\s+", ".": "."}.get(sign) or re.escape(sign) for sign in keyword)


def _official(dimension: str) -> Patterns:
    return {name: re.compile("|".join(map(_keyword, words)), re.I) for name, words in KEYWORDS[dimension].items()}


def _ours(words: Mapping[str, str]) -> Patterns:
    return {name: re.compile(rf"\b(?:{text.replace(' ', '[ -]')})", re.I) for name, text in words.items()}


STAGES = _official("stage")
OFFICIAL_IMAGES, OFFICIAL_TABLES = _official("image_modality"), _official("table_modality")
IMAGES, TABLES = _ours(IMAGE_WORDS), _ours(TABLE_WORDS)


def _hits(patterns: Patterns, label: str) -> tuple[str, ...]:
    return tuple(name for name, pattern in patterns.items() if pattern.search(label))


@lru_cache(4096)
def official_stage(text: str) -> str:
    """The first of the five stages, in clinical order, of which the text holds a keyword; else "Other"."""
    return next(iter(_hits(STAGES, text)), OTHER)


@lru_cache(4096)
def official_image_modalities(label: str) -> tuple[str, ...]:
    """The official classes of a figure's type, in their official order; none when no keyword fits."""
    return _hits(OFFICIAL_IMAGES, label)


@lru_cache(4096)
def official_table_modalities(label: str) -> tuple[str, ...]:
    """The official classes of a table's type, in their official order; none when no keyword fits."""
    return _hits(OFFICIAL_TABLES, label)


@lru_cache(4096)
def image_modalities(label: str) -> tuple[str, ...]:
    """Our classes of a figure's type, under the official names and in their order; none when nothing fits."""
    return _hits(IMAGES, label)


@lru_cache(4096)
def table_modalities(label: str) -> tuple[str, ...]:
    """Our classes of a table's type, under the official names and in their order; none when nothing fits."""
    return _hits(TABLES, label)


# --- the items --------------------------------------------------------------------------------------------------------


def case_id(case: Mapping[str, Any]) -> str:
    """`pmc` stripped, else `PMID_` and `pmid` or `PMID`, else `doi` stripped, else "". Empty fields count as absent."""
    if pmc := case.get("pmc"):
        return str(pmc).strip()
    if pmid := case.get("pmid") or case.get("PMID"):
        return f"PMID_{pmid}"
    return str(case.get("doi") or "").strip()


def items(cases: Iterable[Mapping[str, Any]]) -> list[ItemSpec]:
    """The questions of the dataset's case objects, in file order; key `<case id>:<mcq_index>`, gold the letter.

    Raises ValueError with case id, field and value for a case that cannot be read, and for a case id that comes twice.
    """
    read: dict[str, tuple[str, str, list[ItemSpec]]] = {}
    for case in cases:
        if not isinstance(case, Mapping):
            raise ValueError(f"case {len(read) + 1} of the file is {short(case)}, expected an object")
        name = case_id(case)
        if name in read:
            raise ValueError(f"case {name!r}: the case id occurs twice")
        read[name] = _facet(name, case, "Level1"), _facet(name, case, "Level2"), _questions(name, case)
    chapters: dict[str, set[str]] = {}
    for chapter, cluster, _ in read.values():
        chapters.setdefault(cluster, set()).add(chapter)
    out = []
    for chapter, cluster, questions in read.values():
        is_shared = cluster != NOT_GIVEN and len(chapters[cluster]) > 1
        shown = f"{chapter} / {cluster}" if is_shared else cluster
        own = (("icd_chapter", chapter), ("disease_cluster", shown))
        out += [replace(question, facets=own + question.facets) for question in questions]
    return out


def _questions(name: str, case: Mapping[str, Any]) -> list[ItemSpec]:
    """The questions of one case, without the facets that depend on the other cases."""
    creation = case.get("exam_creation")
    policy = creation.get("final_policy") if isinstance(creation, dict) else None
    mcqs = policy.get("mcqs") if isinstance(policy, dict) else None
    if not isinstance(policy, dict) or not isinstance(mcqs, list) or not mcqs:
        raise _unreadable(name, "exam_creation.final_policy.mcqs", mcqs, "a list of questions")
    rarity = _facet(name, case, "Rarity")
    # the scenario is shown with the first question, and so are its figures and tables
    figures, tables = _types(name, policy, "scenario_image_details"), _types(name, policy, "scenario_table_details")
    out = []
    for index, mcq in enumerate(mcqs):
        if not isinstance(mcq, dict):
            raise _unreadable(name, f"mcqs[{index}]", mcq, "an object")
        gold = mcq.get("correct_answer")
        if not isinstance(gold, str) or gold.upper() not in tuple(LETTERS):
            raise _unreadable(name, f"mcqs[{index}].correct_answer", gold, "a letter A-J")
        stage = _facet(name, mcq, "stage")
        figures, tables = figures + _types(name, mcq, "image_details"), tables + _types(name, mcq, "table_details")
        facets = [("rarity", rarity), ("stage", official_stage(stage)), ("stage_text", stage)]
        facets.append(("position", f"Q{index + 1}"))
        facets += [("image_modality", facet) for facet in _modalities(IMAGES, figures)]
        facets += [("table_modality", facet) for facet in _modalities(TABLES, tables)]
        out.append(ItemSpec(f"{name}:{index}", name, name, gold.upper(), tuple(facets)))
        figures, tables = [], []
    return out


def _modalities(patterns: Patterns, types: Sequence[str]) -> list[str]:
    """The classes of a question's figures or tables, "unmapped" when there are some and none has a class."""
    found = {name for label in types for name in _hits(patterns, label)}
    return [name for name in patterns if name in found] or [UNMAPPED] * bool(types)


def _facet(name: str, source: Mapping[str, Any], field: str) -> str:
    """The text as it stands, "not given" when missing or blank."""
    value = source.get(field)
    if value is not None and not isinstance(value, str):
        raise _unreadable(name, field, value, "a text")
    return value if value and value.strip() else NOT_GIVEN


def _types(name: str, source: Mapping[str, Any], field: str) -> list[str]:
    """The types of the figures or tables of one field, "" for one without a type."""
    details = source.get(field)
    if details is not None and not isinstance(details, list):
        raise _unreadable(name, field, details, "a list or null")
    types = []
    for detail in details or ():
        label = detail.get("type") if isinstance(detail, dict) else detail
        if not isinstance(detail, dict) or not isinstance(label, str | None):
            raise _unreadable(name, field, detail, "objects with a type")
        types.append(label or "")
    return types


def _unreadable(name: str, field: str, value: Any, expected: str) -> ValueError:
    # shortened: question texts must not travel in messages
    return ValueError(f"case {name!r}: {field} is {short(value)}, expected {expected}")


# --- the evaluator ----------------------------------------------------------------------------------------------------


class LiveClinOfficial(Evaluator):
    """Evaluator `liveclin-official-2026-02`."""

    name = "liveclin-official-2026-02"
    headline = "case_accuracy"
    metrics = {
        "case_accuracy": "Share of the cases whose questions are all answered right.",
        "question_accuracy": "Share of the questions answered right.",
        "error_rate": "Share of the questions whose call failed or was skipped after a failed one.",
    }
    description = (
        "The letter by the first rule that matches: first box, first phrase such as 'answer is', last line of one "
        "letter, last capital standing alone. The response is searched as it is. Failed, skipped and missing questions "
        "are wrong; variant done_only leaves missing ones out, as the public summary of an unfinished file does; "
        "per_figure counts a question once per figure or table of the results file, as the public summary does."
    )

    @property
    def fingerprint(self) -> str:
        patterns = [[rule, pattern.pattern, pattern.flags] for rule, pattern in LETTER_RULES.items()]
        content = json.dumps([self.name, self.description, patterns, KEYWORDS, IMAGE_WORDS, TABLE_WORDS])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: QuestionRow) -> Answer:
        """The letter of one row, none where the call failed; `extra` is (image types, table types) of the row."""
        letter, rule, _ = official_letter(None if row.error else row.model_response)
        types = tuple(row.image_types or ()), tuple(row.table_types or ())
        return Answer(row.key, row.repeat, letter, rule, bool(row.error), types)

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
            outcome = _outcome(answer, None if index is None else split.items[index].gold)
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
        aggregates: list[Aggregate] = []
        vectors: dict[tuple[int, str], np.ndarray] = {}
        for repeat, of in values.items():
            vectors[repeat, "outcome"] = of["outcome"]
            vectors[repeat, "question_accuracy"] = of["question_accuracy"]
            vectors[repeat, "case_accuracy"] = of["case_accuracy"][split.case]
            if repeat or len(rows) > 1:
                scope, pooled = (repeat, [rows[repeat]]) if repeat else (None, list(rows.values()))
                aggregates += split.aggregates(scope, of)
                for side in (0, 1):
                    aggregates += split.per_figure(scope, [row for found in pooled for row in found], side)
        return Result(verdicts, vectors, aggregates, notes)


Row = tuple[int, Answer, Outcome]
Values = dict[str, np.ndarray]


def _outcome(answer: Answer, gold: str | None) -> Outcome:
    if answer.error:
        return Outcome.ERROR
    if answer.prediction is None:
        return Outcome.NO_ANSWER
    return Outcome.RIGHT if answer.prediction == gold else Outcome.WRONG


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
        return {
            "outcome": outcome,
            "question_accuracy": np.where(present, right, np.nan),
            "error_rate": np.where(present, outcome == Outcome.ERROR, np.nan),
            "case_accuracy": np.where(self.per_case(present) > 0, self.per_case(right) == self.sizes, np.nan),
        }

    def aggregates(self, repeat: int | None, values: Values) -> list[Aggregate]:
        """All but `per_figure`. `stage_text`, which has hundreds of facets, gets no intervals and no `done_only`."""
        complete = self.per_case(answered(values["outcome"])) == self.sizes
        out = means(
            {"case_accuracy": values["case_accuracy"]},
            np.where(complete, Outcome.WRONG, Outcome.NO_ANSWER),  # of a case, only whether it was answered is asked
            self.cases,
            np.arange(len(self.sizes)),
            repeat=repeat,
            seed=self.seed,
        )
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
        return out

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
