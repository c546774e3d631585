"""A table as a Parquet file: numbers at full precision beside the printed text, and everything else as metadata."""

from __future__ import annotations

import io
import json

from leaderboard.tables.flat import flatten
from leaderboard.tables.table import Table


def as_parquet(table: Table) -> bytes:
    """One row a row. A numeric column is float64 and has a text column `<name> text` beside it with what is printed.

    The file's metadata under `clinboard` is the whole table as JSON.
    """
    import polars  # here and not above: pages do without it

    series = []
    for column in flatten(table):
        if column.number:
            figures = [None if value is None else float(value) for value in column.values]
            series.append(polars.Series(column.name, figures, polars.Float64))
            series.append(polars.Series(f"{column.name} text", column.texts, polars.String))
        else:
            series.append(polars.Series(column.name, column.texts, polars.String))
    out = io.BytesIO()
    about = json.dumps(table.as_dict(), ensure_ascii=True, allow_nan=False)
    polars.DataFrame(series).write_parquet(out, metadata={"clinboard": about})
    return out.getvalue()
