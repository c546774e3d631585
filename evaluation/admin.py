"""The admin of models: their names, and two that are one merged or taken apart again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from evaluation.merging import CannotMerge, merge, pointing_to, unmerge
from evaluation.models import LanguageModel, ModelAlias, ModelMerge


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
    list_display = ("name", "slug", "organisation", "access", "registered", "merged_into")
    list_filter = ("registered", "access")
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
class ModelMergeAdmin(admin.ModelAdmin):
    list_display = ("source", "target", "by", "made_at", "why")
    list_select_related = ("source", "target", "by")
    actions = ("take_back",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ModelMerge | None = None) -> bool:
        return False

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
