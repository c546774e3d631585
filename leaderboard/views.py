"""The pages. Everything a person sees goes through `visible_to`; what they may not see is not there (404)."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import conditional_page, require_safe
from django.views.decorators.vary import vary_on_cookie

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Run
from ingest.models import Source
from leaderboard.boards import view_board, view_cards
from leaderboard.data.links import board_downloads
from leaderboard.findings import findings_csv, findings_page, wanted
from leaderboard.lists import model_page, models_page, shown_models, source_page, sources_page
from leaderboard.models import Board
from leaderboard.runs import run_page

PER_PAGE = 100


def page(view):
    """A page that may be asked for again cheaply: 304 while it has not changed, never kept for another person."""
    return require_safe(vary_on_cookie(cache_control(private=True, no_cache=True)(conditional_page(view))))


@page
def home(request: HttpRequest) -> HttpResponse:
    boards = list(Board.objects.visible_to(request.user).with_benchmark())
    cards = view_cards(boards, request.user)
    benchmarks = []
    for slug, spec in BENCHMARKS.items():
        own = [card for card in cards if card.board.benchmark.slug == slug]
        if own:
            benchmarks.append(
                {
                    "slug": slug,
                    "name": spec.name,
                    "description": spec.description,
                    "boards": [card for card in own if card.ranks],
                    "unranked": [card for card in own if not card.ranks],
                }
            )
    return render(request, "leaderboard/home.html", {"benchmarks": benchmarks})


@page
def board(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)
    view = view_board(found, request.user)
    if view is None:
        raise Http404
    context = {
        "view": view,
        "table": view.table,
        "spec": BENCHMARKS[found.benchmark.slug],
        "json_href": reverse("api:board", args=[slug]),
        **board_downloads(found, request.user),
        "crumbs": [
            ("Boards", reverse("home")),
            (view.table.title, reverse("home") + f"#{found.benchmark.slug}"),
            (view.subtitle, ""),
        ],
    }
    return render(request, "leaderboard/board.html", context)


@page
def run(request: HttpRequest, key: str) -> HttpResponse:
    runs = Run.objects.visible_to(request.user).select_related(
        "split__release__benchmark", "model", "superseded_by", "team"
    )
    found = get_object_or_404(runs, key=key)
    return render(request, "leaderboard/run.html", run_page(found, request.user))


@page
def models(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/models.html", models_page(request.user))


@page
def model(request: HttpRequest, slug: str) -> HttpResponse:
    merged = shown_models(request.user).filter(merges__source__slug=slug).first()
    if merged is not None:
        return redirect(merged)
    found = get_object_or_404(shown_models(request.user), slug=slug)
    return render(request, "leaderboard/model.html", model_page(found, request.user))


def staff_only(view):
    """For everybody else the page does not exist."""

    def guarded(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not (request.user.is_active and request.user.is_staff):
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@page
@staff_only
def sources(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/sources.html", sources_page())


@page
@staff_only
def source(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Source, pk=pk)
    return render(request, "leaderboard/source.html", source_page(found, request.GET))


@page
def findings(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/findings.html", findings_page(request.user, request.GET))


@require_safe
@vary_on_cookie
@cache_control(private=True, no_cache=True)
def findings_as_csv(request: HttpRequest) -> StreamingHttpResponse:
    """The findings that the page's filters show, all of them; `bom=1` puts a byte-order mark first, for spreadsheets."""
    lines = findings_csv(request.user, wanted(request.GET), bom=request.GET.get("bom") == "1")
    headers = {"Content-Disposition": 'attachment; filename="findings.csv"'}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503. Says nothing more: it needs no login."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return JsonResponse({"status": "the database is away"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        "User-agent: *\nDisallow: /admin/\nDisallow: /runs/\nDisallow: /sources/\nDisallow: /findings\n",
        content_type="text/plain",
    )
