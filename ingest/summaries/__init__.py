"""Stored summaries: what a scorer once wrote, set against what a run's items give."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ingest import documents
from ingest.readers import mm_markdown
from ingest.readers.base import FileContent, Trouble
from ingest.select import Chosen, Seen
from ingest.summaries import hierarchy, mm, places, text
from ingest.summaries.comparison import Comparison, Recomputed, Summary, overall_scores
from ingest.summaries.places import Runs

__all__ = ["Comparison", "Recomputed", "Summaries", "Summary", "overall_scores"]

# Given a summary and the runs it may be of, the run that the last pass found for it (None: none); raises KeyError where
# that says nothing any more.
Remembered = Callable[[Summary, Collection[Chosen]], "Chosen | None"]


def _forgotten(summary: Summary, runs: Collection[Chosen]) -> Chosen | None:
    raise KeyError


class Summaries:
    """The summaries of a tree, each with the run it is of. `homeless` holds (path, why) of those that are of no one run."""

    def __init__(self) -> None:
        self.homeless: list[tuple[str, str]] = []
        self._of: dict[str, list[Summary]] = defaultdict(list)

    @classmethod
    def of_tree(
        cls,
        chosen: Iterable[Chosen],
        seen: Iterable[Seen],
        passed_over: Collection[str] = (),
        remembered: Remembered = _forgotten,
    ) -> Summaries:
        """Find the run of each summary; one physical file counts once.

        Nothing is said of those in folders `passed_over` (their results were refused, and that has been told), nor of
        archived ones that are of no run.
        """
        self, runs = cls(), Runs(chosen)
        for summaries in places.found(seen):
            self._place(summaries, runs, passed_over, remembered)
        return self

    def _place(
        self, summaries: list[Summary], runs: Runs, passed_over: Collection[str], remembered: Remembered
    ) -> None:
        live = [summary for summary in summaries if not summary.seen.entry.archived]
        named = {summary.path: runs.named_by(summary) for summary in live}
        claims = {run.path: run for claimed in named.values() for run in claimed}
        summary = min(live or summaries, key=lambda one: _plainness(one, named.get(one.path, [])))
        if len(claims) == 1:
            self._of[next(iter(claims))].append(summary)
            return
        candidates = list(claims.values()) or [run for run in runs.all if run.benchmark == "mm-bench"]
        if not claims and summary.form not in mm.FORMS:
            candidates = []
        try:
            run = remembered(summary, candidates)
        except KeyError:
            try:
                run = places.by_rows(summary, candidates, exactly=not claims)
            except OSError:
                run = None
        if run is not None:
            self._of[run.path].append(summary)
        elif claims:
            self.homeless.append((summary.path, places.SEVERAL.format(paths=", ".join(sorted(claims)))))
        elif live and summary.folder not in passed_over:
            self.homeless.append((summary.path, places.NONE))

    def of(self, chosen: Chosen) -> list[Summary]:
        return self._of.get(chosen.path, [])

    def compare(self, chosen: Chosen, contents: Iterable[FileContent], ours: Recomputed) -> list[Comparison]:
        """All summaries of a run set against what its rows give; one that cannot be read compares nothing and says so."""
        inside = [
            text.compare(content.entry.path, "liveclin", content.about["summary"], ours)
            for content in contents
            if content.about.get("summary")
        ]
        return inside + [_compared(summary, ours) for summary in self.of(chosen)]


def _plainness(summary: Summary, runs: Collection[Chosen]) -> tuple[bool, bool, bool]:
    """Least for the path to show: in the run's own folder, else in one of the model's name, else one that names a run."""
    own = any(summary.folder == posixpath.dirname(run.path) for run in runs)
    return not own, not any(posixpath.basename(summary.folder) == run.model for run in runs), not runs


def _compared(summary: Summary, ours: Recomputed) -> Comparison:
    try:
        document = _document(summary)
        if summary.form.removesuffix(mm.MARKDOWN_ONLY) in mm.FORMS:
            return mm.compare(summary, document, ours)
        if summary.form == hierarchy.FORM:
            return hierarchy.compare(summary, document, ours)
        return text.compare(summary.path, summary.form, document, ours)
    except (ValueError, OSError) as error:
        trouble = Trouble("warning", "bad_json", f"the summary cannot be read: {error}")
        return Comparison(summary.path, summary.form, troubles=[trouble])


def _document(summary: Summary) -> Any:
    content = documents.read_whole(summary.seen.entry.real)
    if not summary.form.endswith(mm.MARKDOWN_ONLY):
        return documents.loads(content)
    parsed = mm_markdown.parse(content.decode("utf-8", "replace"))
    return parsed[1] if parsed else {}
