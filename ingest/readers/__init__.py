"""Readers: one module a file format; each turns a file into rows with their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluation.protocols.base import Answer
from ingest.readers import clinseek, liveclin, llmeval_med
from ingest.readers.base import FileContent
from ingest.walk import Entry

# (file, repeat that its name states, what takes an answer out of a row, told bytes and rows
# as they pass)
Read = Callable[[Entry, int | None, Callable[[Any], Answer], Callable[[int, int], None]], FileContent]

_OWN_FORMAT: dict[str, Read] = {"liveclin": liveclin.read, "llmeval-med": llmeval_med.read}


def for_benchmark(slug: str) -> Read:
    """The reader of a benchmark's results: its own format, or ClinSeek's lines."""
    return _OWN_FORMAT.get(slug, clinseek.read)
