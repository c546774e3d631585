"""LiveClin's cases as items: their keys, facets and golds, and what is refused."""

from __future__ import annotations

import pytest

from evaluation.protocols import liveclin
from evaluation.protocols.base import ItemSpec
from tests.evaluation.liveclin_invented import details, make_case, mcq


def facets(item: ItemSpec, dimension: str) -> list[str]:
    return [facet for name, facet in item.facets if name == dimension]


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


@pytest.mark.parametrize(
    ("questions", "places"),
    [(1, "m"), (2, "mm"), (3, "fml"), (4, "fmml"), (5, "fmmml"), (6, "fmmmml"), (10, "ffmmmmmmll")],
)
def test_relative_position(questions: int, places: str) -> None:
    found = [liveclin.relative_position(index, questions) for index in range(questions)]
    assert "".join(place[0] for place in found) == places
