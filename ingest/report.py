"""What one ingest has to say: runs, what is no run, findings. The shape of `manage.py ingest --json`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ingest.select import Chosen

_TOLD = ("severity", "code", "path", "line", "offset", "message")
# Findings of one code in one file beyond this number are counted, not listed.
MOST_OF_A_KIND = 200


@dataclass(slots=True)
class FindingNote:
    severity: str
    code: str
    path: str
    message: str
    line: int | None = None
    offset: int | None = None


@dataclass(slots=True)
class NotRun:
    path: str
    physical: str
    reason: str
    why: str


@dataclass
class Report:
    """Collects while an ingest goes on. `runs` holds the documented entries, one a selected file."""

    started: float = field(default_factory=time.monotonic)
    files_seen: int = 0
    rows_read: int = 0
    rows_loaded: int = 0
    runs: list[dict[str, Any]] = field(default_factory=list)
    not_runs: list[NotRun] = field(default_factory=list)
    findings: list[FindingNote] = field(default_factory=list)
    _seen: Counter = field(default_factory=Counter)

    def find(
        self, severity: str, code: str, path: str, message: str, line: int | None = None, offset: int | None = None
    ) -> None:
        """Add a finding; the 201st of one code in one file becomes a single line that counts the rest."""
        self._seen[code, path] += 1
        if self._seen[code, path] <= MOST_OF_A_KIND:
            self.findings.append(FindingNote(severity, code, path, message, line, offset))

    def close(self) -> None:
        for (code, path), count in self._seen.items():
            if count > MOST_OF_A_KIND:
                last = next(f for f in reversed(self.findings) if (f.code, f.path) == (code, path))
                more = f"{count - MOST_OF_A_KIND} more of this kind in this file"
                self.findings.append(FindingNote(last.severity, code, path, more))
        self._seen.clear()

    @property
    def has_errors(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        return {
            "passed_s": round(time.monotonic() - self.started, 3),
            "files_seen": self.files_seen,
            "rows_read": self.rows_read,
            "rows_loaded": self.rows_loaded,
            "runs": self.runs,
            "not_runs": [asdict(entry) for entry in self.not_runs],
            "findings": [{name: getattr(finding, name) for name in _TOLD} for finding in self.findings],
        }


class Compared(Protocol):
    """A summary that was set against a run, just now or in an earlier pass."""

    @property
    def path(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def agrees(self) -> bool | None: ...
    @property
    def largest_difference(self) -> float | None: ...


_COUNTS = (
    "rows",
    "parsed",
    "malformed",
    "recovered",
    "unique_items",
    "expected_items",
    "missing",
    "extra",
    "duplicates_same",
    "duplicates_conflicting",
    "rankable",
)


def run_entry(
    *,
    key: str,
    chosen: Chosen,
    release: str,
    model_name: str,
    repeats: list[int],
    path: str,
    physical: str,
    state: str,
    counts: dict[str, Any],
    stated: dict[str, Any],
    compared: Sequence[Compared],
) -> dict[str, Any]:
    """One documented entry of `runs`: one a selected file; files of one run share its id."""
    return {
        "id": key,
        "benchmark": chosen.benchmark,
        "release": release,
        "split": chosen.split,
        "mode": chosen.mode,
        "model": model_name,
        "model_known": counts["model_known"],
        "repeats": repeats,
        "path": path,
        "physical": physical,
        "state": state,
        **{name: counts[name] for name in _COUNTS},
        "summaries": [
            {
                "path": summary.path,
                "form": summary.form,
                "agrees": summary.agrees,
                "largest_difference": summary.largest_difference,
            }
            for summary in sorted(compared, key=lambda summary: summary.path)
        ],
        "why": chosen.why,
        "stated": stated,
    }
