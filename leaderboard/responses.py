"""The page of one answer: read from its place and checked, with what each evaluator took of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.models import Item, ItemScore, Response, Run
from evaluation.protocols import mcq
from evaluation.protocols.liveclin import LETTERS, official_letter
from ingest.drilldown import CannotRead, Found, read_response
from ingest.load import prediction_text
from leaderboard.evaluators import current_evaluations
from leaderboard.facetnames import full
from leaderboard.itemsets import case_link, item_address
from leaderboard.messages import PER_PAGE, Message, message_texts, message_views
from leaderboard.runitems import outcome_name, taken
from leaderboard.runs import file_views, public_text, sees_places
from leaderboard.tables import format_value
from leaderboard.texts import Mark, Text, as_text, text_piece

if TYPE_CHECKING:
    from evaluation.querysets import Person

MOST_TWINS = 20
# Evaluators that tell where in a text they took the answer: text -> (answer, rule, span).
SPANS: dict[str, Callable[[str], Any]] = {
    "liveclin-official-2026-02": official_letter,
    "clinboard-mcq-1": lambda text: mcq.extract(text, LETTERS),
}


@dataclass(frozen=True)
class Trace:
    """What one evaluator made of the answer. `again` says whether the same is taken from the file now."""

    evaluator: str
    outcome: str
    prediction: str
    rule: str
    value: str
    span: str
    again: str


@dataclass
class Content:
    """What is shown of a row: `texts` by key with label and text, `quiet` those that are folded."""

    texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    quiet: set[str] = field(default_factory=set)
    answer: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)

    def add(self, key: str, label: str, value: Any, *, quiet: bool = False) -> None:
        if text := as_text(value):
            self.texts[key] = label, text
            self.quiet |= {key} if quiet else set()


def content_of(slug: str, found: Found) -> Content:
    """The parts of a row that a reader asks for, by the benchmark's own field names."""
    row, content = found.row, Content()
    if slug == "liveclin":
        content.add("answer", "The model’s answer", row.get("model_response"))
        content.add("error", "What the harness said of the call", row.get("error"))
        content.facts = [
            (label, as_text(row.get(name))[:100])
            for name, label in (
                ("extracted_answer", "Letter in the file"),
                ("correct_answer", "Right letter in the file"),
            )
        ]
    elif slug == "llmeval-med":
        for earlier in found.before:
            number = as_text(earlier.get("round"))[:20]
            content.add(f"q{number}", f"Round {number}: the question", earlier.get("problem"), quiet=True)
            content.add(f"a{number}", f"Round {number}: the model’s answer", earlier.get("model_answer"), quiet=True)
        content.add("problem", "The question", row.get("problem"))
        content.add("answer", "The model’s answer", row.get("model_answer"))
        content.add("checklist", "Checklist of the judge", _told(row.get("checklist")))
    else:
        content.add("question", "The question as it was asked", row.get("question"), quiet=True)
        content.add("error", "What the harness said of the call", row.get("error"))
        content.facts = [
            (label, as_text(row.get(name))[:100])
            for name, label in (("status", "Status in the file"), ("stop_reason", "Why it stopped"))
        ]
        messages = row.get("messages")
        content.messages = messages if isinstance(messages, list) else []
    content.answer = "answer" if "answer" in content.texts else ""
    return content


def _told(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _marks(content: Content, evaluators: list[str]) -> tuple[list[Mark], dict[str, str]]:
    """The spans that evaluators took of the answer, and what stands there."""
    marks, spans = [], {}
    if content.answer:
        text = content.texts[content.answer][1]
        for name in evaluators:
            if name in SPANS and (span := SPANS[name](text)[2]):
                marks.append(Mark(span[0], span[1], name))
                spans[name] = text[span[0] : span[1]]
    return marks, spans


def _traces(
    run: Run, response: Response, spec: BenchmarkSpec, found: Found | None, spans: Mapping[str, str]
) -> list[Trace]:
    evaluations = current_evaluations(run)
    rows = ItemScore.objects.filter(evaluation__in=evaluations, ordinal=response.ordinal)
    scores = {score.evaluation_id: score for score in rows}
    by_name = {evaluator.name: evaluator for evaluator in spec.evaluators}
    traces = []
    for evaluation in evaluations:
        if (score := scores.get(evaluation.pk)) is None:
            continue
        name = evaluation.evaluator.name
        rules, again = by_name.get(name), ""
        if found and rules and rules.fingerprint == evaluation.evaluator.fingerprint:
            now, rule = rules.taken(found.answer)
            again = "same" if (prediction_text(now), rule) == (score.prediction, score.rule) else "differs"
        value = format_value(score.value, "", 2) if score.value is not None else ""
        what = taken(score.prediction)
        traces.append(Trace(name, outcome_name(score.outcome), what, score.rule, value, spans.get(name, ""), again))
    return traces


@dataclass(frozen=True)
class Judged:
    """What the judge said in one judging run, or why that cannot be shown."""

    repeat: int
    score: str
    text: Text | None
    why: str


def _judgements(response: Response, found: Found) -> list[tuple[int, str, str, str]]:
    """(judging run, score as written, text, why there is none) of every row of the item in the run."""
    rows = (
        Response.objects.filter(run=response.run, item=response.item)
        .select_related("file")
        .order_by("repeat", "ordinal")
    )
    told = []
    for other in rows[:MOST_TWINS]:
        other.run, other.item = response.run, response.item
        try:
            row = found.row if other.ordinal == response.ordinal else read_response(other).row
        except CannotRead as error:
            told.append((other.repeat, "", "", str(error)))
            continue
        score = row.get("model_answer_score")
        told.append((other.repeat, as_text(score)[:40] or "none", as_text(row.get("model_answer_judgement")), ""))
    return told


def find_response(run: Run, ordinal: int) -> Response | None:
    found = Response.objects.filter(run=run, ordinal=ordinal).select_related("file", "item").first()
    if found:
        found.run = run
    return found


def response_page(run: Run, response: Response, user: Person, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the page, for who may see items. `text` and `from` choose a piece of one text, `messages` a page."""
    spec, every = BENCHMARKS[run.split.release.benchmark.slug], sees_places(run, user)
    found, why = None, ""
    try:
        found = read_response(response)
    except CannotRead as error:
        why = str(error)
    content = content_of(spec.slug, found) if found else Content()
    marks, spans = _marks(content, [evaluator.name for evaluator in spec.evaluators])
    judged = _judgements(response, found) if found and spec.slug == "llmeval-med" and response.item else []
    for number, (_, _, text, _) in enumerate(judged):
        content.add(f"j{number}", "The judge’s text", text)
    # what a harness writes around an answer holds paths and addresses of the lab
    only_error = spec.slug in ("liveclin", "llmeval-med")

    def cleaned(key: str, text: str) -> str:
        return text if every or (only_error and key != "error") else public_text(text)

    size = {"judged": len(judged), "messages": len(content.messages)}

    wanted, start = query.get("text", ""), _number(query.get("from"))
    first = min(_number(query.get("messages")), max(size["messages"] - 1, 0)) // PER_PAGE * PER_PAGE
    alone = _alone(content, wanted, cleaned, start, marks)
    texts = {
        key: text_piece(key, label, cleaned(key, text), marks=marks if key == content.answer else ())
        for key, (label, text) in content.texts.items()
        if not alone
    }
    messages: list[Message] = message_views(content.messages, first, cleaned) if not alone else []
    item: Item | None = response.item
    release, place = run.split.release, next(view for view in file_views(run, user) if view.file.pk == response.file_id)
    name = item.key if item else response.item_key
    return {
        "run": run,
        "spec": spec,
        "title": f"{run.model.name} on {name}",
        "response": response,
        "item": item,
        "item_name": name,
        "item_href": item_address(spec.slug, release.name, item.key) if item else "",
        "case_href": case_link(spec.slug, release.name, item) if item else "",
        "gold": as_text(item.gold)[:2000] if item else "",
        "facets": item_facets(item, spec) if item else [],
        "place": place,
        "found": found,
        "why": why,
        "facts": [fact for fact in content.facts if fact[1]],
        "traces": _traces(run, response, spec, found, spans),
        "alone": alone,
        "texts": [(text, key in content.quiet) for key, text in texts.items() if key[:1] != "j"],
        "judged": [
            Judged(repeat, score, texts.get(f"j{number}"), reason)
            for number, (repeat, score, _, reason) in enumerate(judged)
        ]
        if not alone
        else [],
        "said": messages,  # `messages` is the frame's
        "n_messages": size["messages"],
        "message_pages": list(range(0, size["messages"], PER_PAGE)) if size["messages"] > PER_PAGE else [],
        "first_message": first,
        "cleaned": not every and not only_error,
        "twins": _twins(response),
        "near": _near(response),
        "crumbs": [
            ("Boards", reverse("home")),
            (f"Run {run.key}", run.get_absolute_url()),
            (f"{spec.item_word}s".capitalize(), reverse("run-answers", args=[run.key])),
            (name, ""),
        ],
    }


def _alone(
    content: Content, wanted: str, cleaned: Callable[[str, str], str], start: int, marks: list[Mark]
) -> Text | None:
    """The one text that the address asks for."""
    if not wanted:
        return None
    texts = content.texts
    if wanted not in texts and wanted[:1] == "m":
        digits = "".join(sign for sign in wanted[1:].split("t")[0] if sign in "0123456789")
        number = int(digits) if 0 < len(digits) < 9 else -1
        if 0 <= number < len(content.messages):
            texts, _ = message_texts(number, content.messages[number])
    if wanted not in texts:
        return None
    label, text = texts[wanted]
    return text_piece(wanted, label, cleaned(wanted, text), start, marks=marks if wanted == content.answer else ())


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 12 else 0


def item_facets(item: Item, spec: BenchmarkSpec) -> list[tuple[str, str]]:
    """(dimension in words, its facets) in the benchmark's order."""
    found: dict[str, list[str]] = {}
    for dimension, facet in item.facets.order_by("pk").values_list("dimension", "name"):
        found.setdefault(dimension, []).append(full(spec, dimension, facet))
    order = [*spec.dimensions, *found]
    return [
        (spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize()), ", ".join(found[dimension]))
        for dimension in sorted(found, key=order.index)
    ]


def _twins(response: Response) -> list[tuple[int, str]]:
    """(repeat, address) of the other rows of the item in the run."""
    if response.item_id is None:
        return []
    rows = Response.objects.filter(run=response.run_id, item=response.item_id).exclude(ordinal=response.ordinal)
    numbers = rows.order_by("repeat", "ordinal").values_list("repeat", "ordinal")[:MOST_TWINS]
    return [(repeat, reverse("response", args=[response.run.key, ordinal])) for repeat, ordinal in numbers]


def _near(response: Response) -> list[tuple[str, str]]:
    """The row before and the row after, in the order of reading."""
    rows = Response.objects.filter(run=response.run_id, ordinal__in=(response.ordinal - 1, response.ordinal + 1))
    return [
        ("earlier" if ordinal < response.ordinal else "later", reverse("response", args=[response.run.key, ordinal]))
        for ordinal in rows.order_by("ordinal").values_list("ordinal", flat=True)
    ]
