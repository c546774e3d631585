"""An answer read again from its place: every form of file, and what is said when the file is no longer the one."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.models import Response, Run
from ingest import drilldown
from ingest.drilldown import CannotRead, along, read_response
from tests.ingest.trees import Row, Tree, answered, live_case, live_results, med_document, run_path, small_tree
from tests.leaderboard.worlds import load

pytestmark = pytest.mark.django_db

LINES = [answered("q1", "alpha", note="é字"), answered("q2", "delta")]


def responses(run: Run) -> list[Response]:
    run = Run.objects.select_related("split__release__benchmark").get(pk=run.pk)
    found = list(run.responses.select_related("file", "item").order_by("ordinal"))
    for response in found:
        response.run = run
    return found


def clinseek(root: Path, data: bytes) -> tuple[Path, list[Response]]:
    tree = small_tree(root)
    path = tree.bytes(run_path("glm_4_7"), data)
    (run,) = load(tree)
    return path, responses(run)


def as_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


FORMS = {
    "lines": as_lines(LINES),
    "byte-order mark": b"\xef\xbb\xbf" + as_lines(LINES),
    "CRLF": as_lines(LINES).replace(b"\n", b"\r\n"),
    "array": json.dumps(LINES, indent=1).encode(),
    "packed": gzip.compress(as_lines(LINES)),
    "NaN and a lone surrogate": as_lines(LINES).replace(b'"note": "', b'"odd": NaN, "note": "\\ud800'),
    "not UTF-8": as_lines(LINES).replace("字".encode(), b"\xff"),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_row_is_read_at_its_place(tmp_path: Path, form: str) -> None:
    _, found = clinseek(tmp_path, FORMS[form])
    rows = [read_response(response) for response in found]
    assert [row.row["qid"] for row in rows] == ["q1", "q2"]
    assert [row.answer.prediction for row in rows] == [("alpha",), ("delta",)]
    assert rows[0].row["note"].endswith("字" if form != "not UTF-8" else "\ufffd")
    assert "size and time" in rows[0].checked


def test_a_row_saved_from_a_glued_line(tmp_path: Path) -> None:
    _, found = clinseek(tmp_path, as_lines([*LINES, answered("q3", "yes")]).replace(b"\n", b"", 1))
    assert [response.recovered for response in found] == [False, True, True]
    assert [read_response(response).row["qid"] for response in found] == ["q3", "q1", "q2"]


def test_a_question_in_a_document(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.lines("dataset.jsonl", [live_case("PMC1", "AB"), live_case("PMC2", "BC")])
    tree.json("alder.json", live_results("alder", {"PMC2": "BC", "PMC1": "AB"}))
    (run,) = load(tree)
    assert [read_response(response).answer.item for response in responses(run)] == [
        "PMC2:0",
        "PMC2:1",
        "PMC1:0",
        "PMC1:1",
    ]


def test_a_judged_answer_comes_with_the_earlier_rounds(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("dataset.json", med_document())
    document = json.dumps(med_document({(1, 2): "4", (1, 1): 5, (2, 1): 3}))
    tree.text("alder/run1_score.json", document.replace('"score"', '"checklist": NaN, "score"', 1))
    (run,) = load(tree)
    found = {response.item.key: read_response(response) for response in responses(run) if response.item}
    assert [row["problem"] for row in found["MK:1:2"].before] == ["invented 1.1"]
    assert found["MK:1:1"].before == found["MK:2:1"].before == []
    assert found["MK:1:2"].answer.prediction == 4.0


def refused(response: Response) -> str:
    with pytest.raises(CannotRead) as error:
        read_response(response)
    return str(error.value)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path, found = clinseek(tmp_path, as_lines(LINES))
    path.unlink()
    assert "gone" in refused(found[0]) and str(tmp_path) not in refused(found[0])


def test_a_touched_file_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, found = clinseek(tmp_path, as_lines(LINES))
    os.utime(path, (1, 1))
    assert "its sha256 is the one" in read_response(found[1]).checked
    monkeypatch.setattr(drilldown, "MOST_HASHED", 10)
    assert "too large to be hashed" in refused(found[1])
    monkeypatch.undo()
    path.write_bytes(as_lines(LINES).replace(b"delta", b"gamma"))
    os.utime(path, (1, 1))
    assert "its sha256 is not the one" in refused(found[1])


def test_another_row_at_the_place(tmp_path: Path) -> None:
    """Also a file that was changed without a trace is told by what stands in it."""
    path, found = clinseek(tmp_path, as_lines(LINES))
    status = path.stat()
    for data, why in (
        (as_lines(LINES).replace(b'"q1"', b'"q3"'), "answers another question"),
        (b"x" * status.st_size, "no row that can be read"),
        (b"[" * status.st_size, "no row that can be read"),
    ):
        path.write_bytes(data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert why in refused(found[0])
    path.write_bytes(b"")
    assert "it has 0 bytes" in refused(found[0])


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = clinseek(tmp_path, gzip.compress(as_lines(LINES)))
    monkeypatch.setattr(drilldown, "MOST_UNPACKED", found[1].offset + 5)
    assert "would have to be unpacked" in refused(found[1])
    monkeypatch.setattr(drilldown, "MOST_ROW", 10)
    assert "The row has" in refused(found[0])


KEYS = st.text(alphabet='ab/~0 字"\\', max_size=4)
VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=3) | st.just(float("nan")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def pointers(value: Any, at: str = "") -> list[tuple[str, Any]]:
    found = [(at, value)]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        found += pointers(each, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


@given(VALUES)
def test_every_pointer_leads_to_its_value(value: Any) -> None:
    def plain(one: Any) -> str:
        return json.dumps(one).replace("NaN", "null")

    for pointer, wanted in pointers(value):
        found = along(json.dumps(value).encode(), pointer)
        assert plain(json.loads(found[-1])) == plain(wanted)
        assert len(found) == pointer.count("/") + 1


@pytest.mark.parametrize("pointer", ["/a/5", "/b", "/a/x", "/a/0/c", "/a/-1x"])
def test_a_pointer_to_nothing(pointer: str) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, drilldown.msgspec.MsgspecError)):
        along(b'{"a": [1]}', pointer)
