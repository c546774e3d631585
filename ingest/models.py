"""The tables of what was read: sources, their files and each file's fate, findings, passes, stored summaries."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evaluation.models import Run, Split
from evaluation.querysets import run_gate, sees_everything

if TYPE_CHECKING:
    from evaluation.querysets import Person


class SourceQuerySet(models.QuerySet):
    def claim(self, source_id: int, reader: str, gone_before: datetime.datetime, also_gone: str | None) -> bool:
        """Become the one reader of a source by a conditional UPDATE; False when another one is alive.

        A reader without a sign of life since `gone_before` is gone, and so is `also_gone` (a process known to be dead).
        """
        free = Q(reader="") | Q(reader_seen_at__lt=gone_before) | Q(reader=also_gone or "")
        taken = self.filter(free, pk=source_id).update(reader=reader, reader_seen_at=timezone.now())
        return taken == 1


class Source(models.Model):
    """A tree that was read. Everything else is stored relative to its root, so that a moved tree stays the same source."""

    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    reader = models.CharField(max_length=200, blank=True, help_text="host:pid of the ingest at work; empty: none.")
    reader_seen_at = models.DateTimeField(null=True, help_text="Its last sign of life.")

    objects = SourceQuerySet.as_manager()

    def __str__(self):
        return self.name


class SourcePlace(models.Model):
    """Where a source lies on one host."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="places")
    host = models.CharField(max_length=200)
    path = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "path"], name="source_place")]

    def __str__(self):
        return f"{self.host}:{self.path}"


class Pass(models.Model):
    """One ingest of a source with its counts and times."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="passes")
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    files_seen = models.PositiveIntegerField(default=0)
    rows_read = models.PositiveIntegerField(default=0)
    rows_loaded = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, help_text="Why it stopped early, in words.")

    class Meta:
        verbose_name_plural = "passes"

    def __str__(self):
        return f"{self.source} {self.started_at:%Y-%m-%d %H:%M}"


class SourceFile(models.Model):
    """One logical path of a source as it was last seen, and what became of it."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="files")
    path = models.TextField()
    physical = models.TextField()
    chain = models.JSONField(default=list)
    size = models.BigIntegerField(default=0)
    mtime_ns = models.BigIntegerField(default=0)
    inode = models.BigIntegerField(default=0)
    kind = models.CharField(
        max_length=30, blank=True, help_text="What its content is: results, scored, summary, gold ..."
    )
    about = models.JSONField(default=dict, help_text="What the first look found: benchmark, model, release ...")
    fate = models.CharField(max_length=30, help_text="`run`, `summary`, `gold`, or the reason why it is no run.")
    why = models.TextField(blank=True, help_text="Why it is no run, in words.")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="source_files")
    missing_since = models.DateTimeField(null=True, help_text="The first pass that no longer found it; its run stays.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "path"], name="source_file")]

    def __str__(self):
        return self.path


class GoldPlace(models.Model):
    """Where the gold of a split was last read on one host, in a tree or outside it: pages read the texts of cases there."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="gold_places")
    host = models.CharField(max_length=200)
    path = models.TextField(help_text="Its name below the tree, or below what --gold named.")
    place = models.TextField(help_text="Where it lies on the host, links resolved. For staff.")
    size = models.BigIntegerField()
    modified_at = models.DateTimeField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["split", "host"], name="gold_place")]

    def __str__(self):
        return self.path


class FindingQuerySet(models.QuerySet):
    def visible_to(self, user: Person) -> FindingQuerySet:
        """Staff: all. Anybody else: those of runs that they may see, never one that belongs to no run."""
        return self if sees_everything(user) else self.filter(run_gate(user, "run__"), run__isnull=False)


class Finding(models.Model):
    """Something worth telling about a source."""

    class Severity(models.TextChoices):
        INFO = "info", "info"
        WARNING = "warning", "warning"
        ERROR = "error", "error"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="findings")
    last_pass = models.ForeignKey(Pass, on_delete=models.CASCADE, related_name="findings")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="findings")
    severity = models.CharField(max_length=8, choices=Severity)
    code = models.CharField(max_length=40)
    path = models.TextField(blank=True)
    line = models.PositiveIntegerField(null=True)
    offset = models.BigIntegerField(null=True)
    message = models.TextField()

    objects = FindingQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self):
        return f"{self.code} {self.path}"


class StoredSummary(models.Model):
    """A summary file that lay beside a run: what it says against what the items give."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="summaries")
    path = models.TextField()
    form = models.CharField(max_length=40)
    agrees = models.BooleanField(null=True, help_text="Empty: nothing of ours to compare with.")
    largest_difference = models.FloatField(null=True)
    rows = models.JSONField(default=list, help_text="[figure, theirs, ours] of each compared figure.")

    def __str__(self):
        return self.path
