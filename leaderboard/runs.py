"""A run's page and document: where it came from, what was counted, every score, and what nobody stated."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.models import Evaluation, ResultFile, Run, Score
from leaderboard.boards import INVENTED, ORIGINS, board_subtitle, day, small
from leaderboard.models import Board
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value

if TYPE_CHECKING:
    from evaluation.querysets import Person

LONG = 20  # rows from which a table is folded
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
    evaluations = list(run.evaluations.filter(current=True).select_related("evaluator"))
    board = (
        Board.objects.visible_to(user)
        .filter(split=split, mode=run.mode, shots=run.shots, conversation_kept=run.conversation_kept)
        .with_benchmark()
        .first()
    )
    relatives = list(
        Run.objects.visible_to(user)
        .filter(split=split, mode=run.mode, model=run.model, shots=run.shots, conversation_kept=run.conversation_kept)
        .exclude(pk=run.pk)
        .order_by("-answered_at", "-loaded_at")
    )
    not_stated = [label for name, label in STATED.items() if _asked(name, spec) and not run.protocol.get(name)]
    return {
        "run": run,
        "title": f"{run.model.name} on {benchmark.name}",
        "invented": split.release.name == INVENTED,
        "origin": ORIGINS.get(run.origin, run.origin),
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
        "counts": [(label, f"{run.counts.get(name, 0):,}", text) for name, (label, text) in COUNTS.items()],
        "evaluations": [(evaluation, score_tables(run, evaluation, spec)) for evaluation in evaluations],
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
        "crumbs": [
            ("Boards", reverse("home")),
            *([(f"{benchmark.name} {split.release.name}", board.get_absolute_url())] if board else []),
            (f"Run {run.key}", ""),
        ],
    }


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


# --- scores -----------------------------------------------------------------------------------------------------------

Place = tuple[str, str]  # metric, variant


def score_tables(run: Run, evaluation: Evaluation, spec: BenchmarkSpec) -> list[tuple[Table, bool]]:
    """A table a dimension, each with whether it is long and better folded: overall, by repeat, then the dimensions."""
    scores = list(evaluation.scores.order_by("pk"))
    several = any(score.repeat is None for score in scores)
    chosen = [score for score in scores if (score.repeat is None) == several]
    by_dimension: dict[str, list[Score]] = {}
    for score in chosen:
        by_dimension.setdefault(score.dimension, []).append(score)
    overall = by_dimension.pop("overall", [])
    tables = [_overall_table(overall, evaluation, spec)]
    if several:
        own = [score for score in scores if score.repeat is not None and score.dimension == "overall"]
        tables.append(_repeats_table(own, evaluation))
    order = [*spec.dimensions, *by_dimension]
    sources = label_sources(run, evaluation)
    for dimension in sorted(by_dimension, key=order.index):
        table = _dimension_table(dimension, by_dimension[dimension], overall, evaluation, spec)
        if dimension in sources:
            table = replace(table, notes=(*table.notes, f"Labels from {sources[dimension]}, not from the gold."))
        tables.append(table)
    return [(table, len(table.rows) > LONG) for table in tables]


def label_sources(run: Run, evaluation: Evaluation) -> dict[str, str]:
    """Which files set the dimensions that were added by labels: dimension -> names with sha256."""
    if evaluation.labels_fingerprint != run.split.labels_fingerprint:
        return {}  # the labels are newer than the figures
    labellings = run.split.release.labellings.all() if evaluation.labels_fingerprint else ()
    return {
        labelling.dimension: ", ".join(f"{name} (sha256 {sha256})" for name, sha256 in labelling.files)
        for labelling in labellings
    }


def _unit(metric: str) -> tuple[str, int | None]:
    """Unit and precision of a metric: a mean of judge scores is no share."""
    return ("", 2) if metric == "mean_score" else ("%", None)


def metric_name(metric: str) -> str:
    return {"f1": "F1", "score_share": "Share of judgements"}.get(metric, metric.replace("_", " ").capitalize())


VARIANTS = {
    "": "",
    "done_only": "missing left out",
    "per_figure": "each figure counted",
    "mean_of_categories": "mean of categories",
}


def _label(metric: str, variant: str) -> str:
    words = VARIANTS.get(variant, variant.replace("_", " "))
    return f"{metric_name(metric)}, {words}" if words else metric_name(metric)


def _cell(score: Score | None, **more: Any) -> Cell:
    if score is None or score.value is None:
        return Cell("–", note="nothing to take a mean of")
    unit, precision = _unit(score.metric)
    low, high = score.ci_low, score.ci_high
    if low is not None and high is not None:
        more.setdefault("sub", f"{format_value(low, unit, precision)}–{format_value(high, unit, precision)}")
    return Cell(
        format_value(score.value, unit, precision),
        value=score.value,
        low=low,
        high=high,
        n=score.n,
        n_answered=score.n_answered,
        **more,
    )


def _whisker(score: Score | None) -> Cell:
    if score is None or score.value is None or _unit(score.metric)[0] != "%":
        return Cell("–")
    return Column("", "", "interval", unit="%").cell(score.value, score.ci_low, score.ci_high)


def _count(value: int | None) -> Cell:
    return Cell(f"{value:,}", value=value) if value is not None else Cell("–")


def _overall_table(scores: Iterable[Score], evaluation: Evaluation, spec: BenchmarkSpec) -> Table:
    """A row a metric; the variants stand beside it, so that the headline and the public print are read together."""
    found = {(score.metric, score.variant): score for score in scores}
    headline = evaluation.evaluator.headline
    metrics = sorted(dict.fromkeys(metric for metric, _ in found), key=lambda metric: metric != headline)
    variants = [v for v in dict.fromkeys(variant for _, variant in found) if v]
    meaning = dict(spec.evaluator.metrics) if spec.evaluator else {}
    columns = (
        Column("metric", "Metric", "text"),
        Column("value", "Value", "score", metric=headline, evaluator=evaluation.evaluator.name),
        Column("interval", "95 % interval", "interval", unit="%"),
        *(
            Column(variant, VARIANTS.get(variant, variant).capitalize(), "score", metric=headline)
            for variant in variants
        ),
        Column("n", "Of", "count"),
        Column("answered", "Answered", "count"),
    )
    rows = [
        Row(
            metric,
            (
                Cell(metric_name(metric) + (", %" if _unit(metric)[0] else ""), sub=meaning.get(metric, "")),
                _cell(found.get((metric, ""))),
                _whisker(found.get((metric, ""))),
                *(_cell(found.get((metric, variant))) for variant in variants),
                _count(found[metric, ""].n if (metric, "") in found else None),
                _count(found[metric, ""].n_answered if (metric, "") in found else None),
            ),
            "all",
        )
        for metric in metrics
    ]
    notes = ["Value: a question without a row counts 0. Missing left out: as the public code prints it."]
    return Table(
        "overall",
        "Overall",
        "",
        columns,
        tuple(rows),
        (Group("all", ""),),
        notes=tuple(notes if "done_only" in variants else ()),
    )


def _repeats_table(scores: Sequence[Score], evaluation: Evaluation) -> Table:
    found = {(score.repeat, score.metric): score for score in scores if not score.variant}
    metrics = list(dict.fromkeys(metric for _, metric in found))
    columns = (
        Column("repeat", "Repeat", "text"),
        *(Column(metric, metric_name(metric), "score", unit=_unit(metric)[0], metric=metric) for metric in metrics),
        Column("n", "Of", "count"),
    )
    rows = []
    for repeat in sorted({repeat for repeat, _ in found}):
        cells = [_cell(found.get((repeat, metric))) for metric in metrics]
        n = next((cell.n for cell in cells if cell.n), None)
        rows.append(Row(str(repeat), (Cell(str(repeat), value=repeat), *cells, _count(n)), "all"))
    return Table("repeats", "By repeat", "", columns, tuple(rows), (Group("all", ""),))


def _dimension_table(
    dimension: str, scores: Sequence[Score], overall: Sequence[Score], evaluation: Evaluation, spec: BenchmarkSpec
) -> Table:
    """A row a facet. The headline, where it is measured here, comes first with whiskers, counts and its variants.

    A variant that is the same as the plain value in every row is left out and said to be; those of other metrics stand in
    the JSON only.
    """
    found = {(score.metric, score.variant, score.facet): score for score in scores}
    facets = in_order(dict.fromkeys(score.facet for score in scores))
    headline = evaluation.evaluator.headline
    metrics = sorted(dict.fromkeys(score.metric for score in scores), key=lambda metric: metric != headline)
    lead = metrics[0]
    others: list[Place] = [(metric, "") for metric in metrics[1:]]
    notes = [_adds_up(lead, scores, overall)]
    for variant in dict.fromkeys(score.variant for score in scores if score.metric == lead and score.variant):
        if all(_same(found, lead, variant, facet) for facet in facets):
            notes.append(f"{_label(lead, variant)}: no figure differs.")
        else:
            others.insert(0, (lead, variant))

    label = spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize())
    unit = _unit(lead)[0]
    columns = [
        Column("facet", label, "text"),
        _score_column(lead, "", evaluation),
        Column("interval", "95 % interval", "interval", unit=unit),
        Column("n", "Of", "count"),
        Column("answered", "Answered", "count"),
        *(_score_column(metric, variant, evaluation) for metric, variant in others),
    ]
    rows = []
    for facet in facets:
        first = found.get((lead, "", facet))
        cells = [Cell(facet or "not given", value=facet), _cell(first), _whisker(first)]
        cells += [_count(first.n if first else None), _count(first.n_answered if first else None)]
        for metric, variant in others:
            score = found.get((metric, variant, facet))
            same_n = score is None or (first is not None and score.n == first.n)
            cells.append(_cell(score, sub="" if same_n else f"of {score.n:,}"))
        rows.append(Row(facet or "(empty)", tuple(cells), "all"))
    title = f"By {small(label)}"
    return Table(dimension, title, "", tuple(columns), tuple(rows), (Group("all", ""),), notes=tuple(notes))


def _score_column(metric: str, variant: str, evaluation: Evaluation) -> Column:
    unit, precision = _unit(metric)
    name = evaluation.evaluator.name
    key = f"{metric}-{variant}"
    return Column(key, _label(metric, variant), "score", unit=unit, precision=precision, metric=metric, evaluator=name)


def _same(found: dict[tuple[str, str, str], Score], metric: str, variant: str, facet: str) -> bool:
    one, other = found.get((metric, "", facet)), found.get((metric, variant, facet))
    return one is not None and other is not None and (one.value, one.n) == (other.value, other.n)


_NUMBERED = re.compile(r"(\D*)(\d+)")


def in_order(facets: Iterable[str]) -> list[str]:
    """`Chapter 2` before `Chapter 14`, where all begin alike and count on; else as they come."""
    facets = list(facets)
    numbered = [_NUMBERED.match(facet) for facet in facets]
    if len({match[1] for match in numbered if match}) != 1 or not all(numbered):
        return facets
    return sorted(facets, key=lambda facet: (int(_NUMBERED.match(facet)[2]), facet))  # type: ignore[index]


def _adds_up(lead: str, scores: Sequence[Score], overall: Sequence[Score]) -> str:
    total = next((score.n for score in overall if (score.metric, score.variant) == (lead, "")), None)
    rows = sum(score.n for score in scores if (score.metric, score.variant) == (lead, ""))
    if total is not None and rows == total:
        return f"The rows add up to all {total:,}."
    return f"A question may stand in several rows or in none: the rows add up to {rows:,}" + (
        f" of {total:,}." if total is not None else "."
    )
