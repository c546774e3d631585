"""The fact load on PostgreSQL against psql's COPY of the same rows into the same tables with the same indexes.

    DATABASE_URL=postgres://... python -m bench.facts [--rows 200000] [--repeat 5]

Invented rows of one run: `Response` and `ItemScore`, the two tables that take a row an answer. Ours starts from Python rows as
the loader has them; psql copies a text file that another COPY wrote. The tables are emptied before each. Prints medians of
interleaved rounds and their ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.ingest import prepare

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
GOAL = 1.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        parser.error("DATABASE_URL names no PostgreSQL server")
    prepare()
    from evaluation.models import Run

    tables = facts(options.rows)
    with tempfile.TemporaryDirectory() as scratch:
        files = [written(Path(scratch), *table) for table in tables]
        rounds = [(ours(tables), psql(files)) for _ in range(options.repeat)]
    empty()
    Run.objects.all().delete()
    own, base = (median(column) for column in zip(*rounds, strict=True))
    count = options.rows * len(tables)
    print(
        f"{count:,} fact rows: ours {own:.2f} s ({count / own:,.0f} rows/s), psql COPY {base:.2f} s "
        f"({count / base:,.0f} rows/s), ratio {own / base:.2f} ({'kept' if own / base <= GOAL else 'MISSED'}, goal {GOAL})"
    )


Table = tuple[Any, Sequence[str], list[tuple[Any, ...]]]


def facts(rows: int) -> list[Table]:
    """The columns that the loader fills, for one run with an evaluation, and their rows."""
    from evaluation.models import (  # fmt: skip
        Benchmark,
        Evaluation,
        Evaluator,
        ItemScore,
        LanguageModel,
        Release,
        Response,
        ResultFile,
        Run,
        Split,
    )
    from ingest.load import ITEM_SCORE_COLUMNS, RESPONSE_COLUMNS

    benchmark, _ = Benchmark.objects.get_or_create(slug="ehr-bench")
    release, _ = Release.objects.get_or_create(benchmark=benchmark, name="bench")
    split, _ = Split.objects.get_or_create(release=release, name="full", fingerprint="f" * 64)
    model, _ = LanguageModel.objects.get_or_create(slug="bench", name="bench")
    run = Run.objects.create(key="bench", split=split, model=model, mode="agentic", repeats=[1])
    file = ResultFile.objects.create(run=run, path="x", physical="x", sha256="0" * 64, size=1, ordinal=0)
    evaluator, _ = Evaluator.objects.get_or_create(name="bench", benchmark=benchmark, fingerprint="0" * 64)
    evaluation = Evaluation.objects.create(run=run, evaluator=evaluator, gold_fingerprint=split.fingerprint)
    answers = [
        (run.pk, n, None, f"ehr_bench_{n}", 1, file.pk, n + 1, 2048 * n, 2048, "", 0, False) for n in range(rows)
    ]
    verdicts = [
        (evaluation.pk, n, n % 3, (n % 5) / 4, "ok", f'["finding {n % 997}", "finding {n % 89}"]') for n in range(rows)
    ]
    return [(Response, RESPONSE_COLUMNS, answers), (ItemScore, ITEM_SCORE_COLUMNS, verdicts)]


def empty() -> None:
    from evaluation.models import ItemScore, Response

    for model in (ItemScore, Response):
        model.objects.all().delete()


def ours(tables: Sequence[Table]) -> float:
    from django.db import transaction

    from evaluation.facts import insert_rows

    empty()
    start = time.perf_counter()
    with transaction.atomic():
        for model, columns, rows in tables:
            insert_rows(model, columns, rows)
    return time.perf_counter() - start


def written(folder: Path, model: Any, columns: Sequence[str], rows: list[tuple[Any, ...]]) -> tuple[str, Path]:
    """What psql is told, and the rows as the text that COPY reads."""
    from django.db import connection

    from evaluation.facts import insert_rows

    insert_rows(model, columns, rows)
    table = f"{model._meta.db_table}({', '.join(map(connection.ops.quote_name, columns))})"
    path = folder / f"{model._meta.db_table}.copy"
    with connection.cursor() as cursor, path.open("wb") as out, cursor.copy(f"COPY {table} TO STDOUT") as copy:
        for block in copy:
            out.write(block)
    return table, path


def psql(files: Sequence[tuple[str, Path]]) -> float:
    empty()
    told = "".join(f"\\copy {table} FROM '{path}'\n" for table, path in files)
    start = time.perf_counter()
    command = ["psql", "-q", "--single-transaction", "-v", "ON_ERROR_STOP=1", os.environ["DATABASE_URL"]]
    subprocess.run(command, input=told.encode(), check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
