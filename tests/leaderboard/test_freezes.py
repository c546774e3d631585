"""Freezes: stored once with their hash, never changed, compared; citations; figures by page and command."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Run
from leaderboard.boards import view_board
from leaderboard.by_facet import facet_table
from leaderboard.citations import cite_release
from leaderboard.exports import EXPORTS, exported
from leaderboard.freeze_diff import compare
from leaderboard.freeze_pages import frozen_table
from leaderboard.freezing import NothingToFreeze, freeze, state, table_of
from leaderboard.models import Board, Freeze, Frozen
from leaderboard.tables.stored import from_dict
from tests.conftest import People
from tests.ingest.trees import called
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, ehr_tree, live_tree, load

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


def the_board(slug: str = EHR_BOARD) -> Board:
    return Board.objects.with_benchmark().get(slug=slug)


@pytest.fixture
def loaded(tmp_path: Path) -> Board:
    load(ehr_tree(tmp_path / "whole", {"alder": 18, "birch": 17}))
    load(ehr_tree(tmp_path / "part", {"cedar": 7}, asked=7))
    return the_board()


# --- what is stored ---------------------------------------------------------------------------------------------------


def test_a_stored_table_is_read_back_as_it_was(loaded: Board) -> None:
    assert called("load_published").code == 0
    for board in Board.objects.with_benchmark():
        view = view_board(board, NOBODY)
        if view is not None:
            # the links that sort belong to the page
            assert from_dict(json.loads(json.dumps(view.table.as_dict()))) == replace(view.table, sorting=())


def test_the_hash_is_that_of_the_bytes_that_are_given_out(loaded: Board, client: Client) -> None:
    made = freeze(loaded)
    content = client.get(f"/freezes/{made.address}/content.json").content
    assert hashlib.sha256(content).hexdigest() == made.digest and made.digest.startswith(made.address)
    document = json.loads(content)
    assert json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == content
    runs = {run["key"] for entry in document["runs"].values() for run in entry}
    assert runs == set(Run.objects.values_list("key", flat=True))
    (rule,) = document["evaluators"]
    evaluator = BENCHMARKS["ehr-bench"].evaluator
    assert evaluator is not None and rule == {"name": evaluator.name, "fingerprint": evaluator.fingerprint}
    assert document["fingerprints"]["split"] == loaded.split.fingerprint


def test_the_same_state_on_one_day_is_one_freeze(loaded: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    first = freeze(loaded)
    assert freeze(loaded) == first
    later = timezone.now() + datetime.timedelta(days=1)
    monkeypatch.setattr("leaderboard.freezing.timezone.now", lambda: later)
    second = freeze(loaded)
    assert second != first and compare(first.document, second.document).same


def test_a_freeze_never_changes(loaded: Board, tmp_path: Path) -> None:
    made = freeze(loaded)
    made.content = "{}"
    for change in (
        made.save,
        made.delete,
        lambda: Freeze.objects.update(content="{}"),
        lambda: Freeze.objects.filter(pk=made.pk).delete(),
        lambda: Freeze.objects.bulk_update([made], ["content"]),
        lambda: Freeze.objects.update_or_create(digest=made.digest, defaults={"content": "{}"}),
    ):
        with pytest.raises(Frozen):
            change()
    before = Freeze.objects.get().content
    load(ehr_tree(tmp_path / "more", {"dogwood": 20}))
    Run.objects.filter(model_name="alder").update(visibility="private")
    again = Freeze.objects.get()
    assert again.content == before and again.intact
    assert [row.cells[1].text for row in frozen_table(again).rows] == ["alder", "birch", "cedar"]


def test_a_freeze_outlives_its_board(loaded: Board, client: Client) -> None:
    made = freeze(loaded)
    Run.objects.all().delete()
    loaded.delete()
    page = client.get(made.get_absolute_url())
    assert page.status_code == 200 and b"alder" in page.content


def test_a_broken_content_is_not_shown(loaded: Board, client: Client) -> None:
    from django.db import connection

    made = freeze(loaded)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE leaderboard_freeze SET content = replace(content, 'alder', 'elder')")
    with pytest.raises(RuntimeError, match="no longer has this hash"):
        client.get(made.get_absolute_url())


def test_the_public_freeze_is_of_what_is_public(people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "open", {"alder": 10}))
    load(ehr_tree(tmp_path / "hidden", {"marvel": 18}), "private", owner=people.owner)
    public, private, own = freeze(the_board()), freeze(the_board(), people.staff), freeze(the_board(), people.owner)
    assert "marvel" not in public.content and "marvel" in private.content and "marvel" in own.content
    assert [made.public for made in (public, private, own)] == [True, False, False]
    for name, seen in {
        "anonymous": {public},
        "stranger": {public},
        "mate": {public},
        "owner": {public, own},
        "staff": {public, private, own},
    }.items():
        assert set(Freeze.objects.visible_to(people[name])) == seen
    people.owner.is_active = False
    assert set(Freeze.objects.visible_to(people.owner)) == {public}


def test_nothing_public_is_nothing_to_freeze(people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"marvel": 18}), "private", owner=people.owner)
    with pytest.raises(NothingToFreeze):
        freeze(the_board())


# --- the button, the pages, the forms ---------------------------------------------------------------------------------


def test_the_button_is_for_staff_and_asks_for_a_token(loaded: Board, people: People) -> None:
    path = f"/boards/{EHR_BOARD}/freeze/"
    assert Client().post(path).status_code == 404
    person = Client()
    person.force_login(people.owner)
    assert (
        person.post(path).status_code == 404
        and b"Freeze this board" not in person.get(loaded.get_absolute_url()).content
    )
    staff = Client()
    staff.force_login(people.staff)
    assert staff.get(path).status_code == 405
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(people.staff)
    assert careful.post(path).status_code == 403
    assert not Freeze.objects.exists()
    assert b"Freeze this board" in staff.get(loaded.get_absolute_url()).content
    response = staff.post(path)
    made = Freeze.objects.get()
    assert response.status_code == 302 and response["Location"] == made.get_absolute_url() and made.public
    staff.post(path, {"private": "1"})
    assert Freeze.objects.filter(public=False).count() == 1


def test_the_page_says_what_the_board_said(loaded: Board, client: Client) -> None:
    before = view_board(loaded, NOBODY)
    assert before is not None
    made = freeze(loaded)
    table = frozen_table(made)
    assert (table.rows, table.columns, table.groups) == (before.table.rows, before.table.columns, before.table.groups)
    text = client.get(made.get_absolute_url()).content.decode()
    assert made.digest in text and before.sentence in text and f"sha256sum {made.address}.json" in text
    for row in table.rows:
        assert row.cells[2].text in text
    assert client.get(f"/freezes/{made.digest[:8]}/")["Location"] == made.get_absolute_url()
    assert client.get(f"/freezes/{made.digest[:7]}/").status_code == 404
    assert client.get("/freezes/0123456789abcdef/").status_code == 404


@pytest.mark.parametrize("form", EXPORTS)
def test_the_forms_are_those_of_the_table(loaded: Board, client: Client, form: str) -> None:
    made = freeze(loaded)
    response = client.get(f"/freezes/{made.address}/table.{form}")
    assert response.content == exported(frozen_table(made), form)
    assert f"{EHR_BOARD}_{made.address}.{form}" in response["Content-Disposition"]
    if form not in ("csv", "parquet"):
        text = re.sub(r"\\allowbreak(\{\})?\s*|\s", "", response.content.decode())
        assert made.digest in text and "Attribution:EHR-Bench" in text.replace("\\", "").replace("{}", "")


def test_queries_do_not_grow(
    loaded: Board, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first = freeze(loaded)
    Run.objects.filter(model_name="birch").update(visibility="private")
    second = freeze(loaded)
    for path, most in (
        ("/freezes/", 1),
        (first.get_absolute_url(), 2),
        (f"/freezes/{first.address}/diff/{second.address}/", 2),
        (f"/freezes/{first.address}/table.csv", 1),
        (f"/boards/{EHR_BOARD}/figure.svg", 10),
        (f"/boards/{EHR_BOARD}/figure.svg?kind=heat", 14),
        (f"/boards/{EHR_BOARD}/cite.bib", 1),
    ):
        with django_assert_max_num_queries(most):
            assert client.get(path).status_code == 200, path


# --- the difference ---------------------------------------------------------------------------------------------------


def test_what_changed_is_told_row_by_row(loaded: Board, tmp_path: Path, client: Client) -> None:
    first = freeze(loaded)
    Run.objects.filter(model_name="birch").update(visibility="private")
    load(ehr_tree(tmp_path / "more", {"dogwood": 20}))
    second = freeze(loaded)
    diff = compare(first.document, second.document)
    rows = {row.cells[0].text: row for row in diff.table.rows}
    assert (diff.added, diff.removed, diff.moved, diff.unchanged) == (1, 1, 1, 1)
    assert {name: row.group for name, row in rows.items()} == {"dogwood": "added", "alder": "moved", "birch": "removed"}
    keys = [column.key for column in diff.table.columns]
    alder = dict(zip(keys, rows["alder"].cells, strict=True))
    assert (alder["rank-before"].text, alder["rank-after"].text) == ("1", "2")
    assert (alder["before"].value, alder["after"].value, alder["delta"].value) == (0.9, 0.9, 0.0)
    assert not diff.grounds and not diff.refused and not diff.same
    assert compare(first.document, first.document).same
    text = client.get(f"/freezes/{first.address}/diff/{second.address}/").content.decode()
    assert "1 added, 1 removed, 1 moved, 1 unchanged" in text and "dogwood" in text


def test_no_difference_is_formed_over_other_rules_or_items(loaded: Board) -> None:
    before = state(loaded, NOBODY, "public")
    after = json.loads(json.dumps(before))
    after["evaluators"][0]["fingerprint"] = "f" * 64
    diff = compare(before, after)
    assert "evaluators differ" in diff.refused and [what for what, _, _ in diff.grounds] == ["Evaluator"]
    assert "delta" not in {column.key for column in diff.table.columns}
    after = json.loads(json.dumps(before))
    after["fingerprints"]["split"] = "e" * 64
    assert "items differ" in compare(before, after).refused


def test_reported_rows_are_matched_by_model(db: None) -> None:
    assert called("load_published").code == 0
    board = the_board(LIVE_BOARD)
    before = state(board, NOBODY, "public")
    after = json.loads(json.dumps(before).replace('"reported-', '"reported-9'))
    assert compare(before, after).same


# --- citations --------------------------------------------------------------------------------------------------------


def braces(text: str) -> int:
    bare = re.sub(r"\\[{}]", "", text)
    return bare.count("{") - bare.count("}")


def test_the_release_is_cited_with_its_version(shared: Path) -> None:
    told = json.loads((shared / "published" / "liveclin_2025_H1.json").read_text())["facts"]
    entry = cite_release(BENCHMARKS["liveclin"], "2025_H1", datetime.date(2026, 11, 30))
    fields = entry.fields
    assert fields["title"] == told["citation"]["title"] and fields["author"] == " and ".join(
        told["citation"]["authors"]
    )
    assert (fields["year"], fields["eprint"]) == (str(told["citation"]["year"]), told["citation"]["eprint"])
    assert told["license"] in fields["note"] and "LiveClin authors" in fields["note"]
    text = entry.bibtex()
    assert "version = {2025\\_H1}" in text and "urldate = {2026-11-30}" in text and braces(text) == 0
    assert "2025_H1" in entry.in_words() and "Accessed 2026-11-30" in entry.in_words()


@pytest.mark.parametrize("slug", BENCHMARKS)
def test_every_benchmark_can_be_cited_and_nothing_is_made_up(slug: str) -> None:
    spec = BENCHMARKS[slug]
    text = cite_release(spec, "v1", datetime.date(2026, 1, 2)).bibtex()
    assert "version = {v1}" in text and "urldate = {2026-01-02}" in text and braces(text) == 0
    if not spec.citation.authors:
        assert spec.attribution in text and "year" not in text


def test_a_freeze_is_cited_with_its_hash(loaded: Board, client: Client, settings) -> None:
    settings.ADDRESS = "https://board.example"
    made = freeze(loaded)
    text = client.get(f"/freezes/{made.address}/cite.bib").content.decode()
    assert f"version = {{sha256:{made.address}}}" in text and made.digest in text and braces(text) == 0
    assert f"url = {{https://board.example/freezes/{made.address}/}}" in text
    assert "EHR-Bench" in text and "Release v1" in text and "urldate = {" in text


# --- figures of boards ------------------------------------------------------------------------------------------------


def test_figures_by_page(loaded: Board, tmp_path: Path, client: Client) -> None:
    load(live_tree(tmp_path / "live", {"a": ("alder", ["AB"] * 5 + ["AC"] * 3)}))
    for query in ("", "?kind=heat", "?kind=heat&by=task_type", f"?kind=scatter&with={LIVE_BOARD}"):
        response = client.get(f"/boards/{EHR_BOARD}/figure.svg{query}")
        assert response.status_code == 200 and response["Content-Type"] == "image/svg+xml", response.content
        assert response.content.startswith(b"<?xml")
    assert client.get(f"/boards/{LIVE_BOARD}/figure.pdf?kind=lines&width=double").content.startswith(b"%PDF")
    assert client.get(f"/boards/{EHR_BOARD}/figure.png?width=slide").content.startswith(b"\x89PNG")
    made = freeze(loaded)
    assert client.get(f"/freezes/{made.address}/figure.svg").status_code == 200


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("kind=pie", "kind is 'pie'; one of dots"),
        ("width=9", "width is '9'"),
        ("kind=heat&by=nothing", "by is 'nothing'; one of aggregate, task_type"),
        ("kind=lines", "Nothing on this board is measured by"),
        ("kind=scatter&with=nowhere", "with is 'nowhere', which is no board here"),
        (f"kind=scatter&with={LIVE_BOARD}", "which is no board here"),
    ],
)
def test_a_wrong_wish_is_told(loaded: Board, client: Client, query: str, said: str) -> None:
    response = client.get(f"/boards/{EHR_BOARD}/figure.svg?{query}")
    assert response.status_code == 400 and said in response.content.decode()
    assert client.get(f"/boards/{EHR_BOARD}/figure.gif").status_code == 404


def test_the_facets_add_up(loaded: Board, tmp_path: Path) -> None:
    """The mean over the facets of a dimension that parts the questions, weighted by n, is the headline."""
    table = facet_table(loaded, NOBODY, "task_type")
    view = view_board(loaded, NOBODY)
    assert table is not None and view is not None
    heads = {row.cells[1].text: row.cells[2].value for row in view.table.rows}
    for row in table.rows:
        cells = row.cells[1:]
        whole = sum(cell.value * cell.n for cell in cells) / sum(cell.n for cell in cells)  # type: ignore[operator,misc]
        assert whole == pytest.approx(heads[row.cells[0].text])
    assert facet_table(loaded, NOBODY, "nothing") is None


def test_commands(loaded: Board, tmp_path: Path) -> None:
    out = tmp_path / "board.svg"
    assert called("figure", EHR_BOARD, "--out", str(out)).code == 0
    assert out.read_bytes().startswith(b"<?xml")
    done = called("freeze", EHR_BOARD)
    made = Freeze.objects.get()
    assert done.code == 0 and f"/freezes/{made.address}/" in done.out and made.digest in done.out and made.public
    assert called("freeze", EHR_BOARD, "--all").code == 0 and Freeze.objects.filter(public=False).count() == 1
    for wrong in (
        ("figure", "nowhere", "--out", str(out)),
        ("figure", EHR_BOARD, "--out", "x.gif"),
        ("freeze", "nowhere"),
    ):
        with pytest.raises(CommandError):
            called(*wrong)


def test_facts_stand_below_a_frozen_table(loaded: Board) -> None:
    made = freeze(loaded)
    facts = dict(table_of(made.document, made.digest, "there").facts)
    assert (
        facts["sha256"] == made.digest
        and facts["Address"] == "there"
        and "Attribution" in facts["Licence and attribution"]
    )
