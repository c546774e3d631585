"""JSON Lines files read in one pass: rows with their places, and what is wrong with the lines that give none.

A line that the typed decoder takes at once is the rule and costs little. Any other takes the slow lane: Python's own
parser, which accepts what result files really hold (NaN, lone surrogates), and where that fails too a `Bad` that says
why. A bad line costs that line, never the file.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Generic, TypeVar

import msgspec
import zstandard

T = TypeVar("T")
Place = tuple[int, int, dict[str, Any]]

BUFFER = 1 << 20
MAX_LINE = 512 << 20
MAX_BAD = 10_000
MAX_TRIES = 256
# Bytes of an archive that are unpacked at once. Four bytes of zstd may stand for 128 KB, held twice for a moment: this
# keeps the worst case at 64 MB, for a fifth more time than large pieces take.
FEED = 1024

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")
_OBJECT = re.compile(r'\{\s*"')
_NO_SPACE = re.compile(r"[^ \t\r\n]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_read_object = json.JSONDecoder().raw_decode


@dataclass(slots=True)
class Bad:
    """A line, or the end of an archive, that gave no row.

    `reason` is one of glued, cut_start_then_row, truncated_last_line, not_json, bad_json, invalid_utf8, not_an_object,
    bad_row, too_long, truncated_archive.
    """

    line: int  # from 1, every line counted
    offset: int  # bytes, in the unpacked stream
    length: int  # bytes, without the line end
    reason: str
    message: str  # for a person; never quotes the line


class LineReader(Generic[T]):
    """The rows of a JSON Lines file, plain, gzip or zstd (told by its first bytes), with bounded memory.

    Iterating gives (line number from 1, byte offset in the unpacked stream, length in bytes without the line end, row).
    A byte-order mark belongs to no line: the first offset is then 3. `slow` makes a row from a plain dict, for lines
    that the typed decoder refuses; where it raises ValueError or TypeError the line is a `Bad` "bad_row". Lines of more
    than `max_line` bytes are passed over.

    The other attributes are true after a whole iteration. Every line is counted in exactly one of `parsed`,
    `blank_lines` and `bad_lines`; `bad` tells of the first `MAX_BAD` bad lines and of an archive that breaks off.
    OSError passes through.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        row_type: type[T],
        *,
        slow: Callable[[dict[str, Any]], T],
        max_line: int = MAX_LINE,
    ) -> None:
        self.path = os.fspath(path)
        self.slow = slow
        self.max_line = max_line
        self._decode = msgspec.json.Decoder(row_type).decode
        self._stored: _Hashed | None = None
        self._clear()

    def _clear(self) -> None:
        self.sha256 = ""  # of the file as stored; stays "" when the iteration does not come to the end
        self.size = 0  # bytes as stored
        self.lines = 0
        self.parsed = 0
        self.blank_lines = 0  # empty or nothing but white space
        self.bad_lines = 0
        self.longest = 0  # bytes of the longest line without its LF
        self.bom = False
        self.crlf = 0  # lines that end in CR LF
        self.final_newline = False  # also for an empty file
        self.nan_rows = 0  # rows of the slow lane with NaN or Infinity
        self.surrogate_rows = 0  # rows of the slow lane with a lone surrogate
        self.invalid_rows = 0  # rows with bytes that are not UTF-8 in a part that was not asked for
        self.bad: list[Bad] = []

    @property
    def taken(self) -> int:
        """Stored bytes read so far, a buffer ahead of the rows."""
        return self._stored.size if self._stored else 0

    def __iter__(self) -> Iterator[tuple[int, int, int, T]]:
        self._clear()
        with open(self.path, "rb", buffering=0) as file:
            stored = self._stored = _Hashed(file)
            source = io.BufferedReader(stored, BUFFER)
            archive = unpacked(source)
            yield from self._rows(io.BufferedReader(archive, BUFFER) if archive else source, archive)
            while source.read(BUFFER):  # what lies behind the damage of an archive
                pass
        self.sha256, self.size = stored.hash.hexdigest(), stored.size

    def _rows(self, stream: io.BufferedReader[Any], archive: _Unpacked | None) -> Iterator[tuple[int, int, int, T]]:
        decode, max_line = self._decode, self.max_line
        self.bom = stream.peek(3)[:3] == _BOM
        offset = len(stream.read(3)) if self.bom else 0
        lines = parsed = longest = crlf = 0
        ended = False
        try:
            for line in iter(partial(stream.readline, max_line + 2), b""):
                lines += 1
                size = len(line)
                ended = line[-1] == 10
                length = size - ended
                if length > longest:
                    longest = length
                if ended and length and line[length - 1] == 13:
                    length -= 1
                    crlf += 1
                if length > max_line:
                    size, ended = _pass_over(stream, size, ended)
                    length = size - ended
                    longest = max(longest, length)
                    message = f"The line has more than the {max_line:,} bytes a line may have and was passed over."
                    self._refuse(Bad(lines, offset, length, "too_long", message))
                    row = None
                else:
                    try:
                        row = decode(line)
                        if not line.isascii() and not _is_utf8(line):
                            self.invalid_rows += 1
                    except Exception:
                        row = self._slow_lane(lines, offset, length, line, ended, archive)
                del line  # before the next one is read: two long ones need not fit at once
                if row is not None:
                    parsed += 1
                    yield lines, offset, length, row
                offset += size
        finally:
            self.lines, self.parsed, self.longest, self.crlf, self.final_newline = lines, parsed, longest, crlf, ended
        if archive and archive.damage and not (self.bad and self.bad[-1].reason == "truncated_archive"):
            self.bad.append(Bad(lines + 1, offset, 0, "truncated_archive", archive.damage))

    def _refuse(self, bad: Bad) -> None:
        self.bad_lines += 1
        if len(self.bad) < MAX_BAD:
            self.bad.append(bad)

    def _slow_lane(
        self, number: int, offset: int, length: int, line: bytes, ended: bool, archive: _Unpacked | None
    ) -> T | None:
        """The row of a line that the typed decoder refused; None, and counted, when there is none."""
        try:
            text = _text(line)
            if text.strip():
                return self._row(text)
            self.blank_lines += 1
            return None
        except UnicodeDecodeError as error:
            fault = "invalid_utf8", f"The line is not UTF-8 from its byte {error.start + 1} on ({error.reason})."
        except RecursionError:
            fault = "bad_json", "The line is nested too deeply to be read."
        except json.JSONDecodeError as error:
            fault = _fault(text, error, ended)
            if fault[0] == "truncated_last_line" and archive and archive.damage:
                fault = "truncated_archive", f"{archive.damage} This line breaks off there."
        except NoRow as error:
            fault = error.args
        except ValueError:  # Python refuses to read integers of thousands of digits
            fault = "bad_json", "The line holds a number of too many digits to be read."
        self._refuse(Bad(number, offset, length, *fault))
        return None

    def _row(self, text: str) -> T:
        constants: list[str] = []

        def constant(name: str) -> float:
            constants.append(name)
            return float(name)

        return self._take(json.loads(text, parse_constant=constant), text, bool(constants))

    def _take(self, value: Any, text: str, has_nan: bool) -> T:
        """The row of what Python's parser made of `text`. Raises NoRow."""
        if not isinstance(value, dict):
            raise NoRow("not_an_object", "It is valid JSON but no object, so it is no row.")
        try:
            row = self.slow(value)
        except (ValueError, TypeError) as error:
            raise NoRow("bad_row", f"The row cannot be used: {error}.") from error
        self.nan_rows += has_nan
        self.surrogate_rows += bool(_SURROGATE.search(text)) and _has_lone_surrogate(value)
        return row


class NoRow(Exception):
    """Valid JSON that is no row: reason and message."""


def recover(line: bytes) -> list[Place]:
    """The complete rows in a bad line that can be split off safely: (start in bytes within it, length in bytes, row).

    The objects that stand complete at the line's start are rows. Where the line then breaks off like a row, so are the
    objects with a "qid" that follow one another from some later point exactly to the line's end. Nothing inside a string
    or a complete row does that; only an object with a "qid" nested in a row that breaks off right behind it would. A
    line of other text, or not UTF-8, gives none.
    """
    try:
        text = _text(line)
    except UnicodeDecodeError:
        return []
    width = len if text.isascii() else lambda part: len(part.encode())
    return [(width(text[:start]), width(text[start:end]), row) for start, end, row in _split(text)]


def head(path: str | os.PathLike[str], count: int, longest: int) -> Iterator[bytes]:
    """The first `count` lines that are not blank, without line ends and byte-order mark; enough to tell what a file is.

    It ends before a line of more than `longest` bytes and where an archive is damaged. OSError passes through.
    """
    with open(path, "rb") as source:
        archive = unpacked(source)
        stream = io.BufferedReader(archive, BUFFER) if archive else source
        if stream.peek(3)[:3] == _BOM:
            stream.read(3)
        while count and (line := stream.readline(longest + 1)) and (len(line) <= longest or line.endswith(b"\n")):
            if stripped := line.strip():
                count -= 1
                yield stripped


def start(path: str | os.PathLike[str], count: int = 4096) -> bytes:
    """The first bytes of a file, unpacked; fewer where it is shorter. OSError passes through."""
    with open(path, "rb") as source:
        archive = unpacked(source)
        return io.BufferedReader(archive, FEED).read(count) if archive else source.read(count)


def holds_array(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one JSON array of objects, by how it starts. OSError passes through."""
    return starts_array(start(path))


def starts_array(text: bytes) -> bool:
    """Whether a file that starts like this is one JSON array of objects. A whole array on a line before others is a line."""
    if not _ARRAY.match(text):
        return False
    first, _, others = text.partition(b"\n")
    if not others.strip():
        return True
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return False


def read_bytes(path: str | os.PathLike[str], offset: int, length: int) -> bytes:
    """The `length` bytes at `offset` of the file, in an archive of its unpacked stream (unpacked up to there).

    Raises EOFError when the file does not reach that far, OSError when it cannot be read.
    """
    with open(path, "rb") as source:
        archive = unpacked(source)
        if archive is None:
            source.seek(offset)
            data = source.read(length)
        else:
            stream = io.BufferedReader(archive, BUFFER)
            while offset and (skipped := len(stream.read(min(offset, BUFFER)))):
                offset -= skipped
            data = stream.read(length)
    if len(data) < length:
        raise EOFError(f"{os.fspath(path)} ends before the place asked for; it was changed or cut since it was read.")
    return data


def _is_utf8(line: bytes) -> bool:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        # in pieces: as text a long line may take four times its bytes
        for at in range(0, len(line), BUFFER):
            decode(line[at : at + BUFFER], at + BUFFER >= len(line))
    except UnicodeDecodeError:
        return False
    return True


def _text(body: bytes) -> str:
    """The line as text, without a last character of which only some bytes are there: a line may be cut anywhere."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        whole = body[: error.start]
        if error.end == len(body) and error.reason == "unexpected end of data" and whole.strip():
            return whole.decode()
        raise


def _fault(text: str, error: json.JSONDecodeError, ended: bool) -> tuple[str, str]:
    """Reason and message for a line that is no JSON; `ended` tells that it has a line end."""
    says = f"the parser says: {error.msg}, column {error.colno}"
    body = text.strip()
    if body[0] not in "{[":
        return "not_json", f"The line is no JSON ({says})."
    rows = _split(text)
    leading = bool(rows) and not text[: rows[0][0]].strip()
    if leading and len(rows) > 1:
        return "glued", f"{len(rows)} complete rows stand on one line without a line end between them ({says})."
    if rows and not leading:
        return "cut_start_then_row", f"A row breaks off and a complete one follows it on the same line ({says})."
    ran_out = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated") or body[-1] not in "}]"
    if ran_out and not ended:
        return "truncated_last_line", f"The file ends in the middle of this row ({says})."
    return "bad_json", f"The line is broken JSON ({says})."


def _split(text: str) -> list[Place]:
    """What `recover` gives, as (start, end, row) in characters."""
    rows, at = _objects(text, 0)
    if not text.startswith("{", at):
        return rows
    tries = 0
    at += 1
    while tries < MAX_TRIES and (match := _OBJECT.search(text, at)):
        tail, end = _objects(text, match.start())
        if tail and end == len(text):
            return rows + [place for place in tail if "qid" in place[2]]
        # No later start within complete objects comes to the end of the line either: their ends stand in its way.
        at = end if tail else match.start() + 1
        tries += not tail
    return rows


def _objects(text: str, at: int) -> tuple[list[Place], int]:
    """The complete objects that follow one another from `at`, and where they stop."""
    found: list[Place] = []
    at = _after_space(text, at)
    while text.startswith("{", at):
        try:
            row, end = _read_object(text, at)
        except (ValueError, RecursionError):
            break
        found.append((at, end, row))
        at = _after_space(text, end)
    return found, at


def _after_space(text: str, at: int) -> int:
    found = _NO_SPACE.search(text, at)
    return found.start() if found else len(text)


def _has_lone_surrogate(value: Any) -> bool:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
            return True
    return False


def _pass_over(stream: io.BufferedReader[Any], size: int, ended: bool) -> tuple[int, bool]:
    """Read to the end of the line of which `size` bytes were read: its size, and whether it has a line end."""
    while not ended and (piece := stream.readline(BUFFER)):
        size += len(piece)
        ended = piece[-1] == 10
    return size, ended


class _Hashed(io.RawIOBase):
    """A raw file that keeps the hash and the number of the bytes that were read."""

    def __init__(self, file: io.FileIO) -> None:
        self.file = file
        self.hash = sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        count = self.file.readinto(target)
        self.hash.update(memoryview(target)[:count])
        self.size += count
        return count


def unpacked(source: io.BufferedReader[Any]) -> _Unpacked | None:
    """The unpacked stream of a gzip or zstd archive, told by its first bytes; None for anything else."""
    magic = source.peek(4)[:4]
    if magic.startswith(_GZIP):
        return _Unpacked(source, partial(zlib.decompressobj, zlib.MAX_WBITS | 16))
    if _ZSTD.match(magic):
        return _Unpacked(source, zstandard.ZstdDecompressor().decompressobj)
    return None


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of an archive of one or more members. It never fails: damage is its end, told in `damage`."""

    def __init__(self, source: io.BufferedReader[Any], new: Callable[[], Any]) -> None:
        self.damage = ""
        self._source = source
        self._new = new
        self._member = new()
        self._begun = False
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        filled = 0
        while filled < len(target) and (self._ready or self._unpack()):
            count = min(len(target) - filled, len(self._ready))
            target[filled : filled + count] = self._ready[:count]
            self._ready = self._ready[count:]
            filled += count
        return filled

    def _unpack(self) -> bool:
        """Unpack one piece; False at the end."""
        packed = self._packed or self._source.read(FEED)
        if self.damage or not packed:
            if self._begun and not self.damage:
                self.damage = "The archive ends early; fetch the file again."
            return False
        self._packed = b""
        if not self._begun:
            packed = packed.lstrip(b"\0")  # gzip allows zeros between and after members
            if not packed:
                return True
        try:
            self._ready = memoryview(self._member.decompress(packed))
        except (zlib.error, zstandard.ZstdError) as error:
            self.damage = f"The archive is damaged ({error}); fetch the file again."
            return False
        self._begun = not self._member.eof
        if self._member.eof:
            self._packed, self._member = self._member.unused_data, self._new()
        return True
