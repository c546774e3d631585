"""`manage.py export_board SLUG`: the whole board as one zip file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from leaderboard.data.archive import write_archive
from leaderboard.data.commands import add_person, person, whole_file
from leaderboard.models import Board


class Command(BaseCommand):
    help = "Write a board's table, scores, runs and checksums as a zip file. The same state gives the same bytes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the board, as in its address")
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: SLUG.zip")
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        slug, out = options["slug"], options["out"] or Path(f"{options['slug']}.zip")
        try:
            user = person(options)
            board = Board.objects.visible_to(user).with_benchmark().filter(slug=slug).first()
            if board is None:
                raise CommandError(f"{slug!r}: there is no such board, or this person may not see it")
            with whole_file(out) as path:
                if not write_archive(board, user, path):
                    raise CommandError(f"{slug!r}: nothing on this board is for this person")
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror or error}") from error
        self.stderr.write(f"{out}: {out.stat().st_size:,} bytes")
