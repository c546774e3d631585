"""Every Eval Ever documents: valid, the same scores when read back, others' as reported figures, faults told with value."""

from __future__ import annotations

import copy
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evaluation.models import Evaluation, ItemScore, Run, Score
from leaderboard.data import eee
from leaderboard.data.archive import as_json
from leaderboard.exchange import Stated
from leaderboard.models import ReportedScore
from leaderboard.published import Unreadable, read
from tests.conftest import People
from tests.ingest.trees import run_path
from tests.leaderboard.worlds import ehr_rows, ehr_tree, live_tree, load


@pytest.fixture
def run(people: People, tmp_path: Path) -> Run:
    """Three repeats of an EHR-Bench run with a wrong, a missing and an unknown question."""
    tree = ehr_tree(tmp_path / "tree", {})
    rows = [row for repeat in (1, 2, 3) for row in ehr_rows(12 + repeat, 19, run_index=repeat)]
    tree.lines(run_path("glm_4_7"), [*rows, {**rows[0], "qid": "q_unknown"}])
    (loaded,) = load(tree)
    return loaded


def written(run: Run, user: Any, folder: Path) -> Path:
    path = folder / f"{run.key}.json"
    path.write_bytes(as_json(eee.document(eee.evaluation_of(run), user)))
    return path


def errors(schema: Path, document: Any) -> list[str]:
    checker = jsonschema.Draft7Validator(json.loads(schema.read_text("utf-8")))
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(document)]


def test_documents_and_instances_are_valid(run: Run, people: People, shared: Path, tmp_path: Path) -> None:
    live, *_ = load(live_tree(tmp_path / "live", {"a": ("some/model", ["AB", "A?", "BB"])}))
    live.split.release.benchmark.item_access = "public"
    for one in (run, live):
        evaluation = eee.evaluation_of(one)
        document = json.loads(as_json(eee.document(evaluation, people.member)))
        assert errors(shared / "schemas/eval.schema.json", document) == []
        lines = b"".join(eee.instances_for(evaluation, people.member)).splitlines()
        assert lines
        for line in lines:
            assert errors(shared / "schemas/instance_level_eval.schema.json", json.loads(line)) == []


def test_the_check_of_schemas_can_fail(run: Run, people: People, shared: Path) -> None:
    document = json.loads(as_json(eee.document(eee.evaluation_of(run), people.member)))
    document["evaluation_results"][3]["metric_config"].pop("lower_is_better")
    assert len(errors(shared / "schemas/eval.schema.json", document)) == 1


def test_instances_are_the_verdicts_and_point_to_one_result(run: Run, people: People) -> None:
    evaluation = eee.evaluation_of(run)
    document = eee.document(evaluation, people.member)
    content = b"".join(eee.instances_for(evaluation, people.member))
    told, lines = document["detailed_evaluation_results"], [json.loads(line) for line in content.splitlines()]
    assert (told["checksum"], told["total_rows"]) == (hashlib.sha256(content).hexdigest(), len(lines))
    values = ItemScore.objects.filter(evaluation=evaluation, value__isnull=False).order_by("ordinal")
    assert [line["evaluation"]["score"] for line in lines] == list(values.values_list("value", flat=True))
    assert {line["sample_id"] for line in lines} == {f"q{number:02}" for number in range(19)}
    results = {result["evaluation_result_id"]: result for result in document["evaluation_results"]}
    assert len(results) == len(document["evaluation_results"])
    for repeat in ("1", "2", "3"):
        mine = [line for line in lines if line["metadata"]["repeat"] == repeat]
        (place,) = {line["evaluation_result_id"] for line in mine}
        mean = sum(line["evaluation"]["score"] for line in mine) / 20  # one of twenty questions has no row
        assert results[place]["score_details"]["score"] == pytest.approx(mean, abs=1e-15)
    assert {line["evaluation_id"] for line in lines} == {document["evaluation_id"]}
    assert lines[0]["input"]["reference"] == ["Alpha"]


@pytest.mark.parametrize(("role", "there"), [("member", True), ("staff", False), ("anonymous", False)])
def test_instances_are_named_to_those_who_may_have_them(run: Run, people: People, role: str, there: bool) -> None:
    document = eee.document(eee.evaluation_of(run), people[role])
    assert ("detailed_evaluation_results" in document) == there
    assert "Alpha" not in json.dumps(document) and "q00" not in json.dumps(document)


def test_read_back_it_gives_the_same_scores(run: Run, people: People, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    written(run, people.anonymous, folder)
    call_command("load_published", str(folder), stdout=io.StringIO())
    place = ("metric", "variant", "dimension", "facet")
    own = Score.objects.filter(evaluation=eee.evaluation_of(run), value__isnull=False)
    overall = {row[:4]: row[4:] for row in own.filter(repeat=None).values_list(*place, "value", "n")}
    back = {row[:4]: row[4:] for row in ReportedScore.objects.values_list(*place, "value", "n")}
    assert overall and back == overall  # to the last digit
    for row in ReportedScore.objects.all():
        wanted = own.filter(repeat__isnull=False, **{name: getattr(row, name) for name in place}).order_by("repeat")
        assert row.runs == list(wanted.values_list("value", flat=True))
        assert (row.split, row.mode, row.model) == (run.split, run.mode, run.model)
    out = io.StringIO()
    call_command("load_published", str(folder), stdout=out)
    assert "nothing changed" in out.getvalue()


def test_a_run_of_one_repeat_comes_back_whole(people: People, tmp_path: Path) -> None:
    run, *_ = load(live_tree(tmp_path / "live", {"a": ("some", ["AB", "AA", "BB"])}))
    (tmp_path / "out").mkdir()
    figures = read(written(run, people.anonymous, tmp_path / "out")).figures
    own = Score.objects.filter(evaluation=eee.evaluation_of(run), value__isnull=False)
    place = ("metric", "variant", "dimension", "facet")
    assert {(f.metric, f.variant, f.dimension, f.facet, f.value) for f in figures} == set(
        own.values_list(*place, "value")
    )
    assert {f.on_board for f in figures if f.metric == "error_rate"} == {False}


OTHERS = {
    "schema_version": "0.3.0",
    "evaluation_id": "llmeval-med/acme/one/1764500000",
    "retrieved_timestamp": "1764500000",
    "source_metadata": {
        "source_name": "A leaderboard",
        "source_type": "documentation",
        "source_organization_name": "Acme",
        "source_organization_url": "https://acme.example/board",
        "evaluator_relationship": "third_party",
    },
    "eval_library": {"name": "harness", "version": "1.2"},
    "model_info": {
        "name": "Acme One",
        "id": "acme/one",
        "additional_details": {"deployment_type": "unknown", "model_availability": "open_weights"},
    },
    "evaluation_results": [
        {
            "evaluation_name": "LLMEval-Med",
            "source_data": {"dataset_name": "LLMEval-Med", "source_type": "url", "url": ["https://acme.example/data"]},
            "metric_config": {
                "metric_id": "usability_rate",
                "metric_unit": "percent",
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": 100,
            },
            "score_details": {"score": 61.3, "uncertainty": {"num_samples": 667}},
        }
    ],
}
STATED = Stated("1", "full", "chat")


def other(folder: Path, edit: Callable[[Any], object] = lambda document: None) -> Path:
    document = copy.deepcopy(OTHERS)
    edit(document)
    path = folder / "acme.json"
    path.write_text(json.dumps(document))
    return path


def test_a_document_of_others_becomes_a_reported_score(db: None, shared: Path, tmp_path: Path) -> None:
    assert errors(shared / "schemas/eval.schema.json", OTHERS) == []
    other(tmp_path)
    call_command("load_published", str(tmp_path), release="1", split="full", mode="chat", stdout=io.StringIO())
    row = ReportedScore.objects.get()
    assert (row.value, row.printed, row.unit, row.n, row.metric) == (0.613, "61.3", "percent", 667, "usability_rate")
    assert (str(row.split), row.mode, row.model and row.model.name) == ("LLMEval-Med 1 full", "chat", "Acme One")
    assert row.model and (row.model.access, row.model.aliases.filter(name="acme/one").count()) == ("open", 1)
    assert "Acme" in row.source.text and row.source.url == "https://acme.example/board"
    assert not Evaluation.objects.exists()


def result(document: Any) -> Any:
    return document["evaluation_results"][0]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(schema_version="0.2.2"), r"schema_version: '0\.2\.2' cannot be read, only 0\.3\.x"),
        (lambda d: d.pop("schema_version"), r"schema_version: None cannot be read"),
        (lambda d: d["model_info"].pop("name"), r"missing required field `name` - at `\$\.model_info`"),
        (lambda d: d["model_info"].update(name=7), r"Expected `str`, got `int` - at `\$\.model_info\.name`: 7"),
        (
            lambda d: result(d)["source_data"].update(dataset_name="MMLU"),
            r"results\[0\]\.source_data\.dataset_name: 'MMLU' is no benchmark",
        ),
        (
            lambda d: result(d)["score_details"].update(score="61"),
            r'results\[0\]\.score_details\.score: "61" is no number',
        ),
        (
            lambda d: result(d)["score_details"].update(score=161.3),
            r"results\[0\]\.score_details\.score: 161\.3 percent is not between",
        ),
        (
            lambda d: result(d)["metric_config"].update(metric_unit="stars"),
            r"metric_config\.metric_unit: 'stars' is not known",
        ),
        (lambda d: result(d)["metric_config"].update(metric_id=""), r"metric_config\.metric_id: is missing"),
        (lambda d: result(d)["metric_config"].update(lower_is_better="no"), r"lower_is_better`: 'no'"),
        (lambda d: result(d)["score_details"].update(details={"repeat": "x"}), r"details\.repeat: 'x' is no number"),
        (lambda d: d["evaluation_results"].append(result(d)), r"said twice: .*Acme One"),
    ],
)
def test_a_fault_is_told_with_file_field_and_value(tmp_path: Path, edit: Any, message: str) -> None:
    with pytest.raises(Unreadable, match=message) as caught:
        read(other(tmp_path, edit), STATED)
    assert str(caught.value).startswith("acme.json: ")


@pytest.mark.parametrize("field", ["release", "split", "mode"])
def test_what_a_document_does_not_say_must_be_stated(tmp_path: Path, field: str) -> None:
    stated = Stated(**{name: "x" for name in ("release", "split", "mode") if name != field})
    with pytest.raises(Unreadable, match=rf"additional_details\.{field}: is missing; state it with --{field}"):
        read(other(tmp_path), stated)


def test_a_unit_is_taken_from_the_scale_where_none_is_named(tmp_path: Path) -> None:
    def edit(document: Any) -> None:
        result(document)["metric_config"].pop("metric_unit")

    (figure,) = read(other(tmp_path, edit), STATED).figures
    assert (figure.value, figure.unit) == (0.613, "percent")


def test_the_command_writes_what_a_person_may_have(run: Run, people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "hidden", {"hidden_marvel": 19}), "private", owner=people.owner)
    for user, endings, count in (("member", {".json", ".jsonl"}, 2), ("owner", {".json"}, 2), (None, {".json"}, 1)):
        out = tmp_path / f"of_{user}"
        call_command("export_eee", str(out), person=user, stderr=io.StringIO())
        files = [path for path in out.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} == endings and len(files) == count
        for path in files:
            if path.suffix == ".json" and ".jsonl" in endings:
                told = json.loads(path.read_text())["detailed_evaluation_results"]
                assert hashlib.sha256((out / told["file_path"]).read_bytes()).hexdigest() == told["checksum"]
    with pytest.raises(CommandError, match="nothing was written"):
        call_command("export_eee", str(tmp_path / "none"), run="nothing", stderr=io.StringIO())
