"""A run's page and document: where it came from, what was counted, every score, and what nobody stated."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.models import Evaluation, ResultFile, Run, Score
from leaderboard.beside import published_beside
from leaderboard.compare import near_runs, pairs_of
from leaderboard.data.links import run_downloads
from leaderboard.evaluators import current_evaluations, set_beside
from leaderboard.itemsets import shows_items
from leaderboard.models import Board
from leaderboard.people import RATED, people_of
from leaderboard.reliability import repeats_together
from leaderboard.runcheck import run_check
from leaderboard.runfacts import check_facts, count_outcomes, effort_of, effort_unsaid, outcomes_of
from leaderboard.runitems import facet_links
from leaderboard.scores import score_tables
from leaderboard.tables import format_value
from leaderboard.words import INVENTED, board_subtitle, day, origin_name

if TYPE_CHECKING:
    from evaluation.querysets import Person

COUNTS = {
    "rows": ("Rows", "answers loaded"),
    "expected_items": ("Expected", "questions of the split"),
    "missing": ("Missing", "expected, without a row"),
    "malformed": ("Broken lines", "lost, each a finding"),
    "extra": ("Unknown", "ids that the gold does not have"),
    "duplicates_same": ("Twins", "questions answered again, alike"),
    "duplicates_conflicting": ("Conflicts", "questions with different answers"),
}
# What a run may state beyond its key, and how the page calls it.
STATED = {
    "snapshot": "Snapshot",
    "decoding": "Decoding",
    "image_mode": "Images sent as",
    "judge": "Judge",
    "harness_commit": "Harness",
    "cost_usd": "Cost, US dollars",
    "liveclin_version": "Version of the official code",
}
NOT_FOR_ALL = {"image_mode": {"liveclin", "mm-bench"}, "judge": {"llmeval-med"}, "liveclin_version": {"liveclin"}}
MOST_STALE = 50  # ids that a page names
_ABSOLUTE = re.compile(r"(?<![\w.\])>])/(?:[^\s/:'\",;]+/)+[^\s:'\",;]*")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)


def sees_places(run: Run, user: Person) -> bool:
    """Whether a person may see where files lie outside the tree: its owner and staff."""
    return bool(user.is_authenticated and user.is_active and (user.is_staff or run.owner_id == user.pk))


def inside(path: str, folder: str = "") -> bool:
    """Whether a path, seen from a folder of the tree, stays below the root."""
    if path.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:", path):
        return False
    return posixpath.normpath(posixpath.join(folder, path)).split("/", 1)[0] != ".."


def public_text(text: str) -> str:
    """A message without absolute paths and addresses."""
    return _ABSOLUTE.sub("(path)", _ADDRESS.sub("(address)", text))


@dataclass(frozen=True)
class FileView:
    """A file as one person may see it; None stands for a place outside the tree that is not shown."""

    file: ResultFile
    physical: str | None
    chain: list[tuple[str | None, str | None]]

    @property
    def counts(self) -> dict[str, Any]:
        return self.file.counts


def file_views(run: Run, user: Person) -> list[FileView]:
    every = sees_places(run, user)
    views = []
    for file in run.files.all():
        chain = []
        for link, target in file.chain:
            kept = every or inside(link)
            chain.append((link if kept else None, target if kept and (every or _leads_inside(link, target)) else None))
        views.append(FileView(file, file.physical if every or inside(file.physical) else None, chain))
    return views


def _leads_inside(link: str, target: str) -> bool:
    return inside(target, posixpath.dirname(link))


# --- the document of the API ------------------------------------------------------------------------------------------


def run_document(run: Run, user: Person) -> dict[str, Any]:
    """The documented entry of a run with provenance and current scores."""
    split = run.split
    files = file_views(run, user)
    protocol = run.protocol if sees_places(run, user) else {k: v for k, v in run.protocol.items() if k in STATED}
    counted = ("rows", "parsed", "malformed", "recovered", "unique_items", "expected_items", "missing", "extra")
    successor = run.superseded_by
    shown = successor and Run.objects.visible_to(user).filter(pk=successor.pk).exists()
    return {
        "id": run.key,
        "benchmark": split.release.benchmark.slug,
        "release": split.release.name,
        "split": split.name,
        "mode": run.mode,
        "model": run.model_name,
        "model_slug": run.model.slug,
        "model_known": run.model.registered,
        "repeats": run.repeats,
        "path": files[0].file.path if files else None,
        "physical": files[0].physical if files else None,
        "state": run.state,
        "superseded_by": successor.key if successor and shown else None,
        **{name: run.counts.get(name, 0) for name in (*counted, "duplicates_same", "duplicates_conflicting")},
        "rankable": split.rankable,
        "summaries": [
            {"path": s.path, "form": s.form, "agrees": s.agrees, "largest_difference": s.largest_difference}
            for s in run.summaries.all()
        ],
        "origin": run.origin,
        "visibility": run.visibility,
        "shots": run.shots,
        "conversation_kept": run.conversation_kept,
        "protocol": protocol,
        "why": run.why if sees_places(run, user) else public_text(run.why),
        "stated": run.stated,
        "answered_at": run.answered_at,
        "loaded_at": run.loaded_at,
        "labels": [
            {"dimension": own.dimension, "files": [{"name": name, "sha256": sha256} for name, sha256 in own.files]}
            for own in split.release.labellings.all()
        ],
        "files": [
            {
                "path": view.file.path,
                "physical": view.physical,
                "chain": view.chain,
                **{name: getattr(view.file, name) for name in ("sha256", "size", "modified_at", "repeats")},
                **{name: view.counts.get(name) for name in ("lines", "blank", "parsed", "malformed", "rows")},
            }
            for view in files
        ],
        "scores": [
            {
                "evaluator": score.evaluation.evaluator.name,
                **{
                    name: getattr(score, name)
                    for name in ("repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered")
                },
                "ci_low": score.ci_low,
                "ci_high": score.ci_high,
            }
            for score in Score.objects.filter(evaluation__run=run, evaluation__current=True)
            .select_related("evaluation__evaluator")
            .order_by("evaluation", "pk")
        ],
    }


# --- the page ---------------------------------------------------------------------------------------------------------


def run_page(run: Run, user: Person) -> dict[str, Any]:
    """The context of the run's page."""
    split, benchmark = run.split, run.split.release.benchmark
    spec = BENCHMARKS[benchmark.slug]
    every = sees_places(run, user)
    evaluations = current_evaluations(run)
    seen = bool(evaluations) and shows_items(benchmark, user)
    board = (
        Board.objects.visible_to(user)
        .filter(split=split, mode=run.mode, shots=run.shots, conversation_kept=run.conversation_kept)
        .with_benchmark()
        .first()
    )
    near = near_runs(run, user)
    key = (run.model_id, run.mode, run.shots, run.conversation_kept)
    relatives = [one for one in near if (one.model_id, one.mode, one.shots, one.conversation_kept) == key]
    effort = effort_of(run)
    outcomes = count_outcomes(next(iter(evaluations), None))
    live = [other for other in relatives if other.state == Run.State.LIVE]
    checks = run_check(check_facts(run, live, evaluations, spec, outcomes, board))
    not_stated = [label for name, label in STATED.items() if _asked(name, spec) and not run.protocol.get(name)]
    return {
        "run": run,
        "spec": spec,
        "title": f"{run.model.name} on {benchmark.name}",
        "invented": split.release.name == INVENTED,
        "origin": origin_name(run.origin),
        "notices": _notices(run, relatives),
        "repeats": ", ".join(str(repeat) for repeat in run.repeats),
        "siblings": sorted(
            (other for other in relatives if other.state == run.state == Run.State.LIVE),
            key=lambda other: other.repeats,
        ),
        "board": board,
        "board_name": board_subtitle(board) if board else "",
        "facts": [
            ("Benchmark", benchmark.name),
            ("Release", split.release.name),
            ("Split", split.name),
            ("Mode", run.mode),
            ("Repeats", ", ".join(str(repeat) for repeat in run.repeats)),
            ("Answers of", day(run.answered_at)),
            ("Loaded", day(run.loaded_at)),
        ],
        "outcomes": outcomes_of(outcomes),
        "checks": checks,
        "effort": effort,
        "effort_unsaid": effort_unsaid(effort),
        "counts": [(label, f"{run.counts.get(name, 0):,}", text) for name, (label, text) in COUNTS.items()],
        "evaluations": [
            (evaluation, score_tables(run, evaluation, spec, *([facet_links(run, evaluation)] if seen else [])))
            for evaluation in evaluations[:1]
        ],
        "pairs": pairs_of(run, user, near),
        "items_href": reverse("run-answers", args=[run.key]) if seen else "",
        "beside": set_beside(evaluations),
        "together": repeats_together(run, live, next(iter(evaluations), None)),
        "people": people_of(run, user) if spec.evaluator and RATED in spec.evaluator.metrics else None,
        "stored": [_rests_on(evaluation.basis) for evaluation in evaluations if evaluation.basis],
        "absent": absent_evaluators(spec, evaluations),
        "published": published_beside(run, evaluations),
        "summaries": [_summary(summary) for summary in run.summaries.order_by("pk")],
        "findings": [
            {
                "severity": finding.severity,
                "code": finding.code,
                "path": finding.path if every or inside(finding.path) else "",
                "line": finding.line,
                "offset": finding.offset,
                "message": finding.message if every else public_text(finding.message),
            }
            for finding in run.findings.all()
        ],
        "protocol": [
            ("Shots and conversation", "" if run.protocol_text == "not stated" else run.protocol_text),
            *((label, run.protocol.get(name, "")) for name, label in STATED.items() if _asked(name, spec)),
        ],
        "not_stated": not_stated,
        "stated": _stated(run),
        "why": run.why if every else public_text(run.why),
        "files": file_views(run, user),
        "sees_places": every,
        **run_downloads(run, {one.evaluator.name for one in evaluations}, user),
        "crumbs": [
            ("Boards", reverse("home")),
            *([(f"{benchmark.name} {split.release.name}", board.get_absolute_url())] if board else []),
            (f"Run {run.key}", ""),
        ],
    }


def _rests_on(basis: dict[str, Any]) -> dict[str, Any]:
    """What stored verdicts rest on, in words; empty for any other evaluation."""
    if not basis:
        return {}
    strings = "its strings mapped to a vocabulary" if basis["mapped"] else "its strings as they were given"
    return {**basis, "strings": strings, "stale": basis["stale"][:MOST_STALE], "n_stale": len(basis["stale"])}


def absent_evaluators(spec: BenchmarkSpec, evaluations: Sequence[Evaluation]) -> list[tuple[str, str]]:
    """(name, why) of the evaluators on demand that were not applied to the run."""
    applied = {evaluation.evaluator.name for evaluation in evaluations}
    return [
        (evaluator.name, evaluator.missing or "not applied to this run yet")
        for evaluator in spec.optional_evaluators
        if evaluator.name not in applied
    ]


def _stated(run: Run) -> dict[str, Any]:
    """What a configuration file says of the run: the file, and (label, value, line) of each field."""
    if not run.stated:
        return {}
    fields = [
        (STATED.get(name, name.replace("_", " ").capitalize()), said["value"], said["line"])
        for name, said in run.stated["fields"].items()
    ]
    fields.sort(key=lambda field: (field[2], field[0]))
    return {"file": run.stated["file"], "sha256": run.stated["sha256"], "fields": fields}


def _asked(name: str, spec: BenchmarkSpec) -> bool:
    return spec.slug in NOT_FOR_ALL.get(name, {spec.slug})


def _notices(run: Run, relatives: Sequence[Run]) -> list[tuple[str, str, str]]:
    """(kind, text, link) of what must be known before any figure is read."""
    notices = []
    if run.state == Run.State.SUPERSEDED:
        successor = next((other for other in relatives if other.pk == run.superseded_by_id), None)
        link = successor.get_absolute_url() if successor else ""
        notices.append(
            ("warning", "Superseded: the file was changed or read anew. These figures stand on no board.", link)
        )
    if run.state == Run.State.ARCHIVED:
        notices.append(("warning", "Archived: it was read from an archive and stands on no board.", ""))
    return notices


def _summary(summary: Any) -> dict[str, Any]:
    return {
        "path": summary.path,
        "form": summary.form.replace("_", " "),
        "agrees": summary.agrees,
        "largest": None if summary.largest_difference is None else _points(summary.largest_difference),
        "rows": [
            (name, _plain(theirs), _plain(ours), _points(theirs - ours), abs(theirs - ours) > 5e-5)
            for name, theirs, ours in summary.rows
        ],
    }


def _plain(value: float) -> str:
    return format_value(value, "", 4)


def _points(value: float) -> str:
    return format_value(value, "", 4) if abs(value) >= 5e-5 or value == 0 else f"{value:.0e}"
