"""Pages' downloads of data. What a person may not see is not there (404); items that are for others are refused (403)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_cookie

from evaluation.models import Evaluation, Run
from leaderboard.data import eee, items
from leaderboard.data.answers import ITEM_FORMS, file_download, items_download, named
from leaderboard.data.archive import as_json, write_archive
from leaderboard.models import Board

Choose = Callable[[Any, Any, str], items.ItemRows]


def download(view):
    return require_safe(vary_on_cookie(cache_control(private=True, no_cache=True)(view)))


def visible_run(request: HttpRequest, key: str) -> Run:
    runs = Run.objects.visible_to(request.user).select_related("split__release__benchmark", "model", "superseded_by")
    return get_object_or_404(runs, key=key)


def visible_board(request: HttpRequest, slug: str) -> Board:
    return get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)


@download
def run_items(request: HttpRequest, key: str, form: str) -> HttpResponseBase:
    return send_run_items(request, key, form)


@download
def board_items(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    return send_board_items(request, slug, form)


@download
def board_archive(request: HttpRequest, slug: str) -> HttpResponseBase:
    return send_archive(request, slug)


@download
def run_document(request: HttpRequest, key: str) -> HttpResponseBase:
    return send_document(request, key)


@download
def run_instances(request: HttpRequest, key: str) -> HttpResponseBase:
    return send_instances(request, key)


def send_run_items(request: HttpRequest, key: str, form: str, evaluator: str = "") -> HttpResponseBase:
    run = visible_run(request, key)
    rows = chosen_rows(items.of_run, run, request, evaluator)
    return items_download(rows, form, f"{run_name(run)}-items")


def send_board_items(request: HttpRequest, slug: str, form: str, evaluator: str = "") -> HttpResponseBase:
    rows = chosen_rows(items.of_board, visible_board(request, slug), request, evaluator)
    return items_download(rows, form, f"{slug}-items")


def send_archive(request: HttpRequest, slug: str) -> HttpResponseBase:
    board = visible_board(request, slug)

    def write(path: Path) -> None:
        if not write_archive(board, request.user, path):
            raise Http404

    return file_download(write, "application/zip", slug, "zip")


def send_document(request: HttpRequest, key: str, evaluator: str = "") -> HttpResponseBase:
    evaluation = _evaluation(request, key, evaluator)
    content = as_json(eee.document(evaluation, request.user))
    return named(HttpResponse(content, content_type="application/json"), f"{run_name(evaluation.run)}-eee", "json")


def send_instances(request: HttpRequest, key: str, evaluator: str = "") -> HttpResponseBase:
    evaluation = _evaluation(request, key, evaluator)
    items.check_items(evaluation.run.split.release.benchmark, request.user)
    lines = eee.instances_for(evaluation, request.user)
    answer = StreamingHttpResponse(lines, content_type=ITEM_FORMS["jsonl"])
    return named(answer, f"{run_name(evaluation.run)}-eee-instances", "jsonl")


def _evaluation(request: HttpRequest, key: str, evaluator: str) -> Evaluation:
    try:
        return eee.evaluation_of(visible_run(request, key), evaluator or request.GET.get("evaluator", ""))
    except LookupError as error:
        raise Http404(error.args[0]) from error


def run_name(run: Run) -> str:
    """How a run's files begin."""
    return f"{run.split.release.benchmark.slug}-{run.split.name}-{run.mode}-{run.model.slug}-{run.key}"


def chosen_rows(choose: Choose, what: Any, request: HttpRequest, evaluator: str) -> items.ItemRows:
    try:
        return choose(what, request.user, evaluator or request.GET.get("evaluator", ""))
    except LookupError as error:
        raise Http404(error.args[0]) from error
