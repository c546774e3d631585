"""MM-Bench: questions over records and chest images, asked with tools (agentic) or with the evidence given (oneshot)."""

from evaluation.benchmarks import abouts, examples
from evaluation.benchmarks.base import BenchmarkSpec, Citation
from evaluation.protocols import clinseek_mm
from evaluation.protocols.clinseek_mm_raw import ClinSeekMMRaw
from evaluation.protocols.clinseek_mm_verdicts import ClinSeekMMStored
from evaluation.protocols.clinseek_mm_vocab import ClinSeekMMSummaryVocab, ClinSeekMMVocab
from evaluation.protocols.encoder import MiniLM

DIMENSIONS = {
    "aggregate": "Named aggregate",
    "task": "Task",
    "gold_items": "Gold items",
    "scope": "Scope",
    "source_benchmark": "Source",
}
ENCODER = MiniLM()
EVALUATOR = ClinSeekMMRaw(tuple(DIMENSIONS))

SPEC = BenchmarkSpec(
    slug="mm-bench",
    name="MM-Bench",
    description="Questions over health records and chest images: lookup, findings, change, mortality, phenotypes.",
    unit="patient",
    item_word="question",
    items=clinseek_mm.mm_items,
    read=EVALUATOR.read,
    comparable=lambda answer: clinseek_mm.prediction_set(answer.prediction),
    evaluators=(EVALUATOR,),
    stored_evaluator=ClinSeekMMStored(tuple(DIMENSIONS)),
    optional_evaluators=(
        ClinSeekMMVocab(tuple(DIMENSIONS), ENCODER),
        ClinSeekMMSummaryVocab(tuple(DIMENSIONS), ENCODER),
    ),
    dimensions=DIMENSIONS,
    sizes={"full2703": 2695},
    default_release="v1",
    attribution="ClinSeek authors",
    citation=Citation(published="Public repository UCSC-VLAA/ClinSeekAgent"),
    how_computed=(
        "Questions with one gold item are right or wrong by a strict rule: gold and answer are equal after strip, lower "
        "case, white space collapsed and trailing full stops removed. Questions with two or more get the set F1 of the "
        "stripped, lower-cased strings. The unified figures are means over both kinds; a question without a row counts 0, "
        "and of several rows of a question the first counts. Questions with empty gold stand in no denominator. "
        "The aggregate overall_multimodal_989 is the mean over the questions whose fine_task, which a labels file must give, "
        "is one of the six with images: each question weighs alike. Beside these figures of clinseek-mm-raw-2026, "
        "clinseek-mm-stored-2026 counts the verdicts and mapped strings that a scorer stored, and on demand "
        "clinseek-mm-vocab-2026 and clinseek-mm-summary-vocab-2026 map the answers to a vocabulary: of the run's own rows, or "
        "of the gold. No figure mixes them."
    ),
    how_not_to_read=(
        "The published figures rest on a language model as judge and on answers mapped to a vocabulary; these use neither, "
        "are lower for that, and are never to be set beside them in one column. Most questions are table look-ups, so the "
        "unified figure is mostly theirs: see the figures by task."
    ),
    examples=examples.clinseek(single=True),
    about=abouts.MM_BENCH,
)
