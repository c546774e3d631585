"""What leaves for a paper: the table and its check, macros, methods, and the command that writes them."""

from __future__ import annotations

import json
import re
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.core.management.base import CommandError

from leaderboard.exports import EXPORTS
from leaderboard.models import ReportedScore
from leaderboard.recipes.build import Built, build
from leaderboard.recipes.outputs import as_file, as_macros, as_methods, check
from leaderboard.recipes.printed import differences, emphasis, plain, read
from leaderboard.recipes.recipe import from_json, load
from leaderboard.tables.latex import document
from tests.conftest import ROOT, People
from tests.leaderboard.test_forms import compiled
from tests.leaderboard.worlds import ehr_tree
from tests.leaderboard.worlds import load as ingest

PUBLIC = AnonymousUser()


@pytest.fixture
def board(db: None, tmp_path: Path) -> Built:
    ingest(ehr_tree(tmp_path / "a", {"GPT-4.1 é": 18, "second": 17, "third": 6}))
    document = {
        "title": "T",
        "label": "tab:mine",
        "columns": [{"benchmark": "ehr-bench", "label": "Tools, F1"}],
        "uncertainty": "interval",
    }
    return build(from_json(json.dumps(document)), PUBLIC)


def test_what_was_just_exported_holds(board: Built) -> None:
    text = as_file(board, "tex").decode() + as_macros(board).decode()
    assert check(text, PUBLIC, "paper.tex") == (3 + 9, [])


def test_a_figure_that_was_changed_by_hand_is_named(board: Built) -> None:
    text = as_file(board, "tex").decode()
    assert text.count("30.0") == 1
    _, wrong = check(text.replace("30.0", "31.0"), PUBLIC, "paper.tex")
    assert len(wrong) == 1
    assert re.fullmatch(r"paper\.tex: row 'third', column 'Tools, F1, %': printed 31\.0 (\S+), now 30\.0 \1", wrong[0])


def test_a_figure_that_is_no_longer_what_the_database_gives_is_named(board: Built, tmp_path: Path) -> None:
    """A new best model takes the first place: its rivals are no longer bold, and a changed run has other figures."""
    text, numbers = as_file(board, "tex").decode(), as_macros(board).decode()
    ingest(ehr_tree(tmp_path / "a", {"third": 5}))
    _, wrong = check(text, PUBLIC, "paper.tex")
    assert len(wrong) == 1 and "row 'third'" in wrong[0] and "now 25.0" in wrong[0]
    _, wrong = check(numbers, PUBLIC, "numbers.tex")
    assert [re.search(r"column 'Tools, F1, %'( \(\w+\))?: printed", line)[1] for line in wrong] == [
        None,
        " (low)",
        " (high)",
    ]


def test_the_words_of_a_table_may_be_edited(board: Built) -> None:
    text = as_file(board, "tex").decode()
    edited = text.replace("second &", "Our second model &").replace("\\small", "\\footnotesize")
    edited = re.sub(r"\\caption\{.*\}\\label", r"\\caption{Mine.}\\label", edited)
    edited = edited.replace(" & ", "   &\t")
    assert edited != text and check(edited, PUBLIC, "paper.tex")[1] == []


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda text: re.sub(r" % clinboard-row \"third\"", "", text),
            "has figures but no comment that says which row it is",
        ),
        (lambda text: text.replace("second &", "second & 1 &"), "has 3 cells for 2 columns"),
        (
            lambda text: text.replace('clinboard-row "third"', 'clinboard-row "gone"'),
            "row 'gone', column 'Tools, F1, %'",
        ),
        (lambda text: re.sub(r".*clinboard-row.*\n", "", text), "no figure of this table was found"),
        (lambda text: text.replace('ehr-bench"', 'nothing"'), "fits no board: nothing"),
        (lambda text: text.replace("\\textbf{90.0}", "90.0"), ", now 90.0"),
    ],
)
def test_what_cannot_be_compared_is_told(board: Built, edit: Any, told: str) -> None:
    _, wrong = check(edit(as_file(board, "tex").decode()), PUBLIC, "paper.tex")
    assert len(wrong) == 1 and told in wrong[0]


def test_a_name_that_looks_like_our_comments_confuses_nothing(db: None, tmp_path: Path) -> None:
    name = 'x % clinboard-row "third" & y'
    ingest(ehr_tree(tmp_path / "a", {name: 18, "third": 5}))
    built = build(from_json('{"title": "% clinboard-recipe {}", "columns": [{"benchmark": "ehr-bench"}]}'), PUBLIC)
    assert check(as_file(built, "tex").decode() + as_macros(built).decode(), PUBLIC, "t.tex") == (4, [])


def test_a_file_that_was_not_exported_is_refused() -> None:
    with pytest.raises(ValueError, match=r"paper\.tex: holds no recipe"):
        check("\\begin{tabular}{l} 1 \\end{tabular}", PUBLIC, "paper.tex")


def test_macros_are_named_by_letters_only_and_compile(board: Built, tmp_path: Path) -> None:
    source = as_macros(board).decode()
    names = re.findall(r"\\newcommand\{\\(\S+?)\}", source)
    assert len(names) == len(set(names)) == 9 and all(re.fullmatch(r"[A-Za-z]+", name) for name in names)
    assert "MineGPTFourPointOneEToolsFOne" in names and "MineThirdToolsFOneLow" in names
    text = compiled(document(f"{source}\nA model got \\MineGPTFourPointOneEToolsFOne.\n"), tmp_path)
    assert "A model got 90.0." in text


def test_two_models_of_one_name_in_letters_have_two_macros(db: None, tmp_path: Path) -> None:
    ingest(ehr_tree(tmp_path / "a", {"m_x": 18, "m-x": 17}))
    built = build(from_json('{"title": "T", "columns": [{"benchmark": "ehr-bench"}]}'), PUBLIC)
    names = re.findall(r"\\newcommand\{\\(\S+?)\}", as_macros(built).decode())
    assert sorted(names) == ["TMXFOne", "TMXFOneA"]


def test_the_methods_say_release_evaluator_statistics_and_dates(board: Built) -> None:
    text = as_methods(board).decode()
    for told in (
        "EHR-Bench",
        "Release v1 (split full1800, 20 questions)",
        "clinseek-text-2026",
        "10,000 resamples of whole patients",
    ):
        assert told in text
    assert "95 \\%" in text


def test_methods_of_reported_figures_name_their_source(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_published", ROOT / "fixtures" / "published")
    text = as_methods(build(load(ROOT / "docs/recipes/llmeval-med.yaml"), PUBLIC)).decode()
    assert "arXiv:2506.04078, Table 2" in text and "resamples" not in text


@pytest.mark.parametrize(
    ("source", "printed", "kind"),
    [
        (r"\textbf{36.2}\rlap{\textsuperscript{†a}}\hspace{6pt}{\scriptsize 33.7–38.7}", "36.2 33.7–38.7", "bold"),
        (r"\ensuremath{\approx}\,\underline{1.0}", "1.0", "underlined"),
        (r"\ensuremath{-}3.8", "-3.8", ""),
        (r"$-$3.8\phantom{\hspace{6pt}{\scriptsize \ensuremath{-}9.0 to 1.0}}", "-3.8", ""),
        ("–", "–", ""),
        ("36.2~{\\footnotesize 33.7--38.7}", "36.2 33.7–38.7", ""),
    ],
)
def test_a_figure_is_read_out_of_its_type(source: str, printed: str, kind: str) -> None:
    assert (plain(source), emphasis(source)) == (printed, kind)


def test_reading_back_what_was_written_differs_in_nothing(board: Built) -> None:
    (one,), (other,) = read(as_file(board, "tex").decode()), read(as_file(board, "tex").decode())
    assert one.cells and list(differences(one, other)) == []


# The command


def run(*args: str) -> str:
    raw = BytesIO()
    out = TextIOWrapper(raw, "utf-8")
    call_command("export", *args, stdout=out, stderr=StringIO())
    out.flush()
    return raw.getvalue().decode("utf-8", "replace")


def test_the_command_exports_what_is_public(people: People, tmp_path: Path) -> None:
    ingest(ehr_tree(tmp_path / "a", {"openly": 9}))
    ingest(ehr_tree(tmp_path / "b", {"hidden": 18}), "private", owner=people.owner)
    query = "title=T&c1.benchmark=ehr-bench"
    assert "hidden" not in run(query, "--format", "csv")
    assert "hidden" not in run(query, "--format", "csv", "--as", "stranger")
    assert "hidden" in run(query, "--format", "csv", "--as", "owner")
    assert "hidden" in run(f"https://x.example/tables/?{query}", "--format", "csv", "--all")
    out = tmp_path / "paper.tex"
    run(query, "--all", "--out", str(out))
    assert "% clinboard-seen staff" in out.read_text("utf-8")
    with pytest.raises(SystemExit, match="1"):
        run("--check", str(out))
    run("--all", "--check", str(out))


def test_the_command_writes_every_form(board: Built, tmp_path: Path) -> None:
    query = board.recipe.query
    for form in EXPORTS:
        out = tmp_path / f"t.{form}"
        run(query, "--format", form, "--out", str(out))
        assert out.stat().st_size > 100
    assert run(query, "--format", "csv", "--bom").startswith("\ufeff")
    assert "\\newcommand" in run(query, "--macros") and "EHR-Bench" in run(query, "--methods")
    assert "\\documentclass" in run(query, "--document")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["nothing.yaml"], "nothing.yaml: cannot be read"),
        (["nothing"], "is no YAML file"),
        (["title=T&c1.board=x"], "the address: columns[0] fits no board: x"),
        (["title=T&c1.board=x", "--as", "nobody"], "no active person has that name"),
        ([], "a recipe is needed"),
        (["--check", "nothing.tex"], "nothing.tex: No such file"),
    ],
)
def test_the_command_says_what_is_wrong(db: None, args: list[str], told: str) -> None:
    with pytest.raises(CommandError) as error:
        run(*args)
    assert told in str(error.value)


def test_the_check_exits_with_one_and_names_each_cell(
    board: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "paper.tex"
    path.write_bytes(as_file(board, "tex").replace(b"30.0", b"31.0"))
    with pytest.raises(SystemExit) as stopped:
        call_command("export", "--check", str(path))
    assert stopped.value.code == 1 and "row 'third', column 'Tools, F1, %': printed 31.0" in capsys.readouterr().out
    assert ReportedScore.objects.count() == 0
