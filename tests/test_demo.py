"""`manage.py demo` and `manage.py up`: from nothing to a served board, twice."""

from __future__ import annotations

import re
import shutil
import socket
import sys
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.core.management.base import CommandError

from evaluation.models import Benchmark, Release, Run, Score
from fixtures.sample_tree import write
from ingest.models import Pass
from leaderboard.management.commands import up
from leaderboard.models import Board, ReportedScore
from tests.live import manage, scratch_database, served

PASSWORD = re.compile(r"Sign in as 'admin' with the password (\S+) \(told only this once\)")


@pytest.fixture(autouse=True)
def own_folders(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path / "staticfiles"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sample")
    write(target)
    return target


@pytest.fixture
def tree(sample: Path, tmp_path: Path) -> Path:
    """A small tree as a user may have it: judged answers of one model, with their dataset beside them."""
    root = tmp_path / "mine"
    shutil.copytree(sample / "results" / "llmeval_med" / "Aster-3-Large", root / "llmeval_med" / "Aster-3-Large")
    shutil.copy(sample / "gold" / "llmeval_med.json", root)
    return root


def run(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def table_counts() -> dict[str, int]:
    """Rows of every table but the log of ingests, which grows by one line an ingest."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.label: model._default_manager.count() for model in models if model is not Pass}


@pytest.mark.django_db
def test_the_demo_shows_five_benchmarks_and_a_second_run_changes_nothing(sample: Path, tmp_path: Path) -> None:
    first = run("demo", "--no-serve", "--into", str(sample))
    password = PASSWORD.search(first)
    assert password is not None
    admin = authenticate(username="admin", password=password[1])
    assert admin is not None and admin.is_superuser  # type: ignore[attr-defined]
    assert "broken lines on purpose" in first and "38 new" in first
    assert (tmp_path / "staticfiles" / "clinboard.css").exists()

    of_sample = Run.objects.live().filter(split__release__name="sample")
    assert set(of_sample.values_list("split__release__benchmark__slug", flat=True)) == set(
        Benchmark.objects.values_list("slug", flat=True)
    )
    assert set(Run.objects.values_list("split__release__name", "visibility")) == {("sample", "public")}
    assert Board.objects.filter(split__release__name="sample").count() >= 5
    # invented runs never stand beside published figures
    assert not ReportedScore.objects.filter(split__in=of_sample.values("split")).exists()

    before, keys = table_counts(), set(Run.objects.values_list("pk", "key", "state"))
    second = run("demo", "--no-serve", "--into", str(sample))
    assert table_counts() == before
    assert set(Run.objects.values_list("pk", "key", "state")) == keys
    assert "0 rows loaded" in second and second.count("nothing changed") == 3
    assert PASSWORD.search(second) is None
    assert f"{sys.executable} manage.py changepassword admin" in second
    assert authenticate(username="admin", password=password[1]) == admin


@pytest.mark.django_db
def test_the_demo_never_replaces_files_that_are_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "own.txt").write_text("mine")
    with pytest.raises(CommandError, match="not written by the sample generator"):
        run("demo", "--no-serve", "--into", str(tmp_path))
    assert (tmp_path / "results" / "own.txt").read_text() == "mine"


@pytest.mark.django_db
def test_up_loads_the_users_tree_privately_and_nothing_else(tree: Path) -> None:
    out = run("up", str(tree), "--no-serve")
    [loaded] = Run.objects.all()
    assert (loaded.model_name, loaded.visibility, loaded.state) == ("Aster-3-Large", "private", "live")
    assert Score.objects.filter(evaluation__run=loaded).exists()
    assert not ReportedScore.objects.exists() and not Release.objects.filter(name="sample").exists()
    assert PASSWORD.search(out) and "New runs are private: sign in" in out and "invented" not in out
    before = table_counts()
    run("up", str(tree), "--no-serve")
    assert table_counts() == before


@pytest.mark.django_db
def test_up_passes_on_gold_links_and_visibility(tree: Path, tmp_path: Path) -> None:
    outside, gold = tmp_path / "raw", tmp_path / "gold"
    gold.mkdir()
    shutil.move(tree / "llmeval_med.json", gold)
    shutil.move(tree / "llmeval_med", outside)
    (tree / "llmeval_med").symlink_to(outside)
    choices = ("--gold", str(gold), "--allow-outside", str(outside), "--visibility", "public")
    out = run("up", str(tree), "--no-serve", *choices)
    assert "sign in to see" not in out
    assert [run.visibility for run in Run.objects.all()] == ["public"]
    assert Run.objects.get().split.gold_missing is False, out


@pytest.mark.django_db
def test_up_says_when_the_sample_of_the_demo_is_in_the_same_database(tree: Path) -> None:
    Release.objects.create(benchmark=Benchmark.objects.first(), name="sample")
    assert "also holds the invented release 'sample'" in run("up", str(tree), "--no-serve")


@pytest.mark.django_db
def test_up_without_a_tree_stops_before_an_administrator_is_made(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("up", str(tmp_path / "nowhere"), "--no-serve")
    assert left.value.code == 2
    shown = capsys.readouterr()
    assert "nowhere: no such directory" in shown.err and "Sign in" not in shown.out


@pytest.mark.django_db
def test_a_busy_port_is_told_before_anything_is_done(tree: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=rf"127\.0\.0\.1:{port}: Address already in use.*PORT=8001"):
            run("up", str(tree), "--port", str(port))
    assert not Run.objects.exists()


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", ""])
def test_a_port_is_a_number_that_can_be_one(port: str, tree: Path) -> None:
    with pytest.raises(CommandError, match="is no port"):
        call_command("up", str(tree), f"--port={port}")


@pytest.mark.django_db
def test_debug_is_told(tree: Path, settings: Any) -> None:
    settings.DEBUG = True
    told = StringIO()
    run("up", str(tree), "--no-serve", stderr=told)
    assert "DEBUG is on" in told.getvalue()


def test_the_server_keeps_no_control_socket() -> None:
    command = up.server(8123)
    assert command[command.index("--bind") + 1] == "127.0.0.1:8123"
    assert "--no-control-socket" in command


@pytest.fixture(scope="module")
def server(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("server")
    root = folder / "mine"
    shutil.copytree(sample / "results" / "llmeval_med", root)
    shutil.copy(sample / "gold" / "llmeval_med.json", root)
    with scratch_database(folder) as database, served(folder, database, "up", str(root)) as running:
        yield running, database


@pytest.mark.database
@pytest.mark.xdist_group("server")
def test_up_serves_pages_without_tracebacks_and_the_printed_password_opens_the_private_runs(server: Any) -> None:
    running, _ = server
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar := CookieJar()))

    def get(path: str, form: dict[str, str] | None = None) -> str:
        content = urlencode(form).encode() if form else None
        request = urllib.request.Request(running.url + path, content, {"Referer": running.url + path})  # noqa: S310
        with opener.open(request, timeout=30) as answer:
            return answer.read().decode()

    assert "Aster" not in get("/")
    with pytest.raises(HTTPError) as missing:
        get("/boards/nowhere/")
    assert missing.value.code == 404 and b"Traceback" not in missing.value.read()
    password = PASSWORD.search(running.said)
    assert password is not None, running.said
    get("/login/")
    [token] = [cookie.value for cookie in jar if cookie.name == "csrftoken"]
    get("/login/", {"username": "admin", "password": password[1], "csrfmiddlewaretoken": token or ""})
    assert "Aster" in get("/")


@pytest.mark.database
@pytest.mark.xdist_group("server")
def test_a_second_start_beside_a_running_one_says_that_the_port_is_taken(server: Any, tree: Path) -> None:
    running, database = server
    port = running.url.rpartition(":")[2]
    again = manage(database, "up", str(tree), "--port", port, check=False)
    assert again.returncode == 1
    assert again.stderr.strip().splitlines()[-1].startswith(f"CommandError: 127.0.0.1:{port}: Address already in use")
