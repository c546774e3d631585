"""Two names, one model: staff merge what no rule may merge, and take it back with nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.apps import apps
from django.db import models, transaction

from evaluation.models import LanguageModel, ModelMerge, Run

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class CannotMerge(ValueError):
    """The two cannot be merged; the text says why."""


@transaction.atomic
def merge(source: LanguageModel, target: LanguageModel, by: User | None, why: str = "") -> ModelMerge:
    """Everything that points to `source` points to `target` from now on: aliases, runs, figures, earlier merges.

    `source` itself stays as it is, without anything, and is shown nowhere; facts of `target` do not change. Runs keep the
    name that their tree gives. Raises CannotMerge.
    """
    if source.pk == target.pk:
        raise CannotMerge(f"{source} is the same model as {target}")
    held = LanguageModel.objects.select_for_update().in_bulk([source.pk, target.pk])
    for model in held.values():
        if done := ModelMerge.objects.filter(source=model).first():
            raise CannotMerge(f"{model} is merged into {done.target} already")
    moved = {}
    for table, field in _pointers():
        rows = table._base_manager.filter(**{field: source})
        if keys := sorted(rows.values_list("pk", flat=True)):
            moved[f"{table._meta.label_lower}.{field}"] = keys
            rows.update(**{field: target})
    return ModelMerge.objects.create(source=source, target=target, by=by, why=why, moved=moved)


@transaction.atomic
def unmerge(done: ModelMerge) -> None:
    """Take a merge back: what moved and is still with the target moves back, and so do runs read since under those names.

    Merges may be taken back in any order: one into a model that was itself merged on went along with it.
    """
    done = ModelMerge.objects.select_for_update().get(pk=done.pk)
    source, target = done.source, done.target
    for table, field in _pointers():
        keys = done.moved.get(f"{table._meta.label_lower}.{field}", [])
        table._base_manager.filter(**{field: target}, pk__in=keys).update(**{field: source})
    names = source.aliases.values("name")
    Run.objects.filter(model=target, model_name__in=names, loaded_at__gte=done.made_at).update(model=source)
    done.delete()


def pointing_to(model: LanguageModel) -> list[tuple[str, int]]:
    """(what, how many) of everything that a merge of `model` would move."""
    counts = ((table, table._base_manager.filter(**{field: model}).count()) for table, field in _pointers())
    return [(str(table._meta.verbose_name_plural), count) for table, count in counts if count]


def _pointers() -> Iterator[tuple[type[models.Model], str]]:
    """Every column of every table that points to a model, but for a merge's own source."""
    for table in apps.get_models(include_auto_created=True):
        for field in table._meta.concrete_fields:
            if field.related_model is LanguageModel and (table, field.name) != (ModelMerge, "source"):
                yield table, field.name
