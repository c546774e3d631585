"""The table object, the page part that draws it, and the sheet that it is drawn with."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.template import Context, Engine
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.tables import (
    Band,
    Cell,
    Column,
    Group,
    Row,
    Scale,
    Table,
    coverage_cell,
    format_value,
    scale_for,
    stripes,
    whisker,
)

ROOT = Path(__file__).resolve().parents[2]
ENGINE = Engine(dirs=[ROOT / "templates"], libraries={"static": "django.templatetags.static"})

ACCURACY = Column(
    "accuracy", "Case acc.", "score", unit="%", direction="higher", metric="case_accuracy", evaluator="e-1"
)
INTERVAL = Column("interval", "95 % interval", "interval", unit="%")
COLUMNS = (
    Column("rank", "Rank", "rank"),
    Column("model", "Model", "model"),
    ACCURACY,
    INTERVAL,
    Column("answered", "Answered", "share", unit="%"),
    Column("origin", "Origin", "badge"),
)
GROUPS = (
    Group("ranked", "Ranked", "Two entries share the first place."),
    Group("partial", "Partial runs", "listed, never ranked"),
    Group("reported", "Reported"),
)


def entry(name: str, value: float, group: str = "ranked", **more: Any) -> Row:
    """A row of COLUMNS; `more` goes into its score cell."""
    ranked = group == "ranked"
    bounds = (round(value - 0.025, 3), round(value + 0.025, 3)) if ranked else ()
    return Row(
        name,
        (
            Cell("1", value=1, rank=1, sub="1–2", tie=True) if ranked else Cell(note="not ranked"),
            Cell(name, href=f"/models/{name}", sub="Invented Lab"),
            ACCURACY.cell(value, *bounds, **more),
            INTERVAL.cell(value, *bounds),
            Cell()
            if group == "reported"
            else coverage_cell(816, 1407)
            if group == "partial"
            else coverage_cell(1407, 1407),
            Cell("reported", origin="reported") if group == "reported" else Cell("run by us", origin="ours"),
        ),
        group,
    )


def board(**more: Any) -> Table:
    rows = (
        entry("Helios", 0.371, "reported"),
        entry("Aster", 0.362),
        entry("Garnet", 0.219, "partial"),
        entry("Borea", 0.357),
    )
    table = Table(
        "board",
        "Invented board",
        "What it shows.",
        COLUMNS,
        rows,
        GROUPS,
        bands=(Band("Physicians", 0.289, 0.443, 100),),
        notes=("A sentence below.",),
        facts=(("Split", "full"),),
    )
    return replace(table, **more)


# Formatting


@pytest.mark.parametrize(
    ("value", "unit", "precision", "text"),
    [
        (None, "%", None, "–"),
        (None, "", 3, "–"),
        (0.362, "%", None, "36.2"),
        (1, "%", None, "100.0"),
        (0, "%", None, "0.0"),
        (0.362, "%", 0, "36"),
        (0.3625, "%", None, "36.2"),  # 36.25 is exact in binary: half goes to the even digit
        (0.3635, "%", None, "36.4"),  # 36.35 is not: its binary value lies above the half
        (-0.0004, "%", None, "0.0"),
        (-0.0, "%", None, "0.0"),
        (-0.012, "pp", None, "-1.2"),
        (1407, "", None, "1,407"),
        (1407.0, "", None, "1,407.00"),
        (4.1, "$", None, "4.10"),
        (2.5, "", 0, "2"),
        (3.5, "", 0, "4"),
        (-0.3, "", 0, "0"),
    ],
)
def test_format_value(value: float | None, unit: str, precision: int | None, text: str) -> None:
    assert format_value(value, unit, precision) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("unit", ["", "%"])
def test_only_none_is_missing(value: float, unit: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        format_value(value, unit)


@given(st.floats(-1e6, 1e6), st.sampled_from(["", "%", "pp"]), st.integers(0, 6))
@settings(deadline=None)
def test_format_value_rounds_as_decimal_arithmetic_does(value: float, unit: str, precision: int) -> None:
    text = format_value(value, unit, precision)
    exact = Decimal(value if unit == "" else value * 100)
    expected = exact.quantize(Decimal(1).scaleb(-precision), ROUND_HALF_EVEN)
    assert Decimal(text.replace(",", "")) == expected
    assert len(text.partition(".")[2]) == precision
    assert text.startswith("-") == (expected < 0)


def test_coverage_says_both_counts() -> None:
    partial = coverage_cell(816, 1407)
    assert (partial.text, partial.sub, partial.n, partial.n_answered) == ("58.0", "816/1,407", 1407, 816)
    assert partial.value == 816 / 1407
    assert coverage_cell(1407, 1407).sub == "all 1,407"


def test_coverage_of_nothing_is_missing() -> None:
    empty = coverage_cell(0, 0)
    assert empty.missing
    assert (empty.value, empty.sub) == (None, "")


def test_a_column_makes_the_texts_of_its_cells() -> None:
    score = ACCURACY.cell(0.362, 0.337, 0.387, n=1407)
    assert (score.text, score.sub, score.value, score.n) == ("36.2", "33.7–38.7", 0.362, 1407)
    assert INTERVAL.cell(0.362, 0.337, 0.387).text == "33.7–38.7"
    assert ACCURACY.cell(None).missing
    assert ACCURACY.cell(0.5, 0.4, 0.6, sub="on 58 %").sub == "on 58 %"


# Validation


def test_a_score_column_names_its_metric() -> None:
    with pytest.raises(ValueError, match="names no metric"):
        Column("accuracy", "Accuracy", "score", unit="%")


@pytest.mark.parametrize("wrong", [{"kind": "chart"}, {"kind": "text", "direction": "up"}])
def test_a_column_has_a_known_kind_and_direction(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="Column 'a'"):
        Column("a", "A", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"value": math.nan}, {"low": 0.1}, {"high": 0.1}, {"low": 0.2, "high": 0.1}, {"low": 0, "high": math.inf}]
)
def test_a_cell_refuses_what_is_no_figure(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"finite|interval"):
        Cell("x", **wrong)


def test_a_row_has_a_cell_for_each_column() -> None:
    row = entry("Aster", 0.3)
    with pytest.raises(ValueError, match="'Aster' has 5 cells for 6 columns"):
        board(rows=(replace(row, cells=row.cells[:-1]),))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": (entry("Aster", 0.3), entry("Aster", 0.4))}, "Two rows have the key 'Aster'"),
        ({"rows": (replace(entry("Aster", 0.3), group="other"),)}, "unknown group 'other'"),
        ({"groups": (*GROUPS, GROUPS[0])}, "Two groups have the key 'ranked'"),
        ({"columns": (*COLUMNS[:-1], COLUMNS[0])}, "Two columns have the key 'rank'"),
    ],
)
def test_a_table_is_sound(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(board(), **wrong)


# Renderings


def test_as_dict_is_json_with_text_and_raw_value() -> None:
    table = board()
    data = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert [row["key"] for row in data["rows"]] == ["Aster", "Borea", "Garnet", "Helios"]
    assert data["rows"][0]["cells"]["accuracy"] == {
        "text": "36.2",
        "value": 0.362,
        "low": 0.337,
        "high": 0.387,
        "sub": "33.7–38.7",
    }
    assert data["rows"][2]["cells"]["rank"] == {"text": "", "value": None, "note": "not ranked"}
    assert data["columns"][2]["metric"] == "case_accuracy"
    assert data["facts"] == [{"label": "Split", "value": "full"}]
    assert data["bands"] == [{"label": "Physicians", "low": 0.289, "high": 0.443, "n": 100, "note": ""}]
    assert data["notes"] == ["A sentence below."]


class Parsed(HTMLParser):
    """Rows of a page as lists of cell texts, and every start tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [attrs for name, attrs in self.tags if name == tag and wanted.items() <= attrs.items()]


def drawn(table: Table) -> tuple[str, Parsed]:
    html = ENGINE.get_template("leaderboard/_table.html").render(Context({"table": table}))
    return html, Parsed(html)


def test_the_page_has_the_rows_order_and_digits_of_the_json() -> None:
    table = board()
    _, page = drawn(table)
    entries = [row for row in page.rows if len(row) == len(COLUMNS)][1:]
    for line, row in zip(entries, table.as_dict()["rows"], strict=True):
        assert line[1].startswith(row["key"])
        assert line[2].startswith(row["cells"]["accuracy"]["text"])


def test_each_group_is_a_body_with_its_label() -> None:
    _, page = drawn(board())
    assert [attrs["class"] for attrs in page.all("tbody")] == ["group-ranked", "group-partial", "group-reported"]
    labels = [row[0] for row in page.rows if len(row) == 1]
    assert labels[0] == "Ranked Two entries share the first place."
    assert labels[1].startswith("Partial runs listed, never ranked")


def test_a_group_without_rows_is_not_drawn() -> None:
    _, page = drawn(board(rows=(entry("Aster", 0.3),)))
    assert len(page.all("tbody")) == 1


def test_heads_name_columns_and_rows() -> None:
    _, page = drawn(board())
    assert len(page.all("th", scope="col")) == len(COLUMNS)
    assert len(page.all("th", scope="row")) == 4
    assert len(page.all("th", scope="rowgroup")) == 3
    assert page.rows[0][2] == "Case acc., % (higher is better)"
    assert page.rows[0][3] == "95 % interval, %, from 0 to 45"


def test_ties_and_reported_rows_are_told_in_words() -> None:
    html, page = drawn(board())
    assert len(page.all("tr", **{"class": "tie"})) == 2
    assert page.rows[2][0] == "≈ not separable from the first: 1 1–2"
    reported = page.rows[-1]
    assert reported[1] == "Helios † reported elsewhere Invented Lab"
    assert html.count("reported elsewhere, not recomputed from answers") == 1
    assert html.count("not separable from the first (95 %, paired)") == 1


def test_marks_that_are_not_on_the_page_are_not_explained() -> None:
    cells = (Cell("Aster"), ACCURACY.cell(0.3))
    table = Table("t", "T", "", (COLUMNS[1], ACCURACY), (Row("a", cells, "g"),), (Group("g", ""),))
    assert table.legend == ()
    html, page = drawn(table)
    assert "legend" not in html
    assert len(page.rows) == 2  # no label row for a group without label


def test_partial_rows_show_how_many_of_how_many() -> None:
    _, page = drawn(board())
    partial = next(row for row in page.rows if row[1:2] and row[1].startswith("Garnet"))
    assert partial[4] == "58.0 816/1,407"


def test_missing_is_an_en_dash_with_a_title() -> None:
    _, page = drawn(board())
    titles = [attrs["title"] for attrs in page.all("span", **{"class": "missing"})]
    assert titles == ["not ranked", "not ranked", "no figure"]
    partial = next(row for row in page.rows if row[1:2] and row[1].startswith("Garnet"))
    assert partial[0] == "– not ranked"


def test_whiskers_speak() -> None:
    _, page = drawn(board())
    labels = [attrs["aria-label"] for attrs in page.all("svg", role="img")]
    assert labels == [
        "36.2 %, 95 % interval 33.7 to 38.7 %",
        "35.7 %, 95 % interval 33.2 to 38.2 %",
        "21.9 %, no interval",
        "37.1 %, no interval",
    ]


def test_bands_stand_behind_the_whiskers_and_in_the_legend() -> None:
    bands = (Band("Physicians", 0.289, 0.443, 100, "other cases"), Band("Chief", 0.35, 0.35))
    html, page = drawn(board(bands=bands))
    assert len(page.all("rect", **{"class": "band shaded", "width": "64.3"})) == 4
    assert len(page.all("rect", **{"class": "band outlined", "width": "1.5"})) == 4
    assert "Physicians, 28.9–44.3 %, n = 100 (other cases)" in html
    assert "Chief, 35.0 %" in html


def test_notes_become_footnotes_once() -> None:
    rows = (
        entry("Aster", 0.36, note="first"),
        entry("Borea", 0.35, note="second"),
        entry("Cobalt", 0.34, note="first"),
    )
    table = board(rows=rows)
    assert table.footnotes == (("a", "first"), ("b", "second"))
    _, page = drawn(table)
    assert [" note a" in row[2] for row in page.rows[2:5]] == [True, False, True]


def test_footnote_letters_go_on_after_z() -> None:
    rows = tuple(entry(str(i), 0.3, note=f"note {i}") for i in range(53))
    marks = [mark for mark, _ in board(rows=rows).footnotes]
    assert marks[:2] + marks[25:28] + marks[51:] == ["a", "b", "z", "aa", "ab", "az", "ba"]


def test_names_are_escaped() -> None:
    html, _ = drawn(board(rows=(entry('<b onclick="x">&', 0.3),), title="a < b"))
    assert "<b onclick" not in html
    assert "&lt;b onclick=&quot;x&quot;&gt;&amp;" in html
    assert "a &lt; b" in html


def test_an_empty_table_says_so() -> None:
    html, _ = drawn(board(rows=(), bands=()))
    assert "Nothing to show yet." in html


def test_facts_that_are_not_stated_say_so() -> None:
    html = ENGINE.get_template("leaderboard/_facts.html").render(Context({"facts": (("Split", "full"), ("Judge", ""))}))
    assert "<dt>Split</dt><dd>full</dd>" in html
    assert "not stated" in html


# Geometry


@pytest.mark.parametrize(
    ("figures", "ends"),
    [
        ((0.387,), ("0", "40")),
        ((0.443,), ("0", "45")),
        ((1.0,), ("0", "100")),
        ((0.0,), ("0", "100")),
        ((0.3,), ("0", "30")),
    ],
)
def test_scale_ends_are_round(figures: tuple[float, ...], ends: tuple[str, str]) -> None:
    scale = scale_for(INTERVAL, [Cell("x", value=figure) for figure in figures])
    assert scale is not None
    assert scale.labels == ends


def test_scale_in_other_units_and_below_zero() -> None:
    column = Column("i", "I", "interval", unit="$")
    scale = scale_for(column, [Cell("x", value=-12), Cell("x", value=31.5)])
    assert scale is not None
    assert scale.labels == ("-15", "35")


def test_no_figure_no_scale_no_whisker() -> None:
    assert scale_for(INTERVAL, [Cell(), Cell("text", value="text")], [Band("x", 0.1, 0.2)]) is None
    assert whisker(Cell("x", value=0.3), INTERVAL, None) is None
    assert whisker(Cell(), INTERVAL, Scale(0, 1, "%")) is None


def test_whisker_coordinates() -> None:
    drawn_at = whisker(Cell("x", value=0.5, low=0.25, high=1.0), INTERVAL, Scale(0.0, 1.0, "%"))
    assert drawn_at is not None
    assert drawn_at[:3] == ("100.0", "53.0", "194.0")  # 6 + share x 188
    assert stripes([Band("x", 0.0, 0.5)], Scale(0.0, 1.0))[0][:] == ("shaded", "6.0", "94.0")


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=8))
@settings(deadline=None)
def test_every_figure_and_zero_stand_on_the_scale(figures: list[float]) -> None:
    scale = scale_for(INTERVAL, [Cell("x", value=figure) for figure in figures])
    assert scale is not None
    assert all(6 - 1e-6 <= scale.x(figure) <= 194 + 1e-6 for figure in [0.0, *figures])
    # no more than one step of a tenth is lost at either end
    span = max(0.0, *figures) - min(0.0, *figures)
    assert scale.high - scale.low <= max(1.0, span) * 1.6 or not span


# The sheet and the pages


def _luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance, WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_step_of_the_heat_map_can_be_read() -> None:
    sheet = (ROOT / "static" / "clinboard.css").read_text()
    steps = re.findall(r"td\.hm-(\d+) \{ background-color: rgb\((\d+) (\d+) (\d+)\); color: #(000|fff); \}", sheet)
    assert [int(step) for step, *_ in steps] == list(range(21))
    before = -1.0
    for _, red, green, blue, text in steps:
        back = _luminance((int(red), int(green), int(blue)))
        front = 1.0 if text == "fff" else 0.0
        assert (max(back, front) + 0.05) / (min(back, front) + 0.05) >= 4.5
        assert back > before
        before = back


@pytest.mark.parametrize("path", sorted((ROOT / "templates").rglob("*.html")), ids=lambda path: path.name)
def test_pages_hold_nothing_that_the_content_policy_forbids(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle\s*=|<style|\son[a-z]+\s*=|javascript:|https?://", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


def test_the_last_page_needs_no_context() -> None:
    html = ENGINE.get_template("500.html").render(Context())
    assert "Something broke" in html


def test_vendored_files_are_those_in_the_list() -> None:
    folder = ROOT / "static" / "vendor"
    listed = dict(re.findall(r"\| `([0-9a-f]{64})` \| `([^`]+)` \|", (folder / "VENDOR.md").read_text()))
    found = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path.relative_to(folder).as_posix()
        for path in folder.glob("*/*")
        if path.is_file()
    }
    assert listed == found
