"""The facts of the known benchmarks, each with the source that states it (formats/ and published/ name the places)."""

from __future__ import annotations

from evaluation.benchmarks.about import About, GoldCheck, Layer, StatedSize

_ENTRY, _README, _BOTH = "encyclopaedia entry", "README", "encyclopaedia entry and repository"

LIVECLIN = About(
    release="2025_H1",
    sizes=(
        StatedSize("Cases", 1407, _BOTH, "full", ("cases",)),
        StatedSize("Questions", 6605, _BOTH, "full", ("items",)),
        StatedSize("ICD-10 chapters", 16, _BOTH, "full", ("facets", "icd_chapter")),
        StatedSize("Disease clusters", 72, _ENTRY, "full", ("facets", "disease_cluster")),
        StatedSize("Disease clusters", 48, _README, "full", ("facets", "disease_cluster")),
        StatedSize("Rare cases", 1181, _BOTH, "full", ("cases", "rarity", "rare")),
        StatedSize("Cases that are not rare", 226, _BOTH, "full", ("cases", "rarity", "unrare")),
        StatedSize("Images", 3757, _ENTRY, "full", ("gold", "images")),
        StatedSize("Images", 2970, _README, "full", ("gold", "images")),
        StatedSize("Tables", 634, _BOTH, "full", ("gold", "tables")),
        StatedSize("Cases", 14, _BOTH, "demo", ("cases",), "never ranked"),
    ),
    protocol=(
        "One conversation a case, the whole history kept.",
        "Zero-shot; the letter asked for in a box.",
        "Temperature 0, unless the maker of the model says otherwise.",
        "Three independent runs: mean and sample standard deviation.",
        "The model's snapshot date is stated.",
        "Releases are never mixed: each half-year replaces all questions.",
    ),
    layers=(
        Layer(
            "Dataset and scores",
            "CC BY-NC-SA 4.0",
            "scores may be published with attribution, not for commercial use; question texts and pictures are not "
            "republished here.",
        ),
        Layer("Source articles", "of each article", "PMC id and DOI of a case lead back to its licence."),
        Layer("Public evaluator", "", "its rules are reproduced here in code of our own."),
    ),
    fit=(
        "Comparing models on case reports younger than their training data.",
        "Finding where along a case a model goes wrong: stage, position, material.",
        "Chapters and rarity, where the number of cases allows it.",
    ),
    not_fit=(
        "Judging open answers or safety of advice: an option is picked from ten.",
        "Saying how a model would do on the patients of a hospital: most cases are rare and were written up for being so.",
        "Gaps under 1.5 points between reported figures.",
    ),
    gold_checks=(
        GoldCheck(
            "The gold is one letter from A to J", lambda gold: isinstance(gold, str) and gold in tuple("ABCDEFGHIJ")
        ),
        GoldCheck("Ten options a question, A to J", counted=("ten_options", "questions"), words="questions"),
        GoldCheck(
            "The right letter is among the options", counted=("letter_among_options", "questions"), words="questions"
        ),
        GoldCheck("Every image is there", counted=("images_there", "images"), words="images beside the dataset"),
    ),
)

_DATA = "results dataset, version 1"
_CODE = "public repository UCSC-VLAA/ClinSeekAgent"
_CLINSEEK_LAYERS = (
    Layer(
        "Patient records (MIMIC)",
        "credentialed access",
        "questions, gold, answers and everything derived from single records reach only the benchmark's data-access group.",
    ),
    Layer("Published results and code", "", "aggregates are shown with their source; no row is copied."),
)
_AGENTIC_NOT_FIT = "Cost or speed of agentic runs: their rows hold neither tokens nor times."


def _texts_or_names(gold: object) -> bool:
    """A text, or a list that is not empty."""
    return isinstance(gold, str | list) and len(gold) > 0


_GIVEN = GoldCheck("The gold holds an answer", _texts_or_names)

EHR_BENCH = About(
    release="v1",
    sizes=(
        StatedSize("Questions", 1800, _DATA, "full1800", ("items",)),
        StatedSize("Tasks", 45, _DATA, "full1800", ("facets", "task")),
        StatedSize("Questions that ask for a risk", 720, _CODE, "full1800", ("items", "task_type", "risk_prediction")),
        StatedSize(
            "Questions that ask for a decision", 1080, _CODE, "full1800", ("items", "task_type", "decision_making")
        ),
        StatedSize("Questions", 900, _CODE, "smoke20", ("items",), "20 of each task"),
        StatedSize("Questions in the pool that they were drawn from", 20302, _CODE, "full1800"),
    ),
    protocol=(
        "Agentic (tools only) and one-shot (the record in the prompt) stand on boards of their own.",
        "Agentic runs see the short prompt: one that holds the timeline was given what it should find.",
        "At most 200 rounds a question; the public runner stops after 40 browser calls.",
    ),
    layers=_CLINSEEK_LAYERS,
    fit=(
        "Whether a model finds its way in a record with tools, against the same record in the prompt.",
        "Tasks and groups of tasks: each task has equally many questions.",
    ),
    not_fit=(
        "Prevalence: every task has 40 questions, however seldom it is in a hospital.",
        "Comparison with the F1 of the positive class, or with EHR-R1's own figures.",
        _AGENTIC_NOT_FIT,
    ),
    gold_checks=(_GIVEN,),
)

AGENT_EHR_BENCH = About(
    release="v1",
    sizes=(
        StatedSize("Questions", 600, _DATA, "subset600", ("items",)),
        StatedSize("Tasks", 6, _DATA, "subset600", ("facets", "task")),
        StatedSize("Questions in the pool that they were drawn from", 3000, _CODE, "subset600"),
    ),
    protocol=(
        "Agentic only: the prompt comes from a template of the task.",
        "The published average leaves prescriptions out: overall_5_tasks.",
    ),
    layers=_CLINSEEK_LAYERS,
    fit=("Long lists that must be gathered from a record with tools.",),
    not_fit=("Comparison with EHR-Bench: four tasks share their name and have another gold.", _AGENTIC_NOT_FIT),
    gold_checks=(_GIVEN,),
)

_MM_PARTS = {
    "ehrxqa_table": 1706,
    "ehrxqa_image": 497,
    "medmod_radiology": 125,
    "medmod_decompensation": 125,
    "medmod_in_hospital_mortality": 125,
    "medmod_phenotyping": 125,
}
MM_BENCH = About(
    release="v1",
    sizes=(
        StatedSize("Questions", 2703, _DATA, "full2703", ("items",)),
        StatedSize("Questions with gold", 2695, _DATA, "full2703", ("scored",), "8 have an empty gold"),
        StatedSize("Tasks", 6, _DATA, "full2703", ("facets", "task")),
        *(
            StatedSize(f"Questions of {task}", n, _CODE, "full2703", ("items", "task", task))
            for task, n in _MM_PARTS.items()
        ),
        StatedSize("Questions over many patients", 626, _CODE, "full2703", ("items", "scope", "cohort_scope")),
        StatedSize("Questions with an image", 997, _CODE, "full2703", note="among all 2,703"),
        StatedSize("Questions with an image", 989, _CODE, "full2703", note="with gold: the multimodal part"),
    ),
    protocol=(
        "Agentic and one-shot stand on boards of their own.",
        "Questions with empty gold stand in no denominator.",
        "The published figures rest on a judge and a vocabulary; those of the boards do not.",
    ),
    layers=_CLINSEEK_LAYERS,
    fit=("Chest images beside a record; look-ups over one patient and over many.",),
    not_fit=(
        "One figure for all: 1,706 of the questions are table look-ups, so that it is mostly theirs.",
        "Setting strict figures beside judged ones in one column.",
        _AGENTIC_NOT_FIT,
    ),
    gold_checks=(_GIVEN,),
)

_FILE, _PAPER = "dataset file", "paper, arXiv:2506.04078"
LLMEVAL_MED = About(
    release="2025",
    sizes=(
        StatedSize("Questions", 677, _PAPER, "full", ("items",), "questions that were drawn"),
        StatedSize("Questions", 667, _FILE, "full", ("items",)),
        *(
            StatedSize(f"Questions of {code}", n, _FILE, "full", ("items", "category", code))
            for code, n in {"MK": 141, "MLU": 213, "MR": 102, "MSE": 109, "MTG": 102}.items()
        ),
    ),
    protocol=(
        "A judge gives 1 to 5 with reasons, up to three judging runs of the same answers; usable from a mean of 4.",
        "Text generation (MTG) is scored by people in the paper, on five dimensions.",
        "Later rounds of a conversation come with its history.",
    ),
    layers=(Layer("Dataset and scripts", "", "public at llmeval/LLMEval-Med; no licence is stated in what was read."),),
    fit=("Open answers in Chinese, by category and difficulty.", "How far judging runs and people agree."),
    not_fit=(
        "Telling models apart beyond what the judge can: figures rest on a language model's verdicts.",
        "Law and safety outside mainland China: that is what the category MSE is judged by.",
    ),
    gold_checks=(GoldCheck("There is a reference answer", lambda gold: gold is not None and gold != ""),),
)
