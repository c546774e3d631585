"""The road: walk -> classify -> gold -> select -> read -> score -> load -> retire -> report. Each step is a module."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from django.utils import timezone

from ingest.context import CannotIngest, Context, Options, this_host
from ingest.gold import GoldShelf
from ingest.lock import only_reader
from ingest.models import Pass
from ingest.record import record
from ingest.report import Report
from ingest.retire import retire
from ingest.runs import RunLoader
from ingest.scan import choose, gold_files, look, register_models
from ingest.splits import ItemBook

__all__ = ["CannotIngest", "Options", "ingest"]


def ingest(root: str | os.PathLike[str], options: Options, report: Report | None = None) -> Report:
    """Read a tree and load its runs. Raises CannotIngest when nothing could be done; everything else is in the report.

    A `report` that is given is filled as the work goes on: what stopped early has told there what it did.
    """
    context = Context.open(root, options, report or Report())
    try:
        with _alone(context) as beat:
            context.recall()
            _read(context, beat)
    except BaseException as error:
        _note_failure(context, error)
        raise
    return context.report


def _read(context: Context, beat: Callable[[], None]) -> None:
    seen = look(context)
    beat()
    shelf = GoldShelf(gold_files(context, seen))
    register_models(context)
    selection = choose(context, seen)
    scored = [one for chosen in selection.chosen if chosen.benchmark == "llmeval-med" for one, _ in chosen.files]
    book = ItemBook(context, shelf, scored)
    book.check_labels(selection.chosen)
    loader = RunLoader(context, book, selection, seen, beat)
    loader.load_all()
    book.labeller.tell()
    retire(context, selection, seen, loader.fates)
    record(context, selection, seen, loader)


def _alone(context: Context) -> contextlib.AbstractContextManager[Callable[[], None]]:
    """Nobody else reads this tree meanwhile; a dry run writes nothing and may look at any time."""
    if context.source is None or context.options.dry_run:
        return contextlib.nullcontext(lambda: None)
    return only_reader(context.source, this_host())


def _note_failure(context: Context, error: BaseException) -> None:
    # on a full disk even this may not be possible; the first error is the one to tell
    if context.pass_ is not None:
        with contextlib.suppress(Exception):
            said = f"{type(error).__name__}: {error}"[:2000]
            Pass.objects.filter(pk=context.pass_.pk).update(finished_at=timezone.now(), error=said)
