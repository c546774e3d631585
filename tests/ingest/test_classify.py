"""What a file is, by its content: every form of the formats' pages, and everything that only looks like one."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.classify import Kind, classify, summary_form, top_level
from ingest.walk import Entry, walk
from tests.ingest.trees import answered, ehr_gold, live_case, live_results, med_document

BOM = b"\xef\xbb\xbf"


def entry_of(directory: Path, name: str, data: bytes) -> Entry:
    (directory / name).write_bytes(data)
    (entry,) = (found for found in walk(directory) if found.path == name)
    assert isinstance(entry, Entry)
    return entry


def kind_of(directory: Path, name: str, data: bytes | str | Any) -> Kind:
    if not isinstance(data, bytes | str):
        data = json.dumps(data)
    return classify(entry_of(directory, name, data if isinstance(data, bytes) else data.encode()))


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


ROW = answered("q1", "yes", task="labevents", label=["yes"])
MM_GOLD = {"qid": "ehrxqa_test_1", "task": "ehrxqa_table", "label": [{"name": "7"}]}
EHR_GOLD = ehr_gold({"q1": "yes"})[0]
AGENT_GOLD = {"subject_id": 1, "task": "labevents", "label": [{"name": "Test A"}]}
SCORED = {"qid": "q1", "route": "set_f1", "gold_names": ["a"], "prediction_raw": ["a"]}
PER_QUESTION = {"qid": "q1", "runs": [], "avg_f1": 0.0, "label": []}
TASK_SCORES = {"qid": "q1", "aggregated": {}, "missing_result": False, "runs": []}
METRICS = {"total": 1, "completed": 1, "f1": 1.0}

LINES = [
    ("results.jsonl", lines(ROW), "results"),
    ("anything.ndjson", lines(ROW), "results"),
    ("RESULTS.JSONL", lines(ROW), "results"),
    ("results.jsonl", "\n  \n" + lines(ROW), "results"),
    ("results.jsonl", lines({"qid": "q1", "messages": [], "ground_truth": "no"}), "results"),
    ("results.repaired.jsonl", lines(ROW), "repaired"),
    ("results.jsonl", lines({**ROW, "repair_info": {}}), "repaired"),
    ("results.jsonl", lines({**ROW, "answer_labels": []}), "derived"),
    ("scored.jsonl", lines(SCORED), "scored"),
    ("results.jsonl", lines(PER_QUESTION), "scored"),
    ("task_scores.jsonl", lines(TASK_SCORES), "scored"),
    ("rows.jsonl", lines({"gold": ["a"], "pred": ["a"], "f1": 1.0}), "scored"),
    ("input.jsonl", lines(EHR_GOLD), "driver_input"),
    ("input_steal_01.jsonl", lines(MM_GOLD), "driver_input"),
    ("input.jsonl", lines({"something": "else"}), "driver_input"),
    ("ehr_bench.jsonl", lines(EHR_GOLD), "gold"),
    ("mm_bench.jsonl", lines(MM_GOLD), "gold"),
    ("dataset.jsonl", lines(live_case("PMC1", "AB")), "gold"),
    ("classifier.jsonl", lines({"classification": "x", "qid": "q1"}), "other"),
    ("odd.jsonl", lines({"hello": "world"}), "unknown"),
    ("odd.jsonl", "hello world\n", "unknown"),
    ("odd.jsonl", lines([1, 2], 3, "text", None), "unknown"),
    ("results.jsonl", "", "unknown"),
    ("results.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs_pointer"),
    # broken first lines: what parses later decides, else the name
    ("results.jsonl", "log text\n" + lines(ROW), "results"),
    ("odd.jsonl", json.dumps(ROW)[:40] + json.dumps(ROW) + "\n", "results"),
    ("odd.jsonl", json.dumps(ROW) + json.dumps(ROW) + "\n", "results"),
    ("results.jsonl", json.dumps(ROW)[:40] + "\n", "results"),
    ("results.jsonl", "\n \n\t\n", "results"),
    ("results.jsonl", "\x00\x00\x00", "results"),
    # what strict parsers refuse
    ("x.jsonl", '{"qid": "q", "messages": [], "usage": NaN}\n', "results"),
    ("x.jsonl", '{"qid": "q", "messages": [], "text": "\\ud800"}\n', "results"),
    ("x.jsonl", '{"qid": "q", "n": %s, "messages": []}\n' % ("9" * 5000), "results"),
]


@pytest.mark.parametrize(("name", "data", "kind"), LINES, ids=[f"{i}:{row[2]}" for i, row in enumerate(LINES)])
def test_forms_of_json_lines(tmp_path: Path, name: str, data: str, kind: str) -> None:
    assert kind_of(tmp_path, name, data).name == kind


@pytest.mark.parametrize(
    "wrap", [lambda data: BOM + data, lambda data: data.replace(b"\n", b"\r\n"), lambda data: data]
)
@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstandard.compress)])
def test_marks_line_ends_and_archives_change_nothing(tmp_path: Path, wrap: Any, ending: str, pack: Any) -> None:
    data = pack(wrap((lines(ROW) * 20).encode()))
    assert kind_of(tmp_path, f"results.jsonl{ending}", data).name == "results"
    document = pack(wrap(json.dumps(live_results("aster", {"PMC1": "A"}), indent=1).encode()))
    assert kind_of(tmp_path, f"x.json{ending}", document).name == "liveclin"


DOCUMENTS = [
    (live_results("aster", {"PMC1": "A"}), "liveclin"),
    (med_document({(1, 1): "5"}), "llmeval"),
    (med_document(), "gold"),
    ({"医疗知识": [{"groupCode": 1, "round": 1, "model_answer": "…"}]}, "unknown"),
    ([EHR_GOLD], "gold"),
    ([AGENT_GOLD], "gold"),
    ({"a": EHR_GOLD, "b": EHR_GOLD}, "gold"),
    (EHR_GOLD, "gold"),
    ([ROW], "results"),
    ([{**ROW, "answer": "x"}], "derived"),
    ([PER_QUESTION], "scored"),
    ({"overall": METRICS, "per_task": {}, "per_task_type": {}}, "summary"),
    ({"per_task": {}, "per_task_type": {}}, "summary"),
    ({"labevents": METRICS}, "summary"),
    ({"shards": [], "per_model": {}}, "operational"),
    ({"generated_at": "2026-01-01", "models": []}, "operational"),
    ({"models": [], "mode": "full", "root": "x"}, "operational"),
    ({"friendly_name": "x", "model_tag": "y", "region": "z"}, "other"),
    ({}, "unknown"),
    ([], "unknown"),
    (3, "unknown"),
    ("text", "unknown"),
    (None, "unknown"),
    ({"hello": "world"}, "unknown"),
    ({"meta": {}, "cases": []}, "unknown"),
    ({"meta": {"model": "aster"}, "cases": []}, "unknown"),
    ({"meta": {"model": 3, "dataset": "x"}, "cases": []}, "unknown"),
    ({"meta": {"model": "", "dataset": "x"}, "cases": []}, "unknown"),
    ({"meta": {"model": "m", "dataset": ""}, "cases": []}, "unknown"),
]


@pytest.mark.parametrize(("document", "kind"), DOCUMENTS, ids=[f"{i}:{row[1]}" for i, row in enumerate(DOCUMENTS)])
def test_forms_of_json_documents(tmp_path: Path, document: Any, kind: str) -> None:
    found = kind_of(tmp_path, "x.json", json.dumps(document))
    assert found.name == kind
    if kind == "unknown":
        assert found.about["message"]


@pytest.mark.parametrize("name", ["region_map.json", "status.json"])
def test_bookkeeping_of_the_driver_is_not_worth_a_word(tmp_path: Path, name: str) -> None:
    assert kind_of(tmp_path, name, {"us-east-1": "x"}).name == "other"


@pytest.mark.parametrize("data", [b"", b"   \n", b"{", b"[1,", b"not json", b"\xff\xfe{\x00}\x00", b"\x00" * 100])
def test_broken_documents_are_unknown_and_say_why(tmp_path: Path, data: bytes) -> None:
    found = kind_of(tmp_path, "x.json", data)
    assert found.name == "unknown" and found.about["message"]


def test_lines_under_a_document_name(tmp_path: Path) -> None:
    assert kind_of(tmp_path, "x.json", lines(ROW, ROW)).name == "results"
    assert kind_of(tmp_path, "y.json", lines(EHR_GOLD, EHR_GOLD)).about == {"benchmark": "ehr-bench", "form": "lines"}


@pytest.mark.parametrize("name", ["summary.md", "summary.txt", "summary_vocab.md"])
def test_summaries_in_words(tmp_path: Path, name: str) -> None:
    assert kind_of(tmp_path, name, "# made up").name == "summary_text"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("# Scoring summary — `results.jsonl`", "old_summary"),
        ("# Scoring summary\n- vocab normalization: model=`made-up`", "integrated"),
        ("# Vocabulary-normalized re-scoring — made up", "summary_vocab"),
        ("# Notes", None),
        ("", None),
    ],
)
def test_the_form_of_a_summary_in_markdown(tmp_path: Path, text: str, form: str | None) -> None:
    assert kind_of(tmp_path, "summary.md", text).about == ({"form": form} if form else {})


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x1f\x8b\x08 no archive"])
def test_markdown_that_is_none_is_never_an_accident(tmp_path: Path, data: bytes) -> None:
    assert kind_of(tmp_path, "summary.md", data).name in ("summary_text", "unknown")


@pytest.mark.parametrize("name", ["README.md", "run.log", "results", "results.jsonl.bak", "x.csv", "results.parquet"])
def test_other_names_are_not_opened(tmp_path: Path, name: str) -> None:
    assert kind_of(tmp_path, name, lines(ROW)).name == "other"


@pytest.mark.parametrize(
    ("row", "benchmark"),
    [
        (EHR_GOLD, "ehr-bench"),
        ({"qid": "ehr_bench_risk_prediction_1", "task": "x", "label": "yes"}, "ehr-bench"),
        (AGENT_GOLD, "agent-ehr-bench"),
        ({**AGENT_GOLD, "task": "prescriptions", "hadm_id": 3}, "agent-ehr-bench"),
        (MM_GOLD, "mm-bench"),
        ({"qid": "x", "task": "medmod_radiology", "ground_truth": []}, "mm-bench"),
        ({"qid": "x", "task": "y", "ground_truth": [], "source_benchmark": "medmod"}, "mm-bench"),
        (live_case("PMC1", "A"), "liveclin"),
        ({**AGENT_GOLD, "task": "never heard of"}, None),
        ({"subject_id": 1, "label": "x"}, None),
        ({"subject_id": 1, "task": "labevents"}, None),
    ],
)
def test_the_benchmark_of_gold(tmp_path: Path, row: dict[str, Any], benchmark: str | None) -> None:
    found = kind_of(tmp_path, "gold.jsonl", lines(row))
    assert found.about.get("benchmark") == benchmark
    assert found.name == ("gold" if benchmark else "unknown")


def test_gold_is_told_by_a_later_row_where_the_first_is_broken(tmp_path: Path) -> None:
    rows = [{"subject_id": 1}, EHR_GOLD]
    assert kind_of(tmp_path, "a.jsonl", lines(*rows)).name == "gold"
    assert kind_of(tmp_path, "a.json", rows).about == {"benchmark": "ehr-bench", "form": "array"}


def test_model_and_release_of_a_liveclin_file(tmp_path: Path) -> None:
    found = kind_of(tmp_path, "x.json", live_results("Aster 3 ", {"PMC1": "A"}, dataset="2025_H1"))
    assert found == Kind("liveclin", {"model": "Aster 3 ", "dataset": "2025_H1"})


@pytest.mark.parametrize("field", ["model", "dataset"])
@pytest.mark.parametrize("value", ["a\x00b", "a\nb", "\ud800", "x" * 501, "", None, 3])
def test_names_that_no_table_can_hold_are_refused(tmp_path: Path, field: str, value: str) -> None:
    document = live_results("aster", {"PMC1": "A"})
    document["meta"][field] = value
    found = kind_of(tmp_path, "x.json", json.dumps(document))
    assert found.name == "unknown" and f"meta.{field} is " in found.about["message"]


FORMS = {
    "newest": {"overall": METRICS, "per_task": {}, "per_task_type": {}},
    "middle": {"per_task": {}, "per_task_type": {}},
    "diagnoses": {"sample_num": 1, "score_denominator": "completed_task_num", "by_task": {}},
    "summary_vocab": {"per_task_len2plus_vocab": {}, "total": 1},
    "integrated": {"unified_f1": 1.0, "vocab_model": "x"},
    "old_summary": {"len1_accuracy": 1.0, "per_task_len2plus": {}},
    "hierarchical": {"count": 1, "f1": 1.0, "precision": 1.0, "recall": 1.0},
    "llmeval_aggregate": {"per_category": {}, "overall": {}},
    "old_flat": {"labevents": METRICS, "transfers": METRICS},
    None: {"labevents": METRICS, "more": 3},
}


@pytest.mark.parametrize(("form", "document"), FORMS.items())
def test_forms_of_summaries(form: str | None, document: dict[str, Any]) -> None:
    keys = top_level(json.dumps(document).encode())
    assert keys is not None and summary_form(keys) == form


# --- never an accident ------------------------------------------------------------------------------------------------

DEPTHS = (100, 400, 900, 990, 1_100, 5_000, 200_000)


@pytest.mark.parametrize("name", ["results.jsonl", "x.json", "gold.json"])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "around",
    [
        "%s",
        '{"qid": "q1", "messages": [], "more": %s}',
        '{"qid": "q1", "task": %s, "label": "x", "subject_id": 1}',
        '{"qid": %s, "task": "labevents", "label": "x", "subject_id": 1}',
        '{"meta": {"model": "m", "dataset": "d", "x": %s}, "cases": []}',
        '{"meta": %s, "cases": []}',
        '{"医疗知识": %s}',
        '{"医疗知识": [%s], "x": NaN}',
        '{"labevents": %s}',
        '{"labevents": %s, "x": NaN}',
        "[%s]",
        "[%s, NaN]",
    ],
)
def test_nesting_bombs_are_no_accident(tmp_path: Path, name: str, depth: int, around: str) -> None:
    bomb = "[" * depth + "]" * depth
    assert kind_of(tmp_path, name, around % bomb + "\n").name in {"results", "unknown", "gold", "liveclin"}
    assert kind_of(tmp_path, name, around % bomb.replace("[", '{"a":[').replace("]", "]}") + "\n").name


def test_a_damaged_archive_is_told_and_no_accident(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(4000) + lines(ROW).encode())
    assert kind_of(tmp_path, "results.jsonl.gz", packed[:300]).name == "results"
    found = kind_of(tmp_path, "x.json.gz", packed[:300])
    assert found.name == "unknown" and "ends early" in found.about["message"]


def test_an_unreadable_file_passes_through(tmp_path: Path) -> None:
    entry = entry_of(tmp_path, "results.jsonl", lines(ROW).encode())
    (tmp_path / "results.jsonl").unlink()
    with pytest.raises(OSError):
        classify(entry)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROW_KEYS = ["messages", "qid", "task", "label", "ground_truth", "subject_id", "exam_creation", "runs", "avg_f1"]
DOCUMENT_KEYS = [
    "meta",
    "cases",
    "overall",
    "per_task",
    "per_task_type",
    "f1",
    "医疗知识",
    "shards",
    "models",
    "mode",
    "root",
]
KEYS = st.sampled_from(ROW_KEYS) | st.sampled_from(DOCUMENT_KEYS)


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(st.dictionaries(KEYS, JSON, max_size=6), st.lists(st.dictionaries(KEYS, JSON), max_size=3), JSON),
    st.sampled_from(["results.jsonl", "x.json", "gold.jsonl.gz", "summary.json"]),
    st.data(),
)
def test_any_json_and_any_cut_of_it_has_a_kind(
    tmp_path_factory: pytest.TempPathFactory, value: Any, name: str, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(0, len(text)))
    directory = tmp_path_factory.mktemp("any")
    for part in (text, text[:cut], text[cut:], text + b"\n" + text[:cut]):
        assert isinstance(kind_of(directory, name, part).name, str)
