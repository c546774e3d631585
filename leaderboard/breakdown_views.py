"""The pages of breakdowns. A person's own view of a board, and what they may not see is not there (404)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe

from leaderboard.boards import board_subtitle
from leaderboard.breakdown_pages import (
    breakdown_exported,
    breakdown_of,
    breakdown_page,
    by_href,
    chosen_of,
    facet_made,
    facet_page,
    first_dimension,
)
from leaderboard.exports import EXPORTS, download
from leaderboard.facetboards import facet_of
from leaderboard.kept import kept
from leaderboard.models import Board
from leaderboard.tables import Table
from leaderboard.views import page


def board_of(request: HttpRequest, slug: str) -> Board:
    return get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)


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
    }
    return render(request, "leaderboard/part.html", where)


def exported(request: HttpRequest, table: Table | None, name: str) -> HttpResponse:
    form = request.GET["format"]
    if table is None or form not in EXPORTS:
        raise Http404
    return download(table, form, name, bom=request.GET.get("bom") == "1")


@page
def by_first(request: HttpRequest, slug: str) -> HttpResponse:
    board = board_of(request, slug)
    dimension = first_dimension(board, request.user)
    if dimension is None:
        raise Http404
    return redirect(by_href(board, dimension))


@page
def by(request: HttpRequest, slug: str, dimension: str) -> HttpResponse:
    board = board_of(request, slug)
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
    board = board_of(request, slug)
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
