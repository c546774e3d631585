"""Lists for staff: what was read and found. The ingest writes these; nobody edits them."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from evaluation.admin import ReadOnly, RunAdmin
from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Run
from ingest.models import Finding, GoldPlace, Pass, Source, SourceFile, SourcePlace, StoredSummary
from ingest.rescore import CannotRescore, rescore

# A page waits for them; more is work for `manage.py rescore`.
MOST_AT_ONCE = 50


@admin.action(description="Score again with the rules and gold of now", permissions=["change"])
def score_again(model_admin: RunAdmin, request: HttpRequest, queryset: QuerySet[Run]) -> None:
    """A new evaluation beside the old one for each chosen run, also where nothing is due."""
    if queryset.count() > MOST_AT_ONCE:
        text = f"Choose at most {MOST_AT_ONCE} runs here; `manage.py rescore` scores any number."
        model_admin.message_user(request, text, messages.ERROR)
        return
    for run in queryset.select_related("split__release__benchmark"):
        try:
            made = rescore(run, BENCHMARKS[run.split.release.benchmark.slug].standing_evaluators)
        except CannotRescore as error:
            model_admin.message_user(request, f"{run.key} {run}: {error}.", messages.ERROR)
            continue
        names = ", ".join(evaluation.evaluator.name for evaluation in made)
        model_admin.log_change(request, run, f"Scored again by {names}")
        model_admin.message_user(request, f"{run.key} {run}: scored again by {names}.", messages.SUCCESS)


RunAdmin.actions = [score_again]  # type: ignore[misc]


class PlaceInline(admin.TabularInline):
    model = SourcePlace
    extra = 0


@admin.register(Source)
class SourceAdmin(admin.ModelAdmin):
    """The place on a host may be edited: a moved tree stays the same source."""

    list_display = ["name", "created_at"]
    inlines = [PlaceInline]

    def has_add_permission(self, request):
        return False


@admin.register(Pass)
class PassAdmin(ReadOnly):
    list_display = ["source", "started_at", "finished_at", "files_seen", "rows_read", "rows_loaded", "error"]
    list_filter = ["source"]
    list_select_related = ["source"]


@admin.register(SourceFile)
class SourceFileAdmin(ReadOnly):
    list_display = ["path", "source", "kind", "fate", "run", "size"]
    list_filter = ["source", "kind", "fate"]
    list_select_related = ["source", "run__split__release__benchmark"]
    search_fields = ["path", "physical"]


@admin.register(GoldPlace)
class GoldPlaceAdmin(ReadOnly):
    list_display = ["path", "split", "host", "place", "size", "modified_at"]
    list_filter = ["split__release__benchmark", "host"]
    list_select_related = ["split__release__benchmark"]
    search_fields = ["path", "place"]


@admin.register(Finding)
class FindingAdmin(ReadOnly):
    list_display = ["severity", "code", "path", "line", "message", "run"]
    list_filter = ["severity", "code", "source"]
    list_select_related = ["run__split__release__benchmark"]
    search_fields = ["path", "message"]


@admin.register(StoredSummary)
class StoredSummaryAdmin(ReadOnly):
    list_display = ["path", "form", "agrees", "largest_difference", "run"]
    list_filter = ["agrees", "form"]
    list_select_related = ["run__split__release__benchmark"]
