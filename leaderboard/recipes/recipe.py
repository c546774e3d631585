"""A recipe: rows, columns and manner of a table. Read from YAML or from an address, written back as either. No Django here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ingest.strict_yaml import DocumentError, Place, Problem, path_text, read_file, violations

SCHEMA = Path(__file__).with_name("recipe.schema.json")
ADDRESS = "the address"  # the name of a recipe that is no file, in errors
_OWN = ("title", "caption", "label", "digits", "show", "uncertainty")
_SWITCHES = ("n", "bold", "underline", "daggers", "wide")
_ROWS = ("group_by", "sort", "figures")
_LISTS = {"access": "access", "organisation": "organisations", "family": "families"}  # in an address, in a file
_COLUMN = re.compile(r"c([1-9]\d?)\.([a-z_]+)\Z", re.ASCII)
_YES = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}


class RecipeError(DocumentError):
    """Everything that is wrong with a recipe: file (or the address), line, field, value."""


@dataclass(frozen=True)
class ColumnWish:
    """One column: a figure of a board, or, with `of` and `minus`, a difference of two earlier columns by their names.

    The board is named by `board` or by its parts; what is None is not asked for. An empty `metric` is the board's headline.
    """

    name: str
    board: str = ""
    benchmark: str = ""
    release: str = ""
    split: str = ""
    mode: str = ""
    shots: int | None = None
    conversation_kept: bool | None = None
    metric: str = ""
    variant: str = ""
    dimension: str = "overall"
    facet: str = ""
    evaluator: str = ""
    source: str = ""
    label: str = ""
    over: str = ""
    of: str = ""
    minus: str = ""

    @property
    def is_difference(self) -> bool:
        return bool(self.of)


@dataclass(frozen=True)
class Recipe:
    """What a table is made of. `groups` are (label, models) in order; one group "" for a plain list; none: all models.

    `file` and `lines` say where a field was given, for errors; two recipes are equal when their `document` is.
    """

    title: str
    columns: tuple[ColumnWish, ...]
    caption: str = ""
    label: str = ""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    group_by: str = "none"
    access: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    sort: str = "value"
    figures: str = "all"
    partial: bool = True
    digits: int | None = None
    show: str = "percent"
    uncertainty: str = "none"
    n: bool = False
    bold: bool = True
    underline: bool = False
    daggers: bool = True
    wide: bool = False
    document: dict[str, Any] = field(default_factory=dict, compare=False)
    file: str = field(default=ADDRESS, compare=False)
    lines: dict[Place, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def query(self) -> str:
        """The recipe as the query string of an address; `from_query` gives the same recipe back."""
        return urlencode(list(_pairs(self.document)))

    def without(self, column: int) -> str:
        """The query of the recipe without one column, and without the differences that are formed with it."""
        gone = self.columns[column].name
        kept = [
            {"name": wish.name, **said}
            for wish, said in zip(self.columns, self.document["columns"], strict=True)
            if gone not in (wish.name, wish.of, wish.minus)
        ]
        return urlencode(list(_pairs({**self.document, "columns": kept})))

    @property
    def as_json(self) -> str:
        """One line of ASCII; `from_json` gives the same recipe back."""
        return json.dumps(self.document, separators=(",", ":"), sort_keys=True)

    def error(self, place: Place, message: str) -> RecipeError:
        """An error about one of its fields, with file and line."""
        return RecipeError(self.file, [(self.lines.get(place, 0), path_text(place), message)])


def load(path: str | os.PathLike[str]) -> Recipe:
    """Read a YAML file. Raises RecipeError with every problem found."""
    name = Path(path).name
    try:
        document, _ = read_file(path)
    except DocumentError as error:
        raise RecipeError(name, error.problems) from error
    if document.problems:
        raise RecipeError(name, document.problems)
    return _recipe(document.data, name, document.lines)


def from_json(text: str, name: str = ADDRESS) -> Recipe:
    """A recipe from `Recipe.as_json`. Raises RecipeError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecipeError(name, [(0, "", "holds a recipe that is no JSON")]) from error
    return _recipe(data, name, {})


def from_query(query: str | Iterable[tuple[str, str]]) -> Recipe:
    """A recipe from a query string or its pairs. Raises RecipeError with every problem found.

    `models` holds a model a line, and `# Label` begins a group (`\\#` a model whose name does); `c1.metric`, `c2.metric` and
    so on are fields of the columns, in the order of their numbers. Empty fields are as if not there.
    """
    pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True) if isinstance(query, str) else list(query)
    document, problems = _from_pairs(pairs)
    if problems:
        raise RecipeError(ADDRESS, problems)
    return _recipe(document, ADDRESS, {})


def _recipe(data: Any, name: str, lines: dict[Place, int]) -> Recipe:
    found = violations(data, SCHEMA)
    if not found:
        found = list(_unsound(data))
    if found:
        raise RecipeError(name, [(_line(lines, place), path_text(place), message) for place, message in found])
    rows, given = data.get("rows") or {}, dict(data)
    groups = tuple((group["label"], tuple(group["models"])) for group in rows.get("groups", ()))
    if rows.get("models"):
        groups = (("", tuple(rows["models"])),)
    columns = tuple(
        ColumnWish(**{"name": f"c{number}", **column}) for number, column in enumerate(data["columns"], start=1)
    )
    given.pop("rows", None)
    given.pop("columns")
    given |= {key: rows[key] for key in (*_ROWS, "partial") if key in rows}
    given |= {key: tuple(rows[key]) for key in _LISTS.values() if key in rows}
    return Recipe(columns=columns, groups=groups, document=data, file=name, lines=lines, **given)


def _line(lines: dict[Place, int], place: Place) -> int:
    """The line of the place, else of the nearest one around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 0)


def _unsound(data: dict[str, Any]) -> Iterable[tuple[Place, str]]:
    """What the schema cannot say."""
    rows = data.get("rows") or {}
    if rows.get("models") and rows.get("groups"):
        yield ("rows", "groups"), "stands beside a plain list of models: give one of them"
    if not data["columns"]:
        yield ("columns",), "is empty: a table has at least one column"
    if not re.fullmatch(r"[A-Za-z0-9:._+-]*", data.get("label", "")):
        yield ("label",), f"is {data['label']!r}, expected letters, digits and any of : . _ + -"
    listed: dict[str, Place] = {}
    for place, model in _listed(rows):
        if re.search(r"[\r\n]", model):
            yield place, "holds a line break, which no name of a model does"
        elif model != model.strip():
            yield place, f"is {model!r}, with white space around it"
        if model in listed:
            yield place, f"is {model!r}, which is listed before"
        listed[model] = place
    names: dict[str, bool] = {}
    for index, column in enumerate(data["columns"]):
        place = ("columns", index)
        name = column.get("name", f"c{index + 1}")
        if name in names:
            yield (*place, "name"), f"is {name!r}, the name of another column"
        difference = "of" in column or "minus" in column
        for key in ("of", "minus") if difference else ():
            if key not in column:
                yield place, f"has no {key!r}: a difference is `of` one column `minus` another"
            elif names.get(column[key]) is None:
                yield (*place, key), f"is {column[key]!r}, which is no column before this one"
            elif names[column[key]]:
                yield (*place, key), f"is {column[key]!r}, which is a difference itself"
        more = [key for key in column if key not in ("name", "of", "minus", "label", "over")]
        if difference and more:
            yield (*place, more[0]), "has no meaning in a difference"
        if not difference and "board" not in column and "benchmark" not in column:
            yield place, "names no board: give `board`, or `benchmark` and what else is needed"
        names[name] = difference


def _listed(rows: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
    for index, model in enumerate(rows.get("models", ())):
        yield ("rows", "models", index), model
    for number, group in enumerate(rows.get("groups", ())):
        for index, model in enumerate(group["models"]):
            yield ("rows", "groups", number, "models", index), model


# --- addresses --------------------------------------------------------------------------------------------------------


def _pairs(document: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """The document as pairs of a query, in the order of the form."""
    rows = document.get("rows") or {}
    yield from ((key, str(document[key])) for key in _OWN if document.get(key, "") != "")
    yield from ((key, _yes(document[key])) for key in _SWITCHES if key in document)
    lines = [_named(model) for model in rows.get("models", ())]
    for group in rows.get("groups", ()):
        lines += [f"# {group['label']}", *map(_named, group["models"])]
    if lines:
        yield "models", "\n".join(lines)
    yield from ((key, rows[key]) for key in _ROWS if key in rows)
    yield from ((key, name) for key, several in _LISTS.items() for name in rows.get(several, ()))
    if "partial" in rows:
        yield "partial", _yes(rows["partial"])
    for number, column in enumerate(document["columns"], start=1):
        for key, value in column.items():
            yield f"c{number}.{key}", _yes(value) if isinstance(value, bool) else str(value)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _named(model: str) -> str:
    return f"\\{model}" if model.startswith(("#", "\\")) else model


def _from_pairs(pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, Any], list[Problem]]:
    document: dict[str, Any] = {"columns": []}
    rows: dict[str, Any] = {}
    columns: dict[int, dict[str, Any]] = {}
    problems: list[Problem] = []
    for key, value in pairs:
        if not value.strip():
            continue
        if "\0" in value or re.search("[\ud800-\udfff]", value):
            problems.append((0, key, "holds a character that is no text"))
        elif found := _COLUMN.match(key):
            columns.setdefault(int(found[1]), {})[found[2]] = _typed(found[2], value)
        elif key == "models":
            rows |= _models(value)
        elif key in _LISTS:
            rows.setdefault(_LISTS[key], []).append(value)
        elif key in _ROWS or key == "partial":
            rows[key] = _typed(key, value)
        else:
            document[key] = _typed(key, value)
    if rows:
        document["rows"] = rows
    document["columns"] = [columns[number] for number in sorted(columns)]
    return document, problems


def _typed(key: str, value: str) -> Any:
    """Numbers and switches as such; what is none stays text, and the schema says what was expected."""
    if key in ("digits", "shots") and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return int(value)
    if key in (*_SWITCHES, "partial", "conversation_kept"):
        return _YES.get(value, value)
    return value


def _models(text: str) -> dict[str, Any]:
    plain: list[str] = []
    groups: list[dict[str, Any]] = []
    for line in re.split(r"[\r\n]+", text):
        line = line.strip()
        if line.startswith("#"):
            groups.append({"label": line[1:].strip(), "models": []})
        elif line:
            (groups[-1]["models"] if groups else plain).append(line.removeprefix("\\"))
    return ({"groups": groups} if groups else {}) | ({"models": plain} if plain else {})
