"""Lists for staff. Facts (responses, item scores, vectors, scores) are too many and are never edited by hand."""

from __future__ import annotations

from django.contrib import admin

from evaluation.models import Benchmark, Evaluation, Evaluator, LanguageModel, ModelAlias, Release, Run, Split


class ReadOnly(admin.ModelAdmin):
    """What the ingest or the code writes: shown, not edited."""

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False


@admin.register(Benchmark)
class BenchmarkAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "item_access", "data_group", "licence"]
    list_select_related = ["data_group"]
    readonly_fields = ["slug", "name", "description", "licence", "attribution", "order"]  # declared by the code

    def has_add_permission(self, request):
        return False


@admin.register(Release)
class ReleaseAdmin(ReadOnly):
    list_display = ["name", "benchmark", "fingerprint"]
    list_filter = ["benchmark"]
    list_select_related = ["benchmark"]


@admin.register(Split)
class SplitAdmin(admin.ModelAdmin):
    list_display = ["name", "release", "expected_items", "rankable", "gold_missing"]
    list_filter = ["release__benchmark", "rankable", "gold_missing"]
    list_select_related = ["release__benchmark"]
    fields = ["release", "name", "expected_items", "rankable", "gold_missing", "fingerprint"]
    readonly_fields = ["release", "name", "expected_items", "gold_missing", "fingerprint"]

    def has_add_permission(self, request):
        return False


class AliasInline(admin.TabularInline):
    model = ModelAlias
    extra = 0


@admin.register(LanguageModel)
class LanguageModelAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "organisation", "access", "registered"]
    list_filter = ["registered", "access"]
    search_fields = ["name", "slug", "aliases__name"]
    inlines = [AliasInline]


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):
    """Rights and what was stated may be edited; what was read may not."""

    list_display = ["key", "model", "split", "mode", "state", "visibility", "owner", "team", "answered_at", "loaded_at"]
    list_filter = ["state", "visibility", "origin", "split__release__benchmark", "mode"]
    list_select_related = ["model", "split__release__benchmark", "owner", "team"]
    search_fields = ["key", "model__name", "model_name"]
    date_hierarchy = "loaded_at"
    autocomplete_fields = ["owner", "team"]
    readonly_fields = ["key", "split", "mode", "model", "model_name", "repeats", "state", "origin", "superseded_by"]
    readonly_fields += ["answered_at", "loaded_at", "why", "shots", "conversation_kept", "protocol", "counts"]
    fields = ["visibility", "owner", "team", *readonly_fields]

    def has_add_permission(self, request):
        return False


@admin.register(Evaluator)
class EvaluatorAdmin(ReadOnly):
    list_display = ["name", "benchmark", "headline", "fingerprint"]
    list_select_related = ["benchmark"]


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly):
    list_display = ["evaluator", "run", "made_at", "current"]
    list_filter = ["current", "evaluator"]
    list_select_related = ["evaluator", "run__split__release__benchmark"]
    search_fields = ["run__key"]
