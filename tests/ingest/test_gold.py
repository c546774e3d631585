"""Gold: which benchmark, split and release a file serves, the choice among several, and gold that cannot be used."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingest.classify import classify
from ingest.gold import GoldFile, GoldShelf, given_gold, gold_file
from ingest.walk import Entry, walk
from tests.ingest.trees import Tree, answered, ehr_gold, ingest, live_case, live_results, med_document, run_path, scores

ROWS = ehr_gold({"q1": ["Alpha"], "q2": "yes"})
AGENT_ROW = {"subject_id": 7, "hadm_id": 8, "task": "diagnoses_ccs", "label": [{"name": "Made up"}]}
MM_ROW = {"qid": "ehrxqa_test_1", "task": "ehrxqa_table", "label": [{"name": "7"}], "subject_id": 3}


def gold_at(root: Path, name: str, release: str | None = None) -> GoldFile:
    entry = next(found for found in walk(root) if found.path == name)
    assert isinstance(entry, Entry)
    return gold_file(entry, classify(entry), release)


def shelf_of(tree: Tree, **files: Any) -> GoldShelf:
    """A shelf of JSON Lines gold files by stem."""
    for stem, rows in files.items():
        tree.lines(f"{stem}.jsonl", rows)
    return GoldShelf(gold_at(tree.root, f"{stem}.jsonl") for stem in files)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "gold")


# --- what a file serves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("ehr_bench.json", ""),
        ("ehr-bench.json", ""),
        ("ehr_bench_full1800.json", "full1800"),
        ("ehr-bench_full1800.json", "full1800"),
        ("ehr_bench_my-own_split.json", "my-own_split"),
        ("ClinSeek-Bench_text.json", ""),
        ("ehr_bench2.json", ""),
        ("deep/er/ehr_bench_smoke20.json", "smoke20"),
    ],
)
def test_the_stem_says_which_split(tree: Tree, name: str, split: str) -> None:
    tree.json(name, ROWS)
    gold = gold_at(tree.root, name)
    assert (gold.benchmark, gold.split, gold.release) == ("ehr-bench", split, None)


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_endings_are_no_part_of_the_stem(tree: Tree, ending: str) -> None:
    data = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    tree.bytes(f"ehr_bench_smoke20{ending}", gzip.compress(data) if ending.endswith("gz") else data)
    gold = gold_at(tree.root, f"ehr_bench_smoke20{ending}")
    assert (gold.split, [item.key for item in gold.items()]) == ("smoke20", ["q1", "q2"])


FORMS = {
    "array.json": json.dumps(ROWS),
    "indented.json": json.dumps(ROWS, indent=2),
    "object.json": json.dumps({"a": ROWS[0], "b": ROWS[1]}),
    "lines.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "lines.json": "".join(json.dumps(row) + "\n" for row in ROWS),
    "bom.jsonl": "\ufeff" + "".join(json.dumps(row) + "\r\n" for row in ROWS) + "\n\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_gold(tree: Tree, name: str) -> None:
    tree.text(name, FORMS[name])
    items = gold_at(tree.root, name).items()
    assert [(item.key, item.gold, item.cluster, dict(item.facets)["task"]) for item in items] == [
        ("q1", ["Alpha"], "990", "labevents"),
        ("q2", "yes", "991", "labevents"),
    ]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_single_question_as_a_document(tree: Tree, indent: int | None) -> None:
    tree.text("one.json", json.dumps(ROWS[0], indent=indent))
    assert [item.key for item in gold_at(tree.root, "one.json").items()] == ["q1"]


def test_ids_of_agent_ehr_gold_are_built(tree: Tree) -> None:
    rows = [AGENT_ROW, {**AGENT_ROW, "hadm_id": None}, {"subject_id": 9, "task": "transfers", "label": [{"name": "W"}]}]
    tree.json("agent_ehr_bench.json", [*rows, {**rows[2], "qid": "own", "subject_id": 10}])
    gold = gold_at(tree.root, "agent_ehr_bench.json")
    assert gold.benchmark == "agent-ehr-bench"
    assert [item.key for item in gold.items()] == [
        "diagnoses_ccs_7_8",
        "diagnoses_ccs_7",
        "transfers_9",
        "transfers_10",
    ]


def test_of_gold_rows_with_one_id_the_last_counts(tree: Tree) -> None:
    tree.json("ehr_bench.json", [ROWS[0], {**ROWS[0], "label": ["Omega"]}])
    assert [(item.key, item.gold) for item in gold_at(tree.root, "ehr_bench.json").items()] == [("q1", ["Omega"])]


def test_mm_gold_without_names_is_expected_nowhere(tree: Tree) -> None:
    rows = [MM_ROW, {**MM_ROW, "qid": "b", "label": []}, {**MM_ROW, "qid": "c", "label": [{"name": " "}]}]
    tree.lines("mm_bench.jsonl", rows)
    assert [item.scored for item in gold_at(tree.root, "mm_bench.jsonl").items()] == [True, False, False]


def test_bare_nan_in_gold_is_null(tree: Tree) -> None:
    """Rows that went through a spreadsheet hold NaN, which no database stores."""
    label = [{"name": "Made up", "seq_num": float("nan"), "more": [float("inf")]}]
    for name, text in (
        ("a.json", json.dumps([{**AGENT_ROW, "label": label}])),
        ("b.jsonl", json.dumps({**AGENT_ROW, "label": label})),
    ):
        tree.text(name, text)
        (item,) = gold_at(tree.root, name).items()
        assert item.gold == [{"name": "Made up", "seq_num": None, "more": [None]}]


# --- the choice among several -----------------------------------------------------------------------------------------


def test_a_file_for_the_split_beats_one_for_all(tree: Tree) -> None:
    shelf = shelf_of(tree, ehr_bench=ROWS, ehr_bench_smoke20=ROWS[:1])
    assert shelf.choose("ehr-bench", "v1", "smoke20").split == "smoke20"  # type: ignore[union-attr]
    assert shelf.choose("ehr-bench", "v1", "full1800").split == ""  # type: ignore[union-attr]
    assert shelf.choose("mm-bench", "v1", "full2703") is None


def test_a_stated_release_beats_an_unstated_one_and_serves_no_other(tree: Tree) -> None:
    shelf = shelf_of(tree, ehr_bench=ROWS, other=ROWS[:1])
    shelf.files[1].release = "v2"
    assert shelf.choose("ehr-bench", "v2", "full1800").release == "v2"  # type: ignore[union-attr]
    assert shelf.choose("ehr-bench", "v1", "full1800").release is None  # type: ignore[union-attr]


def test_several_gold_files_that_differ_are_refused_by_name(tree: Tree) -> None:
    shelf = shelf_of(tree, ehr_bench=ROWS, text=ROWS[:1])
    with pytest.raises(ValueError, match=r"ehr_bench\.jsonl, text\.jsonl"):
        shelf.choose("ehr-bench", "v1", "full1800")


def test_copies_of_one_gold_are_one(tree: Tree) -> None:
    shelf = shelf_of(tree, ehr_bench=ROWS, copy=ROWS[::-1])
    assert shelf.choose("ehr-bench", "v1", "full1800") is shelf.files[0]


LIVE = {"a": [live_case("PMC1", "AB")], "b": [live_case("PMC2", "AB")]}


def test_liveclin_gold_is_told_by_ids(tree: Tree) -> None:
    shelf = shelf_of(tree, **LIVE, both=[*LIVE["a"], live_case("PMC3", "A")])
    assert shelf.choose("liveclin", "r", "full", {"PMC2:0"}).path == "b.jsonl"  # type: ignore[union-attr]
    assert shelf.choose("liveclin", "r", "full", {"PMC1:0", "PMC3:0"}).path == "both.jsonl"  # type: ignore[union-attr]
    assert shelf.choose("liveclin", "r", "full", {"PMC9:0"}) is None
    with pytest.raises(ValueError, match=r"a\.jsonl, both\.jsonl"):
        shelf.choose("liveclin", "r", "full", {"PMC1:0"})


def test_a_file_may_be_named_for_its_release(tree: Tree) -> None:
    shelf = shelf_of(tree, liveclin_2025_H1=LIVE["a"], liveclin_2025_H2=LIVE["a"])
    assert shelf.choose("liveclin", "2025_H2", "full", {"PMC1:0"}).path == "liveclin_2025_H2.jsonl"  # type: ignore[union-attr]
    assert shelf.choose("liveclin", "2024_H1", "full", {"PMC1:0"}) is None


# --- gold named on the command line -----------------------------------------------------------------------------------


def test_a_folder_gives_all_its_gold_and_a_file_only_itself(tree: Tree) -> None:
    tree.json("ehr_bench.json", ROWS)
    tree.lines("deep/mm_bench.jsonl", [MM_ROW])
    tree.text("README.md", "nothing")
    tree.json("odd.json", {"hello": "world"})
    assert {gold.path for gold in given_gold(None, tree.root)} == {"ehr_bench.json", "deep/mm_bench.jsonl"}
    (only,) = given_gold("v7", tree.root / "ehr_bench.json")
    assert (only.path, only.release) == ("ehr_bench.json", "v7")


def test_a_named_link_is_followed_wherever_it_leads(tree: Tree, tmp_path: Path) -> None:
    Tree(tmp_path / "far").json("ehr_bench.json", ROWS)
    tree.link("ehr_bench_smoke20.json", tmp_path / "far" / "ehr_bench.json")
    (gold,) = given_gold(None, tree.root / "ehr_bench_smoke20.json")
    assert (gold.split, len(gold.items())) == ("smoke20", 2)


@pytest.mark.parametrize("name", ["empty", "odd.json", "damaged.json.gz", "nowhere", "cut.json"])
def test_what_is_no_gold_is_refused_by_name(tree: Tree, name: str) -> None:
    (tree.root / "empty").mkdir()
    tree.json("odd.json", {"hello": "world"})
    tree.bytes("damaged.json.gz", gzip.compress(os.urandom(999))[:500])
    tree.text("cut.json", json.dumps(ROWS)[:-20])
    with pytest.raises(ValueError, match=name) as refused:
        list(given_gold(None, tree.root / name))
    assert str(refused.value).startswith("--gold ") and "\n" not in str(refused.value)


# --- gold that cannot be used: row, field and value, and nothing loaded -----------------------------------------------

BAD_ROWS = [
    ({"task": None}, "gold row 2: task is None"),
    ({"task": ""}, "gold row 2: task is ''"),
    ({"subject_id": None}, "gold row 2: subject_id is None"),
    ({"label": None}, "gold row 2: label is None"),
    ({"label": 3}, "gold row 2: label is 3"),
    ({"label": {"name": "x"}}, "gold row 2: label is {'name': 'x'}"),
    ({"qid": "x" * 301}, "301 characters"),
    ({"qid": "a\x00b"}, "U+0000"),
    ({"qid": "a\ud800b"}, "U+D800"),
    ({"label": ["a\x00b"]}, "U+0000"),
    ({"label": ["a\udfffb"]}, "U+DFFF"),
    ({"task": "x" * 501}, "501 characters"),
    ({"label": ["x"], "subject_id": "s" * 301}, "301 characters"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("change", "told"), BAD_ROWS, ids=[told for _, told in BAD_ROWS])
def test_a_bad_gold_row_is_named_and_nothing_is_loaded(tree: Tree, change: dict[str, Any], told: str) -> None:
    tree.json("gold/ehr_bench.json", [ROWS[0], {**ROWS[1], **change}])
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    tree.lines("gold/dataset.jsonl", [live_case("PMC1", "AB")])
    tree.json("live.json", live_results("aster", {"PMC1": "AB"}))
    result = ingest(tree)
    (finding,) = result.findings("bad_gold")
    assert told in finding["message"] and finding["severity"] == "error"
    assert "ehr_bench.json" in finding["path"] + finding["message"]
    assert result.code == 1
    assert (result.runs.keys(), result.not_runs) == ({"live.json"}, {run_path("glm_4_7"): "no_gold"})
    assert scores().keys() == {"aster"}


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["🫀", ["naïve", "Grüße", "模型"], [{"name": "x", "n": 10**30}], ["\\u0000 typed"]])
def test_odd_but_sound_gold_is_stored(tree: Tree, label: Any) -> None:
    tree.json("gold/ehr_bench.json", [{**ROWS[0], "label": label}])
    answer = label if isinstance(label, str) else label[0]["name"] if isinstance(label[0], dict) else label[0]
    tree.lines(run_path("glm_4_7"), [answered("q1", answer)])
    for _ in range(2):
        result = ingest(tree)
        assert (result.code, result.codes) == (0, {"split_size"})
    assert scores()["glm_4_7"][1, "precision", "", "overall", ""]["value"] == 1.0


@pytest.mark.django_db
def test_two_gold_files_for_one_split_load_nothing(tree: Tree) -> None:
    tree.json("gold/ehr_bench.json", ROWS)
    tree.json("gold/text.json", ROWS[:1])
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    result = ingest(tree)
    (finding,) = result.findings("bad_gold")
    assert "gold/ehr_bench.json, gold/text.json" in finding["message"]
    assert (result.code, result.not_runs) == (1, {run_path("glm_4_7"): "no_gold"})


@pytest.mark.django_db
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_gold_that_differs_from_the_loaded_release_is_an_error(tree: Tree, dry: list[str]) -> None:
    tree.json("gold/ehr_bench.json", ROWS)
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    first = ingest(tree)
    before = scores()
    tree.json("gold/ehr_bench.json", [{**ROWS[0], "label": ["Omega"]}, ROWS[1]])
    tree.lines(run_path("kimi_k2_5"), [answered("q1", "alpha")])
    result = ingest(tree, *dry)
    (finding,) = result.findings("gold_differs")
    assert finding["severity"] == "error" and "--release" in finding["message"]
    assert (result.code, result.runs) == (1, {})
    assert set(result.not_runs.values()) == {"no_gold"}
    assert scores() == before, "what was loaded under the old gold stays as it is"
    if not dry:
        other = ingest(tree, "--release", "v1b")
        assert {run["release"] for run in other.runs.values()} == {"v1b"}
        assert first.runs[run_path("glm_4_7")]["id"] not in {run["id"] for run in other.runs.values()}


@pytest.mark.django_db
def test_an_item_with_other_gold_in_another_split_is_an_error(tree: Tree) -> None:
    tree.json("gold/ehr_bench.json", ROWS)
    tree.json("gold/ehr_bench_smoke20.json", [{**ROWS[0], "label": ["Omega"]}])
    for split in ("full1800", "smoke20"):
        tree.lines(run_path("glm_4_7", split=split), [answered("q1", "alpha")])
    result = ingest(tree)
    (finding,) = result.findings("gold_differs")
    assert "'q1'" in finding["message"] and "another split" in finding["message"]
    assert result.runs.keys() == {run_path("glm_4_7")}


@pytest.mark.django_db
def test_rows_in_another_order_are_the_same_gold(tree: Tree) -> None:
    tree.json("gold/ehr_bench.json", ROWS)
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    ingest(tree)
    tree.json("gold/ehr_bench.json", ROWS[::-1])
    result = ingest(tree)
    assert (result.code, result.runs[run_path("glm_4_7")]["state"]) == (0, "unchanged")


@pytest.mark.django_db
def test_a_release_or_split_name_that_is_too_long_is_told(tree: Tree) -> None:
    tree.json("gold/ehr_bench.json", ROWS)
    tree.lines(run_path("glm_4_7", split="s" * 101), [answered("q1", "alpha")])
    (finding,) = ingest(tree).findings("bad_gold")
    assert "101 characters" in finding["message"]
    result = ingest(tree, "--release", "r" * 101)
    assert result.findings("bad_gold") and result.code == 1


@pytest.mark.django_db
def test_what_gold_is_at_hand_is_told_where_none_fits(tree: Tree) -> None:
    tree.json("gold/ehr_bench_smoke20.json", ROWS)
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    (finding,) = ingest(tree).findings("gold_missing")
    assert "gold/ehr_bench_smoke20.json" in finding["message"]


@pytest.mark.django_db
def test_scored_files_of_a_second_model_extend_what_stands_for_the_dataset(tmp_path: Path) -> None:
    """Without the dataset the items come from all scored files: a wider one moves no answer of an earlier run."""
    tree = Tree(tmp_path / "med")
    tree.json("aster/run1_score.json", med_document({(1, 1): 5, (2, 1): 1}))
    ingest(tree)
    tree.json("aardvark/run1_score.json", med_document({(3, 1): 5, (1, 1): 5, (2, 1): 5}))
    result = ingest(tree)
    assert {run["expected_items"] for run in result.runs.values()} == {3}
    found = scores()
    for model, share in (("aster", (0.5, 2)), ("aardvark", (1.0, 3))):
        row = found[model][1, "usability_rate", "", "overall", ""]
        assert (row["value"], row["n"]) == share
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}
