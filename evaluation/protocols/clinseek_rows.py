"""The part of a ClinSeek results row that scoring needs, as a typed structure. Everything else is skipped while reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

# A key that is missing (UNSET) and one that is null are not the same to the public scorers.


class Function(msgspec.Struct):
    name: str | UnsetType | None = UNSET
    arguments: Any = UNSET


class Call(msgspec.Struct):
    id: Any = None
    function: Function | UnsetType | None = UNSET
    # Some writers put both at the top level; only the MM scorer reads them there.
    name: Any = None
    arguments: Any = None


class Message(msgspec.Struct):
    role: Any = None
    tool_calls: list[Call] | None = None


class Images(msgspec.Struct):
    dropped_image_paths: Any = None


class Usage(msgspec.Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class ClinSeekRow(msgspec.Struct):
    qid: Any = None
    run_index: Any = None
    backend_region: Any = None
    completed: Any = None
    multimodal_summary: Images | None = None
    usage: Usage | None = None
    elapsed_seconds: Any = None
    # Only searched, and that seldom: as they stand in the line, empty where the row has none.
    question: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    status: Any = None
    stop_reason: Any = None
    task: Any = None
    label: Any = None
    backend_model_id: Any = None
    messages: list[Message] | UnsetType | None = UNSET
    # Something in the row that is no message, no call or no name was passed over (set by `from_dict` alone).
    passed_over: bool = False

    @property
    def odd_shape(self) -> bool:
        """True where the public text scorer would have stopped at this row and lost the whole file."""
        return self.passed_over or self.messages is None or any(_stops(call) for _, call in self.calls())

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
        messages = self.messages if isinstance(self.messages, list) else []
        for index in range(len(messages) - 1, -1, -1):
            for call in messages[index].tool_calls or []:
                yield index, call


def _stops(call: Call) -> bool:
    return call.function is None or (call.function is not UNSET and call.function.name is None)


def from_dict(row: dict[str, Any]) -> ClinSeekRow:
    """Build a row from a plain dictionary, whatever its shape: what is no message or no call is passed over and marked."""
    built = ClinSeekRow()
    for key in ("qid", "run_index", "status", "stop_reason", "task", "label", "backend_model_id"):
        setattr(built, key, row.get(key))
    for key, value in _told(row).items():
        setattr(built, key, value)
    raw = row.get("messages", UNSET)
    if raw is UNSET or raw is None:
        built.messages = raw
        return built
    built.messages = []
    built.passed_over = not isinstance(raw, list)
    for message in raw if isinstance(raw, list) else []:
        if not isinstance(message, dict):
            built.passed_over = True
            continue
        calls = message.get("tool_calls")
        built.passed_over |= calls is not None and not isinstance(calls, list)
        found = [_call(call) for call in calls] if isinstance(calls, list) else []
        built.passed_over |= any(odd for _, odd in found)
        built.messages.append(Message(message.get("role"), [call for call, _ in found if call is not None]))
    return built


def _call(raw: Any) -> tuple[Call | None, bool]:
    """(call, whether something of it was passed over)."""
    if not isinstance(raw, dict):
        return None, True
    call = Call(raw.get("id"), raw.get("function", UNSET), raw.get("name"), raw.get("arguments"))
    function: Any = call.function
    if function is UNSET or function is None:
        return call, False
    if not isinstance(function, dict):
        call.function = UNSET
        return call, True
    name = function.get("name", UNSET)
    known = name is UNSET or name is None or isinstance(name, str)
    call.function = Function(name if known else UNSET, function.get("arguments", UNSET))
    return call, not known


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The fields that no score needs. Of the texts that are only searched anything but a text stays unread."""
    fields = {key: row.get(key) for key in ("backend_region", "completed", "elapsed_seconds")}
    for key in ("question", "error"):
        if isinstance(row.get(key), str):
            fields[key] = msgspec.Raw(json.dumps(row[key]).encode())
    images = row.get("multimodal_summary")
    if isinstance(images, dict):
        fields["multimodal_summary"] = Images(images.get("dropped_image_paths"))
    usage = row.get("usage")
    if isinstance(usage, dict):
        fields["usage"] = Usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    return fields
