"""Scoring again: the bytes that were read, the rules and gold of now, a new evaluation beside the old one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from django.db import transaction

from evaluation.benchmarks import BENCHMARKS
from evaluation.items import load_items
from evaluation.models import Evaluation, ResultFile, Run
from evaluation.protocols.base import Evaluator, joined
from evaluation.signals import run_loaded
from ingest import readers
from ingest.context import this_host
from ingest.drilldown import places
from ingest.load import due, evaluate, store_evaluation
from ingest.readers.base import FileContent
from ingest.walk import Entry


class CannotRescore(Exception):
    """The run cannot be scored again; the text says why in one line."""


def rescore(run: Run, evaluators: Sequence[Evaluator] | None = None) -> list[Evaluation]:
    """Apply `evaluators` (None: those that are due) to the files of a run; the evaluations made, none when nothing is due.

    Older evaluations stay, superseded. Raises CannotRescore when a file is gone or no longer holds the bytes that were
    read: then the figures of now would be about something else than the run.
    """
    wanted = due(run) if evaluators is None else evaluators
    if not wanted:
        return []
    try:
        contents = [_read(run, file) for file in run.files.all()]
    except (OSError, ValueError, RecursionError) as error:
        raise CannotRescore(f"its file cannot be read: {error}") from error
    if not contents:
        raise CannotRescore("no file of it is known")
    items = load_items(run.split)
    answers = joined([content.rows.answers for content in contents])
    recovered = joined([content.recovered.answers for content in contents])
    results = evaluate(wanted, items, answers, recovered)
    with transaction.atomic():
        made = [store_evaluation(run, items, contents, evaluator, result) for evaluator, result in results]
        run_loaded.send(sender=Run, run=run)
    return made


def _read(run: Run, file: ResultFile) -> FileContent:
    slug = run.split.release.benchmark.slug
    # one repeat for a whole file is as good as stated; several stand in the rows
    repeat = file.repeats[0] if len(file.repeats) == 1 else None
    for real in places(run, file):
        entry = _entry(file, real)
        content = readers.for_benchmark(slug)(entry, repeat, BENCHMARKS[slug].read, lambda size, rows: None)
        if content.sha256 == file.sha256:
            return content
        raise CannotRescore(f"{file.path} holds other bytes than were read: ingest its tree again")
    raise CannotRescore(f"{file.path} is not on this machine ({this_host()})")


def _entry(file: ResultFile, real: str) -> Entry:
    status = os.stat(real)
    place = (file.path, file.physical, real, (), False, False)
    return Entry(*place, status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
