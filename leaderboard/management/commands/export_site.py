"""`manage.py export_site OUT`: the public boards as files that need no server."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from leaderboard.data.site import Occupied, write_site


class Command(BaseCommand):
    help = "Write what everybody may see as plain HTML and JSON: boards, models, runs, archives, tables to embed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "out", type=Path, metavar="OUT", help="a new or empty folder, or an earlier copy, which is replaced"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        out = options["out"]
        try:
            count = write_site(out.absolute())
        except Occupied as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror or error}") from error
        self.stderr.write(f"{out}: {count:,} files; open {out / 'index.html'}")
