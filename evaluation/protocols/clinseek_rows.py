"""The part of a ClinSeek results row that scoring needs, as a typed structure. Everything else is skipped while reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec


class Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class Call(msgspec.Struct):
    id: Any = None
    function: Function | None = None
    # Some writers put both at the top level; only the MM scorer reads them there.
    name: Any = None
    arguments: Any = None


class Message(msgspec.Struct):
    role: Any = None
    tool_calls: list[Call] | None = None


class Images(msgspec.Struct):
    dropped_image_paths: Any = None


class ClinSeekRow(msgspec.Struct):
    qid: Any = None
    run_index: Any = None
    backend_region: Any = None
    completed: Any = None
    multimodal_summary: Images | None = None
    # Only searched, and that seldom: as they stand in the line, empty where the row has none.
    question: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    status: Any = None
    stop_reason: Any = None
    task: Any = None
    label: Any = None
    backend_model_id: Any = None
    messages: list[Message] | None = None
    # True where the public text scorer would have stopped at this row and lost the whole file.
    odd_shape: bool = False

    @property
    def item(self) -> str | None:
        """The sample id as text; None when the row has none (missing, null, or no plain value)."""
        if isinstance(self.qid, str):
            return self.qid
        return str(self.qid) if isinstance(self.qid, (int, float)) and not isinstance(self.qid, bool) else None

    @property
    def repeat(self) -> int:
        """1-based; a missing or unreadable run_index means 1."""
        index = self.run_index
        if isinstance(index, float) and index.is_integer():
            index = int(index)
        return index if type(index) is int and 0 < index < 1 << 31 else 1

    @property
    def failed(self) -> bool:
        """The call failed: the row says so by its status; without one by its stop reason, without either by an error."""
        if self.status is not None:
            return self.status == "error"
        if self.stop_reason is not None:
            return self.stop_reason in ("error", "exception", "exception_before_completion")
        return bool(self.error_text)

    @property
    def error_text(self) -> str:
        """What the row says of a failed call; empty where it has no such text."""
        # null is four bytes, an empty text two
        if len(self.error) < 5:
            return ""
        try:
            text = json.loads(bytes(self.error))
        except ValueError:
            return ""
        return text if isinstance(text, str) else ""

    def calls(self) -> Iterator[tuple[int, Call]]:
        """(index of the message, call), from the last message to the first, within a message in written order."""
        messages = self.messages or []
        for index in range(len(messages) - 1, -1, -1):
            for call in messages[index].tool_calls or []:
                yield index, call


def from_dict(row: dict[str, Any]) -> ClinSeekRow:
    """Build a row from a plain dictionary, whatever its shape: what is no message or no call is passed over and marked."""
    odd = False
    messages = []
    raw_messages = row.get("messages")
    if not isinstance(raw_messages, list):
        odd, raw_messages = True, []
    for raw in raw_messages:
        if not isinstance(raw, dict):
            odd = True
            continue
        calls = []
        raw_calls = raw.get("tool_calls")
        if raw_calls is not None and not isinstance(raw_calls, list):
            odd, raw_calls = True, None
        for call in raw_calls or []:
            if not isinstance(call, dict):
                odd = True
                continue
            function = call.get("function")
            if function is not None and not isinstance(function, dict):
                odd, function = True, None
            named = None
            if function is not None:
                name = function.get("name")
                odd = odd or not isinstance(name, str)
                named = Function(name if isinstance(name, str) else None, function.get("arguments"))
            calls.append(Call(call.get("id"), named, call.get("name"), call.get("arguments")))
        messages.append(Message(raw.get("role"), calls))
    wanted = ("qid", "run_index", "status", "stop_reason", "task", "label", "backend_model_id")
    plain: dict[str, Any] = {key: row.get(key) for key in wanted}
    return ClinSeekRow(**plain, **_told(row), messages=messages, odd_shape=odd)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The fields that no score needs. Of the texts that are only searched anything but a text stays unread."""
    fields = {key: row.get(key) for key in ("backend_region", "completed")}
    for key in ("question", "error"):
        if isinstance(row.get(key), str):
            fields[key] = msgspec.Raw(json.dumps(row[key]).encode())
    images = row.get("multimodal_summary")
    if isinstance(images, dict):
        fields["multimodal_summary"] = Images(images.get("dropped_image_paths"))
    return fields
