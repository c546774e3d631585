"""`--labels`: reading the file, what it refuses, and own dimensions through the commands and on the run page."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import Evaluation, Facet, Item, Labelling, Run, Split
from evaluation.protocols.aggregate import facet_groups
from evaluation.protocols.base import ItemSpec
from ingest import strict_rows
from ingest.labels import LONGEST, LabelsError, LabelsFile, load
from ingest.strict_rows import MOST_PROBLEMS
from tests.ingest.trees import (
    Row,
    Tree,
    answered,
    called,
    ehr_gold,
    ingest,
    live_case,
    live_results,
    med_document,
    run_path,
    scores,
    small_tree,
    tables,
)

HEADER = "item,dimension,facet\n"
Read = Callable[..., LabelsFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str | bytes, name: str = "own.csv") -> LabelsFile:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(path)

    return read


@pytest.fixture
def wrong(read: Read) -> Callable[..., list[tuple[int, str, str]]]:
    def wrong(text: str | bytes, name: str = "own.csv") -> list[tuple[int, str, str]]:
        with pytest.raises(LabelsError) as caught:
            read(text, name)
        return caught.value.problems

    return wrong


# --- the file ---------------------------------------------------------------------------------------------------------

ROWS = [("q1", "severity", "mild"), ("q1", "severity", "late, very"), ("问 2", "topic", 'a "quoted" one')]


def as_csv(rows: list[tuple[str, ...]], end: str = "\n") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end).writerows([("item", "dimension", "facet"), *rows])
    return out.getvalue()


def as_lines(rows: list[tuple[str, ...]]) -> str:
    return "".join(json.dumps(dict(zip(("item", "dimension", "facet"), row, strict=True))) + "\n" for row in rows)


def plain(file: LabelsFile) -> list[tuple[str, ...]]:
    return [(label.item, label.dimension, label.facet) for label in file.labels]


@pytest.mark.parametrize(
    "text",
    [
        as_csv(ROWS),
        as_csv(ROWS, "\r\n"),
        "\ufeff" + as_csv(ROWS),
        as_csv(ROWS).rstrip("\n"),
        "\n  \n" + as_csv(ROWS).replace("\n", "\n\n"),
        as_lines(ROWS),
        "\ufeff\n" + as_lines(ROWS).replace("\n", "\r\n\r\n"),
        "facet,item,dimension\n" + "".join(f'"{f.replace(chr(34), chr(34) * 2)}","{i}",{d}\n' for i, d, f in ROWS),
    ],
    ids=["csv", "crlf", "bom", "no-last-newline", "blank-lines", "json-lines", "json-blank-bom", "columns-moved"],
)
def test_every_form_says_the_same(read: Read, text: str) -> None:
    file = read(text)
    assert plain(file) == ROWS
    assert (file.name, file.benchmark, file.sha256) == ("own.csv", None, hashlib.sha256(text.encode()).hexdigest())


def test_lines_count_as_an_editor_counts_them(read: Read, wrong: Any) -> None:
    text = HEADER + '\nq1,d,"two\nlines of a field"\nq2,d,x\n'
    assert wrong(text) == [(3, "facet", r"is 'two\nlines of a field': it holds the character U+000A")]
    assert [label.line for label in read(HEADER + "\n\nq1,d,x\n\nq2,d,x\n").labels] == [4, 6]
    assert [label.line for label in read("\n" + as_lines(ROWS)).labels] == [2, 3, 4]


names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names.filter(lambda t: t == t.strip()), names.filter(lambda t: t == t.strip()))))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]) -> None:
    path = tmp_path_factory.mktemp("labels") / "own"
    for text in (as_csv(rows), as_lines(rows)):
        path.write_bytes(text.encode())
        if rows:
            assert plain(load(path)) == rows
        else:
            with pytest.raises(LabelsError):
                load(path)


@settings(deadline=None)
@given(st.binary(max_size=80) | st.text('{}"item,dimensionfacet:\n\r', max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("labels") / "own"
    path.write_bytes(data)
    try:
        load(path)
    except LabelsError as error:
        assert error.problems and str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", (0, "", "holds no labels; expected CSV with the header item,dimension,facet, or JSON Lines")),
        (HEADER, (0, "", "holds no labels; expected CSV with the header item,dimension,facet, or JSON Lines")),
        (
            "item;dimension;facet\nq;d;f\n",
            (1, "", "the header is 'item;dimension;facet', expected item,dimension,facet"),
        ),
        ("item,dimension\nq,d\n", (1, "", "the header is 'item,dimension', expected item,dimension,facet")),
        ("q1,d,f\n", (1, "", "the header is 'q1,d,f', expected item,dimension,facet")),
        (HEADER + "q,d,f,g\n", (2, "", "has 4 fields, expected 3")),
        (HEADER + "q,d\n", (2, "", "has 2 fields, expected 3")),
        (HEADER + 'q,d,"f\n', (2, "", "is not CSV: unexpected end of data")),
        (HEADER + ",d,f\n", (2, "item", "is '', expected text of 1 to 300 characters")),
        (HEADER + "q,,f\n", (2, "dimension", "is '', expected text of 1 to 60 characters")),
        (HEADER + "q,d,\n", (2, "facet", "is '', expected text of 1 to 500 characters")),
        (HEADER + "q, d,f\n", (2, "dimension", "is ' d': it has white space at its ends")),
        (HEADER + "q,d,f\x00\n", (2, "facet", r"is 'f\x00': it holds the character U+0000")),
        (b"item,dimension,facet\nq,d,\xff\n", (2, "", "is not UTF-8: byte 0xff")),
        ('{"item": "q"}\n', (1, "", "has no 'dimension'")),
        ('{"item": 7, "dimension": "d", "facet": "f"}\n', (1, "item", "is 7, expected text")),
        ('{"item": "q", "dimension": {}, "facet": "f"}', (1, "dimension", "is an object, expected text")),
        ('{"item": "q", "dimension": "d", "facet": null}', (1, "facet", "is None, expected text")),
        ('{"item": "q", "dimension": "d", "facet": "\\ud800"}', (1, "facet", "it holds the character U+D800")),
        ('{"item": "q", "item": "r", "dimension": "d", "facet": "f"}', (1, "item", "is given twice")),
        ('{"item": "q", "dimension": "d", "facet": "f", "why": 1}', (1, "why", "is not a known key; known keys are")),
        (as_lines(ROWS) + "[1]\n", (4, "", "is no JSON object")),
        (as_lines(ROWS) + "q,d,f\n", (4, "", "is not JSON: Expecting value")),
        ("{" * 100_000, (1, "", "is not JSON")),
    ],
)
def test_what_is_wrong_in_words(wrong: Any, text: str | bytes, problem: tuple[int, str, str]) -> None:
    line, field, message = problem
    assert [(where, name) for where, name, told in wrong(text) if message in told] == [(line, field)]


@pytest.mark.parametrize("field", LONGEST)
def test_as_long_as_the_tables_hold(read: Read, wrong: Any, field: str) -> None:
    def text(length: int) -> str:
        return as_lines([tuple("x" * length if name == field else "q" for name in LONGEST)])

    assert len(getattr(read(text(LONGEST[field])).labels[0], field)) == LONGEST[field]
    ((line, name, _),) = wrong(text(LONGEST[field] + 1))
    assert (line, name) == (1, field)


def test_every_problem_is_named_with_file_line_field_and_value_the_first_twenty_in_full(read: Read) -> None:
    with pytest.raises(LabelsError) as caught:
        read(HEADER + "q,,f\n" * 30)
    told = str(caught.value).splitlines()
    assert told[0] == "own.csv line 2: dimension is '', expected text of 1 to 60 characters"
    assert (len(told), told[-1]) == (MOST_PROBLEMS + 1, "own.csv: and 10 more")
    assert len(caught.value.problems) == 30


def test_a_file_that_cannot_be_read_or_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LabelsError, match=r"absent\.csv: cannot be read: No such file"):
        load(tmp_path / "absent.csv")
    monkeypatch.setattr(strict_rows, "LARGEST", 8 << 20)
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate((8 << 20) + 1)
    with pytest.raises(LabelsError, match=r"large\.csv: is larger than 8 MB"):
        load(tmp_path / "large.csv")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(as_csv(ROWS).encode()))
    with pytest.raises(LabelsError, match="is not UTF-8"):
        load(tmp_path / "packed.csv")


# --- groups -----------------------------------------------------------------------------------------------------------


def test_own_dimensions_come_after_the_evaluators_by_name() -> None:
    items = [
        ItemSpec("a", "a", "a", None, (("task", "t"), ("hidden", "h")), labels=(("z", "1"), ("b", "2"))),
        ItemSpec("b", "b", "b", None, (("task", "s"),), labels=(("z", "0"), ("z", "1"))),
    ]
    groups = {pair: index.tolist() for pair, index in facet_groups(items, ("task",)).items()}
    assert list(groups.items()) == [
        (("overall", ""), [0, 1]),
        (("task", "t"), [0]),
        (("task", "s"), [1]),
        (("b", "2"), [0]),
        (("z", "1"), [0, 1]),
        (("z", "0"), [1]),
    ]


# --- through the commands ---------------------------------------------------------------------------------------------


@pytest.fixture
def labels(tmp_path: Path) -> Callable[..., Path]:
    """Writes a labels file outside the tree: rows of (item, dimension, facet)."""

    def labels(rows: list[tuple[str, ...]], name: str = "own.csv") -> Path:
        path = tmp_path / name
        path.write_text(as_csv(rows) if name.endswith(".csv") else as_lines(rows), "utf-8")
        return path

    return labels


def figures(ours: dict[Any, Row], dimension: str, metric: str = "f1", variant: str = "") -> dict[str, tuple]:
    """facet -> (value, n, answered) of a dimension, over all repeats or of repeat 1."""
    return {
        key[4]: (row["value"], row["n"], row["n_answered"])
        for key, row in ours.items()
        if key[1:4] == (metric, variant, dimension)
    }


OWN = [("q1", "severity", "mild"), ("q2", "severity", "mild"), ("q3", "severity", "grave"), ("q3", "topic", "x")]


@pytest.mark.django_db
class TestOneTree:
    """EHR-Bench, three questions: q1 has F1 2/3, q2 is wrong, q3 is missing."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Tree:
        return small_tree(tmp_path / "tree", "glm_4_7", "kimi_k2_5")

    def test_own_dimensions_stand_in_the_scores_with_intervals(self, tree: Tree, labels: Any) -> None:
        result = ingest(tree, "--labels", labels(OWN))
        assert result.code == 0
        for ours in scores().values():
            assert figures(ours, "severity") == {
                "mild": (pytest.approx(1 / 3, abs=1e-12), 2, 2),
                "grave": (0.0, 1, 0),
            }
            assert figures(ours, "severity", variant="done_only")["grave"] == (None, 0, 0)
            assert figures(ours, "topic") == {"x": (0.0, 1, 0)}
            row = ours[1, "f1", "", "severity", "mild"]
            assert row["ci_low"] <= row["value"] <= row["ci_high"]
            order = list(dict.fromkeys(key[3] for key in ours if key[1:3] == ("f1", "")))
            assert order == ["overall", "task_type", "task_group", "task", "severity", "topic"]

    def test_json_lines_say_the_same_as_csv(self, tree: Tree, labels: Any) -> None:
        ingest(tree, "--labels", labels(OWN))
        before = scores()
        result = ingest(tree, "--labels", labels(OWN, "own.jsonl"))
        assert (result.document["rows_read"], scores()) == (0, before)
        assert [name for name, _ in Labelling.objects.get(dimension="topic").files] == ["own.jsonl"]

    def test_nothing_else_moves(self, tree: Tree, labels: Any) -> None:
        ingest(tree)
        before = scores()
        ingest(tree, "--labels", labels(OWN))
        for model, ours in scores().items():
            own = {key for key in ours if key[3] in ("severity", "topic")}
            assert {key: row for key, row in ours.items() if key not in own} == before[model]
            assert own

    def test_runs_are_evaluated_again_and_older_evaluations_stay(self, tree: Tree, labels: Any) -> None:
        first = ingest(tree)
        old = set(Evaluation.objects.values_list("pk", flat=True))
        again = ingest(tree, "--labels", labels(OWN))
        assert {run["state"] for run in again.runs.values()} == {"unchanged"}
        assert [run["id"] for run in again.document["runs"]] == [run["id"] for run in first.document["runs"]]
        assert set(Evaluation.objects.filter(current=False).values_list("pk", flat=True)) == old
        new = Evaluation.objects.current()
        assert new.count() == Run.objects.count() == 2
        assert {e.labels_fingerprint for e in new} == {Split.objects.get().labels_fingerprint} != {""}
        # the gold is the same: what stands on a board rests on the same items
        assert len(set(Evaluation.objects.values_list("gold_fingerprint", flat=True))) == 1

    def test_the_same_labels_again_cost_nothing_and_none_given_keeps_them(self, tree: Tree, labels: Any) -> None:
        ingest(tree, "--labels", labels(OWN))
        before = tables()
        again = ingest(tree, "--labels", labels(OWN))
        assert (again.document["rows_read"], tables()) == (0, before)
        without = ingest(tree)
        assert without.document["rows_read"] == 0
        before["ingest.Finding"] = tables()["ingest.Finding"]  # a finding of the pass that was given labels
        assert tables() == before
        assert figures(scores()["glm_4_7"], "severity")

    def test_the_same_labels_in_another_order_are_the_same_labels(self, tree: Tree, labels: Any) -> None:
        ingest(tree, "--labels", labels(OWN))
        again = ingest(tree, "--labels", labels([*reversed(OWN), OWN[0]]))
        assert again.document["rows_read"] == 0
        file = Path(labels([*reversed(OWN), OWN[0]]))
        assert Labelling.objects.get(dimension="severity").files == [
            ["own.csv", hashlib.sha256(file.read_bytes()).hexdigest()]
        ]

    def test_changed_labels_replace_those_of_their_dimension_only(self, tree: Tree, labels: Any) -> None:
        ingest(tree, "--labels", labels(OWN))
        ingest(tree, "--labels", labels([("q1", "severity", "none"), ("q2", "severity", "grave")], "newer.csv"))
        ours = scores()["glm_4_7"]
        assert figures(ours, "severity") == {"none": (pytest.approx(2 / 3), 1, 1), "grave": (0.0, 1, 1)}
        assert figures(ours, "topic") == {"x": (0.0, 1, 0)}
        assert set(Facet.objects.filter(dimension="severity").values_list("name", flat=True)) == {"none", "grave"}
        sources = {labelling.dimension: labelling.files[0][0] for labelling in Labelling.objects.all()}
        assert sources == {"severity": "newer.csv", "topic": "own.csv"}

    def test_several_files_make_one_dimension(self, tree: Tree, labels: Any) -> None:
        ingest(tree, "--labels", labels(OWN[:2], "a.csv"), "--labels", labels(OWN[2:], "b.csv"))
        assert {facet: n for facet, (_, n, _) in figures(scores()["glm_4_7"], "severity").items()} == {
            "mild": 2,
            "grave": 1,
        }
        assert [name for name, _ in Labelling.objects.get(dimension="severity").files] == ["a.csv", "b.csv"]

    def test_unknown_items_are_counted_with_examples(self, tree: Tree, labels: Any) -> None:
        rows = [*OWN, *((f"nobody{number}", "severity", "mild") for number in range(7))]
        result = ingest(tree, "--labels", labels(rows))
        (finding,) = result.findings("unknown_labels")
        assert (result.code, finding["severity"], finding["path"]) == (0, "warning", "own.csv")
        assert finding["message"] == (
            "7 of 10 items are in no split of this tree: 'nobody0', 'nobody1', 'nobody2', 'nobody3', 'nobody4', ..."
        )
        assert figures(scores()["glm_4_7"], "severity")["mild"][1] == 2

    def test_what_was_set_is_told_with_its_source(self, tree: Tree, labels: Any) -> None:
        path = labels(OWN)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        messages = [finding["message"] for finding in ingest(tree, "--labels", path).findings("labels")]
        assert messages == [
            f"sets 'severity' on 3 items of ehr-bench v1: 2 facets (sha256 {sha256})",
            f"sets 'topic' on 1 items of ehr-bench v1: 1 facets (sha256 {sha256})",
        ]

    @pytest.mark.parametrize("dimension", ["task", "task_type", "task_group", "overall"])
    def test_a_dimension_of_the_benchmark_cannot_be_set(self, tree: Tree, labels: Any, dimension: str) -> None:
        before = tables()
        result = ingest(tree, "--labels", labels([*OWN, ("q1", dimension, "mine")]))
        assert result.code == 2
        told = f"own.csv line 6: dimension is '{dimension}', which ehr-bench has already: give it another name"
        assert told in result.err
        assert not Run.objects.exists() and not Item.objects.exists()
        assert tables()["evaluation.Score"] == before["evaluation.Score"] == []

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("item,dimension,facet\nq1,,x\n", "own.csv line 2: dimension is '', expected text of 1 to 60 characters"),
            ("", "own.csv: holds no labels"),
        ],
    )
    def test_a_file_that_is_wrong_loads_nothing(self, tree: Tree, tmp_path: Path, text: str, told: str) -> None:
        (tmp_path / "own.csv").write_text(text)
        result = ingest(tree, "--labels", tmp_path / "own.csv")
        assert (result.code, told in result.err, result.document["runs"]) == (2, True, [])
        assert not Run.objects.exists()
        absent = ingest(tree, "--labels", tmp_path / "absent.csv")
        assert (absent.code, "absent.csv: cannot be read" in absent.err) == (2, True)

    def test_a_dry_run_tells_the_same_and_writes_nothing(self, tree: Tree, labels: Any) -> None:
        rows = [*OWN, ("nobody", "topic", "x")]
        before = tables()
        dry = ingest(tree, "--labels", labels(rows), "--dry-run")
        assert tables() == before
        assert (dry.code, len(dry.findings("unknown_labels"))) == (0, 1)
        ingest(tree)
        before = tables()
        again = ingest(tree, "--labels", labels(rows), "--dry-run")
        assert (len(again.findings("unknown_labels")), tables()) == (1, before)

    def test_a_split_of_shared_items_is_labelled_with_it(self, tree: Tree, labels: Any) -> None:
        """A smoke set holds the first two questions of the same release: its runs are evaluated again, too."""
        tree.json("gold/ehr_bench_smoke20.json", ehr_gold({"q1": ["Alpha", "Beta"], "q2": ["Gamma"]}))
        tree.lines(run_path("glm_4_7", split="smoke20"), [answered("q1", "alpha")])
        ingest(tree)
        ingest(tree, "--labels", labels(OWN))
        rows = [row for row in called("scores", "--json").document if (row["metric"], row["variant"]) == ("f1", "")]
        by_split = {row["split"]: row["n"] for row in rows if row["facet"] == "mild"}
        assert by_split == {"full1800": 2, "smoke20": 2}
        smoke, full = Split.objects.order_by("-name")
        assert smoke.labels_fingerprint != full.labels_fingerprint

    def test_the_run_page_and_document_name_the_source(self, tree: Tree, labels: Any, client: Any) -> None:
        path = labels(OWN)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        result = ingest(tree, "--labels", path, "--visibility", "public")
        key = result.document["runs"][0]["id"]
        page = client.get(f"/runs/{key}/").content.decode()
        assert "By severity" in page and f"Labels from own.csv (sha256 {sha256}), not from the gold." in page
        document = client.get(f"/api/v1/runs/{key}").json()
        assert document["labels"] == [
            {"dimension": dimension, "files": [{"name": "own.csv", "sha256": sha256}]}
            for dimension in ("severity", "topic")
        ]

    def test_a_statement_of_the_benchmark(self, tree: Tree, labels: Any) -> None:
        assert ingest(tree, "--labels", f"ehr-bench={labels(OWN)}").code == 0
        assert figures(scores()["glm_4_7"], "severity")
        other = ingest(tree, "--labels", f"mm-bench={labels(OWN, 'other.csv')}")
        (finding,) = other.findings("unknown_labels")
        assert "3 of 3 items are in no split of mm-bench in this tree" in finding["message"]
        none = ingest(tree, "--labels", f"ehr_bench={labels(OWN)}")
        assert (none.code, "benchmarks are liveclin, ehr-bench" in none.err) == (2, True)

    def test_a_path_that_holds_an_equals_sign(self, tree: Tree, labels: Any) -> None:
        assert ingest(tree, "--labels", labels(OWN, "a=b.csv")).code == 0


@pytest.mark.django_db
def test_an_item_of_two_benchmarks_needs_a_statement(tmp_path: Path, labels: Any) -> None:
    tree = small_tree(tmp_path / "tree")
    gold = [{"qid": "q1", "subject_id": 7, "task": "ehrxqa_image", "label": [{"name": "edema"}]}]
    tree.lines("gold/mm_bench.jsonl", gold)
    tree.lines(run_path("glm_4_7", "mm_bench", split="full2703"), [answered("q1", "edema")])
    path = labels([("q2", "severity", "mild"), ("q1", "severity", "mild")])
    result = ingest(tree, "--labels", path)
    assert result.code == 2 and not Run.objects.exists()
    told = "own.csv line 3: item is 'q1', an item of ehr-bench and of mm-bench: say which, --labels ehr-bench=FILE"
    assert told in result.err
    assert ingest(tree, "--labels", f"mm-bench={path}").code == 0
    assert [(item.release.benchmark.slug, item.key) for item in Item.objects.filter(facets__dimension="severity")] == [
        ("mm-bench", "q1")
    ]


@pytest.mark.django_db
def test_fine_tasks_of_mm_bench(tmp_path: Path, labels: Any) -> None:
    """Items with empty gold can be labelled, too; the evaluator's denominators leave them out."""
    tree = Tree(tmp_path / "tree")
    gold = [
        {"qid": f"m{n}", "subject_id": n, "task": "ehrxqa_image", "label": [{"name": "edema"}] if n else []}
        for n in range(4)
    ]
    tree.json("gold/mm_bench.json", gold)
    tree.lines(run_path("glm_4_7", "mm_bench", split="full2703"), [answered(f"m{n}", "edema") for n in range(4)])
    fine = {"m0": "cxr_finding_presence", "m1": "cxr_finding_presence", "m2": "cxr_change_comparison"}
    result = ingest(tree, "--labels", labels([(item, "fine_task", facet) for item, facet in fine.items()]))
    assert result.code == 0
    stored = Item.objects.filter(facets__labelling__isnull=False).values_list("key", "facets__name")
    assert dict(stored) == fine
    assert "fine_task" in result.findings("labels")[0]["message"]
    assert ingest(tree, "--labels", labels([("m1", "task", "mine")])).code == 2
    assert ingest(tree).document["rows_read"] == 0


# --- LiveClin: questions, and cases whose questions agree -------------------------------------------------------------


@pytest.mark.django_db
class TestLiveClin:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Tree:
        tree = Tree(tmp_path / "live")
        tree.lines("dataset.jsonl", [live_case("PMC1", "AB"), live_case("PMC2", "CD"), live_case("PMC3", "EA")])
        tree.json("a.json", live_results("aster", {"PMC1": "AB", "PMC2": "CA", "PMC3": "-A"}))
        return tree

    ROWS = [
        ("PMC1:0", "field", "x"),
        ("PMC1:1", "field", "x"),
        ("PMC2:0", "field", "x"),
        ("PMC2:1", "field", "x"),
        ("PMC2:1", "field", "y"),
        ("PMC3:0", "field", "x"),
        ("PMC3:1", "field", "z"),
    ]

    def test_questions_by_their_labels_and_cases_by_what_all_their_questions_share(
        self, tree: Tree, labels: Any
    ) -> None:
        result = ingest(tree, "--labels", labels(self.ROWS))
        assert result.code == 0
        (ours,) = scores().values()
        # right: PMC1 both, PMC2 the first, PMC3 the second; the first of PMC3 failed
        assert figures(ours, "field", "question_accuracy") == {"x": (0.6, 5, 4), "y": (0.0, 1, 1), "z": (1.0, 1, 1)}
        # PMC1 and PMC2 are wholly x; PMC3 is of no one field; y and z are no case's
        assert figures(ours, "field", "case_accuracy") == {"x": (0.5, 2, 2)}
        assert not figures(ours, "field", "error_rate")

    def test_an_unchanged_run_gets_labels_that_come_later(self, tree: Tree, labels: Any) -> None:
        """LiveClin gold is found by reading; a run that is not read again must be noticed all the same."""
        ingest(tree)
        again = ingest(tree, "--labels", labels(self.ROWS))
        assert (again.document["rows_read"], again.findings("unknown_labels")) == (6, [])
        (ours,) = scores().values()
        assert figures(ours, "field", "case_accuracy") == {"x": (0.5, 2, 2)}
        assert ingest(tree, "--labels", labels(self.ROWS)).document["rows_read"] == 0

    @pytest.mark.parametrize("dimension", ["stage", "icd_chapter", "image_modality"])
    def test_its_own_dimensions_cannot_be_set(self, tree: Tree, labels: Any, dimension: str) -> None:
        assert ingest(tree, "--labels", labels([("PMC1:0", dimension, "x")])).code == 2


# --- LLMEval-Med ------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
class TestLLMEvalMed:
    ROWS = [("MK:1:1", "ward", "a"), ("MK:1:2", "ward", "a"), ("MK:2:1", "ward", "b")]

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Tree:
        tree = Tree(tmp_path / "med")
        tree.json("aster/run1_score.json", med_document({(1, 1): 5, (1, 2): 3, (2, 1): 4}))
        return tree

    def test_rates_by_labels(self, tree: Tree, labels: Any) -> None:
        tree.json("dataset.json", med_document())
        assert ingest(tree, "--labels", labels(self.ROWS)).code == 0
        (ours,) = scores().values()
        assert figures(ours, "ward", "usability_rate") == {"a": (0.5, 2, 2), "b": (1.0, 1, 1)}
        assert figures(ours, "ward", "mean_score") == {"a": (4.0, 2, 2), "b": (4.0, 1, 1)}
        order = list(dict.fromkeys(key[3] for key in ours if key[1] == "usability_rate"))
        assert order == ["overall", "category", "category2", "scene", "difficulty", "round", "ward"]

    def test_labels_stay_when_the_dataset_comes(self, tree: Tree, labels: Any) -> None:
        """Items from scored files are made anew when their gold comes."""
        ingest(tree, "--labels", labels(self.ROWS))
        (before,) = scores().values()
        tree.json("dataset.json", med_document())
        assert ingest(tree).code == 0
        (ours,) = scores().values()
        assert figures(ours, "ward", "usability_rate") == figures(before, "ward", "usability_rate") != {}

    def test_a_dimension_that_only_the_scored_files_show_is_refused(self, tree: Tree, labels: Any) -> None:
        """Without the dataset the items are known only when the run is loaded: then it is an error finding."""
        result = ingest(tree, "--labels", labels([*self.ROWS, ("MK:1:1", "category", "mine")]))
        (finding,) = result.findings("bad_labels")
        assert (result.code, finding["severity"], finding["path"]) == (1, "error", "own.csv")
        assert "'category' is a dimension of LLMEval-Med 2025 itself" in finding["message"]
        (ours,) = scores().values()
        assert set(figures(ours, "category", "usability_rate")) == {"MK"} and figures(ours, "ward", "usability_rate")
