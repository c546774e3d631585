"""LiveClin's official protocol, against what the public evaluator wrote and against a slow and plain second reading."""

from __future__ import annotations

import json
import os
import random
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation import statistics
from evaluation.protocols import liveclin
from evaluation.protocols.base import Aggregate, Answer, ItemSpec, Outcome, Result
from evaluation.protocols.liveclin import LiveClinMCQ, LiveClinOfficial, QuestionRow, official_letter
from evaluation.protocols.mcq import extract

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
CONFORMANCE = SHARED / "conformance" / "liveclin"
RESULTS = sorted(CONFORMANCE.glob("results/*.json"))
needs_shared = pytest.mark.skipif(not RESULTS, reason="the folder with the official values is not here")

OFFICIAL = LiveClinOfficial()


# --- invented content -------------------------------------------------------------------------------------------------


def details(*types: str | None) -> list[dict]:
    return [{"file": "f.jpg", "caption": "Invented", "type": kind} for kind in types]


def mcq(gold: str = "A", stage: str | None = "Discharge", images: object = None, tables: object = None) -> dict:
    return {"stage": stage, "correct_answer": gold, "image_details": images, "table_details": tables}


def make_case(pmc: str | None, *mcqs: dict, **fields: object) -> dict:
    policy = {"scenario": "Invented.", "mcqs": list(mcqs)}
    policy |= {name: fields.pop(name) for name in list(fields) if name.startswith("scenario_")}
    named = {"Level1": "Chapter 2: Neoplasms", "Level2": "Skin (C43-C44)", "Rarity": "rare"}
    return {"pmc": pmc, **named, "exam_creation": {"final_policy": policy}, **fields}


def row(key: str, response: str | None, repeat: int = 1, error: str | None = None, images=(), tables=()) -> QuestionRow:
    case, _, index = key.rpartition(":")
    return QuestionRow(case, int(index), response, error, list(images), list(tables), repeat)


def score(items: list[ItemSpec], *rows: QuestionRow) -> Result:
    return OFFICIAL.evaluate(items, [OFFICIAL.read(each) for each in rows], "seed")


def find(
    result: Result, metric: str, dimension: str = "overall", facet: str = "", variant: str = "", repeat: int | None = 1
) -> Aggregate:
    [found] = [
        aggregate
        for aggregate in result.aggregates
        if (aggregate.repeat, aggregate.metric, aggregate.variant, aggregate.dimension, aggregate.facet)
        == (repeat, metric, variant, dimension, facet)
    ]
    return found


def facets(item: ItemSpec, dimension: str) -> list[str]:
    return [facet for name, facet in item.facets if name == dimension]


@pytest.fixture(scope="module")
def two_cases() -> list[ItemSpec]:
    """Case X with gold A, B; case Y with gold C, D, E."""
    return liveclin.items(
        [make_case("X", mcq("A"), mcq("B")), make_case("Y", mcq("C"), mcq("D"), mcq("E"), Rarity="unrare")]
    )


# --- the letter -------------------------------------------------------------------------------------------------------


@needs_shared
def test_letters_are_the_official_ones() -> None:
    lines = [json.loads(line) for line in (CONFORMANCE / "answers.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) > 200
    assert [official_letter(line["response"])[0] for line in lines] == [line["letter"] for line in lines]


@pytest.mark.parametrize(
    ("response", "letter", "rule", "place"),
    [
        (r"so \boxed{ c }, later \boxed{D}", "C", "boxed", 11),
        (r"The answer is D. \BOXED{b}", "B", "boxed", 24),
        ("selected option - H", "H", "phrase", 18),
        ("the answer is j", "J", "phrase", 14),
        ("my answers: B and E", "B", "phrase", 12),
        ("an optional F test", "F", "last_capital", 12),
        ("A or B\n (c)\n d.) \nthanks", "D", "last_line", 13),
        ("c", "C", "last_line", 0),
        ("A\r\nnothing more", "A", "last_line", 0),
        ("A x\n)\n", "A", "last_capital", 0),
        ("I am not sure", "I", "last_capital", 0),
        ("**Answer**: C. because A fits better", "A", "last_capital", 23),
        (r"\boxed{A, C}", "C", "last_capital", 10),
        ("Hepatitis B was given; no choice is correct", "B", "last_capital", 10),
        ("答案是（C）", "C", "last_capital", 4),
    ],
)
def test_each_rule_says_where_it_took_the_letter(response: str, letter: str, rule: str, place: int) -> None:
    assert official_letter(response) == (letter, rule, (place, place + 1))


@pytest.mark.parametrize(
    "response", [None, "", "  \n ", "K", "the answer isAA", "Ｃ", "答案是C", "none of them", "answer: İ"]
)
def test_no_rule_no_letter(response: str | None) -> None:
    assert official_letter(response) == (None, "none", None)


def plain_letter(response: str) -> str | None:
    """The page's rules once more, sign by sign."""

    def is_letter(sign: str) -> bool:
        return sign.upper() in set(liveclin.LETTERS)

    def is_word(sign: str) -> bool:
        return sign.isalnum() or sign == "_"

    def skip(start: int, wanted) -> int:
        while start < len(response) and wanted(response[start]):
            start += 1
        return start

    lower = response.lower()
    for start in range(len(response)):
        if lower.startswith("\\boxed{", start):
            at = skip(start + 7, str.isspace)
            end = skip(at + 1, str.isspace)
            if at < len(response) and is_letter(response[at]) and response[end : end + 1] == "}":
                return response[at].upper()
    for start in range(len(response)):
        for word in ("answer", "option", "choice", "selected option"):
            if lower.startswith(word, start):
                first = start + len(word)
                last = skip(first, lambda sign: sign in ":-iIsS" or sign.isspace())
                for at in range(last, first - 1, -1):
                    ends = at + 1 >= len(response) or not is_word(response[at + 1])
                    if at < len(response) and is_letter(response[at]) and ends:
                        return response[at].upper()
    for line in reversed(response.split("\n")):
        line = line.strip()
        if line and is_letter(line[0]) and all(sign in ".)" or sign.isspace() for sign in line[1:]):
            return line[0].upper()
    for at in range(len(response) - 1, -1, -1):
        around = response[max(at - 1, 0) : at] + response[at + 1 : at + 2]
        if response[at] in liveclin.LETTERS and not any(map(is_word, around)):
            return response[at]
    return None


WORDS = ["\\boxed{", "}", "answer", "Option", "selected option", " is", ":", "-", "**", "the", "é", "_", ".", ")", "("]
SIGNS = ["\n", "\r", " ", "\t", "\u00a0", "\u200b", "i", "s", "a", "I", "J", "K", "C", "B"]
texts = st.lists(st.sampled_from(WORDS + SIGNS), max_size=12).map("".join)


@settings(deadline=None, max_examples=500)
@given(texts)
@example("answer is i")
@example("answer iii sis")
@example("\n\nA\n.\n)\n x")
def test_the_letter_equals_the_plain_reading(response: str) -> None:
    assert official_letter(response)[0] == plain_letter(response)


@settings(deadline=None)
@given(st.text() | texts)
@example("answer: ı")
def test_the_letter_is_one_of_ten_and_stands_where_it_is_said(response: str) -> None:
    letter, rule, span = official_letter(response)
    if letter is None:
        assert (rule, span) == ("none", None)
    else:
        assert letter in tuple(liveclin.LETTERS)
        assert rule in liveclin.LETTER_RULES
        assert response[slice(*span)].upper() == letter


MEGABYTE = 2**20


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "\n",
        "i",
        "A",
        "A)",
        "a.",
        "A x\n",
        "\\boxed{",
        "answer ",
        "selected option is ",
        "\\boxed{ ",
        "a\n.x",
        "\n)",
    ],
)
@pytest.mark.parametrize(("start", "end"), [("", ""), ("answer", "x"), ("\\boxed{", "x"), ("A", "x")])
def test_a_megabyte_is_searched_in_linear_time(start: str, unit: str, end: str) -> None:
    response = start + unit * (MEGABYTE // len(unit)) + end
    begin = time.process_time()
    official_letter(response)
    # a tenth of that is usual; a quadratic search would take hours
    assert time.process_time() - begin < 2


# --- labels -----------------------------------------------------------------------------------------------------------


@needs_shared
def test_official_classes_of_all_labels() -> None:
    expected = json.loads((CONFORMANCE / "labels.json").read_text("utf-8"))["official"]
    assert {label: liveclin.official_stage(label) for label in expected["stage"]} == expected["stage"]
    for dimension, classify in (
        ("image_modality", liveclin.official_image_modalities),
        ("table_modality", liveclin.official_table_modalities),
    ):
        assert {label: sorted(classify(label)) for label in expected[dimension]} == expected[dimension]


@needs_shared
def test_the_keywords_are_the_published_ones() -> None:
    published = json.loads((SHARED / "formats" / "liveclin_labels.json").read_text("utf-8"))
    for dimension in ("stage", "image_modality", "table_modality"):
        assert {
            entry["class"]: [
                "|" * word["word_start"] + word["text"] + "|" * word["word_end"] for word in entry["keywords"]
            ]
            for entry in published[dimension]
        } == liveclin.KEYWORDS[dimension]
        assert [entry["class"] for entry in published[dimension]] == list(liveclin.KEYWORDS[dimension])


def test_how_keywords_are_read() -> None:
    assert liveclin.official_stage("A Physical \t Exam") == "Presentation & Assessment"
    assert liveclin.official_stage("acid-base") == "Diagnosis & Interpretation"
    assert liveclin.official_stage("protest") == "Diagnosis & Interpretation"
    assert liveclin.official_stage("testing") == "Other"
    assert liveclin.official_stage("") == "Other"
    assert liveclin.official_image_modalities("ACT") == ()
    assert liveclin.official_image_modalities("PET/CT") == ("CT", "PET & SPECT")
    assert liveclin.official_table_modalities("genomics") == ("Genomics",)
    assert liveclin.official_table_modalities("Demographics") == ()


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ("Chest X-ray", "X-ray"),
        ("X ray", "X-ray"),
        ("radiograph", "X-ray"),
        ("Mammography", "X-ray"),
        ("Fluoroscopy", "X-ray"),
        ("CT angiography", "CT, Angiography"),
        ("MR angiography", "MRI, Angiography"),
        ("MRCP", "MRI"),
        ("Magnetic Resonance Cholangiopancreatography", "MRI"),
        ("SPECT", "PET & SPECT"),
        ("PET-CT", "CT, PET & SPECT"),
        ("Transthoracic echocardiography", "Ultrasound"),
        ("Electrocardiogram", "Biosignals"),
        ("Electroencephalography", "Biosignals"),
        ("Electrocochleogram", "Biosignals"),
        ("Cytology smear", "Pathology"),
        ("Immunofluorescence", "Pathology"),
        ("Immunohistochemistry (CD20)", "Pathology"),
        ("Histopathology (HE)", "Pathology"),
        ("Gross Pathology photograph", "Pathology"),
        ("Bone marrow smear", "Pathology"),
        ("Dermatoscopy", "Clinical Photo"),
        ("Intraoperative photograph", "Clinical Photo"),
        ("Cystoscopy", "Endoscopy"),
        ("Esophagogastroduodenoscopy", "Endoscopy"),
        ("Flow chart", "Diagram & Plot"),
        ("Photography", ""),
        ("OCT", ""),
        ("Optical coherence tomography", ""),
        ("Karyotype", ""),
        ("Western blot", ""),
        ("", ""),
    ],
)
def test_our_classes_of_figures(label: str, classes: str) -> None:
    assert ", ".join(liveclin.image_modalities(label)) == classes


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ("Demographics", "Demographics"),
        ("Patient demographics", "Demographics"),
        ("Patient characteristics", "Demographics"),
        ("Patient medications", "Medications"),
        ("Dosing schedule", "Medications"),
        ("Drugs", "Medications"),
        ("Radiation dose", "Procedures"),
        ("Dosimetric data", "Procedures"),
        ("Operative findings", "Procedures"),
        ("Histology", "Pathology & IHC"),
        ("Immunohistochemistry panel", "Pathology & IHC"),
        ("Histopathology", "Pathology & IHC"),
        ("Blood counts", "Lab Results"),
        ("Blood pressure", "Monitoring"),
        ("Vital signs", "Monitoring"),
        ("Immunoglobulin levels", "Lab Results"),
        ("Tumor markers", "Lab Results"),
        ("Tumor size", ""),
        ("Pre-Post comparison", "Monitoring"),
        ("Follow-up", "Monitoring"),
        ("Literature review", "Literature"),
        ("Review of systems", ""),
        ("Cytogenetic analysis", "Genomics"),
        ("Prognostic scores", "Staging Sys"),
        ("Risk stratification", "Staging Sys"),
        ("Risk factors", ""),
        ("Sleep diary", ""),
        ("", ""),
    ],
)
def test_our_classes_of_tables(label: str, classes: str) -> None:
    assert ", ".join(liveclin.table_modalities(label)) == classes


def test_our_classes_have_the_official_names_in_the_official_order() -> None:
    assert list(liveclin.IMAGE_WORDS) == list(liveclin.KEYWORDS["image_modality"])
    assert list(liveclin.TABLE_WORDS) == list(liveclin.KEYWORDS["table_modality"])


def test_our_classes_keep_what_the_official_image_keywords_say_but_for_two() -> None:
    moved = {
        (name, keyword)
        for name, keywords in liveclin.KEYWORDS["image_modality"].items()
        for keyword in keywords
        if name not in liveclin.image_modalities(keyword.strip("|"))
    }
    assert moved == {("Clinical Photo", "|cystoscopy|"), ("Angiography", "|fluoroscopy|")}


# --- the items --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pmc": " PMC1 ", "pmid": 5, "doi": "10.1/x"}, "PMC1"),
        ({"pmc": "", "pmid": 5}, "PMID_5"),
        ({"pmc": None, "pmid": None, "PMID": "77", "doi": "10.1/x"}, "PMID_77"),
        ({"doi": " 10.1/x "}, "10.1/x"),
        ({}, ""),
    ],
)
def test_case_id(fields: dict, expected: str) -> None:
    assert liveclin.case_id(fields) == expected


def test_an_item_is_a_question_in_its_case() -> None:
    case = make_case(
        "P1",
        mcq("b", "Initial Assessment", details("ECG"), details("Sleep diary")),
        mcq("J", " ", details("OCT", None), []),
        mcq("A", None, details("Chest X-ray", "OCT", "X ray"), None),
        scenario_image_details=details("PET/CT"),
        scenario_table_details=None,
    )
    first, second, third = liveclin.items([case])
    assert (first.key, first.case, first.cluster, first.gold, first.scored) == ("P1:0", "P1", "P1", "B", True)
    assert first.facets == (
        ("icd_chapter", "Chapter 2: Neoplasms"),
        ("disease_cluster", "Skin (C43-C44)"),
        ("rarity", "rare"),
        ("stage", "Presentation & Assessment"),
        ("stage_text", "Initial Assessment"),
        ("position", "Q1"),
        ("relative_position", "first 20 %"),
        ("material", "image and table"),
        ("questions_per_case", "3 questions"),
        ("image_modality", "CT"),
        ("image_modality", "PET & SPECT"),
        ("image_modality", "Biosignals"),
        ("table_modality", "unmapped"),
    )
    assert [facets(item, "relative_position") for item in (second, third)] == [["middle"], ["last 20 %"]]
    assert [facets(item, "material") for item in (second, third)] == [["image"], ["image"]]
    assert facets(second, "stage") == ["Other"]
    assert facets(second, "stage_text") == facets(third, "stage_text") == ["not given"]
    assert facets(second, "image_modality") == ["unmapped"]
    assert facets(third, "image_modality") == ["X-ray"]
    assert facets(second, "table_modality") == facets(third, "table_modality") == []


def test_a_cluster_of_two_chapters_carries_its_chapter() -> None:
    read = liveclin.items(
        [
            make_case("1", mcq(), Level1="Chapter 1: I", Level2="Other"),
            make_case("2", mcq(), Level1="Chapter 2: II", Level2="Other"),
            make_case("3", mcq(), Level1="Chapter 2: II", Level2="Own"),
            make_case("4", mcq(), Level1="Chapter 1: I", Level2=""),
            make_case("5", mcq(), Level1=None, Level2=None, Rarity=None),
        ]
    )
    assert [facets(item, "disease_cluster") for item in read] == [
        ["Chapter 1: I / Other"],
        ["Chapter 2: II / Other"],
        ["Own"],
        ["not given"],
        ["not given"],
    ]
    assert facets(read[4], "icd_chapter") == facets(read[4], "rarity") == ["not given"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ([], r"case 1 of the file is \[\], expected an object"),
        ({"pmc": "P1"}, r"case 'P1': exam_creation\.final_policy\.mcqs is None"),
        (make_case("P1"), r"case 'P1': exam_creation\.final_policy\.mcqs is \[\]"),
        (make_case("P1", "what"), r"case 'P1': mcqs\[0\] is 'what'"),
        (make_case("P1", mcq(), mcq("K")), r"case 'P1': mcqs\[1\]\.correct_answer is 'K'"),
        (make_case("P1", mcq("AB")), r"case 'P1': mcqs\[0\]\.correct_answer is 'AB'"),
        (make_case("P1", mcq("")), r"correct_answer is ''"),
        (make_case("P1", mcq(["A"])), r"correct_answer is \['A'\]"),
        (make_case("P1", mcq(stage=3)), r"case 'P1': stage is 3, expected a text"),
        (make_case("P1", mcq(), Level1=2), r"case 'P1': Level1 is 2"),
        (make_case("P1", mcq(images="ECG")), r"case 'P1': image_details is 'ECG'"),
        (make_case("P1", mcq(tables=["ECG"])), r"case 'P1': table_details is 'ECG'"),
        (make_case("P1", mcq(), scenario_image_details=details(7)), "scenario_image_details is"),
    ],
)
def test_a_case_that_cannot_be_read_is_named(case: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        liveclin.items([case])


def test_a_case_id_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="case 'P1': the case id occurs twice"):
        liveclin.items([make_case("P1", mcq()), make_case("P1 ", mcq())])


# --- the evaluator ----------------------------------------------------------------------------------------------------


def test_an_answer_carries_the_rule_and_the_types_of_its_row() -> None:
    read = OFFICIAL.read(QuestionRow("P1", 2, r"\boxed{d}", None, ["CT"], None, 3))
    assert read == Answer("P1:2", 3, "D", "boxed", False, (("CT",), (), "D", "boxed"))
    failed = OFFICIAL.read(QuestionRow("P1", 0, "B", "Rate limit: 429"))
    assert failed == Answer("P1:0", 1, None, "none", True, ((), (), None, "empty"))
    assert OFFICIAL.taken(read) == ("D", "boxed")


def test_a_case_counts_when_all_its_questions_are_right(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("Y:0", "C"),
        row("X:0", "A"),
        row("X:1", "B"),
        row("Y:1", None, error="API error: 502"),
        row("Y:2", None, error="Skipped: prior question failed"),
    )
    assert [(verdict.outcome, verdict.value) for verdict in result.verdicts] == [
        *[(Outcome.RIGHT, 1.0)] * 3,
        *[(Outcome.ERROR, 0.0)] * 2,
    ]
    cases, questions, errors = (find(result, metric) for metric in ("case_accuracy", "question_accuracy", "error_rate"))
    assert (cases.value, cases.n, cases.n_answered) == (0.5, 2, 1)
    assert (questions.value, questions.n, questions.n_answered) == (0.6, 5, 3)
    assert (errors.value, errors.n) == (0.4, 5)
    assert find(result, "error_rate", "position", "Q2").value == 0.5
    assert find(result, "case_accuracy", "rarity", "rare").value == 1.0
    assert result.vectors[1, "outcome"].tolist() == [2, 2, 2, 4, 4]
    assert result.vectors[1, "outcome"].dtype == np.uint8
    assert result.vectors[1, "question_accuracy"].tolist() == [1, 1, 1, 0, 0]
    assert result.vectors[1, "case_accuracy"].tolist() == [1, 1, 0, 0, 0]
    assert set(result.vectors) == {
        (repeat, name) for repeat in (0, 1) for name in ("outcome", "question_accuracy", "case_accuracy")
    }


def test_missing_questions_are_wrong_and_only_missing_cases_leave_done_only(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"))
    full, done = (find(result, "question_accuracy", variant=variant) for variant in ("", "done_only"))
    assert (full.value, full.n, full.n_answered) == (0.2, 5, 1)
    assert (done.value, done.n, done.n_answered) == (1.0, 1, 1)
    done = find(result, "case_accuracy", variant="done_only")
    assert (done.value, done.n, done.n_answered) == (0.0, 1, 0)
    np.testing.assert_array_equal(result.vectors[1, "question_accuracy"], [1, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(result.vectors[1, "case_accuracy"], [0, 0, np.nan, np.nan, np.nan])
    empty = find(result, "case_accuracy", "rarity", "unrare", "done_only")
    assert (empty.value, empty.n, empty.ci_low) == (None, 0, None)


def test_duplicates_and_strangers_are_told_and_not_counted(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("X:0", "B"),
        row("X:0", "A"),
        row("Z:0", "A"),
        row("Z:1", "-"),
        row("X:9", None, error="API error: 502"),
    )
    assert [(verdict.outcome, verdict.value) for verdict in result.verdicts] == [
        (Outcome.WRONG, 0.0),
        (Outcome.RIGHT, 1.0),
        (Outcome.WRONG, None),
        (Outcome.NO_ANSWER, None),
        (Outcome.ERROR, None),
    ]
    assert [(code, key) for code, key, _ in result.notes] == [
        ("duplicate", "X:0"),
        ("off_dataset", "Z:0"),
        ("off_dataset", "Z:1"),
        ("off_dataset", "X:9"),
    ]
    assert result.vectors[1, "outcome"].tolist() == [1, 0, 0, 0, 0]
    assert find(result, "question_accuracy").value == 0.0


def test_repeats_are_averaged_by_question_and_by_case(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        *(row("X:0", "A", repeat) for repeat in (1, 2, 3)),
        *(row("X:1", letter, repeat) for repeat, letter in ((1, "B"), (2, "C"), (3, "B"))),
        row("Y:0", "C", 2),
        row("Y:1", "-", 2),
        row("Y:1", None, 3, "API error: 502"),
    )
    assert find(result, "case_accuracy", repeat=2).value == 0.0
    over = find(result, "case_accuracy", repeat=None)
    assert (over.value, over.n, over.n_answered) == (pytest.approx((2 / 3 + 0) / 2), 2, 1)
    over = find(result, "question_accuracy", repeat=None)
    assert (over.value, over.n, over.n_answered) == (pytest.approx((1 + 2 / 3 + 1 + 0 + 0) / 5), 5, 3)
    assert find(result, "error_rate", repeat=None).value == pytest.approx(0.5 / 5)
    assert result.vectors[0, "outcome"].tolist() == [
        Outcome.RIGHT,
        Outcome.RIGHT,
        Outcome.RIGHT,
        Outcome.NO_ANSWER,
        Outcome.MISSING,
    ]
    np.testing.assert_allclose(result.vectors[0, "case_accuracy"], [2 / 3, 2 / 3, 0, 0, 0])


def test_one_repeat_alone_keeps_its_number(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A", 3))
    assert {aggregate.repeat for aggregate in result.aggregates} == {3}
    np.testing.assert_array_equal(result.vectors[0, "outcome"], result.vectors[3, "outcome"])


def test_per_figure_counts_the_rows_own_types(two_cases: list[ItemSpec]) -> None:
    result = score(
        two_cases,
        row("X:0", "A", images=["CT", "PET/CT", "Karyotype"]),
        row("X:1", "-", images=["CT"], tables=["Cytology"]),
        row("Z:0", "A", images=["MRI"]),
    )
    found = {
        (aggregate.dimension, aggregate.facet): (aggregate.value, aggregate.n, aggregate.n_answered)
        for aggregate in result.aggregates
        if aggregate.variant == "per_figure"
    }
    assert found == {
        ("image_modality", "CT"): (pytest.approx(2 / 3), 3, 2),
        ("image_modality", "PET & SPECT"): (1.0, 1, 1),
        ("image_modality", "unmapped"): (1.0, 1, 1),
        ("table_modality", "unmapped"): (0.0, 1, 0),
    }


def test_nothing_at_all_is_blank_and_no_crash(two_cases: list[ItemSpec]) -> None:
    result = score([], row("X:0", "A"))
    assert {(aggregate.value, aggregate.n, aggregate.ci_low) for aggregate in result.aggregates} == {(None, 0, None)}
    assert result.vectors[1, "case_accuracy"].shape == (0,)
    result = score(two_cases)
    assert find(result, "case_accuracy").value == 0.0
    assert find(result, "case_accuracy", variant="done_only").value is None


def test_intervals(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"), row("X:1", "B"), row("Y:0", "C"))
    cases = find(result, "case_accuracy")
    assert (cases.ci_low, cases.ci_high) == statistics.wilson(1, 2)
    questions = find(result, "question_accuracy")
    [expected] = statistics.mean_intervals(
        np.asarray([1.0, 1, 1, 0, 0]), [np.arange(5)], np.asarray([0, 0, 1, 1, 1]), seed="seed"
    )
    assert (questions.ci_low, questions.ci_high) == expected
    certain = find(result, "question_accuracy", "rarity", "rare")
    assert certain.value == 1.0 and certain.ci_low < certain.ci_high
    texts = [aggregate for aggregate in result.aggregates if aggregate.dimension == "stage_text"]
    assert [(aggregate.variant, aggregate.ci_low) for aggregate in texts] == [("", None)]


def test_cases_over_repeats_have_an_interval_from_resampled_cases(two_cases: list[ItemSpec]) -> None:
    result = score(two_cases, row("X:0", "A"), row("X:1", "B"), row("X:0", "A", 2), row("X:1", "A", 2))
    over = find(result, "case_accuracy", repeat=None)
    [expected] = statistics.mean_intervals(np.asarray([0.5, 0.0]), [np.arange(2)], np.arange(2), seed="seed")
    assert (over.value, over.ci_low, over.ci_high) == (0.25, *expected)


def test_the_order_of_the_answers_changes_nothing(two_cases: list[ItemSpec]) -> None:
    rows = [row(item.key, letter, images=["CT"]) for item, letter in zip(two_cases, "ABCAE", strict=True)]
    assert score(two_cases, *rows).aggregates == score(two_cases, *reversed(rows)).aggregates


def test_the_fingerprint_follows_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = OFFICIAL.fingerprint
    assert before == LiveClinOfficial().fingerprint and len(before) == 64
    changes = {
        "KEYWORDS": liveclin.KEYWORDS | {"stage": {}},
        "TABLE_WORDS": {},
        "LETTER_RULES": dict(list(liveclin.LETTER_RULES.items())[:4]),
    }
    seen = {before}
    for name, value in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(liveclin, name, value)
            seen.add(OFFICIAL.fingerprint)
    assert len(seen) == 4


def test_every_metric_is_described() -> None:
    assert OFFICIAL.headline in OFFICIAL.metrics
    assert all(text.endswith(".") for text in OFFICIAL.metrics.values())


# --- a slow and plain second count ------------------------------------------------------------------------------------

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


def test_the_two_readings_take_their_own_letter() -> None:
    items = liveclin.items([make_case("X", mcq("C"))])
    answer = OFFICIAL.read(row("X:0", "**Answer**: C. because A fits better"))
    assert (OFFICIAL.taken(answer), LiveClinMCQ().taken(answer)) == (("A", "last_capital"), ("C", "phrase"))
    for evaluator, value in ((OFFICIAL, 0.0), (LiveClinMCQ(), 1.0)):
        result = evaluator.evaluate(items, [answer], "seed")
        assert find(result, "case_accuracy").value == result.verdicts[0].value == value
    assert OFFICIAL.fingerprint != LiveClinMCQ().fingerprint


def test_cases_of_hand() -> None:
    """X (2 questions) breaks at its second, Y (3 questions) at its first; Q1 is right in half, Q2 in half, Q3 always."""
    items = liveclin.items([make_case("X", mcq("A"), mcq("B")), make_case("Y", mcq("C"), mcq("D"), mcq("E"))])
    keys = {"X:0": "A", "X:1": "A", "Y:0": "A", "Y:1": "D", "Y:2": "E"}
    result = score(items, *(row(key, letter) for key, letter in keys.items()))
    along = {
        q: (find(result, "first_break", "position", q).value, find(result, "still_right", "position", q).value)
        for q in ("Q1", "Q2", "Q3")
    }
    assert along == {"Q1": (0.5, 0.5), "Q2": (0.5, 0.0), "Q3": (0.0, 0.0)}
    # X: 1/2 x 1/2, Y: 1/2 x 1/2 x 1
    expected = find(result, "expected_case_accuracy")
    assert (expected.value, expected.n, expected.ci_low) == (0.25, 2, None)
    assert find(result, "case_accuracy").value == 0.0
    assert find(result, "case_accuracy", "questions_per_case", "3 questions").n == 1
    # of two questions both stand in the middle
    last = find(result, "question_accuracy", "relative_position", "last 20 %")
    middle = find(result, "question_accuracy", "relative_position", "middle")
    assert (last.value, last.n, middle.value, middle.n) == (1.0, 1, pytest.approx(2 / 3), 3)


def test_cases_right_in_all_and_in_any_repeat(two_cases: list[ItemSpec]) -> None:
    right = {"X:0": "A", "X:1": "B", "Y:0": "C", "Y:1": "D", "Y:2": "E"}
    rows = [row(key, letter, repeat) for repeat in (1, 2) for key, letter in right.items()]
    rows[-1] = row("Y:2", "A", 2)
    result = score(two_cases, *rows)
    for metric, value in (("right_in_all_repeats", 0.5), ("right_in_any_repeat", 1.0)):
        assert (find(result, metric, repeat=None).value, find(result, metric, repeat=None).n) == (value, 2)
    one = score(two_cases, *rows[:5])
    assert not [a for a in one.aggregates if a.metric.startswith("right_in")]


def test_without_items_nothing_is_expected() -> None:
    result = score([], row("X:0", "A"))
    assert (find(result, "expected_case_accuracy").value, find(result, "expected_case_accuracy").n) == (None, 0)


@pytest.mark.parametrize(
    ("questions", "places"),
    [(1, "m"), (2, "mm"), (3, "fml"), (4, "fmml"), (5, "fmmml"), (6, "fmmmml"), (10, "ffmmmmmmll")],
)
def test_relative_position(questions: int, places: str) -> None:
    found = [liveclin.relative_position(index, questions) for index in range(questions)]
    assert "".join(place[0] for place in found) == places


# --- the public evaluator's own figures -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def official_items() -> list[ItemSpec]:
    with (CONFORMANCE / "dataset.jsonl").open(encoding="utf-8") as lines:
        return liveclin.items(json.loads(line) for line in lines)


def rows_of(document: dict, cases: int | None = None) -> list[QuestionRow]:
    names = ("mcq_index", "model_response", "error", "image_types", "table_types")
    return [
        QuestionRow(case["case_id"], *(question[name] for name in names))
        for case in document["cases"][:cases]
        for question in case["mcqs"]
    ]


def assert_block(result: Result, block: dict, dimension: str, facet: str, variant: str = "") -> None:
    """Every number of one block of the official summary: counts exactly, shares as they are printed."""
    counted = [("question_accuracy", "mcqs", "correct_mcqs")]
    if "cases" in block:
        counted.append(("case_accuracy", "cases", "correct_cases"))
    if "errors" in block:
        counted.append(("error_rate", "mcqs", "errors"))
    for metric, total, hits in counted:
        found = find(result, metric, dimension, facet, variant)
        assert (found.n, found.value * found.n) == (block[total], pytest.approx(block[hits], abs=1e-9))
        assert round(found.value, 4) == block[metric]
    assert {name for names in counted for name in names} == set(block)


@needs_shared
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_figure_of_the_official_summary(path: Path, official_items: list[ItemSpec]) -> None:
    document = json.loads(path.read_text("utf-8"))
    summary = document["summary"]
    result = score(official_items, *rows_of(document))
    assert result.notes == []
    overall = {name.removeprefix("total_"): value for name, value in summary.items() if not name.startswith("by_")}
    assert_block(result, overall, "overall", "")
    blocks = {
        ("rarity", ""): summary["by_rarity"],
        ("icd_chapter", ""): summary["by_chapter"],
        ("stage", ""): summary["by_stage"],
        ("position", ""): summary["by_position"],
        ("image_modality", "per_figure"): summary["by_image_modality"],
        ("table_modality", "per_figure"): summary["by_table_modality"],
        ("disease_cluster", ""): {},
    }
    named = {pair for item in official_items for pair in item.facets}
    for chapter, clusters in summary["by_subcategory"].items():
        for cluster, block in clusters.items():
            facet = f"{chapter} / {cluster}"
            blocks["disease_cluster", ""][facet if ("disease_cluster", facet) in named else cluster] = block
    assert len(blocks) == len([name for name in summary if name.startswith("by_")])
    for (dimension, variant), by_facet in blocks.items():
        for facet, block in by_facet.items():
            assert_block(result, block, dimension, facet, variant)
        ours = {a.facet for a in result.aggregates if (a.dimension, a.variant) == (dimension, variant)}
        assert ours - {"unmapped"} == set(by_facet)


@needs_shared
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_letters_and_verdicts_of_every_official_row(path: Path, official_items: list[ItemSpec]) -> None:
    document = json.loads(path.read_text("utf-8"))
    questions = [question for case in document["cases"] for question in case["mcqs"]]
    answers = [OFFICIAL.read(each) for each in rows_of(document)]
    assert [answer.prediction for answer in answers] == [question["extracted_answer"] for question in questions]
    verdicts = OFFICIAL.evaluate(official_items, answers, "seed").verdicts
    assert [verdict.value for verdict in verdicts] == [float(question["is_correct"]) for question in questions]
    assert [verdict.outcome is Outcome.ERROR for verdict in verdicts] == [
        bool(question["error"]) for question in questions
    ]


@needs_shared
def test_an_interrupted_file_prints_done_only(official_items: list[ItemSpec]) -> None:
    document = json.loads(RESULTS[0].read_text("utf-8"))
    result = score(official_items, *rows_of(document, cases=23))
    kept = document["cases"][:23]
    questions = [question["is_correct"] for case in kept for question in case["mcqs"]]
    whole = [all(question["is_correct"] for question in case["mcqs"]) for case in kept]
    assert find(result, "question_accuracy", variant="done_only").value == sum(questions) / len(questions)
    assert find(result, "case_accuracy", variant="done_only").value == sum(whole) / 23
    assert find(result, "case_accuracy").value == sum(whole) / 60
    assert find(result, "case_accuracy").n_answered == 23 - sum(
        any(question["extracted_answer"] is None for question in case["mcqs"]) for case in kept
    )
