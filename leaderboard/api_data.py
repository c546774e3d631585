"""The JSON API's files of data, as the pages give them."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import cache_control
from django.views.decorators.vary import vary_on_cookie
from ninja import Router
from ninja.decorators import decorate_view

from evaluation.models import Benchmark
from leaderboard import downloads
from leaderboard.data import items
from leaderboard.data.answers import items_download

router = Router(tags=["data"])
own = decorate_view(vary_on_cookie, cache_control(private=True, no_cache=True))
Form = Literal["jsonl", "parquet"]


@router.get("/runs/{key}/items", response=None, url_name="run-items")
@own
def run_items(request: HttpRequest, key: str, form: Form = "jsonl", evaluator: str = "") -> Any:
    """The item-level rows of a run; for those who may see the benchmark's items (else 403)."""
    return downloads.send_run_items(request, key, form, evaluator)


@router.get("/runs/{key}/eee", response=None, url_name="run-eee")
@own
def run_eee(request: HttpRequest, key: str, evaluator: str = "") -> Any:
    """The run as an Every Eval Ever document, schema 0.3."""
    return downloads.send_document(request, key, evaluator)


@router.get("/runs/{key}/eee/instances", response=None, url_name="run-eee-instances")
@own
def run_eee_instances(request: HttpRequest, key: str, evaluator: str = "") -> Any:
    """The instances of that document as JSON Lines; for those who may see the benchmark's items (else 403)."""
    return downloads.send_instances(request, key, evaluator)


@router.get("/boards/{slug}/items", response=None, url_name="board-items")
@own
def board_items(request: HttpRequest, slug: str, form: Form = "jsonl", evaluator: str = "") -> Any:
    """The item-level rows of the live runs of a board."""
    return downloads.send_board_items(request, slug, form, evaluator)


@router.get("/boards/{slug}/archive", response=None, url_name="board-archive")
@own
def board_archive(request: HttpRequest, slug: str) -> Any:
    """The board as one zip file: table, scores, manifests of its runs, checksums."""
    return downloads.send_archive(request, slug)


@router.get("/benchmarks/{slug}/items", response=None, url_name="benchmark-items")
@own
def benchmark_items(request: HttpRequest, slug: str, form: Form = "jsonl", evaluator: str = "") -> Any:
    """The item-level rows of all live runs of a benchmark that you see."""
    benchmark = get_object_or_404(Benchmark, slug=slug)
    rows = downloads.chosen_rows(items.of_benchmark, benchmark, request, evaluator)
    return items_download(rows, form, f"{slug}-items")
