"""Findings: every code has its words; page, JSON and CSV show the same filtered set; the tree and what retries changed."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evaluation.models import Run
from ingest.classify import Kind
from ingest.models import Finding, Pass, Source, SourceFile
from ingest.select import RULES
from leaderboard.findings import HEAD, SEVERITIES, findings_csv, neutral, wanted
from leaderboard.meanings import FATES, MEANINGS, fate_in_words
from leaderboard.retries import change, retries_table
from tests.conftest import ROOT, People
from tests.ingest.trees import run_path
from tests.leaderboard.worlds import ehr_rows, ehr_tree, load

PAGE = "/findings/"
NAN = float("nan")

# --- words ------------------------------------------------------------------------------------------------------------

CODE = re.compile(r"[a-z]+(_[a-z0-9]+)+|[a-z]+")
# who makes a finding, a fault or a bad line -> which argument is the code
MAKERS = {
    "find": 1,
    "Trouble": 1,
    "_trouble": 1,
    "Sign": 0,
    "Bad": 3,
    "Fault": 2,
    "closed": 1,
    "_Broken": 0,
    "NoRow": 0,
}
# a code that comes from one of the others
PASSED_ON = {"fault.reason", "broken.reason", "bad.reason", "trouble.code", "code", "reason", "note.code", "kept.code"}


def codes_of(path: Path) -> Iterator[str]:
    """The codes that a module emits: arguments of makers, notes of evaluators, and faults as (code, sentence)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            place = MAKERS.get(name)
            if place is None or len(node.args) <= place or any(isinstance(arg, ast.Starred) for arg in node.args):
                continue
            if name == "find" and len(node.args) < 4 and not any(isinstance(arg, ast.Starred) for arg in node.args):
                continue  # a string's method
            told = node.args[place]
            if isinstance(told, ast.Constant):
                yield told.value
            else:
                assert ast.unparse(told) in PASSED_ON, f"{path}:{node.lineno}: which codes are these?"
        elif isinstance(node, ast.Tuple) and len(node.elts) in (2, 3) and _is_sentence(node.elts[-1]):
            first, second = (getattr(element, "value", None) for element in node.elts[:2])
            if first in SEVERITIES and len(node.elts) == 3 and isinstance(second, str):
                yield second  # (severity, code, sentence), for somebody else to find
                continue
            # (code, item, sentence) of an evaluator, (code, sentence) of a line
            fits = path.name == "lines.py" or (len(node.elts) == 3 and not isinstance(node.elts[1], ast.Constant))
            if fits and isinstance(first, str) and CODE.fullmatch(first):
                yield first


def _is_sentence(node: ast.expr) -> bool:
    text = getattr(node, "value", None)
    return isinstance(node, ast.JoinedStr) or (isinstance(text, str) and " " in text)


def test_every_code_of_the_code_base_has_its_words() -> None:
    modules = [*ROOT.glob("ingest/**/*.py"), *ROOT.glob("evaluation/protocols/*.py")]
    codes = {code for path in modules for code in codes_of(path)}
    assert {"glued", "truncated_last_line", "loop", "no_id", "odd_shape", "stale_summary", "off_dataset"} <= codes
    assert sorted(codes - MEANINGS.keys()) == [], "codes without an entry in leaderboard/meanings.py"
    assert sorted(MEANINGS.keys() - codes) == [], "entries that no code emits"


def test_the_words_are_short_sentences() -> None:
    for code, meaning in MEANINGS.items():
        assert len(code) <= Finding._meta.get_field("code").max_length
        assert meaning.title and not meaning.title.endswith(".") and len(meaning.title) < 40
        for text in (meaning.means, meaning.done, meaning.can):
            assert text[0].isupper() and text.endswith(".") and len(text) < 160, text


def test_every_fate_has_its_words() -> None:
    text = (ROOT / "ingest" / "classify.py").read_text("utf-8")
    kinds = set(re.findall(r'Kind\("([a-z_]+)"', text)) | {"operational"}
    assert {"results", "summary_text", "lfs_pointer"} <= kinds and Kind("other").name in kinds
    reasons = {name for name, *_ in RULES} | {"run", "duplicate_path", "undecided", "override", "no_gold"}
    faults = {"dangling_link", "loop", "outside_root", "link_as_text", "unreadable"}
    assert [fate for fate in sorted(kinds | reasons | faults) if not fate_in_words(fate)] == []
    assert fate_in_words("archived") == RULES[0][1] == FATES["archived"] and fate_in_words("something new") == ""


# --- page, JSON and CSV -----------------------------------------------------------------------------------------------

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(tmp_path: Path) -> list[Run]:
    """A public and a private run in sources of their own. Each has 8 questions missing and an unregistered model, and its
    source a finding of no run: the size of the split.
    """
    runs = load(ehr_tree(tmp_path / "open", {"alder": 5}, asked=12))
    return runs + load(ehr_tree(tmp_path / "closed", {"birch": 4}, asked=12), "private")


def add(run: Run | None, **fields: object) -> Finding:
    source = Source.objects.order_by("pk").first()
    given = {"severity": "info", "code": "duplicate", "message": "a note", **fields}
    return Finding.objects.create(source=source, last_pass=source.passes.first(), run=run, **given)


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def rows_of(client: Client, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/findings.csv{query}")
    assert answer.status_code == 200 and answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode(), newline="")))


def as_staff(client: Client, people: People) -> Client:
    client.force_login(people.staff)
    return client


def test_the_words_stand_once_a_code(client: Client, people: People, two: list[Run]) -> None:
    text = text_of(as_staff(client, people), PAGE)
    for words in (MEANINGS["missing_items"].means, MEANINGS["missing_items"].done, MEANINGS["missing_items"].can):
        assert text.count(words) == 1
    assert text.count("8 of 20 expected items have no row") == 2
    assert all(f'href="/runs/{run.key}/"' in text for run in two)
    assert all(f'href="{reverse("source", args=[source.pk])}"' in text for source in Source.objects.all())


def test_a_finding_says_where(client: Client, two: list[Run]) -> None:
    add(two[0], severity="error", code="glued", path="a/b.jsonl", line=41, offset=98765, message="two rows <b>")
    text = text_of(client, f"{PAGE}?code=glued")
    assert "a/b.jsonl" in text and '<td class="num">41</td>' in text and '<td class="num">98765</td>' in text
    assert "two rows &lt;b&gt;" in text and "missing_items</code>" not in text


def test_filters_of_the_address(client: Client, people: People, two: list[Run]) -> None:
    as_staff(client, people)
    add(two[0], severity="error", code="glued")
    first = Source.objects.get(name="open")
    for query, number in {
        "": 9,
        "?severity=error": 1,
        "?severity=error&code=missing_items": 0,
        "?code=missing_items": 2,
        f"?run={two[1].key}": 3,
        f"?source={first.pk}": 5,
        f"?source={first.pk}&code=missing_items": 1,
        "?severity=nonsense": 0,
        "?source=nonsense": 0,
        "?source=999999999999999999999": 0,
        "?code=%00": 0,
        "?run=0123": 0,
    }.items():
        found = rows_of(client, query)
        document = client.get(f"/api/v1/findings{query}").json()
        assert len(found) == document["count"] == len(document["findings"]) == number, (query, found)
        assert ("No finding fits." in text_of(client, PAGE + query)) == (number == 0)


def test_counts_beside_a_filter_keep_the_others(client: Client, people: People, two: list[Run]) -> None:
    add(two[0], severity="error", code="glued")
    answer = as_staff(client, people).get(f"{PAGE}?severity=error")
    filters = dict(answer.context["filters"])
    assert filters["Severity"][0][:2] == ("error", 1) and filters["Severity"][0].chosen
    assert [(one.label, one.number) for one in filters["Code"]] == [("glued", 1)]
    assert [(one.label, one.number) for one in filters["Source"]] == [("open", 1)]
    assert filters["Severity"][0].link == "?"
    assert dict(parse_qsl(urlsplit(filters["Code"][0].link).query)) == {"severity": "error", "code": "glued"}


def test_errors_come_first_and_long_lists_are_paged(client: Client, people: People, two: list[Run]) -> None:
    Finding.objects.bulk_create(
        Finding(
            source=(last := Pass.objects.earliest("pk")).source,
            last_pass=last,
            run=two[0],
            severity="info",
            code="duplicate",
            message=f"note {number:03}",
        )
        for number in range(150)
    )
    add(two[0], severity="error", code="glued", message="first of all")
    text = text_of(client, PAGE)
    assert text.index("first of all") < text.index("missing_items</code>") < text.index("note 000")
    second = text_of(client, f"{PAGE}?code=duplicate&page=2")
    assert "note 149" in second and "note 000" not in second and "101–150 of 150" in second
    assert "page=1&amp;code=duplicate" in second or "page=1&code=duplicate" in second
    assert client.get(f"{PAGE}?page=nonsense").status_code == 200
    document = client.get("/api/v1/findings?code=duplicate&page=2").json()
    assert (document["count"], document["page"], document["pages"], len(document["findings"])) == (150, 2, 2, 50)
    assert document["meanings"]["duplicate"]["can"] == MEANINGS["duplicate"].can
    assert len(rows_of(client, "?code=duplicate&page=2")) == 150


def test_a_code_of_another_version_is_shown_without_words(client: Client, two: list[Run]) -> None:
    add(two[0], code="from_tomorrow", message="who knows")
    text = text_of(client, f"{PAGE}?code=from_tomorrow")
    assert "who knows" in text and "What it means" not in text
    (row,) = rows_of(client, "?code=from_tomorrow")
    assert row["what it means"] == row["what to do"] == ""


def test_csv_is_the_page(client: Client, people: People, two: list[Run]) -> None:
    rows = rows_of(as_staff(client, people), f"?run={two[0].key}&severity=warning&code=missing_items")
    assert rows == [
        dict(
            zip(
                HEAD,
                (
                    *("warning", "missing_items", "open", two[0].key, run_path("alder"), "", ""),
                    "8 of 20 expected items have no row and count 0",
                    MEANINGS["missing_items"].means,
                    MEANINGS["missing_items"].done,
                    MEANINGS["missing_items"].can,
                ),
                strict=True,
            )
        )
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_csv_holds_no_formula(client: Client, two: list[Run], text: str) -> None:
    add(two[0], code="glued", message=text, path=text, line=3)
    (row,) = rows_of(client, "?code=glued")
    assert row["message"] == row["path"] == f"'{text}" and row["line"] == "3"


def test_only_text_is_neutralised() -> None:
    assert [neutral(cell) for cell in ("a=1", "", -3, None, "=x")] == ["a=1", "", -3, None, "'=x"]


def test_csv_with_and_without_a_byte_order_mark(client: Client, two: list[Run]) -> None:
    plain, marked = (client.get(f"/findings.csv{query}").getvalue() for query in ("", "?bom=1"))
    assert marked == b"\xef\xbb\xbf" + plain and plain.startswith(b"severity,code,")


def test_csv_is_streamed(client: Client, two: list[Run]) -> None:
    assert client.get("/findings.csv").streaming
    lines = findings_csv(AnonymousUser(), wanted({}), bom=False)
    assert next(lines).startswith("severity") and next(lines).startswith("warning")


def test_queries_do_not_grow_with_the_findings(
    client: Client, people: People, two: list[Run], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    as_staff(client, people)
    for number in range(60):
        add(two[number % 2], message=f"note {number}", code=("glued", "duplicate", "no_id")[number % 3])
    with django_assert_max_num_queries(8):
        client.get(PAGE)
    with django_assert_max_num_queries(3):
        client.get("/findings.csv").getvalue()
    with django_assert_max_num_queries(6):
        client.get("/api/v1/findings")
    with django_assert_max_num_queries(16):
        client.get(reverse("source", args=[Source.objects.get(name="open").pk]))


# --- rights (the matrix of test_rights.py tries every role) -------------------------------------------------------------


def test_strangers_see_findings_of_public_runs_alone(client: Client, two: list[Run]) -> None:
    add(None, message="about the whole tree", path="secret/place")
    text = text_of(client, PAGE)
    assert two[0].key in text and two[1].key not in text and "whole tree" not in text and "secret/place" not in text
    assert ">Source<" not in text and "/sources/" not in text
    first = Source.objects.get(name="open")
    assert rows_of(client, f"?source={first.pk}") == []
    assert {row["source"] for row in rows_of(client)} == {""}
    assert {row["source"] for row in client.get("/api/v1/findings").json()["findings"]} == {None}


def test_places_outside_the_tree_are_for_owner_and_staff(client: Client, people: People, two: list[Run]) -> None:
    Run.objects.filter(pk=two[0].pk).update(owner=people.owner)
    add(two[0], code="glued", path="../other/secret.jsonl", message="see /srv/secret/tree/file.jsonl there")
    for role, sees in (("anonymous", False), ("member", False), ("owner", True), ("staff", True)):
        own = Client()
        if role != "anonymous":
            own.force_login(people[role])
        for address in (f"{PAGE}?code=glued", "/api/v1/findings?code=glued"):
            assert ("secret" in text_of(own, address)) == sees, (role, address)
        (row,) = rows_of(own, "?code=glued")
        assert ("secret" in row["path"]) == ("secret" in row["message"]) == sees


# --- the tree as it was read --------------------------------------------------------------------------------------------


def test_each_file_with_its_fate(client: Client, people: People, tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path / "tree", {"alder": 5})
    tree.lines(run_path("smoke_alder"), ehr_rows(3))
    tree.link("ehr_bench/agentic/full1800/lost", "nowhere")
    tree.link("ehr_bench/agentic/full1800/again", "alder")
    (run,) = load(tree)
    source = Source.objects.get()
    SourceFile.objects.create(
        source=source, path="old.jsonl", physical="old.jsonl", fate="odd_fate", missing_since="2026-03-01T10:20Z"
    )
    page = reverse("source", args=[source.pk])
    text = text_of(as_staff(client, people), page)
    for words in (
        "a smoke run inside a full split",
        "the same file as",
        "target does not exist",
        "links to",
        "read from",
        "read and loaded as a run",
        f'href="/runs/{run.key}/"',
        "missing since 2026-03-01 10:20",
        "odd_fate",
        f"/findings/?source={source.pk}",
    ):
        assert words in text, words
    smoke = text_of(client, f"{page}?fate=smoke")
    assert "smoke_alder" in smoke and "old.jsonl" not in smoke
    assert "No file fits." in text_of(client, f"{page}?fate=%00")
    assert client.get(f"{page}?files=99").status_code == 200


# --- what did the retry change? -----------------------------------------------------------------------------------------


def test_change_of_right_and_wrong() -> None:
    found = change(np.array([1, 0, 0, 1, NAN, 1]), np.array([1, 1, 1, 0, 1, NAN]))
    assert (found.common, found.right_before, found.right_now, found.better, found.worse) == (4, 2, 3, 2, 1)
    assert (found.before, found.now, found.gained, found.lost) == (0.5, 0.75, 1, 1)


def test_change_of_values() -> None:
    found = change(np.array([0.5, 1.0, 0.0]), np.array([0.75, 1.0, 0.0]))
    assert found.right_before is None and found.right_now is None and (found.better, found.worse) == (1, 0)
    assert found.before == 0.5 and found.now == pytest.approx(1.75 / 3)


def test_change_with_nothing_in_common() -> None:
    found = change(np.array([NAN, 1.0]), np.array([1.0, NAN]))
    assert (found.common, found.before, found.now, found.gained, found.lost) == (0, None, None, 1, 1)
    with pytest.raises(ValueError, match="2 and 3 items"):
        change(np.zeros(2), np.zeros(3))


def archive_tree(root: Path) -> None:
    """Live run 9 of 20 right; the archived one answered 12 questions, 5 of them right."""
    tree = ehr_tree(root, {"alder": 9})
    tree.lines(f"_archive/{run_path('alder')}", ehr_rows(5, 12))


def test_an_archived_run_against_the_live_one(client: Client, people: People, tmp_path: Path) -> None:
    archive_tree(tmp_path / "tree")
    tree = ehr_tree(tmp_path / "tree", {"alder": 9})
    load(tree)
    source = Source.objects.get()
    page = reverse("source", args=[source.pk])
    text = text_of(as_staff(client, people), page)
    assert retries_table(source) is None and "--include-archived" in text and "1 archived file of" in text
    load(tree, include_archived=True)
    live, archived = Run.objects.get(state="live"), Run.objects.get(state="archived")
    (row,) = retries_table(source).rows
    assert row.group == "pair"
    texts = [cell.text for cell in row.cells]
    assert texts[1:] == [archived.key, live.key, "12", "5", "9", "4", "0", "8", "0"]
    assert archived.key in text_of(client, page)


def test_a_superseded_run_against_its_successor(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path / "tree", {"alder": 9})
    load(tree)
    tree.lines(run_path("alder"), ehr_rows(6))
    load(tree)
    (row,) = retries_table(Source.objects.get()).rows
    assert [cell.text for cell in row.cells[3:]] == ["20", "9", "6", "0", "3", "0", "0"]


def test_a_past_run_without_a_live_one_says_so(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path / "tree", {"alder": 9})
    tree.lines(f"_archive/{run_path('alder_prev')}", ehr_rows(5))
    load(tree, include_archived=True)
    (row,) = retries_table(Source.objects.get()).rows
    assert row.group == "alone" and row.cells[3].missing and "no live run" in row.cells[3].note


def test_the_configuration_says_whose_past_a_directory_is(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path / "tree", {"alder": 9})
    old = f"_archive/{run_path('alder_prev')}"
    tree.lines(old, ehr_rows(5))
    tree.text("clinboard.yaml", f"runs:\n  - path: {old}\n    model: alder\n")
    load(tree, include_archived=True)
    (row,) = retries_table(Source.objects.get()).rows
    assert [cell.text for cell in row.cells[3:]] == ["20", "5", "9", "4", "0", "0", "0"]


def test_other_gold_is_not_compared(tmp_path: Path) -> None:
    archive_tree(tmp_path / "tree")
    load(ehr_tree(tmp_path / "tree", {"alder": 9}), include_archived=True)
    archived = Run.objects.get(state="archived")
    archived.evaluations.update(gold_fingerprint="another")
    (row,) = retries_table(Source.objects.get()).rows
    assert {cell.note for cell in row.cells[3:]} == {"scored against other gold"}
