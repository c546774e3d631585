"""Plain YAML read strictly: text, whole numbers, plain decimals, true and false, with the line of everything.

Dates stay text; anchors, aliases and tags are refused. A JSON schema says which keys there are, and what does not fit it is
told in words, with line, field and value.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

LARGEST = 1 << 20  # bytes of a file
DEEPEST = 32  # levels of nesting; the schema needs five

Place = tuple[str | int, ...]  # ("runs", 0, "shots")
Problem = tuple[int, str, str]  # line (0: the whole file), field path ("": no field), message


class DocumentError(ValueError):
    """Everything that is wrong with a file, by line. `str()` gives one sentence a line.

    `problems` holds (line from 1, or 0 for the whole file; field path, or ""; message).
    """

    def __init__(self, name: str, problems: Iterable[Problem]):
        self.problems: list[Problem] = sorted(problems, key=lambda problem: problem[0])
        super().__init__("\n".join(_sentence(name, *problem) for problem in self.problems))


def _sentence(name: str, line: int, where: str, message: str) -> str:
    place = f"{name} line {line}" if line else name
    return f"{place}: {where} {message}" if where else f"{place}: {message}"


def read_file(path: str | os.PathLike[str]) -> tuple[Document, bytes]:
    """The document and the bytes of a file. Raises DocumentError when it cannot be read or is no YAML of our kind."""
    name = Path(path).name
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError(name, [(0, "", f"cannot be read: {reason}")]) from error
    return read_bytes(data, name), data


def read_bytes(data: bytes, name: str) -> Document:
    """The document in the bytes of a file of that name. Raises DocumentError for what is no YAML of our kind."""
    try:
        return Document(_compose(_decode(data)))
    except _Refused as error:
        raise DocumentError(name, [(error.line, "", str(error))]) from error


class _Refused(Exception):
    """The file cannot be read as YAML of our kind; `line` from 1, or 0 for the whole file."""

    def __init__(self, line: int, message: str):
        self.line = line
        super().__init__(message)


def _decode(data: bytes) -> str:
    if len(data) > LARGEST:
        raise _Refused(0, "is larger than 1 MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # error.object: the codec cuts off a byte-order mark, and its offset counts from there.
        line = error.object[: error.start].count(b"\n") + 1
        raise _Refused(line, f"is not UTF-8: byte 0x{error.object[error.start]:02x}") from error


_NO_ALIASES = "anchors and aliases (& and *) are not allowed; put text that starts with & or * in quotes"


class _Loader(yaml.SafeLoader):
    """SafeLoader's grammar, but only values that read back as they were written: no dates, octals, `yes` or `1_000`."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _Refused(line, _NO_ALIASES)
        if event.tag is not None:
            raise _Refused(line, "tags (!) are not allowed; put text that starts with ! in quotes")
        if self.depth == DEEPEST:
            raise _Refused(line, f"is nested deeper than {DEEPEST} levels")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


# At most 18 digits: what is longer stays text and fails as such.
for _tag, _form, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}", list("-+0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_form})\Z"), _first)

_PLAIN: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
    "str": str,
}


def _compose(text: str) -> yaml.Node | None:
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _Refused(line, f"is not YAML: character U+{ord(text[error.position]):04X} is not allowed") from error
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        if error.context in ("while scanning an alias", "while scanning an anchor"):  # path: **/x
            raise _Refused(line, _NO_ALIASES) from error
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _Refused(line, f"is not YAML: {what}") from error
    except (ValueError, OverflowError) as error:  # "\UFFFFFFFF", %YAML with endless digits
        raise _Refused(loader.line + 1, "is not YAML: an escape or a version number is too large") from error
    finally:
        loader.dispose()


class Document:
    """The node tree as plain data, with the line of every place: of its key in a mapping, else of the value."""

    def __init__(self, root: yaml.Node | None):
        self.lines: dict[Place, int] = {(): root.start_mark.line + 1 if root else 0}
        self.problems: list[Problem] = []
        self.data = self._plain(root, ()) if root else None

    def problem(self, place: Place, message: str, line: int | None = None) -> Problem:
        return (self.lines[place] if line is None else line, path_text(place), message)

    def section(self, name: str) -> Any:
        """What a section holds; one that is missing or empty has no entries."""
        return (self.data.get(name) if isinstance(self.data, dict) else None) or {}

    def _plain(self, node: yaml.Node, place: Place) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            values = []
            for index, child in enumerate(node.value):
                self.lines[(*place, index)] = child.start_mark.line + 1
                values.append(self._plain(child, (*place, index)))
            return values
        self._check_characters(node.value, place)
        return _PLAIN[node.tag.rpartition(":")[2]](node.value)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        """Keys are names, so they are taken as they are written, whatever they look like (2025, no)."""
        values: dict[str, Any] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append(self.problem(place, "has a list or mapping as a key, expected text", line))
                continue
            inside = (*place, key.value)
            if key.value in values:
                first = self.lines[inside]
                self.problems.append(self.problem(inside, f"is given twice, first in line {first}", line))
                continue
            self.lines[inside] = line
            self._check_characters(key.value, inside)
            values[key.value] = self._plain(child, inside)
        return values

    def _check_characters(self, text: str, place: Place) -> None:
        # Neither can be stored: PostgreSQL refuses NUL, UTF-8 has no surrogates.
        if bad := re.search("[\0\ud800-\udfff]", text):
            self.problems.append(self.problem(place, f"holds the character U+{ord(bad[0]):04X}, which is no text"))


def path_text(place: Place) -> str:
    """`runs[0].shots`, `models."Aster 3 Large".access`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if re.fullmatch(r"[\w-]+", part) else json.dumps(part, ensure_ascii=not part.isprintable())
            text += f".{name}" if text else name
    return text


@functools.cache
def validator(schema_file: Path) -> Draft202012Validator:
    """The checker of a JSON schema in a file."""
    # here and not above: most trees have no file to check
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    # JSON Schema takes 2.0 for an integer; as a repeat or a count it is a slip.
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, type_checker=checker)(schema)


def violations(data: Any, schema_file: Path) -> list[tuple[Place, str]]:
    """What does not fit the schema: (place, message in words)."""
    told = itertools.chain.from_iterable(map(_in_words, validator(schema_file).iter_errors(data)))
    return list(dict.fromkeys(told))


_KINDS = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "string": "text",
    "array": "a list",
    "object": "a mapping (key: value)",
}


def _in_words(error: ValidationError) -> Iterator[tuple[Place, str]]:
    """A violation of the schema as (place, message), one for each unknown or missing key.

    jsonschema has an error for each missing key but does not say which: all are told each time, the caller drops twins.
    """
    place = cast(Place, tuple(error.absolute_path))
    value: Any = error.instance
    rule, limit, schema = error.validator, cast(Any, error.validator_value), cast(dict[str, Any], error.schema)
    if "propertyNames" in error.schema_path:
        place = (*place, value)
    if rule == "additionalProperties":
        known = list(schema["properties"])
        for key in [key for key in value if key not in known]:
            yield (*place, key), f"is not a known key; {_nearest(key, known)}"
    elif rule == "required":
        for key in [key for key in limit if key not in value]:
            yield place, f"has no {key!r}"
    elif rule == "minProperties":
        if "path" in value:
            yield place, "says nothing beside its path"
    elif rule == "pattern":
        yield place, schema["x-says"]
    elif rule == "minLength":
        yield place, "is empty text"
    elif rule == "maxLength":
        yield place, f"is longer than {limit} characters"
    elif rule == "maximum":
        yield place, f"is {shown(value)}, expected at most {limit}"
    else:
        yield place, f"is {shown(value)}, expected {_wanted(schema, value)}"


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key[:100], known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}"


def shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:57]!r}..."
    return json.dumps(value)


def _wanted(schema: dict[str, Any], value: Any) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(repr(choice) for choice in schema["enum"])
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    words = _KINDS[kind]
    if "minimum" in schema:
        words += f" of at least {schema['minimum']}"
    if kind == "string" and isinstance(value, (bool, int, float)):
        words += ": put it in quotes"
    return words
