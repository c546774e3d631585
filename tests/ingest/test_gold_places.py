"""What is kept of gold beside its items: counts of what the file holds, and where it was read."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from evaluation.models import Split
from ingest.figures import figure, lies_there
from ingest.models import GoldPlace
from tests.ingest.trees import Tree, ingest, live_case, live_results, med_document, small_tree, tables

pytestmark = pytest.mark.django_db
PNG = b"\x89PNG\r\n\x1a\n"


def live_tree(root: Path) -> Tree:
    tree = Tree(root)
    tree.json("aster.json", live_results("aster", {"PMC1": "AB"}))
    return tree


def dataset(*files: str) -> list:
    case = live_case("PMC1", "AB")
    case["exam_creation"]["final_policy"]["mcqs"][0]["image_details"] = [{"file": file} for file in files]
    return [case]


def images() -> tuple[int, int]:
    counts = Split.objects.get().gold_counts
    return counts["images_there"], counts["images"]


@pytest.mark.parametrize("form", ["lines", "array", "packed"])
def test_the_place_of_gold_is_kept_with_the_hash_of_its_bytes(tmp_path: Path, form: str) -> None:
    tree, rows = live_tree(tmp_path / "results"), dataset("a.png")
    name, data = {
        "lines": ("dataset.jsonl", json.dumps(rows[0]).encode() + b"\n"),
        "array": ("dataset.json", json.dumps(rows, indent=1).encode()),
        "packed": ("dataset.jsonl.gz", gzip.compress(json.dumps(rows[0]).encode())),
    }[form]
    place = Tree(tmp_path / "lab").bytes(f"deep/{name}", data)
    assert ingest(tree, "--gold", tmp_path / "lab").code == 0
    kept = GoldPlace.objects.get()
    assert (kept.path, kept.place) == (f"deep/{name}", str(place.resolve()))
    assert (kept.size, kept.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert kept.modified_at.timestamp() == pytest.approx(place.stat().st_mtime, abs=1e-3)
    assert Split.objects.get().gold_counts["questions"] == 2


def test_gold_in_a_tree_and_gold_without_a_counter(tmp_path: Path) -> None:
    ingest(small_tree(tmp_path / "ehr"))
    kept = GoldPlace.objects.get()
    assert (kept.path, kept.place) == ("gold/ehr_bench.json", str(tmp_path.resolve() / "ehr/gold/ehr_bench.json"))
    assert Split.objects.get().gold_counts == {}


def test_scored_files_in_place_of_the_dataset_are_no_gold(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("aster/run1_score.json", med_document({(1, 1): 5}))
    ingest(tree)
    assert Split.objects.get().gold_missing and not GoldPlace.objects.exists()


def test_counts_are_made_again_with_every_reading(tmp_path: Path) -> None:
    tree, lab = live_tree(tmp_path / "results"), Tree(tmp_path / "lab")
    gold = lab.lines("dataset.jsonl", dataset("a.png", "b.png"))
    lab.bytes("image/a.png", b"")
    ingest(tree, "--gold", gold)
    assert images() == (1, 2)
    before = tables()
    assert ingest(tree, "--gold", gold).document["rows_loaded"] == 0 and tables() == before
    lab.bytes("figures/b.png", b"")
    assert ingest(tree, "--gold", gold, "--dry-run").code == 0 and tables() == before
    assert ingest(tree, "--gold", gold).runs["aster.json"]["state"] == "unchanged"
    assert images() == (2, 2)
    lab.lines("dataset.jsonl", dataset("a.png", "b.png", "c.png"))
    ingest(tree, "--gold", gold)
    assert images() == (2, 3)
    assert GoldPlace.objects.get().sha256 == hashlib.sha256(gold.read_bytes()).hexdigest()
    ingest(tree)  # without gold at hand what was counted stays
    assert images() == (2, 3)


def test_the_last_copy_that_was_read_counts(tmp_path: Path) -> None:
    tree = live_tree(tmp_path / "results")
    for name in ("one", "two"):
        ingest(tree, "--gold", Tree(tmp_path / name).lines("dataset.jsonl", dataset("a.png")))
        assert GoldPlace.objects.get().place == str(tmp_path.resolve() / name / "dataset.jsonl")


def test_gold_that_is_refused_changes_no_count_and_no_place(tmp_path: Path) -> None:
    tree = live_tree(tmp_path / "results")
    ingest(tree, "--gold", Tree(tmp_path / "one").lines("dataset.jsonl", dataset("a.png")))
    before = tables()
    other = dataset("a.png", "b.png")
    other[0]["exam_creation"]["final_policy"]["mcqs"][1]["correct_answer"] = "C"
    result = ingest(tree, "--gold", Tree(tmp_path / "two").lines("dataset.jsonl", other))
    assert result.findings("gold_differs")
    after = tables()
    assert {name: after[name] for name in ("ingest.GoldPlace", "evaluation.Split")} == {
        name: before[name] for name in ("ingest.GoldPlace", "evaluation.Split")
    }


def test_what_counts_as_there_is_what_a_page_would_show(tmp_path: Path) -> None:
    lab = Tree(tmp_path / "lab")
    lab.bytes("a.png", PNG)
    lab.bytes("images/deep/b.png", PNG)
    lab.bytes("inside.png", PNG)
    lab.link("image/c.png", "../inside.png")
    Tree(tmp_path).bytes("far.png", PNG)
    lab.link("figures/far.png", "../../far.png")
    (tmp_path / "lab/folder.png").mkdir()
    folder = str(tmp_path.resolve() / "lab")
    odd = ("far.png", "../far.png", str(tmp_path / "far.png"), "folder.png", "none.png", "", "\0", "\ud800", "x" * 301)
    for file in ("a.png", "deep/b.png", "c.png", *odd):
        assert lies_there(folder, file) == (figure(folder, file) is not None) == (file not in odd), file
