"""What leaves the product in a paper: the table with its provenance, macros, the methods paragraph, and the check of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.exports import exported
from leaderboard.recipes.build import Built, build
from leaderboard.recipes.macros import macros
from leaderboard.recipes.methods import methods
from leaderboard.recipes.printed import RECIPE, SEEN, Printed, differences, read
from leaderboard.recipes.recipe import RecipeError, from_json
from leaderboard.tables.cells import NUMERIC

if TYPE_CHECKING:
    from evaluation.querysets import Person

PUBLIC = "public"


def provenance(built: Built, seen: str, base: str) -> list[str]:
    """Lines from which the table can be made again; `seen` says by whose rights, in words."""
    return [
        "ClinBoard: manage.py export --check FILE tells which figures are no longer what the database gives.",
        f"{RECIPE}{built.recipe.as_json}",
        f"{SEEN}{seen}",
        f"Made again at {base}/tables/?{built.recipe.query}",
        *(f"{label}: {value}" for label, value in built.table.facts),
    ]


def as_file(built: Built, form: str, *, seen: str = PUBLIC, base: str = "", bom: bool = False) -> bytes:
    """The table in a form. Raises KeyError for an unknown one."""
    recipe = built.recipe
    about = provenance(built, seen, base)
    return exported(built.table, form, bom=bom, label=recipe.label, about=about, wide=recipe.wide)


def as_macros(built: Built, *, seen: str = PUBLIC, base: str = "") -> bytes:
    prefix = built.recipe.label.rpartition(":")[2] or built.recipe.title
    return macros(built.table, prefix, provenance(built, seen, base)).encode()


def as_methods(built: Built, *, seen: str = PUBLIC, base: str = "") -> bytes:
    return methods(built, provenance(built, seen, base)).encode()


def check(text: str, user: Person, name: str) -> tuple[int, list[str]]:
    """(figures compared, what is wrong) of an exported file: each figure against what `user` would be given now.

    Raises ValueError for a file that holds no recipe.
    """
    parts = read(text)
    if not parts:
        raise ValueError(f"{name}: holds no recipe, so it was not exported by ClinBoard")
    compared, wrong = 0, []
    for part in parts:
        wrong += [f"{name} line {number}: {message}" for number, message in part.loose]
        try:
            built = build(from_json(part.recipe, f"{name} line {part.line}"), user)
        except RecipeError as error:
            wrong += str(error).split("\n")
            continue
        numeric = {column.key: column.full_heading for column in built.table.columns if column.kind in NUMERIC}
        labels = {row.key: row.cells[0].text for row in built.table.rows}
        known = {column.key for column in built.table.columns}
        mine = _only(part, numeric, known)
        compared += len(mine.cells) + len(mine.macros)
        if not mine.cells and not mine.macros and not part.loose:
            wrong.append(f"{name} line {part.line}: no figure of this table was found")
        now = read((as_file(built, "tex") + as_macros(built)).decode())
        for place, was, is_now in differences(mine, _merged(now)):
            what = f" ({place.what})" if place.what else ""
            row, column = labels.get(place.row, place.row), numeric.get(place.column, place.column)
            wrong.append(f"{name}: row {row!r}, column {column!r}{what}: printed {was}, now {is_now}")
        if wrong and part.seen != PUBLIC:
            wrong.append(f"{name} line {part.line}: this table was made with the rights of {part.seen or 'not stated'}")
    return compared, wrong


def _only(part: Printed, numeric: dict[str, str], known: set[str]) -> Printed:
    """Its figures: names may be printed otherwise. A column that is not known any more is kept, to be told."""
    cells = {
        place: source for place, source in part.cells.items() if place.column in numeric or place.column not in known
    }
    return Printed(part.recipe, part.seen, part.line, cells, part.macros, part.loose)


def _merged(parts: Sequence[Printed]) -> Printed:
    out = Printed("")
    for part in parts:
        out.cells |= part.cells
        out.macros |= part.macros
    return out
