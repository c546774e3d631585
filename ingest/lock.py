"""One ingest of a tree at a time, on any database: a lease with signs of life."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
from collections.abc import Callable, Iterator

from django.utils import timezone

from ingest.context import CannotIngest
from ingest.models import Source

LEASE_S = 120
_BEAT_S = 10


class Busy(CannotIngest):
    """Another ingest is reading this tree; the text says which."""


@contextlib.contextmanager
def only_reader(source: Source, host: str) -> Iterator[Callable[[], None]]:
    """Hold the source while the block runs. Gives a function to call now and then: it keeps the lease alive.

    A reader that was killed is noticed at once on its own host (its process is gone) and after LEASE_S seconds from others.
    Raises Busy while another reader lives.
    """
    me = f"{host}:{os.getpid()}"
    gone_before = timezone.now() - datetime.timedelta(seconds=LEASE_S)
    if not Source.objects.claim(source.pk, me, gone_before, _dead_reader(source, host)):
        source.refresh_from_db()
        since = f", last sign of life {source.reader_seen_at:%H:%M:%S} UTC" if source.reader_seen_at else ""
        raise Busy(f"another ingest is reading this tree ({source.reader}{since}); wait for it, then start again")
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last > _BEAT_S:
            last = time.monotonic()
            Source.objects.filter(pk=source.pk, reader=me).update(reader_seen_at=timezone.now())

    try:
        yield beat
    finally:
        # on a full disk this may fail too; the process ends, and so does the lease
        with contextlib.suppress(Exception):
            Source.objects.filter(pk=source.pk, reader=me).update(reader="", reader_seen_at=None)


def _dead_reader(source: Source, host: str) -> str | None:
    """The recorded reader, when it was a process of this host that no longer runs."""
    source.refresh_from_db()
    name, _, pid = source.reader.rpartition(":")
    if name != host or not pid.isdigit() or int(pid) == os.getpid():
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return source.reader
    except PermissionError:
        return None
    return None
