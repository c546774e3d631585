"""The ingest as a task, for labs whose trees are read by workers (see `config.celery` for the pools that may be used)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from celery import shared_task
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from ingest.pipeline import CannotIngest, Options, ingest


@shared_task
def ingest_tree(
    root: str,
    *,
    gold: Sequence[tuple[str | None, str]] = (),
    release: str | None = None,
    config: str | None = None,
    labels: Sequence[tuple[str | None, str]] = (),
    allow_outside: Sequence[str] = (),
    include_archived: bool = False,
    visibility: str = "",
    owner: str | None = None,
    team: str | None = None,
) -> dict[str, Any]:
    """Read a tree and load its runs; returns the report's counts.

    Paths are those of the worker. `gold` holds (release or null, path), `labels` (benchmark or null, path); `owner` is a
    user name, `team` the name of a group.
    Delivered twice it changes nothing: the same bytes are the same runs. Raises CannotIngest when nothing could be done.
    """
    options = Options(
        gold=[(name, Path(path)) for name, path in gold],
        release=release,
        config=Path(config) if config else None,
        labels=[(name, Path(path)) for name, path in labels],
        allow_outside=allow_outside,
        include_archived=include_archived,
        visibility=visibility,
        owner=_named(get_user_model(), "username", owner),
        team=_named(Group, "name", team),
    )
    report = ingest(root, options)
    return {
        "files_seen": report.files_seen,
        "rows_read": report.rows_read,
        "rows_loaded": report.rows_loaded,
        "runs": dict(Counter(run["state"] for run in report.runs)),
        "not_runs": dict(Counter(entry.reason for entry in report.not_runs)),
        "findings": dict(Counter(finding.severity for finding in report.findings)),
    }


def _named(model: Any, field: str, name: str | None) -> Any:
    if name is None:
        return None
    found = model.objects.filter(**{field: name}).first()
    if found is None:
        raise CannotIngest(f"{name}: no such {model._meta.verbose_name}")
    return found
