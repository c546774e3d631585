"""Which run is a summary of? Its path says so; where that names several runs or none, the rows beside it decide."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evaluation import benchmarks
from evaluation.protocols import clinseek_mm
from evaluation.protocols.base import Answer
from evaluation.protocols.clinseek_mm_stored import ScoredRow
from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from ingest.lines import LineReader
from ingest.select import BENCHMARK_DIRECTORIES, Chosen, Seen
from ingest.summaries import hierarchy, mm
from ingest.summaries.comparison import Summary, read_rows

_TEXT = ("ehr-bench", "agent-ehr-bench")
# What a form is a summary of.
_OF = {
    **dict.fromkeys(("newest", "middle", "old_flat", "diagnoses"), _TEXT),
    **dict.fromkeys(mm.FORMS, ("mm-bench",)),
    hierarchy.FORM: ("ehr-bench", "mm-bench"),
    "llmeval_aggregate": ("llmeval-med",),
}
# The row file that a summary is made from, by the start of its name.
_ROWS = {"summary_vocab": "rescored.", "old_summary": "scored.", "integrated": "scored.", hierarchy.FORM: "rows."}

SEVERAL = "could belong to several runs, and fits none of them better than the others: {paths}"
NONE = "belongs to no run that was read: its path names none, and its rows are not the answers of any single one"


def found(seen: Iterable[Seen]) -> list[list[Summary]]:
    """The summaries of a tree; of each physical file all logical paths, in their order.

    Markdown counts only where the JSON of the same name is missing and it is a scorer's.
    """
    files = list(seen)
    paths = {one.path for one in files}
    rows: dict[str, list[Seen]] = defaultdict(list)
    for one in files:
        if one.kind.name == "scored":
            rows[posixpath.dirname(one.path)].append(one)
    by_file: dict[str, list[Summary]] = defaultdict(list)
    for one in files:
        form = one.kind.about.get("form", "") if one.kind.name in ("summary", "summary_text") else ""
        if one.kind.name == "summary_text" and form:
            form = "" if one.path[:-2] + "json" in paths else form + mm.MARKDOWN_ONLY
        if form:
            start = _ROWS.get(form.removesuffix(mm.MARKDOWN_ONLY), "")
            beside = sorted(
                (row for row in rows[posixpath.dirname(one.path)] if start and row.base.startswith(start)),
                key=lambda row: row.base,
            )
            by_file[one.entry.real].append(Summary(one, form, beside[0] if beside else None))
    return [sorted(own, key=lambda summary: summary.path) for own in by_file.values()]


class Runs:
    """The live runs of a tree, to be found by what a summary's path says."""

    def __init__(self, chosen: Iterable[Chosen]) -> None:
        self.all = [run for run in chosen if not run.archived]
        self._by_folder: dict[str, list[Chosen]] = defaultdict(list)
        self._by_name: dict[str, list[tuple[str, Chosen]]] = defaultdict(list)
        self._by_model: dict[tuple[str, str, str], list[Chosen]] = defaultdict(list)
        for run in self.all:
            self._by_model[run.mode, run.benchmark, run.model].append(run)
            for folder in {posixpath.dirname(path) for path in (run.path, run.files[0][0].entry.physical)}:
                self._by_folder[folder].append(run)
                self._by_name[posixpath.basename(folder)].append((folder, run))

    def named_by(self, summary: Summary) -> list[Chosen]:
        """The runs of the summary's own folder; else those that it is named after.

        A scored directory has the name of the results' own (`…/scored/<model>/` for `…/<split>/<model>/` beside it), a
        hierarchical one lies below `hierarchical/<mode>/<benchmark>/<model>/`.
        """
        fits = _OF.get(summary.form.removesuffix(mm.MARKDOWN_ONLY), ())
        physical = posixpath.dirname(summary.seen.entry.physical)
        own = _each(run for folder in (summary.folder, physical) for run in self._by_folder.get(folder, ()))
        if own := [run for run in own if run.benchmark in fits]:
            return own
        if summary.form == hierarchy.FORM:
            *_, below = f"{summary.seen.root}/{summary.path}".rpartition("/hierarchical/")
            mode, directory, model = (*below.split("/"), "", "")[:3]
            return self._by_model.get((mode, BENCHMARK_DIRECTORIES.get(directory, ""), model), [])
        above, name = posixpath.split(summary.folder)
        beside, scored = posixpath.split(above)
        if not scored.startswith("scored"):
            return []
        below = f"{beside}/" if beside else ""
        named = _each(run for folder, run in self._by_name.get(name, ()) if folder.startswith(below))
        return [run for run in named if run.benchmark in fits]


def _each(runs: Iterable[Chosen]) -> list[Chosen]:
    return list({run.path: run for run in runs}.values())


def by_rows(summary: Summary, runs: Sequence[Chosen], *, exactly: bool) -> Chosen | None:
    """The one run whose answers are those of the rows beside the summary.

    `exactly`: the only run of which that holds for every row. Else the run of which it holds for the most, so that answers
    that changed since do not hide whose they were. None where the summary has no rows, or two runs fit alike. OSError
    passes through.
    """
    if summary.rows is None:
        return None
    wanted = _wanted(summary.form, summary.rows)
    if exactly:
        fitting = [run for run in runs if _is_made_of(wanted, run)]
        return fitting[0] if len(fitting) == 1 else None
    shares = sorted(((_share(wanted, run), number) for number, run in enumerate(runs)), reverse=True)
    clear = shares[0][0] > 0 and (len(shares) == 1 or shares[0][0] > shares[1][0])
    return runs[shares[0][1]] if clear else None


Wanted = tuple[dict[str, set[Any]], Callable[[Answer], Any]]


def _wanted(form: str, rows: Seen) -> Wanted:
    """(question -> answers of its rows, the form in which a run's answer is compared with them)."""
    found: dict[str, set[Any]] = defaultdict(set)
    if form == hierarchy.FORM:
        for leaf in read_rows(rows, hierarchy.LeafRow)[0]:
            found[leaf.item].add(tuple(map(str, leaf.pred)) if isinstance(leaf.pred, list) else ())
        return found, lambda answer: tuple(map(str, answer.prediction))
    for row in read_rows(rows, ScoredRow)[0]:
        found[row.item].add(row.taken)
    return found, mm.taken


def _answers(run: Chosen) -> Iterator[Answer]:
    take = benchmarks.BENCHMARKS[run.benchmark].read
    for seen, _ in run.files:
        for *_, row in LineReader(seen.entry.real, ClinSeekRow, slow=from_dict):
            if row.item is not None:
                yield take(row)


def _is_made_of(wanted: Wanted, run: Chosen) -> bool:
    """Stops at the first row that does not fit, which for other runs is among the first few."""
    rows, form = wanted
    met = set()
    for answer in _answers(run):
        if clinseek_mm.gold_names(answer.extra.label):
            if form(answer) not in rows.get(answer.item, ()):
                return False
            met.add(answer.item)
    return met == rows.keys()


def _share(wanted: Wanted, run: Chosen) -> float:
    rows, form = wanted
    given: dict[str, set[Any]] = defaultdict(set)
    for answer in _answers(run):
        if answer.item in rows:
            given[answer.item].add(form(answer))
    return sum(bool(rows[item] & given[item]) for item in given) / max(1, len(rows))
