"""Selectors of the hall. `visible_to` is the only gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.lookups import IsNull

from evaluation.models import Run
from evaluation.querysets import sees_everything

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    Person = User | AnonymousUser


ADDRESS_LENGTH = 16  # hexadecimal digits of the hash in a freeze's address


def _same(name: str) -> Q:
    """A part of the key equals the outer one's; SQL's NULL equals nothing, not even itself."""
    return Q(**{name: OuterRef(name)}) | Q(**{name: None}) & Q(IsNull(OuterRef(name), True))


class BoardQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> BoardQuerySet:
        """Boards on which `user` sees something: a scored live run of the board's key, or reported figures."""
        from leaderboard.models import ReportedScore

        runs = (
            Run.objects.visible_to(user)
            .live()
            .filter(_same("shots"), _same("conversation_kept"), split=OuterRef("split"), mode=OuterRef("mode"))
            .filter(evaluations__current=True)
        )
        reported = ReportedScore.objects.filter(split=OuterRef("split"), mode=OuterRef("mode"), on_board=True)
        # reported figures open the board on which nothing is stated, never one that only a hidden run has opened
        return self.filter(Q(Exists(runs)) | Q(shots=None, conversation_kept=None) & Q(Exists(reported)))

    def with_benchmark(self) -> BoardQuerySet:
        return self.select_related("split__release__benchmark")


class FreezeQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> FreezeQuerySet:
        """Public ones: everybody. Others: staff, and the person by whose rights one was made."""
        if sees_everything(user):
            return self
        gate = Q(public=True)
        if user.is_authenticated and user.is_active:
            gate |= Q(owner=user)
        return self.filter(gate)

    def at(self, address: str) -> FreezeQuerySet:
        """Those whose hash begins so."""
        return self.filter(digest__startswith=address.lower())

    def _never(self, *args: Any, **kwargs: Any) -> NoReturn:
        from leaderboard.models import Frozen

        raise Frozen("A freeze never changes and is never taken away.")

    update = bulk_update = update_or_create = delete = _never
