"""The archive of a board: whole, checked, the same bytes again, and nothing hidden in it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from evaluation.models import Run, Score
from leaderboard.data.archive import SCORE_COLUMNS, write_archive
from leaderboard.models import Board
from tests.conftest import People
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree, load


@pytest.fixture
def board(people: People, tmp_path: Path) -> Board:
    load(ehr_tree(tmp_path / "open", {"openly": 10, "=1+1": 4}))
    load(ehr_tree(tmp_path / "hidden", {"hidden_marvel": 19}), "private", owner=people.owner)
    return Board.objects.with_benchmark().get(slug=EHR_BOARD)


def archive(board: Board, user: object) -> bytes:
    out = io.BytesIO()
    assert write_archive(board, user, out)  # type: ignore[arg-type]
    return out.getvalue()


def files(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        assert opened.testzip() is None
        return {name.removeprefix(f"{EHR_BOARD}/"): opened.read(name) for name in opened.namelist()}


def test_every_file_is_there_and_has_its_checksum(board: Board, people: People) -> None:
    held = files(archive(board, people.anonymous))
    keys = {run.key for run in Run.objects.filter(visibility="public")}
    forms = {f"table.{form}" for form in ("csv", "json", "md", "tex", "html")}
    others = {"README.md", "scores.csv", "scores.json", "reported.json", "SHA256SUMS"}
    assert set(held) == forms | others | {f"runs/{key}.json" for key in keys}
    told = dict(reversed(line.split("  ", 1)) for line in held.pop("SHA256SUMS").decode().splitlines())
    assert told == {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    text = held["README.md"].decode()
    assert "Evaluator `clinseek-text" in text and f"/boards/{EHR_BOARD}/" in text and "Licence" in text


def test_the_scores_are_those_of_the_tables_to_the_last_digit(board: Board, people: People) -> None:
    held = files(archive(board, people.anonymous))
    stored = Score.objects.filter(evaluation__run__visibility="public")
    rows = json.loads(held["scores.json"])
    assert len(rows) == stored.count() > 50
    figures = ("metric", "variant", "dimension", "facet", "value", "n", "ci_low", "ci_high")
    assert {tuple(row[name] for name in figures) for row in rows} == set(stored.values_list(*figures))
    lines = list(csv.DictReader(io.StringIO(held["scores.csv"].decode())))
    assert tuple(lines[0]) == SCORE_COLUMNS
    assert [line["value"] for line in lines] == ["" if row["value"] is None else repr(row["value"]) for row in rows]
    assert {line["model"] for line in lines} == {"openly", "'=1+1"}


def test_a_manifest_names_the_bytes(board: Board, people: People, tmp_path: Path) -> None:
    held = files(archive(board, people.anonymous))
    (run,) = Run.objects.filter(model_name="openly")
    (file,) = json.loads(held[f"runs/{run.key}.json"])["files"]
    content = (tmp_path / "open" / file["path"]).read_bytes()
    assert file["sha256"] == hashlib.sha256(content).hexdigest()


def test_the_same_state_gives_the_same_bytes(board: Board, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    first = archive(board, people.anonymous)
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime(2031, 5, 6, tzinfo=UTC))
    monkeypatch.setattr("time.time", lambda: 1.9e9)
    assert first == archive(board, people.stranger)  # a day later, for another who sees the same


def test_nothing_hidden_is_in_it(board: Board, people: People) -> None:
    hidden = Run.objects.get(visibility="private")
    for role, there in (("anonymous", False), ("member", False), ("owner", True), ("staff", True)):
        everything = b"".join([*files(archive(board, people[role])).values()])
        assert (b"hidden_marvel" in everything) == (hidden.key.encode() in everything) == there


def test_the_page_sends_it_by_name(board: Board, client: Client) -> None:
    response = client.get(reverse("board-archive", args=[EHR_BOARD]))
    assert response["Content-Type"] == "application/zip"
    assert f'filename="{EHR_BOARD}_' in response["Content-Disposition"]
    content = response.getvalue()
    assert "README.md" in files(content)
    assert content == client.get(reverse("api:board-archive", args=[EHR_BOARD])).getvalue()


def test_the_command(board: Board, tmp_path: Path) -> None:
    out = tmp_path / "board.zip"
    call_command("export_board", EHR_BOARD, "--out", str(out), stderr=io.StringIO())
    assert "README.md" in files(out.read_bytes())
    with pytest.raises(CommandError, match="'nothing': there is no such board"):
        call_command("export_board", "nothing", "--out", str(out))
    Run.objects.update(visibility="private")
    with pytest.raises(CommandError, match="there is no such board, or this person may not see it"):
        call_command("export_board", EHR_BOARD, "--out", str(tmp_path / "other.zip"))
    assert not (tmp_path / "other.zip").exists()
