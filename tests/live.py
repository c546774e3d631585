"""ClinBoard as other processes run it: a database of its own, commands, a server. For tests of the whole."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from urllib.error import URLError
from urllib.parse import urlsplit, urlunsplit

import psycopg

PROJECT = Path(__file__).resolve().parent.parent
TEST_KEY = "a-key-for-tests-only-" + "x" * 40
# Whatever a developer's shell or .env says, the processes of a test run with these.
SETTINGS = {"DEBUG": "0", "HTTPS": "0", "SECRET_KEY": TEST_KEY, "CELERY_BROKER_URL": "", "CACHE_URL": "locmemcache://"}
# Of this test process alone: collectstatic of one must not take files away from under the server of another.
STATIC_ROOT = tempfile.mkdtemp(prefix="clinboard-static-")
atexit.register(shutil.rmtree, STATIC_ROOT, ignore_errors=True)


@contextmanager
def scratch_database(folder: Path) -> Iterator[str]:
    """The DATABASE_URL of an empty database: on the server of the tests' DATABASE_URL when that is PostgreSQL, else a file."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield f"sqlite:///{folder / 'db.sqlite3'}"
        return
    name = f"clinboard_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, dbname="postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def environment(database: str, **more: str) -> dict[str, str]:
    return {**os.environ, **SETTINGS, "STATIC_ROOT": STATIC_ROOT, "DATABASE_URL": database, **more}


def manage(database: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=PROJECT, env=environment(database), check=check, capture_output=True, text=True, timeout=120
    )


@contextmanager
def process(command: list[str], log: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that writes into `log` and is ended, whatever happens."""
    with log.open("wb") as out:
        running = subprocess.Popen(command, cwd=PROJECT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(timeout=20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


@dataclass(frozen=True)
class Server:
    url: str
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text("utf-8")


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def served(folder: Path, database: str, *arguments: str, seconds: float = 180) -> Iterator[Server]:
    """`manage.py ARGUMENTS --port N`, once it answers at /healthz. Fails with the process's words when it does not."""
    server = Server(f"http://127.0.0.1:{(port := free_port())}", folder / "server.log")
    command = [sys.executable, "manage.py", *arguments, "--port", str(port)]
    with process(command, server.log, environment(database)) as running:
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(f"{server.url}/healthz", timeout=5):  # noqa: S310
                    break
            except (URLError, OSError) as error:
                if running.poll() is not None or time.monotonic() > end:
                    raise AssertionError(f"no answer at {server.url}: {error}\n{server.said}") from error
                time.sleep(0.1)
        yield server
