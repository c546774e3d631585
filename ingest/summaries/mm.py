"""Summaries of the MM scorers: counts and raw set values beside the run's answers, the rest beside the scored rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from evaluation.protocols.base import Answer, Answers, joined
from evaluation.protocols.clinseek_mm_stored import ScoredRow, counted, counted_answers, judge_free, summarise
from evaluation.protocols.clinseek_mm_verdicts import Basis, is_mapped
from ingest.readers.base import Trouble
from ingest.summaries.comparison import (
    EXACT,
    FOUR_DECIMALS,
    Comparison,
    Recomputed,
    Scored,
    Summary,
    hashed_rows,
    numbers,
)

FORMS = ("old_summary", "integrated", "summary_vocab")
MARKDOWN_ONLY = "_md_only"
MOST_NAMED = 200


def compare(summary: Summary, document: Any, ours: Recomputed) -> Comparison:
    """Figures that need neither judge nor encoder against the answers, all others against the row file, if it is there.

    The two are never mixed in one figure. Rows of the row file that no row of the run answers alike are stale. OSError of
    the row file passes through.
    """
    form = summary.form.removesuffix(MARKDOWN_ONLY)
    comparison = Comparison(summary.path, summary.form, tolerance=EXACT if form == summary.form else FOUR_DECIMALS)
    from_answers = dict(numbers(summarise(counted_answers(ours.answers), form)))
    from_rows: dict[tuple[str, ...], float] = {}
    if summary.rows is not None:
        rows, bad, sha256 = hashed_rows(summary.rows.entry.real, ScoredRow)
        from_rows = dict(numbers(summarise(counted(rows), form)))
        comparison.stale = stale(rows, joined([ours.answers, ours.recovered]))
        comparison.troubles = _troubles(summary.rows.base, rows, bad, comparison.stale)
        basis = Basis(summary.rows.path, sha256, form, len(rows), is_mapped(rows), comparison.stale)
        comparison.scored = Scored(rows, basis, summary.rows.entry.archived) if rows else None
    for path, theirs in numbers(document if isinstance(document, dict) else {}):
        value = (from_answers if judge_free(path, form) else from_rows).get(path)
        if value is not None:
            comparison.rows.append((" ".join(path), theirs, value))
    return comparison


def stale(rows: Iterable[ScoredRow], answers: Answers) -> tuple[str, ...]:
    """Ids of scored rows whose answer is none that the run has for that id, each once, in the order of the rows.

    In a run of several repeats it must be of the row's own repeat. (A repeat may be stated for a whole file against what
    its rows say, so the only one is not looked at.)
    """
    several = len(answers.repeats) > 1
    known: dict[tuple[str, int], set[Any]] = defaultdict(set)
    for answer in answers:
        known[answer.item, answer.repeat if several else 1].add(taken(answer))
    old = (row.item for row in rows if row.taken not in known[row.item, row.repeat if several else 1])
    return tuple(dict.fromkeys(old))


def taken(answer: Answer) -> tuple[tuple[str, ...], str]:
    """The answer as `ScoredRow.taken` gives it."""
    return (answer.prediction if answer.rule == "ok" else ()), answer.rule


def _troubles(base: str, rows: Sequence[ScoredRow], bad: int, old: Sequence[str]) -> list[Trouble]:
    found = []
    if bad:
        found.append(Trouble("warning", "bad_scored_rows", f"{bad} lines of {base} give no row"))
    if old:
        text = f"{len(old)} questions in {base} were scored from another answer than the results file holds"
        more = f" and {len(old) - MOST_NAMED} more" if len(old) > MOST_NAMED else ""
        found.append(Trouble("warning", "stale_scored_rows", f"{text}: {', '.join(old[:MOST_NAMED])}{more}"))
    unparsed = sum(row.judge_reason == "judge_unparsed" for row in rows)
    failed = sum(str(row.judge_raw).startswith("exception") for row in rows)
    if unparsed or failed:
        text = (
            f"the judge was out: {unparsed} rows of {base} carry judge_unparsed and {failed} an exception in place of its "
            "words; without a verdict they count as wrong"
        )
        found.append(Trouble("warning", "judge_outage", text))
    return found


def newest_form(compared: Iterable[Comparison]) -> Scored | None:
    """The scored rows that stand for a run: not from an archive, then with mapped strings, then by form and path."""
    order = ("integrated", "summary_vocab", "old_summary")
    found = [one.scored for one in compared if one.scored is not None]
    return min(found, key=lambda one: (one.archived, order.index(one.basis.form), one.basis.path), default=None)
