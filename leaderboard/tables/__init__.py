"""The table object: what a board, a breakdown, a run page or a paper says, frozen and formatted once.

Page, JSON, CSV, Markdown, LaTeX and Parquet are renderings of one `Table`: same rows, same order, same digits. A cell keeps
the figure at full precision (`value`) beside the text that every rendering prints (`text`). No Django here, and no
arithmetic on scores: who builds a table brings the values, intervals and ranks.
"""

from leaderboard.tables.cells import (
    MISSING,
    Band,
    Cell,
    Column,
    Group,
    Row,
    coverage_cell,
    format_value,
)
from leaderboard.tables.difference import difference_cell, difference_column
from leaderboard.tables.drawing import Scale, scale_for, stripes, whisker
from leaderboard.tables.forms import FORMS, Form, render
from leaderboard.tables.table import Table

__all__ = [
    "FORMS",
    "MISSING",
    "Band",
    "Cell",
    "Column",
    "Form",
    "Group",
    "Row",
    "Scale",
    "Table",
    "coverage_cell",
    "difference_cell",
    "difference_column",
    "format_value",
    "render",
    "scale_for",
    "stripes",
    "whisker",
]
