"""What a model said and did in a row of ClinSeek, message by message, for a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leaderboard.texts import FIRST, Text, as_text, text_piece

PER_PAGE = 50


@dataclass(frozen=True)
class Message:
    """One message: who speaks, the tools it calls by name, and its texts."""

    number: int
    role: str
    calls: str
    texts: list[Text]
    left_out: list[str]

    @property
    def size(self) -> int:
        return sum(text.length for text in self.texts)


def message_texts(number: int, message: Any) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """(key -> (label, text), what is not shown) of a message of any shape."""
    texts: dict[str, tuple[str, str]] = {}
    left_out: list[str] = []
    if not isinstance(message, dict):
        return {f"m{number}": ("no message", as_text(message))}, []
    said, others = _content(message.get("content"))
    left_out += others
    for name, label, text in (
        ("r", "reasoning", as_text(message.get("reasoning_content"))),
        ("c", "text", said),
    ):
        if text:
            texts[f"m{number}{name}"] = label, text
    for place, call in enumerate(_calls(message)):
        name, arguments = _call(call)
        texts[f"m{number}t{place}"] = f"calls {name} with", arguments
    return texts, left_out


def message_views(messages: list[Any], first: int, cleaned: Callable[[str, str], str]) -> list[Message]:
    """The messages from `first` (from 0) on, PER_PAGE of them; `cleaned` takes out what this reader may not see."""
    views = []
    for number, message in enumerate(messages[first : first + PER_PAGE], first):
        texts, left_out = message_texts(number, message)
        role = as_text(message.get("role")) if isinstance(message, dict) else ""
        names = [_call(call)[0] for call in _calls(message)] if isinstance(message, dict) else []
        views.append(
            Message(
                number,
                role[:40] or "unknown",
                ", ".join(names)[:200],
                [text_piece(key, label, cleaned(key, text), size=FIRST) for key, (label, text) in texts.items()],
                left_out,
            )
        )
    return views


def _calls(message: dict[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _call(call: Any) -> tuple[str, str]:
    if not isinstance(call, dict):
        return "no tool", as_text(call)
    function = call.get("function")
    source = function if isinstance(function, dict) else call
    return as_text(source.get("name")) or "no name", as_text(source.get("arguments"))


def _content(content: Any) -> tuple[str, list[str]]:
    """The text of a message's content, and what of it is no text."""
    if not isinstance(content, list):
        return as_text(content), []
    texts, others = [], []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif kind in ("image", "image_url"):
            source = block.get("source")
            source = source if isinstance(source, dict) else {}
            size = len(as_text(source.get("data")))
            named = as_text(source.get("media_type"))[:40] or "image"
            others.append(f"{named}, {size:,} characters of base64" if size else f"{named}, by address: not fetched")
        else:
            texts.append(as_text(block))
    return "\n".join(texts), others
