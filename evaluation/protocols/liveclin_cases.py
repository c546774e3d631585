"""What happens along a case: where it breaks first, how long it stays right, and what its length alone would explain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluation.protocols.aggregate import means
from evaluation.protocols.base import Aggregate

METRICS = {
    "first_break": "Share of all cases whose first question that is not right is this one.",
    "still_right": (
        "Share of all cases without a question that is not right up to this one; a shorter case that was right to its end "
        "stays so, and after the last question the figure is the case accuracy."
    ),
    "expected_case_accuracy": (
        "The case accuracy to expect if errors were independent: the mean over the cases of the product of the question "
        "accuracies at the positions that the case has. A case accuracy above it says that errors fall together in few cases."
    ),
    "right_in_all_repeats": "Share of the cases whose questions are all right in every repeat.",
    "right_in_any_repeat": "Share of the cases whose questions are all right in at least one repeat.",
}


def positions(case: np.ndarray) -> np.ndarray:
    """The place of each question in its case, from 1, for the number of each question's case, in clinical order."""
    seen: dict[int, int] = {}
    out = np.empty(len(case), dtype=np.int64)
    for index, number in enumerate(case.tolist()):
        out[index] = seen[number] = seen.get(number, 0) + 1
    return out


def first_breaks(case: np.ndarray, position: np.ndarray, right: np.ndarray, cases: int) -> np.ndarray:
    """The position of each case's first question that is not right (wrong, no answer, error, missing); 0: none."""
    never = np.iinfo(np.int64).max
    out = np.full(cases, never)
    np.minimum.at(out, case[~right], position[~right])
    return np.where(out == never, 0, out)


def along_the_case(breaks: np.ndarray, has_row: np.ndarray, longest: int) -> dict[str, np.ndarray]:
    """`first_break Q1`, `still_right Q1` ... to Q`longest` over the cases: 1 or 0, NaN for a case without any row."""
    out = {}
    for number in range(1, longest + 1):
        out[f"first_break Q{number}"] = np.where(has_row, breaks == number, np.nan)
        out[f"still_right Q{number}"] = np.where(has_row, (breaks == 0) | (breaks > number), np.nan)
    return out


def along_aggregates(
    values: dict[str, np.ndarray], outcomes: np.ndarray, repeat: int | None, seed: str
) -> list[Aggregate]:
    """The arrays of `along_the_case` as figures of the dimension `position`; n counts cases."""
    names = [name for name in values if name.startswith(("first_break ", "still_right "))]
    every = np.arange(len(outcomes))
    found = means(
        {name: values[name] for name in sorted(names, key=lambda name: name.split()[0])},
        outcomes,
        {("overall", ""): every},
        every,
        repeat=repeat,
        seed=seed,
    )
    out = []
    for row in found:
        metric, facet = row.metric.split()
        out.append(replace(row, metric=metric, dimension="position", facet=facet))
    return out


def expected_if_independent(case: np.ndarray, position: np.ndarray, values: np.ndarray, cases: int) -> float | None:
    """Mean over the cases of the product of the mean `values` at the positions that each has; None without cases.

    By position and not overall, because later questions are harder: a trend over the case alone is no dependence. `values`
    are over the questions, 0..1, a missing one (NaN) counting 0.
    """
    if not cases:
        return None
    filled = np.nan_to_num(values)
    accuracy = np.bincount(position, filled) / np.maximum(np.bincount(position), 1)
    product = np.ones(cases)
    np.multiply.at(product, case, accuracy[position])
    return math.fsum(product.tolist()) / cases


def in_all_and_any(repeats: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """1 or 0 over the cases: right in all repeats, right in any; a case that a repeat lacks (NaN) is not right in it."""
    stack = np.stack([np.nan_to_num(values) for values in repeats]) >= 1
    return stack.all(axis=0).astype(float), stack.any(axis=0).astype(float)
