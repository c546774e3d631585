"""A difference of two columns: only inside one metric, one evaluator and one item set, and only of figures of one origin."""

from __future__ import annotations

from typing import Any

from leaderboard.tables.cells import MISSING, Cell, Column


def difference_column(key: str, label: str, left: Column, right: Column, **more: Any) -> Column:
    """The column of `left` minus `right`, in points where both are in %.

    Raises ValueError, with the reason in words, where the two have another metric, unit or evaluator, or are known to be
    over other items.
    """
    for what, one, other in (
        ("metrics", left.metric, right.metric),
        ("units", left.unit, right.unit),
        ("evaluators", left.evaluator, right.evaluator),
        ("items", left.items, right.items),
    ):
        if one != other and one and other:
            raise ValueError(
                f"No difference of {left.full_heading!r} and {right.full_heading!r}: their {what} differ, "
                f"{one!r} and {other!r}."
            )
    told = {
        "unit": "pp" if left.unit == "%" else left.unit,
        "direction": left.direction,
        "precision": left.precision,
        "metric": left.metric,
        "evaluator": left.evaluator or right.evaluator,
        "items": left.items or right.items,
        "help": f"{left.full_heading} minus {right.full_heading}.",
    }
    return Column(key, label, "score", **{**told, **more})


def difference_cell(
    column: Column, left: Cell, right: Cell, low: float | None = None, high: float | None = None
) -> Cell:
    """`left` minus `right` at full precision, with the given interval; missing, with the reason, where it may not be formed.

    A reported and a recomputed figure rest on different rules, and two figures over other numbers of items on other items.
    """
    if not isinstance(left.value, int | float) or not isinstance(right.value, int | float):
        return Cell(MISSING, note="one of the two figures is missing")
    if (left.origin == "reported") != (right.origin == "reported"):
        return Cell(MISSING, note="no difference: one figure is reported, the other recomputed")
    if left.n is not None and right.n is not None and left.n != right.n:
        return Cell(MISSING, note=f"no difference: one figure is over {left.n:,} items, the other over {right.n:,}")
    return column.cell(
        left.value - right.value,
        low,
        high,
        n=left.n,
        origin=left.origin,
        partial=left.partial or right.partial,
    )
