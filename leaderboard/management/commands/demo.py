"""`manage.py demo`: the invented sample tree and the published figures, served."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from evaluation.models import Run
from leaderboard.management.commands import up


class Command(up.Command):
    help = "Show what ClinBoard does: an invented results tree beside published figures, with an administrator. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--into", type=Path, metavar="DIR", help="where the sample is written (default: demo)")
        self.add_serving(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self.prepare(options)
        sample = options["into"] or settings.BASE_DIR / "demo"
        self._write(sample)
        told = io.StringIO()
        gold = f"{up.SAMPLE}={sample / 'gold'}"
        choices = ("--gold", gold, "--release", up.SAMPLE, "--visibility", Run.Visibility.PUBLIC)
        code = self.ingest(str(sample / "results"), *choices, stdout=told)
        self.stdout.write(told.getvalue().splitlines()[-1])
        if code == 1:
            self.stdout.write(f"It holds broken lines on purpose: see {sample / 'results' / 'README.md'}")
        call_command("load_published", stdout=self.stdout)
        self.finish(options)

    def _write(self, sample: Path) -> None:
        # not at the top: fixtures are no part of the installed package
        from fixtures.sample_tree import write

        try:
            write(sample)
        except FileExistsError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"the sample cannot be written: {error.filename}: {error.strerror}") from error
