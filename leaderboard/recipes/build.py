"""From a recipe to a table, as one person may see it: boards, figures, rows, best and tied, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evaluation.models import LanguageModel, ModelAlias
from leaderboard.lists import shown_models
from leaderboard.models import Board
from leaderboard.recipes.figures import Figures, Told, collect
from leaderboard.recipes.recipe import ColumnWish, Recipe
from leaderboard.recipes.words import column_words, facts, notes
from leaderboard.scores import metric_unit
from leaderboard.standings import standings
from leaderboard.tables import Cell, Column, Group, Row, Table, difference_cell, difference_column

if TYPE_CHECKING:
    from evaluation.querysets import Person

MISSING = Cell("–")
ACCESS = {"proprietary": "Proprietary", "open": "Open", "medical": "Medical", "": "Access not stated"}
RowKey = tuple[int, str]  # model, snapshot


@dataclass(frozen=True)
class Built:
    """A recipe's table and what it was made of: the boards in the order of its columns, and the figures of each column."""

    recipe: Recipe
    table: Table
    boards: tuple[Board, ...]
    figures: tuple[Figures | None, ...]


def build(recipe: Recipe, user: Person, base: str = "") -> Built:
    """The table of a recipe as `user` may see it. Raises RecipeError, with file, line and field, for what is not there.

    `base` is where others reach this server (`https://host`), for the addresses of the boards that stand below the table.
    What a person may not see is not there: the same words for a board that does not exist and for one that is hidden.
    """
    plain = [wish for wish in recipe.columns if not wish.is_difference]
    visible = list(Board.objects.visible_to(user).with_benchmark())
    boards = {wish.name: _board(recipe, wish, visible) for wish in plain}
    distinct = list({board.pk: board for board in boards.values()}.values())
    by_board = {standing.board.pk: standing for standing in standings(distinct, user)}
    figures = {wish.name: collect(recipe, wish, by_board[boards[wish.name].pk], user) for wish in plain}
    columns = _columns(recipe, figures)
    rows = _rows(recipe, figures, user)
    cells = {key: _cells(recipe, key, figures, columns) for key, _, _ in rows}
    _emphasise(recipe, figures, columns, cells)
    table = _table(recipe, rows, columns, cells, figures)
    addresses = " ".join(f"{base}{board.get_absolute_url()}" for board in distinct)
    table = replace(table, facts=(*table.facts, ("Address", addresses)))
    return Built(recipe, table, tuple(distinct), tuple(figures.get(wish.name) for wish in recipe.columns))


def _place(recipe: Recipe, name: str) -> int:
    return [wish.name for wish in recipe.columns].index(name)


def _board(recipe: Recipe, wish: ColumnWish, visible: Sequence[Board]) -> Board:
    """The one visible board that fits what the column says of it."""
    asked = [wish.board, wish.benchmark, wish.release, wish.split, wish.mode, wish.shots, wish.conversation_kept]
    found = [
        board
        for board in visible
        if all(want in ("", None) or want == has for want, has in zip(asked, _parts(board), strict=True))
    ]
    place = ("columns", _place(recipe, wish.name))
    if not found:
        said = ", ".join(str(want) for want in asked if want not in ("", None))
        raise recipe.error(place, f"fits no board: {said}")
    if len(found) > 1:
        named = ", ".join(board.slug for board in found[:5]) + (", ..." if len(found) > 5 else "")
        raise recipe.error(place, f"fits more than one board: {named}. Say which one by `board`")
    return found[0]


def _parts(board: Board) -> tuple[str | int | bool | None, ...]:
    split, mode = board.split, board.mode
    return (
        board.slug,
        board.benchmark.slug,
        split.release.name,
        split.name,
        mode,
        board.shots,
        board.conversation_kept,
    )


# --- columns ----------------------------------------------------------------------------------------------------------


def _columns(recipe: Recipe, figures: dict[str, Figures]) -> dict[str, Column]:
    out: dict[str, Column] = {}
    for index, wish in enumerate(recipe.columns):
        if wish.is_difference:
            try:
                left, right = out[wish.of], out[wish.minus]
                over, label = column_words(wish, left.metric, figures[wish.of].wish.variant, "Difference")
                out[wish.name] = difference_column(wish.name, label, left, right, over=over)
            except ValueError as error:
                raise recipe.error(("columns", index), str(error)) from error
            continue
        found = figures[wish.name]
        unit, precision = metric_unit(found.metric)
        if unit == "%":
            fraction = recipe.show == "fraction"
            unit, precision = ("", 3) if fraction else ("%", 1)
        default = found.wish.facet or found.board.mode
        over, label = column_words(wish, found.metric, found.wish.variant, default)
        out[wish.name] = Column(
            wish.name,
            label,
            "score",
            unit=unit,
            direction="higher",
            precision=recipe.digits if recipe.digits is not None else precision,
            metric=found.metric,
            evaluator=found.evaluator if any(told.origin != "reported" for told in found.told.values()) else "",
            items=found.items,
            over=over,
        )
    return out


# --- rows -------------------------------------------------------------------------------------------------------------


def _rows(recipe: Recipe, figures: dict[str, Figures], user: Person) -> list[tuple[RowKey, LanguageModel, str]]:
    """(key, model, group) in order. Listed models stay in their order, also without a figure."""
    seen: dict[RowKey, LanguageModel] = {}
    for found in figures.values():
        seen |= {key: told.model for key, told in found.told.items()}
    if not recipe.groups:
        kept = [(key, model) for key, model in seen.items() if _wanted(recipe, model)]
        kept.sort(key=lambda pair: _order(recipe, pair[0], pair[1], figures))
        return [(key, model, _group_of(recipe, model)) for key, model in kept]
    out: list[tuple[RowKey, LanguageModel, str]] = []
    for number, (label, names) in enumerate(recipe.groups):
        for index, name in enumerate(names):
            place = ("rows", "groups", number, "models", index) if label else ("rows", "models", index)
            model = _model(name, user)
            if model is None:
                raise recipe.error(place, f"is {name!r}, which is no model here")
            keys = [key for key in seen if key[0] == model.pk] or [(model.pk, "")]
            taken = {key for key, _, _ in out}
            if taken & set(keys):
                raise recipe.error(place, f"is {name!r}, another name of a model that is listed before")
            group = label if label else _group_of(recipe, model)
            out += [(key, model, group) for key in keys]
    return [row for row in out if _wanted(recipe, row[1])]


def _model(name: str, user: Person) -> LanguageModel | None:
    """The model of that exact name, other name or slug, among those that the pages show to `user`."""
    models = shown_models(user)
    alias = ModelAlias.objects.visible_to(user).filter(name=name).values("model")
    return models.filter(name=name).first() or models.filter(pk__in=alias).first() or models.filter(slug=name).first()


def _wanted(recipe: Recipe, model: LanguageModel) -> bool:
    access = model.access or "not stated"
    return (
        (not recipe.access or access in recipe.access)
        and (not recipe.organisations or model.organisation in recipe.organisations)
        and (not recipe.families or model.family in recipe.families)
    )


def _group_of(recipe: Recipe, model: LanguageModel) -> str:
    if recipe.group_by == "access":
        return ACCESS[model.access]
    if recipe.group_by == "organisation":
        return model.organisation or "Organisation not stated"
    if recipe.group_by == "family":
        return model.family or "Family not stated"
    return ""


def _order(recipe: Recipe, key: RowKey, model: LanguageModel, figures: dict[str, Figures]) -> tuple[float | str, ...]:
    """By the first column that has the row: the highest value first, or the source's own order; then by name."""
    own = [found.told.get(key) for found in figures.values()]
    if recipe.sort == "name":
        return (model.name.casefold(), key[1])
    if recipe.sort == "source":
        places = [told.order for told in own if told and told.order is not None]
        return (min(places, default=float("inf")), model.name.casefold(), key[1])
    values = [(float(place), -told.value) for place, told in enumerate(own) if told]
    return (*(values[0] if values else (float("inf"), 0.0)), model.name.casefold(), key[1])


# --- cells ------------------------------------------------------------------------------------------------------------


def _cells(recipe: Recipe, key: RowKey, figures: dict[str, Figures], columns: dict[str, Column]) -> dict[str, Cell]:
    out: dict[str, Cell] = {}
    for wish in recipe.columns:
        column = columns[wish.name]
        if wish.is_difference:
            left, right = figures[wish.of], figures[wish.minus]
            bounds = left.difference(right, key) if recipe.uncertainty == "interval" else None
            cell = difference_cell(column, out[wish.of], out[wish.minus], *(bounds or ()))
            if cell.missing and not (out[wish.of].missing or out[wish.minus].missing):
                out[wish.name] = cell
            else:
                out[wish.name] = MISSING if cell.missing else _shown_so(recipe, cell, cell.partial)
        else:
            out[wish.name] = _figure(recipe, figures[wish.name].told.get(key), column)
    return out


def _figure(recipe: Recipe, told: Told | None, column: Column) -> Cell:
    if told is None:
        return MISSING
    precise = column
    if told.decimals is not None and column.precision is not None:
        # a source's figure gets no digits that the source does not give
        decimals = told.decimals + (2 if column.unit == "" and recipe.show == "fraction" else 0)
        precise = replace(column, precision=min(column.precision, decimals))
    bounds = (told.low, told.high) if recipe.uncertainty == "interval" else ()
    cell = precise.cell(told.value, *bounds, n=told.n, n_answered=told.n_answered, origin=told.origin, note=told.note)
    if recipe.uncertainty == "sd" and told.sd is not None:
        cell = replace(cell, sub=f"± {replace(column, precision=max(2, column.precision or 0)).format(told.sd)}")
    return _shown_so(recipe, cell, told.partial)


def _shown_so(recipe: Recipe, cell: Cell, partial: bool) -> Cell:
    return replace(cell, partial=partial and recipe.daggers, origin=cell.origin if recipe.daggers else "")


def _emphasise(
    recipe: Recipe,
    figures: dict[str, Figures],
    columns: dict[str, Column],
    cells: dict[RowKey, dict[str, Cell]],
) -> None:
    """Bold is the best of a column with those that cannot be told from it, underlined the best of the rest."""
    for wish in recipe.columns:
        if wish.is_difference or not (recipe.bold or recipe.underline):
            continue
        best, second = figures[wish.name].best_and_second(cells)
        for keys, emphasis, wanted in ((best, "best", recipe.bold), (second, "second", recipe.underline)):
            for key in keys if wanted else ():
                cells[key][wish.name] = replace(cells[key][wish.name], emphasis=emphasis)


# --- the table --------------------------------------------------------------------------------------------------------


def _table(
    recipe: Recipe,
    rows: Sequence[tuple[RowKey, LanguageModel, str]],
    columns: dict[str, Column],
    cells: dict[RowKey, dict[str, Cell]],
    figures: dict[str, Figures],
) -> Table:
    labels = list(dict.fromkeys(group for _, _, group in rows)) or [""]
    if recipe.group_by == "access" and not any(label for label, _ in recipe.groups):
        labels.sort(key=[*ACCESS.values(), ""].index)
    groups = {label: Group(f"group-{number}", label) for number, label in enumerate(labels)}
    shown: list[Column] = [Column("model", "Model", "model")]
    order = [wish.name for wish in recipe.columns]
    counts = _counts(recipe, order, cells)
    made: dict[RowKey, list[Cell]] = {key: [_name(key, model)] for key, model, _ in rows}
    for name in order:
        shown.append(columns[name])
        for key, line in made.items():
            line.append(cells[key][name])
        if name in counts:
            column = Column(f"{name}-n", "n", "count", over=columns[name].over, help="What the figure is over.")
            shown.append(column)
            for key, line in made.items():
                n = cells[key][name].n
                line.append(Cell("–") if n is None else Cell(f"{n:,}", value=n))
    return Table(
        key="recipe",
        title=recipe.title,
        caption=recipe.caption,
        columns=tuple(shown),
        rows=tuple(
            Row(f"{model.slug} {key[1]}".strip(), tuple(made[key]), groups[group].key) for key, model, group in rows
        ),
        groups=tuple(groups.values()),
        notes=tuple(notes(recipe, list(figures.values()), cells)),
        facts=facts(list(figures.values())),
    )


def _name(key: RowKey, model: LanguageModel) -> Cell:
    return Cell(model.name, value=model.slug, href=model.get_absolute_url(), sub=key[1])


def _counts(recipe: Recipe, order: Iterable[str], cells: dict[RowKey, dict[str, Cell]]) -> set[str]:
    """The columns that get a column of counts: one is not repeated where the column after it has the same."""
    if not recipe.n:
        return set()
    out, before = set(), None
    for name in reversed([name for name in order if not recipe.columns[_place(recipe, name)].is_difference]):
        own = [line[name].n for line in cells.values()]
        if any(n is not None for n in own) and own != before:
            out.add(name)
        before = own
    return out
