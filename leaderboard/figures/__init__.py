"""Figures for a paper: the frozen table drawn, in the same rows, order and digits, as SVG, PDF or PNG.

`inputs` takes out of a `Table` what a picture needs, typed; `dots`, `heat`, `lines` and `scatter` lay it out in
millimetres; `page` draws and saves, the same bytes every time. Matplotlib is imported when a picture is made, not before.
No Django here.
"""

from leaderboard.figures.draw import DRAWN, FORMS, KINDS, check, draw
from leaderboard.figures.inputs import FigureError, Matrix, Points, Ranked, matrix_of, points_of, ranked_of
from leaderboard.figures.page import WIDTHS, Width

__all__ = [
    "DRAWN",
    "FORMS",
    "KINDS",
    "WIDTHS",
    "FigureError",
    "Matrix",
    "Points",
    "Ranked",
    "Width",
    "check",
    "draw",
    "matrix_of",
    "points_of",
    "ranked_of",
]
