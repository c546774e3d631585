"""`manage.py freeze BOARD`: store what a board says now, for good; prints the address and the hash."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from leaderboard.data.commands import add_person, person
from leaderboard.freeze_pages import address
from leaderboard.freezing import NothingToFreeze, freeze
from leaderboard.models import Board


class Command(BaseCommand):
    help = (
        "Freeze a board as the public sees it; with --as or --all privately. The same state on one day is one freeze."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("board", metavar="BOARD", help="the slug of a board, as in its address")
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = person(options)
            board = Board.objects.visible_to(user).with_benchmark().filter(slug=options["board"]).first()
            if board is None:
                raise CommandError(f"{options['board']}: is no board that may be seen so")
            made = freeze(board, user if user.is_authenticated else None)
        except NothingToFreeze as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        self.stdout.write(f"{address(made)}\nsha256 {made.digest}")
