"""Lists of models and sources as tables and contexts for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.http import QueryDict
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import LanguageModel, Run, Score
from evaluation.querysets import ModelQuerySet
from ingest.models import Finding, Source
from leaderboard.compare import family_runs, pairs_of_model
from leaderboard.filters import address, choices, counted
from leaderboard.findings import SEVERITIES
from leaderboard.meanings import fate_in_words
from leaderboard.models import ReportedScore
from leaderboard.results import results_page
from leaderboard.retries import retries_table
from leaderboard.scores import metric_name
from leaderboard.standings import shown
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value
from leaderboard.words import day, origin_name, source_in_words

if TYPE_CHECKING:
    from evaluation.querysets import Person

PER_PAGE = 100
ALL = (Group("all", ""),)


def shown_models(user: Person) -> ModelQuerySet:
    """Models with a run that `user` may see or with a reported figure. A mere name in a register says nothing."""
    runs = Run.objects.visible_to(user).filter(model=OuterRef("pk"))
    reported = ReportedScore.objects.filter(model=OuterRef("pk"))
    return LanguageModel.objects.visible_to(user).filter(Q(Exists(runs)) | Q(Exists(reported)))


def models_page(user: Person) -> dict[str, Any]:
    runs = Run.objects.visible_to(user).live()
    found = sorted(shown_models(user), key=lambda model: (model.name.casefold(), model.pk))
    counts = {
        row["model"]: row
        for row in runs.values("model").annotate(
            count=Count("pk"), benchmarks=Count("split__release__benchmark", distinct=True), newest=Max("answered_at")
        )
    }
    reported = dict(ReportedScore.objects.exclude(model=None).values_list("model").annotate(Count("pk")).order_by())
    columns = (
        Column("model", "Model", "model"),
        Column("access", "Access", "text"),
        Column("benchmarks", "Benchmarks", "count", help="On which it has a live run."),
        Column("runs", "Runs", "count"),
        Column("reported", "Reported figures", "count"),
        Column("newest", "Newest answers", "date"),
    )
    rows = []
    for model in found:
        own = counts.get(model.pk, {"count": 0, "benchmarks": 0, "newest": None})
        rows.append(
            Row(
                model.slug,
                (
                    Cell(model.name, href=model.get_absolute_url(), sub=model.organisation),
                    Cell(model.access or "not stated"),
                    _count(own["benchmarks"]),
                    _count(own["count"]),
                    _count(reported.get(model.pk, 0)),
                    Cell(day(own["newest"])),
                ),
                "registered" if model.registered else "unregistered",
            )
        )
    groups = (
        Group("registered", ""),
        Group("unregistered", "Not registered", "names from results files, kept as they are and merged with nothing."),
    )
    table = Table("models", "Models", "", columns, tuple(rows), groups)
    return {"table": table, "crumbs": []}


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", value=number) if number else Cell("–", note="none")


Relatives = list[tuple[str, LanguageModel]]


def model_and_relatives(slug: str, user: Person) -> tuple[LanguageModel | None, Relatives]:
    """The model of that slug, and (what it is, model) of its predecessor and successors, as far as `user` may know of them.

    One query, as long as the model is there.
    """
    near = Q(slug=slug) | Q(predecessor__slug=slug) | Q(successors__slug=slug)
    found = list(shown_models(user).filter(near).distinct())
    model = next((one for one in found if one.slug == slug), None)
    if model is None:
        return None, []
    others = [one for one in found if one.pk != model.pk]
    return model, [("predecessor" if one.pk == model.predecessor_id else "successor", one) for one in others]


def model_page(model: LanguageModel, relatives: Relatives, user: Person) -> dict[str, Any]:
    """The context of a model's page; what `model_and_relatives` gives."""
    family = list(family_runs([model.pk, *(other.pk for _, other in relatives)], user))
    runs = [run for run in family if run.model_id == model.pk]
    headlines = _headlines(runs)
    columns = (
        Column("board", "Benchmark", "text"),
        Column(
            "score", "Headline", "count", help="Each benchmark has its own metric: never compare them with each other."
        ),
        Column("repeats", "Repeats", "text"),
        Column("origin", "Origin", "badge"),
        Column("date", "Answers of", "date"),
        Column("run", "Run", "link"),
    )
    rows = tuple(_run_row(run, headlines.get(run.pk)) for run in runs)
    groups = (Group("live", ""), Group("past", "Superseded and archived", "on no board."))
    reported = (
        ReportedScore.objects.filter(model=model)
        .select_related("split__release__benchmark", "source")
        .order_by("order")
    )
    facts = {
        "facts": [
            ("Access", model.access),
            ("Organisation", model.organisation),
            ("Family", model.family),
            ("Size", model.size),
            ("Released on", model.released_on),
            ("Knowledge cut-off", model.knowledge_cutoff),
        ],
        "predecessor": next((other for what, other in relatives if what == "predecessor"), None),
        "successors": [other for what, other in relatives if what == "successor"],
    }
    return {
        "model": model,
        "aliases": [(alias.get_kind_display(), alias.name) for alias in model.aliases.visible_to(user)],
        "runs_table": Table("runs", f"Runs of {model.name}", "", columns, rows, groups),
        "has_runs": bool(runs),
        **facts,
        **results_page(model, relatives, user),
        "pairs": pairs_of_model(model, user, [run for run in family if run.state == Run.State.LIVE]),
        "reported_table": _reported_table(model, list(reported)),
        "crumbs": [("Models", reverse("models")), (model.name, "")],
    }


def _headlines(runs: list[Run]) -> dict[int, Score]:
    """run -> its headline over all repeats, else of its only repeat."""
    evaluators = {slug: spec.evaluator for slug, spec in BENCHMARKS.items() if spec.evaluator}
    scores = Score.objects.filter(
        evaluation__run__in=runs,
        evaluation__current=True,
        evaluation__evaluator__name__in={evaluator.name for evaluator in evaluators.values()},
        dimension="overall",
        variant="",
        metric__in={evaluator.headline for evaluator in evaluators.values()},
    ).select_related("evaluation")
    by_run: dict[int, Score] = {}
    for score in sorted(scores, key=lambda score: score.repeat is None):
        by_run[score.evaluation.run_id] = score
    return by_run


def _run_row(run: Run, score: Score | None) -> Row:
    release = run.split.release
    where = " · ".join([release.name, run.split.name, run.mode])
    if score is None or score.value is None:
        headline = Cell("–", note="not scored")
    else:
        figure = shown(BENCHMARKS[release.benchmark.slug], score.metric).figures[0]
        text = f"{format_value(score.value, figure.unit, figure.precision)} {figure.unit}"
        headline = Cell(text, value=score.value, sub=metric_name(score.metric))
    if run.state != Run.State.LIVE:
        where += f" · {run.get_state_display()}"
    if run.visibility != Run.Visibility.PUBLIC:
        where += f" · {run.get_visibility_display()}"
    return Row(
        run.key,
        (
            Cell(release.benchmark.name, sub=where),
            headline,
            Cell(", ".join(str(repeat) for repeat in run.repeats)),
            Cell(origin_name(run.origin), origin=run.origin),
            Cell(day(run.answered_at)),
            Cell(run.key, href=run.get_absolute_url()),
        ),
        "live" if run.state == Run.State.LIVE else "past",
    )


def _reported_table(model: LanguageModel, rows: list[ReportedScore]) -> Table | None:
    if not rows:
        return None
    columns = (
        Column("figure", "Figure", "text"),
        Column("part", "Of", "text"),
        Column("value", "Value", "count", help="As printed in the source."),
        Column("source", "Source", "badge"),
    )
    made = []
    for row in rows:
        release = row.split.release
        part = f"{row.dimension.replace('_', ' ')}: {row.facet}" if row.facet else "all"
        metric = metric_name(row.metric) + (f", {row.variant.replace('_', ' ')}" if row.variant else "")
        unit = "%" if row.unit == "percent" else ""
        made.append(
            Row(
                str(row.pk),
                (
                    Cell(release.benchmark.name, sub=f"{release.name} · {row.split.name} · {row.mode}"),
                    Cell(part, sub=metric),
                    Cell(f"{row.printed} {unit}".strip(), value=row.value, n=row.n, note=row.note),
                    Cell("reported", origin="reported", note=source_in_words(row)),
                ),
                "all",
            )
        )
    return Table("reported", f"Reported figures of {model.name}", "", columns, tuple(made), ALL)


# --- sources: for staff -----------------------------------------------------------------------------------------------


def sources_page() -> dict[str, Any]:
    found = Source.objects.annotate(last=Max("passes__started_at")).order_by("-last").prefetch_related("places")
    files = dict(Source.objects.values_list("pk").annotate(Count("files")))
    errors = dict(Finding.objects.filter(severity="error").values_list("source").annotate(Count("pk")).order_by())
    warnings = dict(Finding.objects.filter(severity="warning").values_list("source").annotate(Count("pk")).order_by())
    columns = (
        Column("source", "Source", "model"),
        Column("files", "Files", "count"),
        Column("errors", "Errors", "count"),
        Column("warnings", "Warnings", "count"),
        Column("last", "Last pass", "date"),
    )
    rows = tuple(
        Row(
            str(source.pk),
            (
                Cell(
                    source.name,
                    href=reverse("source", args=[source.pk]),
                    sub=", ".join(f"{place.host}:{place.path}" for place in source.places.all()),
                ),
                _count(files.get(source.pk, 0)),
                _count(errors.get(source.pk, 0)),
                _count(warnings.get(source.pk, 0)),
                Cell(f"{source.last:%Y-%m-%d %H:%M}" if source.last else ""),
            ),
            "all",
        )
        for source in found
    )
    return {"table": Table("sources", "Sources", "", columns, rows, ALL)}


def source_page(source: Source, query: QueryDict) -> dict[str, Any]:
    """One source: its passes, its tree as it was read, and what retries changed; `fate` filters files, `files` pages."""
    chosen = {"fate": query.get("fate", "")}
    files = source.files.select_related("run").order_by("path")
    fates = counted(files, "fate")
    if chosen["fate"]:
        files = files.filter(fate=chosen["fate"]) if "\x00" not in chosen["fate"] else files.none()
    page = Paginator(files, PER_PAGE).get_page(query.get("files"))
    here = {"source": str(source.pk)}
    severities = dict(counted(source.findings.all(), "severity"))
    return {
        "source": source,
        "places": list(source.places.all()),
        "passes": list(source.passes.order_by("-started_at")[:10]),
        "findings": [
            (severity, severities[severity], f"{reverse('findings')}?{address({**here, 'severity': severity})}")
            for severity in SEVERITIES
            if severity in severities
        ],
        "findings_href": f"{reverse('findings')}?{address(here)}",
        "n_findings": sum(severities.values()),
        "files": page,
        "tree": [(file, fate_in_words(file.fate)) for file in page.object_list],
        "fates": choices("fate", fates, chosen),
        "query": f"&{address(chosen)}" if chosen["fate"] else "",
        "retries": retries_table(source),
        "archived": dict(fates).get("archived", 0),
        "crumbs": [("Sources", reverse("sources")), (source.name, "")],
    }
