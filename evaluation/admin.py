"""Lists for staff. Facts (responses, item scores, vectors, scores) are too many and are never edited by hand."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from evaluation.merging import CannotMerge, merge, pointing_to, unmerge
from evaluation.models import (
    Benchmark,
    Evaluation,
    Evaluator,
    LanguageModel,
    ModelAlias,
    ModelMerge,
    Release,
    Run,
    Split,
)


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


class TargetForm(forms.Form):
    """Into which model the chosen ones are merged, and why."""

    target = forms.ModelChoiceField(LanguageModel.objects.none(), label="Merge into")
    why = forms.CharField(required=False, max_length=500, label="Why", help_text="Kept with the merge.")

    def __init__(self, sources: QuerySet[LanguageModel], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["target"].queryset = LanguageModel.objects.unmerged().exclude(pk__in=sources)  # type: ignore[attr-defined]


@admin.register(LanguageModel)
class LanguageModelAdmin(admin.ModelAdmin):
    list_display = ("name", "slug", "organisation", "family", "access", "released_on", "registered", "merged_into")
    list_filter = ("registered", "access", "family")
    autocomplete_fields = ("predecessor",)
    list_select_related = ("merge__target",)
    search_fields = ("name", "slug", "aliases__name")
    inlines = (AliasInline,)
    actions = ("merge_into",)

    @admin.display(description="merged into")
    def merged_into(self, model: LanguageModel) -> str:
        return model.merge.target.name if hasattr(model, "merge") else ""

    def has_delete_permission(self, request: HttpRequest, obj: LanguageModel | None = None) -> bool:
        # deleting would take reported figures and names along: merge instead
        return False

    @admin.action(description="Merge into …", permissions=["change"])
    def merge_into(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> TemplateResponse | None:
        """Asks for the target and shows what would move; does it when that page is sent."""
        sent = request.POST if "apply" in request.POST else None
        form = TargetForm(queryset, sent)
        if sent is not None and form.is_valid():
            for source in queryset:
                self._merge(request, source, form.cleaned_data["target"], form.cleaned_data["why"])
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Merge models",
            "opts": self.opts,
            "form": form,
            "sources": [
                {
                    "model": model,
                    "aliases": [alias.name for alias in model.aliases.all()],
                    "moves": pointing_to(model),
                }
                for model in queryset.prefetch_related("aliases")
            ],
        }
        return TemplateResponse(request, "admin/evaluation/languagemodel/merge.html", context)

    def _merge(self, request: HttpRequest, source: LanguageModel, target: LanguageModel, why: str) -> None:
        try:
            done = merge(source, target, request.user, why)  # type: ignore[arg-type]
        except CannotMerge as error:
            self.message_user(request, f"Nothing was done for {source}: {error}.", messages.ERROR)
            return
        moved = sum(map(len, done.moved.values()))
        self.log_change(request, target, f"Merged {source} into it")
        text = f"{source} is {target} now: {moved} entries moved. Take it back under “Model merges”."
        self.message_user(request, text, messages.SUCCESS)


@admin.register(ModelMerge)
class ModelMergeAdmin(ReadOnly):
    list_display = ("source", "target", "by", "made_at", "why")
    list_select_related = ("source", "target", "by")
    actions = ("take_back",)

    def has_delete_permission(self, request: HttpRequest, obj: ModelMerge | None = None) -> bool:
        return False

    def has_unmerge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("evaluation.change_languagemodel")

    @admin.action(description="Take back: two models again", permissions=["unmerge"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[ModelMerge]) -> None:
        for done in queryset:
            self.log_change(request, done.target, f"{done.source} taken out of it again")
            unmerge(done)
            text = f"{done.source} and {done.target} are two models again."
            self.message_user(request, text, messages.SUCCESS)


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
    readonly_fields += ["answered_at", "loaded_at", "why", "stated", "shots", "conversation_kept"]
    readonly_fields += ["protocol", "counts"]
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
