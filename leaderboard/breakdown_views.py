"""The pages of breakdowns. A person's own view of a board, and what they may not see is not there (404)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from leaderboard.breakdown_pages import (
    breakdown_exported,
    breakdown_of,
    breakdown_page,
    by_href,
    chosen_of,
    facet_made,
    facet_page,
    first_dimension,
    standing_of,
)
from leaderboard.exports import EXPORTS, download
from leaderboard.facetboards import facet_of
from leaderboard.kept import kept
from leaderboard.mix import LONGEST, Mix, dimensions_for, from_csv
from leaderboard.mix_pages import MixBoard, margin_of, mix_address, mix_of, mix_page
from leaderboard.models import Board
from leaderboard.tables import Table
from leaderboard.views import page
from leaderboard.words import board_subtitle


def board_of(slug: str) -> Board:
    """The board by its address alone: each page here is not there without an evaluation on it that the person may see, and
    that gate (`Evaluation.objects.visible_to`) costs a tenth of asking for visible boards.
    """
    return get_object_or_404(Board.objects.with_benchmark(), slug=slug)


def shown(
    request: HttpRequest, board: Board, name: str, chosen: dict[str, str], template: str,
    context: Callable[[], dict[str, Any] | None], crumbs: list[tuple[str, str]],
) -> HttpResponse:  # fmt: skip
    """A page whose content is kept for as long as the board stays the same for this person."""

    def make() -> str | None:
        made = context()
        return None if made is None else render_to_string(template, {**made, "board": board})

    content = kept(board, request.user, name, chosen, make)
    if content is None:
        raise Http404
    above = [("Boards", reverse("home")), (board_subtitle(board), board.get_absolute_url()), *crumbs]
    where = {
        "content": mark_safe(content),  # noqa: S308 - made by the template above, which escapes
        "crumbs": above,
        "title": f"{crumbs[-1][0]} · {board.benchmark.name} {board_subtitle(board)}",
        "charts": chosen.get("view") == "chart",
    }
    return render(request, "leaderboard/part.html", where)


def exported(request: HttpRequest, table: Table | None, name: str) -> HttpResponse:
    form = request.GET["format"]
    if table is None or form not in EXPORTS:
        raise Http404
    return download(table, form, name, bom=request.GET.get("bom") == "1")


@page
def by_first(request: HttpRequest, slug: str) -> HttpResponse:
    board = board_of(slug)
    dimension = first_dimension(board, request.user)
    if dimension is None:
        raise Http404
    return redirect(by_href(board, dimension))


@page
def by(request: HttpRequest, slug: str, dimension: str) -> HttpResponse:
    board = board_of(slug)
    chosen = chosen_of(request.GET)
    if "format" in request.GET:
        found = breakdown_of(board, dimension, chosen, request.user)
        return exported(request, breakdown_exported(found, chosen) if found else None, f"{slug} by {dimension}")

    def context() -> dict[str, Any] | None:
        found = breakdown_of(board, dimension, chosen, request.user)
        return breakdown_page(found, chosen) if found else None

    crumbs = [(f"by {dimension.replace('_', ' ')}", "")]
    return shown(request, board, f"by/{dimension}", chosen, "leaderboard/_breakdown.html", context, crumbs)


@page
def facet(request: HttpRequest, slug: str, dimension: str, key: str) -> HttpResponse:
    board = board_of(slug)
    chosen = {name: value for name, value in chosen_of(request.GET).items() if name == "metric"}
    if "format" in request.GET:
        found = breakdown_of(board, dimension, chosen, request.user)
        made = facet_made(found, key) if found else None
        return exported(request, made.table if made else None, f"{slug} by {dimension} {key}")

    def context() -> dict[str, Any] | None:
        found = breakdown_of(board, dimension, chosen, request.user)
        one = facet_of(found, key) if found else None
        return facet_page(found, one, chosen) if found and one is not None else None

    crumbs = [(f"by {dimension.replace('_', ' ')}", by_href(board, dimension)), (key.rsplit("-", 1)[0], "")]
    return shown(request, board, f"by/{dimension}/{key}", chosen, "leaderboard/_facet.html", context, crumbs)


@page
def mix(request: HttpRequest, slug: str) -> HttpResponse:
    """The board over a person's own shares; a pasted CSV becomes an address."""
    board = board_of(slug)
    if "csv" in request.GET:
        return _mix_from(request, board, request.GET["csv"])
    given = {name: str(value) for name, value in request.GET.items() if "." in name or name in ("by", "margin")}
    if "format" in request.GET:
        standing = standing_of(board, request.user)
        return exported(request, mix_of(standing, given)[1].table if standing else None, f"{slug} case mix")

    def context() -> dict[str, Any] | None:
        standing = standing_of(board, request.user)
        return mix_page(standing, *mix_of(standing, given), given) if standing else None

    crumbs = [("my case mix", "")]
    return shown(request, board, "mix", given, "leaderboard/_mix.html", context, crumbs)


@csrf_exempt  # it changes nothing: it answers with an address
@require_POST
def mix_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """An uploaded CSV of shares as an address."""
    board = board_of(slug)
    file = request.FILES.get("file")
    content = file.read(4 * LONGEST + 1) if file else b""
    try:
        return _mix_from(request, board, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _mix_from(request, board, "", f"The file is no UTF-8 text: byte {error.start + 1} fits no character.")


def _mix_from(request: HttpRequest, board: Board, text: str, unreadable: str = "") -> HttpResponse:
    standing = standing_of(board, request.user)
    if standing is None:
        raise Http404
    margins = dimensions_for(standing)
    found = Mix(errors=[unreadable]) if unreadable else from_csv(text, margins)
    margin, errors = margin_of(request.GET if request.method == "GET" else request.POST)
    if not found.errors and not errors:
        return redirect(mix_address(standing, margins, found, margin))
    made = MixBoard(found, margin, None, "", [*found.errors, *errors], 0.0)
    context = {**mix_page(standing, margins, made, {}, text[:LONGEST]), "board": board}
    where = {
        "content": mark_safe(render_to_string("leaderboard/_mix.html", context)),  # noqa: S308 - escaped there
        "crumbs": [("Boards", reverse("home")), (board_subtitle(board), board.get_absolute_url()), ("my case mix", "")],
        "title": f"My case mix · {board.benchmark.name} {board_subtitle(board)}",
    }
    return render(request, "leaderboard/part.html", where, status=400)
