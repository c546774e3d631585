"""The JSON API of the hall: the same tables as the pages, behind the same gate. Read-only."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page
from django.views.decorators.vary import vary_on_cookie
from ninja import Router, Schema
from ninja.decorators import decorate_view
from ninja.errors import HttpError

from evaluation.models import ModelAlias, Run
from leaderboard.boards import view_board, view_cards
from leaderboard.builder import base_of, recipe_as_file, recipe_of
from leaderboard.evaluators import evaluators_document
from leaderboard.findings import findings_document
from leaderboard.lists import shown_models
from leaderboard.models import Board
from leaderboard.recipes.build import build
from leaderboard.recipes.recipe import RecipeError
from leaderboard.runs import run_document
from leaderboard.wishes import Wish

router = Router()

# 304 while nothing has changed; an answer is never kept for another person.
revalidated = decorate_view(vary_on_cookie, cache_control(private=True, no_cache=True), conditional_page)


class BoardFacts(Schema):
    """The comparability key of a board and the metric that ranks it."""

    slug: str
    benchmark: str
    release: str
    split: str
    mode: str
    shots: int | None
    conversation_kept: bool | None
    metric: str
    invented: bool
    rankable: bool
    page: str


class BoardCard(BoardFacts):
    """`leader` is empty where nobody is ranked; `updated` is the day of the newest answers."""

    leader: str
    models: int
    updated: str | None
    origin_note: str
    api: str


class ColumnOut(Schema):
    key: str
    label: str
    kind: str
    unit: str
    direction: str
    precision: int | None
    metric: str
    evaluator: str
    items: str
    over: str
    over_help: str
    help: str


class CellOut(Schema):
    """`text` as the page prints it, `value` unrounded; what is not set is left out."""

    text: str
    value: float | str | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    n_answered: int | None = None
    rank: int | None = None
    tie: bool = False
    emphasis: str = ""
    partial: bool = False
    origin: str = ""
    note: str = ""
    sub: str = ""
    href: str = ""


class RowOut(Schema):
    key: str
    group: str
    cells: dict[str, CellOut]


class GroupOut(Schema):
    key: str
    label: str
    note: str


class BandOut(Schema):
    label: str
    low: float
    high: float
    n: int | None
    note: str


class FactOut(Schema):
    label: str
    value: str


class TableOut(Schema):
    """The table object of the page: same rows, same order, same digits."""

    key: str
    title: str
    caption: str
    columns: list[ColumnOut]
    groups: list[GroupOut]
    rows: list[RowOut]
    bands: list[BandOut]
    notes: list[str]
    facts: list[FactOut]


class BoardOut(Schema):
    board: BoardFacts
    summary: str
    chosen: list[str]
    table: TableOut


class RecipeTableOut(Schema):
    """`recipe` as a YAML file would say it; `page` is the address of the table builder with it."""

    recipe: dict[str, Any]
    page: str
    table: TableOut


class SummaryOut(Schema):
    path: str
    form: str
    agrees: bool | None
    largest_difference: float | None


class FileOut(Schema):
    """`physical` and a link's target are null where they lie outside the tree and you may not see them."""

    path: str
    physical: str | None
    chain: list[tuple[str | None, str | None]]
    sha256: str
    size: int
    modified_at: datetime | None
    repeats: list[int]
    lines: int | None
    blank: int | None
    parsed: int | None
    malformed: int | None
    rows: int | None


class LabelsFileOut(Schema):
    name: str
    sha256: str


class LabellingOut(Schema):
    """A dimension of the release that labels files added to what the gold says."""

    dimension: str
    files: list[LabelsFileOut]


class ScoreOut(Schema):
    """`repeat` null is over all repeats; `n` is the denominator; fractions are 0..1."""

    evaluator: str
    repeat: int | None
    metric: str
    variant: str
    dimension: str
    facet: str
    value: float | None
    n: int
    n_answered: int
    ci_low: float | None
    ci_high: float | None


class RunOut(Schema):
    """The entry of `manage.py ingest --json` with the run's provenance and scores. `state`: live, superseded, archived."""

    id: str
    benchmark: str
    release: str
    split: str
    mode: str
    model: str
    model_slug: str
    model_known: bool
    repeats: list[int]
    path: str | None
    physical: str | None
    state: str
    superseded_by: str | None
    rows: int
    parsed: int
    malformed: int
    recovered: int
    unique_items: int
    expected_items: int
    missing: int
    extra: int
    duplicates_same: int
    duplicates_conflicting: int
    rankable: bool
    summaries: list[SummaryOut]
    origin: str
    visibility: str
    shots: int | None
    conversation_kept: bool | None
    protocol: dict[str, Any]
    why: str
    stated: dict[str, Any]
    answered_at: datetime | None
    loaded_at: datetime
    labels: list[LabellingOut]
    files: list[FileOut]
    scores: list[ScoreOut]


class HeadlineOut(Schema):
    """`value` is unrounded; `n` is the denominator."""

    evaluator: str
    metric: str
    value: float | None
    n: int


class TallyOut(Schema):
    """Items that both count right, only one, neither; over all repeats together."""

    items: int
    both: int
    only_first: int
    only_second: int
    neither: int


class DifferenceOut(Schema):
    """An answer: what each evaluator took, by which rule, to what outcome. `way`: who counts it right."""

    item: str
    repeat: int
    way: str
    first: Any
    first_rule: str
    first_outcome: str
    second: Any
    second_rule: str
    second_outcome: str


class BesideOut(Schema):
    """`counts` is null where the two do not rest on the same items; `answers` too where you may not see items."""

    first: HeadlineOut
    second: HeadlineOut
    counts: TallyOut | None
    differing_answers: int | None
    page: int | None
    pages: int | None
    answers: list[DifferenceOut] | None


class EvaluatorsOut(Schema):
    """The evaluators with a current evaluation of the run, the board's first, and that one beside each other one."""

    run: str
    evaluators: list[str]
    pairs: list[BesideOut]


class AliasOut(Schema):
    kind: str
    name: str


class ModelOut(Schema):
    slug: str
    name: str
    organisation: str
    access: str
    registered: bool
    aliases: list[AliasOut]
    page: str


class MeaningOut(Schema):
    """A code in words: what it means, what was done, what a person can do."""

    title: str
    means: str
    done: str
    can: str


class FindingOut(Schema):
    """`offset` is in bytes of the unpacked file; `source` is null but for staff; `path` is empty where it is not shown."""

    severity: str
    code: str
    source: int | None
    run: str | None
    path: str
    line: int | None
    offset: int | None
    message: str


class FindingsOut(Schema):
    """One page. The counts say how many findings each severity and code would show beside the other filters."""

    count: int
    page: int
    pages: int
    severities: dict[str, int]
    codes: dict[str, int]
    meanings: dict[str, MeaningOut]
    findings: list[FindingOut]


@router.get("/boards", response=list[BoardCard], url_name="boards")
@revalidated
def boards(request: HttpRequest) -> Any:
    """The boards on which you see something."""
    visible = Board.objects.visible_to(request.user).with_benchmark()
    return [
        {
            **_facts(card.board, card.invented),
            "leader": card.leader,
            "models": card.n_models,
            "updated": card.updated or None,
            "origin_note": card.origin_note,
            "api": reverse("api:board", args=[card.board.slug]),
        }
        for card in view_cards(list(visible), request.user)
    ]


@router.get("/boards/{slug}", response=BoardOut, exclude_unset=True, url_name="board")
@revalidated
def board(request: HttpRequest, slug: str) -> Any:
    """One board: the table of its page. The page's choices work here too: `q`, `access`, `organisation`, `family`, `size`,
    `released` (before, after), `complete=1`, `facet=dimension:name` (repeatable), `hide` (a column, repeatable), `together=1`,
    `sort` and `down=1`.
    """
    found = get_object_or_404(Board.objects.visible_to(request.user).with_benchmark(), slug=slug)
    view = view_board(found, request.user, Wish.read(request.GET))
    if view is None:
        raise Http404
    return {
        "board": _facts(found, view.invented),
        "summary": view.summary,
        "chosen": view.chosen,
        "table": view.table.as_dict(),
    }


@router.get("/tables", response=RecipeTableOut, exclude_unset=True, url_name="tables")
@revalidated
def tables(request: HttpRequest) -> Any:
    """The table of a recipe: the same fields as in the address of the page /tables/. With `format`, that file."""
    if request.GET.get("format"):
        return recipe_as_file(request)
    try:
        built = build(recipe_of(request), request.user, base_of(request))
    except RecipeError as error:
        raise HttpError(400, str(error)) from error
    page = f"{reverse('tables')}?{built.recipe.query}"
    return {"recipe": built.recipe.document, "page": page, "table": built.table.as_dict()}


@router.get("/runs/{key}", response=RunOut, url_name="run")
@revalidated
def run(request: HttpRequest, key: str) -> Any:
    """One run by its id: counts, files, summaries and all current scores."""
    runs = Run.objects.visible_to(request.user).select_related("split__release__benchmark", "model", "superseded_by")
    return run_document(get_object_or_404(runs, key=key), request.user)


@router.get("/runs/{key}/evaluators", response=EvaluatorsOut, url_name="run-evaluators")
@revalidated
def run_evaluators(request: HttpRequest, key: str, page: int = 1) -> Any:
    """The board's evaluator beside each other one on this run: headlines, counts, and the answers that differ."""
    runs = Run.objects.visible_to(request.user).select_related("split__release__benchmark")
    return evaluators_document(get_object_or_404(runs, key=key), request.user, page)


@router.get("/models", response=list[ModelOut], url_name="models")
@revalidated
def models(request: HttpRequest) -> Any:
    """The models of which you see a run or a reported figure, with their exact other names."""
    return [
        {
            "slug": model.slug,
            "name": model.name,
            "organisation": model.organisation,
            "access": model.access,
            "registered": model.registered,
            "aliases": [{"kind": alias.kind, "name": alias.name} for alias in model.aliases.all()],
            "page": model.get_absolute_url(),
        }
        for model in shown_models(request.user).prefetch_related(
            Prefetch("aliases", ModelAlias.objects.visible_to(request.user))
        )
    ]


@router.get("/findings", response=FindingsOut, url_name="findings")
@revalidated
def findings(
    request: HttpRequest, severity: str = "", code: str = "", source: str = "", run: str = "", page: int = 1
) -> Any:
    """What was found in the runs that you see, a hundred a page, the gravest first; filtered as on the page."""
    chosen = {"severity": severity, "code": code, "source": source, "run": run}
    return findings_document(request.user, chosen, page)


def _facts(board: Board, invented: bool) -> dict[str, Any]:
    return {
        "slug": board.slug,
        "benchmark": board.benchmark.slug,
        "release": board.split.release.name,
        "split": board.split.name,
        "mode": board.mode,
        "shots": board.shots,
        "conversation_kept": board.conversation_kept,
        "metric": board.metric,
        "invented": invented,
        "rankable": board.split.rankable,
        "page": board.get_absolute_url(),
    }
