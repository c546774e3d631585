"""Selectors. `visible_to` is the only gate: pages, API, counts and exports all read through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    Person = User | AnonymousUser


def sees_everything(user: Person) -> bool:
    """Active staff."""
    return bool(user.is_authenticated and user.is_active and user.is_staff)


def run_gate(user: Person, prefix: str = "") -> Q:
    """The condition under which `user` may see a run, for lookups that reach it by `prefix`.

    Public runs: everybody. Team runs: its team. Private runs: the owner. Staff see all; a person without the staff flag who
    neither owns a run nor shares its team sees nothing of it, not even that it exists.
    """
    if sees_everything(user):
        return Q()
    gate = Q(**{f"{prefix}visibility": "public"})
    if user.is_authenticated and user.is_active:
        gate |= Q(**{f"{prefix}owner": user})
        gate |= Q(**{f"{prefix}visibility": "team", f"{prefix}team__in": user.groups.values("pk")})
    return gate


def item_gate(user: Person, prefix: str = "") -> Q:
    """The condition under which `user` may see what derives from single items of a benchmark, reached by `prefix`.

    As the benchmark says (`item_access`): nobody, its data-access group, whoever has signed in, or everybody. Board staff are
    no exception: what a licence or patients forbid, a role does not allow.
    """
    gate = Q(**{f"{prefix}item_access": "public"})
    if user.is_authenticated and user.is_active and user.pk:
        gate |= Q(**{f"{prefix}item_access": "members"})
        gate |= Q(**{f"{prefix}item_access": "group", f"{prefix}data_group__in": user.groups.values("pk")})
    return gate


class RunQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> RunQuerySet:
        return self.filter(run_gate(user))

    def live(self) -> RunQuerySet:
        return self.filter(state="live")


class EvaluationQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> EvaluationQuerySet:
        return self.filter(run_gate(user, "run__"))

    def current(self) -> EvaluationQuerySet:
        return self.filter(current=True)


class ScoreQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> ScoreQuerySet:
        return self.filter(run_gate(user, "evaluation__run__"))


class HumanRatingQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> HumanRatingQuerySet:
        """Ratings of runs that a person may see, where the benchmark shows them its items."""
        return self.filter(run_gate(user, "run__"), item_gate(user, "item__release__benchmark__"))


class ModelQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> ModelQuerySet:
        """Registered models, and any other only when a visible run gives its name away. Merged ones are their target."""
        from evaluation.models import Run

        runs = Run.objects.visible_to(user).filter(model=models.OuterRef("pk"))
        return self.unmerged().filter(Q(registered=True) | models.Exists(runs))

    def unmerged(self) -> ModelQuerySet:
        return self.filter(merge=None)


class AliasQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> AliasQuerySet:
        """Names that are known anyway: the code's own, the model's name, and what a visible run is called in its tree.

        A name that only a private tree or its `clinboard.yaml` gives a model is nobody else's business.
        """
        from evaluation.models import Run
        from evaluation.registry import KNOWN_NAMES

        if sees_everything(user):
            return self
        runs = Run.objects.visible_to(user).filter(model=models.OuterRef("model"), model_name=models.OuterRef("name"))
        return self.filter(Q(name__in=KNOWN_NAMES) | Q(name=models.F("model__name")) | models.Exists(runs))
