"""AgentEHR-Bench: six list-answer tasks over electronic health records, asked with tools only."""

from evaluation.benchmarks import abouts, examples
from evaluation.benchmarks.base import BenchmarkSpec, Citation
from evaluation.protocols.clinseek_text import ClinSeekText, prediction_set, text_items

# The published average leaves prescriptions out.
OVERALL_5_TASKS = ("diagnoses_ccs", "labevents", "microbiologyevents", "procedures_ccs", "transfers")


def items(rows):
    return text_items(rows, aggregates={"overall_5_tasks": OVERALL_5_TASKS}, build_keys=True)


EVALUATOR = ClinSeekText("agent-ehr-bench", ("aggregate", "task"))

SPEC = BenchmarkSpec(
    slug="agent-ehr-bench",
    name="AgentEHR-Bench",
    description="Six list-answer tasks over electronic health records, answered by an agent with tools.",
    unit="patient",
    item_word="question",
    items=items,
    read=EVALUATOR.read,
    comparable=lambda answer: prediction_set(answer.prediction),
    evaluators=(EVALUATOR,),
    dimensions={"aggregate": "Named aggregate", "task": "Task"},
    sizes={"subset600": 600},
    default_release="v1",
    attribution="AgentEHR-Bench and ClinSeek authors",
    citation=Citation(published="Public repository UCSC-VLAA/ClinSeekAgent"),
    how_computed=(
        "Set F1 of the answers against the gold, per question, then the mean over all expected questions. A question "
        "without a row counts 0. Gold is the ATC name where one is given, else the name. The aggregate overall_5_tasks is the "
        "mean over the questions of all tasks but prescriptions; with equally many in each it is the mean of the five tasks."
    ),
    how_not_to_read=(
        "Published averages leave prescriptions out: compare them with the aggregate overall_5_tasks, not with the overall "
        "figure."
    ),
    examples=examples.clinseek(single=False),
    about=abouts.AGENT_EHR_BENCH,
)
