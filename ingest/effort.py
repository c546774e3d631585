"""What the rows of a ClinSeek file say of the effort of a run: sums while the file streams by, nothing a row."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from evaluation.protocols.clinseek_rows import ClinSeekRow

_BROWSER = "browser."


@dataclass(slots=True)
class Effort:
    """Sums over rows, repeats and twins included. Rows that were saved from broken lines are not among them.

    `turns` are messages of the assistant, `calls` all tool calls with that of the answer, `browser_calls` those of the
    tools `browser.*` (formats/clinseek.md, section 3.1, aggregation). `tokens_rows` and `seconds_rows` count the rows that
    state tokens or a time: only one-shot rows of local servers do.
    """

    rows: int = 0
    turns: int = 0
    calls: int = 0
    browser_calls: int = 0
    tokens_rows: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds_rows: int = 0
    seconds: float = 0.0

    def add(self, row: ClinSeekRow) -> None:
        turns = calls = browser = 0
        for message in row.messages or ():
            turns += message.role == "assistant"
            if not message.tool_calls:
                continue
            calls += len(message.tool_calls)
            for call in message.tool_calls:
                name = call.function.name if call.function else call.name
                browser += isinstance(name, str) and name.startswith(_BROWSER)
        self.rows += 1
        self.turns += turns
        self.calls += calls
        self.browser_calls += browser
        if row.usage is not None and _whole(row.usage.prompt_tokens) and _whole(row.usage.completion_tokens):
            self.tokens_rows += 1
            self.prompt_tokens += row.usage.prompt_tokens
            self.completion_tokens += row.usage.completion_tokens
        seconds = row.elapsed_seconds
        # infinity and NaN fail the second comparison
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 1e9:
            self.seconds_rows += 1
            self.seconds += seconds

    def __add__(self, other: Effort) -> Effort:
        return Effort(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def as_counts(self) -> dict[str, Any]:
        """For the counts of a run; empty where nothing was counted."""
        return asdict(self) if self.rows else {}


def _whole(value: Any) -> bool:
    """A count that fits the tables, never true or false."""
    return type(value) is int and 0 <= value < 1 << 40
