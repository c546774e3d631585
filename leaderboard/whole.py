"""Whole pages as visitors who have not signed in see them, kept while nobody writes to the database (docs/decisions/0039)."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import wraps
from threading import Lock

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import set_response_etag
from django.views.decorators.gzip import gzip_page

View = Callable[..., HttpResponse]

MOST_BYTES = 2**25
COOKIES = (settings.SESSION_COOKIE_NAME, "messages")  # with none of them a request is nobody's


class Watch:
    """Tells by a number of SQLite's own whether any other connection, in any process, has written to a file."""

    def __init__(self) -> None:
        self._file: tuple[str, int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()

    def mark(self, path: str) -> str:
        """Equal for two calls in this process only if nothing was written between them. Raises OSError, sqlite3.Error."""
        found = os.stat(path)
        file = path, found.st_dev, found.st_ino  # another one may have been put in its place
        with self._lock:
            if self._connection is None or self._file != file:
                self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                self._file = file
            (number,) = self._connection.execute("PRAGMA data_version").fetchone()
        return f"{file} {number}"


_watch = Watch()


def mark() -> str | None:
    """Changes with every write to the database that others can see; None where that cannot be told, as in a transaction.

    On PostgreSQL the place in its log where the next change will be written, which moves before a commit can be seen.
    """
    if connection.in_atomic_block:
        return None
    try:
        if connection.vendor == "sqlite":
            in_memory = connection.is_in_memory_db()  # type: ignore[attr-defined]
            return None if in_memory else _watch.mark(str(connection.settings_dict["NAME"]))
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn()")
            return str(cursor.fetchone()[0])
    except (DatabaseError, OSError, sqlite3.Error):
        return None  # a copy that only reads, or a database that is away: the page itself will tell


@dataclass(frozen=True)
class _Page:
    state: tuple[str, date]
    content: bytes
    headers: dict[str, str]


_pages: OrderedDict[tuple[str, bool], _Page] = OrderedDict()
_lock = Lock()


def keep_whole(view: View) -> View:
    """The response as it was made for this address in this state of the database, for visitors who have not signed in.

    Only of what is read from the database, the code and the date; of a page that was found (200) and sets no cookie.
    """

    @wraps(view)
    def kept(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        other = any(name in request.COOKIES for name in COOKIES) or hasattr(request, "static_copy")
        asked = None if other else mark()
        if asked is None or request.method != "GET":
            return view(request, *args, **kwargs)
        key = request.build_absolute_uri(), "gzip" in request.headers.get("Accept-Encoding", "")
        state = asked, timezone.now().date()
        with _lock:
            found = _pages.get(key)
            if found and found.state == state:
                _pages.move_to_end(key)
                return HttpResponse(found.content, headers=found.headers)
        response = view(request, *args, **kwargs)
        if response.status_code == 200 and not response.streaming and not response.cookies:
            with _lock:
                _pages[key] = _Page(state, response.content, dict(response.headers))
                while sum(len(page.content) for page in _pages.values()) > MOST_BYTES:
                    _pages.popitem(last=False)
        return response

    return kept


def packed(view: View) -> View:
    """The response with an ETag of its content, and compressed for who takes that."""

    @wraps(view)
    def tagged(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = view(request, *args, **kwargs)
        # before it is compressed: the same content is compressed to other bytes each time
        if response.status_code == 200:
            set_response_etag(response)
        return response

    return gzip_page(tagged)
