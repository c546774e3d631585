"""Batches of rows as files: JSON Lines as a stream, Parquet written one batch after the other."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

ROW_GROUP = 20_000  # rows
Batches = Iterable[list[tuple[Any, ...]]]


def json_lines(columns: Sequence[str], batches: Batches) -> Iterator[bytes]:
    """One object a row, every column in it; a piece a batch."""
    encode = msgspec.json.Encoder().encode_lines
    for batch in batches:
        yield encode([dict(zip(columns, row, strict=True)) for row in batch])


def write_parquet(columns: Mapping[str, type], batches: Batches, target: Path, about: Mapping[str, Any]) -> None:
    """Write the batches, each let go of when it is written. `about` is kept as JSON under `clinboard` in the metadata.

    The file is written in a thread of its own, for the library asks for rows from there and a database connection belongs
    to the thread that opened it. Where `batches` or the writing fails, what is at `target` is no whole file.
    """
    import polars  # here and not above: pages do without it
    from polars.io.plugins import register_io_source

    kinds = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
    schema = {name: kinds[kind] for name, kind in columns.items()}
    waiting: queue.Queue[list[tuple[Any, ...]] | None] = queue.Queue(maxsize=1)

    def frames(wanted: list[str] | None, *_rest: Any) -> Iterator[polars.DataFrame]:
        while (batch := waiting.get()) is not None:
            values = zip(*batch, strict=True)
            told = [polars.Series(name, column, schema[name]) for name, column in zip(schema, values, strict=True)]
            del batch, values
            frame = polars.DataFrame(told)
            yield frame.select(wanted) if wanted is not None else frame

    table = register_io_source(frames, schema=schema)
    metadata = {"clinboard": json.dumps(about)}
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(lambda: table.sink_parquet(target, row_group_size=ROW_GROUP, metadata=metadata))
        try:
            for batch in batches:
                _put(waiting, batch, written)
        finally:
            _put(waiting, None, written)
        written.result()


def _put(waiting: queue.Queue, batch: Any, written: Future) -> None:
    """Hand over a batch, unless there is nobody to take it any more."""
    while not written.done():
        try:
            waiting.put(batch, timeout=0.5)
            return
        except queue.Full:
            continue
