"""Bulk writing of facts: rows that are too many for one Django object each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write `rows` (one value a column, in the order of `columns`) into the table of `model`.

    COPY on PostgreSQL, `executemany` elsewhere: 10 to 20 times faster than `bulk_create`. The caller holds the transaction.
    Columns are database columns (`item_id`, not `item`); defaults of the model are not applied.
    """
    quote = connection.ops.quote_name
    table = quote(model._meta.db_table)
    names = ", ".join(quote(column) for column in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # type: ignore[arg-type]  # noqa: S608
