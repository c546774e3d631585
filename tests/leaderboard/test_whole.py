"""Pages kept whole: for whom, of what, and how long."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from evaluation.models import Benchmark, LanguageModel, Run
from leaderboard import whole
from leaderboard.data.site import write_site
from leaderboard.runitems import run_items_page  # noqa: F401 - loaded before queries are counted
from tests.conftest import People
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree, load

BOARD = f"/boards/{EHR_BOARD}/"


class Clock:
    """Stands in for the database's mark: moves when the test says so."""

    now = "1"

    def __call__(self) -> str:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(whole, "mark", found)
    monkeypatch.setattr(whole, "_pages", type(whole._pages)())
    return found


@pytest.mark.django_db
def test_a_visitor_is_answered_without_a_query(client: Client, clock: Clock, tmp_path: Path,
                                               django_assert_num_queries: Any) -> None:  # fmt: skip
    load(ehr_tree(tmp_path, {"alder": 5}))
    first = client.get(BOARD)
    with django_assert_num_queries(0):
        again = client.get(BOARD)
    assert (again.content, again.headers) == (first.content, first.headers) and b"alder" in again.content.lower()
    with django_assert_num_queries(0):
        assert client.get(BOARD, headers={"if-none-match": first["ETag"]}).status_code == 304
    assert client.get(BOARD + "?sort=model").content != first.content


@pytest.mark.django_db
def test_a_write_is_seen_at_once(client: Client, clock: Clock, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 5}))
    assert b"Alder" not in client.get(BOARD).content
    LanguageModel.objects.update(name="Alder the Second")
    clock.now = "2"
    assert b"Alder the Second" in client.get(BOARD).content
    Run.objects.update(visibility="private")
    clock.now = "3"
    assert client.get(BOARD).status_code == 404


@pytest.mark.django_db
def test_a_day_makes_another_page(client: Client, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    client.get("/")
    (kept,) = whole._pages.values()
    monkeypatch.setattr(whole, "_pages", type(whole._pages)({key: whole._Page(
        (kept.state[0], kept.state[1].replace(year=2001)), b"old", kept.headers) for key in whole._pages}))  # fmt: skip
    assert client.get("/").content != b"old"


@pytest.mark.django_db
def test_nobody_gets_the_page_of_another(clock: Clock, people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 5}), visibility="private", owner=people.owner)
    owner = Client()
    owner.force_login(people.owner)
    assert owner.get(BOARD).status_code == 200
    assert not whole._pages
    assert Client().get(BOARD).status_code == 404
    assert not whole._pages  # nor is an error kept
    assert Client().get("/").status_code == 200
    assert owner.get("/").content.count(b"Sign out") == 1


@pytest.mark.django_db
def test_another_host_and_another_encoding_are_other_pages(clock: Clock, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "other.example"]
    plain, packed = Client().get("/"), Client(headers={"accept-encoding": "gzip"}).get("/")
    Client(SERVER_NAME="other.example").get("/")
    assert packed["Content-Encoding"] == "gzip" and not plain.has_header("Content-Encoding")
    assert len(packed.content) < len(plain.content) and "Accept-Encoding" in packed["Vary"]
    assert len(whole._pages) == 3
    assert Client(headers={"accept-encoding": "gzip", "if-none-match": packed["ETag"]}).get("/").status_code == 304


@pytest.mark.django_db
def test_kept_pages_have_a_bound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(Client().get("/models/").content)
    monkeypatch.setattr(whole, "MOST_BYTES", 3 * size)
    for number in range(6):
        Client().get(f"/models/?{number}")
    held = sum(len(page.content) for page in whole._pages.values())
    assert size <= held <= 3 * size
    assert any(address.endswith("?5") for address, _ in whole._pages)


@pytest.mark.django_db
def test_a_page_that_shows_files_is_made_anew(clock: Clock, client: Client, tmp_path: Path) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 5}))
    Benchmark.objects.update(item_access="public")
    address = f"/runs/{run.key}/items/1/"
    assert client.get(address).status_code == 200
    assert not any("/items/" in kept for kept, _ in whole._pages)


@pytest.mark.django_db
def test_pages_of_a_copy_without_a_server_are_not_kept(clock: Clock, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "tree", {"alder": 5}))
    assert write_site(tmp_path / "site") > 5
    assert not whole._pages


@pytest.mark.django_db
def test_nothing_is_kept_in_a_transaction() -> None:
    assert whole.mark() is None


# --- the mark ---------------------------------------------------------------------------------------------------------


def test_the_mark_of_a_file_moves_with_commits_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "x.sqlite3")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE t (x)")
    watch = whole.Watch()
    first = watch.mark(path)
    writer.execute("SELECT * FROM t").fetchall()
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO t VALUES (1)")
    assert watch.mark(path) == first
    writer.execute("COMMIT")
    second = watch.mark(path)
    assert second != first and watch.mark(path) == second


def test_another_file_in_its_place_has_another_mark(tmp_path: Path) -> None:
    path, other = tmp_path / "x.sqlite3", tmp_path / "y.sqlite3"
    for file in (path, other):
        sqlite3.connect(file).execute("CREATE TABLE t (x)").connection.close()
    watch = whole.Watch()
    first = watch.mark(str(path))
    other.replace(path)
    assert watch.mark(str(path)) != first
    path.unlink()
    with pytest.raises(OSError, match=r"x\.sqlite3"):
        watch.mark(str(path))


@pytest.mark.django_db(transaction=True)
def test_the_mark_of_the_database_at_work() -> None:
    if connection.vendor == "sqlite":
        assert connection.is_in_memory_db() and whole.mark() is None
        return
    first = whole.mark()
    list(Run.objects.all())
    with transaction.atomic():
        LanguageModel.objects.create(slug="x", name="X")
        assert whole.mark() is None
    assert first is not None and whole.mark() not in (None, first)
