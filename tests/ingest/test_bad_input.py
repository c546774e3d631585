"""Broken trees, full disks and killed processes: a clear message, nothing half loaded, and the next ingest mends it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import facts
from evaluation.benchmarks import BENCHMARKS
from evaluation.models import (
    Evaluation,
    ItemScore,
    LanguageModel,
    ModelAlias,
    Response,
    ResultFile,
    Run,
    Score,
    Vector,
)
from ingest import load, pipeline
from ingest.context import Options
from ingest.models import Finding, Pass, SourceFile
from tests.ingest.trees import (
    GOLD,
    ROOT,
    Called,
    Row,
    Tree,
    answered,
    ehr_gold,
    failed,
    finish,
    ingest,
    live_case,
    live_results,
    med_document,
    run_path,
    scores,
    small_tree,
    tables,
)

pytestmark = pytest.mark.django_db
GLM, KIMI, MINI = (run_path(model) for model in ("glm_4_7", "kimi_k2_5", "minimax_m2_5"))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return small_tree(tmp_path / "tree")


def assert_whole(models: set[str]) -> None:
    """Exactly these models have a live run; every run has all of its rows, verdicts and scores; nothing is orphaned."""
    assert set(Run.objects.filter(state="live").values_list("model_name", flat=True)) == models
    for run in Run.objects.all():
        rows = run.counts["rows"]
        assert Response.objects.filter(run=run).count() == rows
        assert sum(file.counts["rows"] for file in run.files.all()) == rows
        evaluations = Evaluation.objects.filter(run=run, current=True)
        evaluators = BENCHMARKS[run.split.release.benchmark.slug].evaluators
        assert sorted(each.evaluator.name for each in evaluations) == sorted(each.name for each in evaluators)
        for evaluation in evaluations:
            assert ItemScore.objects.filter(evaluation=evaluation).count() == rows
            assert Score.objects.filter(evaluation=evaluation).exists()
            assert Vector.objects.filter(evaluation=evaluation).exists()
    kept = set(Run.objects.values_list("pk", flat=True))
    for model in (ResultFile, Response, Evaluation):
        assert set(model.objects.values_list("run_id", flat=True)) <= kept


# --- files that cannot be used ----------------------------------------------------------------------------------------


UNUSABLE: list[tuple[str, Callable[[Tree, str], Any], str, str]] = [
    ("empty", lambda tree, path: tree.bytes(path, b""), "unknown_form", "empty"),
    ("blank", lambda tree, path: tree.text(path, "\n \n\r\n"), "unknown_form", "not one row"),
    ("a mark and nothing more", lambda tree, path: tree.bytes(path, b"\xef\xbb\xbf"), "unknown_form", "not one row"),
    ("log text", lambda tree, path: tree.text(path, "starting\ndone\n"), "unknown_form", "not one row"),
    ("zeros", lambda tree, path: tree.bytes(path, bytes(4096)), "unknown_form", "not one row"),
    (
        "utf-16",
        lambda tree, path: tree.bytes(path, json.dumps(answered("q1")).encode("utf-16")),
        "unknown_form",
        "UTF-16",
    ),
    (
        "a pointer",
        lambda tree, path: tree.text(path, "version https://git-lfs.github.com/spec/v1\nsize 3\n"),
        "unknown_form",
        "LFS",
    ),
    ("other rows", lambda tree, path: tree.lines(path, [{"hello": 1}] * 3), "unknown_form", "known row forms"),
    ("rows without ids", lambda tree, path: tree.lines(path, [{"messages": []}]), "unknown_form", "not one row"),
    ("a bomb", lambda tree, path: tree.text(path, "[" * 100_000), "unknown_form", "not one row"),
    (
        "a damaged archive",
        lambda tree, path: tree.bytes(path, gzip.compress(os.urandom(5000))[:200]),
        "unknown_form",
        "not one row",
    ),
]


@pytest.mark.parametrize(("broken", "reason", "told"), [u[1:] for u in UNUSABLE], ids=[u[0] for u in UNUSABLE])
def test_a_file_without_rows_is_no_run_and_says_so(tree: Tree, broken: Any, reason: str, told: str) -> None:
    broken(tree, KIMI)
    result = ingest(tree)
    assert result.not_runs == {KIMI: reason}
    about = [finding for finding in result.document["findings"] if finding["path"] == KIMI]
    assert any(told in finding["message"] for finding in about), about
    assert result.runs.keys() == {GLM}
    assert_whole({"glm_4_7"})


@pytest.mark.parametrize("broken", [u[1] for u in UNUSABLE], ids=[u[0] for u in UNUSABLE])
def test_a_good_run_is_not_replaced_by_a_file_without_rows(tree: Tree, broken: Any) -> None:
    ingest(tree)
    before = scores()
    broken(tree, GLM)
    result = ingest(tree)
    assert result.not_runs == {GLM: "unknown_form"}
    assert scores() == before
    assert_whole({"glm_4_7"})


BETWEEN: dict[str, Callable[[Tree], Any]] = {
    "empty": lambda tree: tree.bytes(GLM, b""),
    "broken": lambda tree: tree.text(GLM, "log text\n"),
    "gold gone bad": lambda tree: tree.text("gold/ehr_bench.json", json.dumps([{**ehr_gold(GOLD)[0], "label": None}])),
    "other gold": lambda tree: tree.json("gold/ehr_bench.json", ehr_gold({"q1": "no"})),
    "two claims": lambda tree: tree.bytes(f"{GLM}.gz", gzip.compress((tree.root / GLM).read_bytes())),
    "gone": lambda tree: (tree.root / GLM).unlink(),
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_a_bad_moment_between_two_states_leaves_one_live_run(tree: Tree, between: Callable[[Tree], Any]) -> None:
    """For example: the file is being written anew while an ingest runs."""
    ingest(tree)
    before = scores()
    between(tree)
    ingest(tree)
    assert scores() == before
    (tree.root / f"{GLM}.gz").unlink(missing_ok=True)
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    tree.lines(GLM, [answered("q1", "alpha", "beta")])
    result = ingest(tree)
    assert result.code == 0 and result.runs[GLM]["state"] == "replaced"
    assert Run.objects.filter(state="live").count() == 1
    assert_whole({"glm_4_7"})


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_a_bad_moment_that_passes_leaves_everything_as_it_was(tree: Tree, between: Callable[[Tree], Any]) -> None:
    first = ingest(tree)
    data, before = (tree.root / GLM).read_bytes(), tables()
    between(tree)
    ingest(tree)
    (tree.root / f"{GLM}.gz").unlink(missing_ok=True)
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    tree.bytes(GLM, data)
    result = ingest(tree)
    assert result.runs[GLM]["id"] == first.runs[GLM]["id"] and result.document["rows_loaded"] == 0
    assert {name for name, rows in tables().items() if rows != before[name]} <= {
        "ingest.SourceFile",
        "ingest.GoldPlace",
    }


def test_a_directory_where_a_file_is_expected(tree: Tree) -> None:
    (tree.root / KIMI).mkdir(parents=True)
    tree.lines(f"{KIMI}/results.jsonl", [answered("q1", "alpha")])
    (tree.root / "clinboard.yaml").mkdir()
    result = ingest(tree)
    assert result.not_runs == {f"{KIMI}/results.jsonl": "shard"}
    assert_whole({"glm_4_7"})


def test_an_unreadable_file_is_told_and_the_rest_goes_on(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    refuse(monkeypatch, KIMI)
    result = ingest(tree)
    (finding,) = result.findings("unreadable")
    assert (finding["path"], finding["severity"]) == (KIMI, "error")
    assert "Permission denied" in finding["message"]
    assert (result.code, result.not_runs) == (1, {KIMI: "unreadable"})
    assert_whole({"glm_4_7"})
    monkeypatch.undo()
    assert ingest(tree).runs[KIMI]["state"] == "new"
    assert_whole({"glm_4_7", "kimi_k2_5"})


def refuse(monkeypatch: pytest.MonkeyPatch, part: str, after: int = 0) -> None:
    """`open` refuses paths that end in `part`, after so many times."""
    import builtins

    real, count = builtins.open, [0]

    def guarded(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file).endswith(part):
            count[0] += 1
            if count[0] > after:
                raise PermissionError(13, "Permission denied", str(file))
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", guarded)


def test_a_file_that_goes_away_between_look_and_reading(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    refuse(monkeypatch, KIMI, after=1)
    result = ingest(tree)
    assert (result.code, result.not_runs) == (1, {KIMI: "unreadable"})
    assert_whole({"glm_4_7"})


def test_an_unreadable_directory_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.lines(KIMI, [answered("q1", "alpha")])
    real = os.scandir

    def guarded(path: Any) -> Any:
        if str(path).rstrip("/").endswith("kimi_k2_5"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", guarded)
    result = ingest(tree)
    assert result.not_runs == {KIMI.rpartition("/")[0]: "unreadable"} and result.code == 1
    assert_whole({"glm_4_7"})


def test_broken_documents_are_told_by_name(tree: Tree) -> None:
    good = json.dumps(live_results("aster", {"PMC1": "A"}))
    tree.lines("live/dataset.jsonl", [live_case("PMC1", "A")])
    tree.text("live/cut.json", good[: len(good) // 2])
    tree.text("live/empty.json", "")
    tree.bytes("live/packed.json.gz", gzip.compress(good.encode())[:60])
    tree.text("live/bomb.json", good.replace('"summary": {}', '"summary": ' + "[" * 50_000 + "]" * 50_000))
    tree.text("live/good.json", good)
    result = ingest(tree)
    names = {"cut.json", "empty.json", "packed.json.gz", "bomb.json"}
    assert result.not_runs == {f"live/{name}": "unknown_form" for name in names}
    told = {finding["path"]: finding["message"] for finding in result.document["findings"] if "live" in finding["path"]}
    assert all(told[f"live/{name}"] for name in names)
    assert_whole({"glm_4_7", "aster"})


# --- rows that are odd ------------------------------------------------------------------------------------------------

ODD_ROWS: list[Any] = [
    {**answered("q1", "alpha"), "usage": float("nan"), "elapsed": float("-inf")},
    answered("q\x00", "a\x00b"),
    answered("\ud800", "\udfff"),
    answered("🫀" * 100, "🫀"),
    answered("x" * 5_000, "y" * 100_000),
    answered("q1", "alpha", run_index=10**40),
    answered("q1", "alpha", run_index=float("nan")),
    answered("q1", "alpha", task="t\x00\ud800", status={"a": 1}, stop_reason=[1]),
    {"qid": 7, "messages": None},
    {"qid": "q1", "messages": finish({"response": [{"a": [None] * 9}]})},
    {"qid": "q1", "messages": finish("{'response': [{(1, 2): b'x'}, 'alpha']}")},
    {"qid": "q1", "messages": finish('{"response": [' + "[" * 900 + "]" * 900 + "]}")},
    {"qid": "q1", "messages": finish('{"response": ' + "9" * 5_000 + "}")},
    {"qid": "q1", "messages": "finish"},
    {"qid": ["q1"], "messages": []},
    {"qid": {}, "messages": []},
    {"qid": True, "messages": []},
    answered("q1", "alpha", backend_model_id="\ud800\x00"),
]


@pytest.mark.parametrize("benchmark", ["ehr_bench", "mm_bench"])
def test_odd_rows_cost_nothing_but_themselves(tmp_path: Path, benchmark: str) -> None:
    tree = Tree(tmp_path / "tree")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    tree.lines("gold/mm_bench.jsonl", [{"qid": "q1", "task": "ehrxqa_table", "label": [{"name": "alpha"}]}])
    path = run_path("glm_4_7", benchmark)
    text = "".join(json.dumps(row) + "\n" for row in ODD_ROWS)
    tree.text(
        path,
        text + '{"qid": "q1", "messages": [], "n": ' + "9" * 5_000 + "}\n" + json.dumps(answered("q2", "gamma")) + "\n",
    )
    result = ingest(tree)
    run = result.runs[path]
    assert run["parsed"] == len(ODD_ROWS) + 2 - run["malformed"]
    assert len(result.findings("no_id")) == 3
    assert run["rows"] == run["parsed"] - 3
    assert run["repeats"] == [1]
    assert ingest(tree).runs[path]["state"] == "unchanged"
    if benchmark == "ehr_bench":
        assert_whole({"glm_4_7"})
    (entry,) = Run.objects.all()
    assert Response.objects.filter(run=entry).count() == run["rows"]


def test_row_numbers_for_repeats_are_refused(tree: Tree) -> None:
    """A table export that numbers its rows in `run_index` is no run of hundreds of repeats."""
    tree.lines(KIMI, [answered("q1", "alpha", run_index=number) for number in range(1, 301)])
    result = ingest(tree)
    assert result.not_runs == {KIMI: "unknown_form"}
    (finding,) = [f for f in result.document["findings"] if f["path"] == KIMI]
    assert finding["severity"] == "error" and "300" in finding["message"] and "run_index" in finding["message"]
    assert_whole({"glm_4_7"})


NAMES = [
    "m" * 255,
    "m ",
    " m",
    "m.",
    "模型",
    "🫀",
    "a'b",
    'a"b',
    "a;b",
    "a\nb",
    "a\tb",
    "a\\b",
    "%s",
    "{}",
    "..m",
    "-m",
    "A" * 100 + "b",
]


def test_any_name_of_a_model_directory(tmp_path: Path) -> None:
    names = [name for name in NAMES if len(name.encode()) <= 255]
    tree = small_tree(tmp_path / "tree", *names)
    result = ingest(tree)
    assert {run["model"] for run in result.runs.values()} == set(names)
    assert not any(run["model_known"] for run in result.runs.values())
    assert LanguageModel.objects.filter(registered=False).count() == len(names)
    assert ModelAlias.objects.filter(name__in=names).count() == len(names)
    assert set(scores()) == set(names)
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


def test_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "tree")
    odd = os.fsencode(tree.root) + b"/ehr_bench/agentic/full1800/m\xff"
    os.mkdir(odd)
    with open(odd + b"/results.jsonl", "w") as file:
        file.write(json.dumps(answered("q1", "alpha")) + "\n")
    result = ingest(tree)
    assert {run["model"] for run in result.runs.values()} == {"glm_4_7", "m\\xff"}
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


ODD_META: list[Row] = [
    {"finished_at": "2026-02-30T10:00:00"},
    {"finished_at": "0001-01-01T00:00:00+14:00"},
    {"finished_at": "9999-12-31T23:59:59-14:00"},
    {"finished_at": "2026-02-03 10:00"},
    {"finished_at": ["x"], "started_at": {}},
    {"finished_at": "\x00\ud800"},
    {"finished_at": None, "started_at": 7},
    {"image_mode": "\x00", "liveclin_version": "\ud800"},
    {"image_mode": float("nan"), "liveclin_version": 10**40},
    {"image_mode": {"a": [float("inf")]}},
]


@pytest.mark.parametrize("meta", ODD_META, ids=[json.dumps(meta) for meta in ODD_META])
def test_odd_words_in_a_liveclin_file(tree: Tree, meta: Row) -> None:
    tree.lines("live/dataset.jsonl", [live_case("PMC1", "A")])
    tree.text("live/aster.json", json.dumps(live_results("aster", {"PMC1": "A"}, **meta)))
    result = ingest(tree)
    assert result.code == 0, result.document["findings"]
    assert ingest(tree).runs["live/aster.json"]["state"] == "unchanged"
    assert_whole({"glm_4_7", "aster"})


ODD_SUMMARIES: list[Any] = [
    {"per_task": {"labevents": {"f1": float("nan"), "completed": 1}}, "per_task_type": {}},
    {"per_task": {"labevents": {"f1": float("inf"), "precision": -1e308 * 10}}, "per_task_type": {}},
    {"per_task": {"labevents": {"f1": 10**350, "precision": "0.5", "recall": None}}, "per_task_type": {}},
    {"per_task": {"labevents": {"f1": True, "completed": "x"}}, "per_task_type": []},
    {"per_task": [], "per_task_type": 3, "overall": "x"},
    {"per_task": {"\x00\ud800": {"f1": 0.5}}, "per_task_type": {}},
    {"labevents": {"total": {}, "f1": []}},
    {"score_denominator": "x", "by_task": {"labevents": {"avg": 3}, "other": 7}},
]


@pytest.mark.parametrize("summary", ODD_SUMMARIES, ids=range(len(ODD_SUMMARIES)))
def test_odd_summaries_stop_nothing(tree: Tree, summary: Any) -> None:
    tree.text(GLM.replace("results.jsonl", "scores.json"), json.dumps(summary))
    live = live_results("aster", {"PMC1": "A"})
    tree.lines("live/dataset.jsonl", [live_case("PMC1", "A")])
    tree.text("live/aster.json", json.dumps(live | {"summary": summary}))
    result = ingest(tree)
    assert result.code == 0, result.document["findings"]
    for entry in result.runs[GLM]["summaries"]:
        json.dumps(entry, allow_nan=False)
    assert_whole({"glm_4_7", "aster"})
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


def test_a_task_in_a_row_that_no_table_can_hold(tree: Tree) -> None:
    tree.lines(GLM, [answered("q1", "alpha", task="t\x00"), answered("q2", "gamma", task="\ud800")])
    result = ingest(tree)
    assert {finding["code"] for finding in result.document["findings"]} >= {"task_differs"}
    assert_whole({"glm_4_7"})


# --- a full disk, a killed process ------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> Tree:
    return small_tree(tmp_path / "tree", "glm_4_7", "kimi_k2_5", "minimax_m2_5")


def full_disk(monkeypatch: pytest.MonkeyPatch, table: Any, call: int) -> None:
    """The disk is full in the middle of the `call`-th bulk write of that table."""
    count = [0]

    def write(model: Any, columns: Any, rows: Any) -> None:
        if model is table:
            count[0] += 1
            if count[0] == call:
                rows = list(rows)
                facts.insert_rows(model, columns, rows[: len(rows) // 2])
                raise OperationalError("database or disk is full")
        facts.insert_rows(model, columns, rows)

    monkeypatch.setattr(load, "insert_rows", write)


@pytest.mark.parametrize("table", [Response, ItemScore, Vector, Score])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_full_disk_leaves_no_half_run(three: Tree, monkeypatch: pytest.MonkeyPatch, table: Any, call: int) -> None:
    full_disk(monkeypatch, table, call)
    result = ingest(three)
    assert result.code == 2
    assert result.err.count("\n") == 1 and "disk is full" in result.err
    assert len(result.document["runs"]) == call - 1, "what was loaded before is told"
    models = ["glm_4_7", "kimi_k2_5", "minimax_m2_5"]
    assert_whole(set(models[: call - 1]))
    assert "disk is full" in Pass.objects.latest("pk").error
    monkeypatch.undo()
    mended = ingest(three)
    assert mended.code == 0 and len(mended.runs) == 3
    assert mended.document["rows_loaded"] == 2 * (4 - call)
    assert_whole(set(models))
    assert {run["state"] for run in ingest(three).runs.values()} == {"unchanged"}


def test_a_full_disk_while_a_run_is_replaced_leaves_the_old_one(three: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(three)
    before = scores()
    three.lines(KIMI, [answered("q1", "alpha", "beta")])
    full_disk(monkeypatch, Score, 1)
    assert ingest(three).code == 2
    assert scores() == before
    assert_whole({"glm_4_7", "kimi_k2_5", "minimax_m2_5"})
    monkeypatch.undo()
    assert ingest(three).runs[KIMI]["state"] == "replaced"
    assert scores() != before


REALLY_FULL = """
import json, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from evaluation.models import Response, Run, Score
call_command("migrate", verbosity=0)

def pragma(text):
    with connection.cursor() as cursor:
        return cursor.execute(f"PRAGMA {text}").fetchone()[0]

def ingest():
    try:
        call_command("ingest", sys.argv[1])
    except SystemExit as stop:
        return stop.code
    return 0

told = []
room = pragma("page_count") + int(sys.argv[2])
pragma(f"max_page_count = {room}")
for _ in range(2):
    code = ingest()
    told.append([code, sorted(Run.objects.values_list("model_name", flat=True)), Response.objects.count()])
    told[-1].append(set(Score.objects.values_list("evaluation__run", flat=True)) <= set(Run.objects.values_list("pk", flat=True)))
    pragma("max_page_count = 1073741823")
print(json.dumps(told), file=sys.stderr)
"""


def test_a_disk_that_is_really_full(three: Tree, tmp_path: Path) -> None:
    """SQLite itself runs out of pages, in a process and a file of its own; then there is room again."""
    three.lines(KIMI, [answered(f"x{number}", "alpha" * 30) for number in range(3_000)])
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'full.sqlite3'}", "DEBUG": "1"}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    command = [sys.executable, "-c", REALLY_FULL, str(three.root), "60"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    message, told = done.stderr.strip().split("\n")
    assert "database or disk is full" in message
    first, second = json.loads(told)
    assert first == [2, ["glm_4_7"], 2, True]
    assert second == [0, ["glm_4_7", "kimi_k2_5", "minimax_m2_5"], 3_004, True]


class Killed(BaseException):
    """Neither an error nor a wish: the process is gone."""


def run_until(tree: Tree, stop: Callable[[int, int, str], bool]) -> None:
    def progress(done: int, total: int, path: str) -> None:
        if stop(done, total, path):
            raise Killed

    with pytest.raises(Killed):
        pipeline.ingest(tree.root, Options(progress=progress))


@pytest.mark.parametrize(
    ("stop", "loaded"),
    [
        (lambda done, total, path: True, 0),
        (lambda done, total, path: "kimi" in path, 1),
        (lambda done, total, path: "kimi" in path and done > total / 2, 1),
        (lambda done, total, path: path == "", 3),
    ],
    ids=["at once", "between runs", "inside a file", "at the end"],
)
def test_a_killed_ingest_is_mended_by_the_next(three: Tree, stop: Any, loaded: int) -> None:
    run_until(three, stop)
    assert_whole({"glm_4_7", "kimi_k2_5", "minimax_m2_5"} if loaded == 3 else {"glm_4_7"} if loaded else set())
    result = ingest(three)
    assert result.code == 0 and result.document["rows_loaded"] == 2 * (3 - loaded)
    assert_whole({"glm_4_7", "kimi_k2_5", "minimax_m2_5"})
    before = tables()
    assert {run["state"] for run in ingest(three).runs.values()} == {"unchanged"}
    assert tables() == before


def test_a_file_that_changes_again_after_a_killed_ingest_has_one_live_run(three: Tree) -> None:
    """The second state was loaded, but the process died before it was noted which file it came from."""
    ingest(three)
    three.lines(GLM, [answered("q1", "second")])
    run_until(three, lambda done, total, path: path == "")
    three.lines(GLM, [answered("q1", "third")])
    result = ingest(three)
    assert result.runs[GLM]["state"] == "replaced"
    assert_whole({"glm_4_7", "kimi_k2_5", "minimax_m2_5"})
    assert Run.objects.filter(model_name="glm_4_7").count() == 3
    assert Run.objects.filter(model_name="glm_4_7", state="live").count() == 1


def test_an_interruption_by_hand_says_so(three: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "record", interrupted)
    result = ingest(three)
    assert result.code == 2 and "stopped" in result.err
    assert len(result.document["runs"]) == 3
    monkeypatch.undo()
    assert ingest(three).code == 0


# --- any bytes at all -------------------------------------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    [
        json.dumps(answered("q1", "alpha")).encode(),
        json.dumps(failed("q2")).encode(),
        b"\n",
        b"\r\n",
        b"}{",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b'{"qid": "q3", "messages": [{"tool_calls": [{"function": {"name": "finish", "arguments": ',
        b"NaN",
        b"[[[[",
        b'"\\ud800"',
        b"null\n",
        b"[]\n",
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(FRAGMENTS | st.binary(max_size=8), max_size=8))
def test_any_bytes_give_a_run_or_a_reason(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    tree = small_tree(tmp_path_factory.mktemp("any"))
    tree.bytes(KIMI, b"".join(parts))
    result: Called = ingest(tree)
    assert (KIMI in result.runs) != (KIMI in result.not_runs)
    assert GLM in result.runs
    if KIMI in result.runs:
        run = result.runs[KIMI]
        ids = [finding for finding in result.findings("no_id") if finding["path"] == KIMI]
        assert run["rows"] + len(ids) == run["parsed"] and run["rows"] > 0
    else:
        assert [finding for finding in result.document["findings"] if finding["path"] == KIMI]


def test_findings_of_broken_lines_hold_no_text_of_the_line(tree: Tree) -> None:
    """Rows may hold text of patient records."""
    with (tree.root / GLM).open("a") as file:
        file.write('{"qid": "q3", "secret words": "of a patient\n{"qid": "secret words}{"}\n')
    ingest(tree)
    assert "secret words" not in repr(list(Finding.objects.values_list("message", flat=True)))
    assert "secret words" not in repr(list(SourceFile.objects.values_list("about", flat=True)))


def test_scored_files_of_llmeval_that_do_not_parse(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "med")
    tree.json("aster/run1_score.json", med_document({(1, 1): 5}))
    tree.text("borea/run1_score.json", json.dumps(med_document({(1, 1): 5}))[:-5])
    result = ingest(tree)
    assert result.runs.keys() == {"aster/run1_score.json"}
    assert result.not_runs == {"borea/run1_score.json": "unknown_form"}
