"""`manage.py load_ratings FILE --run ID`: what people said of a run's generated texts."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from evaluation.models import Run
from ingest import ratings
from ingest.readers.human_ratings import RatingsError, load


class Command(BaseCommand):
    help = "Load people's ratings of a run (docs/human-ratings.md) in place of all earlier ones of that run."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="CSV with a header, or JSON Lines")
        parser.add_argument("--run", required=True, metavar="ID", help="the run whose answers were rated")
        parser.add_argument("--dry-run", action="store_true", help="check all, write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = Run.objects.select_related("split__release__benchmark").filter(key=options["run"]).first()
            if run is None:
                raise CommandError(f"--run {options['run']}: no such run")
            if (slug := run.split.release.benchmark.slug) != "llmeval-med":
                raise CommandError(f"--run {run.key}: is a run of {slug}; people rate answers of llmeval-med")
            file = load(options["file"])
            if options["dry_run"]:
                ratings.check(file, run)
                earlier = 0
            else:
                earlier = ratings.store(file, run)
        except RatingsError as error:
            raise CommandError(f"nothing was loaded\n{error}", returncode=2) from error
        except DatabaseError as error:
            raise CommandError(f"nothing was loaded: {error} (is the database migrated?)", returncode=2) from error
        items, raters = ({getattr(rated, name) for rated in file.lines} for name in ("item", "rater"))
        self.stdout.write(
            f"{file.name}: {len(file.lines)} ratings of {len(items)} questions by {len(raters)} people, "
            + ("all well; nothing was written" if options["dry_run"] else f"in place of {earlier} earlier ones")
        )
