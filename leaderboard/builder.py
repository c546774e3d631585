"""The table builder: a form whose address is the recipe, what it makes, and the same as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from leaderboard.exports import EXPORTS, file_name
from leaderboard.models import Board
from leaderboard.recipes.build import Built, build
from leaderboard.recipes.outputs import as_file, as_macros, as_methods
from leaderboard.recipes.recipe import Recipe, RecipeError, from_query
from leaderboard.recipes.words import board_words
from leaderboard.scores import VARIANTS

# What the address holds beside the recipe.
OUTPUT = ("format", "bom")
FORMATS = {**{name: form.label for name, form in EXPORTS.items()}, "macros": "Macros", "methods": "Methods"}
LONGEST = 20_000  # characters of a query
_COLUMN_FIELDS = ("metric", "variant", "dimension", "facet", "evaluator", "source", "label", "over")
_PARTS = ("benchmark", "release", "split", "mode", "shots", "conversation_kept")


def base_of(request: HttpRequest) -> str:
    """`https://host`, as the settings say or as the server was asked."""
    return settings.ADDRESS or request.build_absolute_uri("/").rstrip("/")


def recipe_of(request: HttpRequest) -> Recipe:
    """The recipe that the address holds. Raises RecipeError."""
    if len(request.META.get("QUERY_STRING", "")) > LONGEST:
        raise RecipeError(
            "the address", [(0, "", f"is longer than {LONGEST:,} characters: export from a file instead")]
        )
    pairs = [(key, value) for key, values in request.GET.lists() for value in values if key not in OUTPUT]
    return from_query(pairs)


def recipe_as_file(request: HttpRequest) -> HttpResponse:
    """The table of the address as a download: 400 and the reason in words for a recipe that does not hold."""
    form = request.GET.get("format", "")
    if form not in FORMATS:
        raise Http404
    try:
        base = base_of(request)
        built = build(recipe_of(request), request.user, base)
    except RecipeError as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    seen = "public" if request.user.is_anonymous else f"the person {request.user.get_username()}"
    if form in EXPORTS:
        content = as_file(built, form, seen=seen, base=base, bom=request.GET.get("bom") == "1")
        content_type = EXPORTS[form].content_type
        name = file_name(built.recipe.title, form)
    else:
        content = (as_macros if form == "macros" else as_methods)(built, seen=seen, base=base)
        content_type = EXPORTS["tex"].content_type
        name = file_name(f"{built.recipe.title} {form}", "tex")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=content_type, headers=headers)


def tables_page(request: HttpRequest) -> dict[str, Any]:
    """The context of the page: the form with what was given, the table or what is wrong, and its downloads."""
    given = {key: request.GET.getlist(key) for key in request.GET if key not in OUTPUT}
    recipe, built, problems = None, None, []
    if any(key.startswith("c") and "." in key and any(values) for key, values in given.items()):
        try:
            recipe = recipe_of(request)
            built = build(recipe, request.user, base_of(request))
        except RecipeError as error:
            problems = [f"{where} {message}".strip() for _, where, message in error.problems]
    boards = list(Board.objects.visible_to(request.user).with_benchmark())
    query = built.recipe.query if built else ""
    return {
        "built": built,
        "table": built.table if built else None,
        "problems": problems,
        "fields": _fields(given),
        "columns": _columns(given, boards, built),
        "choices": {
            "metric": sorted(
                {metric for spec in BENCHMARKS.values() for one in spec.evaluators for metric in one.metrics}
            ),
            "variant": sorted(filter(None, VARIANTS)),
            "dimension": sorted({dimension for spec in BENCHMARKS.values() for dimension in spec.dimensions}),
        },
        "downloads": [(label, f"{reverse('tables')}?{query}&format={form}") for form, label in FORMATS.items()],
        "csv_with_mark": f"{reverse('tables')}?{query}&format=csv&bom=1",
        "api": f"{reverse('api:tables')}?{query}",
        "crumbs": [],
    }


def _fields(given: Mapping[str, list[str]]) -> dict[str, Any]:
    """What stands in the form beside the columns; lists for what may be chosen several times."""
    fields: dict[str, Any] = {key: values[-1] if values else "" for key, values in given.items() if "." not in key}
    selects = {
        "group_by": ("none", ("none", "access", "organisation", "family")),
        "sort": ("value", ("value", "source", "name")),
        "figures": ("all", ("all", "recomputed", "reported")),
        "show": ("percent", ("percent", "fraction")),
        "uncertainty": ("none", ("none", "interval", "sd")),
        "n": ("no", ("yes", "no")),
        "bold": ("yes", ("yes", "no")),
        "underline": ("no", ("yes", "no")),
        "daggers": ("yes", ("yes", "no")),
        "partial": ("yes", ("yes", "no")),
        "wide": ("no", ("yes", "no")),
    }
    words = {
        "group_by": "Group by",
        "sort": "Order",
        "figures": "Figures",
        "show": "Show as",
        "uncertainty": "Uncertainty",
        "n": "Counts (n)",
        "bold": "Bold best",
        "underline": "Underline second",
        "daggers": "Daggers",
        "partial": "Partial runs",
        "wide": "Two columns wide",
    }
    fields["selects"] = [
        (name, words[name], [(choice, choice == fields.get(name, default)) for choice in choices])
        for name, (default, choices) in selects.items()
    ]
    fields["access_choices"] = [
        (choice, choice in given.get("access", ())) for choice in ("proprietary", "open", "medical", "not stated")
    ]
    fields["named"] = [
        (key, words, given.get(key, [])) for key, words in (("organisation", "Organisation"), ("family", "Family"))
    ]
    return fields


def _columns(given: Mapping[str, list[str]], boards: list[Board], built: Built | None) -> list[dict[str, Any]]:
    """The columns of the form: those that were given, then an empty one."""
    numbers: dict[int, dict[str, str]] = {}
    for key, values in given.items():
        number, dot, name = key[1:].partition(".")
        if key.startswith("c") and dot and number.isdecimal() and number.isascii() and 0 < int(number) < 100:
            numbers.setdefault(int(number), {})[name] = values[-1]
    filled = [numbers[number] for number in sorted(numbers) if any(value.strip() for value in numbers[number].values())]
    out: list[dict[str, Any]] = []
    names: list[str] = []
    for place, column in enumerate([*filled, {}], start=1):
        chosen, parts = column.get("board", ""), {key: column[key] for key in _PARTS if column.get(key)}
        if built and place <= len(built.figures) and (found := built.figures[place - 1]) is not None:
            chosen, parts = found.board.slug, {}  # the parts have named it
        out.append(
            {
                "prefix": f"c{place}",
                "name": column.get("name", ""),
                "boards": [(board.slug, board_words(board), board.slug == chosen) for board in boards],
                "parts": parts,
                "fields": [(name, column.get(name, "")) for name in _COLUMN_FIELDS],
                "of": [(name, name == column.get("of")) for name in names],
                "minus": [(name, name == column.get("minus")) for name in names],
                "new": not column,
                "without": built.recipe.without(place - 1) if built and column and len(filled) > 1 else "",
            }
        )
        if not column.get("of"):
            names.append(column.get("name") or f"c{place}")
    return out
