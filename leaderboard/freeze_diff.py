"""What tells two frozen boards apart: rows, ranks, figures, and what they rest on. No Django here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from leaderboard.tables import Cell, Column, Group, Row, Table, difference_cell, difference_column
from leaderboard.tables.stored import from_dict

Key = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """`grounds` are (what, before, after) of what the boards rest on, where it changed; `refused` says why figures are
    not subtracted. `unchanged` counts the rows that are the same in every cell.
    """

    grounds: tuple[tuple[str, str, str], ...]
    refused: str
    table: Table
    added: int
    removed: int
    moved: int
    unchanged: int

    @property
    def same(self) -> bool:
        return not (self.grounds or self.added or self.removed or self.moved)


def compare(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """Rows are matched by their model and snapshot; reported ones by model and place among the reported of that model.

    The headlines are subtracted only inside one evaluator and one item set (`difference_column`).
    """
    tables = (from_dict(before["table"]), from_dict(after["table"]))
    old, new = (dict(_rows(table)) for table in tables)
    heads = [_headline(table, document) for table, document in zip(tables, (before, after), strict=True)]
    refused, columns = "", []
    try:
        delta = difference_column("delta", "Change", heads[1], heads[0])
    except ValueError as error:
        refused, delta = str(error), None
    names = [heads[0].heading, heads[1].heading]
    columns = [
        Column("model", "Model", "model"),
        Column("rank-before", "Rank before", "rank"),
        Column("rank-after", "Rank after", "rank"),
        replace(heads[0], key="before", label="Before" if names[0] == names[1] else f"Before: {heads[0].label}"),
        replace(heads[1], key="after", label="After" if names[0] == names[1] else f"After: {heads[1].label}"),
        *([delta] if delta else []),
        Column("what", "What changed", "text"),
    ]
    rows: list[Row] = []
    counts = {"added": 0, "removed": 0, "moved": 0}
    unchanged = 0
    for key in [*new, *(key for key in old if key not in new)]:
        one, other = old.get(key), new.get(key)
        words = _words(tables, one, other)
        group = "added" if one is None else "removed" if other is None else "moved"
        if group == "moved" and not words:
            unchanged += 1
            continue
        counts[group] += 1
        cells = [_of(tables, (one, other), "model"), _cell(tables[0], one, "rank"), _cell(tables[1], other, "rank")]
        figures = [_cell(tables[0], one, "score"), _cell(tables[1], other, "score")]
        cells += [_bare(cell) for cell in figures]
        if delta:
            cells.append(difference_cell(delta, figures[1], figures[0]) if one and other else Cell("–"))
        cells.append(Cell("; ".join(words) or group))
        rows.append(Row(" ".join(key), tuple(cells), group))
    table = Table(
        "freeze-diff",
        "What changed",
        "",
        tuple(columns),
        tuple(rows),
        (Group("added", "Added"), Group("removed", "Removed"), Group("moved", "Moved")),
    )
    return Difference(tuple(_grounds(before, after)), refused, table, **counts, unchanged=unchanged)


def _rows(table: Table) -> Iterator[tuple[Key, Row]]:
    seen: dict[str, int] = {}
    for row in table.rows:
        if row.group != "reported":
            yield ("entry", row.key), row
            continue
        model = str(_cell(table, row, "model").value)
        seen[model] = seen.get(model, 0) + 1
        yield ("reported", model, str(seen[model])), row


def _headline(table: Table, document: dict[str, Any]) -> Column:
    """The first score column, with what a difference asks of it: the rules by fingerprint, and the items."""
    column = next(column for column in table.columns if column.kind == "score")
    rules = ", ".join(f"{rule['name']} {rule['fingerprint'][:12]}" for rule in document["evaluators"])
    return replace(column, evaluator=rules, items=document["fingerprints"]["split"])


def _cell(table: Table, row: Row | None, key: str) -> Cell:
    if row is None:
        return Cell("–")
    return next((cell for column, cell in zip(table.columns, row.cells, strict=True) if column.key == key), Cell("–"))


def _of(tables: tuple[Table, Table], rows: tuple[Row | None, Row | None], key: str) -> Cell:
    """The newer one where there are two."""
    return _cell(tables[1], rows[1], key) if rows[1] else _cell(tables[0], rows[0], key)


def _bare(cell: Cell) -> Cell:
    """A figure without footnotes of its own board."""
    return replace(cell, note="", href="")


def _words(tables: tuple[Table, Table], one: Row | None, other: Row | None) -> list[str]:
    """Every column in which the row differs, with both texts; the group where it moved. Nothing for an added row."""
    if one is None or other is None:
        return []
    out = [f"group {one.group} to {other.group}"] if one.group != other.group else []
    labels = {column.key: column.label for table in tables for column in table.columns if column.kind != "interval"}
    for key, label in labels.items():
        before, after = _cell(tables[0], one, key), _cell(tables[1], other, key)
        if (before.text, before.sub, before.tie) != (after.text, after.sub, after.tie):
            out.append(f"{label}: {_told(before)} to {_told(after)}")
        elif before.value != after.value:
            out.append(f"{label}: in digits that are not printed")
    return out


def _told(cell: Cell) -> str:
    return f"{cell.text or '–'}{f' ({cell.sub})' if cell.sub else ''}{', tied with the first' if cell.tie else ''}"


def _grounds(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    labels = {"benchmark": "Benchmark", "release": "Release", "split": "Split", "mode": "Mode", "metric": "Metric"}
    labels |= {"shots": "Shots", "conversation_kept": "Conversation kept", "min_coverage": "Least coverage for a rank"}
    pairs = [(label, before["board"][key], after["board"][key]) for key, label in labels.items()]
    prints = {"release": "Items and gold of the release", "split": "Items and gold of the split", "labels": "Labels"}
    pairs += [(label, before["fingerprints"][key], after["fingerprints"][key]) for key, label in prints.items()]
    pairs.append(("Evaluator", _rules(before), _rules(after)))
    pairs.append(("Seen by the rights of", before["seen"], after["seen"]))
    pairs.append(("Licence and attribution", before["terms"], after["terms"]))
    for label, one, other in pairs:
        if one != other:
            yield label, _shown(one), _shown(other)


def _rules(document: dict[str, Any]) -> str:
    return ", ".join(f"{rule['name']} ({rule['fingerprint'][:12]})" for rule in document["evaluators"])


def _shown(value: Any) -> str:
    """A hash by its beginning, which is enough to tell two apart."""
    if value is None or value == "":
        return "not stated"
    text = str(value)
    return text[:16] if len(text) == 64 and text.isalnum() else text
