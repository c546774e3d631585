"""By whose rights a command reads: the public's, one person's, or all."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.management.base import CommandError


def add_eyes(parser: ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--as", dest="person", metavar="USER", help="what this person may see, not only what is public")
    who.add_argument("--all", action="store_true", help="everything, private runs too")


def eyes(options: dict[str, Any]) -> User | AnonymousUser:
    if options["all"]:
        return User(is_active=True, is_staff=True)
    if options["person"] is None:
        return AnonymousUser()
    user = User.objects.filter(username=options["person"], is_active=True).first()
    if user is None:
        raise CommandError(f"--as {options['person']!r}: no active person has that name")
    return user
