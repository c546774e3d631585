"""The pages. Everything a person sees goes through `visible_to`; what they may not see is not there (404)."""

from __future__ import annotations

from urllib.parse import urlencode

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
from leaderboard.benchmarks import benchmark_page, release_page
from leaderboard.boards import other_boards, view_board, view_cards
from leaderboard.builder import base_of, recipe_as_file, tables_page
from leaderboard.compare import compare_page, entry_choices
from leaderboard.data.links import board_downloads
from leaderboard.evaluators import evaluators_page
from leaderboard.exports import EXPORTS, download, for_file
from leaderboard.findings import findings_csv, findings_page, wanted
from leaderboard.freeze_pages import release_entry
from leaderboard.how import how_page
from leaderboard.lists import model_and_relatives, model_page, models_page, shown_models, source_page, sources_page
from leaderboard.models import Board
from leaderboard.moves import moves_page
from leaderboard.pictures import figure_choices
from leaderboard.runs import run_page
from leaderboard.whole import keep_whole, packed
from leaderboard.wishes import Wish

PER_PAGE = 100


def _asked_again(view):
    return require_safe(vary_on_cookie(cache_control(private=True, no_cache=True)(conditional_page(view))))


def page(view):
    """A page of what stands in the database: 304 while it has not changed, kept whole for visitors, never for a person."""
    return _asked_again(keep_whole(packed(view)))


def page_of_files(view):
    """A page of what stands in files, which change while the database does not: made anew each time."""
    return _asked_again(packed(view))


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
    found = get_object_or_404(Board.objects.with_benchmark(), slug=slug)
    view = view_board(found, request.user, Wish.read(request.GET))
    if view is None:  # nothing on it that this person may see
        raise Http404
    asked = view.choice.wish.address() if view.choice and view.choice.wish else ""
    context = {
        "view": view,
        "table": view.table,
        "spec": BENCHMARKS[found.benchmark.slug],
        "choice": view.choice,
        "others": other_boards(found, request.user),
        "json_href": reverse("api:board", args=[slug]) + asked,
        "files": [(EXPORTS[form].label, reverse("board-file", args=[slug, form]) + asked) for form in ("csv", "tex")],
        "builder_href": f"{reverse('tables')}?{urlencode({'title': view.table.title, 'c1.board': slug})}",
        **board_downloads(found, request.user),
        "figures": figure_choices(found),
        "citation": release_entry(found),
        "entries": entry_choices(view),
        "crumbs": [
            ("Boards", reverse("home")),
            (view.table.title, reverse("home") + f"#{found.benchmark.slug}"),
            (view.subtitle, ""),
        ],
    }
    return render(request, "leaderboard/board.html", context)


@require_safe
@vary_on_cookie
@cache_control(private=True, no_cache=True)
def board_as_file(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """The table of the board's page as a file, as the address asks; `bom=1` puts a byte-order mark before CSV."""
    found = get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)
    view = view_board(found, request.user, Wish.read(request.GET))
    if view is None or form not in EXPORTS:
        raise Http404
    table = for_file(view, request.user, base_of(request))
    return download(table, form, slug, bom=request.GET.get("bom") == "1")


@require_safe
@vary_on_cookie
@cache_control(private=True, no_cache=True)
def tables(request: HttpRequest) -> HttpResponse:
    """The table builder: a form and what it makes; the address is the recipe, and with `format` a file."""
    if request.GET.get("format"):
        return recipe_as_file(request)
    return render(request, "leaderboard/tables.html", tables_page(request))


@page
def moves(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)
    if (context := moves_page(found, request.user, request.GET)) is None:
        raise Http404
    return render(request, "leaderboard/moves.html", context)


@page
def how(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in BENCHMARKS:
        raise Http404
    return render(request, "leaderboard/how.html", how_page(BENCHMARKS[slug]))


@page
def benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in BENCHMARKS:
        raise Http404
    return render(request, "leaderboard/benchmark.html", benchmark_page(BENCHMARKS[slug], request.user))


@page
def release(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    context = release_page(BENCHMARKS[slug], name, request.user) if slug in BENCHMARKS else None
    if context is None:
        raise Http404
    return render(request, "leaderboard/release.html", context)


def find_run(request: HttpRequest, key: str) -> Run:
    runs = Run.objects.visible_to(request.user).select_related(
        "split__release__benchmark", "model", "superseded_by", "team"
    )
    return get_object_or_404(runs, key=key)


@page
def run(request: HttpRequest, key: str) -> HttpResponse:
    return render(request, "leaderboard/run.html", run_page(find_run(request, key), request.user))


@page
def run_evaluators(request: HttpRequest, key: str) -> HttpResponse:
    context = evaluators_page(find_run(request, key), request.user, request.GET)
    if context is None:
        raise Http404
    return render(request, "leaderboard/evaluators.html", context)


@page
def compare(request: HttpRequest) -> HttpResponse:
    """Two entries or runs on the same items; counts for everybody, single items for whom the benchmark shows them."""
    return render(request, "leaderboard/compare.html", compare_page(request.user, request.GET))


@page
def models(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/models.html", models_page(request.user))


@page
def model(request: HttpRequest, slug: str) -> HttpResponse:
    found, relatives = model_and_relatives(slug, request.user)
    if found is None:
        return redirect(get_object_or_404(shown_models(request.user), merges__source__slug=slug))
    return render(request, "leaderboard/model.html", model_page(found, relatives, request.user))


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
        "User-agent: *\nDisallow: /admin/\nDisallow: /runs/\nDisallow: /sources/\nDisallow: /findings\nDisallow: /tables/\n"
        "Disallow: /items/\nDisallow: /cases/\nDisallow: /compare/\n",
        content_type="text/plain",
    )
