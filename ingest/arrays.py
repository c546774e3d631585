"""A JSON array of rows, read element by element: what some scripts write in place of lines."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ingest.lines import BUFFER, Bad, LineReader, NoRow

T = TypeVar("T")

_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile("[\udc80-\udcff]")
_BOM = b"\xef\xbb\xbf"
# A fault this near to the end of what was read may be the end itself: the longest word of JSON has 9 letters.
_NEAR = 16


class ArrayReader(LineReader[T]):
    """The rows of one JSON array of objects, with the memory of its largest elements.

    Iterating gives (index from 0, byte offset of the element in the unpacked stream, its length in bytes, row). The other
    attributes are those of `LineReader` with elements in the place of lines; every element takes its slow lane. A `Bad`
    gives the index as its `line`. What is no JSON ends the array: the rows before it are given, what follows is not read.
    """

    def _rows(self, stream: io.BufferedReader[Any], archive: Any) -> Iterator[tuple[int, int, int, T]]:
        self.bom = stream.peek(3)[:3] == _BOM
        text = _Window(stream, len(stream.read(3)) if self.bom else 0)
        self.final_newline = True
        index = 0
        try:
            text.expect("[")
            while not text.next_is("]"):
                offset = text.offset
                row = self._element(text, index)
                length = text.offset - offset
                self.longest = max(self.longest, length)
                if row is not None:
                    self.parsed += 1
                    yield index, offset, length, row
                index += 1
                if not text.next_is("]"):
                    text.expect(",")
            text.expect("]")
            if text.next_is(""):
                return
            fault = "bad_json", "There is more text behind the end of the array; it was not read."
        except NoRow as error:
            fault = error.args
        finally:
            self.lines = self.parsed + self.bad_lines
        if archive and archive.damage:
            fault = "truncated_archive", archive.damage
        self.lines += 1
        self._refuse(Bad(index, text.offset, 0, *fault))

    def _element(self, text: _Window, index: int) -> T | None:
        """The next element as a row; None, and counted, when it is no row. Raises NoRow where the array cannot go on."""
        constants: list[str] = []

        def constant(name: str) -> float:
            constants.append(name)
            return float(name)

        offset = text.offset
        value, written = text.value(json.JSONDecoder(parse_constant=constant, parse_int=_integer), self.max_line)
        try:
            if not written.isascii() and _ESCAPED.search(written):
                raise NoRow("invalid_utf8", "The element holds bytes that are not UTF-8.")
            return self._take(value, written, bool(constants))
        except NoRow as error:
            self._refuse(Bad(index, offset, text.offset - offset, *error.args))
            return None


class _Window:
    """The part of a document that is being read. `offset` is the byte offset of its next character.

    Bytes that are not UTF-8 stand as lone surrogates (PEP 383), so that one bad element does not end the array.
    """

    def __init__(self, stream: io.BufferedReader[Any], offset: int) -> None:
        self.offset = offset
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._ended = False

    def next_is(self, token: str) -> bool:
        """Whether `token` stands next, behind white space; with an empty one whether nothing does."""
        while (end := _SPACE.match(self._text, self._at).end()) == len(self._text):  # type: ignore[union-attr]
            self._pass_to(end)
            if not self._more():
                return not token
        self._pass_to(end)
        return bool(token) and self._text.startswith(token, end)

    def expect(self, token: str) -> None:
        """Pass over white space and `token`. Raises NoRow where something else stands."""
        if self.next_is(token):
            self._pass_to(self._at + len(token))
            self.next_is("")
        elif self._at == len(self._text):
            raise _ends()
        else:
            raise NoRow("bad_json", f"The array is broken here: {token!r} is expected. The rest was not read.")

    def value(self, decoder: json.JSONDecoder, most: int) -> tuple[Any, str]:
        """The next value and how it is written. Raises NoRow where it cannot be read, or has more than `most` characters."""
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                ran_out = error.pos > len(self._text) - _NEAR or error.msg.startswith("Unterminated")
                if not ran_out:
                    said = f"the parser says: {error.msg}"
                    raise NoRow("bad_json", f"The element is broken JSON ({said}). The rest was not read.") from error
                if len(self._text) - self._at > most:
                    message = f"The element has more than {most:,} characters. The rest was not read."
                    raise NoRow("too_long", message) from error
                if not self._more():
                    raise _ends() from error
            except RecursionError as error:
                raise NoRow("bad_json", "The element is nested too deeply to be read, as is the rest.") from error
            else:
                # a number at the end of the window may go on behind it: 0 may be 0.5, or 0e1
                if end < len(self._text) - _NEAR or not self._more():
                    return value, self._pass_to(end)

    def _pass_to(self, end: int) -> str:
        passed = self._text[self._at : end]
        self.offset += len(passed) if passed.isascii() else len(passed.encode("utf-8", "surrogateescape"))
        self._at = end
        return passed

    def _more(self) -> bool:
        """Read on, twice as much at a time; False at the end."""
        if self._ended:
            return False
        data = self._stream.read(max(BUFFER, len(self._text) - self._at))
        self._ended = not data
        self._text = self._text[self._at :] + self._decode(data, self._ended)
        self._at = 0
        return True


def _ends() -> NoRow:
    return NoRow("truncated_array", "The file ends in the middle of the array: fetch or write it again.")


def _integer(digits: str) -> int | float:
    # Python refuses to read integers of thousands of digits; past the range of a float they are infinite
    return int(digits) if len(digits) < 400 else float(digits)
