"""`manage.py export RECIPE`: a table as a file, its numbers as macros, its methods; and the check of what was printed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from leaderboard.data.commands import add_person, person
from leaderboard.exports import EXPORTS
from leaderboard.recipes.build import Built, build
from leaderboard.recipes.outputs import PUBLIC, as_file, as_macros, as_methods, check
from leaderboard.recipes.recipe import Recipe, RecipeError, from_query, load
from leaderboard.tables.latex import document


class Command(BaseCommand):
    help = "Write the table of a recipe (a YAML file, or the address of the table page), as the public sees it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "recipe", nargs="?", metavar="RECIPE", help="a YAML file, or the address or query of /tables/"
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--format", choices=sorted(EXPORTS), default="tex", help="the form of the table (default: tex)"
        )
        what.add_argument("--macros", action="store_true", help="the figures as LaTeX macros, for the text")
        what.add_argument("--methods", action="store_true", help="the methods paragraph, as LaTeX")
        what.add_argument(
            "--check",
            nargs="+",
            type=Path,
            metavar="FILE",
            help="compare figures in exported .tex files with the database",
        )
        parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: standard output)")
        parser.add_argument("--document", action="store_true", help="LaTeX: a whole document instead of a float")
        parser.add_argument("--bom", action="store_true", help="CSV: a byte-order mark first, for spreadsheets")
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user, seen = self._person(options)
            if options["check"]:
                self._check(options["check"], user)
                return
            if not options["recipe"]:
                raise CommandError("a recipe is needed: a YAML file, or the address of the table page")
            content = self._content(build(_recipe(options["recipe"]), user, settings.ADDRESS), seen, options)
        except RecipeError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        self._write(content, options)

    def _person(self, options: dict[str, Any]) -> tuple[User | AnonymousUser, str]:
        user = person(options)
        seen = "staff" if options["all"] else f"the person {user.get_username()}" if options["person"] else PUBLIC
        return user, seen

    def _content(self, built: Built, seen: str, options: dict[str, Any]) -> bytes:
        base = settings.ADDRESS
        if options["macros"]:
            return as_macros(built, seen=seen, base=base)
        if options["methods"]:
            return as_methods(built, seen=seen, base=base)
        content = as_file(built, options["format"], seen=seen, base=base, bom=options["bom"])
        if options["document"] and options["format"] == "tex":
            content = document(content.decode()).encode()
        return content

    def _write(self, content: bytes, options: dict[str, Any]) -> None:
        if options["out"] is None:
            if options["format"] == "parquet" and sys.stdout.isatty() and not (options["macros"] or options["methods"]):
                raise CommandError("Parquet is no text: say where to write with --out")
            getattr(self.stdout, "buffer", sys.stdout.buffer).write(content)
            return
        try:
            options["out"].write_bytes(content)
        except OSError as error:
            raise CommandError(f"{options['out']}: {error.strerror}") from error
        self.stderr.write(f"{options['out']}: {len(content):,} bytes")

    def _check(self, paths: list[Path], user: User | AnonymousUser) -> None:
        failed = False
        for path in paths:
            try:
                compared, wrong = check(path.read_text("utf-8"), user, path.name)
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise CommandError(f"{path}: is not UTF-8") from error
            except ValueError as error:
                raise CommandError(str(error)) from error
            failed = failed or bool(wrong)
            for line in wrong:
                self.stdout.write(line)
            if not wrong:
                self.stdout.write(f"{path.name}: {compared} figures are what the database gives")
        if failed:
            sys.exit(1)


def _recipe(text: str) -> Recipe:
    """A file where there is one or the name looks like one, else an address or the query of one."""
    if text.endswith((".yaml", ".yml")) or ("=" not in text and Path(text).exists()):
        return load(text)
    if "=" not in text:
        raise CommandError(f"{text}: is no YAML file, and no address of a table (those hold a =)")
    return from_query(text.partition("?")[2] if "?" in text else text)
