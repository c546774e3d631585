"""Signs of trouble in rows: each kind by itself, and every count of the conformance pack."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.benchmarks import BENCHMARKS
from evaluation.protocols.base import ItemSpec
from evaluation.protocols.clinseek_rows import ClinSeekRow
from ingest.readers import clinseek
from ingest.readers.base import FileContent
from ingest.signs import SIGNS, Signs
from ingest.walk import Entry, walk
from tests.ingest.test_ingest_clinseek import SLUGS, expected, go, pack, relative  # noqa: F401 - fixtures
from tests.ingest.trees import Called, Row, Tree, answered, failed, finish, ingest, run_path, small_tree

Findings = dict[str, tuple[str, int, str]]  # code -> (severity, rows, message)


def content_of(folder: Path, rows: list[Row], benchmark: str = "ehr-bench") -> FileContent:
    Tree(folder).lines("results.jsonl", rows)
    (entry,) = walk(folder)
    assert isinstance(entry, Entry)
    return clinseek.read(entry, None, BENCHMARKS[benchmark].read, lambda *_: None)


def told(signs: Signs, mode: str = "agentic", **more: Any) -> Findings:
    against = {"items": [], "found": set(), "task_names": {}, **more}
    found: Findings = {}
    for severity, code, message in signs.findings(mode, **against):
        assert code not in found, "one finding a kind"
        count = re.match(r"(\d+) of (\d+) rows", message)
        found[code] = (severity, int(count[1]) if count else -1, message)
    return found


def signs_of(folder: Path, *rows: Row, benchmark: str = "ehr-bench", mode: str = "agentic", **more: Any) -> Findings:
    return told(content_of(folder, list(rows), benchmark).signs, mode, **more)


def called_by(identifier: str, qid: str = "q1", **fields: Any) -> Row:
    row = answered(qid, "yes", **fields)
    row["messages"][0]["tool_calls"][0]["id"] = identifier
    return row


# --- each kind by itself ----------------------------------------------------------------------------------------------


def test_a_good_row_gives_no_sign(tmp_path: Path) -> None:
    assert signs_of(tmp_path, answered("q1", "yes", completed=True, error=None, question="made up")) == {}


LEAK = "Look: <patient_timeline>made up</patient_timeline>"
TEXT = [
    ("curated_text_leak", answered("q1", "yes", question=LEAK)),
    ("salvaged_answers", called_by("synthetic_finish_0a1b2c3d")),
    ("salvaged_answers", called_by("synthetic_finish_call")),
    ("repaired_answers", called_by("repair_synthetic_finish_q1")),
    ("repaired_answers", answered("q1", "yes", stop_reason="repair_finish_tool_call")),
    ("prose_answers", answered("q1", "I think that it may be this one.", "x")),
    ("prose_answers", answered("q1", "word " * 80)),
    (
        "no_finish_call",
        answered("q1", completed=True, messages=[{"role": "assistant", "content": "Exact Answer: yes"}]),
    ),
    ("finish_namespace", answered("q1", messages=finish('{"response": ["yes"]}', "browser.finish"))),
    ("unreadable_answers", answered("q1", messages=finish("{broken"))),
    ("unreadable_answers", answered("q1", messages=finish('{"response": 7}'))),
    ("empty_answers", answered("q1")),
    ("old_rows", {key: value for key, value in answered("q1", "yes").items() if key not in ("status", "stop_reason")}),
]


@pytest.mark.parametrize(("code", "row"), TEXT, ids=[f"{i}:{code}" for i, (code, _) in enumerate(TEXT)])
def test_each_sign_of_a_text_row_is_told_alone(tmp_path: Path, code: str, row: Row) -> None:
    found = signs_of(tmp_path, row, answered("q2", "no"), answered("q3", "yes"))
    assert found.keys() == {code}
    assert found[code][2].startswith("1 of 3 rows")


def test_a_failed_call_is_told_by_kind_and_region(tmp_path: Path) -> None:
    rows = [
        failed("q1", error="An error occurred (ThrottlingException) ...", backend_region="us-west-2"),
        failed("q2", error="[ERROR] ReadTimeoutError: Read timed out", backend_region="us-west-2"),
        failed("q3", error="[ERROR] ReadTimeoutError: Read timed out", backend_region="us-west-2"),
        failed("q4", error="SSLError: made up"),
        failed("q5", error="KeyError: 'question'"),
        failed("q6", error="it went wrong"),
        failed("q7"),
        answered("q8", "yes"),
    ]
    found = signs_of(tmp_path, *rows)
    assert found.keys() == {"failed_calls", "empty_trajectories"}
    assert found["failed_calls"][:2] == ("warning", 7)
    assert (
        "(time-out in us-west-2 2, throttling in us-west-2 1, TLS 1, KeyError 1, other 1, without a reason 1)"
        in (found["failed_calls"][2])
    )
    assert found["empty_trajectories"][1] == 7


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("botocore.errorfactory.ThrottlingException: Too many requests", "throttling"),
        ("Error code: 429 - slow down", "throttling"),
        ("Traceback ...\n" + "x" * 9000 + "\nssl.SSLError: [SSL] record layer failure", "TLS"),
        ("APITimeoutError: Request timed out.", "time-out"),
        ("Read timeout on endpoint URL ...", "time-out"),
        ("ConnectionResetError: peer", "connection"),
        ("InternalServerError: 503", "service"),
        ("OSError: made up", "OSError"),
        ("ValidationException: input is too long", "ValidationException"),
        ("no class here", "other"),
        ("  ", "without a reason"),
    ],
)
def test_kinds_of_failures(tmp_path: Path, error: str, kind: str) -> None:
    assert f"({kind} 1)" in signs_of(tmp_path, failed("q1", error=error))["failed_calls"][2]


def test_an_old_row_failed_where_it_holds_an_error(tmp_path: Path) -> None:
    old = {"qid": "q1", "messages": [], "error": "SSLError: made up"}
    assert signs_of(tmp_path, old).keys() == {"old_rows", "failed_calls", "empty_trajectories"}
    (row,) = content_of(tmp_path, [old]).rows
    assert row.answer.error
    (row,) = content_of(tmp_path, [{**old, "error": None}]).rows
    assert not row.answer.error


def test_the_error_of_a_row_that_succeeded_is_no_failure(tmp_path: Path) -> None:
    assert signs_of(tmp_path, answered("q1", "yes", error="retried once: timeout")) == {}


@pytest.mark.parametrize("name", ["browser.finish", "ehr_finish", "EHR.Finish"])
def test_another_name_of_the_tool_costs_an_answer_in_mm_alone(tmp_path: Path, name: str) -> None:
    row = answered("q1", messages=finish('{"response": ["yes"]}', name), completed=True)
    severity, _, message = signs_of(tmp_path, row)["finish_namespace"]
    assert severity == "info" and f"({name} 1)" in message
    severity, _, message = signs_of(tmp_path, row, benchmark="mm-bench")["finish_namespace"]
    assert severity == "warning" and f"({name} 1)" in message


def test_the_timeline_belongs_into_the_prompt_of_a_oneshot_row(tmp_path: Path) -> None:
    row = called_by("one_shot_0a1b2c3d", question=LEAK)
    assert signs_of(tmp_path, row, mode="oneshot") == {}
    assert signs_of(tmp_path, failed("q2", question=LEAK), mode="oneshot").keys().isdisjoint({"curated_text_leak"})
    assert "curated_text_leak" not in signs_of(tmp_path, answered("q1", "yes", question="the patient_timeline block"))
    escaped = json.dumps(answered("q1", "yes", question=LEAK)).replace("<", "\\u003c").replace(">", "\\u003E")
    Tree(tmp_path).text("results.jsonl", escaped)
    (entry,) = walk(tmp_path)
    assert isinstance(entry, Entry)
    content = clinseek.read(entry, None, BENCHMARKS["ehr-bench"].read, lambda *_: None)
    assert told(content.signs).keys() == {"curated_text_leak"}


def test_dropped_images(tmp_path: Path) -> None:
    def asked(qid: str, summary: Any) -> Row:
        return answered(qid, "yes", multimodal_summary=summary)

    dropped = {"num_images": 1, "dropped_image_paths": ["a.jpg"]}
    rows = [asked("q1", dropped), asked("q2", {"dropped_image_paths": []}), asked("q3", None), asked("q4", "odd")]
    found = signs_of(tmp_path, *rows, benchmark="mm-bench")
    assert found.keys() == {"images_dropped"} and found["images_dropped"][1] == 1


def test_both_lanes_of_the_reader_see_the_same_signs(tmp_path: Path) -> None:
    rows = [row for _, row in TEXT] + [
        failed("q1", error="SSLError: x", backend_region="a"),
        answered("q2", "yes", multimodal_summary={"dropped_image_paths": ["a"]}, task="labevents"),
    ]
    fast = content_of(tmp_path, rows).signs
    slow = content_of(tmp_path, [{**row, "usage": float("nan")} for row in rows]).signs
    assert fast == slow and sum(fast.shapes.values()) == len(rows)


def test_rows_saved_from_broken_lines_are_not_counted(tmp_path: Path) -> None:
    row = json.dumps(called_by("synthetic_finish_call"))
    Tree(tmp_path).text("results.jsonl", f"{row}\n{row}{row}\n")
    (entry,) = walk(tmp_path)
    assert isinstance(entry, Entry)
    content = clinseek.read(entry, None, BENCHMARKS["ehr-bench"].read, lambda *_: None)
    assert len(content.recovered) == 2 and told(content.signs)["salvaged_answers"][1] == 1


def test_a_region_with_far_fewer_rows(tmp_path: Path) -> None:
    def rows(**regions: int) -> list[Row]:
        return [
            answered(f"{region}{n}", "yes", backend_region=region)
            for region, count in regions.items()
            for n in range(count)
        ]

    found = signs_of(tmp_path, *rows(east=10, west=10, south=4))
    assert found.keys() == {"region_rows"} and "10 are usual: south 4." in found["region_rows"][2]
    assert signs_of(tmp_path, *rows(east=10, west=5)) == {}
    assert "west 4" in signs_of(tmp_path, *rows(east=10, west=4))["region_rows"][2]
    assert signs_of(tmp_path, *rows(east=3)) == {}


# --- against the gold -------------------------------------------------------------------------------------------------


def items(**tasks: int) -> list[ItemSpec]:
    return [
        ItemSpec(f"{t}{n}", f"{t}{n}", "1", "x", (("task", t),)) for t, count in tasks.items() for n in range(count)
    ]


def test_rows_of_other_tasks(tmp_path: Path) -> None:
    rows = [
        answered(f"q{n}", "yes", task=task) for n, task in enumerate(["ours", "ours_too", "theirs", "theirs", None])
    ]
    gold = items(ours=1)
    found = signs_of(tmp_path, *rows, items=gold, found={"ours0"}, task_names={"ours_too": "ours"})
    assert found.keys() == {"foreign_tasks"}
    assert found["foreign_tasks"][1] == 2 and "'theirs' 2" in found["foreign_tasks"][2]
    assert signs_of(tmp_path, *rows) == {}  # no task in the gold: nothing is foreign


def test_tasks_without_a_row_and_tasks_half_done_are_named(tmp_path: Path) -> None:
    gold = items(full=3, most=4, half=3, never=2)
    done = {"full0", "full1", "full2", "most0", "most1", "most2", "half0", "half2", "unknown"}
    row = answered("full0", "yes")
    found = signs_of(tmp_path, row, items=gold, found=done)
    assert found.keys() == {"tasks_missing"}
    message = found["tasks_missing"][2]
    assert "1 of 4 tasks have no row, 1 are half done; without any row: never (2); half done: half (2 of 3)." in message
    assert signs_of(tmp_path, row, items=gold, found={item.key for item in gold}) == {}
    assert told(Signs(), items=gold) == {}  # no ClinSeek rows at all


def test_an_item_that_is_not_scored_is_not_missed(tmp_path: Path) -> None:
    gold = [*items(full=1), ItemSpec("x", "x", "1", [], (("task", "empty"),), scored=False)]
    assert signs_of(tmp_path, answered("full0", "yes"), items=gold, found={"full0"}) == {}


def test_files_of_one_run_are_counted_together(tmp_path: Path) -> None:
    one = content_of(tmp_path, [failed("q1", error="SSLError", task="a")]).signs
    two = content_of(tmp_path, [failed("q1", error="SSLError", task="a"), answered("q2", "yes", task="b")]).signs
    both = sum((one, two), Signs())
    assert told(both)["failed_calls"][2].startswith("2 of 3 rows (TLS 2)")
    assert both.tasks == {"a": 2, "b": 1}


def test_long_names_and_many_names_do_not_fill_a_page(tmp_path: Path) -> None:
    rows = [answered(f"q{n}", "yes", task=f"{n}" + "x" * 5000) for n in range(60)]
    message = signs_of(tmp_path, *rows, items=items(ours=1), found={"ours0"})["foreign_tasks"][2]
    assert len(message) < 6000 and "10 more" in message


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = [name for name in ClinSeekRow.__struct_fields__ if name != "qid"]


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8), st.sampled_from(["ehr-bench", "mm-bench"]))
def test_a_row_of_any_shape_is_counted(
    tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any], benchmark: str
) -> None:
    content = content_of(tmp_path_factory.mktemp("any"), [{**row, "qid": "q1"}], benchmark)
    assert sum(content.signs.shapes.values()) == len(content.rows) == 1
    told(content.signs, items=items(ours=1))


def test_every_sign_says_what_it_means_and_what_to_do() -> None:
    for sign in SIGNS:
        assert sign.severity in ("info", "warning")
        assert not sign.means.endswith(".") and sign.advice.endswith(".")


# --- the conformance pack ---------------------------------------------------------------------------------------------


with_pack = pytest.mark.django_db


@pytest.fixture(scope="module")
def seen(pack: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Called]:  # noqa: F811
    with django_db_blocker.unblock(), transaction.atomic():
        yield go(pack, "--dry-run")
        transaction.set_rollback(True)


def rows_of(path: Path) -> Iterator[Row]:
    """The rows with an id of a file, as Python's own parser reads them."""
    for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("qid") is not None:
            yield row


def last_finish_name(row: Row) -> str | None:
    names = [
        call["function"]["name"] for m in row["messages"] for call in m.get("tool_calls") or [] if "function" in call
    ]
    names = [name for name in names if name and "finish" in name.lower()]
    return names[-1] if names else None


def counted(run: Row, base: Path) -> dict[str, int]:
    """Each count of the signs from `expected.json`; what it does not hold, from the rows."""
    counts = run["counts"]
    source, status, stop = (counts[k] for k in ("answer_source_counts", "status_counts", "stop_reason_counts"))
    rows = list(rows_of(base / run["physical"]))
    mm = run["benchmark"] == "mm_bench"
    none = source.get("no_finish_call" if mm else "no_prediction", 0)
    misnamed = [last_finish_name(row) not in (None, "ehr.finish", "finish") for row in rows]
    unread = sum(
        source.get(k, 0)
        for k in ("finish_parse_error", "finish_tool_call_non_list", "bad_json_args", "no_response_key")
    )
    # rows without a status failed where they say so in another way
    silent = sum(row.get("status") is None and bool(row.get("error")) for row in rows)
    agentic = run["mode"] == "agentic"
    # of the agentic rows those that are not completed hold no answer; completed one-shot rows always hold a finish call
    without_call = none - (counts["rows_with_qid"] - counts["completed_true"]) if agentic else 0
    misnamed_lost = sum(misnamed) if mm else 0
    return {
        "curated_text_leak": counts["rows_with_patient_timeline_in_agentic_question"],
        "salvaged_answers": counts["finish_ids"].get("synthetic_finish", 0),
        "repaired_answers": counts["finish_ids"].get("repair_synthetic_finish", 0),
        "no_finish_call": without_call - misnamed_lost,
        "finish_namespace": sum(misnamed),
        "unreadable_answers": unread,
        "incomplete_rows": status.get("incomplete", 0),
        "failed_calls": status.get("error", 0) + silent,
        "empty_trajectories": counts["rows_with_empty_messages"],
        "images_dropped": counts.get("rows_with_dropped_images", 0),
        "old_rows": stop.get("(none)", 0),
    }


def shown(document: Called, path: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for finding in document.document["findings"]:
        count = re.match(r"(\d+) of \d+ rows", finding["message"])
        if finding["path"] == path and count:
            found[finding["code"]] = int(count[1])
    return found


@with_pack
def test_every_count_of_the_pack(seen: Called, expected: dict[str, Any], pack: Path) -> None:  # noqa: F811
    kinds: Counter[str] = Counter()
    for run in expected["runs"]:
        ours = shown(seen, relative(run["path"]))
        wanted = counted(run, pack)
        assert {code: ours[code] for code in wanted} == wanted, run["path"]
        kinds += Counter({code: 1 for code, count in wanted.items() if count})
    assert len(kinds) == 11  # each kind occurs


@with_pack
def test_tasks_of_the_pack_that_are_missing(seen: Called, expected: dict[str, Any], pack: Path) -> None:  # noqa: F811
    gold = {row["qid"]: row["task"] for row in json.loads((pack / "gold" / "ehr_bench.json").read_text())}
    partial = next(
        run for run in expected["runs"] if run["path"].endswith("agentic/full1800/minimax_m2_5/results.jsonl")
    )
    done = {row["qid"] for row in rows_of(pack / partial["physical"])}
    never = set(gold.values()) - {gold[qid] for qid in done}
    assert never
    (finding,) = [f for f in seen.findings("tasks_missing") if f["path"] == relative(partial["path"])]
    told_never = finding["message"].partition("without any row: ")[2].partition(";")[0]
    assert {part.partition(" (")[0] for part in told_never.split(", ")} == never
    assert finding["severity"] == "warning" and partial["counts"]["missing_qids"]["count"] > len(never)


@with_pack
def test_failures_of_the_pack_by_kind(seen: Called, expected: dict[str, Any], pack: Path) -> None:  # noqa: F811
    words = {"Throttling": "throttling", "SSLError": "TLS", "imeout": "time-out", "timed out": "time-out"}
    for run in expected["runs"]:
        wanted: Counter[str] = Counter()
        for row in rows_of(pack / run["physical"]):
            if row.get("error"):
                kind = next((k for word, k in words.items() if word in row["error"]), row["error"].partition(":")[0])
                wanted[f"{kind} in {row['backend_region']}" if row.get("backend_region") else kind] += 1
        told_here = [f["message"] for f in seen.findings("failed_calls") if f["path"] == relative(run["path"])]
        if not wanted:
            assert not told_here
            continue
        parts = re.search(r"rows \((.*?)\) are calls", told_here[0])
        assert parts is not None
        assert dict(part.rsplit(" ", 1) for part in parts[1].split(", ")) == {k: str(n) for k, n in wanted.items()}


# --- through the command ----------------------------------------------------------------------------------------------


def test_signs_are_kept_and_told_again_while_nothing_changes(tmp_path: Path, db: None) -> None:
    tree = small_tree(tmp_path)
    tree.lines(run_path("glm_4_7"), [called_by("synthetic_finish_call"), failed("q2", error="SSLError: x")])
    first, again = ingest(tree), ingest(tree)
    codes = {"salvaged_answers", "failed_calls", "empty_trajectories"}
    assert codes <= first.codes and again.document["rows_read"] == 0
    assert sorted(map(str, again.document["findings"])) == sorted(map(str, first.document["findings"]))
    assert all(finding["path"] == run_path("glm_4_7") for code in codes for finding in first.findings(code))
