"""What the steps of one ingest share."""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Run
from ingest import config as configuration
from ingest.config import Config
from ingest.labels import LabelsError, LabelsFile
from ingest.labels import load as load_labels
from ingest.models import Finding, Pass, Source, SourceFile, SourcePlace
from ingest.report import Report
from ingest.walk import Fault

CONFIG_NAME = "clinboard.yaml"


class CannotIngest(Exception):
    """Nothing could be done; the text says why in one line."""


@dataclass
class Options:
    """What the caller asks for. `progress` is told (bytes done, bytes in all, current file), `looked` each
    file of the tree before that.
    """

    gold: Sequence[tuple[str | None, Path]] = ()
    release: str | None = None
    config: Path | None = None
    labels: Sequence[tuple[str | None, Path]] = ()
    allow_outside: Sequence[str] = ()
    include_archived: bool = False
    dry_run: bool = False
    visibility: str = ""
    owner: Any = None
    team: Any = None
    progress: Callable[[int, int, str], None] = lambda done, total, path: None
    looked: Callable[[str], None] = lambda path: None


class Known(NamedTuple):
    """A path as the last pass saw it."""

    physical: str
    chain: list[list[str]]
    size: int
    mtime_ns: int
    inode: int
    kind: str
    about: dict[str, Any]
    fate: str
    why: str
    run_id: int | None
    missing_since: datetime.datetime | None


@dataclass
class Context:
    """One ingest: the tree, the wishes, what is said about it and what was known of it before.

    `source` and `pass_` are None in a dry run of a tree that was never read.
    """

    root: Path
    options: Options
    config: Config
    source: Source | None
    pass_: Pass | None
    report: Report
    labels: list[LabelsFile] = field(default_factory=list)
    previous: dict[str, Known] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def config_name(self) -> str:
        """The configuration's file name: where it lies on disk is nobody's business."""
        return os.path.basename(self.config.path)

    @property
    def friendly_names(self) -> dict[str, str]:
        """The friendly name of every model name that the configuration states."""
        return {alias: facts.name for facts in self.config.models for alias in (facts.name, *facts.aliases)}

    @classmethod
    def open(cls, root: str | os.PathLike[str], options: Options, report: Report) -> Context:
        """Raises CannotIngest for a root, a configuration or labels that cannot be used."""
        path = Path(root)
        if not path.is_dir():
            raise CannotIngest(f"{path}: {'not a directory' if path.exists() else 'no such directory'}")
        path = path.resolve()
        config = _configuration(path, options)
        labels = _labels(options)
        source = _source(path, options.dry_run)
        pass_ = None if source is None or options.dry_run else Pass.objects.create(source=source)
        return cls(path, options, config, source, pass_, report, labels)

    def recall(self) -> None:
        """What is known of the tree from earlier passes: a few queries whatever its size, and no object a file."""
        if self.source is None:
            return
        rows = SourceFile.objects.filter(source=self.source).values_list("path", *Known._fields)
        self.previous = {path: Known(*values) for path, *values in rows.iterator(chunk_size=5000)}
        told = Finding.objects.filter(source=self.source)
        current = Evaluation.objects.filter(current=True).select_related("evaluator")
        wanted = Run.objects.filter(pk__in={known.run_id for known in self.previous.values() if known.run_id})
        wanted = wanted.select_related("split__release__benchmark").prefetch_related(
            "files", "summaries", Prefetch("findings", told), Prefetch("evaluations", current)
        )
        self.runs = {run.pk: run for run in wanted.iterator(chunk_size=500)}

    def run_at(self, path: str) -> Run | None:
        """The run that was last read from a path."""
        known = self.previous.get(path)
        return self.runs.get(known.run_id) if known is not None and known.run_id is not None else None


def this_host() -> str:
    """The name under which this machine's places and readers are kept."""
    return settings.CLINBOARD_HOST or socket.gethostname()


def _configuration(root: Path, options: Options) -> Config:
    path = options.config or root / CONFIG_NAME
    if not path.is_file():
        if options.config is not None:
            raise CannotIngest(f"--config {path}: no such file")
        return configuration.EMPTY
    if options.config is None and root not in path.resolve().parents:
        raise CannotIngest(f"{path} is a link out of the tree: name it with --config if it is meant")
    try:
        return configuration.load(path)
    except configuration.ConfigError as error:
        raise CannotIngest(str(error)) from error


def _labels(options: Options) -> list[LabelsFile]:
    files = []
    for benchmark, path in options.labels:
        if benchmark is not None and benchmark not in BENCHMARKS:
            raise CannotIngest(f"--labels {benchmark}={path}: benchmarks are {', '.join(BENCHMARKS)}")
        try:
            files.append(load_labels(path, benchmark))
        except LabelsError as error:
            raise CannotIngest(str(error)) from error
    return files


def _source(root: Path, dry_run: bool) -> Source | None:
    host = this_host()
    place = SourcePlace.objects.filter(host=host, path=str(root)).select_related("source").first()
    if place is not None or dry_run:
        return place.source if place else None
    with transaction.atomic():
        source = Source.objects.create(name=root.name or str(root))
        SourcePlace.objects.create(source=source, host=host, path=str(root))
    return source
