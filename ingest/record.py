"""The last step of the road: what was seen and found, into the tables."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from ingest.context import CannotIngest, Context
from ingest.models import Finding, Pass, SourceFile
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
    context.report.close()
    context.report.runs.sort(key=lambda entry: entry["path"])
    context.report.not_runs.sort(key=lambda entry: entry.path)
    if context.pass_ is None:
        return
    _store_files(context, selection, seen, loader)
    _store_findings(context, selection, loader)
    Pass.objects.filter(pk=context.pass_.pk).update(
        finished_at=timezone.now(),
        files_seen=context.report.files_seen,
        rows_read=context.report.rows_read,
        rows_loaded=context.report.rows_loaded,
    )


def _store_files(context: Context, selection: Selection, seen: Sequence[Seen], loader: RunLoader) -> None:
    rows = []
    for one in seen:
        fate, run_id = loader.fates.get(one.path, (selection.refused.get(one.path) or one.kind.name, None))
        entry, before = one.entry, context.previous.get(one.path)
        # a file that cannot be loaded now leaves its run alone; what comes of it later will replace that
        run_id = run_id or (before.run_id if before else None)
        rows.append(
            SourceFile(
                source=context.source,
                path=entry.path,
                physical=entry.physical,
                chain=[list(step) for step in entry.chain],
                size=entry.size,
                mtime_ns=entry.mtime_ns,
                inode=signed(entry.inode),
                kind=one.kind.name,
                about=one.kind.about,
                fate=fate,
                run_id=run_id,
                last_pass=context.pass_,
            )
        )
    fields = ["physical", "chain", "size", "mtime_ns", "inode", "kind", "about", "fate", "run", "last_pass"]
    SourceFile.objects.bulk_create(
        rows, batch_size=200, update_conflicts=True, unique_fields=["source", "path"], update_fields=fields
    )


def _store_findings(context: Context, selection: Selection, loader: RunLoader) -> None:
    by_path = {path: run_id for path, (fate, run_id) in loader.fates.items() if fate == "run"}
    # a summary's finding belongs to its run, so that it is told again while nothing changes
    for chosen in selection.chosen:
        if chosen.path in by_path:
            by_path.update({one.path: by_path[chosen.path] for one in loader.summaries.of(chosen)})
    live = [run_id for run_id in set(by_path.values()) if run_id is not None]
    Finding.objects.filter(source=context.source).filter(run=None).delete()
    Finding.objects.filter(source=context.source, run_id__in=live).delete()
    Finding.objects.bulk_create(
        [
            Finding(
                source=context.source,
                last_pass=context.pass_,
                run_id=by_path.get(note.path),
                severity=note.severity,
                code=note.code,
                path=note.path,
                line=note.line,
                offset=note.offset,
                message=printable(note.message),
            )
            for note in context.report.findings
        ],
        batch_size=500,
    )
