"""A picture as a file: which kind of what, how wide, in which form."""

from __future__ import annotations

from leaderboard.figures.dots import dots
from leaderboard.figures.heat import heat
from leaderboard.figures.inputs import FigureError, Matrix, Points, Ranked
from leaderboard.figures.lines import lines
from leaderboard.figures.page import LOCK, WIDTHS, Page, saved
from leaderboard.figures.scatter import scatter

FORMS = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}
KINDS = {
    "dots": "ranked, with intervals",
    "heat": "heat map by facet",
    "lines": "lines by stage or position",
    "scatter": "two boards",
}
DRAWN = {"dots": Ranked, "heat": Matrix, "lines": Matrix, "scatter": Points}


def check(kind: str, width: str, form: str) -> None:
    """Raises FigureError, naming the field, its value and what it may be."""
    for name, value, known in (("kind", kind, KINDS), ("width", width, WIDTHS), ("form", form, FORMS)):
        if value not in known:
            raise FigureError(f"{name} is {value!r}; one of {', '.join(known)}.")


def draw(kind: str, what: Ranked | Matrix | Points, width: str = "single", form: str = "svg") -> bytes:
    """The picture's bytes; the same for the same input. Raises FigureError for a wrong word or what cannot be drawn."""
    check(kind, width, form)
    with LOCK:
        return saved(laid_out(kind, what, width), form)


def laid_out(kind: str, what: Ranked | Matrix | Points, width: str) -> Page:
    """The finished page, not yet saved."""
    if not isinstance(what, DRAWN[kind]):
        raise FigureError(f"A figure of kind {kind!r} is not made of {type(what).__name__}.")
    page = Page(WIDTHS[width])
    if isinstance(what, Ranked):
        dots(page, what)
    elif isinstance(what, Points):
        scatter(page, what)
    else:
        (heat if kind == "heat" else lines)(page, what)
    return page
