"""The last step of the road: what was seen and found, into the tables."""

from __future__ import annotations

import os
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingest.context import CannotIngest, Context, Known, this_host
from ingest.models import Finding, Pass, Source, SourceFile
from ingest.readers.base import printable
from ingest.runs import RunLoader
from ingest.scan import signed
from ingest.select import Seen, Selection


@transaction.atomic
def record(context: Context, selection: Selection, seen: Sequence[Seen], loader: RunLoader) -> None:
    """Close the report and, unless it is a dry run, keep each file's fate and the findings.

    Raises CannotIngest when the tree held nothing of a known form.
    """
    for line, text in context.config.unused():
        context.report.find("warning", "config_unused", context.config_name, f"line {line}: {text} matches nothing")
    if not context.report.runs and not context.report.not_runs:
        raise CannotIngest(f"{context.root}: no results of a known form below this directory")
    context.report.runs.sort(key=lambda entry: entry["path"])
    context.report.not_runs.sort(key=lambda entry: entry.path)
    if context.pass_ is not None:
        _store_files(context, selection, seen, loader)
        _find_earlier_place(context, loader)
    context.report.close()
    if context.pass_ is None:
        return
    _store_findings(context, selection, loader)
    Pass.objects.filter(pk=context.pass_.pk).update(
        finished_at=timezone.now(),
        files_seen=context.report.files_seen,
        rows_read=context.report.rows_read,
        rows_loaded=context.report.rows_loaded,
    )


def _store_files(context: Context, selection: Selection, seen: Sequence[Seen], loader: RunLoader) -> None:
    """Write the paths that are new or not what they were; paths that are gone are marked, their runs stay."""
    now: dict[str, Known] = {}
    for one in seen:
        fate, run_id = loader.fates.get(one.path, (selection.refused.get(one.path) or one.kind.name, None))
        entry, before = one.entry, context.previous.get(one.path)
        # a file that cannot be loaded now leaves its run alone; what comes of it later will replace that
        run_id = run_id or (before.run_id if before else None)
        chain = [list(step) for step in entry.chain]
        stat = entry.size, entry.mtime_ns, signed(entry.inode)
        why = selection.why(one.path) if one.path in selection.refused else ""
        now[one.path] = Known(entry.physical, chain, *stat, one.kind.name, one.kind.about, fate, why, run_id, None)
    for fault in context.faults:
        chain = [list(step) for step in fault.chain]
        now[fault.path] = Known(fault.physical, chain, 0, 0, 0, "", {}, fault.reason, fault.message, None, None)
    for path in context.previous.keys() - now.keys():
        known = context.previous[path]
        if known.missing_since is None:
            now[path] = known._replace(missing_since=timezone.now())
    changed = [
        (path, known) for path, known in now.items() if path in loader.noted or context.previous.get(path) != known
    ]
    SourceFile.objects.bulk_create(
        [SourceFile(source=context.source, path=path, **known._asdict()) for path, known in changed],
        batch_size=200,
        update_conflicts=True,
        unique_fields=["source", "path"],
        update_fields=list(Known._fields),
    )


def _find_earlier_place(context: Context, loader: RunLoader) -> None:
    """Runs that another source brought in: that tree was moved here (its old place is gone) or copied."""
    if context.previous or context.source is None:
        return
    runs = [run_id for fate, run_id in loader.fates.values() if fate == "run" and run_id is not None]
    others = Source.objects.filter(files__run__in=runs).exclude(pk=context.source.pk).distinct()
    for other in others:
        here = other.places.filter(host=this_host())
        if any(os.path.isdir(place.path) for place in here) or other.places.exclude(host=this_host()).exists():
            text = f"holds runs that were read before from source {other.name!r}: a copy, nothing was added for them"
            context.report.find("info", "copied_tree", "", text)
            continue
        text = f"was read before at another place, as source {other.name!r}, which is gone: its history goes on here"
        context.report.find("info", "moved_tree", "", text)
        other.passes.update(source=context.source)
        other.delete()


def _store_findings(context: Context, selection: Selection, loader: RunLoader) -> None:
    by_path = {path: run_id for path, (fate, run_id) in loader.fates.items() if fate == "run"}
    # a summary's finding belongs to its run, so that it is told again while nothing changes
    for chosen in selection.chosen:
        if chosen.path in by_path:
            by_path.update({one.path: by_path[chosen.path] for one in loader.summaries.of(chosen)})
    live = [run_id for run_id in set(by_path.values()) if run_id is not None]
    before = Finding.objects.filter(Q(run=None) | Q(run_id__in=live), source=context.source)
    told = [
        (by_path.get(n.path), n.severity, n.code, n.path, n.line, n.offset, printable(n.message))
        for n in context.report.findings
    ]
    fields = ("run_id", "severity", "code", "path", "line", "offset", "message")
    if told == list(before.order_by("pk").values_list(*fields)):
        return
    before.delete()
    Finding.objects.bulk_create(
        [
            Finding(source=context.source, last_pass=context.pass_, **dict(zip(fields, values, strict=True)))
            for values in told
        ],
        batch_size=500,
    )
