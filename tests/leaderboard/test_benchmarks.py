"""Pages of benchmarks and releases: counted sizes beside stated ones, gold checks, what is told to whom."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.test import Client

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.about import StatedSize
from evaluation.items import load_items
from evaluation.models import Split
from leaderboard.benchmarks import (
    UNCOUNTED,
    Counts,
    benchmark_page,
    count_splits,
    gold_checks,
    release_page,
    sizes_table,
)
from tests.ingest.trees import SHARED, Tree, answered, ehr_gold, live_case, live_results, run_path
from tests.leaderboard.worlds import ehr_tree, load

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


@pytest.fixture
def live(tmp_path: Path) -> Split:
    cases = [
        live_case(f"PMC{number}", "AB" if number else "ABJ", Rarity="rare" if number < 3 else "unrare")
        for number in range(5)
    ]
    tree = Tree(tmp_path)
    tree.lines("dataset.jsonl", cases)
    tree.json("aster.json", live_results("aster", {f"PMC{number}": "AB" for number in range(1, 5)}))
    (run,) = load(tree)
    return run.split


def test_counts_by_a_plain_twin(live: Split) -> None:
    spec = BENCHMARKS["liveclin"]
    counts = count_splits([live], spec)["full"]
    items = load_items(live).specs
    assert (counts.items, counts.scored) == (len(items), sum(item.scored for item in items)) == (11, 11)
    assert counts.cases == len({item.case for item in items}) == 5
    assert counts.clusters == len({item.cluster for item in items})
    pairs = Counter(pair for item in items for pair in set(item.facets))
    for dimension in {dimension for dimension, _ in pairs}:
        plain = {name: n for (own, name), n in pairs.items() if own == dimension}
        assert {name: n for name, (n, _) in counts.facets[dimension].items()} == plain
        for name, (_, cases) in counts.facets[dimension].items():
            assert cases == len({item.case for item in items if (dimension, name) in item.facets})
    assert counts.of(("cases", "rarity", "rare")) == 3 and counts.of(("items", "rarity", "rare")) == 7
    assert counts.of(("facets", "rarity")) == 2 and counts.of(("cases", "rarity", "common")) == 0
    assert counts.of(()) is None and counts.of(("facets", "nothing")) is None


def test_both_sources_stand_beside_what_is_counted(live: Split, client: Client) -> None:
    spec = BENCHMARKS["liveclin"]
    table = benchmark_page(spec, NOBODY)["sizes"]
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    assert [row[2] for row in rows if row[0] == "Disease clusters"] == ["72", "48"]
    assert [row[2] for row in rows if row[0] == "Images"] == ["3,757", "2,970"]
    assert ["Cases", "full", "1,407", "encyclopaedia entry and repository", "5", "−1,402"] in rows
    assert [row[4:] for row in rows if row[0] == "Images"] == [["0", "−3,757"], ["0", "−2,970"]]
    # what was not counted, and a split that is not loaded, are no zeros
    assert all(row[4:] == ["–", "–"] for row in rows if row[1] == "demo")
    Split.objects.update(gold_counts={})
    table = benchmark_page(spec, NOBODY)["sizes"]
    cells = [row.cells[4] for row in table.rows if row.cells[0].text in ("Images", "Tables")]
    assert {(cell.text, cell.note) for cell in cells} == {("–", UNCOUNTED)} and len(cells) == 3
    page = client.get("/benchmarks/liveclin/").content.decode()
    assert "72" in page and "CC BY-NC-SA 4.0" in page and "2602.16747" in page and live.fingerprint in page


def test_equal_sizes_differ_by_nothing_and_an_empty_split_counts_nothing() -> None:
    spec = BENCHMARKS["liveclin"]
    size = StatedSize("Cases", 5, "somebody", "full", ("cases",))
    (row,) = sizes_table(spec, [size], {"full": Counts(items=11, cases=5)}).rows  # type: ignore[union-attr]
    assert row.cells[5].text == "0"
    (row,) = sizes_table(spec, [size], {"full": Counts()}).rows  # type: ignore[union-attr]
    assert row.cells[4].missing and row.cells[4].note == "this split is not loaded here"
    assert sizes_table(spec, [], {}) is None


def test_gold_checks(live: Split, tmp_path: Path) -> None:
    spec = BENCHMARKS["liveclin"]
    found = {name: (state, words) for name, state, words in gold_checks(live, count_splits([live], spec)["full"], spec)}
    assert found["The gold is one letter from A to J"] == ("met", "11 of 11 questions")
    assert found["Ten options a question, A to J"] == ("not met", "0 of 11 questions")
    assert found["Every image is there"] == ("met", "0 of 0 images beside the dataset")
    tree = Tree(tmp_path / "ehr")
    tree.json("gold/ehr_bench.json", ehr_gold({"q1": ["Alpha"], "q2": []}))
    tree.lines(run_path("alder"), [answered("q1", "alpha"), answered("q2", "alpha")])
    (run,) = load(tree)
    ehr = BENCHMARKS["ehr-bench"]
    (check,) = gold_checks(run.split, count_splits([run.split], ehr)["full1800"], ehr)
    assert check[1:] == ("not met", "1 of 2 questions")


def test_points_that_were_counted_when_the_gold_was_read(tmp_path: Path, client: Client) -> None:
    """Named with --gold, pictures beside it; counted again with every ingest; the page never says where it lies."""
    case = live_case("PMC1", "AB")
    for number, mcq in enumerate(case["exam_creation"]["final_policy"]["mcqs"]):
        mcq |= {
            "options": dict.fromkeys("ABCDEFGHIJ", "x"),
            "image_details": [{"file": f"f{number}.png", "type": "CT"}],
        }
    hidden, tree = Tree(tmp_path / "lab"), Tree(tmp_path / "results")
    dataset = hidden.lines("dataset.jsonl", [case])
    hidden.bytes("images/f0.png", b"never read")
    tree.json("aster.json", live_results("aster", {"PMC1": "AB"}))

    def checks() -> dict[str, tuple[str, str]]:
        text = client.get("/benchmarks/liveclin/2025_H1/").content.decode()
        assert str(tmp_path) not in text and "dataset.jsonl" not in text
        page = release_page(BENCHMARKS["liveclin"], "2025_H1", NOBODY)
        assert page and all(words in text for _, _, words in page["splits"][0]["checks"])
        return {name: (state, words) for name, state, words in page["splits"][0]["checks"]}

    load(tree, gold=[(None, dataset)])
    found = checks()
    assert found["Ten options a question, A to J"] == ("met", "2 of 2 questions")
    assert found["The right letter is among the options"] == ("met", "2 of 2 questions")
    assert found["Every image is there"] == ("not met", "1 of 2 images beside the dataset")
    hidden.bytes("f1.png", b"come later")
    load(tree, gold=[(None, dataset)])
    assert checks()["Every image is there"] == ("met", "2 of 2 images beside the dataset")
    Split.objects.update(gold_counts={})  # read by an older version
    old = checks()
    assert old["Every image is there"] == old["Ten options a question, A to J"] == ("not checked", UNCOUNTED)
    assert old["The gold is one letter from A to J"] == ("met", "2 of 2 questions")
    load(tree, gold=[(None, dataset)])
    assert checks()["Every image is there"][0] == "met"


def test_a_release_page(live: Split, client: Client, django_assert_max_num_queries: Any) -> None:
    cache.clear()
    with django_assert_max_num_queries(10):
        page = client.get("/benchmarks/liveclin/2025_H1/")
    with django_assert_max_num_queries(2):
        assert client.get("/benchmarks/liveclin/2025_H1/").content == page.content
    with django_assert_max_num_queries(10):
        client.get("/benchmarks/liveclin/")
    text = page.content.decode()
    assert live.fingerprint in text and "2025-06" in text and "Clinical stage" in text
    for wrong in ("/benchmarks/liveclin/2031_H1/", "/benchmarks/nothing/", "/benchmarks/nothing/v1/"):
        assert client.get(wrong).status_code == 404


def test_a_hidden_split_moves_nothing(tmp_path: Path, client: Client) -> None:
    """A private run brings a split of a release that is public: neither page of the release changes by a byte."""
    load(ehr_tree(tmp_path / "open", {"openly": 10}))
    addresses = ("/benchmarks/ehr-bench/", "/benchmarks/ehr-bench/v1/")
    before = [client.get(address).content for address in addresses]
    load(ehr_tree(tmp_path / "hidden", {"hidden": 12}, split="smoke20"), "private")
    assert Split.objects.filter(name="smoke20").exists()
    assert [client.get(address).content for address in addresses] == before


@pytest.mark.parametrize("slug", BENCHMARKS)
def test_every_benchmark_has_a_page_before_anything_is_loaded(client: Client, slug: str) -> None:
    page = client.get(f"/benchmarks/{slug}/")
    assert page.status_code == 200 and b"No release of it has a board yet." in page.content
    assert release_page(BENCHMARKS[slug], BENCHMARKS[slug].about.release, NOBODY) is None


def stated(slug: str, what: str) -> dict[str, int]:
    return {
        size.source: size.value for size in BENCHMARKS[slug].about.sizes if size.what == what and size.split != "demo"
    }


def test_stated_sizes_are_those_of_the_published_facts() -> None:
    folder = SHARED / "published"
    if not folder.is_dir():
        pytest.skip("the published figures are not there")
    live = json.loads((folder / "liveclin_2025_H1.json").read_text())["facts"]
    for what, key in (("Images", "images"), ("Disease clusters", "clusters")):
        assert stated("liveclin", what) == {"encyclopaedia entry": live[key]["card"], "README": live[key]["readme"]}
    plain = {
        "Cases": "cases",
        "Questions": "questions",
        "ICD-10 chapters": "chapters",
        "Tables": "tables",
        "Rare cases": "rare",
    }
    for what, key in plain.items():
        assert set(stated("liveclin", what).values()) == {live[key]}
    assert set(stated("liveclin", "Cases that are not rare").values()) == {live["unrare"]}
    med = json.loads((folder / "llmeval_med.json").read_text())["facts"]
    assert set(stated("llmeval-med", "Questions").values()) == {
        med["questions_in_dataset_file"],
        med["questions_in_paper_text"],
    }
    for code, n in med["categories"].items():
        assert set(stated("llmeval-med", f"Questions of {code}").values()) == {n}


@pytest.mark.parametrize("slug", BENCHMARKS)
def test_what_is_declared_can_be_counted(slug: str) -> None:
    """Every place that a size names is a dimension of the benchmark; no source says one thing twice."""
    spec = BENCHMARKS[slug]
    counted = spec.counter().counts(lambda file: False) if spec.counter else {}
    for size in spec.about.sizes:
        assert len(size.count) in (0, 1) or size.count[1] in (counted if size.count[0] == "gold" else spec.dimensions)
        assert size.count == () or size.count[0] in ("items", "scored", "cases", "clusters", "facets", "gold")
    for check in spec.about.gold_checks:
        assert (check.fits is None) == (check.counted is not None) == bool(check.words)
        assert set(check.counted or ()) <= set(counted)
    said = Counter((size.what, size.split, size.source, size.note) for size in spec.about.sizes)
    assert set(said.values()) == {1}
    assert spec.about.layers and spec.about.fit and spec.about.not_fit and spec.about.protocol
