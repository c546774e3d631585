"""A person's own mix of cases: shares of facets, from a form or a CSV, read strictly."""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from reprlib import repr as short

import numpy as np

from leaderboard.breakdowns import Breakdown, units
from leaderboard.facetnames import facet_key, members, ordered
from leaderboard.facets import offered
from leaderboard.standings import Standing
from leaderboard.tables import format_value

OTHER = "other"  # the part of a mix that the board holds no items of
HEADER = ("dimension", "facet", "share")
LONGEST = 100_000  # characters of a CSV
Margins = dict[str, dict[str, np.ndarray]]


@dataclass
class Mix:
    """Given numbers, 0 or more, by dimension and facet; `other` by dimension; what is wrong in words."""

    numbers: dict[str, dict[str, float]] = field(default_factory=dict)
    other: dict[str, float] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def is_given(self) -> bool:
        return any(number > 0 for of in self.numbers.values() for number in of.values())

    def shares(self, dimension: str) -> dict[str, float]:
        """Facet -> its share of what the board holds: the numbers without `other`, divided by their sum."""
        numbers = self.numbers[dimension]
        total = math.fsum(numbers.values())
        return {facet: number / total for facet, number in numbers.items()}

    def said(self) -> list[str]:
        """What was done to the numbers: divided by their sum where that is not 100, and `other` left out."""
        out = []
        for dimension, numbers in self.numbers.items():
            known, other = math.fsum(numbers.values()), self.other.get(dimension, 0.0)
            total = known + other
            words = dimension.replace("_", " ")
            if not math.isclose(total, 100, abs_tol=0.05):
                out.append(f"The numbers of {words} add up to {total:g}, not to 100: each was divided by {total:g}.")
            if other:
                left = format_value(other / total, "%")
                out.append(
                    f"{left} % of your mix is not measured here (other, by {words}); the figures are over the rest."
                )
        return out


def dimensions_for(standing: Standing) -> Margins:
    """Dimension -> facet -> places among the units that the headline counts, for dimensions that part them.

    Offered are those in which every unit carries at most one facet, and all questions of a case the same one: else shares
    that add up to 100 % would count a unit twice.
    """
    found = Breakdown(standing, "", standing.headline.metric, {})
    clusters, _ = found.clusters
    counted = units(found)
    place = np.full(len(clusters), -1)
    place[counted] = np.arange(len(counted))
    of_case = np.bincount(clusters)
    out: Margins = {}
    split, known = standing.board.split, offered(standing.board.split)
    for dimension in sorted(known, key=[*standing.spec.dimensions, *known].index):
        held = members(split, dimension)
        if found.of_cases and any((n := np.bincount(clusters[i]))[n > 0].tolist() != of_case[: len(n)][n > 0].tolist()
                                  for i in held.values()):  # fmt: skip
            continue
        parts = {facet: place[items][place[items] >= 0] for facet, items in held.items()}
        times = np.bincount(np.concatenate([*parts.values(), np.zeros(0, np.int64)]), minlength=len(counted))
        if len(parts) > 1 and times.max(initial=0) < 2:
            out[dimension] = {facet: parts[facet] for facet in ordered(standing.spec, dimension, parts)}
    return out


def field_name(dimension: str, facet: str) -> str:
    """How a share stands in an address."""
    return f"{dimension}.{facet if facet == OTHER else facet_key(facet)}"


def from_address(given: Mapping[str, str], margins: Margins) -> Mix:
    """The shares of an address. An empty one is not given; any other field that it does not know is passed over."""
    mix = Mix()
    for dimension, facets in margins.items():
        for facet in (*facets, OTHER):
            name = field_name(dimension, facet)
            if text := given.get(name, "").strip():
                _take(mix, dimension, facet, text, f"{dimension}, {facet}")
    return _settled(mix)


def from_csv(text: str, margins: Margins) -> Mix:
    """Shares from lines of dimension, facet and share, with that header; comma, semicolon or tab between them.

    A facet is written as on the board, or `other`. Every error names line, field and value.
    """
    mix = Mix()
    if len(text) > LONGEST:
        mix.errors.append(f"The CSV has {len(text):,} characters; at most {LONGEST:,} are read.")
        return mix
    lines = text.lstrip("\ufeff").splitlines()
    sign = next((sign for sign in (";", "\t") if lines and sign in lines[0]), ",")
    rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=sign)
    head = [cell.strip().lower() for cell in next(rows, [])]
    if tuple(head) != HEADER:
        mix.errors.append(f"Line 1: the header is {short(','.join(head))}, expected {','.join(HEADER)}.")
        return mix
    seen: set[tuple[str, str]] = set()
    for cells in rows:
        where = f"Line {rows.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(HEADER):
            mix.errors.append(
                f"{where}: {len(cells)} fields, expected 3. A facet with a comma is put in double quotes."
            )
            continue
        dimension, facet, number = (cell.strip() for cell in cells)
        if dimension not in margins:
            mix.errors.append(f"{where}, dimension: {short(dimension)} is none of {', '.join(margins)}.")
        elif facet != OTHER and facet not in margins[dimension]:
            mix.errors.append(f"{where}, facet: {_unknown(facet, margins[dimension])}")
        elif (dimension, facet) in seen:
            mix.errors.append(f"{where}, facet: {short(facet)} stands there twice.")
        else:
            seen.add((dimension, facet))
            _take(mix, dimension, facet, number, f"{where}, share of {facet}")
    if not seen and not mix.errors:
        mix.errors.append("There is no line below the header.")
    return _settled(mix)


def _unknown(facet: str, facets: Iterable[str]) -> str:
    near = difflib.get_close_matches(facet, list(facets), 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"the board has no {short(facet)}.{hint} What it does not hold is given as {OTHER!r}."


def _take(mix: Mix, dimension: str, facet: str, text: str, where: str) -> None:
    plain = text.removesuffix("%").strip()
    if "," in plain and "." not in plain:
        plain = plain.replace(",", ".")
    try:
        number = float(plain)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e12:
        mix.errors.append(f"{where}: {short(text)} is no number of 0 or more.")
    elif facet == OTHER:
        mix.other[dimension] = number
    else:
        mix.numbers.setdefault(dimension, {})[facet] = number


def _settled(mix: Mix) -> Mix:
    """A dimension in which nothing the board holds has a share cannot be met."""
    for dimension in {*mix.numbers, *mix.other}:
        if not math.fsum(mix.numbers.get(dimension, {}).values()) > 0:
            mix.errors.append(f"{dimension}: no facet of the board has a share above 0.")
    return mix
