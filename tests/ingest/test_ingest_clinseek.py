"""The ClinSeek conformance pack through the commands: every count, reason and score that its `expected.json` names."""

from __future__ import annotations

import json
import os
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from evaluation.models import Evaluation
from ingest.documents import dictionaries, read_whole
from ingest.models import SourceFile, StoredSummary
from ingest.summaries.comparison import numbers
from tests.ingest.trees import Called, called, ingest, tables

SLUGS = {"ehr_bench": "ehr-bench", "agent_ehr_bench": "agent-ehr-bench", "mm_bench": "mm-bench"}
METRICS = ("f1", "precision", "recall")
STORED = "clinseek-mm-stored-2026"
Key = tuple[str, str, str, str]


@pytest.fixture(scope="module")
def pack(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("clinseek")
    with tarfile.open(shared / "conformance" / "clinseek" / "clinseek_small.tar.gz") as archive:
        archive.extractall(base, filter="fully_trusted")  # noqa: S202 - links are part of it
    base /= "clinseek"
    for link, target in json.loads((base / "expected.json").read_text())["absolute_links"].items():
        os.symlink(base / target, base / link)
    return base


@pytest.fixture(scope="module")
def expected(pack: Path) -> dict[str, Any]:
    return json.loads((pack / "expected.json").read_text())


def go(pack: Path, *more: str) -> Called:
    return ingest(pack / "results", "--gold", pack / "gold", "--allow-outside", pack / "external", *more)


@pytest.fixture(scope="module")
def loaded(pack: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Called]:
    """The pack, ingested once for all tests of this module and taken out of the database afterwards."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield go(pack)
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def scored(loaded: Called) -> dict[Key, dict[tuple, dict[str, Any]]]:
    found: dict[Key, dict[tuple, dict[str, Any]]] = defaultdict(dict)
    for row in called("scores", "--json").document:
        if row["evaluator"] == STORED:
            continue  # figures by another rule
        key = (row["benchmark"], row["mode"], row["split"], row["model"])
        found[key][row["repeat"], row["metric"], row["variant"], row["dimension"], row["facet"]] = row
    return found


def key_of(run: dict[str, Any]) -> Key:
    return SLUGS[run["benchmark"]], run["mode"], run["split"], run["model"]


def relative(path: str) -> str:
    """A path of `expected.json` as ingest shows it: relative to `results/`."""
    return path.removeprefix("results/") if path.startswith("results/") else f"../{path}"


def repeats_of(run: dict[str, Any]) -> list[int]:
    """The run indexes of the rows; a row without one is of repeat 1."""
    return sorted({int(index) if index.isdigit() else 1 for index in run["counts"]["run_indexes"]})


# --- runs and their counts --------------------------------------------------------------------------------------------


def test_exactly_the_expected_runs_at_their_places(loaded: Called, expected: dict[str, Any]) -> None:
    assert loaded.code == 1  # broken lines are findings of severity error
    found = {
        (r["benchmark"], r["mode"], r["split"], r["model"]): (r["path"], r["physical"]) for r in loaded.runs.values()
    }
    assert found == {key_of(run): (relative(run["path"]), relative(run["physical"])) for run in expected["runs"]}
    assert len(found) == len(loaded.document["runs"]) == 41
    assert {(run["state"], run["release"]) for run in loaded.runs.values()} == {("new", "v1")}


def test_every_count_of_every_run(loaded: Called, expected: dict[str, Any]) -> None:
    for run in expected["runs"]:
        counts, file = run["counts"], run["file"]
        twins = counts["duplicates_by_qid_and_run"]
        empty_gold = counts.get("empty_gold_qids_in_gold", 0)
        missing = counts["missing_qids_nonempty_gold" if run["benchmark"] == "mm_bench" else "missing_qids"]
        entry = loaded.runs[relative(run["path"])]
        assert entry["why"] and entry["stated"] == {}
        words = ("id", "path", "physical", "summaries", "why", "stated")
        assert {name: entry[name] for name in entry if name not in words} == {
            "benchmark": SLUGS[run["benchmark"]],
            "release": "v1",
            "split": run["split"],
            "mode": run["mode"],
            "model": run["model"],
            "model_known": run["model_known"],
            "repeats": repeats_of(run),
            "state": "new",
            "rows": counts["rows_with_qid"],
            "parsed": file["parsed_rows"],
            "malformed": len(file["malformed_lines"]),
            "recovered": sum(line["recoverable_rows"] for line in file["malformed_lines"]),
            "unique_items": counts["unique_qids"],
            "expected_items": counts["gold_questions"] - empty_gold,
            "missing": missing["count"],
            "extra": counts["extra_qids"]["count"],
            "duplicates_same": twins["keys_same_answer"],
            "duplicates_conflicting": twins["keys_conflicting"],
            "rankable": run["leaderboard"],
        }, run["path"]


def test_rows_read_and_loaded_are_those_of_the_runs(loaded: Called, expected: dict[str, Any]) -> None:
    document = loaded.document
    assert document["rows_read"] == sum(run["file"]["parsed_rows"] for run in expected["runs"])
    assert document["rows_loaded"] == sum(run["counts"]["rows_with_qid"] for run in expected["runs"])


def line_starts(path: Path) -> list[int]:
    data = path.read_bytes()
    starts, at = [], 3 if data.startswith(b"\xef\xbb\xbf") else 0
    for line in data[at:].split(b"\n"):
        starts.append(at)
        at += len(line) + 1
    return starts


def test_every_broken_line_is_told_with_reason_and_byte_offset(
    loaded: Called, expected: dict[str, Any], pack: Path
) -> None:
    reasons = ("glued", "cut_start_then_row", "truncated_last_line", "not_json", "bad_json", "not_an_object", "no_id")
    told = {(f["path"], f["line"], f["code"], f["offset"], f["severity"]) for c in reasons for f in loaded.findings(c)}
    wanted = set()
    for run in expected["runs"]:
        starts = line_starts(pack / run["physical"])
        for line in run["file"]["malformed_lines"]:
            wanted.add((relative(run["path"]), line["line"], line["reason"], starts[line["line"] - 1], "error"))
        for line in run["file"]["lines_without_qid"]:
            wanted.add((relative(run["path"]), line, "no_id", starts[line - 1], "error"))
    assert told == wanted
    assert len(wanted) == 8


# --- what is no run ---------------------------------------------------------------------------------------------------


def test_everything_else_is_listed_with_its_reason(loaded: Called, expected: dict[str, Any]) -> None:
    """The pack's list, but for what its README says needs no line: smoke runs, good text links, paths outside the root."""
    runs = {run["path"] for run in expected["runs"]}
    wanted = {}
    for entry in expected["not_runs"]:
        outside = entry["path"].startswith("external/")
        good_text_link = entry["reason"] == "link_as_text"  # both of the pack lead to their target
        if entry["path"] not in runs and not good_text_link and not (outside and entry["reason"] == "duplicate_path"):
            wanted[relative(entry["path"])] = entry["reason"]
    lines = {entry["path"]: entry for entry in loaded.document["not_runs"]}
    assert len(lines) == len(loaded.document["not_runs"]), "a path has two lines"
    # the pack names the physical file outside the root; we show the path inside that leads there
    reached = {entry["physical"]: entry for entry in lines.values() if entry["reason"] != "dangling_link"}
    assert {path: (lines.get(path) or reached[path])["reason"] for path in wanted} == wanted
    assert not [path for path in wanted if not path.startswith("../") and path not in lines]
    # what stands there beyond the list are further paths, through links, to the same files: same reason
    for path, entry in lines.items():
        assert wanted[path if path in wanted else entry["physical"]] == entry["reason"], path


def test_without_allow_outside_those_runs_are_reported_and_absent(
    pack: Path, expected: dict[str, Any], db: None
) -> None:
    result = ingest(pack / "results", "--gold", pack / "gold")
    outside = {run["path"] for run in expected["runs"] if run["physical"].startswith("external/")}
    assert len(outside) == 7
    assert result.runs.keys() == {relative(run["path"]) for run in expected["runs"] if run["path"] not in outside}
    told = {path for path, reason in result.not_runs.items() if reason == "outside_root"}
    # a directory link is told once, as itself; a dangling one that leads outside is told as that
    files = {path if path.endswith(".jsonl") else f"{path}/results.jsonl" for path in told}
    assert files == {relative(path) for path in outside}
    assert {finding["path"] for finding in result.findings("outside_root")} == told
    assert result.code == 1


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_the_official_ones(scored: dict, expected: dict[str, Any]) -> None:
    """`done_only` as the public scorer prints, "" with missing questions as 0: overall, by task and by task type."""
    compared = 0
    for run in expected["runs"]:
        if run["benchmark"] == "mm_bench":
            continue  # the next test
        ours = scored[key_of(run)]
        repeat = None if len(repeats_of(run)) > 1 else 1
        official = run["scores"].get("official_on_cleaned_copy") or run["scores"]["official"]
        for variant, block in (("done_only", official), ("", run["scores"]["missing_as_zero"])):
            groups = {("overall", ""): block["overall"]}
            groups |= {("task", task): entry for task, entry in block["per_task"].items()}
            groups |= {("task_type", kind): entry for kind, entry in block["per_task_type"].items()}
            for (dimension, facet), entry in groups.items():
                if variant and not entry["total"]:
                    continue  # a task as rows spell it: see the next test
                for metric in METRICS:
                    row = ours[repeat, metric, variant, dimension, facet]
                    if variant and not entry["completed"]:
                        continue  # nothing done: 0.0 there, no figure here
                    compared += 1
                    assert row["value"] == pytest.approx(entry[metric], abs=1e-9), (run["path"], variant, facet)
                    assert row["n"] == (entry["completed"] if variant else entry["total"])
    assert compared > 1300


MM = ("f1", "precision", "recall", "accuracy")


def mm_figures(block: dict[str, Any], raw: str) -> dict[tuple[str, str, str], tuple[float, int]]:
    """(metric, dimension, facet) -> (value, n) of the unified figures of a block, `raw` at the end of their names."""
    found = {(f"unified_{name}", "overall", ""): (block[f"unified_{name}{raw}"], block["total"]) for name in MM}
    for task, entry in block["per_task_unified"].items():
        found |= {(f"unified_{name}", "task", task): (entry[f"{name}{raw}"], entry["count"]) for name in MM}
    return found


def test_mm_scores_are_the_official_ones_without_vocabulary(scored: dict, expected: dict[str, Any]) -> None:
    """`done_only` is the official block, "" has missing as 0, and rows saved from broken lines give the recovered ones."""
    compared = 0
    for run in expected["runs"]:
        if run["benchmark"] != "mm_bench":
            continue
        scores, ours = run["scores"], scored[key_of(run)]
        official = (scores.get("official_on_cleaned_copy") or scores["official"])["no_vocab"]
        wanted = {"done_only": mm_figures(official, ""), "": mm_figures(scores["missing_as_zero"], "_raw")}
        if "recovered_missing_as_zero" in scores:
            wanted["recovered"] = mm_figures(scores["recovered_missing_as_zero"], "_raw")
            wanted["recovered_done_only"] = mm_figures(scores["official_on_recovered_copy"]["vocab"], "_raw")
        assert {key[2] for key in ours} - {"first_row", "every_row"} == wanted.keys()
        for variant, figures in wanted.items():
            for (metric, dimension, facet), (value, n) in figures.items():
                row = ours[1, metric, variant, dimension, facet]
                assert row["value"] == pytest.approx(value, abs=1e-9), (run["path"], variant, metric, facet)
                assert row["n"] == n
                compared += 1
    assert compared > 600


def test_a_task_spelled_otherwise_counts_under_the_name_in_gold(
    loaded: Called, scored: dict, expected: dict[str, Any]
) -> None:
    path = "ehr_bench/agentic/full1800/qwen3_vl_235b/results.jsonl"
    official = next(run for run in expected["runs"] if relative(run["path"]) == path)["scores"]["official"]
    spelled, gold = "ED_ICU_Transfer_12hour", "ED_ICU_Tranfer_12hour"
    assert official["per_task"][gold]["completed"] == 0 < official["per_task"][spelled]["completed"]
    ours = scored["ehr-bench", "agentic", "full1800", "qwen3_vl_235b"]
    for metric in METRICS:
        row = ours[1, metric, "done_only", "task", gold]
        assert row["value"] == pytest.approx(official["per_task"][spelled][metric], abs=1e-9)
        assert row["n"] == official["per_task"][spelled]["completed"]
    assert not [key for key in ours if key[4] == spelled]
    finding = next(f for f in loaded.findings("task_differs") if f["path"] == path)
    assert spelled in finding["message"] and gold in finding["message"]


def test_nothing_done_is_blank_and_missing_counts_zero(scored: dict, expected: dict[str, Any]) -> None:
    run = next(
        r for r in expected["runs"] if r["path"].endswith("ehr_bench/agentic/full1800/minimax_m2_5/results.jsonl")
    )
    blank = [task for task, entry in run["scores"]["official"]["per_task"].items() if not entry["completed"]]
    assert blank
    for task in blank:
        ours = scored[key_of(run)]
        done, whole = (ours[1, "f1", variant, "task", task] for variant in ("done_only", ""))
        assert (done["value"], done["n"], done["n_answered"], done["ci_low"]) == (None, 0, 0, None)
        assert (whole["value"], whole["n_answered"]) == (0.0, 0) and whole["n"] > 0


def plain_f1(row: dict[str, Any], gold: set[str]) -> float:
    """The rules of the text scorer, written down again as plainly as can be, for well-formed rows."""
    calls = [call for message in row["messages"] for call in message.get("tool_calls") or []]
    calls = [call["function"] for call in calls if "finish" in call["function"]["name"].lower()]
    if not calls:
        return 0.0
    answers = json.loads(calls[-1]["arguments"])
    answers = answers["response"] if isinstance(answers, dict) else answers
    predicted = {answer.lower() for answer in answers if isinstance(answer, str)}
    hits = len(predicted & gold)
    return 2 * hits / (len(predicted) + len(gold))  # = 2PR/(P+R)


def test_each_repeat_has_its_own_score_and_null_is_over_all(scored: dict, pack: Path) -> None:
    """MiniMax on AgentEHR: three repeats, the third with gaps, one row twice."""
    golds = {}
    for row in json.loads((pack / "gold" / "agent_ehr_bench.json").read_text()):
        parts = [row["task"], row["subject_id"], row.get("hadm_id")]
        names = [label.get("atc_name") for label in row["label"]]
        names = names if any(names) else [label["name"] for label in row["label"]]
        golds["_".join(str(part) for part in parts if part is not None)] = {name.lower() for name in names if name}
    rows = list(dictionaries(read_whole(str(pack / "external" / "subsets_600_minimax_m2_5" / "results.jsonl"))))
    ours = scored["agent-ehr-bench", "agentic", "subset600", "minimax_m2_5"]
    assert {key[0] for key in ours} == {1, 2, 3, None}
    for repeat in (1, 2, 3, None):
        values = defaultdict(list)
        for row in rows:
            if repeat in (None, row["run_index"]):
                values[row["qid"]].append(plain_f1(row, golds[row["qid"]]))
        means = [sum(found) / len(found) for found in values.values()]
        done, whole = (ours[repeat, "f1", variant, "overall", ""] for variant in ("done_only", ""))
        assert (done["value"], done["n"]) == (pytest.approx(sum(means) / len(means), abs=1e-12), len(means))
        assert (whole["value"], whole["n"]) == (pytest.approx(sum(means) / len(golds), abs=1e-12), len(golds))
    assert ours[3, "f1", "done_only", "overall", ""]["n"] == 27 and ours[3, "f1", "", "overall", ""]["n"] == 30


def test_a_run_without_repeats_has_repeat_1_only(scored: dict) -> None:
    for key, ours in scored.items():
        if key[3] != "minimax_m2_5" or key[0] != "agent-ehr-bench":
            assert {row[0] for row in ours} == {1}, key


# --- stored summaries -------------------------------------------------------------------------------------------------


def files_of(stored: dict[str, Any]) -> set[str]:
    """The summaries of a stored score: its JSON files, or the Markdown where there is none; as physical paths."""
    names = [name for name in stored["files"] if name.endswith(".json")] or stored["files"]
    return {relative(name) for name in names}


@pytest.fixture(scope="module")
def physical(loaded: Called) -> dict[str, str]:
    return dict(SourceFile.objects.values_list("path", "physical"))


def test_all_stored_scores_are_reported_with_their_run(
    loaded: Called, expected: dict[str, Any], physical: dict[str, str]
) -> None:
    """Each of the 18, and nothing else: with the run it is for, its form, and whether it agrees."""
    reported = {
        physical[summary["path"]]: (path, summary["form"], summary["agrees"])
        for path, run in loaded.runs.items()
        for summary in run["summaries"]
    }
    assert len(reported) == sum(len(run["summaries"]) for run in loaded.runs.values())
    wanted = {
        file: (relative(stored["for_run"]), stored["form"], stored["agrees"])
        for stored in expected["stored_scores"]
        for file in files_of(stored)
    }
    assert reported == wanted
    assert len(expected["stored_scores"]) == 18
    for run in loaded.runs.values():
        for summary in run["summaries"]:
            if summary["agrees"]:
                assert summary["largest_difference"] <= (5.1e-5 if summary["form"].endswith("_md_only") else 1e-9)
    assert not loaded.findings("summary_without_run")


def test_what_is_wrong_with_stored_scores_is_found(
    loaded: Called, expected: dict[str, Any], physical: dict[str, str]
) -> None:
    def told(code: str) -> dict[str, str]:
        return {physical[f["path"]]: f["message"] for f in loaded.findings(code)}

    stale, twice, out, rows = (
        told(f"{c}") for c in ("stale_summary", "rows_written_twice", "judge_outage", "stale_scored_rows")
    )
    scores = expected["stored_scores"]
    assert stale.keys() == {file for stored in scores if not stored["agrees"] for file in files_of(stored)}
    assert twice.keys() == {f for stored in scores if stored["form"] == "hierarchical" for f in files_of(stored)}
    assert rows.keys() == {file for stored in scores if stored.get("stale_qids") for file in files_of(stored)}
    assert out.keys() == {file for s in scores if s.get("judge_unparsed_rows") for file in files_of(s)}
    for stored in scores:
        for file in files_of(stored):
            if "stale_qids" in stored:
                assert sorted(rows[file].rpartition(": ")[2].split(", ")) == sorted(stored["stale_qids"])
            if stored.get("judge_unparsed_rows"):
                assert f"{stored['judge_unparsed_rows']} rows of " in out[file]
                assert f"judge_unparsed and {stored['judge_exception_rows']} an exception" in out[file]


def test_figures_are_compared_as_the_pack_lists_them(
    loaded: Called, expected: dict[str, Any], physical: dict[str, str]
) -> None:
    """What stands in a stored MM summary is what the pack says stands there, and nothing of it is passed over."""
    by_file = {physical[kept.path]: kept for kept in StoredSummary.objects.all()}
    for stored in expected["stored_scores"]:
        if "summary" not in stored or stored["form"].endswith("_md_only"):
            continue
        (file,) = files_of(stored)
        theirs = {" ".join(path): value for path, value in numbers(stored["summary"])}
        theirs.pop("vocab_threshold", None)
        compared = {name: value for name, value, _ in by_file[file].rows}
        assert compared.items() <= theirs.items()
        has_rows = any(name.endswith("scored.jsonl") for name in stored["files"])
        assert (compared == theirs) if has_rows else ("unified_count" in compared), (
            stored["form"],
            theirs.keys() - compared.keys(),
        )


def test_stored_verdicts_are_an_evaluation_of_their_own(
    loaded: Called, expected: dict[str, Any], physical: dict[str, str]
) -> None:
    """One a run that has scored rows: what the summary beside them prints, with the file and its stale rows named."""
    ours = {}
    for row in called("scores", "--json", "--benchmark", "mm-bench").document:
        if row["evaluator"] == STORED and (row["dimension"], row["repeat"]) == ("overall", 1):
            ours[row["run"], row["metric"], row["variant"]] = row["value"]
    runs = {run["path"]: run["id"] for run in loaded.runs.values()}
    found = {kept.run.key: kept for kept in Evaluation.objects.filter(evaluator__name=STORED).select_related("run")}
    wanted = set()
    for stored in expected["stored_scores"]:
        files = [name for name in stored["files"] if name.endswith("scored.jsonl")]
        if "summary" not in stored or not files:
            continue
        run = runs[relative(stored["for_run"])]
        wanted.add(run)
        assert (found[run].current, found[run].basis["form"]) == (True, stored["form"])
        assert physical[found[run].basis["path"]] == relative(files[0])
        assert found[run].basis["mapped"] is (stored["form"] != "old_summary")
        assert sorted(found[run].basis["stale"]) == sorted(stored.get("stale_qids", []))
        for name, value in stored["summary"].items():
            # the old re-scorer leaves incomplete rows out of these, as every other form does not
            complete = stored["form"] == "summary_vocab" and not name.startswith("unified")
            if (key := (run, name, "complete_only" if complete else "done_only")) in ours:
                assert ours[key] == pytest.approx(value, abs=1e-9), (stored["for_run"], name)
        headline = stored["summary"].get("unified_f1")
        assert headline is None or ours[run, "unified_f1", "done_only"] == pytest.approx(headline, abs=1e-9)
    assert found.keys() == wanted and len(wanted) == 10


# --- once more --------------------------------------------------------------------------------------------------------


def test_a_second_ingest_changes_nothing(loaded: Called, pack: Path) -> None:
    before = tables()
    again = go(pack)
    assert again.code == loaded.code
    assert (again.document["rows_read"], again.document["rows_loaded"]) == (0, 0)
    assert {run["state"] for run in again.runs.values()} == {"unchanged"}
    assert without_state(again.runs) == without_state(loaded.runs)
    assert again.document["not_runs"] == loaded.document["not_runs"]
    assert sorted(map(repr, again.document["findings"])) == sorted(map(repr, loaded.document["findings"]))
    assert tables() == before


def without_state(runs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {path: {name: value for name, value in run.items() if name != "state"} for path, run in runs.items()}


def test_a_dry_run_says_the_same_and_writes_nothing(pack: Path, loaded: Called) -> None:
    before = tables()
    dry = go(pack, "--dry-run")
    assert tables() == before
    assert dry.document["rows_loaded"] == 0
    assert {run["state"] for run in dry.runs.values()} == {"unchanged"}
    assert without_state(dry.runs) == without_state(loaded.runs)


def test_archived_runs_are_loaded_only_when_asked(pack: Path, loaded: Called) -> None:
    live = called("scores", "--json").document
    result = go(pack, "--include-archived")
    archived = {path: run for path, run in result.runs.items() if run["state"] == "archived"}
    assert archived.keys() == {"ehr_bench/agentic/full1800/claude_opus_4_6_prev/results.jsonl"}
    assert len(result.runs) == 42
    assert called("scores", "--json").document == live
