"""The run page and its document: provenance, what is hidden from whom, counts, scores and stored summaries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Run
from ingest.models import Finding, Source
from leaderboard.evaluators import current_evaluations
from leaderboard.runs import inside, public_text, run_page
from leaderboard.scores import in_order, score_tables
from tests.conftest import People
from tests.ingest.trees import answered, run_path
from tests.leaderboard.worlds import QUESTIONS, ehr_rows, ehr_tree, live_tree, load

NOWHERE_ELSE = "secret_disk"


@pytest.fixture
def outside(tmp_path: Path, people: People) -> Run:
    """A run whose directory is a link to a place outside the tree, by an absolute path."""
    tree = ehr_tree(tmp_path / "tree", {"birch": 3})
    away = ehr_tree(tmp_path / NOWHERE_ELSE, {"alder": 5}).root / "ehr_bench/agentic/full1800/alder"
    os.symlink(away, tree.root / "ehr_bench/agentic/full1800/alder")
    load(tree, allow_outside=[str(tmp_path)], owner=people.owner)
    return Run.objects.get(model_name="alder")


def page(run: Run, person: Any = None) -> str:
    client = Client()
    if person is not None and person.is_authenticated:
        client.force_login(person)
    return client.get(run.get_absolute_url()).content.decode()


@pytest.mark.parametrize("role", ["anonymous", "member", "mate", "stranger"])
def test_places_outside_the_tree_are_not_for_everybody(outside: Run, people: People, role: str) -> None:
    text = page(outside, people[role])
    assert NOWHERE_ELSE not in text and "a place outside the tree" in text
    client = Client()
    if role != "anonymous":
        client.force_login(people[role])
    answer = client.get(f"/api/v1/runs/{outside.key}")
    assert NOWHERE_ELSE not in answer.content.decode()
    document = answer.json()
    assert document["physical"] is None and document["files"][0]["chain"][0][1] is None
    assert document["path"] == "ehr_bench/agentic/full1800/alder/results.jsonl"


@pytest.mark.parametrize("role", ["owner", "staff"])
def test_the_owner_and_staff_see_where_the_file_lies(outside: Run, people: People, role: str) -> None:
    assert NOWHERE_ELSE in page(outside, people[role])
    client = Client()
    client.force_login(people[role])
    assert NOWHERE_ELSE in client.get(f"/api/v1/runs/{outside.key}").json()["physical"]


def test_links_inside_the_tree_are_everybodys(tmp_path: Path, db: None) -> None:
    tree = ehr_tree(tmp_path, {})
    tree.lines("raw/alder_1/results.jsonl", ehr_rows(5))
    tree.link("ehr_bench/agentic/full1800/alder", "../../../raw/alder_1")
    (run,) = load(tree)
    text = page(run)
    assert "../../../raw/alder_1" in text and "raw/alder_1/results.jsonl" in text


def test_messages_lose_paths_and_addresses_for_others(outside: Run, people: People) -> None:
    told = "cannot be read: /srv/secret_disk/x.json at http://10.0.0.7:8000/v1"
    source = Source.objects.get(name="tree")
    Finding.objects.create(
        source=source, last_pass=source.passes.get(), run=outside, severity="warning", code="bad_json", message=told
    )
    assert "cannot be read: (path) at (address)" in page(outside)
    assert "10.0.0.7" not in page(outside) and "10.0.0.7" in page(outside, people.owner)


def test_what_was_stated_beyond_the_known_words_is_not_shown(outside: Run) -> None:
    Run.objects.update(protocol={"decoding": "temperature 0", "api_base": "http://10.0.0.7:8000/v1"})
    assert "temperature 0" in page(outside) and "10.0.0.7" not in page(outside)
    assert "10.0.0.7" not in Client().get(f"/api/v1/runs/{outside.key}").content.decode()


def test_counts_with_their_meaning(tmp_path: Path, db: None) -> None:
    tree = ehr_tree(tmp_path, {})
    good = ehr_rows(5, 17)
    tree.lines(run_path("alder"), [*good, good[0], answered("q01", "other"), answered("never_seen", "x")])
    with (tree.root / run_path("alder")).open("a") as file:
        file.write('{"qid": "q19", broken\n\n')
    (run,) = load(tree)
    counts = {label: value for label, value, _ in run_page(run, AnonymousUser())["counts"]}
    assert counts == {
        "Rows": "20",
        "Expected": "20",
        "Missing": "3",
        "Broken lines": "1",
        "Unknown": "1",
        "Twins": "1",
        "Conflicts": "1",
    }
    text = page(run)
    assert "line 21, byte" in text
    document = Client().get(f"/api/v1/runs/{run.key}").json()
    assert (document["rows"], document["missing"], document["malformed"], document["extra"]) == (20, 3, 1, 1)
    assert (document["duplicates_same"], document["duplicates_conflicting"]) == (1, 1)
    assert document["files"][0]["lines"] == 22 and document["files"][0]["blank"] == 1


def test_a_stored_summary_stands_beside_ours(tmp_path: Path, db: None) -> None:
    tree = ehr_tree(tmp_path, {"alder": 10, "birch": 5})
    block = {"f1": 0.5, "precision": 0.5, "recall": 0.5, "total": 20, "completed": 20}
    for model, f1 in (("alder", 0.5), ("birch", 0.3)):
        document = {"overall": {**block, "f1": f1}, "per_task": {}, "per_task_type": {}}
        tree.json(f"ehr_bench/agentic/full1800/{model}/scores.json", document)
    alder, birch = load(tree)
    assert "✓ agrees" in page(alder) and "≠ differs" not in page(alder)
    assert "≠ differs" in page(birch) and "0.0500" in page(birch)


def test_superseded_and_archived_are_said_first(tmp_path: Path, people: People) -> None:
    tree = ehr_tree(tmp_path, {"alder": 5})
    (old,) = load(tree)
    tree.lines(run_path("alder"), ehr_rows(6))
    (new,) = load(tree)
    old.refresh_from_db()
    assert old.state == "superseded" and new.get_absolute_url() in page(old)
    assert "Superseded" in page(old) and "Superseded" not in page(new)
    Run.objects.filter(pk=new.pk).update(visibility="private", owner=people.owner)
    assert new.key not in page(old, people.stranger)
    assert Client().get(f"/api/v1/runs/{old.key}").json()["superseded_by"] is None
    Run.objects.filter(pk=old.pk).update(state="archived")
    assert "Archived" in page(old)


def test_a_run_that_is_not_scored_says_so(tmp_path: Path, db: None) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 5}))
    Evaluation.objects.all().delete()
    assert "There are no scores of it yet" in page(run)


def test_only_public_runs_are_for_search_engines(tmp_path: Path, people: People) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 5}), "team", owner=people.owner, team=people.team)
    assert '<meta name="robots" content="noindex">' in page(run, people.mate)
    Run.objects.update(visibility="public")
    assert "noindex" not in page(run)


def test_every_score_has_its_table(tmp_path: Path, db: None) -> None:
    (run,) = load(live_tree(tmp_path, {"a": ("alder", ["AB"] * 3 + ["AC"] * 2)}))  # three cases have no row
    evaluation = current_evaluations(run)[0]
    tables = {table.key: table for table, _ in score_tables(run, evaluation, BENCHMARKS["liveclin"])}
    assert {"overall", "icd_chapter", "rarity", "stage", "stage_text", "position"} <= tables.keys()
    overall = {row.key: row.cells for row in tables["overall"].rows}
    assert [overall["case_accuracy"][1].text, overall["case_accuracy"][3].text] == ["37.5", "60.0"]
    position = [row.cells[0].text for row in tables["position"].rows]
    assert position == ["Q1", "Q2"]
    assert [cell.text for cell in tables["position"].rows[1].cells[1:2]] == ["37.5"]
    assert "The rows add up to all 16." in tables["position"].notes


def test_several_repeats_have_a_table_of_their_own(tmp_path: Path, db: None) -> None:
    tree = ehr_tree(tmp_path, {})
    tree.lines(run_path("alder"), [row for n in (1, 2) for row in ehr_rows(8 + n, run_index=n)])
    (run,) = load(tree)
    tables = {table.key: table for table, _ in score_tables(run, run.evaluations.get(), BENCHMARKS["ehr-bench"])}
    assert [row.cells[1].text for row in tables["repeats"].rows] == ["45.0", "50.0"]
    assert tables["overall"].rows[0].cells[1].text == "47.5"


def test_long_tables_are_folded(tmp_path: Path, db: None) -> None:
    tree = ehr_tree(tmp_path, {"alder": 5})
    gold = [
        {"qid": question, "subject_id": n, "task": f"task_{n}", "task_type": "decision_making", "label": ["Alpha"]}
        for n, question in enumerate(QUESTIONS)
    ]
    tree.json("gold/ehr_bench.json", [*gold, {**gold[0], "qid": "q20", "task": "task_20"}])
    (run,) = load(tree)
    assert page(run).count('<details class="fold">') == 1


def test_other_repeats_are_linked(tmp_path: Path, db: None) -> None:
    one, two = load(live_tree(tmp_path, {f"alder_run{n}": ("alder", ["AB"] * 8) for n in (1, 2)}))
    assert two.get_absolute_url() in page(one) and one.get_absolute_url() in page(two)


@pytest.mark.parametrize(
    ("path", "folder", "is_inside"),
    [
        ("a/b.json", "", True),
        ("../b.json", "", False),
        ("../b.json", "a", True),
        ("../../b.json", "a", False),
        ("a/../../b", "", False),
        ("/data/b.json", "a", False),
        ("C:\\data", "", False),
        ("~/data", "", False),
        ("..b/c", "", True),
    ],
)
def test_inside(path: str, folder: str, is_inside: bool) -> None:
    assert inside(path, folder) is is_inside


@given(st.text(), st.lists(st.text("abc.-_", min_size=1), min_size=2, max_size=4))
def test_no_absolute_path_is_left_in_a_message(before: str, parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert path not in public_text(f"{before.replace('/', ' ')} {path}")


def test_facets_in_their_natural_order() -> None:
    assert in_order(["Chapter 14: x", "Chapter 2: y"]) == ["Chapter 2: y", "Chapter 14: x"]
    assert in_order(["MR", "MK", "2nd"]) == ["MR", "MK", "2nd"]
    assert in_order([]) == []
