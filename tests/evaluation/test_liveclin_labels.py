"""The classes of LiveClin's free-text labels: the official keywords and our own words."""

from __future__ import annotations

import json

import pytest

from evaluation.protocols import liveclin
from tests.evaluation.liveclin_invented import CONFORMANCE, SHARED, needs_shared


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
