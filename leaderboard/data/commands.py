"""What the export commands share: by whose rights, and files that are there whole or not at all."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.management.base import CommandError


def add_person(parser: ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--as", dest="person", metavar="USER", help="what this person may see, not only what is public")
    who.add_argument("--all", action="store_true", help="private runs too, as staff see them")


def person(options: dict[str, Any]) -> User | AnonymousUser:
    """The person whose rights count. Raises CommandError for a name that nobody has."""
    if options["all"]:
        return User(is_active=True, is_staff=True)
    if options["person"] is None:
        return AnonymousUser()
    user = User.objects.filter(username=options["person"], is_active=True).first()
    if user is None:
        raise CommandError(f"--as {options['person']!r}: no active person has that name")
    return user


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place beside `path` to write to; it becomes `path` when all went well, else it is taken away."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
