"""`manage.py export_items`: the item-level rows of a run, a board or a benchmark as JSON Lines or Parquet."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from evaluation.models import Benchmark, Run
from leaderboard.data import items
from leaderboard.data.commands import add_person, person, whole_file
from leaderboard.data.files import json_lines, write_parquet
from leaderboard.models import Board


class Command(BaseCommand):
    help = "Write one row for each answer, with its verdict and its place in a file, as far as a person may see items."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--run", metavar="ID", help="one run")
        what.add_argument("--board", metavar="SLUG", help="the live runs of a board")
        what.add_argument("--benchmark", metavar="SLUG", help="the live runs of a benchmark")
        parser.add_argument(
            "--evaluator", default="", metavar="NAME", help="default: the one whose figures the board shows"
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="ends in .parquet or .jsonl (default: JSON Lines on standard output)",
        )
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rows = self._rows(options)
            self._write(rows, options["out"])
        except (items.ItemsHidden, LookupError) as error:
            raise CommandError(f"nothing was written: {error.args[0]}") from error
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        except OSError as error:
            raise CommandError(f"{options['out']}: {error.strerror or error}") from error

    def _rows(self, options: dict[str, Any]) -> items.ItemRows:
        user, evaluator = person(options), options["evaluator"]
        if key := options["run"]:
            run = Run.objects.visible_to(user).filter(key=key).first()
            if run is None:
                raise LookupError(f"--run {key!r}: there is no such run, or this person may not see it")
            return items.of_run(run, user, evaluator)
        if slug := options["board"]:
            board = Board.objects.visible_to(user).with_benchmark().filter(slug=slug).first()
            if board is None:
                raise LookupError(f"--board {slug!r}: there is no such board, or this person may not see it")
            return items.of_board(board, user, evaluator)
        benchmark = Benchmark.objects.filter(slug=options["benchmark"]).first()
        if benchmark is None:
            raise LookupError(f"--benchmark {options['benchmark']!r}: there is no such benchmark")
        return items.of_benchmark(benchmark, user, evaluator)

    def _write(self, rows: items.ItemRows, out: Path | None) -> None:
        if out is None:
            stream = getattr(self.stdout, "buffer", sys.stdout.buffer)
            for piece in json_lines(list(items.COLUMNS), rows.batches()):
                stream.write(piece)
            return
        if out.suffix not in (".parquet", ".jsonl"):
            raise CommandError(f"--out {out}: the name must end in .parquet or .jsonl")
        with whole_file(out) as path:
            if out.suffix == ".parquet":
                write_parquet(items.COLUMNS, rows.batches(), path, rows.about)
            else:
                with path.open("wb") as stream:
                    stream.writelines(json_lines(list(items.COLUMNS), rows.batches()))
        self.stderr.write(f"{out}: {rows.count:,} rows")
