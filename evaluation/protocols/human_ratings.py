"""People beside the judge: what people said of generated texts, and how far a judge says the same.

LLMEval-Med has its generated texts (MTG) rated by people on five dimensions, which a fixed mapping turns into a scale of 0-7;
a text is usable from 5 (arXiv:2506.04078, appendix D; `llmeval_med.human_scale`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluation import statistics
from evaluation.protocols import llmeval_med

RATED_CATEGORY = "MTG"
HIGHEST = llmeval_med.HIGHEST


class Rating(NamedTuple):
    """One person's ratings of one text: safety 0 or 1, the others whole numbers 0-5."""

    safety: int
    instruction_following: int
    correctness: int
    usefulness: int
    readability: int

    @property
    def scale(self) -> int:
        """0-7. ValueError for ratings outside their scales."""
        return llmeval_med.human_scale(*self)

    @property
    def usable(self) -> bool:
        return llmeval_med.human_usable(*self)


RATINGS = Rating._fields


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge and people say the same of *usable*.

    `n` counts ratings, `items` the texts that they are of; `unjudged` are ratings of texts that no judging run holds, which
    stand in no figure. `table[people][judge]` counts, 0 not usable and 1 usable. `rate` is the share on which both say the
    same, with its 95 % interval over whole conversations; all are None when n = 0. `kappa` is Cohen's, None also where both
    say the same of everything.
    """

    n: int
    items: int
    unjudged: int
    table: tuple[tuple[int, int], tuple[int, int]]
    rate: float | None
    low: float | None
    high: float | None
    kappa: float | None


def agreement(
    judged: np.ndarray, ratings: Sequence[tuple[int, Rating]], clusters: np.ndarray, *, seed: str
) -> Agreement:
    """Each rating against the judge's verdict on the same text.

    `judged` is float64 over the items: 1 usable, 0 not (a text without a valid score is not usable), NaN where no judging
    run holds it; `ratings` are (item index, rating), several people's of one text each counted; `clusters` is an integer an
    item. ValueError for ratings outside their scales.
    """
    kept = [(item, int(judged[item]), int(rating.usable)) for item, rating in ratings if not np.isnan(judged[item])]
    table = np.zeros((2, 2), dtype=int)
    for _, judge, people in kept:
        table[people, judge] += 1
    rate = low = high = None
    if kept:
        same = np.array([float(judge == people) for _, judge, people in kept])
        own = np.array([clusters[item] for item, _, _ in kept])
        rate = statistics.mean(same)
        ((low, high),) = statistics.mean_intervals(same, [np.arange(len(same))], own, seed=seed)
    (a, b), (c, d) = table.tolist()
    return Agreement(
        len(kept),
        len({item for item, _, _ in kept}),
        len(ratings) - len(kept),
        ((a, b), (c, d)),
        rate,
        low,
        high,
        statistics.cohen_kappa(table),
    )
