"""LiveClin: clinical cases as chains of multiple-choice questions, replaced every half-year."""

from evaluation.benchmarks import abouts, examples, icd10
from evaluation.benchmarks.base import BenchmarkSpec, Citation
from evaluation.protocols import liveclin
from evaluation.protocols.liveclin_gold import GoldCounter
from evaluation.protocols.liveclin_items import FIRST, LAST, MIDDLE

EVALUATOR = liveclin.LiveClinOfficial()


def facet_name(dimension: str, facet: str) -> str:
    if dimension == "icd_chapter":
        return icd10.official_name(facet)
    return "not rare" if (dimension, facet) == ("rarity", "unrare") else ""


SPEC = BenchmarkSpec(
    slug="liveclin",
    name="LiveClin",
    description="Clinical cases as chains of 3 to 6 multiple-choice questions with images and tables, renewed twice a year.",
    unit="case",
    item_word="question",
    items=liveclin.items,
    read=EVALUATOR.read,
    comparable=lambda answer: answer.prediction,
    counter=GoldCounter,
    evaluators=(EVALUATOR, liveclin.LiveClinMCQ()),
    dimensions={
        "icd_chapter": "ICD-10 chapter",
        "disease_cluster": "Disease cluster",
        "rarity": "Rarity",
        "stage": "Clinical stage",
        "position": "Position of the question",
        "relative_position": "Place in the case",
        "material": "Material shown",
        "questions_per_case": "Questions in the case",
        "image_modality": "Image modality",
        "table_modality": "Table modality",
        "stage_text": "Stage as written",
    },
    facet_order={
        "rarity": ("rare", "unrare"),
        "stage": tuple(liveclin.KEYWORDS["stage"]),
        "relative_position": (FIRST, MIDDLE, LAST),
        "image_modality": tuple(liveclin.IMAGE_WORDS),
        "table_modality": tuple(liveclin.TABLE_WORDS),
    },
    facet_name=facet_name,
    nested={"disease_cluster": "icd_chapter", "stage_text": "stage"},
    mix=("icd_chapter", "rarity"),
    pathway=("position", "relative_position", "stage"),
    sizes={},
    licence="CC BY-NC-SA 4.0",
    attribution="LiveClin authors",
    citation=Citation(
        title="LiveClin: A Live Clinical Benchmark without Leakage",
        authors=(
            "Xidong Wang",
            "Shuqi Guo",
            "Yue Shen",
            "Junying Chen",
            "Jian Wang",
            "Jinjie Gu",
            "Ping Zhang",
            "Lei Liu",
            "Benyou Wang",
        ),
        year=2026,
        eprint="2602.16747",
        published="Public repository AQ-MedAI/LiveClin",
    ),
    item_access="nobody",
    how_computed=(
        "Case accuracy: a case counts only when every one of its questions is right; the denominator is all expected cases. "
        "Question accuracy: right questions of all expected questions. Failed and skipped calls count as wrong. "
        "The official rules take the letter; beside them clinboard-mcq-1 reads the same answers as a careful reader would."
    ),
    how_not_to_read=(
        "Never compare case accuracy with question accuracy, here or on another benchmark: a model that gets four of five "
        "questions right gets about one of three cases right."
    ),
    # case reports of the half-year that names the release; those of the sample are invented
    newest_questions={"2025_H1": "2025-06", "sample": "2026-06"},
    examples=examples.LIVECLIN,
    about=abouts.LIVECLIN,
)
