"""Where ours stands: for each figure that a project published, the evaluator and the place among our scores. No Django here."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.benchmarks import BENCHMARKS
from evaluation.protocols.clinseek_mm_means import FINE_TASK, MULTIMODAL, MULTIMODAL_TASKS
from leaderboard.published import Figure

ON_STORED_VERDICTS = (
    "Published from a language model's verdicts and answers mapped to a vocabulary: its twin is counted from the verdicts that "
    "a scorer stored beside the run, and is never the strict figure."
)
BY_LABELS = f"The fine task is in no gold: the twin is there once a labels file gives the dimension {FINE_TASK}."


@dataclass(frozen=True, slots=True)
class Twin:
    """Our place of a published figure, (evaluator, metric, variant, dimension, facet), and `needs`, what must be there first."""

    evaluator: str
    metric: str
    variant: str
    dimension: str
    facet: str
    needs: str = ""


def twin(benchmark: str, metric: str, variant: str, dimension: str, facet: str) -> Twin | None:
    """The twin of a published figure, None where we compute nothing of that kind (another metric, a mean over models)."""
    spec = BENCHMARKS.get(benchmark)
    if spec is None or spec.evaluator is None:
        return None
    if benchmark == "mm-bench":
        known = (dimension, facet) == MULTIMODAL or (dimension == FINE_TASK and facet in MULTIMODAL_TASKS)
        if metric != "f1" or variant or spec.stored_evaluator is None or not known:
            return None
        needs = f"{ON_STORED_VERDICTS} {BY_LABELS}"
        return Twin(spec.stored_evaluator.name, "unified_f1", "", dimension, facet, needs)
    if metric not in spec.evaluator.metrics or dimension not in {"overall", *spec.dimensions}:
        return None
    return Twin(spec.evaluator.name, metric, variant, dimension, facet)


def twin_of(figure: Figure) -> Twin | None:
    return twin(figure.benchmark, figure.metric, figure.variant, figure.dimension, figure.facet)
