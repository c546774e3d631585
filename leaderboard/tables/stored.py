"""A table read back from the JSON that `Table.as_dict` gives: equal to the one it was made from."""

from __future__ import annotations

from typing import Any

from leaderboard.tables.cells import Band, Cell, Column, Group, Row
from leaderboard.tables.table import Table


def from_dict(document: dict[str, Any]) -> Table:
    """Raises ValueError, TypeError or KeyError where the document is no table."""
    columns = tuple(Column(**column) for column in document["columns"])
    return Table(
        key=document["key"],
        title=document["title"],
        caption=document["caption"],
        columns=columns,
        rows=tuple(
            Row(row["key"], tuple(Cell(**row["cells"][column.key]) for column in columns), row["group"])
            for row in document["rows"]
        ),
        groups=tuple(Group(**group) for group in document["groups"]),
        bands=tuple(Band(**band) for band in document["bands"]),
        notes=tuple(document["notes"]),
        facts=tuple((fact["label"], fact["value"]) for fact in document["facts"]),
    )
