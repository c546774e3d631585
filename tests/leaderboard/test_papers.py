"""The recipes of three papers, in every form and against the published figures; what leaves for a paper, and its check."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.db import transaction

from fixtures.sample_tree import write
from ingest.context import Options
from ingest.pipeline import ingest as take
from leaderboard.exports import EXPORTS, exported
from leaderboard.recipes.build import Built, build
from leaderboard.recipes.outputs import as_file, check
from leaderboard.recipes.recipe import from_json, load
from leaderboard.tables.latex import document
from tests.conftest import ROOT
from tests.leaderboard.test_forms import compiled

RECIPES = ROOT / "docs" / "recipes"
NAMES = sorted(path.stem for path in RECIPES.glob("*.yaml"))
PUBLIC = AnonymousUser()
MODELS = ("aster_3_large", "borealis_240b", "garnet_14b")  # of the invented tree


def published(name: str) -> Any:
    return json.loads((ROOT / "fixtures" / "published" / f"{name}.json").read_text("utf-8"), parse_float=Decimal)


@pytest.fixture
def figures(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_published", ROOT / "fixtures" / "published")
    capsys.readouterr()


def made(name: str) -> Built:
    return build(load(RECIPES / f"{name}.yaml"), PUBLIC, "https://board.example.org")


def grid(name: str) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in made(name).table.rows]


def test_the_main_table_of_liveclin_is_that_of_the_paper(figures: None) -> None:
    wanted = [
        [entry["model"], f"{entry['value']:.1f}", "78.4" if entry["model"] == "GPT-5" else "–"]
        for entry in published("liveclin_2025_H1")["scores"]
        if entry["source"] == "card"
    ]
    assert len(wanted) == 26 and grid("liveclin-main") == wanted


def test_the_table_of_ehr_bench_is_that_of_the_page(figures: None) -> None:
    scores = {
        (entry["model"], entry["group"], entry["mode"]): entry["value"]
        for entry in published("clinseek")["scores"]
        if entry["benchmark"] == "ehr-bench"
    }
    wanted = []
    for model in dict.fromkeys(model for model, _, _ in scores):
        line = [model]
        for group in ("risk_prediction", "decision_making", "overall"):
            agentic, oneshot = (scores.get((model, group, mode)) for mode in ("agentic", "oneshot"))
            both = agentic is not None and oneshot is not None
            line += ["–" if value is None else f"{value:.1f}" for value in (agentic, oneshot)]
            line.append(f"{agentic - oneshot:.1f}" if both else "–")
        wanted.append(line)
    assert len(wanted) == 12 and sorted(grid("ehr-bench-modes")) == sorted(wanted)


def test_the_table_of_llmeval_med_is_that_of_the_paper(figures: None) -> None:
    file = published("llmeval_med")
    wanted = [
        [row["model"], f"{row['OP']:.2f}", "–", *(f"{row[key]:.2f}" for key in ("MK", "MLU", "MR", "MSE", "MTG"))]
        for access in ("proprietary", "open", "medical")
        for row in file["scores"]
        if row["access"] == access
    ]
    assert len(wanted) == 13 and grid("llmeval-med") == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_of_a_paper_in_every_form(figures: None, name: str, tmp_path: Path) -> None:
    built = made(name)
    first, last = built.table.rows[0].cells, built.table.rows[-1].cells
    for form in EXPORTS:
        data = as_file(built, form)
        text = data.decode("utf-8", "replace") if form != "parquet" else str(data)
        for cell in (first[0], first[1], last[0], last[2]):
            assert cell.missing or cell.text in text.replace("\\_", "_").replace("\\-", "-"), (form, cell.text)
    text = compiled(document(as_file(built, "tex").decode()), tmp_path)
    for told in (first[0].text, first[1].text, "Evaluator", "board.example.org/boards/", "Made"):
        assert told in text.replace("\n", ""), told


# The sample tree: figures of our own, both overall forms, differences with intervals


@pytest.fixture(scope="module")
def sample(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The invented tree, loaded once for the tests of this file; what it wrote is taken back at the end."""
    target = tmp_path_factory.mktemp("sample")
    write(target)
    unneeded = ["mm_bench", "agent_ehr_bench", "ehr_bench/agentic/smoke20"]
    for mode in ("agentic", "oneshot"):
        runs = sorted(path.name for path in (target / "results/ehr_bench" / mode / "full1800").iterdir())
        unneeded += [f"ehr_bench/{mode}/full1800/{name}" for name in runs if name not in MODELS]
    for other in unneeded:
        path = target / "results" / other
        path.unlink() if path.is_symlink() else shutil.rmtree(path)
    with django_db_blocker.unblock(), transaction.atomic():
        take(target / "results", Options(visibility="public", release="sample", gold=[("sample", target / "gold")]))
        yield
        transaction.set_rollback(True)


def of_the_sample(name: str, **more: Any) -> Built:
    """A recipe of a paper with the invented models in it."""
    text = json.dumps(load(RECIPES / f"{name}.yaml").document)
    for release in ("2025_H1", "v1", "2025"):
        text = text.replace(f'"release": "{release}"', '"release": "sample"')
    changed = json.loads(text) | more
    changed["rows"] = {}
    for column in changed["columns"]:
        column.pop("source", None)
    return build(from_json(json.dumps(changed)), PUBLIC, "https://board.example.org")


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_with_figures_of_our_own(sample: None, db: None, name: str, tmp_path: Path) -> None:
    built = of_the_sample(name, uncertainty="interval", n=True)
    table = built.table
    assert len(table.rows) > 2 and all(column.evaluator for column in table.columns if column.kind == "score")
    for form in EXPORTS:
        assert len(exported(table, form)) > 500
    compiled(document(as_file(built, "tex").decode()), tmp_path)
    assert check(as_file(built, "tex").decode(), PUBLIC, "t.tex")[1] == []


def test_both_overall_forms_of_llmeval_med_stand_side_by_side(sample: None, db: None) -> None:
    """The mean of the five category rates, and the rate over all questions: the first is the mean of the row's last five."""
    table = of_the_sample("llmeval-med").table
    for row in table.rows:
        of_categories, of_all, *categories = (float(cell.value) for cell in row.cells[1:] if cell.value is not None)
        assert of_categories == pytest.approx(sum(categories) / 5)
        assert min(categories) <= of_all <= max(categories)


def test_the_difference_of_modes_is_that_of_its_figures(sample: None, db: None) -> None:
    table = of_the_sample("ehr-bench-modes", uncertainty="interval").table
    formed = 0
    for row in table.rows:
        agentic, oneshot, difference = row.cells[7:10]
        if difference.missing:
            assert agentic.missing or oneshot.missing
            continue
        formed += 1
        assert difference.value == pytest.approx(agentic.value - oneshot.value)
        assert difference.low <= difference.value <= difference.high
    assert formed == len(MODELS)
