"""What the address of a board asks for: which entries, which items, which columns, in which order. The address is the state.

A filter hides rows and never moves a rank: it works on a standing that is ranked already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from evaluation.models import LanguageModel, is_later
from leaderboard.tables import Group, Row, Sorting, Table

if TYPE_CHECKING:
    from django.http import QueryDict

    from leaderboard.standings import Standing

AFTER, BEFORE = "after", "before"
KEPT = ("rank", "model", "score")  # columns that no choice takes away
TEXT_FIRST = frozenset({"model", "badge", "text"})  # kinds whose first order is upwards


@dataclass(frozen=True)
class Wish:
    """The choices that an address makes. What is empty chooses nothing; `hidden` are columns."""

    q: str = ""
    access: str = ""
    organisation: str = ""
    family: str = ""
    size: str = ""
    released: str = ""
    complete: bool = False
    facets: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()
    together: bool = False
    sort: str = ""
    down: bool = False
    problems: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def read(cls, query: QueryDict) -> Wish:
        """The wish of an address. What cannot be understood is told in `problems` and passed over."""
        text: dict[str, Any] = {
            name: query.get(name, "").strip()[:200] for name in ("q", "access", "organisation", "family", "size")
        }
        problems = []
        released = query.get("released", "")
        if released not in ("", AFTER, BEFORE):
            problems.append(f"released is {released[:40]!r}: choose {AFTER} or {BEFORE}")
            released = ""
        facets = []
        for told in query.getlist("facet"):
            dimension, mark, name = told.partition(":")
            if mark:
                facets.append((dimension, name))
            elif told:
                problems.append(
                    f"facet is {told[:80]!r}: a dimension and a facet with a colon between them are expected"
                )
        flags: dict[str, Any] = {name: query.get(name) == "1" for name in ("complete", "together", "down")}
        hidden = tuple(dict.fromkeys(query.getlist("hide")))
        facets_once = tuple(dict.fromkeys(facets))
        return cls(
            **text,
            released=released,
            facets=facets_once,
            hidden=hidden,
            sort=query.get("sort", ""),
            **flags,
            problems=tuple(problems),
        )

    def __bool__(self) -> bool:
        return self != NO_WISH

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The wish as names and values of an address; what is not chosen is left out."""
        names = {"facets": "facet", "hidden": "hide"}
        out: list[tuple[str, str]] = []
        for each in fields(self):
            value = getattr(self, each.name)
            name = names.get(each.name, each.name)
            if each.name == "facets":
                out += [(name, f"{dimension}:{facet}") for dimension, facet in value]
            elif isinstance(value, tuple) and each.name != "problems":
                out += [(name, one) for one in value]
            elif value and each.name != "problems":
                out.append((name, "1" if value is True else value))
        return out

    def address(self, **changes: Any) -> str:
        """The address of this wish with some choices made otherwise, from `?` on."""
        return "?" + urlencode(replace(self, **changes).pairs)

    @property
    def narrows(self) -> bool:
        """Whether it may hide rows."""
        return bool(
            self.q or self.access or self.organisation or self.family or self.size or self.released or self.complete
        )


NO_WISH = Wish()


class Option(NamedTuple):
    value: str
    label: str
    chosen: bool


class Select(NamedTuple):
    """A choice of one value: its name in the address, its label and its options."""

    name: str
    label: str
    options: list[Option]


_FACTS: tuple[tuple[str, str, Callable[[LanguageModel], tuple[str, str]]], ...] = (
    ("access", "Access", lambda model: (model.access or "unknown", model.get_access_display())),
    ("organisation", "Organisation", lambda model: (model.organisation, model.organisation)),
    ("family", "Family", lambda model: (model.family, model.family)),
    ("size", "Size", lambda model: (model.size, model.size)),
)


def selects(standing: Standing, wish: Wish) -> list[Select]:
    """The filters by facts of models: those in which the models of the board differ, and those that are set."""
    models = list(_models(standing))
    found = []
    for name, label, fact in _FACTS:
        values = dict(sorted(value for value in map(fact, models) if value[0]))
        chosen = getattr(wish, name)
        if chosen:
            values.setdefault(chosen, chosen)
        if chosen or (len({fact(model) for model in models}) > 1 and values):
            found.append(Select(name, label, [Option(value, text, value == chosen) for value, text in values.items()]))
    if standing.newest_question and (wish.released or any(model.released_on for model in models)):
        words = {BEFORE: "before the newest questions", AFTER: "after the newest questions"}
        found.append(
            Select(
                "released", "Released", [Option(value, text, value == wish.released) for value, text in words.items()]
            )
        )
    return found


def _models(standing: Standing) -> Iterable[LanguageModel]:
    yield from (entry.model for entry in standing.entries)
    yield from (row.model for row in standing.reported if row.model is not None)


def narrow(standing: Standing, wish: Wish) -> int:
    """Take the entries and reported figures off that the wish does not ask for; how many. Ranks stay as they are."""
    if not wish.narrows:
        return 0
    before = len(standing.entries) + len(standing.reported)
    standing.entries = [
        entry
        for entry in standing.entries
        if _fits(entry.model, wish, standing.newest_question) and (not wish.complete or entry.present == entry.expected)
    ]
    standing.reported = [
        row
        for row in standing.reported
        if (_fits(row.model, wish, standing.newest_question) if row.model else not wish.narrows)
    ]
    return before - len(standing.entries) - len(standing.reported)


def _fits(model: LanguageModel, wish: Wish, newest_question: str) -> bool:
    if wish.q and wish.q.casefold() not in f"{model.name} {model.organisation} {model.family}".casefold():
        return False
    if any(getattr(wish, name) not in ("", fact(model)[0]) for name, _, fact in _FACTS):
        return False
    later = is_later(model.released_on, newest_question)
    return not wish.released or later is (wish.released == AFTER)


# --- the table --------------------------------------------------------------------------------------------------------


def arrange(table: Table, wish: Wish) -> Table:
    """The table with the columns and in the order that the wish asks for; every heading leads to its own order.

    Rows are ordered inside their groups. A missing figure comes last both ways, equal ones keep their order.
    """
    if wish.together:
        table = _together(table)
    keys = {column.key: place for place, column in enumerate(table.columns)}
    rows = table.rows
    if wish.sort in keys:
        place = keys[wish.sort]
        present = [row for row in rows if _sortable(row, place) is not None]
        missing = [row for row in rows if _sortable(row, place) is None]
        present.sort(key=lambda row: _sortable(row, place), reverse=wish.down)
        rows = (*present, *missing)
    shown = [place for place, column in enumerate(table.columns) if column.key not in wish.hidden or column.key in KEPT]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in shown),
        rows=tuple(Row(row.key, tuple(row.cells[place] for place in shown), row.group) for row in rows),
        sorting=tuple(_sorting(table.columns[place], wish) for place in shown),
    )


def _sortable(row: Row, place: int) -> Any:
    cell = row.cells[place]
    if cell.missing or cell.value is None:
        return None
    return cell.text.casefold() if isinstance(cell.value, str) else cell.value


def _sorting(column: Any, wish: Wish) -> Sorting:
    if column.kind == "link":
        return Sorting("", "")
    by_default = not wish.sort and column.key == "rank"
    if wish.sort == column.key or by_default:
        down = wish.down and not by_default
        return Sorting(wish.address(sort=column.key, down=not down), "descending" if down else "ascending")
    return Sorting(wish.address(sort=column.key, down=column.kind not in TEXT_FIRST and column.key != "rank"), "")


def _together(table: Table) -> Table:
    """Recomputed and reported figures in one group, best first."""
    both = {"ranked", "reported"}
    groups = tuple(
        Group(
            "both",
            "Recomputed and reported figures together",
            "Reported figures were not made by the same rules: see †.",
        )
        if group.key == "ranked"
        else group
        for group in table.groups
        if group.key != "reported"
    )
    score = next(place for place, column in enumerate(table.columns) if column.kind == "score")
    joined = [replace(row, group="both") if row.group in both else row for row in table.rows]
    joined.sort(key=lambda row: (_sortable(row, score) is None, -(_sortable(row, score) or 0)))
    return replace(table, rows=tuple(joined), groups=groups)


def column_options(table: Table, wish: Wish) -> list[Option]:
    """The columns that may be left out, each with whether it is."""
    return [
        Option(column.key, column.label, column.key in wish.hidden)
        for column in table.columns
        if column.key not in KEPT
    ]


def asked_for(wish: Wish, facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """(what is chosen in words, the address without it) of everything that hides rows or items."""
    out = [(f"“{wish.q}”", wish.address(q=""))] if wish.q else []
    out += [
        (f"{label}: {getattr(wish, name)}", wish.address(**{name: ""}))
        for name, label, _ in _FACTS
        if getattr(wish, name)
    ]
    if wish.released:
        out.append((f"released {wish.released} the newest questions", wish.address(released="")))
    if wish.complete:
        out.append(("complete runs only", wish.address(complete=False)))
    for pair in wish.facets:
        others = tuple(other for other in wish.facets if other != pair)
        out.append((f"{facts.get(pair[0], pair[0])}: {pair[1]}", wish.address(facets=others)))
    return out
