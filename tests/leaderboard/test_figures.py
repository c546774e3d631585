"""Figures: what the table says is what is drawn, nothing lies on anything, and the bytes are always the same."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.figures import (
    FORMS,
    WIDTHS,
    FigureError,
    Matrix,
    Points,
    Ranked,
    draw,
    matrix_of,
    points_of,
    ranked_of,
)
from leaderboard.figures.axis import axis, spread
from leaderboard.figures.draw import laid_out
from leaderboard.figures.page import DPI, INCH, Page, printable
from leaderboard.tables import Band, Cell, Column, Group, Row, Table

RANK, MODEL = Column("rank", "Rank", "rank"), Column("model", "Model", "model")
SCORE = Column("score", "Accuracy", "score", unit="%", metric="accuracy", evaluator="rule-1")
NAMES = [
    "Alder",
    "Birch Clinical Very Large 235B-A22B Instruct 2026",
    "Cedar $x$_{2}$",
    "杉树医学大模型",
    "Elm 🧬",
    "Fir",
]
HEADS = [
    "医学知识",
    "Certain infectious and parasitic diseases",
    "Eye",
    "Pregnancy, childbirth and the puerperium",
    "Ear",
]


def board(seed: int = 0, names: list[str] = NAMES) -> Table:
    """Two tied, one partial, one reported; values that differ little, so that labels want the same place."""
    rows = []
    for place, name in enumerate(names):
        value = 0.62345 - 0.011 * ((place * (3 if seed else 1)) % len(names))
        ranked = place < len(names) - 2
        rank = Cell(str(place + 1), value=place + 1, rank=place + 1, tie=place < 2) if ranked else Cell("–")
        told = place == len(names) - 1
        cell = SCORE.cell(value, *(() if told else (value - 0.03, value + 0.02)), origin="reported" if told else "")
        group = "ranked" if ranked else "reported" if told else "partial"
        rows.append(Row(f"r{place}", (rank, Cell(name, value=name), cell), group))
    groups = (Group("ranked", "Recomputed"), Group("partial", "Partial"), Group("reported", "Reported"))
    band = Band("People", 0.6, 0.61, 100, "reported")
    facts = (("Release", "v1"), ("Evaluator", "rule-1"), ("Licence", "CC BY 4.0"))
    return Table("b", "Invented", "", (RANK, MODEL, SCORE), tuple(rows), groups, bands=(band,), facts=facts)


def facets(heads: list[str] = HEADS, rows: int = 9) -> Table:
    columns = [
        Column(f"f{n}", head, "score", unit="%", metric="accuracy", evaluator="rule-1") for n, head in enumerate(heads)
    ]
    made = []
    for row in range(rows):
        cells = [
            Cell("–") if (row + n) % 7 == 6 else column.cell((row * 7 + n * 13) % 100 / 100, n=12 if n == 1 else 300)
            for n, column in enumerate(columns)
        ]
        made.append(
            Row(f"r{row}", (Cell(NAMES[row % 6] + " " * (row // 6) + "b" * (row // 6), value=row), *cells), "all")
        )
    return Table("f", "Invented", "", (MODEL, *columns), tuple(made), (Group("all", ""),), facts=board().facts)


def everything() -> dict[str, tuple[str, Ranked | Matrix | Points]]:
    many = [f"Model number {n}" for n in range(26)]
    return {
        "dots": ("dots", ranked_of(board())),
        "heat": ("heat", matrix_of(facets())),
        "heat, many columns": ("heat", matrix_of(facets([f"Chapter {n}: of some length" for n in range(22)], 4))),
        "lines": ("lines", matrix_of(facets(["Presentation", "Examination", "Diagnosis", "Treatment"]))),
        "scatter": ("scatter", points_of(board(), board(1), "One", "Other")),
        "scatter, crowded": ("scatter", points_of(board(0, many), board(1, many), "One", "Other")),
    }


def texts(page: Page) -> list[str]:
    return [text.get_text() for text in page.axes.texts if text.get_text()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", everything())
def test_no_text_lies_on_another_or_leaves_the_page(name: str, width: str) -> None:
    kind, what = everything()[name]
    page = laid_out(kind, what, width)
    page.figure.canvas.draw()
    wide, high = (side * DPI for side in page.figure.get_size_inches())
    boxes = [(text.get_text(), text.get_window_extent()) for text in page.axes.texts if text.get_text()]
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= wide and box.y1 <= high, text
    slack = 0.15 / INCH * DPI  # 0.15 mm
    for (one, box), (other, second) in combinations(boxes, 2):
        apart = (
            box.x1 <= second.x0 + slack
            or second.x1 <= box.x0 + slack
            or box.y1 <= second.y0 + slack
            or second.y1 <= box.y0 + slack
        )
        assert apart, f"{one!r} lies on {other!r}"


@pytest.mark.parametrize("width", WIDTHS)
def test_widths_are_what_they_say(width: str) -> None:
    svg = draw("dots", ranked_of(board()), width).decode()
    found = re.search(r'width="([\d.]+)pt"', svg)
    assert found is not None and float(found[1]) / 72 * 25.4 == pytest.approx(WIDTHS[width].mm, abs=0.01)


def test_the_rows_order_and_digits_are_the_tables() -> None:
    table = board()
    shown = texts(laid_out("dots", ranked_of(table), "slide"))
    for column in (0, 2):
        wanted = [row.cells[column].text for row in table.rows]
        assert [text for text in shown if text in wanted and (column or text.isdigit() or text == "–")] == wanted
    assert "".join(NAMES[1].split()) in "".join("".join(shown).split())
    cells = [cell.text for row in facets().rows for cell in row.cells[1:]]
    drawn = texts(laid_out("heat", matrix_of(facets()), "double"))
    assert [text for text in drawn if text == "–" or re.fullmatch(r"\d+\.\d", text)][: len(cells)] == cells


def test_kinds_are_told_by_shape_and_words() -> None:
    page = laid_out("dots", ranked_of(board()), "double")
    lines = [line for line in page.axes.get_children() if getattr(line, "get_marker", lambda: "None")() in "oD^s"]
    assert [line.get_marker() for line in lines] == ["D", "D", "o", "o", "^", "s", *"oD^s"]
    words = " ".join(texts(page))
    for told in ("not separable from the first", "heard on too little", "reported elsewhere", "People, 60.0–61.0 %"):
        assert told in words
    assert "tied" in texts(page)


def test_every_model_of_a_crowded_scatter_is_named() -> None:
    what = everything()["scatter, crowded"][1]
    assert isinstance(what, Points)
    words = " ".join(texts(laid_out("scatter", what, "single")))
    assert all(re.search(rf"{point.name}\b", words) for point in what.points)


def test_few_items_are_hatched() -> None:
    page = laid_out("heat", matrix_of(facets()), "double")
    hatched = [patch for patch in page.axes.patches if patch.get_hatch() == "///"]
    few = [cell for row in facets().rows for cell in row.cells[1:] if cell.n == 12]
    assert len(hatched) == len(few) > 0 and "fewer than 20 items" in " ".join(texts(page))


def test_what_no_font_holds_is_written_as_its_code() -> None:
    assert printable("a\n 医 🧬\x00") == "a 医 [U+1F9EC][U+0000]"


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_text_can_be_printed(text: str) -> None:
    assert printable(printable(text)) == printable(text)


def digests() -> str:
    made = [draw("dots", ranked_of(board()), "single", form) for form in FORMS]
    return " ".join(hashlib.sha256(data).hexdigest() for data in made)


def test_the_bytes_are_the_same_in_another_process() -> None:
    code = "from tests.leaderboard.test_figures import digests; print(digests())"
    root = Path(__file__).resolve().parents[2]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": "0",
        "TZ": "Asia/Tokyo",
        "PYTHONPATH": str(root),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == digests().split()


def test_type_is_embedded() -> None:
    plain = ranked_of(board(names=["Alder", "Birch", "Cedar", "Elm"]))
    pdf = draw("dots", plain, "single", "pdf")
    assert b"/CIDFontType2" in pdf and b"/FontFile2" in pdf and b"/Type3" not in pdf
    chinese = draw("dots", ranked_of(board()), "single", "pdf")
    assert b"/Type3" in chinese and b"/FontFile2" not in chinese and b"/CreationDate" not in chinese
    svg = draw("dots", plain).decode()
    assert "<text" not in svg and "font-family" not in svg and "<dc:date>" not in svg


def test_what_cannot_be_drawn_is_said() -> None:
    table = facets()
    other = Column("x", "Other", "score", unit="%", metric="f1")
    mixed = Table(
        "m",
        "M",
        "",
        (*table.columns, other),
        tuple(Row(r.key, (*r.cells, Cell("–")), r.group) for r in table.rows),
        table.groups,
    )
    with pytest.raises(FigureError, match="different metrics"):
        matrix_of(mixed)
    with pytest.raises(FigureError, match="no figure"):
        ranked_of(Table("e", "E", "", (RANK, MODEL, SCORE), (), (Group("all", ""),)))
    with pytest.raises(FigureError, match="no model in common"):
        points_of(board(), board(names=["X", "Y", "Z"]), "One", "Other")
    with pytest.raises(FigureError, match="width is 'wide'; one of single, double, slide"):
        draw("dots", ranked_of(board()), "wide")
    with pytest.raises(FigureError, match="not made of Ranked"):
        draw("heat", ranked_of(board()))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12))
def test_labels_are_spread_and_keep_their_order(wanted: list[float]) -> None:
    places = spread(wanted, 3, -1000, 1000)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    assert all(places[b] - places[a] >= 3 - 1e-6 for a, b in pairwise(order))
    if all(b - a >= 3 for a, b in pairwise(sorted(wanted))):
        assert places == pytest.approx(wanted)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_an_axis_holds_every_value(values: list[float]) -> None:
    scale = axis(values, SCORE, 10, 90)
    assert all(10 - 1e-6 <= scale.at(value) <= 90 + 1e-6 for value in values)
    assert len({text for _, text in scale.ticks}) == len(scale.ticks) > 1
