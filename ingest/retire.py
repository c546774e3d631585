"""Runs that no longer count because the tree says so: left out, archived, moved, or beaten by a file that came later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.models import Run
from ingest.context import Context
from ingest.scan import signed
from ingest.select import Seen, Selection

# Not a decision about the file, only a bad moment: its run stays until something takes its place.
_BAD_MOMENTS = {"undecided", "unknown_form", "unreadable", "no_gold"}


def retire(
    context: Context, selection: Selection, seen: Sequence[Seen], fates: Mapping[str, tuple[str, int | None]]
) -> None:
    """Take live runs off their boards whose file was refused on purpose or lies elsewhere now, each with a finding.

    A file that is gone without a trace leaves its run, with a finding: a tree may be there only in part.
    """
    now = {run_id for fate, run_id in fates.values() if fate == "run"}
    places = {(signed(one.entry.inode), one.entry.size, one.entry.mtime_ns): one.path for one in seen}
    present = {one.path for one in seen} | {entry.path for entry in context.report.not_runs}
    for path, before in context.previous.items():
        run = context.run_at(path)
        if run is None or run.pk in now or run.state != Run.State.LIVE:
            continue
        reason = selection.refused.get(path, "")
        elsewhere = places.get((before.inode, before.size, before.mtime_ns)) if path not in present else None
        if elsewhere is not None:
            why = f"its file lies at {elsewhere} now"
        elif reason and reason not in _BAD_MOMENTS:
            why = f"its file is no run any more ({reason})"
        else:
            if path not in present and not any(path.startswith(f"{place}/") for place in present):
                text = f"run {run.key} was read from this file, which is gone: the run stays as it is"
                context.report.find("warning", "file_gone", path, text)
            continue
        context.report.find("info", "retired", path, f"run {run.key} counts no longer: {why}")
        if not context.options.dry_run:
            Run.objects.filter(pk=run.pk, state=Run.State.LIVE).update(state=Run.State.SUPERSEDED)
