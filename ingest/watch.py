"""What a person sees while an ingest goes on: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TextIO

from tqdm import tqdm

from ingest.report import Report

# Seconds between two lines where there is no terminal.
PACE_S = 5.0
_LONGEST_PATH = 50


class Watch:
    """Takes what `Options.progress` and `Options.looked` tell. `say` writes a line; `terminal` is the stream of one, if there
    is one. Rows are those that the report counts.

    Rates are means since the first byte was read; files that are known and not read again are no part of them.
    """

    def __init__(
        self,
        report: Report,
        say: Callable[[str], object],
        terminal: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._say, self._terminal, self._clock = report, say, terminal, clock
        self._bar: tqdm | None = None
        self._last_line = clock()
        self._began: float | None = None
        self._files = self._done = self._read = self._rows = 0

    def looked(self, path: str) -> None:
        """A file was looked at."""
        self._files += 1
        self._tell(0, 0, path)

    def update(self, done: int, total: int, path: str) -> None:
        """`done` of `total` bytes are dealt with, `path` is the file at hand."""
        if self._began is None:
            self._began = self._clock()
        if self._report.rows_read > self._rows:
            self._read += done - self._done
        self._done, self._rows = done, self._report.rows_read
        self._tell(done, total, path)

    def _tell(self, done: int, total: int, path: str) -> None:
        if self._terminal is not None:
            self._draw(done, total, path)
        elif self._clock() - self._last_line >= PACE_S:
            self._last_line = self._clock()
            self._say(f"ingest: {self._line(done, total, path)}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self, done: int, total: int, path: str) -> None:
        line = self._line(done, total, path)
        if self._bar is None or self._bar.total != (total or None):
            self.close()
            form = "{percentage:3.0f}% |{bar}| {desc}" if total else "{desc}"
            about: dict[str, Any] = {"bar_format": form, "leave": False, "miniters": 1, "dynamic_ncols": True}
            self._bar = tqdm(total=total or None, desc=line, file=self._terminal, **about)
        self._bar.desc = line
        self._bar.update(done - self._bar.n if total else 1)

    def _line(self, done: int, total: int, path: str) -> str:
        where = path if len(path) <= _LONGEST_PATH else f"…{path[1 - _LONGEST_PATH :]}"
        if not total or self._began is None:
            return f"{self._files:,} files looked at, {where}"
        spent = self._clock() - self._began
        parts = [f"{_size(done)} of {_size(total)}"]
        if self._terminal is None:
            parts.insert(0, f"{100 * done // total} %")
        if spent > 0 and self._read:
            left = max(0, total - done) * spent / self._read
            parts += [f"{self._rows / spent:,.0f} rows/s", f"{_size(self._read / spent)}/s", f"{_time(left)} left"]
        return ", ".join([*parts, where] if where else parts)


def _size(count: float) -> str:
    return tqdm.format_sizeof(count, "B")


def _time(seconds: float) -> str:
    return tqdm.format_interval(seconds)
