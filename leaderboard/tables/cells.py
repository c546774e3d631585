"""What a table is made of: cells, columns, rows, groups and bands, and how a figure becomes text."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

MISSING = "–"
KINDS = ("rank", "model", "score", "interval", "count", "share", "badge", "date", "text", "link")
NUMERIC = frozenset({"rank", "score", "count", "share"})
DIRECTIONS = ("", "higher", "lower")
FRACTIONS = frozenset({"%", "pp"})  # units whose values are fractions of one and are shown times a hundred
EMPHASES = ("", "best", "second")


def format_value(value: float | None, unit: str = "", precision: int | None = None) -> str:
    """The text of a figure, without its unit: 0.3625 in "%" is "36.2", 1407 is "1,407", None is "–".

    Units "%" and "pp" take fractions (0..1) and show them times a hundred. `precision` is the number of decimal places;
    left out it is 1 for fractions, 0 for whole numbers and 2 for other numbers. Rounding is that of Python's `format`:
    to the nearest, and a binary value that lies exactly half-way goes to the even digit. What rounds to zero is "0.0",
    never "-0.0". Raises ValueError for NaN and infinity: a missing figure is None and nothing else.
    """
    if value is None:
        return MISSING
    _finite(value)
    if unit in FRACTIONS:
        return format(value, f"z,.{1 if precision is None else precision}%").removesuffix("%")
    if precision is None:
        precision = 0 if isinstance(value, int) else 2
    return format(float(value), f"z,.{precision}f")


def _finite(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"A figure must be finite or None, not {value}.")


@dataclass(frozen=True, slots=True)
class Cell:
    """One place in a table.

    `text` is what is printed ("" and "–" are shown as missing); `value` is the figure behind it at full precision, in
    the column's unit (fractions for "%"). `low` and `high` bound the 95 % interval of the value and come together or
    not at all. `n` counts what stands in the denominator, `n_answered` what of it was answered. `tie` marks an entry
    that cannot be separated from the first. `origin` is a run's origin ("reported", "uploaded", "ours"); `partial` says
    that it was heard on too little to be ranked; `emphasis` is one of EMPHASES, of a column. `sub` is a second, quieter
    line; `note` becomes a footnote, or says why a figure is missing. Raises ValueError for NaN, infinity, half an
    interval and an unknown emphasis.
    """

    text: str = ""
    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    n_answered: int | None = None
    rank: int | None = None
    tie: bool = False
    emphasis: str = ""
    partial: bool = False
    origin: str = ""
    note: str = ""
    sub: str = ""
    href: str = ""

    def __post_init__(self) -> None:
        for figure in (self.value, self.low, self.high):
            _finite(figure)
        if (self.low is None) != (self.high is None):
            raise ValueError("An interval has both ends or none.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"The interval {self.low} to {self.high} is upside down.")
        if self.emphasis not in EMPHASES:
            raise ValueError(f"Unknown emphasis {self.emphasis!r}; one of {', '.join(map(repr, EMPHASES))}.")

    @property
    def missing(self) -> bool:
        return self.text in ("", MISSING)

    def as_dict(self) -> dict[str, Any]:
        """`text` and `value` always; of the rest only what was set."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {"text": self.text, "value": self.value} | given


@dataclass(frozen=True, slots=True)
class Column:
    """What stands below one heading.

    `kind` is one of KINDS and decides how a cell is drawn: an interval column draws whiskers, a badge column origins.
    `direction` says which end is better. A score column names its `metric`, and where it can the `evaluator`, because
    two figures may only be compared inside both; without a metric it raises ValueError, as for an unknown kind or
    direction. `over` stands above it and its neighbours of the same, `over_help` says it in full.
    """

    key: str
    label: str
    kind: str
    _: KW_ONLY
    unit: str = ""
    direction: str = ""
    precision: int | None = None
    metric: str = ""
    evaluator: str = ""
    items: str = ""
    over: str = ""
    over_help: str = ""
    help: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Column {self.key!r}: unknown kind {self.kind!r}; one of {', '.join(KINDS)}.")
        if self.direction not in DIRECTIONS:
            raise ValueError(f"Column {self.key!r}: direction is 'higher', 'lower' or empty, not {self.direction!r}.")
        if self.kind == "score" and not self.metric:
            raise ValueError(f"Score column {self.key!r} names no metric.")

    @property
    def heading(self) -> str:
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def full_heading(self) -> str:
        """The heading where only one line is left for it: `Risk prediction, F1: agentic, %`."""
        return f"{self.over}: {self.heading}" if self.over else self.heading

    def format(self, value: float | None) -> str:
        return format_value(value, self.unit, self.precision)

    def cell(self, value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Cell:
        """A cell of this column, its text made here. An interval goes below a score and is the text of a whisker."""
        between = "–" if low is None or low >= 0 else " to "  # a dash before a minus is read as another sign
        bounds = "" if low is None or high is None else f"{self.format(low)}{between}{self.format(high)}"
        made = {"text": bounds or self.format(value)} if self.kind == "interval" else {"text": self.format(value)}
        if bounds and self.kind == "score":
            made["sub"] = bounds
        return Cell(**{**made, "value": value, "low": low, "high": high, **more})


def coverage_cell(n_answered: int, n: int, **more: Any) -> Cell:
    """For a share column in "%": the share that was answered, with both counts below it. Missing for n = 0."""
    share = n_answered / n if n else None
    sub = "" if not n else f"all {n:,}" if n_answered == n else f"{n_answered:,}/{n:,}"
    return Cell(
        **{"text": format_value(share, "%"), "value": share, "n": n, "n_answered": n_answered, "sub": sub, **more}
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One entry; `group` is the key of the group that it stands in."""

    key: str
    cells: tuple[Cell, ...]
    group: str


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together (`ranked`, `partial`, `reported`); `label` and `note` stand above them where given."""

    key: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """A reference, such as a human baseline, drawn behind the whiskers of the table's first interval column, in its
    unit.

    `n` counts what the reference rests on (None: not stated).
    """

    label: str
    low: float
    high: float
    n: int | None = None
    note: str = ""
