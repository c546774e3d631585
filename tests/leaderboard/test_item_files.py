"""Item-level files: the same rows in both forms, those of a slow plain reading, and only for who may see items."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from evaluation.models import Benchmark, Evaluation, Item, ItemScore, Response, Run
from evaluation.protocols.base import Outcome
from leaderboard.data import items
from leaderboard.data.files import json_lines, write_parquet
from leaderboard.data.items import COLUMNS, NULLABLE, ItemsHidden
from leaderboard.models import Board
from tests.conftest import ROLES, People
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, ehr_rows, ehr_tree, live_tree, load


def plain(run: Run) -> list[dict[str, Any]]:
    """The slow twin: an object at a time."""
    (evaluation,) = Evaluation.objects.filter(run=run, current=True)
    out = []
    for answer in Response.objects.filter(run=run).order_by("ordinal"):
        verdict = ItemScore.objects.get(evaluation=evaluation, ordinal=answer.ordinal)
        item = Item.objects.filter(pk=answer.item_id).first()
        out.append(
            {
                "run": run.key,
                "item": item.key if item else answer.item_key,
                "case": item.case if item else "",
                "gold": json.dumps(item.gold) if item else None,
                "outcome": Outcome(verdict.outcome).name.lower(),
                "value": verdict.value,
                "prediction": verdict.prediction,
                "rule": verdict.rule,
                "repeat": answer.repeat,
                "file": answer.file.path,
                "file_sha256": answer.file.sha256,
                "line": answer.line or None,
                "offset": answer.offset,
                "length": answer.length,
                "pointer": answer.pointer,
            }
        )
    return out


def dictionaries(rows: items.ItemRows) -> list[dict[str, Any]]:
    content = b"".join(json_lines(list(COLUMNS), rows.batches()))
    return [json.loads(line) for line in content.splitlines()]


def parquet(rows: items.ItemRows, path: Path) -> list[dict[str, Any]]:
    write_parquet(COLUMNS, rows.batches(), path, rows.about)
    return polars.read_parquet(path).to_dicts()


@pytest.fixture
def board(people: People, tmp_path: Path) -> Board:
    tree = ehr_tree(tmp_path / "tree", {"one": 12, "two": 7}, asked=18)
    (path,) = tree.root.rglob("one/results.jsonl")
    with path.open("a", encoding="utf-8") as out:  # an id that the gold does not know
        out.write(json.dumps({**ehr_rows(1, 1)[0], "qid": "q_unknown"}) + "\n")
    load(tree)
    return Board.objects.get(slug=EHR_BOARD)


def test_both_forms_hold_what_the_tables_hold(
    board: Board, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "BATCH", 7)  # several batches, the last one not full
    rows = items.of_board(board, people.member)
    wanted = [row for run in Run.objects.order_by("model_name") for row in plain(run)]
    given = dictionaries(rows)
    assert len(given) == len(wanted) == rows.count == 37
    assert [{name: row[name] for name in wanted[0]} for row in given] == wanted
    assert given == parquet(rows, tmp_path / "items.parquet")
    for row in given:
        assert list(row) == list(COLUMNS)
        assert {name for name, value in row.items() if value is None} <= NULLABLE
        assert all(isinstance(value, COLUMNS[name]) for name, value in row.items() if value is not None)
    (unknown,) = [row for row in given if row["item"] == "q_unknown"]
    assert (unknown["gold"], unknown["value"], unknown["scored"]) == (None, None, False)


def test_the_place_in_the_file_is_the_answers_own(board: Board, people: People, tmp_path: Path) -> None:
    for row in dictionaries(items.of_board(board, people.member)):
        content = (tmp_path / "tree" / row["file"]).read_bytes()
        assert json.loads(content[row["offset"] : row["offset"] + row["length"]])["qid"] == row["item"]


def test_nothing_at_all_makes_files_without_rows(board: Board, people: People, tmp_path: Path) -> None:
    Run.objects.update(visibility="private")
    rows = items.of_board(board, people.member)
    assert dictionaries(rows) == parquet(rows, tmp_path / "items.parquet") == []
    assert polars.read_parquet_schema(tmp_path / "items.parquet").names() == list(COLUMNS)


def test_the_licence_stands_in_the_parquet_file(people: People, tmp_path: Path) -> None:
    load(live_tree(tmp_path / "live", {"a": ("some", ["AB"] * 8)}))
    Benchmark.objects.filter(slug="liveclin").update(item_access="group")
    rows = items.of_board(Board.objects.with_benchmark().get(slug=LIVE_BOARD), people.member)
    parquet(rows, tmp_path / "items.parquet")
    about = json.loads(polars.read_parquet_metadata(tmp_path / "items.parquet")["clinboard"])
    assert about["licence"] == "CC BY-NC-SA 4.0" and about["evaluator"]
    assert {row["pointer"][:1] for row in dictionaries(rows)} == {"/"}


def test_a_failure_while_rows_are_read_comes_out(tmp_path: Path) -> None:
    def broken() -> Any:
        yield [(1,)]
        raise RuntimeError("the database is away")

    with pytest.raises(RuntimeError, match="the database is away"):
        write_parquet({"a": int}, broken(), tmp_path / "a.parquet", {})


def test_a_failure_while_rows_are_written_comes_out(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"(?i)no such file"):
        write_parquet({"a": int}, [[(1,)]] * 9, tmp_path / "nowhere" / "a.parquet", {})


SEES_ITEMS = {
    "nobody": set(),
    "group": {"member"},
    "members": set(ROLES) - {"anonymous"},
    "public": set(ROLES),
}


@pytest.mark.parametrize("access", SEES_ITEMS)
def test_items_are_for_those_that_the_benchmark_names(board: Board, people: People, access: str) -> None:
    Benchmark.objects.update(item_access=access)
    board.benchmark.item_access = access
    seen = set()
    for role in ROLES:
        try:
            items.of_board(board, people[role])
            seen.add(role)
        except ItemsHidden as error:
            assert board.benchmark.name in str(error)
    assert seen == SEES_ITEMS[access]


def test_nobody_is_in_a_group_that_is_not_there(board: Board, people: People) -> None:
    Benchmark.objects.update(data_group=None)
    assert not any(board.benchmark.items_visible_to(people[role]) for role in ROLES)
    people.member.is_active = False
    Benchmark.objects.update(item_access="members")
    assert not board.benchmark.items_visible_to(people.member)


def command(*args: str) -> bytes:
    class Out(io.StringIO):
        buffer = io.BytesIO()

    out = Out()
    out.buffer = io.BytesIO()
    call_command("export_items", *args, stdout=out, stderr=io.StringIO())
    return out.buffer.getvalue()


def test_the_command_writes_what_a_person_may_see(board: Board, tmp_path: Path) -> None:
    run = Run.objects.order_by("model_name").first()
    assert run is not None
    by_run = command("--run", run.key, "--as", "member").splitlines()
    assert len(by_run) == 19 and {json.loads(line)["run"] for line in by_run} == {run.key}
    assert len(command("--board", EHR_BOARD, "--as", "member").splitlines()) == 37
    command("--benchmark", "ehr-bench", "--as", "member", "--out", str(tmp_path / "a.parquet"))
    assert polars.read_parquet(tmp_path / "a.parquet").height == 37
    command("--board", EHR_BOARD, "--as", "member", "--out", str(tmp_path / "a.jsonl"))
    assert len((tmp_path / "a.jsonl").read_bytes().splitlines()) == 37
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.parquet", "tree"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--board", EHR_BOARD], "shown to the people of its data-access group"),
        (["--board", EHR_BOARD, "--all"], "shown to the people of its data-access group"),
        (["--board", "nothing", "--as", "member"], "--board 'nothing': there is no such board"),
        (["--run", "nothing", "--as", "member"], "--run 'nothing': there is no such run"),
        (["--benchmark", "nothing"], "--benchmark 'nothing': there is no such benchmark"),
        (["--board", EHR_BOARD, "--as", "nobody"], "--as 'nobody': no active person"),
        (["--board", EHR_BOARD, "--as", "member", "--evaluator", "mine"], "'mine' is no evaluator of ehr-bench"),
        (["--board", EHR_BOARD, "--as", "member", "--out", "a.txt"], "must end in .parquet or .jsonl"),
        (["--board", EHR_BOARD, "--as", "member", "--out", "/nowhere/a.jsonl"], "/nowhere/a.jsonl: No such file"),
    ],
)
def test_what_cannot_be_written_says_why(board: Board, args: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        command(*args)


@pytest.mark.parametrize(("role", "there"), [("member", True), ("staff", False), ("anonymous", False)])
def test_pages_offer_items_to_those_alone_who_may_have_them(
    board: Board, people: People, client: Client, role: str, there: bool
) -> None:
    if role != "anonymous":
        client.force_login(people[role])
    run = Run.objects.first()
    assert run is not None
    for page, name, key in ((board, "board-items", board.slug), (run, "run-items", run.key)):
        text = client.get(page.get_absolute_url()).content.decode()
        link = reverse(name, args=[key, "parquet"])
        assert (f'href="{link}"' in text) == there == ("shown to the people of its data-access group" not in text)
        answer = client.get(link)
        assert answer.status_code == (200 if there else 403)
        if there:
            assert f"{key}-items_" in answer["Content-Disposition"] and b"".join(answer)[:4] == b"PAR1"  # type: ignore[arg-type]
        else:
            assert "shown to the people of its data-access group" in answer.content.decode()
    assert client.get(reverse("board-items", args=[board.slug, "xls"])).status_code == (404 if there else 403)
