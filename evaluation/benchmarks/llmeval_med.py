"""LLMEval-Med: open questions in five categories, judged 1 to 5 by a language model."""

from evaluation.benchmarks import abouts, examples
from evaluation.benchmarks.base import BenchmarkSpec, Citation
from evaluation.protocols import llmeval_med


def items(documents):
    return llmeval_med.items(*documents)


# in English after the paper, beside the Chinese of the data
NAMES = {
    ("category", "MK"): "Medical knowledge 医疗知识",
    ("category", "MLU"): "Medical language understanding 医疗语言理解",
    ("category", "MR"): "Medical reasoning 医疗推理",
    ("category", "MSE"): "Medical safety and ethics 医疗安全伦理",
    ("category", "MTG"): "Medical text generation 医疗文本生成",
    ("difficulty", "易"): "easy",
    ("difficulty", "中"): "medium",
    ("difficulty", "难"): "hard",
}


EVALUATOR = llmeval_med.LLMEvalMedAggregate()

SPEC = BenchmarkSpec(
    slug="llmeval-med",
    name="LLMEval-Med",
    description="Chinese open questions on medical knowledge, language, reasoning, safety and text generation, judged 1 to 5.",
    unit="conversation",
    item_word="question",
    items=items,
    read=EVALUATOR.read,
    comparable=lambda answer: answer.prediction,
    evaluators=(EVALUATOR,),
    dimensions={
        "category": "Category",
        "category2": "Sub-category",
        "scene": "Scene",
        "difficulty": "Difficulty",
        "round": "Round",
        "score": "Judge's score",
        "judging_runs": "Judging runs",
    },
    facet_order={"difficulty": ("易", "中", "难", llmeval_med.NOT_GIVEN)},
    facet_name=lambda dimension, facet: NAMES.get((dimension, facet), ""),
    nested={"category2": "category"},
    pathway=("round",),
    sizes={"full": 667},
    default_release="2025",
    attribution="LLMEval-Med authors",
    citation=Citation(eprint="2506.04078"),
    how_computed=(
        "A question is usable when the mean of its valid judge scores is at least 4. The rate is over the questions seen in "
        "any judging run; a question without a valid score counts as not usable."
    ),
    how_not_to_read=(
        "The paper's OP is the plain mean of the five category rates; the public aggregator weights by questions. Both stand "
        "here by name. Figures rest on the stored verdicts of a language model."
    ),
    examples=examples.LLMEVAL_MED,
    about=abouts.LLMEVAL_MED,
)
