"""Lists for staff: what was read and found. The ingest writes these; nobody edits them."""

from __future__ import annotations

from django.contrib import admin

from evaluation.admin import ReadOnly
from ingest.models import Finding, Pass, Source, SourceFile, SourcePlace, StoredSummary


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
