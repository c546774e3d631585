"""The copy without a server: every link opens, nothing comes from elsewhere, nothing hidden is in it."""

from __future__ import annotations

import io
import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evaluation.models import Benchmark, Run
from leaderboard.data.site import MANIFEST
from tests.conftest import ROOT, People
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, ehr_tree, live_tree, load

PUBLISHED = ROOT / "fixtures" / "published"


class Page(HTMLParser):
    """Links, what is loaded, and the ids of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids |= {value for name, value in attrs if name == "id" and value}
        self.links += [given["href"] or ""] if tag == "a" and "href" in given else []
        self.loaded += [given["href"] or ""] if tag == "link" else []
        self.loaded += [value or "" for name, value in attrs if name in ("src", "data", "poster", "srcset", "action")]


@pytest.fixture
def copy(people: People, tmp_path: Path) -> Path:
    """Public runs with a model of an odd name, beside private ones on the same board and on one of their own."""
    load(ehr_tree(tmp_path / "open", {"openly": 10, "Größe 50% <b>": 4}))
    load(live_tree(tmp_path / "live", {"a": ("shown_wonder", ["AB"] * 8)}))
    load(ehr_tree(tmp_path / "private", {"hidden_marvel": 19}), "private", owner=people.owner)
    load(ehr_tree(tmp_path / "team", {"team_marvel": 19}), "team", team=people.team)
    load(live_tree(tmp_path / "own", {"a": ("hidden_wonder", ["AB"] * 8)}), "private", release="of_nobody")
    figures = json.loads((PUBLISHED / "llmeval_med.json").read_text("utf-8"))
    figures["scores"] = figures["scores"][:2]
    figures.pop("facts", None)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "few.json").write_text(json.dumps(figures))
    call_command("load_published", str(tmp_path / "figures"), stdout=io.StringIO())
    out = tmp_path / "copy"
    call_command("export_site", str(out), stderr=io.StringIO())
    return out


def test_every_link_opens_and_nothing_is_loaded_from_elsewhere(copy: Path) -> None:
    pages = {path: Page(path) for path in copy.rglob("*.html")}
    assert len(pages) > 10
    reached, todo = set(), [copy / "index.html", *copy.rglob("embed.html")]
    while todo:
        path = todo.pop()
        if path in reached:
            continue
        reached.add(path)
        if path not in pages:
            continue
        page = pages[path]
        assert "form" not in page.tags and "iframe" not in page.tags
        for href in (*page.links, *page.loaded):
            parts = urlsplit(href)
            if parts.scheme in ("http", "https"):
                assert href not in page.loaded
                continue
            assert not parts.scheme and not parts.netloc and not parts.query and not href.startswith("/"), href
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file() and target.is_relative_to(copy), f"{path}: {href}"
            if parts.fragment and target in pages:
                assert parts.fragment in pages[target].ids, f"{path}: {href}"
            todo.append(target)
    assert {path for path in pages if path.name != "embed.html"} <= reached
    assert {path.name for path in reached} >= {"archive.zip", "eee.json", "clinboard.css", "run.json", "board.json"}


def test_a_table_to_embed_is_a_table_and_its_terms(copy: Path) -> None:
    path = copy / "boards" / LIVE_BOARD / "embed.html"
    page, text = Page(path), path.read_text("utf-8")
    assert {name.rpartition("/")[2] for name in page.loaded} == {"bootstrap.min.css", "clinboard.css"}
    assert "table" in page.tags and not {"script", "style", "form", "nav", "header"} & page.tags
    assert "shown_wonder" in text and "Licence: CC BY-NC-SA 4.0" in text and "Evaluator: liveclin-official" in text
    assert "index.html" in page.links
    assert "Größe 50% &lt;b&gt;" in (copy / "boards" / EHR_BOARD / "embed.html").read_text("utf-8")


def test_nothing_hidden_is_in_it(copy: Path, people: People) -> None:
    hidden = Run.objects.exclude(visibility="public")
    marks = {run.key for run in hidden} | {"hidden_marvel", "hidden_wonder", "team_marvel", "of_nobody"}
    assert len(marks) == 7
    for path in copy.rglob("*"):
        assert not any(mark in path.name for mark in marks)
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".zip":
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    content = b"".join(map(archive.read, archive.namelist()))
            assert not any(mark.encode() in content for mark in marks), path


def test_json_leads_to_files_of_the_copy(copy: Path) -> None:
    def leads(value: Any) -> list[str]:
        if isinstance(value, list):
            return [lead for one in value for lead in leads(one)]
        if not isinstance(value, dict):
            return []
        own = [one for key, one in value.items() if key in ("href", "page", "api") and isinstance(one, str) and one]
        return own + [lead for one in value.values() for lead in leads(one)]

    found = 0
    for path in copy.rglob("*.json"):
        for lead in leads(json.loads(path.read_text())) if path.name != "eee.json" else ():
            assert (path.parent / unquote(lead)).resolve().is_file(), f"{path}: {lead}"
            found += 1
    assert found > 10


def test_the_same_state_gives_the_same_files_and_replaces_the_old(copy: Path) -> None:
    before = (copy / MANIFEST).read_bytes()
    (copy / "stray.html").write_text("old")
    call_command("export_site", str(copy), stderr=io.StringIO())
    assert (copy / MANIFEST).read_bytes() == before and not (copy / "stray.html").exists()
    assert [path.name for path in copy.parent.iterdir() if path.name.startswith(".")] == []


def test_other_peoples_folders_are_left_alone(db: None, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(CommandError, match="holds files and is no earlier copy"):
        call_command("export_site", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_hall_can_be_copied(db: None, tmp_path: Path) -> None:
    Benchmark.objects.update(item_access="public")
    call_command("export_site", str(tmp_path / "copy"), stderr=io.StringIO())
    assert (tmp_path / "copy" / "index.html").is_file()
