"""Results in other forms than plain lines of clean JSON: archives, arrays, odd bytes and numbers, pointers in place of files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import Response, ResultFile, Run
from ingest import arrays
from ingest.arrays import ArrayReader
from ingest.documents import unpack
from ingest.lines import holds_array, read_bytes, starts_array
from tests.ingest.trees import GOLD, Called, Row, Tree, answered, ehr_gold, ingest, run_path, scores, small_tree

pytestmark = pytest.mark.django_db
RUN = run_path("glm_4_7")
FOLDER = RUN.rpartition("/")[0]
ROWS = [answered("q1", "alpha"), answered("q2", "delta")]


def lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def with_file(root: Path, name: str, data: bytes | str) -> Tree:
    """The small tree with this file in place of its results."""
    tree = small_tree(root)
    (root / RUN).unlink()
    tree.bytes(f"{FOLDER}/{name}", data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return tree


def f1() -> float:
    return scores()["glm_4_7" if Run.objects.get().model_name == "glm_4_7" else ""][1, "f1", "", "overall", ""]["value"]


# --- archives ---------------------------------------------------------------------------------------------------------

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstandard.compress}
both = pytest.mark.parametrize("kind", PACKERS)


@both
def test_packed_results_and_gold_of_several_members_give_the_plain_figures(tmp_path: Path, kind: str) -> None:
    pack = PACKERS[kind]
    ingest(small_tree(tmp_path / "plain"))
    plain = f1()
    Run.objects.all().delete()
    data = lines(ROWS)
    tree = with_file(tmp_path / "packed", f"results.jsonl.{kind}", pack(data[:50]) + pack(data[50:]))
    gold = json.dumps(ehr_gold(GOLD)).encode()
    (tree.root / "gold" / "ehr_bench.json").unlink()
    tree.bytes(f"gold/ehr_bench.json.{kind}", pack(gold[:40]) + pack(b"") + pack(gold[40:]))
    result = ingest(tree)
    assert result.code == 0 and f1() == plain == pytest.approx(2 / 9)
    for response in Response.objects.select_related("file"):
        place = tree.root / response.file.path
        assert json.loads(read_bytes(place, response.offset, response.length))["qid"] in GOLD


@both
def test_an_archive_that_breaks_off_keeps_its_whole_rows_and_says_so(tmp_path: Path, kind: str) -> None:
    rows = [answered(f"q{n}", "x" * 50 + str(n)) for n in range(5000)]
    stored = PACKERS[kind](lines(rows))
    result = ingest(with_file(tmp_path, f"results.jsonl.{kind}", stored[: len(stored) * 3 // 4]))
    (finding,) = result.findings("truncated_archive")
    assert finding["severity"] == "error" and "ends early; fetch the file again" in finding["message"]
    assert 0 < result.runs[f"{FOLDER}/results.jsonl.{kind}"]["rows"] < 5000


@both
def test_a_document_that_breaks_off_is_told_and_not_half_read(tmp_path: Path, kind: str) -> None:
    tree = small_tree(tmp_path)
    gold = PACKERS[kind](json.dumps(ehr_gold(GOLD)).encode())
    (tree.root / "gold" / "ehr_bench.json").unlink()
    tree.bytes(f"gold/ehr_bench.json.{kind}", gold[:-9])
    result = ingest(tree)
    told = [finding["message"] for finding in result.document["findings"]]
    assert any("archive ends early" in message or "no gold" in message for message in told), told
    assert not Run.objects.exists()


@both
def test_unpacking_refuses_what_is_cut_or_damaged(kind: str) -> None:
    pack = PACKERS[kind]
    assert unpack(pack(b"one") + pack(b"two")) == b"onetwo"
    assert unpack(pack(b"")) == b"" and unpack(b"plain") == b"plain" and unpack(b"") == b""
    for broken in (pack(b"x" * 5000)[:-3], pack(b"one") + pack(b"two")[:-2], pack(b"one") + b"junk"):
        with pytest.raises(ValueError, match="fetch the file again"):
            unpack(broken)


# --- bytes, line ends, numbers, keys ----------------------------------------------------------------------------------


def test_bytes_that_are_not_utf8_cost_a_row_only_where_they_are_read(tmp_path: Path) -> None:
    good = json.dumps(answered("q1", "alpha", session_id="é"), ensure_ascii=False).encode()
    read = json.dumps(answered("q2", "delta")).encode().replace(b'"q2"', b'"q2\xff"')
    skipped = json.dumps(answered("q3", "yes", session_id="X")).encode().replace(b'"X"', b'"\xe9 latin"')
    result = ingest(with_file(tmp_path, "results.jsonl", good + b"\n" + read + b"\n" + skipped + b"\n"))
    (run,) = result.document["runs"]
    assert (run["rows"], run["malformed"]) == (2, 1)
    line, file = result.findings("invalid_utf8")
    assert (line["severity"], line["line"]) == ("error", 2)
    assert file["severity"] == "warning" and file["message"].startswith("1 rows hold bytes that are not UTF-8")


def test_an_invalid_byte_far_into_a_long_line_is_seen(tmp_path: Path) -> None:
    row = json.dumps(answered("q1", "alpha", session_id="é" * 2_000_000), ensure_ascii=False).encode()
    whole = with_file(tmp_path / "a", "results.jsonl", row + b"\n")
    assert ingest(whole, "--dry-run").findings("invalid_utf8") == []
    bad = with_file(tmp_path / "b", "results.jsonl", row.replace(b'\xa9"', b'\xa9\xc3"') + b"\n")
    assert len(ingest(bad, "--dry-run").findings("invalid_utf8")) == 1


def test_utf16_is_named(tmp_path: Path) -> None:
    result = ingest(with_file(tmp_path, "results.jsonl", lines(ROWS).decode().encode("utf-16")))
    assert result.not_runs == {RUN: "unknown_form"}
    assert "UTF-16" in result.findings("unknown_form")[0]["message"]


@pytest.mark.parametrize(
    ("ends", "note"),
    [
        (("\n", "\n"), None),
        (("\r\n", "\r\n"), "CRLF line ends"),
        (("\r\n", "\n"), "mixed line ends: 1 of 2 lines end in CRLF"),
        (("\r\n", ""), "CRLF line ends"),
    ],
)
def test_line_ends(tmp_path: Path, ends: tuple[str, str], note: str | None) -> None:
    text = "".join(json.dumps(row) + end for row, end in zip(ROWS, ends, strict=True))
    result = ingest(with_file(tmp_path, "results.jsonl", text))
    assert result.runs[RUN]["rows"] == 2
    notes = [told for told in ResultFile.objects.get().counts["notes"] if "line ends" in told]
    assert notes == ([note] if note else [])


def test_numbers_past_64_bits_and_of_thousands_of_digits(tmp_path: Path) -> None:
    def written(qid: str, index: str) -> str:
        return (
            json.dumps({**answered("q1", "alpha"), "qid": 1, "run_index": 2})
            .replace(": 1,", f": {qid},")
            .replace('"run_index": 2', f'"run_index": {index}')
        )

    huge = "9" * 30
    text = "\n".join(
        [
            written('"q1"', huge),
            written('"q2"', "-" + huge),
            written('"q3"', "1e400"),
            written(huge, "1"),
            written("1e400", "1"),
            written("9" * 5000, "1"),
            written('"q1"', "9" * 5000),
        ]
    )
    result = ingest(with_file(tmp_path, "results.jsonl", text))
    (run,) = result.document["runs"]
    assert run["repeats"] == [1]
    assert run["rows"] == 5 and run["malformed"] == 2 and result.codes >= {"bad_json", "extra_items"}
    assert set(Response.objects.filter(item=None).values_list("item_key", flat=True)) == {huge, "inf"}


def test_of_a_key_that_stands_twice_the_last_counts(tmp_path: Path) -> None:
    call = '{"function": {"name": "ehr.finish", "arguments": "{\\"response\\": [\\"no\\"]}", "arguments": "%s"}}'
    call %= '{\\"response\\": [\\"no\\"], \\"response\\": [\\"yes\\"]}'
    row = '{"qid": "q1", "messages": [], "qid": "q3", "status": "error", "messages": [{"tool_calls": [], "tool_calls": [%s]}], '
    row = row % call + '"status": "success"%s}\n'
    for number, more in enumerate(("", ', "usage": NaN')):  # both lanes
        Run.objects.all().delete()
        ingest(with_file(tmp_path / str(number), "results.jsonl", row % more))
        assert f1() == pytest.approx(1 / 3)


@pytest.mark.parametrize("depth", [400, 900, 960, 980, 990, 1_000, 1_100, 100_000])
def test_deep_nesting_costs_its_line_and_no_more(tmp_path: Path, depth: int) -> None:
    bomb = "[" * depth + "]" * depth
    objects = '{"a":' * depth + "1" + "}" * depth
    rows = [
        f'{{"qid": "q1", "messages": [], "more": {bomb}}}',
        f'{{"qid": "q1", "messages": {bomb}}}',
        f'{{"qid": {bomb}, "messages": []}}',
        f'{{"qid": "q1", "run_index": {objects}, "task": {bomb}, "status": {objects}, "messages": []}}',
        json.dumps(answered("q1")).replace('\\"response\\": []', f'\\"response\\": {bomb}'),
        json.dumps(answered("q1")).replace(
            '\\"response\\": []', f'\\"response\\": [{objects.replace(chr(34), chr(92) + chr(34))}]'
        ),
        json.dumps(
            {**answered("q1"), "messages": [{"tool_calls": [{"function": {"name": "ehr.finish", "arguments": 0}}]}]}
        ).replace('"arguments": 0', f'"arguments": {{"response": {bomb}}}'),
        json.dumps(answered("q3", "yes")),
    ]
    result = ingest(with_file(tmp_path, "results.jsonl", "\n".join(rows) + "\n"))
    assert result.code in (0, 1), result.err
    assert result.runs[RUN]["rows"] + result.runs[RUN]["malformed"] + len(result.findings("no_id")) == len(rows)
    for finding in result.findings("bad_json"):
        assert "nested too deeply" in finding["message"]
    if depth > 1_000:
        assert result.findings("bad_json")
    mm = Tree(tmp_path / "mm")
    mm.lines(
        "gold/mm_bench.jsonl", [{"qid": f"q{n}", "task": "ehrxqa_table", "label": [{"name": "7"}]} for n in (1, 3)]
    )
    mm.text(run_path("glm_4_7", "mm_bench", split="full2703"), "\n".join(rows) + "\n")
    assert ingest(mm).code in (0, 1)


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "x" * 300_000])
def test_odd_texts_in_any_field_are_kept_and_stop_nothing(tmp_path: Path, odd: str) -> None:
    fields = dict.fromkeys(
        ("task", "status", "stop_reason", "backend_model_id", "backend_region", "error", "question"), odd
    )
    rows = [{**answered("q1", odd, "alpha"), **fields}, {**answered("q2", odd), "qid": odd}, answered("q3", "yes")]
    rows[0]["messages"][0]["tool_calls"][0]["function"]["name"] = f"finish{odd}"
    tree = with_file(tmp_path, "results.jsonl", lines(rows))
    first = ingest(tree)
    assert first.code == 0, first.err
    assert first.runs[RUN]["rows"] == 3
    assert ingest(tree).runs[RUN]["state"] == "unchanged"


# --- what stands in place of a file -----------------------------------------------------------------------------------

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{7:064}\nsize 123456789\n"


@pytest.mark.parametrize(
    "name", ["results.jsonl", "results.json", "merged_unique.jsonl", "results.jsonl.gz", "scores.json"]
)
def test_a_git_lfs_pointer_is_named(tmp_path: Path, name: str) -> None:
    tree = small_tree(tmp_path)
    tree.text(f"{FOLDER}/{name}", POINTER)
    result = ingest(tree)
    assert result.not_runs[f"{FOLDER}/{name}"] == "unknown_form"
    (finding,) = result.findings("unknown_form")
    assert "Git LFS pointer" in finding["message"] and finding["path"].endswith(name)


# --- one array in place of lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["results.json", "results.jsonl", "merged_unique.json", "results.json.gz", "results.jsonl.zst"]
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_rows_is_a_run(tmp_path: Path, name: str, indent: int | None) -> None:
    data = json.dumps([*ROWS, {**ROWS[0], "qid": "é unknown"}], indent=indent, ensure_ascii=False).encode()
    data = PACKERS.get(name.rpartition(".")[2], bytes)(b"\xef\xbb\xbf \n" + data + b"\n")
    tree = with_file(tmp_path, name, data)
    result = ingest(tree)
    assert result.code == 0 and f1() == pytest.approx(2 / 9)
    entry = result.runs[f"{FOLDER}/{name}"]
    assert (entry["rows"], entry["parsed"], entry["malformed"], entry["extra"]) == (3, 3, 0, 1)
    assert [f["severity"] for f in result.findings("json_array")] == ["info"]
    assert "JSON array" in Run.objects.get().why
    responses = list(Response.objects.select_related("file", "item"))
    assert [(r.line, r.pointer) for r in responses] == [(0, "/0"), (0, "/1"), (0, "/2")]
    for response in responses:
        element = json.loads(read_bytes(tree.root / response.file.path, response.offset, response.length))
        assert element["qid"] == (response.item.key if response.item else response.item_key)
    again = ingest(tree)
    assert again.runs[f"{FOLDER}/{name}"]["state"] == "unchanged" and again.document["rows_read"] == 0


def test_an_array_beside_lines_was_made_from_them(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    tree.json(f"{FOLDER}/results.json", ROWS)
    result = ingest(tree, "--dry-run")
    assert result.runs.keys() == {RUN} and result.not_runs == {f"{FOLDER}/results.json": "derived"}
    why = "the array was repaired"
    tree.json("clinboard.yaml", {"wins": [{"path": f"{FOLDER}/results.json", "why": why}]})
    result = ingest(tree, "--dry-run")
    assert result.runs.keys() == {f"{FOLDER}/results.json"}, (result.err, result.out)
    assert result.not_runs == {RUN: "override"}


def test_lines_under_the_name_of_a_document_are_lines(tmp_path: Path) -> None:
    result = ingest(with_file(tmp_path, "results.json", lines(ROWS)))
    assert result.runs[f"{FOLDER}/results.json"]["rows"] == 2 and not result.findings("json_array")


def array_findings(root: Path, text: str | bytes) -> tuple[Called, list[tuple[str, str]]]:
    result = ingest(with_file(root, "results.json", text))
    errors = [f for f in result.document["findings"] if f["severity"] == "error"]
    return result, [(f["code"], f["message"].partition(":")[0]) for f in errors]


@pytest.mark.parametrize(
    ("text", "rows", "errors"),
    [
        ('[%s, %s, 7, null, [1], "x"]', 2, [("not_an_object", f"/{n}") for n in (2, 3, 4, 5)]),
        ("[%s, %s,]", 2, []),
        ("[%s, %s", 2, [("truncated_array", "/2")]),
        ('[%s, %s, {"qid": "q3', 2, [("truncated_array", "/2")]),
        ('[%s, %s, {"qid": oops}, {"qid": "q3", "messages": []}]', 2, [("bad_json", "/2")]),
        ("[%s, %s] [1]", 2, [("bad_json", "/2")]),
        ("[%s %s]", 1, [("bad_json", "/1")]),
        ('[%s, %s, {"messages": [], "qid": null}]', 2, [("no_id", "/2")]),
        ('[%s, %s, {"qid": "q3", "messages": ' + "[" * 5000 + "]" * 5000 + "}]", 2, [("bad_json", "/2")]),
        ('[%s, %s, {"qid": "q3", "messages": [], "usage": NaN, "n": ' + "9" * 5000 + "}]", 3, []),
    ],
)
def test_an_array_with_faults_gives_what_is_whole(
    tmp_path: Path, text: str, rows: int, errors: list[tuple[str, str]]
) -> None:
    result, told = array_findings(tmp_path, text % tuple(json.dumps(row) for row in ROWS))
    (run,) = result.document["runs"]
    assert (run["rows"], told) == (rows, errors)
    assert run["malformed"] == sum(code != "no_id" for code, _ in errors)


def test_an_element_that_is_not_utf8_costs_itself(tmp_path: Path) -> None:
    rows = [json.dumps(answered(qid, note="é"), ensure_ascii=False).encode() for qid in ("q1", "q2", "q3")]
    data = b"[" + b", ".join([rows[0], rows[1].replace("é".encode(), b"\xe9"), rows[2]]) + b"]"
    result, told = array_findings(tmp_path, data)
    assert told == [("invalid_utf8", "/1")]
    (run,) = result.document["runs"]
    assert (run["rows"], run["malformed"]) == (2, 1)
    third = Response.objects.get(pointer="/2")
    assert read_bytes(tmp_path / FOLDER / "results.json", third.offset, third.length) == rows[2]


@both
def test_an_array_in_an_archive_that_breaks_off(tmp_path: Path, kind: str) -> None:
    rows = [answered(f"q{n}", "x" * 50 + str(n)) for n in range(5000)]
    stored = PACKERS[kind](json.dumps(rows).encode())
    result = ingest(with_file(tmp_path, f"results.json.{kind}", stored[: len(stored) * 3 // 4]))
    (finding,) = result.findings("truncated_archive")
    assert "ends early" in finding["message"]
    assert 0 < result.runs[f"{FOLDER}/results.json.{kind}"]["rows"] < 5000


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (b"[{", True),
        (b"\xef\xbb\xbf [\n {\n", True),
        (b'[{"a": 1}]\n\n', True),
        (b'[{"a": 1},\n{"b": 1}]', True),
        (b'[{"a": 1}]\n{"qid": "q1"}\n', False),
        (b"[]", False),
        (b"[1, 2]", False),
        (b"[ERROR] {", False),
        (b'{"a": []}', False),
        (b"", False),
    ],
)
def test_arrays_are_told_by_how_they_start(tmp_path: Path, text: bytes, is_one: bool) -> None:
    assert starts_array(text) is is_one
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(text))
    assert holds_array(path) is is_one


def test_a_list_on_one_line_costs_that_line(tmp_path: Path) -> None:
    data = json.dumps([ROWS[0]]).encode() + b"\n" + lines(ROWS)
    result = ingest(with_file(tmp_path, "results.jsonl", data))
    assert result.runs[RUN]["rows"] == 2 and [f["line"] for f in result.findings("not_an_object")] == [1]


ELEMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


BUFFERS = st.sampled_from([1, 7, 1 << 20])


def read_array(path: Path, buffer: int) -> tuple[ArrayReader[Any], list[tuple[int, int, int, Any]]]:
    reader: ArrayReader[Any] = ArrayReader(path, dict, slow=lambda row: row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BUFFER", buffer)
        return reader, list(reader)


@given(
    buffer=BUFFERS, rows=st.lists(ELEMENTS, max_size=5), indent=st.sampled_from([None, 0, 3]), ascii_only=st.booleans()
)
@settings(deadline=None, max_examples=60)
def test_every_object_is_found_at_its_place(
    buffer: int, tmp_path_factory: pytest.TempPathFactory, rows: list[Any], indent: int | None, ascii_only: bool
) -> None:
    path = tmp_path_factory.mktemp("array") / "x.json"
    data = json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    path.write_bytes(data)
    reader, found = read_array(path, buffer)
    wanted = {n: row for n, row in enumerate(json.loads(data)) if isinstance(row, dict)}
    assert {n: repr(row) for n, *_, row in found} == {n: repr(row) for n, row in wanted.items()}
    for _, offset, length, row in found:
        assert repr(json.loads(data[offset : offset + length])) == repr(row)
    assert (reader.lines, reader.parsed, reader.bad_lines) == (len(rows), len(wanted), len(rows) - len(wanted))
    assert reader.size == len(data)


@given(
    buffer=BUFFERS,
    cut=st.integers(0, 200),
    rows=st.lists(st.dictionaries(st.text(max_size=3), ELEMENTS, max_size=2), min_size=1, max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_a_cut_array_gives_the_objects_before_the_cut(
    buffer: int, tmp_path_factory: pytest.TempPathFactory, cut: int, rows: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("array") / "x.json"
    data = json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace")[:-1]
    path.write_bytes(data[: len(data) - cut])
    reader, found = read_array(path, buffer)
    assert [repr(row) for *_, row in found] == [repr(row) for row in json.loads(data + b"]")][: len(found)]
    assert reader.bad[-1].reason in ("truncated_array", "bad_json")
