"""An item and a case across all models: what each took of it, and where in a case each one broke."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Evaluation, Item, ItemScore, Release, Response, Run, SplitItem
from evaluation.protocols.base import Outcome
from evaluation.querysets import sees_everything
from ingest.cases import CaseText, kept_places, read_case
from ingest.drilldown import CannotRead
from ingest.figures import figure
from leaderboard.itemsets import case_link, item_address
from leaderboard.responses import item_facets
from leaderboard.runitems import outcome_name, taken
from leaderboard.tables import format_value
from leaderboard.texts import as_text

if TYPE_CHECKING:
    from evaluation.querysets import Person

PER_PAGE = 100
SIGNS = {Outcome.RIGHT: "✓", Outcome.WRONG: "✗", Outcome.NO_ANSWER: "?", Outcome.ERROR: "!", Outcome.MISSING: "–"}


class Took(NamedTuple):
    """What one evaluator took of one row."""

    evaluator: str
    outcome: int
    prediction: str
    rule: str
    value: str

    @property
    def name(self) -> str:
        return outcome_name(self.outcome)


@dataclass(frozen=True)
class Answer:
    """A row of a run for an item, by the board's evaluator first."""

    run: Run
    repeat: int
    href: str
    took: list[Took]


def live_runs(release: Release, items: Iterable[Item], user: Person) -> list[Run]:
    """The live runs that a person may see of the splits that hold any of the items."""
    splits = SplitItem.objects.filter(item__in=items).values("split")
    runs = Run.objects.visible_to(user).live().filter(split__in=splits, split__release=release)
    return list(runs.select_related("model", "split").order_by("mode", "model__name", "split__name", "pk"))


def answers(runs: Sequence[Run], items: Sequence[Item], benchmark: str) -> dict[tuple[int, int], list[Answer]]:
    """(run, item) -> its rows in order. Three queries. Rows saved from broken lines are left out."""
    order = {evaluator.name: place for place, evaluator in enumerate(BENCHMARKS[benchmark].evaluators)}
    by_run = {run.pk: run for run in runs}
    evaluations: dict[int, tuple[int, str]] = {}
    found = Evaluation.objects.current().filter(run__in=by_run, evaluator__name__in=order)
    for pk, run, name in found.values_list("pk", "run", "evaluator__name"):
        evaluations[pk] = run, name
    rows = list(
        Response.objects.filter(run__in=by_run, item__in=[item.pk for item in items], recovered=False)
        .order_by("run", "repeat", "ordinal")
        .values_list("run", "ordinal", "item", "repeat")
    )
    scores = ItemScore.objects.filter(evaluation__in=evaluations, ordinal__in={row[1] for row in rows})
    took: dict[tuple[int, int], list[Took]] = {}
    for pk, ordinal, outcome, prediction, rule, value in scores.values_list(
        "evaluation", "ordinal", "outcome", "prediction", "rule", "value"
    ):
        run, name = evaluations[pk]
        shown = format_value(value, "", 2) if value is not None else ""
        took.setdefault((run, ordinal), []).append(Took(name, outcome, taken(prediction), rule, shown))
    out: dict[tuple[int, int], list[Answer]] = {}
    for run_pk, ordinal, item, repeat in rows:
        mine = sorted(took.get((run_pk, ordinal), []), key=lambda one: order[one.evaluator])
        href = reverse("response", args=[by_run[run_pk].key, ordinal])
        out.setdefault((run_pk, item), []).append(Answer(by_run[run_pk], repeat, href, mine))
    return out


def item_page(item: Item, user: Person, page: str | None) -> dict[str, Any]:
    """The context of an item's page, for who may see items. `item` comes with its release and benchmark."""
    release, benchmark = item.release, item.release.benchmark
    spec = BENCHMARKS[benchmark.slug]
    runs = Paginator(live_runs(release, [item], user), PER_PAGE).get_page(page)
    found = answers(list(runs), [item], benchmark.slug)
    lines = [(run, found.get((run.pk, item.pk), [])) for run in runs]
    rows = [answer for _, mine in lines for answer in mine if answer.took]
    right = sum(answer.took[0].outcome == Outcome.RIGHT for answer in rows)
    return {
        "item": item,
        "spec": spec,
        "release": release,
        "title": f"{spec.name} {spec.item_word} {item.key}",
        "gold": as_text(item.gold)[:2000],
        "facets": item_facets(item, spec),
        "case_href": case_link(benchmark.slug, release.name, item),
        "runs": runs,
        "lines": lines,
        "right": right,
        "rows": len(rows),
        "query": f"&{urlencode({'release': release.name, 'item': item.key})}",
        "crumbs": [("Boards", reverse("home")), (f"{spec.name} {release.name}", ""), (item.key, "")],
    }


# --- a case -----------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A question of a case in one run's line."""

    sign: str
    outcome: str
    href: str
    breaks: bool


class Path(NamedTuple):
    """A run's way through a case in one repeat; `broke` is the first question that is not right, 0 for none."""

    run: Run
    repeat: int
    steps: list[Step]
    broke: int


class Figure(NamedTuple):
    """A figure or table of a case as the dataset has it; `href` where its picture lies beside the dataset."""

    what: str
    caption: str
    kind: str
    content: str
    href: str


class Question(NamedTuple):
    number: int
    item: Item
    href: str
    text: str
    options: list[tuple[str, str]]
    shown: list[Figure]


def case_items(release: Release, case: str) -> list[Item]:
    """The items of a case in the order of the fullest split that holds them."""
    found = list(Item.objects.filter(release=release, case=case))
    places: dict[int, tuple[int, int]] = {}
    rows = SplitItem.objects.filter(item__in=[item.pk for item in found])
    for item, position, size in rows.values_list("item", "position", "split__expected_items"):
        places[item] = max(places.get(item, (0, 0)), (size, -position))
    return sorted(found, key=lambda item: (-places.get(item.pk, (0, 0))[1], item.key))


def case_page(release: Release, case: str, user: Person, page: str | None) -> dict[str, Any] | None:
    """The context of a case's page, for who may see items; None where the release has no such case."""
    if not (items := case_items(release, case)):
        return None
    slug = release.benchmark.slug
    spec = BENCHMARKS[slug]
    text, why = None, ""
    if slug == "liveclin":
        try:
            text = read_case(release, case)
        except CannotRead as error:
            why = str(error)
    runs = Paginator(live_runs(release, items, user), PER_PAGE).get_page(page)
    paths = _paths(list(runs), items, slug)
    broke = [sum(path.broke == number for path in paths) for number in range(len(items) + 1)]
    return {
        "spec": spec,
        "release": release,
        "case": case,
        "title": f"{spec.name} {spec.unit} {case}",
        "questions": _questions(release, case, items, text),
        "scenario": as_text(text.policy.get("scenario")) if text else "",
        "headline": as_text(text.case.get("title")) if text else "",
        "shown": _figures(release, case, text, "scenario", text.policy) if text else [],
        "text_path": text.path if text else "",
        "why": why,
        "places": kept_places(release, case) if sees_everything(user) else [],
        "links": source_links(case, text.case if text else {}),
        "runs": runs,
        "paths": paths,
        "broke": [(number, count) for number, count in enumerate(broke[1:], 1)],
        "whole": broke[0],
        "signs": [(SIGNS[outcome], outcome_name(outcome)) for outcome in SIGNS],
        "query": f"&{urlencode({'release': release.name, 'case': case})}",
        "crumbs": [("Boards", reverse("home")), (f"{spec.name} {release.name}", ""), (case, "")],
    }


def _paths(runs: Sequence[Run], items: Sequence[Item], slug: str) -> list[Path]:
    found = answers(runs, items, slug)
    paths = []
    for run in runs:
        # of several rows of one question in one repeat the first one counts
        rows: dict[tuple[int, int], Answer] = {}
        for item in items:
            for answer in found.get((run.pk, item.pk), []):
                rows.setdefault((answer.repeat, item.pk), answer)
        for repeat in sorted({repeat for repeat, _ in rows}) or [min(run.repeats, default=1)]:
            outcomes = [
                (answer, answer.took[0].outcome if answer and answer.took else Outcome.MISSING)
                for answer in (rows.get((repeat, item.pk)) for item in items)
            ]
            broke = next((n for n, (_, outcome) in enumerate(outcomes, 1) if outcome != Outcome.RIGHT), 0)
            steps = [
                Step(SIGNS[Outcome(outcome)], outcome_name(outcome), answer.href if answer else "", number == broke)
                for number, (answer, outcome) in enumerate(outcomes, 1)
            ]
            paths.append(Path(run, repeat, steps, broke))
    return paths


def _questions(release: Release, case: str, items: Sequence[Item], text: CaseText | None) -> list[Question]:
    mcqs = text.policy.get("mcqs", []) if text else []
    out = []
    for number, item in enumerate(items, 1):
        mcq = mcqs[number - 1] if number <= len(mcqs) and isinstance(mcqs[number - 1], dict) else {}
        options = mcq.get("options")
        pairs = (
            [(as_text(letter), as_text(said)) for letter, said in options.items()] if isinstance(options, dict) else []
        )
        shown = _figures(release, case, text, str(number), mcq) if text else []
        href = item_address(release.benchmark.slug, release.name, item.key)
        out.append(Question(number, item, href, as_text(mcq.get("question")), pairs, shown))
    return out


def _details(part: dict[str, Any], place: str) -> list[tuple[str, dict[str, Any]]]:
    """("figure" or "table", its object) of a question or of the scenario, in a fixed order."""
    prefix = "scenario_" if place == "scenario" else ""
    found = []
    for what, name in (("figure", "image_details"), ("table", "table_details")):
        details = part.get(prefix + name)
        found += [(what, one) for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    return found


def _figures(release: Release, case: str, text: CaseText, place: str, part: dict[str, Any]) -> list[Figure]:
    out = []
    for number, (what, one) in enumerate(_details(part, place)):
        caption = " ".join(
            words for words in (as_text(one.get("caption_prefix")), as_text(one.get("caption"))) if words
        )
        query = {"release": release.name, "case": case, "place": place, "number": number}
        there = figure(text.folder, as_text(one.get("file"))) is not None
        href = f"{reverse('figure', args=[release.benchmark.slug])}?{urlencode(query)}" if there else ""
        out.append(
            Figure(
                what, caption or as_text(one.get("file")), as_text(one.get("type")), as_text(one.get("content")), href
            )
        )
    return out


def case_figure(release: Release, case: str, place: str, number: int) -> tuple[bytes, str] | None:
    """Bytes and type of a figure of a case, by where it is shown and its number there; None where there is none."""
    try:
        text = read_case(release, case)
        mcqs = text.policy.get("mcqs", [])
        part = text.policy if place == "scenario" else dict(enumerate(mcqs, 1))[int(place)]
        return figure(text.folder, as_text(_details(part, place)[number][1].get("file")))
    except (CannotRead, ValueError, LookupError, OSError, AttributeError):
        return None


def source_links(case: str, dataset: dict[str, Any]) -> list[tuple[str, str]]:
    """(text, address) of the article that a case was made from: PMC and DOI, where they are such."""
    links = []
    pmc = next(
        (name for name in (as_text(dataset.get("pmc")).strip(), case) if re.fullmatch(r"PMC[0-9]{1,12}", name)), ""
    )
    if pmc:
        links.append((pmc, f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/"))
    doi = next((name for name in (as_text(dataset.get("doi")).strip(), case) if re.match(r"10\.[0-9]{4,9}/", name)), "")
    if doi:
        links.append((f"doi:{doi}", f"https://doi.org/{quote(doi, safe='/')}"))
    return links
