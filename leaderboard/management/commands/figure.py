"""`manage.py figure BOARD --out FILE`: a board as a picture, as the public sees it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from leaderboard.data.commands import add_person, person
from leaderboard.figures import FORMS, KINDS, WIDTHS, FigureError
from leaderboard.models import Board
from leaderboard.pictures import picture


class Command(BaseCommand):
    help = "Draw a board as SVG, PDF or PNG, by the ending of --out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("board", metavar="BOARD", help="the slug of a board, as in its address")
        parser.add_argument("--kind", choices=list(KINDS), default="dots", help="default: dots")
        parser.add_argument("--width", choices=list(WIDTHS), default="single", help="default: single, 85 mm")
        parser.add_argument("--by", default="", metavar="DIMENSION", help="heat, lines: the dimension of the facets")
        parser.add_argument("--with", dest="other", default="", metavar="BOARD", help="scatter: the other board")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=f"ends in {', '.join(FORMS)}")
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["out"]
        asked = {"kind": options["kind"], "width": options["width"], "by": options["by"], "with": options["other"]}
        try:
            user = person(options)
            board = Board.objects.visible_to(user).with_benchmark().filter(slug=options["board"]).first()
            if board is None:
                raise CommandError(f"{options['board']}: is no board that may be seen so")
            content = picture(board, user, asked, path.suffix.removeprefix("."))
        except FigureError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        try:
            path.write_bytes(content)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        self.stderr.write(f"{path}: {len(content):,} bytes")
