"""The breakdown of a board as a figure draws it: the table of its page without the whole, by the short names of facets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leaderboard.breakdowns import break_down, breakdown_table
from leaderboard.models import Board
from leaderboard.standings import standings
from leaderboard.tables import Row, Table

if TYPE_CHECKING:
    from evaluation.querysets import Person

MOST = 60  # facets; `stage_text` of LiveClin has hundreds


def facet_table(board: Board, user: Person, dimension: str) -> Table | None:
    """The recomputed entries that have any figure, a column a facet; None where nothing was measured by the dimension.

    Raises ValueError for more than 60 facets.
    """
    standing = standings([board], user)[0]
    found = break_down(standing, dimension) if standing.entries else None
    if found is None:
        return None
    if len(found.facets) > MOST:
        raise ValueError(f"{dimension} has {len(found.facets):,} facets, more than the {MOST} that a figure can show.")
    table = breakdown_table(found)
    names, _whole, *columns = table.columns
    rows = [Row(row.key, (row.cells[0], *row.cells[2:]), row.group) for row in table.rows]
    return replace(
        table,
        columns=(
            names,
            *(replace(one, label=found.short(facet)) for one, facet in zip(columns, found.facets, strict=True)),
        ),
        rows=tuple(row for row in rows if any(not cell.missing for cell in row.cells[1:])),
    )
