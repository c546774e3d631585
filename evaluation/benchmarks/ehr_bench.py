"""EHR-Bench: 45 tasks over electronic health records, asked with tools (agentic) or with the record in the prompt (oneshot)."""

from evaluation.benchmarks import abouts, examples
from evaluation.benchmarks.base import BenchmarkSpec, Citation
from evaluation.protocols.clinseek_text import ClinSeekText, prediction_set, text_items

TASK_GROUPS: dict[str, tuple[str, ...]] = {
    "ICU_Mortality": (
        "ICU_Mortality_1day",
        "ICU_Mortality_2day",
        "ICU_Mortality_3day",
        "ICU_Mortality_7day",
        "ICU_Mortality_14day",
    ),
    "ICU_StayLength": ("ICU_Stay_7day", "ICU_Stay_14day"),
    "LengthOfStay": ("LengthOfStay_3day", "LengthOfStay_7day"),
    "Readmission_Hospital": ("Readmission_30day", "Readmission_60day"),
    "Mortality_Hospital": ("ED_Inpatient_Mortality", "Inpatient_Mortality"),
    "ED_Critical_Outcomes": ("ED_Critical_Outcomes",),
    "ED_Hospitalization": ("ED_Hospitalization",),
    "ED_ICU_Transfer_12h": ("ED_ICU_Tranfer_12hour",),  # spelled so in the data
    "ED_Reattendance_3day": ("ED_Reattendance_3day",),
    "ICU_Readmission": ("ICU_Readmission",),
    "Diagnosis_coding": ("diagnoses_ccs", "diagnoses_icd", "diagnosis", "diagnosis_ccs"),
    "Procedure_coding": ("procedures_ccs", "procedures_icd", "procedureevents"),
    "Medication_suggestion": ("prescriptions", "prescriptions_atc", "medrecon", "medrecon_atc", "emar", "pyxis"),
    "Lab_Microbiology_orders": ("labevents", "microbiologyevents"),
    "ICU_Events": ("chartevents", "datetimeevents", "inputevents", "outputevents", "ingredientevents"),
    "Provider_Orders": ("poe",),
    "Radiology_Orders": ("radiology",),
    "Transfers_Services_Admissions": ("transfers", "services", "admissions"),
    "Outpatient_Records": ("omr",),
    "Next_Event": ("next_event",),
}
GROUP_OF_TASK = {task: group for group, tasks in TASK_GROUPS.items() for task in tasks}


def items(rows):
    return text_items(rows, groups=GROUP_OF_TASK)


# 720 of the 1,800 questions ask for a risk, 1,080 for a decision
WEIGHTED = {"risk_0.4_decision_0.6": {("task_type", "risk_prediction"): 0.4, ("task_type", "decision_making"): 0.6}}
EVALUATOR = ClinSeekText("ehr-bench", ("task_type", "task_group", "task"), WEIGHTED)

SPEC = BenchmarkSpec(
    slug="ehr-bench",
    name="EHR-Bench",
    description="Risk prediction and decision making over electronic health records: 45 tasks.",
    unit="patient",
    item_word="question",
    items=items,
    read=EVALUATOR.read,
    comparable=lambda answer: prediction_set(answer.prediction),
    evaluators=(EVALUATOR,),
    dimensions={"aggregate": "Named aggregate", "task_type": "Task type", "task_group": "Task group", "task": "Task"},
    nested={"task": "task_group", "task_group": "task_type"},
    sizes={"full1800": 1800, "smoke20": 900},
    default_release="v1",
    attribution="EHR-Bench and ClinSeek authors",
    citation=Citation(published="Public repository UCSC-VLAA/ClinSeekAgent"),
    how_computed=(
        "Set F1 of the answers against the gold, per question, then the mean over all expected questions. A question "
        "without a row counts 0. Several rows of one question are averaged first, as the public scorer does. A task group is the "
        "mean over the questions of its tasks. The aggregate risk_0.4_decision_0.6 weighs the mean over the risk questions 0.4 "
        "and that over the decision questions 0.6, as the published overall does; on a full split it is the overall figure."
    ),
    how_not_to_read=(
        "For yes/no tasks this F1 is close to accuracy; it is not the F1 of the positive class. Agentic and one-shot runs "
        "stand on two boards: the model is shown different things."
    ),
    examples=examples.clinseek(single=False),
    about=abouts.EHR_BENCH,
)
