"""Scoring again: the bytes that were read, the rules and gold of now, a new evaluation beside the old one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from django.db import transaction

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.base import StoredEvaluator
from evaluation.items import load_items
from evaluation.models import Evaluation, ResultFile, Run
from evaluation.protocols.base import Answers, Evaluator, joined
from evaluation.protocols.clinseek_mm_stored import ScoredRow
from evaluation.protocols.clinseek_mm_verdicts import Basis, is_mapped
from evaluation.signals import run_loaded
from ingest import readers
from ingest.context import this_host
from ingest.drilldown import places
from ingest.load import due, evaluate, mark, marks, store_evaluation
from ingest.models import SourceFile
from ingest.readers.base import FileContent
from ingest.summaries import mm
from ingest.summaries.comparison import hashed_rows
from ingest.walk import Entry


class CannotRescore(Exception):
    """The run cannot be scored again; the text says why in one line."""


def rescore(run: Run, evaluators: Sequence[Evaluator] | None = None) -> list[Evaluation]:
    """Apply `evaluators` (None: those that are due) to the files of a run; the evaluations made, none when nothing is due.

    That of stored verdicts is applied to a run that has such an evaluation, over the scored rows on which that rests. Older
    evaluations stay, superseded. Raises CannotRescore when a file is gone or no longer holds the bytes that were read: then
    the figures of now would be about something else than the run.
    """
    spec = BENCHMARKS[run.split.release.benchmark.slug]
    stored = spec.stored_evaluator
    before = run.evaluations.filter(current=True, evaluator__name=stored.name).first() if stored else None
    if evaluators is None:
        wanted = due(run)
        is_due = (
            stored is not None and before is not None and mark(run, stored)[:-1] not in [m[:-1] for m in marks(run)]
        )
    else:
        wanted, is_due = [each for each in evaluators if each is not stored], stored in evaluators
    if not wanted and not (before and is_due):
        return []
    try:
        contents = [_read(run, file) for file in run.files.all()]
        if not contents:
            raise CannotRescore("no file of it is known")
        items = load_items(run.split)
        answers = joined([content.rows.answers for content in contents])
        recovered = joined([content.recovered.answers for content in contents])
        results = evaluate(wanted, items, answers, recovered)
        if stored and before and is_due:
            everything = joined([answers, recovered])
            over = _over_the_same_rows(run, stored, before, everything)
            results.append((over, over.evaluate(items.specs, everything, run.split.fingerprint)))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotRescore(f"its file cannot be read: {error}") from error
    with transaction.atomic():
        made = [store_evaluation(run, items, contents, evaluator, result) for evaluator, result in results]
        run_loaded.send(sender=Run, run=run)
    return made


def _over_the_same_rows(run: Run, stored: StoredEvaluator, before: Evaluation, answers: Answers) -> Evaluator:
    """The evaluator over the scored rows that an evaluation rests on, read from their file again."""
    path, sha256 = before.basis["path"], before.basis["sha256"]
    seen = SourceFile.objects.filter(path=path, source__files__run=run, source__places__host=this_host())
    for root, physical in seen.values_list("source__places__path", "physical").distinct():
        real = os.path.normpath(os.path.join(root, physical))
        if not os.path.isfile(real):
            continue
        rows, _, found = hashed_rows(real, ScoredRow)
        if found == sha256:
            old = mm.stale(rows, answers)
            return stored.over(rows, Basis(path, found, before.basis["form"], len(rows), is_mapped(rows), old))
        raise CannotRescore(f"{path} holds other bytes than were read: ingest its tree again")
    raise CannotRescore(f"{path} is not on this machine ({this_host()})")


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
