"""MM-Bench: questions over records and chest images. Runs are found, counted and loaded; the gold side lives here."""

from evaluation.benchmarks.base import BenchmarkSpec
from evaluation.protocols import clinseek_mm

SPEC = BenchmarkSpec(
    slug="mm-bench",
    name="MM-Bench",
    description="Questions over health records and chest images: lookup, findings, change, mortality, phenotypes.",
    unit="patient",
    item_word="question",
    items=clinseek_mm.mm_items,
    read=clinseek_mm.read,
    comparable=lambda answer: clinseek_mm.prediction_set(answer.prediction),
    dimensions={"task": "Task"},
    sizes={"full2703": 2695},
    default_release="v1",
    attribution="ClinSeek authors",
)
