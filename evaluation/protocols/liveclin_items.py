"""LiveClin's items: the questions of the dataset with their facets, and the classes of stages, figures and tables.

The official keywords of the breakdowns stand in `liveclin_labels.json`; a better mapping of our own, which gives the items
their modalities, stands here. Source: the public code (AQ-MedAI/LiveClin at commit 45b4876) and the dataset of 2025_H1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from reprlib import repr as short
from typing import Any

from evaluation.protocols.base import ItemSpec

LETTERS = "ABCDEFGHIJ"
NOT_GIVEN, OTHER, UNMAPPED = "not given", "Other", "unmapped"
FIRST, MIDDLE, LAST = "first 20 %", "middle", "last 20 %"

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
        facets += [("position", f"Q{index + 1}"), ("relative_position", relative_position(index, len(mcqs)))]
        facets += [
            ("material", material(figures, tables)),
            ("questions_per_case", f"{len(mcqs)} question{'s' * (len(mcqs) > 1)}"),
        ]
        facets += [("image_modality", facet) for facet in _modalities(IMAGES, figures)]
        facets += [("table_modality", facet) for facet in _modalities(TABLES, tables)]
        out.append(ItemSpec(f"{name}:{index}", name, name, gold.upper(), tuple(facets)))
        figures, tables = [], []
    return out


def relative_position(index: int, questions: int) -> str:
    """Where question `index` (from 0) of a case of so many questions stands, by the middle of the stretch that it fills.

    First when (index + 1/2) / questions is at most 1/5, last when it is at least 4/5: of 3 to 6 questions the first and the
    last one. An only question is the middle.
    """
    if 5 * (2 * index + 1) <= 2 * questions:
        return FIRST
    return LAST if 5 * (2 * (questions - index) - 1) <= 2 * questions else MIDDLE


def material(figures: Sequence[str], tables: Sequence[str]) -> str:
    """What is shown with a question; what the scenario shows belongs to the first one."""
    return {(1, 1): "image and table", (1, 0): "image", (0, 1): "table"}.get((bool(figures), bool(tables)), "text only")


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
