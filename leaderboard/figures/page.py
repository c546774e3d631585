"""A sheet measured in millimetres: fonts, text that is measured before it is set, and bytes that are always the same."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

INCH = 25.4  # mm
POINT = INCH / 72
DPI = 300
SANS, CHINESE = "ClinBoard Sans", "ClinBoard Chinese"
INK, SOFT, LINE, ACCENT = "#17202a", "#5a6570", "#d5dade", "#0b6e6e"
# Matplotlib keeps its settings and fonts for the whole process.
LOCK = RLock()
SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "clinboard",
    "svg.fonttype": "path",
    "text.hinting": "none",
    "hatch.linewidth": 0.4,
}
# No dates and no versions of programs: the same table gives the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Width:
    """A width in mm with the sizes of its type in points, and the least height in mm."""

    name: str
    label: str
    mm: float
    text: float
    small: float
    dpi: int = DPI
    least: float = 0.0


WIDTHS = {
    width.name: width
    for width in (
        Width("single", "one column, 85 mm", 85, 7, 5.5),
        Width("double", "two columns, 175 mm", 175, 8, 6),
        Width("slide", "slide, 16:9", 254, 14, 10, dpi=192, least=142.875),
    )
}


@cache
def fonts() -> dict[str, frozenset[int]]:
    """The code points of each font. DejaVu Sans comes with Matplotlib, Noto Sans SC from the package index.

    Both are known to Matplotlib by names of our own, so that a font of the same name on this machine is never taken.
    """
    import matplotlib
    from matplotlib import font_manager

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    paths = [(SANS, folder / "DejaVuSans.ttf"), (SANS, folder / "DejaVuSans-Bold.ttf")]
    try:
        from pylopdf_fonts_zh_cn import sans_path
    except ImportError:
        pass
    else:
        paths.append((CHINESE, sans_path()))
    known: dict[str, frozenset[int]] = {}
    for name, path in paths:
        font = font_manager.get_font(str(path))
        entry = replace(font_manager.ttfFontProperty(font), name=name)
        font_manager.fontManager.ttflist.append(entry)
        if name == CHINESE:  # there is no bold file: bold is the same face
            font_manager.fontManager.ttflist.append(replace(entry, weight=700))
        known.setdefault(name, frozenset(font.get_charmap()))
    return known


@cache
def _known() -> frozenset[int]:
    return frozenset().union(*fonts().values())


def printable(text: str) -> str:
    """What no font here holds is `[U+1F600]`, as in LaTeX; white space of any kind is one space."""
    known = _known()
    return "".join(sign if ord(sign) in known else f"[U+{ord(sign):04X}]" for sign in " ".join(text.split()))


class Page:
    """A figure under construction; x from the left and y from the top, in mm. `close` fixes its height."""

    def __init__(self, width: Width) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        fonts()
        self.width = width
        self.chinese = False
        self.figure = Figure(figsize=(width.mm / INCH, 1), dpi=DPI)
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width.mm)
        self._sizes: dict[tuple[str, float, bool], tuple[float, float]] = {}

    def close(self, height: float) -> None:
        height = max(height, self.width.least)
        self.figure.set_size_inches(self.width.mm / INCH, height / INCH)
        self.axes.set_ylim(height, 0)

    # text

    def size(self, text: str, points: float, bold: bool = False) -> tuple[float, float]:
        """Width and height of a line in mm."""
        key = (text, points, bold)
        if key not in self._sizes:
            shown = printable(text)
            made = self.figure.text(0, 0, shown, **self._font(shown, points, bold))
            box = made.get_window_extent()
            made.remove()
            self._sizes[key] = (box.width / DPI * INCH, box.height / DPI * INCH)
        return self._sizes[key]

    def leading(self, points: float) -> float:
        """From line to line, in mm."""
        return points * POINT * 1.25

    def wrap(self, text: str, points: float, widest: float, bold: bool = False) -> list[str]:
        """Lines no wider than `widest` mm; broken at spaces, before Chinese signs, and inside a word that is too long."""
        lines = [""]
        for part in _parts(printable(text)):
            if self.size((lines[-1] + part).strip(), points, bold)[0] <= widest:
                lines[-1] += part
                continue
            lines.append("")
            for sign in part.lstrip():
                if lines[-1] and self.size(lines[-1] + sign, points, bold)[0] > widest:
                    lines.append("")
                lines[-1] += sign
        return [line.strip() for line in lines if line.strip()] or [""]

    def text(
        self, x: float, y: float, text: str, points: float, *, align: str = "left", bold: bool = False, **more: Any
    ) -> None:
        """One line with its middle at y."""
        shown = printable(text)
        self.chinese = self.chinese or _chinese(shown)
        settings = {"color": INK, **self._font(shown, points, bold), **more}
        self.axes.text(x, y, shown, ha=align, va="center_baseline", **settings)

    def lines(self, x: float, y: float, lines: Sequence[str], points: float, **more: Any) -> None:
        """Lines below each other, the block with its middle at y."""
        step = self.leading(points)
        for number, line in enumerate(lines):
            self.text(x, y + (number - (len(lines) - 1) / 2) * step, line, points, **more)

    def _font(self, shown: str, points: float, bold: bool) -> dict[str, Any]:
        family = [SANS, CHINESE] if _chinese(shown) else [SANS]
        # a name with two dollar signs is no formula
        return {
            "fontsize": points,
            "family": family,
            "weight": "bold" if bold else "normal",
            "parse_math": False,
        }

    # shapes

    def line(
        self, xs: Sequence[float], ys: Sequence[float], color: str = INK, weight: float = 0.8, **more: Any
    ) -> None:
        self._add(xs, ys, {"color": color, "linewidth": weight, "solid_capstyle": "butt", **more})

    def mark(self, x: float, y: float, shape: str, color: str, size: float, hollow: bool = False, **more: Any) -> None:
        face = "white" if hollow else color
        style = {"markeredgecolor": color, "markerfacecolor": face, "markeredgewidth": 0.9, **more}
        self._add([x], [y], {"linestyle": "none", "marker": shape, "markersize": size, "zorder": 4, **style})

    def _add(self, xs: Sequence[float], ys: Sequence[float], style: dict[str, Any]) -> None:
        from matplotlib.lines import Line2D

        # not `plot`, which measures all axes anew for every line
        self.axes.add_artist(Line2D(xs, ys, clip_on=False, **style))

    def box(self, x: float, y: float, width: float, height: float, color: Any, **more: Any) -> None:
        from matplotlib.patches import Rectangle

        self.axes.add_artist(Rectangle((x, y), width, height, **{"facecolor": color, "edgecolor": "none", **more}))

    def below(self, y: float, text: str) -> float:
        """Small grey lines over the whole width from y down; gives where they end."""
        step = self.leading(self.width.small)
        for line in self.wrap(text, self.width.small, self.width.mm - 2 * MARGIN):
            self.text(MARGIN, y + step / 2, line, self.width.small, color=SOFT)
            y += step
        return y


MARGIN = 1.5  # mm


def _chinese(shown: str) -> bool:
    return any(ord(sign) not in fonts()[SANS] for sign in shown)


def _parts(text: str) -> Iterator[str]:
    """Pieces that a line may end after."""
    piece = ""
    for sign in text:
        if sign == " " or sign >= "\u2e80":
            if piece:
                yield piece
            piece = sign
        else:
            piece += sign
    if piece:
        yield piece


def saved(page: Page, form: str) -> bytes:
    """The picture's bytes. Type is embedded: as outlines in SVG, as TrueType (Type 42) in PDF.

    Matplotlib marks a subset of Noto Sans SC, whose outlines are PostScript, as TrueType, which strict readers refuse;
    a PDF with Chinese text therefore holds its type as outlines (Type 3).
    """
    import matplotlib

    out = io.BytesIO()
    settings: Any = {**SETTINGS, "pdf.fonttype": 3 if page.chinese else 42}
    with matplotlib.rc_context(settings):
        page.figure.savefig(out, format=form, metadata=METADATA[form], dpi=page.width.dpi, facecolor="white")
    return out.getvalue()
