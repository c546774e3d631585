"""A run into the tables: all or nothing, beside what is live, then swapped, in one transaction."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import count, repeat
from json.encoder import encode_basestring_ascii as _quoted
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from django.db import transaction

from evaluation import models
from evaluation.benchmarks import BENCHMARKS
from evaluation.facts import insert_rows
from evaluation.items import SplitItems
from evaluation.models import (
    Benchmark,
    Evaluation,
    ItemScore,
    Response,
    ResultFile,
    Run,
    Score,
    Split,
    Vector,
)
from evaluation.protocols import readings
from evaluation.protocols.base import Aggregate, Answers, Evaluator, Result, Verdicts
from evaluation.signals import run_loaded
from ingest.models import StoredSummary
from ingest.readers.base import FileContent, Rows, printable
from ingest.summaries import Comparison

_LONGEST_PREDICTION = 2_000
_figures = attrgetter(*(field.name for field in fields(Aggregate)))
T = TypeVar("T")
ITEM_SCORE_COLUMNS = ("evaluation_id", "ordinal", "outcome", "value", "rule", "prediction")
RESPONSE_COLUMNS = (
    "run_id",
    "ordinal",
    "item_id",
    "item_key",
    "repeat",
    "file_id",
    "line",
    "offset",
    "length",
    "pointer",
    "status",
    "recovered",
)


def run_key(
    split: Split, mode: str, model_name: str, files: Sequence[tuple[Sequence[int], str]], archived: bool
) -> str:
    """The public id of a run: 12 hex digits over what it is and the bytes it was read from, not where they lay."""
    release = split.release
    content = [release.benchmark.slug, release.name, split.name, mode, model_name, archived]
    content += [[sorted(repeats), sha256] for repeats, sha256 in files]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def mark(run: Run, evaluator: Evaluator) -> tuple[Any, ...]:
    """By which an evaluation is told to be the one that would be made now."""
    split = run.split
    return evaluator.name, evaluator.fingerprint, split.fingerprint, split.labels_fingerprint, basis_of(evaluator)


def marks(run: Run) -> list[tuple[Any, ...]]:
    """The marks of a run's current evaluations."""
    return [
        (kept.evaluator.name, kept.evaluator.fingerprint, kept.gold_fingerprint, kept.labels_fingerprint, kept.basis)
        for kept in run.evaluations.all()
        if kept.current
    ]


def due(run: Run) -> list[Evaluator]:
    """Evaluators of the code, as it is now, that were not applied yet to the run with its split's present gold and labels."""
    now = run.split.fingerprint, run.split.labels_fingerprint
    done = {
        (kept.evaluator.name, kept.evaluator.fingerprint)
        for kept in run.evaluations.all()
        if kept.current and (kept.gold_fingerprint, kept.labels_fingerprint) == now
    }
    evaluators = BENCHMARKS[run.split.release.benchmark.slug].evaluators
    return [evaluator for evaluator in evaluators if (evaluator.name, evaluator.fingerprint) not in done]


def evaluate(
    evaluators: Sequence[Evaluator], items: SplitItems, answers: Answers, recovered: Answers
) -> list[tuple[Evaluator, Result]]:
    """Apply each evaluator. The seed is the gold's fingerprint: runs of one split share resamples."""
    seed = items.split.fingerprint
    return [
        (evaluator, readings.evaluate(evaluator, items.specs, answers, recovered, seed)) for evaluator in evaluators
    ]


@transaction.atomic
def load_run(
    run: Run,
    contents: Sequence[FileContent],
    items: SplitItems,
    results: Sequence[tuple[Evaluator, Result]],
    summaries: Sequence[Comparison],
    replaced: Run | None,
) -> None:
    """Write `run` (unsaved) with its files, responses, evaluations and summaries; `replaced` becomes superseded.

    Ordinals count the rows of all files as they were evaluated: recovered ones last.
    """
    run.save(force_insert=True)
    files = []
    for ordinal, content in enumerate(contents):
        entry = content.entry
        files.append(
            ResultFile.objects.create(
                run=run,
                ordinal=ordinal,
                path=entry.path,
                physical=entry.physical,
                chain=[list(step) for step in entry.chain],
                sha256=content.sha256,
                size=content.size,
                modified_at=datetime.datetime.fromtimestamp(entry.mtime_ns / 1e9, datetime.UTC),
                repeats=content.rows.answers.repeats,
                counts={
                    "lines": content.lines,
                    "blank": content.blank,
                    "parsed": content.parsed,
                    "malformed": content.malformed,
                    "rows": len(content.rows),
                    "recovered": len(content.recovered),
                    "longest_line": content.longest,
                    "notes": content.flags,
                },
            )
        )
    insert_rows(
        Response,
        RESPONSE_COLUMNS,
        _response_rows(run.pk, contents, items.ids, [file.pk for file in files]),
    )
    for evaluator, result in results:
        store_evaluation(run, items, contents, evaluator, result)
    store_summaries(run, summaries)
    if replaced is not None:
        Run.objects.filter(pk=replaced.pk).update(state=Run.State.SUPERSEDED, superseded_by=run)
    run_loaded.send(sender=Run, run=run)


def store_summaries(run: Run, summaries: Sequence[Comparison]) -> None:
    """Keep what the summary files of a run say, in place of what they and others said before."""
    run.summaries.exclude(path__in=[summary.path for summary in summaries]).delete()
    for summary in summaries:
        StoredSummary.objects.update_or_create(
            run=run,
            path=summary.path,
            defaults={
                "form": summary.form,
                "agrees": summary.agrees,
                "largest_difference": summary.largest_difference,
                "rows": summary.rows,
            },
        )


def in_order(contents: Sequence[FileContent], files: Sequence[T]) -> Iterator[tuple[T, Rows, bool]]:
    """(file, rows, whether they were recovered) in the order of their ordinals."""
    yield from ((file, content.rows, False) for content, file in zip(contents, files, strict=True))
    yield from ((file, content.recovered, True) for content, file in zip(contents, files, strict=True))


def _response_rows(
    run_id: int, contents: Sequence[FileContent], ids: dict[str, int], files: Sequence[int]
) -> Iterator[tuple]:
    ordinal = count()
    for file, rows, recovered in in_order(contents, files):
        answers = rows.answers
        items = [ids.get(key) for key in answers.ids]
        keys = ["" if known is not None else printable(key) for key, known in zip(answers.ids, items, strict=True)]
        yield from zip(
            repeat(run_id),
            ordinal,
            map(items.__getitem__, answers.item),
            map(keys.__getitem__, answers.item),
            answers.repeat,
            repeat(file),
            rows.line,
            rows.offset,
            rows.length,
            rows.pointers,
            answers.status,
            repeat(recovered),
            strict=False,
        )


def prediction_text(prediction: Any) -> str:
    """A prediction as ASCII-escaped JSON: any string can be stored and read back, lone surrogates too."""
    if type(prediction) is tuple and all(type(text) is str for text in prediction):
        return f"[{', '.join(map(_quoted, prediction))}]"[
            :_LONGEST_PREDICTION
        ]  # what json gives, in a tenth of the time
    return json.dumps(prediction, default=str)[:_LONGEST_PREDICTION]


def store_evaluation(
    run: Run, items: SplitItems, contents: Sequence[FileContent], evaluator: Evaluator, result: Result
) -> Evaluation:
    """Write one evaluation with its verdicts, vectors and scores; an older one of the same evaluator is superseded."""
    Evaluation.objects.filter(run=run, evaluator__name=evaluator.name, current=True).update(current=False)
    benchmark = Benchmark.objects.get(pk=items.split.release.benchmark_id)
    kept, _ = models.Evaluator.objects.get_or_create(
        name=evaluator.name,
        benchmark=benchmark,
        fingerprint=evaluator.fingerprint,
        defaults={"description": evaluator.description, "headline": evaluator.headline},
    )
    evaluation = Evaluation.objects.create(
        run=run,
        evaluator=kept,
        gold_fingerprint=items.split.fingerprint,
        labels_fingerprint=items.split.labels_fingerprint,
        basis=basis_of(evaluator),
        instruments=_instruments(run, evaluator),
    )
    insert_rows(
        ItemScore,
        ITEM_SCORE_COLUMNS,
        _item_score_rows(evaluation.pk, contents, evaluator, result.verdicts),
    )
    insert_rows(
        Vector,
        ("evaluation_id", "repeat", "name", "data"),
        _vector_rows(evaluation.pk, result),
    )
    insert_rows(
        Score,
        (
            "evaluation_id",
            "repeat",
            "metric",
            "variant",
            "dimension",
            "facet",
            "value",
            "n",
            "n_answered",
            "ci_low",
            "ci_high",
        ),
        ((evaluation.pk, *_figures(row)) for row in result.aggregates),
    )
    return evaluation


def _instruments(run: Run, evaluator: Evaluator) -> dict[str, str]:
    """The judge of an evaluator that rests on one, as it is stated for the run, and the encoder of one that has one."""
    encoder = getattr(evaluator, "encoder", None)
    judge = {"judge": str(run.protocol.get("judge") or "not stated")} if evaluator.judged else {}
    return judge | ({"encoder": encoder.name} if encoder is not None else {})


def basis_of(evaluator: Any) -> dict[str, Any]:
    """What an evaluation of stored verdicts rests on; empty for every other."""
    basis = getattr(evaluator, "basis", None)
    return basis.as_json() if basis is not None else {}


def _item_score_rows(
    evaluation_id: int, contents: Sequence[FileContent], evaluator: Evaluator, verdicts: Verdicts
) -> Iterator[tuple]:
    answers = (answer for _, rows, _ in in_order(contents, contents) for answer in rows.answers)
    values = (None if math.isnan(value) else value for value in verdicts.values)
    for ordinal, (answer, outcome, value) in enumerate(zip(answers, verdicts.outcomes, values, strict=True)):
        prediction, rule = evaluator.taken(answer)
        yield evaluation_id, ordinal, outcome, value, rule, prediction_text(prediction)


def _vector_rows(evaluation_id: int, result: Result) -> Iterator[tuple]:
    # the vectors of an only repeat are those over all repeats
    several = len({number for number, _ in result.vectors if number}) > 1
    for (number, name), values in result.vectors.items():
        if several or not number:
            yield evaluation_id, number, name, vector_bytes(values)


def vector_bytes(values: np.ndarray) -> bytes:
    """uint8 as it is, everything else as little-endian float64."""
    return values.astype(np.uint8 if values.dtype == np.uint8 else "<f8", copy=False).tobytes()
