"""One table in every form: the same rows, order and digits; nothing that a spreadsheet, Markdown or TeX takes for its own."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import polars
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaderboard.exports import EXPORTS, exported, file_name
from leaderboard.tables import Band, Cell, Column, Group, Row, Table, difference_cell, difference_column
from leaderboard.tables.csvfile import neutral
from leaderboard.tables.latex import COLUMNS, ROW, document
from leaderboard.tables.texescape import _AS_IS, _KNOWN, escape
from tests.needs import need

NASTY = r"50%_off & {x} #1 \~^$ <b>|`*[y] --- 'q' \"q\" é Ž ≥ α 中文 ễ 😀 = ?`"
ACCURACY = Column("acc", "Accuracy", "score", unit="%", metric="accuracy", evaluator="e-1", items="set", over="Agentic")
PLAIN = Column("plain", "Accuracy", "score", unit="%", metric="accuracy", evaluator="e-1", items="set", over="One-shot")
DELTA = difference_column("delta", "Difference", ACCURACY, PLAIN)
COLUMNS_OF = (
    Column("rank", "Rank", "rank"),
    Column("model", "Model", "model"),
    ACCURACY,
    Column("interval", "Interval", "interval", unit="%"),
    PLAIN,
    DELTA,
    Column("n", "Of", "count"),
    Column("origin", "Origin", "badge"),
    Column("note", "Remark", "text"),
)


def row(key: str, name: str, agentic: Cell, plain: Cell, group: str, remark: str = "") -> Row:
    whisker = COLUMNS_OF[3].cell(agentic.value, agentic.low, agentic.high)  # type: ignore[arg-type]
    origin = Cell("run by us", origin="ours") if group == "ranked" else Cell("reported", origin="reported")
    cells = (
        Cell("1", value=1, rank=1, tie=True) if group == "ranked" else Cell("–", note="not ranked"),
        Cell(name, value=key, sub="Invented Lab", href="/models/x/"),
        agentic,
        whisker,
        plain,
        difference_cell(DELTA, agentic, plain),
        Cell("1,407", value=1407),
        origin,
        Cell(remark),
    )
    return Row(key, cells, group)


def rich() -> Table:
    return Table(
        "rich",
        "Rich & invented",
        "What 50% of it shows.",
        COLUMNS_OF,
        (
            row(
                "nasty",
                NASTY,
                ACCURACY.cell(0.3625, 0.3, 0.4, n=1407, emphasis="best"),
                PLAIN.cell(0.4, n=1407),
                "ranked",
            ),
            row(
                "borea",
                "Borea",
                ACCURACY.cell(0.35, n=1407, partial=True, note="Twice."),
                PLAIN.cell(None),
                "ranked",
                "=1+1",
            ),
            row(
                "helios",
                "-Helios",
                ACCURACY.cell(1.0, origin="reported"),
                PLAIN.cell(0.0, n=9, origin="reported"),
                "told",
            ),
        ),
        (Group("ranked", "Recomputed", "from answers."), Group("told", "Reported_1")),
        bands=(Band("Physicians", 0.2, 0.3),),
        notes=("A note with 5 % & more.",),
        facts=(("Release", "2025_H1"), ("Judge", "")),
    )


def test_a_rich_table_has_every_kind_of_cell() -> None:
    """The comparison below is worth what stands in this table."""
    cells = [cell for line in rich().rows for cell in line.cells]
    assert {column.kind for column in COLUMNS_OF} == {"rank", "model", "score", "interval", "count", "badge", "text"}
    assert any(cell.missing for cell in cells) and any(cell.sub and cell.low is not None for cell in cells)
    assert [line.cells[5].text for line in rich().rows] == ["-3.8", "–", "100.0"]


# Each form read back by a reader of its own: rows of (rank, name, agentic, plain, difference, count).
Grid = list[list[str]]
PICKED = ("Rank", "Model", "Agentic: Accuracy, %", "One-shot: Accuracy, %", "Difference, pp", "Of")


def from_json(data: bytes) -> Grid:
    rows = json.loads(data)["rows"]
    keys = ("rank", "model", "acc", "plain", "delta", "n")
    return [[line["cells"][key]["text"] for key in keys] for line in rows]


def from_csv(data: bytes) -> Grid:
    return [[line[name] for name in PICKED] for line in csv.DictReader(io.StringIO(data.decode("utf-8-sig")))]


def from_parquet(data: bytes) -> Grid:
    frame = polars.read_parquet(io.BytesIO(data))
    numbers = [name if name == "Model" else f"{name} text" for name in PICKED]
    return [list(line) for line in frame.select(numbers).rows()]


def from_markdown(data: bytes) -> Grid:
    lines = [line[2:-2].split(" | ") for line in data.decode().splitlines() if line.startswith("| ")]
    return [[_bare(cell) for cell in (*line[:5], line[5])] for line in lines[2:] if line[1]]


def _bare(cell: str) -> str:
    cell = re.sub(r"<sup>.*?</sup>|</?u>|\*\*|[≈†‡]| \([^)]*\)$", "", cell)
    cell = re.sub(r"&#(\d+);", lambda code: chr(int(code[1])), cell)
    return re.sub(r"\\(.)", r"\1", cell.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).strip()


def from_html(data: bytes) -> Grid:
    from html import unescape

    body = re.findall(r"<tr>(.*?)</tr>", data.decode(), re.S)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in body]
    bare = [
        [unescape(re.sub(r"<sup>.*?</sup>|<small>.*?</small>|<[^>]*>|[≈†‡]", "", cell)).strip() for cell in line]
        for line in rows
        if len(line) > 1
    ]
    return [line[:6] for line in bare[1:]]


def from_latex(data: bytes) -> Grid:
    lines = [line.rpartition(rf" \\ {ROW}")[0] for line in data.decode().splitlines() if ROW in line]
    return [[_untexed(cell) for cell in re.split(r"(?<!\\)&", line)[:6]] for line in lines]


def _untexed(cell: str) -> str:
    cell = re.sub(r"\\phantom\{.*\}$|\\hspace\{6pt\}\{\\scriptsize [^}]*\}", "", cell.strip())
    cell = re.sub(r"\\rlap\{\\textsuperscript\{.*?\}\}|\\textsuperscript\{.*?\}", "", cell)
    cell = re.sub(r"\\ensuremath\{\\approx\}\\,|\\textbf\{(\S*?)\}", r"\1", cell)
    return cell.replace(r"\ensuremath{-}", "-").strip()


READERS = {
    "json": from_json,
    "csv": from_csv,
    "parquet": from_parquet,
    "md": from_markdown,
    "html": from_html,
    "tex": from_latex,
}


def wanted(form: str) -> Grid:
    grid = [[line.cells[place].text for place in (0, 1, 2, 4, 5, 6)] for line in rich().rows]
    if form in ("csv", "parquet"):  # programs read 1407, and nothing where nothing is
        grid = [
            ["" if cell == "–" else cell if i == 1 else cell.replace(",", "") for i, cell in enumerate(line)]
            for line in grid
        ]
    for line in grid:
        if form == "csv":
            line[1] = neutral(line[1])
        elif form == "tex":
            line[1] = escape(line[1])
    return grid


@pytest.mark.parametrize("form", sorted(EXPORTS))
def test_every_form_has_the_same_rows_order_and_digits(form: str) -> None:
    assert READERS[form](exported(rich(), form)) == wanted(form)


@pytest.mark.parametrize("form", sorted(set(EXPORTS) - {"csv"}))  # which holds rows only
def test_every_form_says_what_stands_beside_the_table(form: str) -> None:
    data = exported(rich(), form)
    if form == "parquet":
        data = polars.read_parquet_metadata(io.BytesIO(data))["clinboard"].encode()
    text = data.decode()
    for told in ("Twice.", "from answers."):
        assert told in text
    assert re.search(r"2025(\\)?_H1", text) and "A note with 5" in text


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_flat_forms_keep_bounds_counts_and_marks(form: str) -> None:
    data = exported(rich(), form)
    if form == "csv":
        first = next(csv.DictReader(io.StringIO(data.decode())))
        values = [first[f"Agentic: Accuracy, % {what}"] for what in ("low", "high", "n", "marks")]
        assert values == ["30.0", "40.0", "1407", "best"]
    else:
        frame = polars.read_parquet(io.BytesIO(data))
        assert frame["Agentic: Accuracy, %"].to_list() == [0.3625, 0.35, 1.0]
        assert frame["Agentic: Accuracy, % low"].to_list() == [0.3, None, None]
        assert frame["Agentic: Accuracy, % marks"].to_list() == ["best", "partial", ""]
        assert frame["Model marks"].to_list() == ["", "", "reported"]


def test_columns_of_one_name_stay_apart() -> None:
    twins = (Column("a", "Same", "text"), Column("b", "Same", "text"))
    table = Table("t", "T", "", twins, (Row("r", (Cell("1"), Cell("2")), "g"),), (Group("g", ""),))
    assert exported(table, "csv").decode().splitlines() == ["Same,Same (b)", "1,2"]


def test_a_byte_order_mark_is_a_choice() -> None:
    assert exported(rich(), "csv", bom=True) == b"\xef\xbb\xbf" + exported(rich(), "csv")
    assert exported(rich(), "json", bom=True) == exported(rich(), "json")


@pytest.mark.parametrize("name", ["../../etc/passwd", "LiveClin · 2025_H1\r\nX: y", "中文", "", "a" * 500])
def test_downloads_have_a_name_that_can_be_a_file(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]{1,100}_\d{4}-\d\d-\d\d\.csv", file_name(name, "csv"))


# Differences


@pytest.mark.parametrize(
    ("field", "other"), [("metric", "f1"), ("unit", "of 5"), ("evaluator", "e-2"), ("items", "other")]
)
def test_a_difference_over_two_kinds_of_figures_is_refused(field: str, other: str) -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match=rf"No difference of .* differ, .*{other}"):
        difference_column("d", "D", ACCURACY, replace(PLAIN, **{field: other}))


def test_a_difference_of_a_reported_and_a_recomputed_figure_is_refused_in_words() -> None:
    cell = difference_cell(DELTA, ACCURACY.cell(0.5), PLAIN.cell(0.4, origin="reported"))
    assert cell.missing and cell.note == "no difference: one figure is reported, the other recomputed"
    cell = difference_cell(DELTA, ACCURACY.cell(0.5, n=10), PLAIN.cell(0.4, n=11))
    assert cell.missing and "over 10 items, the other over 11" in cell.note


# Spreadsheets


@given(st.text(min_size=1))
@example("=1+1")
@example("\t=1")
@example("+cmd|' /C calc'!A0")
@example("-1-1")
@example("－1")
@settings(deadline=None)
def test_no_text_is_a_formula(text: str) -> None:
    safe = neutral(text)
    assert safe in (text, f"'{text}")
    bare = safe.lstrip(" \u00a0\ufeff")
    try:
        float(bare.replace(",", ""))
    except ValueError:
        assert not bare.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False), st.integers(0, 6))
@settings(deadline=None)
def test_numbers_are_left_alone(number: object, places: int) -> None:
    for text in (f"{number:.{places}f}", f"{number:,.{places}f}"):
        assert neutral(text) == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4, unique=True))
@settings(deadline=None)
def test_csv_gives_back_every_name(names: list[str]) -> None:
    rows = tuple(Row(str(place), (Cell(name), Cell("x")), "g") for place, name in enumerate(names))
    columns = (Column("m", "Model", "model"), Column("t", "T", "text"))
    data = exported(Table("t", "T", "", columns, rows, (Group("g", ""),)), "csv").decode()
    read = [line[0] for line in csv.reader(io.StringIO(data, newline=""))][1:]
    shown = ["" if name == "–" else name for name in names]
    assert [
        text.removeprefix("'") if neutral(name) != name else text for text, name in zip(read, shown, strict=True)
    ] == shown


# LaTeX

# what source may hold beside letters, digits and blanks: our own macros, braces in pairs, quiet ASCII signs
_SOURCE = re.compile(
    r"(?:\\(?:textbackslash|textasciitilde|textasciicircum|textquotesingle|textasciigrave|textquotedbl)\{\}|\\[{}$&#%_]"
    r"|\\ensuremath\{(?:[-']|''|\\[A-Za-z]+|\\mathrm\{[A-Za-z]\})\}|\\mbox\{-\}|\{\}|\{[\[\]*]\}|\\[`'^~=u.\"rHvdckb]\{(?:[A-Za-z]|\\[ij])\}"
    r"|\{\\ttfamily\{\[\}U\+[0-9A-F]{4,6}\{\]\}\}|\\clinboardcjk\{(?:gbsn|bsmi)\}\{[^\\{}$&#%_~^]+\}"
    r"|[^\\{}$&#%_^\"'`\[\]*])*"
)


@given(st.text())
@example(r"50%_off & {x} #1 \~^$")
@example("é\u0301\x00\ud800 中文‮😀")
@settings(deadline=None)
def test_nothing_in_a_text_is_taken_for_tex(text: str) -> None:
    source = escape(text)
    assert _SOURCE.fullmatch(source), source
    assert "\n" not in source and not any(pair in source for pair in ("--", "<<", ">>", ",,", "?`", "!`"))


def test_letters_are_kept_as_they_are() -> None:
    assert escape("GPT-5 Größe naïve") == "GPT-5 Größe naïve"
    assert escape("ẽ中文a") == r"\~{e}\clinboardcjk{gbsn}{中文}a"
    assert escape("😀") == r"{\ttfamily{[}U+1F600{]}}"


def compiled(tex: str, folder: Path) -> str:
    """The text of the PDF. Fails with the log when pdflatex does, or when a character was not in a font."""
    tools = ("pdflatex", "pdftotext")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    need("latex", not missing, f"{', '.join(missing)} is not installed")
    (folder / "t.tex").write_text(tex, "utf-8")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
    )
    log = (folder / "t.log").read_text("utf-8", "replace")
    assert made.returncode == 0, log[-3000:]
    assert "Missing character" not in log, log
    return subprocess.run(
        ["pdftotext", "-layout", "t.pdf", "-"], cwd=folder, capture_output=True, check=True
    ).stdout.decode()


def test_pdflatex_prints_the_rich_table(tmp_path: Path) -> None:
    fragment = exported(rich(), "tex", label="tab:rich", about=['recipe: {"a": "é\\n%"}']).decode()
    assert COLUMNS in fragment
    text = compiled(document(fragment), tmp_path)
    for printed in ("36.2", "−3.8", "50%_off & {x} #1 \\~^$", "[U+1F600]", "中文", "Reported_1"):
        assert printed in text


def test_pdflatex_prints_every_character_that_is_let_through(tmp_path: Path) -> None:
    signs = [
        *sorted(_AS_IS),
        *sorted(_KNOWN),
        *"āēīōūȳṣḥķųẖ",
        *"简体中文繁體漢字ひらがなカタカナ、。「」",
        *map(chr, range(33, 127)),
    ]
    names = [escape(f"{sign}x") for sign in signs]
    used = "\n\n".join(names)
    head = exported(rich(), "tex").decode()
    macro = next(line for line in head.splitlines() if line.startswith(r"\providecommand"))
    text = compiled(document(f"{macro}\n{used}\n"), tmp_path)
    assert text.count("x") >= len(signs)
