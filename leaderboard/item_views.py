"""Pages of single items, for those whom the benchmark shows its items; for everybody else they are not there (404)."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from evaluation.models import Benchmark, Item, Release, Run
from evaluation.querysets import item_gate
from leaderboard.itempages import case_figure, case_page, item_page
from leaderboard.responses import find_response, response_page
from leaderboard.runitems import run_items_page
from leaderboard.views import find_run, page_of_files


def _items(view):
    """A page that no robot keeps, follows or shows the beginning of."""

    def marked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["X-Robots-Tag"] = "noindex, nofollow, noarchive, nosnippet"
        return response

    return page_of_files(marked)


def _run(request: HttpRequest, key: str) -> Run:
    run = find_run(request, key)
    get_object_or_404(Benchmark.objects.filter(item_gate(request.user)), pk=run.split.release.benchmark_id)
    return run


def _release(request: HttpRequest, slug: str) -> Release:
    """The release that the address names, with its benchmark; only where a run of it is seen."""
    seen = Run.objects.visible_to(request.user).live().values("split__release")
    releases = Release.objects.filter(item_gate(request.user, "benchmark__"), benchmark__slug=slug, pk__in=seen)
    return get_object_or_404(releases.select_related("benchmark"), name=_asked(request, "release"))


def _asked(request: HttpRequest, name: str) -> str:
    value = request.GET.get(name, "")
    if not value or "\0" in value:  # PostgreSQL refuses to look for it
        raise Http404
    return value


@_items
def run_items(request: HttpRequest, key: str) -> HttpResponse:
    run = _run(request, key)
    context = run_items_page(run, request.user, request.GET)
    if context is None:
        raise Http404
    return render(request, "leaderboard/run_items.html", context)


@_items
def response(request: HttpRequest, key: str, ordinal: int) -> HttpResponse:
    run = _run(request, key)
    found = find_response(run, ordinal) if ordinal < 1 << 31 else None
    if found is None:
        raise Http404
    return render(request, "leaderboard/response.html", response_page(run, found, request.user, request.GET))


@_items
def item(request: HttpRequest, slug: str) -> HttpResponse:
    release = _release(request, slug)
    found = get_object_or_404(Item, release=release, key=_asked(request, "item"))
    found.release = release
    return render(request, "leaderboard/item.html", item_page(found, request.user, request.GET.get("page")))


@_items
def case(request: HttpRequest, slug: str) -> HttpResponse:
    context = case_page(_release(request, slug), _asked(request, "case"), request.user, request.GET.get("page"))
    if context is None:
        raise Http404
    return render(request, "leaderboard/case.html", context)


@_items
def figure(request: HttpRequest, slug: str) -> HttpResponse:
    """A picture of a case from beside its dataset, never from elsewhere."""
    number = _asked(request, "number")
    if not (number.isascii() and number.isdecimal() and len(number) < 6):
        raise Http404
    found = case_figure(_release(request, slug), _asked(request, "case"), _asked(request, "place"), int(number))
    if found is None:
        raise Http404
    data, kind = found
    return HttpResponse(data, content_type=kind, headers={"Content-Disposition": "inline"})
