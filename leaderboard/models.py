"""The tables of what is shown: boards, reported scores and freezes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.functional import cached_property

from evaluation.models import Benchmark, LanguageModel, Split, protocol_text
from leaderboard.querysets import ADDRESS_LENGTH, BoardQuerySet, FreezeQuerySet


class Board(models.Model):
    """What is ranked together: a split, a mode and a protocol (the comparability key), and the policy that ranks it."""

    slug = models.SlugField(max_length=200, unique=True)
    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="boards")
    mode = models.CharField(max_length=40)
    shots = models.PositiveSmallIntegerField(null=True, blank=True)
    conversation_kept = models.BooleanField(null=True, blank=True)
    metric = models.CharField(max_length=60, help_text="The headline metric; higher is better.")
    min_coverage = models.FloatField(
        default=0.95, help_text="Share of the expected items that the model must have been heard on to be ranked."
    )

    objects = BoardQuerySet.as_manager()

    class Meta:
        ordering = ["split__release__benchmark__order", "slug"]

    def __str__(self):
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("board", args=[self.slug])

    @property
    def benchmark(self) -> Benchmark:
        return self.split.release.benchmark

    @property
    def protocol(self) -> str:
        return protocol_text(self.shots, self.conversation_kept)


class ReportSource(models.Model):
    """Where reported figures were taken from."""

    key = models.CharField(max_length=100, unique=True)
    text = models.TextField(help_text="What it is, in words: paper, table, figure, README.")
    url = models.URLField(blank=True)
    retrieved = models.CharField(max_length=20, blank=True)
    commit = models.CharField(max_length=60, blank=True)

    def __str__(self):
        return self.text


class ReportedScore(models.Model):
    """A figure as a paper, a figure or a README gives it: never recomputed, always with its source."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="reported")
    mode = models.CharField(max_length=40)
    protocol = models.CharField(max_length=300, blank=True, help_text="As the source words it; empty: not stated.")
    on_board = models.BooleanField(
        default=True, help_text="False: another protocol or a side figure, never on the board."
    )
    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, null=True, related_name="reported")
    group = models.CharField(max_length=200, blank=True, help_text="In place of a model: people, or a mean of models.")
    human = models.BooleanField(default=False)
    metric = models.CharField(max_length=100)
    variant = models.CharField(max_length=40, blank=True)
    dimension = models.CharField(max_length=60, default="overall")
    facet = models.CharField(max_length=500, blank=True)
    value = models.FloatField(help_text="A fraction, 0..1.")
    printed = models.CharField(max_length=20, help_text="As printed in the source, in its unit.")
    unit = models.CharField(max_length=20, default="percent")
    n = models.PositiveIntegerField(null=True)
    runs = models.JSONField(default=list, help_text="Values of single runs, where the source gives them.")
    reported_sd = models.FloatField(null=True)
    order = models.PositiveIntegerField(default=0, help_text="Place in the source's own table.")
    source = models.ForeignKey(ReportSource, on_delete=models.PROTECT, related_name="scores")
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["order", "pk"]
        indexes = [models.Index(fields=["split", "mode", "dimension", "metric"])]

    def __str__(self):
        return f"{self.model or self.group} {self.metric} {self.printed} ({self.source_id})"


class Frozen(TypeError):
    """A freeze was to be changed or taken away."""


class Freeze(models.Model):
    """A board's state as canonical JSON, known by the sha256 of its bytes. It is written once and never again.

    `board` is the slug as it was: a freeze outlives its board. `owner` is who may see it where it is not public.
    """

    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="sha256 of the content in UTF-8.")
    content = models.TextField(editable=False)
    board = models.CharField(max_length=200, db_index=True, editable=False)
    public = models.BooleanField(default=False, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False
    )
    frozen_at = models.DateTimeField(auto_now_add=True)

    objects = FreezeQuerySet.as_manager()

    class Meta:
        ordering = ["-frozen_at", "-pk"]

    def __str__(self):
        return f"{self.board} {self.address}"

    def save(self, *args, **kwargs):
        if not self._state.adding:
            raise Frozen("A freeze never changes.")
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("freeze", args=[self.address])

    def delete(self, *args, **kwargs):
        raise Frozen("A freeze is never taken away.")

    @property
    def address(self) -> str:
        """The beginning of the hash that stands in its address."""
        return self.digest[:ADDRESS_LENGTH]

    @property
    def intact(self) -> bool:
        """Whether the stored content still has its hash."""
        return hashlib.sha256(self.content.encode()).hexdigest() == self.digest

    @cached_property
    def document(self) -> dict[str, Any]:
        return json.loads(self.content)
