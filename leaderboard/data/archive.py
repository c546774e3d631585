"""A board as one file: its table in every form, all scores, where each run came from, checksums, and the terms.

What is in it depends on the database and on who asks, never on the hour: the same state gives the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder

from evaluation.models import Evaluation, Run, Score
from leaderboard.boards import BoardView, view_board
from leaderboard.exports import exported
from leaderboard.models import Board, ReportedScore
from leaderboard.runs import run_document
from leaderboard.tables.csvfile import neutral

if TYPE_CHECKING:
    from evaluation.querysets import Person

TABLE_FORMS = ("csv", "json", "md", "tex", "html")
FIGURES = ("repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered", "ci_low", "ci_high")
SCORE_COLUMNS = ("run", "model", "evaluator", *FIGURES)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file can hold


def write_archive(board: Board, user: Person, target: Path | IO[bytes]) -> bool:
    """Write the board's archive as `user` sees it; False, and nothing written, where there is nothing on it for them."""
    view = view_board(board, user)
    if view is None:
        return False
    sums = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, pieces in _parts(view, user):
            digest = hashlib.sha256()
            info = zipfile.ZipInfo(f"{board.slug}/{name}", _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with archive.open(info, "w") as out:
                for piece in pieces:
                    digest.update(piece)
                    out.write(piece)
            sums.append(f"{digest.hexdigest()}  {name}\n")
        info = zipfile.ZipInfo(f"{board.slug}/SHA256SUMS", _EPOCH)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        archive.writestr(info, "".join(sums))
    return True


def _parts(view: BoardView, user: Person) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(name, content in pieces) of each file."""
    board = view.board
    evaluations = list(board_evaluations(board, user))
    yield "README.md", iter([readme(view, evaluations).encode()])
    for form in TABLE_FORMS:
        yield f"table.{form}", iter([exported(view.table, form)])
    yield "scores.csv", scores_csv(evaluations)
    yield "scores.json", scores_json(evaluations)
    yield "reported.json", iter([as_json(reported(board))])
    for run in {one.run_id: one.run for one in evaluations}.values():
        document = run_document(run, user)
        del document["scores"]  # they stand in scores.json
        yield f"runs/{run.key}.json", iter([as_json(document)])


def board_evaluations(board: Board, user: Person) -> Any:
    """The current evaluations, by every evaluator, of the visible live runs of a board's key, in a fixed order."""
    found = Evaluation.objects.visible_to(user).current()
    mine = found.filter(
        run__state=Run.State.LIVE,
        run__split=board.split,
        run__mode=board.mode,
        run__shots=board.shots,
        run__conversation_kept=board.conversation_kept,
    )
    relations = ("evaluator", "run__model", "run__split__release__benchmark", "run__superseded_by")
    return mine.select_related(*relations).order_by("run__model_name", "run__key", "evaluator__name")


def score_rows(evaluations: list[Evaluation]) -> Iterator[tuple[Any, ...]]:
    """All aggregates in the order of SCORE_COLUMNS."""
    for evaluation in evaluations:
        head = (evaluation.run.key, evaluation.run.model.name, evaluation.evaluator.name)
        for row in Score.objects.filter(evaluation=evaluation).order_by("pk").values_list(*FIGURES):
            yield (*head, *row)


def scores_csv(evaluations: list[Evaluation]) -> Iterator[bytes]:
    """Full precision; a text that a spreadsheet would take for a formula has an apostrophe before it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(SCORE_COLUMNS)
    for row in score_rows(evaluations):
        writer.writerow([neutral(value) for value in row])
        if out.tell() > 1 << 16:
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def scores_json(evaluations: list[Evaluation]) -> Iterator[bytes]:
    """A list of objects, one a line."""
    lead = b"[\n"
    for row in score_rows(evaluations):
        yield lead + json.dumps(dict(zip(SCORE_COLUMNS, row, strict=True)), ensure_ascii=False).encode()
        lead = b",\n"
    yield b"\n]\n" if lead == b",\n" else b"[]\n"


def reported(board: Board) -> list[dict[str, Any]]:
    """The figures that sources give on the board's split and mode, with where they stand."""
    rows = ReportedScore.objects.filter(split=board.split, mode=board.mode).select_related("model", "source")
    names = (
        "protocol",
        "on_board",
        "human",
        "metric",
        "variant",
        "dimension",
        "facet",
        "value",
        "printed",
        "unit",
        "n",
    )
    return [
        {
            "model": row.model.name if row.model else None,
            "group": row.group,
            **{name: getattr(row, name) for name in (*names, "runs", "reported_sd", "note")},
            "source": {name: getattr(row.source, name) for name in ("text", "url", "retrieved", "commit")},
        }
        for row in rows.order_by("source__key", "order", "pk")
    ]


def as_json(document: Any) -> bytes:
    return (json.dumps(document, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1) + "\n").encode()


def readme(view: BoardView, evaluations: list[Evaluation]) -> str:
    """What the archive is, under what terms, by whose rules and of when."""
    board, benchmark = view.board, view.board.benchmark
    newest: datetime | None = max((one.run.loaded_at for one in evaluations), default=None)
    used = {one.evaluator.name: one.evaluator.description for one in evaluations}
    dated = f"Newest run loaded on {newest.date().isoformat()}." if newest else "All figures are reported; no run."
    lines = [
        f"# {benchmark.name}: {view.subtitle}",
        "",
        view.summary,
        "",
        "These models, questions and figures are invented." if view.invented else "",
        f"- Address: {settings.ADDRESS}{board.get_absolute_url()}",
        f"- Release {board.split.release.name}, split {board.split.name}, mode {board.mode}; "
        f"shots and conversation: {board.protocol}",
        f"- State: {dated}",
        f"- Licence of the benchmark: {benchmark.licence or 'not stated'}",
        f"- Attribution: {benchmark.attribution or 'not stated'}",
        *(f"- Evaluator `{name}`: {text}" for name, text in used.items()),
        "",
        "| file | what |",
        "|---|---|",
        "| table.* | the table of the board's page, in five forms with the same digits |",
        "| scores.csv, scores.json | every aggregate of every run, unrounded; fractions are 0..1; by every evaluator |",
        "| reported.json | figures that papers and pages give, with their source |",
        "| runs/ID.json | what was read: files, sha256, links, counts, protocol |",
        "| SHA256SUMS | check with `sha256sum -c SHA256SUMS` |",
        "",
        "It holds no items and no answers. Figures of two evaluators are not to be compared.",
    ]
    return "\n".join(lines) + "\n"
