"""Lists for staff: boards with their policy, and reported figures."""

from __future__ import annotations

from django.contrib import admin

from evaluation.admin import ReadOnly
from leaderboard.models import Board, ReportedScore, ReportSource


@admin.register(Board)
class BoardAdmin(admin.ModelAdmin):
    """A board is opened by its first run; staff set the policy."""

    list_display = ["slug", "split", "mode", "metric", "min_coverage"]
    list_filter = ["split__release__benchmark", "mode"]
    list_select_related = ["split__release__benchmark"]
    search_fields = ["slug"]
    readonly_fields = ["slug", "split", "mode", "shots", "conversation_kept", "metric"]

    def has_add_permission(self, request):
        return False


@admin.register(ReportSource)
class ReportSourceAdmin(ReadOnly):
    list_display = ["key", "text", "url", "retrieved", "commit"]
    readonly_fields = ["key", "text", "url", "retrieved", "commit"]


@admin.register(ReportedScore)
class ReportedScoreAdmin(ReadOnly):
    list_display = ["model", "group", "split", "mode", "metric", "dimension", "facet", "printed", "source", "on_board"]
    list_filter = ["split__release__benchmark", "mode", "dimension", "on_board", "human", "source"]
    list_select_related = ["model", "split__release__benchmark", "source"]
    search_fields = ["model__name", "group", "facet"]
