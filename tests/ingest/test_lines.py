"""JSON Lines files: rows with their places, what is wrong with the other lines, archives, memory."""

from __future__ import annotations

import gzip
import json
import os
import random
import tarfile
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import lines
from ingest.lines import Bad, LineReader, head, read_bytes, recover

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
BOM = b"\xef\xbb\xbf"


class Row(msgspec.Struct):
    qid: Any = None
    n: int = 0


def slow(row: dict[str, Any]) -> Row:
    return Row(row.get("qid"), row.get("n", 0))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / "results.jsonl"
        path.write_bytes(data)
        return path

    return write


def read(path: Path, **options: int) -> tuple[LineReader[Row], list[tuple[int, int, int, Row]]]:
    reader = LineReader(path, Row, slow=slow, **options)
    rows = list(reader)
    assert reader.lines == reader.parsed + reader.blank_lines + reader.bad_lines
    assert reader.parsed == len(rows)
    assert reader.size == path.stat().st_size
    assert reader.sha256 == sha256(path.read_bytes()).hexdigest()
    return reader, rows


def qids(rows: list[tuple[int, int, int, Row]]) -> list[Any]:
    return [row.qid for *_, row in rows]


def line(qid: str, **more: Any) -> bytes:
    return json.dumps(
        {"qid": qid, "status": "success", "messages": [{"role": "user", "content": "a"}], **more}
    ).encode()


# --- places and counts -----------------------------------------------------------------------------------------------


def test_rows_come_with_line_offset_and_length(write: Callable[[bytes], Path]) -> None:
    path = write(b'{"qid":"a"}\n\n{"qid":"b"}\r\n  \t\n {"qid":"c"} ')
    reader, rows = read(path)
    assert [row[:3] for row in rows] == [(1, 0, 11), (3, 13, 11), (5, 30, 13)]
    assert [read_bytes(path, offset, length) for _, offset, length, _ in rows] == [
        b'{"qid":"a"}',
        b'{"qid":"b"}',
        b' {"qid":"c"} ',
    ]
    assert (reader.lines, reader.blank_lines, reader.bad_lines) == (5, 2, 0)
    assert reader.crlf and not reader.final_newline and not reader.bom
    assert reader.longest == 13


def test_the_mark_of_byte_order_belongs_to_no_line(write: Callable[[bytes], Path]) -> None:
    reader, rows = read(write(BOM + b'{"qid":"a"}\n{"qid":"b"}\n'))
    assert [row[:3] for row in rows] == [(1, 3, 11), (2, 15, 11)]
    assert reader.bom and reader.final_newline and not reader.crlf and reader.longest == 11


def test_an_empty_file_and_one_with_only_a_mark(write: Callable[[bytes], Path]) -> None:
    for data in (b"", BOM):
        reader, rows = read(write(data))
        assert rows == [] and reader.lines == 0 and reader.longest == 0 and not reader.final_newline and not reader.bad


def test_the_longest_line_counts_all_but_the_line_feed(write: Callable[[bytes], Path]) -> None:
    assert read(write(b'{"qid":"a"}\r\n'))[0].longest == 12


def test_reading_again_begins_anew(write: Callable[[bytes], Path]) -> None:
    reader = LineReader(write(b'{"qid":"a"}\nx\n'), Row, slow=slow)
    assert list(reader) == list(reader)
    assert (reader.lines, reader.bad_lines, len(reader.bad)) == (2, 1, 1)


def test_stopping_early_gives_no_hash(write: Callable[[bytes], Path]) -> None:
    reader = LineReader(write(b'{"qid":"a"}\n{"qid":"b"}\n'), Row, slow=slow)
    for _ in reader:
        break
    assert reader.sha256 == ""


def test_a_file_that_cannot_be_opened_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(LineReader(tmp_path / "none", Row, slow=slow))
    with pytest.raises(IsADirectoryError):
        list(LineReader(tmp_path, Row, slow=slow))


# --- the slow lane ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nan", "surrogate"),
    [
        (r'{"qid":"a","x":NaN}', 1, 0),
        (r'{"qid":"a","x":[-Infinity, Infinity]}', 1, 0),
        (r'{"qid":"a","x":"NaN"}', 0, 0),
        (r'{"qid":"a","x":"\ud800"}', 0, 1),
        (r'{"qid":"a","x":"\udc00\ud800"}', 0, 1),
        (r'{"qid":"a","\uDFFF":1}', 0, 1),
        (r'{"qid":"a","x":"\ud83d\ude00"}', 0, 0),
        (r'{"qid":"a","x":"\\ud800","y":"\ud800z","z":NaN}', 1, 1),
        (r'{"qid":"a","x":"\\ud800","z":NaN}', 1, 0),
        (r'{"qid":"a","n":"7"}', 0, 0),
        (r'{"qid":"a","n":1e400}', 0, 0),
        (r'{"qid":"z","qid":"a","x":NaN}', 1, 0),
    ],
)
def test_what_result_files_really_hold_is_accepted(
    write: Callable[[bytes], Path], text: str, nan: int, surrogate: int
) -> None:
    reader, rows = read(write(text.encode() + b"\n"))
    assert qids(rows) == ["a"] and reader.bad == []
    assert (reader.nan_rows, reader.surrogate_rows) == (nan, surrogate)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "NaN", '[{"qid":"a"}]'])
def test_valid_json_that_is_no_object(write: Callable[[bytes], Path], text: str) -> None:
    reader, rows = read(write(text.encode()))
    assert rows == [] and [bad.reason for bad in reader.bad] == ["not_an_object"]


def test_a_row_that_slow_refuses_costs_that_line(write: Callable[[bytes], Path]) -> None:
    def strict(row: dict[str, Any]) -> Row:
        raise ValueError("n must be a number")

    reader = LineReader(write(b'{"qid":"a","n":"x"}\n{"qid":"b"}\n'), Row, slow=strict)
    assert qids(list(reader)) == ["b"]
    (bad,) = reader.bad
    assert bad.reason == "bad_row" and "n must be a number" in bad.message and (bad.line, bad.length) == (1, 19)


# --- bad lines -------------------------------------------------------------------------------------------------------

A, B = line("a").decode(), line("b").decode()
CASES = [
    ("glued", A + B, ["a", "b"]),
    ("glued", f" {A} \t{B}{A} ", ["a", "b", "a"]),
    ("bad_json", A + B[:-9], ["a"]),
    ("glued", A + B[:40] + A, ["a", "a"]),
    ("glued", A + B + "trailing words", ["a", "b"]),
    ("cut_start_then_row", A[:30] + B, ["b"]),
    ("cut_start_then_row", A[:30] + B + A, ["b", "a"]),
    ("cut_start_then_row", A[:30] + B[:20] + A, ["a"]),
    ("cut_start_then_row", A[:30] + '{"x": 1}' + B, ["b"]),
    ("bad_json", A[:30] + '{"no": "row"}', []),
    ("bad_json", A[:30] + B[:-9], []),
    ("bad_json", A[:30], []),
    ("bad_json", A[:30] + B + "x", []),
    ("bad_json", A + "trailing words", ["a"]),
    ("bad_json", A + '2026-04-01 done {"qid": "log"}', ["a"]),
    ("bad_json", "{'qid': 'a'}", []),
    ("bad_json", '{"qid": "a",}', []),
    ("bad_json", '[{"qid": "a"},', []),
    ("bad_json", '{"qid": "tab\there"}', []),
    ("bad_json", '{"qid": "a", "x": ' + "9" * 5000 + ', "n": NaN}', []),
    ("bad_json", '{"qid": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", []),
    ("not_json", "Traceback (most recent call last):", []),
    ("not_json", 'INFO wrote {"qid": "log"}', []),
    ("not_json", '": 3}' + A, []),
    ("not_json", "\N{ZERO WIDTH NO-BREAK SPACE}" + A, []),
]


@pytest.mark.parametrize(("reason", "text", "rows"), CASES, ids=[f"{number}" for number in range(len(CASES))])
def test_reason_and_rescue_of_a_bad_line(
    write: Callable[[bytes], Path], reason: str, text: str, rows: list[str]
) -> None:
    path = write(b"\n" + text.encode() + b"\r\n" + line("next") + b"\n")
    reader, parsed = read(path)
    assert qids(parsed) == ["next"]
    (bad,) = reader.bad
    assert (bad.line, bad.offset, bad.length, bad.reason) == (2, 1, len(text.encode()), reason)
    place = read_bytes(path, bad.offset, bad.length)
    assert [row["qid"] for *_, row in recover(place)] == rows
    for start, length, row in recover(place):
        assert json.loads(place[start : start + length]) == row


@pytest.mark.parametrize(
    "text", [A[:-1], A[:30], '{"qid": "a", "ok": tru', '{"qid": "a", "x": "\\u00', '{"qid": "a", "x": "{y}', "{"]
)
def test_a_last_line_that_breaks_off(write: Callable[[bytes], Path], text: str) -> None:
    (bad,) = read(write(line("first") + b"\n" + text.encode()))[0].bad
    assert (bad.line, bad.reason, bad.length) == (2, "truncated_last_line", len(text))
    assert read(write(text.encode() + b"\n"))[0].bad[0].reason == "bad_json"  # with a line end it is no cut


def test_a_last_line_that_is_broken_but_whole(write: Callable[[bytes], Path]) -> None:
    (bad,) = read(write(b'{"qid": oops, "x": {}}'))[0].bad
    assert bad.reason == "bad_json"


def test_a_last_line_cut_within_a_character(write: Callable[[bytes], Path]) -> None:
    (bad,) = read(write('{"qid": "é'.encode()[:-1]))[0].bad
    assert (bad.reason, bad.length) == ("truncated_last_line", 10)
    (bad,) = read(write('{"qid": "é'.encode()[:-1] + b'"}\n'))[0].bad
    assert bad.reason == "invalid_utf8" and "byte 10" in bad.message
    (bad,) = read(write(b'{"qid":"a"}\n \xc3'))[0].bad
    assert (bad.line, bad.reason) == (2, "invalid_utf8")


def test_invalid_utf8_costs_a_line_only_where_it_is_read(write: Callable[[bytes], Path]) -> None:
    reader, rows = read(write(b'{"qid":"\xff"}\n{"qid":"b","skipped":"\xff"}\n{"qid":"c","x":"\xff","y":NaN}\n'))
    assert qids(rows) == ["b"]
    assert [(bad.line, bad.reason) for bad in reader.bad] == [(1, "invalid_utf8"), (3, "invalid_utf8")]
    assert recover(b'{"qid":"a"}{"qid":"\xff"}') == []


def test_messages_say_where_and_quote_nothing(write: Callable[[bytes], Path]) -> None:
    reader, _ = read(write(b'{"qid": secret}\nsecret\n{"qid":"secret"}{"qid":"secret"}\n'))
    assert [bad.message for bad in reader.bad] == [
        "The line is broken JSON (the parser says: Expecting value, column 9).",
        "The line is no JSON (the parser says: Expecting value, column 1).",
        "2 complete rows stand on one line without a line end between them (the parser says: Extra data, column 17).",
    ]
    assert read(write(b'{"a":' + b"[" * 100_000))[0].bad[0].message == "The line is nested too deeply to be read."


def test_only_so_many_bad_lines_are_told(write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_BAD", 3)
    reader, _ = read(write(b"x\n" * 10))
    assert (len(reader.bad), reader.bad_lines) == (3, 10)


def test_a_line_that_is_too_long_is_passed_over(write: Callable[[bytes], Path]) -> None:
    fits, longer = b'{"qid":"%s"}' % (b"x" * 90), b'{"qid":"%s"}' % (b"x" * 91)
    path = write(fits + b"\n" + fits + b"\r\n" + longer + b"\n" + longer * 50_000 + b"\n" + fits + b"\n" + longer * 3)
    reader, rows = read(path, max_line=100)
    assert [row[0] for row in rows] == [1, 2, 5]
    assert [(bad.line, bad.length, bad.reason) for bad in reader.bad] == [
        (3, 101, "too_long"),
        (4, 101 * 50_000, "too_long"),
        (6, 303, "too_long"),
    ]
    assert [read_bytes(path, bad.offset, bad.length)[:9] for bad in reader.bad] == [longer[:9]] * 3
    assert reader.longest == 101 * 50_000 and not reader.final_newline


# --- rescue of rows --------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(['{"qid": "fake", "x": 1}', '{"', '}{"qid":"fake"}', '"{"qid": "fake"}', "\\", '\\"{"', "}"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(TEXTS.filter(lambda key: key != "qid"), inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.builds(lambda qid, more: {"qid": qid, **more}, TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3))


def dumps(value: Any) -> str:
    return json.dumps(value)


@settings(deadline=None)
@given(st.lists(ROWS, min_size=2, max_size=4), st.sampled_from(["", " ", "\t"]), st.booleans())
def test_glued_rows_are_all_found(rows: list[dict[str, Any]], space: str, ascii_only: bool) -> None:
    text = space.join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    found = recover(text.encode())
    assert [dumps(row) for *_, row in found] == [dumps(row) for row in rows]
    assert [dumps(json.loads(text.encode()[at : at + size])) for at, size, _ in found] == [dumps(row) for row in rows]


@settings(deadline=None)
@given(st.lists(st.tuples(ROWS, st.floats(0, 1), st.booleans()), min_size=1, max_size=5))
def test_nothing_is_found_that_was_not_written(parts: list[tuple[dict[str, Any], float, bool]]) -> None:
    written = {dumps(row) for row, _, _ in parts}
    texts = [(dumps(row), share, cut) for row, share, cut in parts]
    text = "".join(text[: round(share * len(text))] if cut else text for text, share, cut in texts)
    assert {dumps(row) for *_, row in recover(text.encode())} <= written


def test_a_row_behind_a_cut_one_is_found_wherever_the_cut_is() -> None:
    first = {"qid": "a", "q": 'say "{"', "messages": [{"x": [1, -2.5e3, None, True]}, {"y": "\\"}], "é": {}}
    second = {"status": "success", "qid": "b", "label": ["{", '{"qid":"c"}']}
    for ascii_only in (True, False):
        text, tail = (json.dumps(row, ensure_ascii=ascii_only) for row in (first, second))
        for cut in range(1, len(text)):
            found = recover((text[:cut] + tail).encode())
            assert found == [(len(text[:cut].encode()), len(tail.encode()), second)], text[:cut]


@pytest.mark.parametrize(
    "text", ['{"a":' * 200_000, '{"a":[' + '{"b":1},' * 100_000, '{"a":1' + '{"b":1}' * 100_000 + "{", '{"' * 200_000]
)
def test_hostile_lines_come_to_an_end(text: str) -> None:
    assert recover(text.encode()) == []  # with every start of an object tried to the end this would take hours


# --- round trip ------------------------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=6)
OBJECTS = st.dictionaries(
    st.one_of(st.just("qid"), ANY_TEXT),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)),
        max_leaves=5,
    ),
    max_size=4,
)
BLANK = st.sampled_from([b"", b" ", b"\t \t", b"\r"])


def holds(value: Any, test: Callable[[Any], bool]) -> bool:
    if isinstance(value, dict):
        return any(holds(key, test) or holds(item, test) for key, item in value.items())
    if isinstance(value, list):
        return any(holds(item, test) for item in value)
    return test(value)


def is_odd_number(value: Any) -> bool:
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def is_odd_text(value: Any) -> bool:
    return isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.one_of(OBJECTS, BLANK), st.sampled_from([b"\n", b"\r\n"])), max_size=8),
    st.booleans(),
    st.booleans(),
    st.sampled_from([lambda data: data, gzip.compress, zstandard.compress]),
)
def test_every_row_is_found_at_its_place(
    tmp_path_factory: pytest.TempPathFactory,
    content: list[tuple[dict[str, Any] | bytes, bytes]],
    mark: bool,
    final: bool,
    pack: Callable[[bytes], bytes],
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip"
    texts = [(item if isinstance(item, bytes) else json.dumps(item).encode(), end) for item, end in content]
    data = b"".join(text + end for text, end in texts)
    if texts and not final:
        data = data[: -len(texts[-1][1])]
    path.write_bytes(pack((BOM if mark else b"") + data))
    reader, rows = read(path)
    # keys that are equal after reading collapse, as they do in the file's text
    objects = {
        number: json.loads(json.dumps(item)) for number, (item, _) in enumerate(content, 1) if isinstance(item, dict)
    }
    assert [number for number, *_ in rows] == list(objects)
    for number, offset, length, row in rows:
        place = read_bytes(path, offset, length)
        assert place == texts[number - 1][0]
        assert dumps(json.loads(place)) == dumps(objects[number])
        assert dumps(row.qid) == dumps(objects[number].get("qid"))
    pieces = data.split(b"\n")
    assert reader.lines == len(pieces) - (not pieces[-1])
    assert reader.longest == max(map(len, pieces))
    assert reader.bom == mark and reader.bad == []
    assert reader.crlf == data.count(b"\r\n") and reader.final_newline == data.endswith(b"\n")
    assert reader.nan_rows == sum(holds(item, is_odd_number) for item in objects.values())
    assert reader.surrogate_rows == sum(holds(item, is_odd_text) for item in objects.values())


FRAGMENTS = [
    b"{",
    b"}",
    b'"',
    b'{"qid":',
    b'"a"',
    b":",
    b",",
    b"[",
    b"]",
    b"\n",
    b"\r\n",
    b" ",
    b"NaN",
    b"\xff",
    b"\xc3",
]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from([*FRAGMENTS, A.encode()]), st.binary(max_size=3)), max_size=12).map(b"".join))
def test_no_bytes_stop_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(b"-" + data)  # no archive by chance
    reader, rows = read(path)
    pieces = path.read_bytes().split(b"\n")
    places = [row[:3] for row in rows] + [(bad.line, bad.offset, bad.length) for bad in reader.bad]
    assert len({number for number, *_ in places}) == len(places) == reader.lines - reader.blank_lines
    for number, offset, length in places:
        piece = pieces[number - 1]
        assert read_bytes(path, offset, length) == (piece.removesuffix(b"\r") if number < len(pieces) else piece)


# --- archives --------------------------------------------------------------------------------------------------------

PACKERS = {"gz": gzip.compress, "zst": zstandard.compress}
both = pytest.mark.parametrize("kind", PACKERS)


def some_rows(count: int) -> bytes:
    shuffled = random.Random(7)
    return b"".join(line(f"q{i}", x=shuffled.random()) + b"\n" for i in range(count))


@both
def test_an_archive_is_known_by_its_bytes(write: Callable[[bytes], Path], kind: str) -> None:
    data = some_rows(3000)
    path = write(PACKERS[kind](data))  # called .jsonl
    reader, rows = read(path)
    assert len(rows) == 3000 and reader.bad == [] and reader.lines == 3000
    for number, offset, length, row in rows[::500]:
        assert json.loads(read_bytes(path, offset, length))["qid"] == row.qid == f"q{number - 1}"


def test_a_name_does_not_make_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl.gz"
    path.write_bytes(A.encode())
    assert qids(read(path)[1]) == ["a"]


@both
def test_members_one_after_another_are_one_stream(write: Callable[[bytes], Path], kind: str) -> None:
    pack = PACKERS[kind]
    text = (A + "\n" + B + "\n").encode()
    data = pack(b"") + b"".join(pack(text[at : at + 10]) for at in range(0, len(text), 10))
    reader, rows = read(write(data))
    assert qids(rows) == ["a", "b"] and reader.bad == []


def test_padding_and_skippable_frames_are_no_damage(write: Callable[[bytes], Path]) -> None:
    assert read(write(gzip.compress(A.encode() + b"\n") + b"\0" * 5000))[0].bad == []
    frame = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
    reader, rows = read(write(frame + zstandard.compress(A.encode()) + frame))
    assert qids(rows) == ["a"] and reader.bad == []


@both
def test_an_archive_that_breaks_off_keeps_what_was_read(write: Callable[[bytes], Path], kind: str) -> None:
    data = some_rows(40)
    stored = PACKERS[kind](data)
    seen = set()
    for cut in range(4, len(stored), 7):
        reader, rows = read(write(stored[:cut]))
        assert qids(rows) == [f"q{i}" for i in range(len(rows))]
        (bad,) = reader.bad
        assert bad.reason == "truncated_archive" and "ends early" in bad.message
        assert bad.offset + bad.length <= len(data) and bad.line == len(rows) + 1
        assert data.startswith(read_bytes(path_of(reader), 0, bad.offset))
        seen.add(len(rows))
    assert len(seen) > 1 or kind == "zst"  # zstd gives whole blocks, and this is one


def path_of(reader: LineReader[Row]) -> Path:
    return Path(reader.path)


@both
def test_a_damaged_archive_keeps_what_was_read(write: Callable[[bytes], Path], kind: str) -> None:
    data = random.Random(3).randbytes(300_000).hex()
    text = "".join(json.dumps({"qid": f"q{i}", "x": data[i * 600 : i * 600 + 600]}) + "\n" for i in range(1000))
    stored = bytearray(PACKERS[kind](text.encode()))
    stored[100_000:250_000] = b"\xff" * 150_000  # more than a block, whose head is surely hit
    reader, rows = read(write(bytes(stored)))
    assert 100 < len(rows) < 1000 and qids(rows) == [f"q{i}" for i in range(len(rows))]
    assert [bad.reason for bad in reader.bad][-1] == "truncated_archive"
    assert "damaged" in reader.bad[-1].message


@both
def test_other_bytes_behind_an_archive_are_damage(write: Callable[[bytes], Path], kind: str) -> None:
    reader, rows = read(write(PACKERS[kind](A.encode() + b"\n") + b"something else"))
    assert qids(rows) == ["a"]
    assert reader.bad == [Bad(2, len(A) + 1, 0, "truncated_archive", reader.bad[0].message)]


@both
def test_a_place_that_is_not_there_is_an_error(write: Callable[[bytes], Path], kind: str) -> None:
    for stored in (A.encode(), PACKERS[kind](A.encode()), PACKERS[kind](A.encode())[:-9]):
        path = write(stored)
        with pytest.raises(EOFError):
            read_bytes(path, 10, 5000)
        with pytest.raises(EOFError):
            read_bytes(path, 50_000, 1)


# --- the first lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, zstandard.compress])
def test_the_head_is_the_first_lines_with_something_on_them(
    write: Callable[[bytes], Path], pack: Callable[[bytes], bytes]
) -> None:
    path = write(pack(BOM + b"\n a \r\n\n  \nb\nc"))
    assert list(head(path, 2, 100)) == [b"a", b"b"]
    assert list(head(path, 9, 100)) == [b"a", b"b", b"c"]
    assert list(head(path, 0, 100)) == []
    assert list(head(write(b""), 5, 100)) == []


def test_the_head_ends_before_a_line_that_is_too_long(write: Callable[[bytes], Path]) -> None:
    path = write(b"12345\n123456\n1\n")
    assert list(head(path, 9, 5)) == [b"12345"]
    assert list(head(path, 9, 6)) == [b"12345", b"123456", b"1"]


# --- memory ----------------------------------------------------------------------------------------------------------


def peak(path: Path, **options: int) -> tuple[LineReader[Row], int]:
    """The reader after reading, and the most bytes that Python held meanwhile."""
    tracemalloc.start()
    try:
        reader = LineReader(path, Row, slow=slow, **options)
        for _ in reader:
            pass
        return reader, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


MB = 1 << 20


def test_memory_for_one_line_of_60_mb(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as file:
        for _ in range(2):
            file.write(b'{"qid":"a","image":"')
            for _ in range(60):
                file.write(b"x" * MB)
            file.write(b'"}\n')
    reader, most = peak(path)
    assert reader.parsed == 2 and reader.longest > 60 * MB
    assert most < 2 * reader.longest + 8 * MB
    reader, most = peak(path, max_line=MB)
    assert [bad.reason for bad in reader.bad] == ["too_long", "too_long"] and reader.longest > 60 * MB
    assert most < 8 * MB


def test_memory_for_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes((A.encode() + b"\n") * 100_000)
    reader, most = peak(path)
    assert reader.parsed == 100_000 and most < 4 * MB


@both
def test_memory_for_an_archive_that_grows_a_thousandfold(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(PACKERS[kind](b" " * (150 * MB)))
    reader, most = peak(path, max_line=MB)
    assert [(bad.reason, bad.length) for bad in reader.bad] == [("too_long", 150 * MB)]
    assert most < 72 * MB


# --- the published files ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"
    if not archive.exists():
        pytest.skip("the conformance pack is not there")
    base = tmp_path_factory.mktemp("pack")
    with tarfile.open(archive) as tar:
        tar.extractall(base, filter="tar")
    return base / "clinseek"


def test_the_pack_is_read_as_expected(pack: Path) -> None:
    runs = json.loads((pack / "expected.json").read_text())["runs"]
    assert len(runs) == 41
    for run in runs:
        path = pack / run["physical"]
        reader, rows = read(path)
        wanted = run["file"]
        assert {
            "bytes": reader.size,
            "sha256": reader.sha256,
            "bom": reader.bom,
            "crlf": bool(reader.crlf),
            "final_newline": reader.final_newline,
            "lines": reader.lines,
            "blank_lines": reader.blank_lines,
            "parsed_rows": reader.parsed,
            "rows_with_nan_or_infinity": reader.nan_rows,
            "rows_with_lone_surrogate": reader.surrogate_rows,
            "longest_line_bytes": reader.longest,
            "lines_without_qid": [number for number, *_, row in rows if row.qid is None],
        } == {key: value for key, value in wanted.items() if key != "malformed_lines"}, run["path"]
        malformed = []
        for bad in reader.bad:
            rescued = recover(read_bytes(path, bad.offset, bad.length))
            rescued_qids = [row["qid"] for *_, row in rescued]
            malformed.append((bad.line, bad.reason, len(rescued), rescued_qids))
        keys = ("line", "reason", "recoverable_rows", "recoverable_qids")
        assert malformed == [tuple(row[key] for key in keys) for row in wanted["malformed_lines"]], run["path"]
        for bad, row in zip(reader.bad, wanted["malformed_lines"], strict=True):
            complaint, _, column = row["parser_says"].partition(": line 1 column ")
            assert f"{complaint}, column {column.split()[0]})" in bad.message
