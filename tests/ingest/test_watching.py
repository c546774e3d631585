"""What a person sees while an ingest goes on, and how it ends when it is stopped or fails."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluation.models import Run
from ingest import runs, watch
from ingest.models import Pass, Source
from ingest.report import Report
from ingest.runs import RunLoader
from ingest.watch import PACE_S, Watch
from tests.ingest.trees import Tree, called, ingest, run_path, small_tree
from tests.live import PROJECT, environment, manage, scratch_database


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """A watch with a clock that stands still until it is moved; `lines` are what it said."""

    def __init__(self, terminal: io.StringIO | None = None) -> None:
        self.clock, self.report, self.lines = Clock(), Report(), list[str]()
        self.watch = Watch(self.report, self.lines.append, terminal, self.clock)

    def after(self, seconds: float, done: int, total: int, rows: int, path: str = "a/results.jsonl") -> None:
        self.clock.now += seconds
        self.report.rows_read = rows
        self.watch.update(done, total, path)


# --- lines ------------------------------------------------------------------------------------------------------------


def test_a_line_says_how_far_how_fast_how_long_and_where() -> None:
    scene = Scene()
    scene.after(0, 0, 8_000_000, 0)
    scene.after(10, 2_000_000, 8_000_000, 5_000)
    assert scene.lines == ["ingest: 25 %, 2.00MB of 8.00MB, 500 rows/s, 200kB/s, 00:30 left, a/results.jsonl"]


def test_there_is_at_most_one_line_in_five_seconds() -> None:
    scene = Scene()
    for step in range(1, 81):
        scene.after(0.25, step, 80, step)
    assert PACE_S == 5 and len(scene.lines) == 4 == int(20 / PACE_S)


def test_a_short_ingest_says_nothing() -> None:
    scene = Scene()
    for step in range(49):
        scene.after(0.1, step, 50, step)
    scene.watch.close()
    assert scene.lines == []


def test_files_are_counted_before_anything_is_read() -> None:
    scene = Scene()
    for number in range(3):
        scene.clock.now += 3
        scene.watch.looked(f"folder/{number}.json")
    assert scene.lines == ["ingest: 2 files looked at, folder/1.json"]


def test_files_that_are_not_read_again_are_no_part_of_the_speed() -> None:
    scene = Scene()
    scene.after(0, 0, 1_000_000, 0)
    scene.after(0, 500_000, 1_000_000, 0)  # known from the last time
    scene.after(10, 600_000, 1_000_000, 50)
    assert "5 rows/s, 10.0kB/s, 00:40 left" in scene.lines[-1]


def test_before_the_first_row_there_is_no_speed() -> None:
    scene = Scene()
    scene.after(0, 0, 1_000, 0)
    scene.after(6, 0, 1_000, 0)
    assert scene.lines == ["ingest: 0 %, 0.00B of 1.00kB, a/results.jsonl"]


def test_a_long_path_is_told_by_its_end() -> None:
    scene = Scene()
    scene.after(6, 1, 2, 1, "x" * 300 + "/glm_4_7/results.jsonl")
    assert scene.lines[0].endswith("…" + ("x" * 300 + "/glm_4_7/results.jsonl")[-49:])


# --- the bar ----------------------------------------------------------------------------------------------------------


def shown(terminal: io.StringIO) -> list[str]:
    """What stood on the line of a terminal, one after the other."""
    return [text.strip() for text in re.split(r"[\r\n]", terminal.getvalue()) if text.strip()]


def test_a_terminal_shows_a_bar_with_the_same_figures() -> None:
    terminal = io.StringIO()
    scene = Scene(terminal)
    scene.watch.looked("a/first.json")
    for step in range(5):
        scene.after(1, step * 250_000, 1_000_000, step * 100, f"a/{step}/results.jsonl")
    assert scene.watch._bar is not None
    scene.watch._bar.refresh()
    scene.watch.close()
    assert scene.lines == []  # no lines beside it
    assert any("files looked at" in text for text in shown(terminal))
    last = shown(terminal)[-1]
    assert "100%" in last and "1.00MB of 1.00MB" in last and "100 rows/s" in last and "a/4/results.jsonl" in last
    # the line is left empty
    assert terminal.getvalue().rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_closing_twice_or_before_anything_is_fine() -> None:
    for terminal in (None, io.StringIO()):
        scene = Scene(terminal)
        scene.watch.close()
        scene.after(1, 1, 2, 1)
        scene.watch.close()
        scene.watch.close()


# --- through the command ----------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path, db: None) -> Tree:
    return small_tree(tmp_path / "tree", "glm_4_7", "kimi_k2_5", "minimax_m2_5")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_lines_go_to_standard_error_and_the_document_stays_alone(
    tree: Tree, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PACE_S", 0.0)
    done = called("ingest", tree.root, *arguments)
    said = done.err.splitlines()
    assert done.code == 0 and all(line.startswith("ingest: ") for line in said)
    assert any("files looked at" in line for line in said) and any(" left, ehr_bench/" in line for line in said)
    if arguments:
        assert len(json.loads(done.out)["runs"]) == 3
    else:
        assert "files seen" in done.out


def test_a_quick_ingest_says_nothing(tree: Tree) -> None:
    assert ingest(tree).err == ""


def test_rows_and_bytes_are_all_counted(tree: Tree) -> None:
    told: list[tuple[int, int, int]] = []
    report = Report()

    def progress(done: int, total: int, path: str) -> None:
        told.append((done, total, report.rows_read))

    from ingest.pipeline import Options
    from ingest.pipeline import ingest as go

    go(tree.root, Options(progress=progress), report)
    sizes = sum(path.stat().st_size for path in tree.root.rglob("results.jsonl"))
    assert told == sorted(told) and told[0] == (0, sizes, 0) and told[-1] == (sizes, sizes, 6)
    assert {total for _, total, _ in told} == {sizes}
    # before the last word, too: every byte of every file was told
    assert told[-2][0] == sizes


# --- stopped ----------------------------------------------------------------------------------------------------------


def stop_at(monkeypatch: pytest.MonkeyPatch, model: str, error: BaseException) -> None:
    """Something happens in the middle of this model's run: it is read and scored, and being written."""
    load = runs.load_run

    def interrupted(run: Run, *rest: Any) -> None:
        load(run, *rest)
        if run.model_name == model:
            raise error

    monkeypatch.setattr(runs, "load_run", interrupted)


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_an_interrupt_leaves_whole_runs_and_no_lease(
    tree: Tree, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, "kimi_k2_5", KeyboardInterrupt())
    done = called("ingest", tree.root, *arguments)
    assert (done.code, done.err) == (2, "ingest: stopped; what is loaded is complete\n")
    assert list(Run.objects.values_list("model_name", flat=True)) == ["glm_4_7"]
    if arguments:
        assert [run["model"] for run in done.document["runs"]] == ["glm_4_7"]
        assert done.document["rows_loaded"] == 2
    else:
        assert "glm_4_7" in done.out and "1 run files" in done.out
    source = Source.objects.get()
    assert (source.reader, source.reader_seen_at) == ("", None)
    assert "KeyboardInterrupt" in Pass.objects.get().error
    monkeypatch.undo()
    again = ingest(tree)
    assert again.code == 0 and again.document["rows_loaded"] == 4 and len(again.document["runs"]) == 3


def test_an_interrupted_dry_run_wrote_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunLoader, "load_all", interrupted)
    done = ingest(tree, "--dry-run")
    assert (done.code, done.err) == (2, "ingest: stopped; nothing was written\n")
    assert not Run.objects.exists() and not Source.objects.exists()


SLOW = """
import signal, sys, time
# a shell starts what it puts into the background with Ctrl-C ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from ingest.runs import RunLoader
one = RunLoader._one
def slow(self, chosen):
    reason = one(self, chosen)
    print(chosen.model, flush=True)
    time.sleep(60)
    return reason
RunLoader._one = slow
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "ingest", sys.argv[1], "--json"])
"""


def test_ctrl_c_ends_a_real_process_cleanly(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "tree", "glm_4_7", "kimi_k2_5")
    with scratch_database(tmp_path) as database:
        manage(database, "migrate", "--verbosity", "0")
        code = "import django; django.setup()" + SLOW
        running = subprocess.Popen(
            [sys.executable, "-c", code, str(tree.root)],
            cwd=PROJECT,
            env=environment(database, DJANGO_SETTINGS_MODULE="config.settings", PYTHONPATH=str(PROJECT)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert running.stdout is not None and running.stdout.readline() == "glm_4_7\n"
            os.kill(running.pid, signal.SIGINT)
            out, err = running.communicate(timeout=30)
        finally:
            running.kill()
        assert (running.returncode, err) == (2, "ingest: stopped; what is loaded is complete\n")
        assert [run["model"] for run in json.loads(out)["runs"]] == ["glm_4_7"]
        # no lease stands in the way
        again = manage(database, "ingest", str(tree.root), "--json", check=False)
        states = {run["model"]: run["state"] for run in json.loads(again.stdout)["runs"]}
        assert (again.returncode, states) == (0, {"glm_4_7": "unchanged", "kimi_k2_5": "new"})


# --- failed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TypeError("first\n  second"), "TypeError: first second. This is a fault of ClinBoard"),
        (AssertionError(), "AssertionError. This is a fault of ClinBoard"),
        (RecursionError("x" * 5000), "RecursionError: xxx"),
    ],
    ids=["lines", "no words", "long"],
)
def test_what_nobody_foresaw_is_one_line(
    tree: Tree, error: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, "kimi_k2_5", error)
    done = ingest(tree)
    assert done.code == 2 and done.err.startswith(f"ingest: {told}")
    assert done.err.count("\n") == 1 and len(done.err) < 1000 and "Traceback" not in done.err
    assert [run["model"] for run in done.document["runs"]] == ["glm_4_7"]
    assert list(Run.objects.values_list("model_name", flat=True)) == ["glm_4_7"]
    assert Source.objects.get().reader == ""
    assert type(error).__name__ in Pass.objects.get().error


def test_the_traceback_is_there_for_who_asks(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at(monkeypatch, "glm_4_7", TypeError("boom"))
    done = called("ingest", tree.root, "--json", "--traceback")
    assert done.code == 2 and done.document["runs"] == []
    assert "Traceback (most recent call last)" in done.err and "in interrupted" in done.err
    assert done.err.splitlines()[-1].startswith("ingest: TypeError: boom. This is a fault of ClinBoard")


def test_a_wish_that_cannot_be_met_shows_no_traceback(tmp_path: Path, db: None) -> None:
    done = called("ingest", tmp_path / "nowhere", "--traceback")
    assert done.code == 2 and "no such directory" in done.err and done.err.count("\n") == 1


def test_a_model_that_is_alone_in_its_tree(tmp_path: Path, db: None) -> None:
    """The last word comes even when nothing had to be read."""
    tree = small_tree(tmp_path)
    ingest(tree)
    again = ingest(tree)
    assert again.runs[run_path("glm_4_7")]["state"] == "unchanged" and again.err == ""
