"""People beside the judge on a run's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluation.models import HumanRating, Run, SplitItem, Vector
from evaluation.protocols.human_ratings import RATINGS, Agreement, Rating, agreement
from leaderboard.tables import format_value

if TYPE_CHECKING:
    from evaluation.querysets import Person

RATED = "usability_rate"  # the metric that people's ratings stand beside


@dataclass(frozen=True)
class People:
    """What the page shows of people's ratings; figures as text, empty where there is none."""

    agreement: Agreement
    raters: int
    files: list[tuple[str, str]]
    rate: str
    interval: str
    kappa: str

    @property
    def rows(self) -> list[tuple[str, tuple[int, int], int]]:
        """(what people said, counts by the judge's verdict, their sum), usable first."""
        table = self.agreement.table
        return [
            (said, (table[row][1], table[row][0]), sum(table[row])) for said, row in (("usable", 1), ("not usable", 0))
        ]

    @property
    def totals(self) -> tuple[int, int]:
        (a, b), (c, d) = self.agreement.table
        return b + d, a + c


def people_of(run: Run, user: Person) -> People | None:
    """How far the judge says what people say; None without ratings, or without the right to see the benchmark's items."""
    ratings = list(
        HumanRating.objects.visible_to(user).filter(run=run).values_list("item", "rater", "file", "sha256", *RATINGS)
    )
    evaluated = Vector.objects.filter(evaluation__run=run, evaluation__current=True)
    vector = evaluated.filter(repeat=0, name=RATED).first()
    if not ratings or vector is None:
        return None
    items = list(
        SplitItem.objects.filter(split=run.split, item__scored=True)
        .order_by("position")
        .values_list("item", "item__cluster", "item__key")
    )
    place = {item: index for index, (item, _, _) in enumerate(items)}
    judged = np.frombuffer(vector.data, dtype="<f8")
    if len(judged) != len(items):
        return None  # the items are newer than the figures
    found = agreement(
        judged,
        [(place[item], Rating(*rating)) for item, _, _, _, *rating in ratings if item in place],
        np.unique([cluster or key for _, cluster, key in items], return_inverse=True)[1],
        seed=run.split.fingerprint,
    )
    bounds = "" if found.low is None else f"{format_value(found.low, '%', None)}–{format_value(found.high, '%', None)}"
    return People(
        found,
        len({rater for _, rater, *_ in ratings}),
        sorted({(name, sha256) for _, _, name, sha256, *_ in ratings}),
        "" if found.rate is None else format_value(found.rate, "%", None),
        bounds,
        "" if found.kappa is None else format_value(found.kappa, "", 2),
    )
