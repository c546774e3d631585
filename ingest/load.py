"""A run into the tables: all or nothing, beside what is live, then swapped, in one transaction."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.db import transaction

from evaluation.benchmarks import BenchmarkSpec
from evaluation.facts import insert_rows
from evaluation.items import SplitItems
from evaluation.models import (
    Benchmark,
    Evaluation,
    Evaluator,
    ItemScore,
    Response,
    ResultFile,
    Run,
    Score,
    Split,
    Vector,
)
from evaluation.protocols import readings
from evaluation.protocols.base import Answer, Outcome, Result
from evaluation.signals import run_loaded
from ingest.models import StoredSummary
from ingest.readers.base import FileContent, Row, printable
from ingest.summaries import Comparison

_LONGEST_PREDICTION = 2_000


def run_key(
    split: Split, mode: str, model_name: str, files: Sequence[tuple[Sequence[int], str]], archived: bool
) -> str:
    """The public id of a run: 12 hex digits over what it is and the bytes it was read from, not where they lay."""
    release = split.release
    content = [release.benchmark.slug, release.name, split.name, mode, model_name, archived]
    content += [[sorted(repeats), sha256] for repeats, sha256 in files]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def evaluate(spec: BenchmarkSpec, items: SplitItems, rows: Sequence[Row]) -> list[tuple[Any, Result]]:
    """Apply every evaluator of the benchmark. The seed is the gold's fingerprint: runs of one split share resamples."""
    answers = [row.answer for row in rows if not row.recovered]
    recovered = [row.answer for row in rows if row.recovered]
    seed = items.split.fingerprint
    return [
        (evaluator, readings.evaluate(evaluator, items.specs, answers, recovered, seed))
        for evaluator in spec.evaluators
    ]


@transaction.atomic
def load_run(
    run: Run,
    contents: Sequence[FileContent],
    rows: Sequence[Row],
    items: SplitItems,
    results: Sequence[tuple[Any, Result]],
    summaries: Sequence[Comparison],
    replaced: Run | None,
) -> None:
    """Write `run` (unsaved) with its files, responses, evaluations and summaries; `replaced` becomes superseded.

    `rows` are the rows of all files, recovered ones last, in the order in which they were evaluated.
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
                repeats=sorted({row.answer.repeat for row in content.rows}),
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
        (
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
        ),
        _response_rows(run.pk, rows, items.ids, [file.pk for file in files]),
    )
    for evaluator, result in results:
        store_evaluation(run, items, rows, evaluator, result)
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


def _response_rows(run_id: int, rows: Sequence[Row], ids: dict[str, int], files: list[int]) -> Iterator[tuple]:
    for ordinal, row in enumerate(rows):
        answer = row.answer
        item = ids.get(answer.item)
        key = "" if item is not None else printable(answer.item)
        place = (files[row.file], row.line, row.offset, row.length, row.pointer)
        yield run_id, ordinal, item, key, answer.repeat, *place, _status(answer), row.recovered


def _status(answer: Answer) -> int:
    if answer.error:
        return Outcome.ERROR.value
    return (Outcome.NO_ANSWER if answer.prediction in (None, (), "") else Outcome.WRONG).value


def prediction_text(prediction: Any) -> str:
    """A prediction as ASCII-escaped JSON: any string can be stored and read back, lone surrogates too."""
    return json.dumps(prediction, default=str)[:_LONGEST_PREDICTION]


def store_evaluation(run: Run, items: SplitItems, rows: Sequence[Row], evaluator: Any, result: Result) -> Evaluation:
    """Write one evaluation with its verdicts, vectors and scores; an older one of the same evaluator is superseded."""
    Evaluation.objects.filter(run=run, evaluator__name=evaluator.name, current=True).update(current=False)
    benchmark = Benchmark.objects.get(pk=items.split.release.benchmark_id)
    kept, _ = Evaluator.objects.get_or_create(
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
    )
    insert_rows(
        ItemScore,
        ("evaluation_id", "ordinal", "outcome", "value", "rule", "prediction"),
        (
            (
                evaluation.pk,
                ordinal,
                int(verdict.outcome),
                verdict.value,
                row.answer.rule,
                prediction_text(row.answer.prediction),
            )
            for ordinal, (row, verdict) in enumerate(zip(rows, result.verdicts, strict=True))
        ),
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
        ((evaluation.pk, *asdict(row).values()) for row in result.aggregates),
    )
    return evaluation


def basis_of(evaluator: Any) -> dict[str, Any]:
    """What an evaluation of stored verdicts rests on; empty for every other."""
    basis = getattr(evaluator, "basis", None)
    return basis.as_json() if basis is not None else {}


def _vector_rows(evaluation_id: int, result: Result) -> Iterator[tuple]:
    # the vectors of an only repeat are those over all repeats
    several = len({repeat for repeat, _ in result.vectors if repeat}) > 1
    for (repeat, name), values in result.vectors.items():
        if several or not repeat:
            yield evaluation_id, repeat, name, vector_bytes(values)


def vector_bytes(values: np.ndarray) -> bytes:
    """uint8 as it is, everything else as little-endian float64."""
    return values.astype(np.uint8 if values.dtype == np.uint8 else "<f8", copy=False).tobytes()
