"""Published figures: the tables against the JSON files, read plainly."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evaluation.items import store_split
from evaluation.models import Benchmark, LanguageModel, ModelAlias, Split
from evaluation.protocols.base import ItemSpec
from leaderboard.models import Board, ReportedScore, ReportSource
from leaderboard.published import Unreadable, clinseek_place, read

FILES = Path(__file__).resolve().parent.parent / "fixtures" / "published"


def document(name: str) -> dict[str, Any]:
    return json.loads((FILES / name).read_text("utf-8"))


def load(directory: Path = FILES) -> str:
    out = StringIO()
    call_command("load_published", directory, stdout=out)
    return out.getvalue()


def overall(benchmark: str, mode: str = "chat", **more: Any) -> list[ReportedScore]:
    rows = ReportedScore.objects.filter(
        split__release__benchmark__slug=benchmark, mode=mode, human=False, on_board=True
    )
    return list(rows.filter(**{"dimension": "overall", "facet": "", **more}).select_related("model", "source"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FILES, tmp_path / "published"))


def change(path: Path, edit: Any) -> None:
    content = json.loads(path.read_text("utf-8"))
    edit(content)
    path.write_text(json.dumps(content), "utf-8")


# --- LiveClin ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_liveclin_has_26_models_in_the_papers_order() -> None:
    load()
    card = [row for row in overall("liveclin") if row.source.key == "liveclin_2025_H1/card"]
    wanted = [entry for entry in document("liveclin_2025_H1.json")["scores"] if entry["source"] == "card"]
    assert len(card) == 26
    assert [(row.model.name, row.model.access) for row in card] == [(e["model"], e["access"]) for e in wanted]
    assert [row.order for row in card] == list(range(1, 27))
    assert [row.printed for row in card] == [str(entry["value"]) for entry in wanted]
    assert [row.value for row in card] == pytest.approx([entry["value"] / 100 for entry in wanted], abs=1e-15)
    assert [row.value for row in card] == sorted((row.value for row in card), reverse=True)
    assert {(row.metric, row.variant, row.protocol, row.unit) for row in card} == {
        ("case_accuracy", "", "zero-shot", "percent")
    }
    assert {str(row.split) for row in card} == {"LiveClin 2025_H1 full"}


@pytest.mark.django_db
def test_both_lingshu_figures_stand_with_their_sources() -> None:
    load()
    rows = [row for row in overall("liveclin") if row.model.name == "LingShu-7B"]
    assert [(row.printed, row.source.key) for row in rows] == [
        ("15.3", "liveclin_2025_H1/card"),
        ("11.1", "liveclin_2025_H1/figure"),
    ]
    assert "conflicts with the card's 15.3" in rows[1].note and rows[0].note == ""
    assert rows[1].source.commit == "45b4876" and rows[0].source.retrieved == "2026-10-17"


@pytest.mark.django_db
def test_repeats_stand_on_the_row_of_the_card() -> None:
    load()
    rows = {row.model.name: row for row in overall("liveclin") if row.runs}
    assert set(rows) == {"o3", "GPT-5"}
    assert rows["o3"].runs == pytest.approx([0.357, 0.352, 0.359], abs=1e-15)
    assert rows["o3"].reported_sd == pytest.approx(0.0036, abs=1e-15)
    assert rows["GPT-5"].note == "the three values give a sample standard deviation of 0.10"


@pytest.mark.django_db
def test_people_are_a_group_and_no_model() -> None:
    load()
    people = ReportedScore.objects.filter(human=True)
    assert [(row.group, row.printed, row.n, row.model, row.on_board) for row in people] == [
        ("Chief physician", "37.8", 100, None, True),
        ("Attending physician", "34.6", 100, None, True),
    ]
    assert all("smaller set of cases" in row.note for row in people)
    assert not LanguageModel.objects.filter(name__icontains="physician").exists()


@pytest.mark.django_db
def test_other_protocols_and_the_example_run_never_reach_the_board() -> None:
    load()
    side = ReportedScore.objects.filter(on_board=False, dimension="overall")
    assert sorted((row.metric, row.printed, row.unit, row.value, row.n) for row in side) == [
        ("case_accuracy", "0.308", "fraction", 0.308, 1407),
        ("case_accuracy", "45.0", "percent", 0.45, None),
        ("question_accuracy", "0.784", "fraction", 0.784, 6605),
    ]
    assert side.get(printed="45.0").protocol.startswith("pilot: AI-only pipeline")
    assert side.get(n=1407).note.startswith("433 of 1407 cases right; an example of the tool's output")


@pytest.mark.django_db
def test_a_part_whose_metric_is_not_stated_keeps_those_words_and_stays_off_the_board() -> None:
    load()
    parts = ReportedScore.objects.filter(split__release__benchmark__slug="liveclin").exclude(dimension="overall")
    told = {
        (r.dimension, r.facet, r.model.name if r.model else r.group): (r.metric, r.printed, r.on_board) for r in parts
    }
    assert told == {
        (e["dimension"], e["facet"], e["model"]): (e["metric"], str(e["value"]), "not stated" not in e["metric"])
        for e in document("liveclin_2025_H1.json")["by_dimension"]
    }
    assert {row.group for row in parts if row.model is None} == {"mean of 8 models"}


# --- ClinSeek ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_every_clinseek_figure_is_there_once() -> None:
    load()
    groups = {
        ("overall", ""): "overall",
        **{("task_type", name): name for name in ("risk_prediction", "decision_making")},
    }
    wanted = {(e["benchmark"], e["mode"], e["group"], e["model"]): e for e in document("clinseek.json")["scores"]}
    rows = ReportedScore.objects.filter(source__key__startswith="clinseek/").select_related(
        "split__release__benchmark", "model", "source"
    )
    seen = {}
    for row in rows:
        group = groups.get((row.dimension, row.facet), row.facet)
        seen[row.split.release.benchmark.slug, row.mode, group, row.model.name] = (
            row.metric,
            row.printed,
            row.source.key,
        )
        assert row.value == pytest.approx(float(row.printed) / 100, abs=1e-15)
        assert row.split.release.name == "v1" and row.on_board and row.variant == ""
    assert len(rows) == len(wanted) == 305
    assert seen == {key: (e["metric"], str(e["value"]), f"clinseek/{e['source']}") for key, e in wanted.items()}


def test_groups_become_our_own_dimensions() -> None:
    assert clinseek_place("ehr-bench", "overall") == ("overall", "")
    assert clinseek_place("ehr-bench", "risk_prediction") == ("task_type", "risk_prediction")
    assert clinseek_place("ehr-bench", "ICU_Events") == ("task_group", "ICU_Events")
    assert clinseek_place("agent-ehr-bench", "transfers") == ("task", "transfers")
    assert clinseek_place("agent-ehr-bench", "overall_5_tasks") == ("aggregate", "overall_5_tasks")
    assert clinseek_place("mm-bench", "phenotype_ccs") == ("fine_task", "phenotype_ccs")
    assert clinseek_place("mm-bench", "overall_multimodal_989") == ("aggregate", "overall_multimodal_989")
    with pytest.raises(ValueError, match="'Made_up' is no task type"):
        clinseek_place("ehr-bench", "Made_up")


@pytest.mark.django_db
def test_aggregates_carry_their_rule() -> None:
    load()
    rules = document("clinseek.json")["rules"]
    [rule] = {row.note for row in overall("ehr-bench", "agentic")}
    assert rule == rules["ehr-bench overall"]
    [rule] = {row.note for row in overall("agent-ehr-bench", "agentic", dimension="aggregate", facet="overall_5_tasks")}
    assert rule == rules["agent-ehr-bench overall_5_tasks"]


@pytest.mark.django_db
def test_names_are_exact_and_directories_are_aliases(copy: Path) -> None:
    made_up = {"name": "Made-Up 1", "directory": "made_up_1", "raw_tag": "made-up-1"}
    change(copy / "clinseek.json", lambda file: file["models"].append(made_up))
    load(copy)
    for entry in (*document("clinseek.json")["models"], made_up):
        aliases = ModelAlias.objects.filter(model__name=entry["name"]).values_list("name", flat=True)
        assert set(aliases) >= set(entry.values())
    assert ModelAlias.objects.get(name="made_up_1").kind == "directory"
    alike = LanguageModel.objects.filter(name__startswith="Qwen3.5-35B-A3B").values_list("name", flat=True)
    assert sorted(alike) == ["Qwen3.5-35B-A3B", "Qwen3.5-35B-A3B (base)"]


# --- LLMEval-Med ------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_llmeval_table_cell_by_cell() -> None:
    load()
    file = document("llmeval_med.json")
    rows = ReportedScore.objects.filter(source__key="llmeval_med/table").select_related("model")
    seen = {(row.model.name, row.facet or "OP"): row for row in rows}
    wanted = {(e["model"], column): e[column] for e in file["scores"] for column in file["columns"]}
    assert {key: float(row.printed) for key, row in seen.items()} == wanted
    assert {key: row.value for key, row in seen.items()} == pytest.approx(
        {key: value / 100 for key, value in wanted.items()}, abs=1e-15
    )
    for (_, column), row in seen.items():
        place = ("overall", "mean_of_categories") if column == "OP" else ("category", "")
        assert (row.dimension, row.variant, row.metric) == (*place, "usability_rate")


@pytest.mark.django_db
def test_an_overall_that_is_not_the_mean_of_its_row_says_so() -> None:
    load()
    file = document("llmeval_med.json")
    notes = {row.model.name: row.note for row in overall("llmeval-med", variant="mean_of_categories")}
    for entry in file["scores"]:
        mean = sum(entry[column] for column in file["columns"][1:]) / 5
        if abs(mean - entry["OP"]) < 0.011:
            assert notes[entry["model"]] == ""
        else:
            assert notes[entry["model"]].endswith(f"category rates is {mean:.2f}")
    assert sum(map(bool, notes.values())) == 3


# --- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_boards_stand_without_any_run_and_later_gold_fills_the_split() -> None:
    load()
    boards = Board.objects.values_list("split__release__benchmark__slug", "split__release__name", "split__name", "mode")
    assert set(boards) == {
        ("liveclin", "2025_H1", "full", "chat"),
        ("ehr-bench", "v1", "full1800", "agentic"),
        ("ehr-bench", "v1", "full1800", "oneshot"),
        ("agent-ehr-bench", "v1", "subset600", "agentic"),
        ("mm-bench", "v1", "full2703", "agentic"),
        ("mm-bench", "v1", "full2703", "oneshot"),
        ("llmeval-med", "2025", "full", "chat"),
    }
    split = Split.objects.get(release__benchmark__slug="ehr-bench")
    assert (split.gold_missing, split.expected_items) == (True, 0)
    items = [ItemSpec("made-up", "made-up", "1", ["yes"], ())]
    store_split(Benchmark.objects.get(slug="ehr-bench"), "v1", "full1800", items, rankable=True)
    split.refresh_from_db()
    assert (split.gold_missing, split.expected_items) == (False, 1)
    assert split.reported.exists()
    load()
    split.refresh_from_db()
    assert (split.gold_missing, split.expected_items) == (False, 1)


@pytest.mark.django_db
def test_the_same_files_again_change_nothing_and_say_so() -> None:
    assert "38 reported figures, 38 new" in load()
    before = list(ReportedScore.objects.order_by("pk").values())
    models = list(LanguageModel.objects.order_by("pk").values())
    assert [line.rpartition(", ")[2] for line in load().splitlines()] == ["nothing changed"] * 3
    assert list(ReportedScore.objects.order_by("pk").values()) == before
    assert list(LanguageModel.objects.order_by("pk").values()) == models


@pytest.mark.django_db
def test_a_changed_file_changes_adds_and_removes(copy: Path) -> None:
    load(copy)
    kept = {row.pk for row in overall("liveclin")}

    def edit(file: dict[str, Any]) -> None:
        file["scores"][0]["value"] = 35.9  # o3
        file["scores"][26]["note"] = "another note"  # LingShu-7B of the figure
        file["scores"].insert(0, {"model": "Made-Up-1", "access": "open", "value": 40.0, "source": "card"})
        del file["example_run"]
        file["sources"].pop("readme")
        file["sources"]["figure"]["commit"] = "0000001"

    change(copy / "liveclin_2025_H1.json", edit)
    out = load(copy)
    # every place in the table moves by one, so each row that stays is changed
    assert "37 reported figures, 1 new, 37 changed, 2 removed" in out and out.count("nothing changed") == 2
    rows = overall("liveclin")
    assert [(row.model.name, row.printed) for row in rows[:2]] == [("Made-Up-1", "40.0"), ("o3", "35.9")]
    assert {row.pk for row in rows} > kept
    assert not ReportSource.objects.filter(key="liveclin_2025_H1/readme").exists()
    assert ReportSource.objects.get(key="liveclin_2025_H1/figure").commit == "0000001"
    assert "nothing changed" in load(copy)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("file", "edit", "message"),
    [
        ("clinseek.json", lambda f: f["scores"][3].pop("mode"), r"missing required field `mode` - at `\$.scores\[3\]`"),
        ("clinseek.json", lambda f: f["scores"][3].update(group="Made_up"), "'Made_up' is no task type"),
        ("clinseek.json", lambda f: f["scores"][3].update(benchmark="made-up"), "'made-up' is not known here"),
        ("clinseek.json", lambda f: f["scores"].append(f["scores"][0]), "said twice: page ehr-bench v1 full1800"),
        ("clinseek.json", lambda f: f["scores"][0].update(source="made-up"), "the source 'made-up' of Claude Opus 4.6"),
        ("liveclin_2025_H1.json", lambda f: f["scores"][0].update(value=101), "101 percent is not between 0 and 100"),
        ("liveclin_2025_H1.json", lambda f: f["scores"][0].update(value="NaN"), "NaN percent is not between 0 and 100"),
        ("liveclin_2025_H1.json", lambda f: f.update(unit="points"), "the unit is 'points'"),
        ("liveclin_2025_H1.json", lambda f: f.update(benchmark="made-up"), "'made-up' is no benchmark"),
        ("liveclin_2025_H1.json", lambda f: f["repeats"][0].update(model="made-up"), "repeats of made-up from 'card'"),
        ("liveclin_2025_H1.json", lambda f: f["scores"][0].update(model="m" * 501), "length <= 500"),
        ("liveclin_2025_H1.json", lambda f: f["human_baselines"][0].update(group="g" * 201), "at most 200 characters"),
        ("liveclin_2025_H1.json", lambda f: f["sources"]["card"].update(url="javascript:0"), "source 'card': url"),
        ("llmeval_med.json", lambda f: f["columns"].append("XX"), "'XX' is no column of this table"),
        ("llmeval_med.json", lambda f: f["scores"][0].update(typo=1), "unknown field `typo`"),
    ],
)
def test_a_file_that_does_not_add_up_loads_nothing(copy: Path, file: str, edit: Any, message: str) -> None:
    change(copy / file, edit)
    with pytest.raises(CommandError, match=message) as caught:
        load(copy)
    assert f"nothing was loaded: {file}: " in str(caught.value)
    assert not ReportedScore.objects.exists()


def test_a_file_that_is_no_json_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(Unreadable, match=r"broken\.json: Input data was truncated"):
        read(tmp_path / "broken.json")


def test_a_directory_without_files_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no \.json files there"):
        call_command("load_published", tmp_path)
