"""Item-level export of a large board: rows/s and the peak memory of each form, in a process of its own.

    python -m bench.export [--runs 200] [--rows 6605]

Fills the database of DATABASE_URL (a scratch SQLite file when unset) with so many runs of so many rows, then writes the
board as JSON Lines and as Parquet. The goal of the design is 300 MB, the aim 100 MB, for 1.3 M rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOAL, AIM = 300, 100  # MB
PERSON = "bench"


def fill(runs: int, rows: int) -> None:
    """A board of `runs` runs; only what the export reads is there."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.db import transaction

    from evaluation.facts import insert_rows
    from evaluation.items import store_split
    from evaluation.models import (
        Benchmark,
        Evaluation,
        Evaluator,
        Item,
        ItemScore,
        LanguageModel,
        Response,
        ResultFile,
        Run,
    )
    from evaluation.protocols.base import ItemSpec
    from ingest.load import RESPONSE_COLUMNS
    from leaderboard.receivers import ensure_board

    call_command("migrate", verbosity=0)
    benchmark = Benchmark.objects.get(slug="ehr-bench")
    benchmark.data_group = Group.objects.create(name="bench")
    benchmark.save()
    User.objects.create_user(PERSON).groups.add(benchmark.data_group)
    specs = [
        ItemSpec(f"ehr_bench_decision_making_{n}", f"c{n // 3}", f"s{n // 9}", ["alpha", "beta"]) for n in range(rows)
    ]
    split = store_split(benchmark, "v1", "full1800", specs, rankable=True)
    ids = list(Item.objects.order_by("pk").values_list("pk", flat=True))
    evaluator = Evaluator.objects.filter(benchmark=benchmark).first()
    model = LanguageModel.objects.create(slug="made-up", name="Made up")
    ensure_board(split, "agentic")
    for number in range(runs):
        with transaction.atomic():
            run = Run.objects.create(
                key=f"{number:016x}",
                split=split,
                mode="agentic",
                model=model,
                model_name="made_up",
                repeats=[1],
                visibility="public",
            )
            file = ResultFile.objects.create(
                run=run, path=f"ehr/{number}/results.jsonl", physical="", sha256="0" * 64, size=1
            )
            evaluation = Evaluation.objects.create(run=run, evaluator=evaluator, gold_fingerprint=split.fingerprint)
            insert_rows(
                Response,
                RESPONSE_COLUMNS,
                ((run.pk, n, ids[n], "", 1, file.pk, n + 1, n * 2000, 1999, "", 2, False) for n in range(rows)),
            )
            insert_rows(
                ItemScore,
                ("evaluation_id", "ordinal", "outcome", "value", "rule", "prediction"),
                (
                    (evaluation.pk, n, 2, n % 7 / 6, "finish_call", json.dumps([f"answer {n * number}", "beta"]))
                    for n in range(rows)
                ),
            )


def child(form: str, out: str) -> None:
    """Write the board once and say what it took."""
    import django
    from django.core.management import call_command

    from bench.memory import peak_mb

    django.setup()
    from leaderboard.management.commands import export_items  # noqa: F401 - what the command needs is loaded

    base, start = peak_mb(), time.perf_counter()
    call_command("export_items", "--board", "ehr-bench-v1-full1800-agentic", "--as", PERSON, "--out", out)
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak_mb(), "base": base}))


def measured(forms: tuple[str, ...], folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for form in forms:
        out = folder / f"items.{form}"
        command = [sys.executable, "-m", "bench.export", "--child", form, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        yield form, {**json.loads(done.stdout), "bytes": out.stat().st_size}
        out.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=6605)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if options.child:
        child(options.child, options.out)
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{scratch}/bench.sqlite3")
        import django

        django.setup()
        fill(options.runs, options.rows)
        count = options.runs * options.rows
        for form, told in measured(("jsonl", "parquet"), Path(scratch)):
            peak = told["peak"]
            verdict = "aim kept" if peak <= AIM else "goal kept, aim not" if peak <= GOAL else "BROKEN"
            print(
                f"{form:<8}{count:,} rows in {told['seconds']:.1f} s, {count / told['seconds']:,.0f} rows/s, "
                f"{told['bytes'] / 1e6:.0f} MB; peak {peak:.0f} MB of memory, {told['base']:.0f} before ({verdict})",
                flush=True,
            )


if __name__ == "__main__":
    main()
