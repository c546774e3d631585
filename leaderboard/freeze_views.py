"""Pages and files of freezes, the button that makes one, citations and figures of a board."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from leaderboard.exports import EXPORTS, exported, file_name
from leaderboard.figures import FORMS, FigureError, ranked_of
from leaderboard.freeze_pages import diff_page, freeze_entry, freeze_page, freezes_page, frozen_table, release_entry
from leaderboard.freezing import NothingToFreeze, freeze
from leaderboard.models import Board, Freeze
from leaderboard.pictures import drawn, picture
from leaderboard.views import page, staff_only

SHORTEST = 8  # hexadecimal digits of a hash that may name a freeze


def _board(request: HttpRequest, slug: str) -> Board:
    return get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)


def _freeze(request: HttpRequest, address: str) -> Freeze:
    """The one visible freeze whose hash begins so; one whose content has not its hash is not shown at all."""
    found = list(Freeze.objects.visible_to(request.user).at(address)[:2]) if len(address) >= SHORTEST else []
    if len(found) != 1:
        raise Http404
    if not found[0].intact:
        raise RuntimeError(f"The content of freeze {found[0].digest} no longer has this hash.")
    return found[0]


def _file(content: bytes, content_type: str, name: str, *, inline: bool = False) -> HttpResponse:
    how = "inline" if inline else "attachment"
    headers = {"Content-Disposition": f'{how}; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=content_type, headers=headers)


def _asked_wrongly(error: Exception) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=400, content_type="text/plain; charset=utf-8")


@page
def board_figure(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """The board as a picture: `kind`, `width`, `by` (a dimension), `with` (another board)."""
    found = _board(request, slug)
    try:
        content = picture(found, request.user, request.GET.dict(), form)
    except FigureError as error:
        return _asked_wrongly(error)
    kind = request.GET.get("kind") or "dots"
    return _file(content, FORMS[form], file_name(f"{slug}-{kind}", form), inline=True)


@page
def board_cite(request: HttpRequest, slug: str) -> HttpResponse:
    entry = release_entry(_board(request, slug))
    return _file(entry.bibtex().encode(), "application/x-bibtex; charset=utf-8", f"{entry.key}.bib")


@never_cache
@require_POST
@staff_only
def board_freeze(request: HttpRequest, slug: str) -> HttpResponse:
    """Freeze what the public sees of a board; `private` is what staff see of it."""
    found = _board(request, slug)
    private = request.POST.get("private") == "1"
    try:
        made = freeze(found, request.user if private else None)
    except NothingToFreeze as error:
        messages.error(request, str(error))
        return redirect(found)
    return redirect(made)


@page
def freezes(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/freezes.html", freezes_page(request.user, request.GET.get("board", "")))


@page
def freeze_one(request: HttpRequest, address: str) -> HttpResponse:
    found = _freeze(request, address)
    if address != found.address:
        return redirect(found)
    return render(request, "leaderboard/freeze.html", freeze_page(found, request.user))


@page
def freeze_content(request: HttpRequest, address: str) -> HttpResponse:
    """The bytes that were hashed."""
    found = _freeze(request, address)
    return _file(found.content.encode(), "application/json", f"{found.address}.json")


@page
def freeze_table(request: HttpRequest, address: str, form: str) -> HttpResponse:
    found = _freeze(request, address)
    if form not in EXPORTS:
        raise Http404
    content = exported(frozen_table(found), form, bom=request.GET.get("bom") == "1")
    return _file(content, EXPORTS[form].content_type, f"{found.board}_{found.address}.{form}")


@page
def freeze_figure(request: HttpRequest, address: str, form: str) -> HttpResponse:
    """The frozen board as a ranked dot plot."""
    found = _freeze(request, address)
    try:
        content = drawn("dots", ranked_of(frozen_table(found)), request.GET.get("width") or "single", form)
    except FigureError as error:
        return _asked_wrongly(error)
    return _file(content, FORMS[form], f"{found.board}_{found.address}.{form}", inline=True)


@page
def freeze_cite(request: HttpRequest, address: str) -> HttpResponse:
    entry = freeze_entry(_freeze(request, address))
    return _file(entry.bibtex().encode(), "application/x-bibtex; charset=utf-8", f"{entry.key}.bib")


@page
def freeze_diff(request: HttpRequest, before: str, after: str) -> HttpResponseBase:
    context = diff_page(_freeze(request, before), _freeze(request, after))
    return render(request, "leaderboard/freeze_diff.html", context)
