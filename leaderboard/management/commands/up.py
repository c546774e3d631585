"""`manage.py up ROOT`: from a tree of results to a served board in one command. `manage.py demo` is this with a sample."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from evaluation.models import Release, Run

HOST = "127.0.0.1"
ADMIN = "admin"
SAMPLE = "sample"


def port_number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(f"{text!r} is no port; choose a number from 1 to 65535")
    return int(text)


class Command(BaseCommand):
    help = "Start with your own tree: make the tables, read the results, make an administrator, serve. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", metavar="ROOT", help="the directory of results; it is never written to")
        for option, what in (
            ("--gold", "[RELEASE=]PATH: a gold file or a folder of them; repeatable"),
            ("--allow-outside", "links out of ROOT may lead below this directory; repeatable"),
        ):
            parser.add_argument(option, action="append", default=[], metavar="PATH", help=what)
        parser.add_argument(
            "--visibility", choices=Run.Visibility.values, help="who may see the runs (default: private)"
        )
        self.add_serving(parser)

    def add_serving(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=port_number, default=8000, help=f"port on {HOST} (default: 8000)")
        parser.add_argument("--no-serve", action="store_true", help="do everything else, then stop")

    def handle(self, *args: Any, **options: Any) -> None:
        self.prepare(options)
        if Release.objects.filter(name=SAMPLE).exists():
            self.stdout.write(
                f"This database also holds the invented release {SAMPLE!r} of the demo. For one without it, set DATABASE_URL, "
                "for example DATABASE_URL=sqlite:///lab.sqlite3"
            )
        arguments = [options["root"]]
        for option in ("gold", "allow_outside"):
            for value in options[option]:
                arguments += [f"--{option.replace('_', '-')}", value]
        if options["visibility"]:
            arguments += ["--visibility", options["visibility"]]
        if self.ingest(*arguments) == 1:
            self.stdout.write("Loaded, but for the errors above.")
        if (seen_by := options["visibility"] or settings.CLINBOARD_DEFAULT_VISIBILITY) != Run.Visibility.PUBLIC:
            self.stdout.write(f"New runs are {seen_by}: sign in to see them, or give VISIBILITY=public with make.")
        self.finish(options)

    # --- the steps ---------------------------------------------------------------------------------------------------

    def prepare(self, options: dict[str, Any]) -> None:
        """Tell early what would fail late, then make the tables."""
        if not options["no_serve"]:
            self._check_port(options["port"])
        if settings.DEBUG:
            self.stderr.write("DEBUG is on: visitors would see tracebacks. `make` turns it off in .env.")
        call_command("migrate", verbosity=0, interactive=False)

    def ingest(self, *arguments: str, **options: Any) -> int:
        """The exit code of `manage.py ingest`: 0 all loaded, 1 loaded with errors. Leaves when nothing could be done."""
        try:
            call_command("ingest", *arguments, **options)
        except SystemExit as done:
            if done.code != 1:
                raise
            return 1
        return 0

    def finish(self, options: dict[str, Any]) -> None:
        """Static files, the administrator, and the server, which takes the place of this process."""
        if not settings.DEBUG:
            call_command("collectstatic", verbosity=0, interactive=False)
        self._administrator()
        if options["no_serve"]:
            return
        self.stdout.write(f"ClinBoard is served at http://{HOST}:{options['port']}/ (stop it with Ctrl-C)")
        self.stdout.flush()
        connections.close_all()
        os.execv(sys.executable, server(options["port"]))  # noqa: S606

    def _check_port(self, port: int) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                raise CommandError(
                    f"{HOST}:{port}: {error.strerror}. Is another server running there? Stop it, or choose another port: "
                    "PORT=8001 with make, --port 8001 without"
                ) from error

    def _administrator(self) -> None:
        users = get_user_model().objects
        if users.filter(username=ADMIN).exists():
            self.stdout.write(
                f"The administrator {ADMIN!r} exists; for another password: {sys.executable} manage.py changepassword {ADMIN}"
            )
            return
        password = secrets.token_urlsafe(12)
        users.create_superuser(ADMIN, password=password)
        self.stdout.write(f"Sign in as {ADMIN!r} with the password {password} (told only this once)")


def server(port: int) -> list[str]:
    """The command that serves: one process with threads, because its cache is its own memory."""
    from gunicorn.config import KNOWN_SETTINGS

    command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--chdir", str(settings.BASE_DIR)]
    command += ["--bind", f"{HOST}:{port}", "--worker-class", "gthread", "--threads", "4", "--log-level", "warning"]
    if any(setting.name == "control_socket_disable" for setting in KNOWN_SETTINGS):
        command.append("--no-control-socket")
    return command
