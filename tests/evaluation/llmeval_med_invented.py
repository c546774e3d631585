"""What the tests of LLMEval-Med share: invented questions and scored rows, and the figures that they give."""

from __future__ import annotations

from typing import Any

from evaluation.protocols.base import Aggregate, Result
from evaluation.protocols.llmeval_med import CATEGORIES, LLMEvalMedAggregate, ScoredRow, items

EVALUATOR = LLMEvalMedAggregate()
MK, MLU, MR, MSE, MTG = CATEGORIES
SEED = "a run"


def question(group: Any = 1, round: Any = 1, **more: Any) -> dict[str, Any]:
    return {"groupCode": group, "round": round, "category2": "病症推断", "scene": "诊断", **more}


def row(category: str = MK, group: Any = 1, round: Any = 1, score: Any = "4", repeat: int = 1) -> ScoredRow:
    return ScoredRow(category, group, round, "病症推断", "诊断", None, score, "answer", "[4]", repeat)


def evaluate(document: dict[str, list[dict[str, Any]]], rows: list[ScoredRow]) -> Result:
    return EVALUATOR.evaluate(items(document), [EVALUATOR.read(each) for each in rows], SEED)


def pick(
    result: Result, metric: str, facet: str = "", *, repeat: int | None = 1, variant: str = "", dimension: str = ""
) -> Aggregate:
    dimension = dimension or ("category" if facet else "overall")
    (found,) = [
        each
        for each in result.aggregates
        if (each.repeat, each.metric, each.variant, each.dimension, each.facet)
        == (repeat, metric, variant, dimension, facet)
    ]
    return found
