"""The head-to-head page: which two are meant by an address, what is said of them, and which pairs are worth a link.

A side is a run's key, `<key>/<repeat>`, or an entry of a board, `<board>/<model>` or `<board>/<model>/<snapshot>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.models import Evaluation, Item, LanguageModel, Run
from leaderboard.boards import BoardView
from leaderboard.facetnames import full
from leaderboard.facets import in_order
from leaderboard.headtohead import BOTH, CELLS, FIRST, NEITHER, SECOND, Contender, HeadToHead, Part, Refused, compare
from leaderboard.itemsets import case_address, item_address, item_set, shows_items
from leaderboard.kept import VERSION
from leaderboard.models import Board
from leaderboard.runitems import Answered, answers_of
from leaderboard.scores import metric_name
from leaderboard.standings import Entry, Figure, entries_of, shown
from leaderboard.tables import Band, Cell, Column, Group, Row, Table, format_value
from leaderboard.words import INVENTED, small

if TYPE_CHECKING:
    from evaluation.querysets import Person, RunQuerySet

PER_PAGE = 50
LONG = 20
NAMES = {BOTH: "both", FIRST: "a", SECOND: "b", NEITHER: "neither"}


@dataclass(frozen=True)
class Side:
    """One side as it was asked for: what it is called, and where it is shown."""

    asked: str
    name: str
    about: str
    href: str
    runs: tuple[Run, ...]
    repeat: int = 0

    @property
    def run(self) -> Run:
        return self.runs[0]


def entry_side(board: str, model: str, snapshot: str = "") -> str:
    return "/".join((board, model, snapshot) if snapshot else (board, model))


def entry_choices(view: BoardView) -> list[tuple[str, str]]:
    """(side, name) of every recomputed entry of a board, for a form; none where there are not two."""
    place = next(number for number, column in enumerate(view.table.columns) if column.kind == "model")
    found = []
    for row in view.table.rows:
        model, _, snapshot = row.key.partition(" ")
        if row.group != "reported":
            name = f"{row.cells[place].text} {snapshot}".strip()
            found.append((entry_side(view.board.slug, model, snapshot), name))
    return found if len(found) > 1 else []


def compare_address(first: str, second: str, **more: str) -> str:
    return f"{reverse('compare')}?{urlencode({'a': first, 'b': second, **{k: v for k, v in more.items() if v}})}"


def find_sides(asked: Mapping[str, str], user: Person) -> dict[str, Side | None]:
    """What the sides of an address mean to a person; None where they may not see one or it does not exist.

    At most two queries, and one a board. A board of which they see nothing has no entry for them.
    """
    parts = {name: text.partition("/") for name, text in asked.items() if text and "\0" not in text}
    repeats = {name: rest or "0" for name, (_, _, rest) in parts.items() if _is_repeat(rest)}
    seen = Run.objects.visible_to(user).select_related("split__release__benchmark", "model")
    runs = {run.key: run for run in seen.filter(key__in={parts[name][0] for name in repeats})}
    found: dict[str, Side | None] = dict.fromkeys(asked)
    for name, repeat in repeats.items():
        if run := runs.get(parts[name][0]):
            found[name] = _run_side(asked[name], run, int(repeat))
    left = {name: (head, rest) for name, (head, _, rest) in parts.items() if head not in runs}
    models = {rest.partition("/")[0] for _, rest in left.values()}
    for board in Board.objects.with_benchmark().filter(slug__in={head for head, _ in left.values()}):
        entries = entries_of(board, user, models)
        for name, (head, rest) in left.items():
            if head == board.slug:
                found[name] = _entry_side(asked[name], board, rest, entries)
    return found


def _is_repeat(rest: str) -> bool:
    return not rest or (rest.isascii() and rest.isdecimal() and len(rest) < 6)


def _run_side(asked: str, run: Run, repeat: int) -> Side | None:
    if repeat and repeat not in run.repeats:
        return None
    several = len(run.repeats) > 1
    about = [run.split.release.name, run.split.name, run.mode]
    about += [f"repeat {repeat or run.repeats[0]}"] if run.repeats and (repeat or not several) else []
    about += [str(run.protocol.get("snapshot") or ""), "" if run.state == Run.State.LIVE else run.get_state_display()]
    # an only repeat has no vector of its own
    number = repeat if several else 0
    return Side(asked, run.model.name, _joined(about), run.get_absolute_url(), (run,), number)


def _entry_side(asked: str, board: Board, rest: str, entries: Iterable[Entry]) -> Side | None:
    model, _, snapshot = rest.partition("/")
    for entry in entries:
        if (entry.model.slug, entry.snapshot) == (model, snapshot):
            for run in entry.runs:
                run.split = board.split
            runs = len(entry.runs)
            about = [board.split.release.name, board.split.name, board.mode, snapshot]
            about += [f"mean of {runs} runs"] if runs > 1 else []
            return Side(asked, entry.model.name, _joined(about), board.get_absolute_url(), tuple(entry.runs))
    return None


def _joined(parts: list[str]) -> str:
    return " · ".join(part for part in parts if part)


# --- the page ---------------------------------------------------------------------------------------------------------


class Square(NamedTuple):
    """One of the four cells. `href` lists its items, empty for who may not see them."""

    name: str
    label: str
    number: int
    share: str
    href: str
    chosen: bool


def compare_page(user: Person, query: Mapping[str, str]) -> dict[str, Any]:
    """The context. `a`, `b` are the sides; `by` an evaluator, `metric`, `items=common`, `cell` and `page` choose further.

    `problem` says why nothing is compared; `missing` that a side is not there.
    """
    asked = {name: query.get(name, "") for name in ("a", "b")}
    sides = find_sides(asked, user)
    context: dict[str, Any] = {
        "asked": asked,
        "title": "Head to head",
        "crumbs": [("Boards", reverse("home")), ("Head to head", "")],
        "missing": [name for name in asked if asked[name] and sides[name] is None],
    }
    a, b = sides["a"], sides["b"]
    if a is None or b is None:
        return context
    spec = BENCHMARKS[a.run.split.release.benchmark.slug]
    by, common = query.get("by", ""), query.get("items") == "common"
    evaluator = next((one for one in spec.evaluators if one.name == by or not by), None)
    context |= {"a": a, "b": b, "spec": spec, "title": f"{a.name} against {b.name}", "common": common}
    context["invented"] = a.run.split.release.name == INVENTED
    if evaluator is None:
        return context | {"problem": f"{spec.name} has no evaluator of that name."}
    figures = _metrics(spec, evaluator.headline)
    figure = next((one for one in figures if one.metric == query.get("metric", "")), figures[0])
    here = _here(a, b, by, figure.metric if figure is not figures[0] else "", common)
    context |= {
        "evaluator": evaluator.name,
        "swap": compare_address(b.asked, a.asked, **_only(here, "by", "metric", "items")),
        "metrics": [(one.label, f"?{_query(here, metric=one.metric)}", one is figure) for one in figures],
        "evaluators": [(one.name, f"?{_query(here, by=one.name)}", one is evaluator) for one in spec.evaluators],
    }
    try:
        first, second = _contenders(a, b, evaluator.name)
        what = shown(spec, evaluator.headline)
        of_cases = what.of_cases and figure is figures[0]
        # where the rule leaves out what is missing, a side that lacks an item has no value for it
        left_out = what.by_item.get(figure.metric, 0.0) is None
        found = compare(first, second, figure.metric, of_cases=of_cases, common=common or left_out)
    except Refused as refused:
        context["problem"] = str(refused)
        context["offer"] = f"?{_query(here, items='common')}" if refused.common else ""
        context["rules"] = _same_run(a, b, spec)
        return context
    unit = spec.unit if of_cases else spec.item_word
    visible = shows_items(a.run.split.release.benchmark, user)
    context |= _in_words(found, figure, unit, spec)
    context |= {
        "found": found,
        "figure": figure,
        "unit": unit,
        "squares": _squares(found, a, b, here, query.get("cell", ""), visible),
        # made only where the page has not kept them
        "tables": partial(_tables, found, figure, a, b, unit, spec),
        "tables_state": (found.key, a.name, b.name, figure.label, VERSION),
        "visible": visible,
        "left_out": left_out and found.whole.n < len(item_set(a.run.split)),
        "offer": f"?{_query(here, items='common')}" if any(found.missing) and not common else "",
        "whole_set": f"?{_query(here, items='')}" if common and a.run.split_id == b.run.split_id else "",
    }
    if visible and query.get("cell") in NAMES.values():
        context |= _listed(found, first, second, query, here, of_cases)
    return context


def _metrics(spec: BenchmarkSpec, headline: str) -> list[Figure]:
    """The headline first, then what else the board shows that is a plain share over all items."""
    what = shown(spec, headline)
    own = [one for one in what.figures if one.metric == headline][:1] or [Figure(headline, metric_name(headline))]
    plain = [one for one in what.figures if one.metric in what.by_item and one.metric != headline]
    return own + [one for one in plain if (one.variant, one.dimension, one.unit) == ("", "overall", "%")]


def _contenders(a: Side, b: Side, evaluator: str) -> tuple[Contender, Contender]:
    """Both sides with their current evaluations by one evaluator; one query."""
    rows = Evaluation.objects.current().filter(run__in=[*a.runs, *b.runs], evaluator__name=evaluator)
    by_run = {evaluation.run_id: evaluation for evaluation in rows.select_related("evaluator")}
    for side in (a, b):
        for run in side.runs:
            if run.pk in by_run:
                by_run[run.pk].run = run
    one, two = (
        Contender(side.runs, tuple(by_run[run.pk] for run in side.runs if run.pk in by_run), side.repeat)
        for side in (a, b)
    )
    return one, two


def _same_run(a: Side, b: Side, spec: BenchmarkSpec) -> str:
    """Where two evaluators of one run are set side by side."""
    same = a.runs == b.runs and len(a.runs) == 1 and len(spec.evaluators) > 1
    return reverse("run-evaluators", args=[a.run.key]) if same else ""


def _here(a: Side, b: Side, by: str, metric: str, common: bool) -> dict[str, str]:
    return {"a": a.asked, "b": b.asked, "by": by, "metric": metric, "items": "common" if common else ""}


def _only(here: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: here[name] for name in names}


def _query(here: Mapping[str, str], **more: str) -> str:
    return urlencode({name: value for name, value in {**here, **more}.items() if value})


def _points(value: float | None) -> str:
    text = format_value(value, "pp", None)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def _in_words(found: HeadToHead, figure: Figure, unit: str, spec: BenchmarkSpec) -> dict[str, Any]:
    whole, (more, fewer) = found.whole, found.higher
    apart = whole.low is not None and whole.high is not None and (whole.low > 0 or whole.high < 0)
    p = "p < 0.0001" if found.p < 0.0001 else f"p = {format_value(found.p, '', 4)}"
    return {
        "values": [
            f"{format_value(value, figure.unit, figure.precision)} {figure.unit}"
            for value in (whole.first, whole.second)
        ],
        "difference": _points(whole.difference),
        "interval": f"{_points(whole.low)} to {_points(whole.high)}",
        "apart": apart,
        "leads": None if not apart else ("a" if (whole.low or 0) > 0 else "b"),
        "p": p,
        "test": "exact sign test" if found.graded else "exact McNemar test",
        "higher": (f"{more:,}", f"{fewer:,}"),
        "caution": found.clustered,
        "cluster_word": spec.unit,
        "n": f"{whole.n:,}",
        "headword": small(figure.label),
        "unit_plural": f"{unit}s",
    }


def _squares(found: HeadToHead, a: Side, b: Side, here: Mapping[str, str], chosen: str, visible: bool) -> list[Square]:
    labels = {BOTH: "Both right", FIRST: f"Only {a.name}", SECOND: f"Only {b.name}", NEITHER: "Neither"}
    if a.name == b.name:
        labels |= {FIRST: "Only A", SECOND: "Only B"}
    out = []
    for cell in CELLS:
        count = getattr(found.whole.counts, cell)
        href = f"?{_query(here, cell=NAMES[cell])}#items" if visible and count else ""
        share = f"{format_value(count / found.whole.n, '%')} %"
        out.append(Square(NAMES[cell], labels[cell], count, share, href, NAMES[cell] == chosen))
    return out


def _tables(
    found: HeadToHead, figure: Figure, a: Side, b: Side, unit: str, spec: BenchmarkSpec
) -> list[tuple[Table, bool]]:
    """A table a dimension in the benchmark's order, and whether it is long."""
    order = [*spec.dimensions, *found.parts]
    names = ("A", "B") if a.name == b.name else (a.name, b.name)
    made = []
    for dimension in sorted(found.parts, key=order.index):
        label = spec.dimensions.get(dimension, dimension.replace("_", " ").capitalize())
        parts = found.parts[dimension]
        columns = (
            Column("facet", label, "text"),
            Column("n", f"{unit}s".capitalize(), "count"),
            *(
                Column(key, name, "count", unit=figure.unit)
                for key, name in zip(("first", "second"), names, strict=True)
            ),
            Column("difference", f"{names[0]} minus {names[1]}", "count", unit="pp"),
            Column("interval", "95 % interval", "interval", unit="pp"),
            Column("only", "Only A, only B", "count", help="Right by one alone."),
        )
        rows = tuple(
            _row(facet, full(spec, dimension, facet), parts[facet], figure, columns) for facet in in_order(parts)
        )
        notes, bands = (_adds_up(parts, found, unit),), (Band("no difference", 0.0, 0.0),)
        table = Table(dimension, f"By {small(label)}", "", columns, rows, (Group("all", ""),), bands=bands, notes=notes)
        made.append((table, len(rows) > LONG))
    return made


def _row(facet: str, name: str, part: Part, figure: Figure, columns: tuple[Column, ...]) -> Row:
    cells = [Cell(name, value=facet), Cell(f"{part.n:,}", value=part.n)]
    if not part.n:
        return Row(facet or "(empty)", (*cells, *[Cell("–", note="no unit of it is compared")] * 5), "all")
    values = (part.first, part.second)
    cells += [Cell(format_value(value, figure.unit, figure.precision), value=value) for value in values]
    bounds = "" if part.low is None else f"{_points(part.low)} to {_points(part.high)}"
    cells.append(Cell(_points(part.difference), value=part.difference, sub=bounds))
    cells.append(columns[5].cell(part.difference, part.low, part.high))
    cells.append(Cell(f"{part.counts.only_first:,}, {part.counts.only_second:,}"))
    return Row(facet or "(empty)", tuple(cells), "all")


def _adds_up(parts: Mapping[str, Part], found: HeadToHead, unit: str) -> str:
    rows = sum(part.n for part in parts.values())
    if rows == found.whole.n:
        return f"The rows add up to all {rows:,}."
    return (
        f"A {unit} may stand in several rows or in none: the rows together count {rows:,}, the whole {found.whole.n:,}."
    )


class Listed(NamedTuple):
    """An item of a cell (or the first of a case) with what each side gave; `rows` of the first and of the second."""

    name: str
    href: str
    first: list[Answered]
    second: list[Answered]


def _listed(
    found: HeadToHead,
    first: Contender,
    second: Contender,
    query: Mapping[str, str],
    here: Mapping[str, str],
    of_cases: bool,
) -> dict[str, Any]:
    """The items of the chosen cell, a page of them."""
    cell = next(place for place, one in enumerate(CELLS) if NAMES[one] == query["cell"])
    split = first.runs[0].split
    items = item_set(split)
    places = found.units[found.cell == cell]
    page = Paginator(places.tolist(), PER_PAGE).get_page(query.get("page"))
    ids = items.ids[list(page)].tolist()
    by_id = Item.objects.in_bulk(ids)
    slug, release = split.release.benchmark.slug, split.release.name
    sides: list[dict[int, list[Answered]]] = [{}, {}]
    if not of_cases:
        for side, rows in zip((first, second), sides, strict=True):
            for evaluation in side.evaluations:
                for pk, answers in answers_of(evaluation, ids, side.repeat).items():
                    rows.setdefault(pk, []).extend(answers)
    listed = []
    for pk in ids:
        item = by_id[pk]
        if of_cases:
            listed.append(Listed(item.case, case_address(slug, release, item.case), [], []))
        else:
            listed.append(
                Listed(item.key, item_address(slug, release, item.key), sides[0].get(pk, []), sides[1].get(pk, []))
            )
    return {"page": page, "listed": listed, "of_cases": of_cases, "query": f"&{_query(here, cell=query['cell'])}"}


# --- pairs that are worth a link --------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """A comparison that suggests itself."""

    label: str
    href: str


def near_runs(run: Run, user: Person) -> list[Run]:
    """The other runs on the run's split of its model and of the predecessor: by mode, the newest answers first; one query."""
    models = {run.model_id, run.model.predecessor_id} - {None}
    near = Run.objects.visible_to(user).filter(split=run.split, model__in=models).exclude(pk=run.pk)
    return list(near.select_related("model").order_by("mode", "-answered_at", "-loaded_at"))


def pairs_of(run: Run, user: Person, near: Sequence[Run] | None = None) -> list[Pair]:
    """Other modes of the same model, its predecessor, other runs and repeats, on the run's split; `near` as `near_runs` gives."""
    pairs = []
    found = near_runs(run, user) if near is None else near
    for other in found:
        live = other.state == Run.State.LIVE
        if other.model_id == run.model_id and other.mode != run.mode and live:
            pairs.append(Pair(f"{run.mode} against {other.mode}", compare_address(run.key, other.key)))
        elif other.model_id != run.model_id and other.mode == run.mode and live:
            label = f"Is newer better? Against its predecessor {other.model.name}"
            pairs.append(Pair(label, compare_address(run.key, other.key)))
        elif other.model_id == run.model_id and other.mode == run.mode:
            what = f"repeat {', '.join(map(str, other.repeats))}" if live else other.get_state_display()
            pairs.append(Pair(f"against another run ({what})", compare_address(run.key, other.key)))
    if len(run.repeats) > 1:
        one, two = sorted(run.repeats)[:2]
        label = f"repeat {one} against repeat {two}"
        pairs.append(Pair(label, compare_address(f"{run.key}/{one}", f"{run.key}/{two}")))
    seen: dict[str, Pair] = {}
    for pair in pairs:  # of several runs that are worth the same words the newest
        seen.setdefault(pair.label, pair)
    return list(seen.values())


def family_runs(models: Iterable[int], user: Person) -> RunQuerySet:
    """The runs of these models that `user` may see: by benchmark, split and mode, the newest answers first."""
    runs = Run.objects.visible_to(user).filter(model__in=models).select_related("model", "split__release__benchmark")
    return runs.order_by("split__release__benchmark__order", "split", "mode", "-answered_at", "-loaded_at")


def pairs_of_model(model: LanguageModel, user: Person, runs: Sequence[Run] | None = None) -> list[Pair]:
    """On each board the model against its predecessor and successors, and one mode against the other.

    Of several live runs of one model and key the one with the newest answers stands for it. `runs`, where they are at hand,
    are the visible live runs of all of these, in the order of `family_runs`; else two queries.
    """
    if runs is None:
        others = [model.pk, *model.successors.values_list("pk", flat=True)]
        others += [model.predecessor_id] if model.predecessor_id else []
        runs = list(family_runs(others, user).live())
    newest: dict[tuple[int, str, int], Run] = {}
    for run in runs:
        newest.setdefault((run.split_id, run.mode, run.model_id), run)
    pairs = []
    for (split, mode, owner), run in newest.items():
        if owner != model.pk:
            continue
        release = run.split.release
        where = f"{release.benchmark} {release.name} {run.split.name}"
        for (other_split, other_mode, other_owner), other in newest.items():
            if other_split != split or other is run:
                continue
            if other_owner == owner and mode < other_mode:
                pairs.append(Pair(f"{mode} against {other_mode}: {where}", compare_address(run.key, other.key)))
            elif other_owner == model.predecessor_id and other_mode == mode:
                words = f"Is newer better? Against its predecessor {other.model.name}: {where}, {mode}"
                pairs.append(Pair(words, compare_address(run.key, other.key)))
            elif other_owner not in (owner, model.predecessor_id) and other_mode == mode:
                words = f"Its successor {other.model.name} against it: {where}, {mode}"
                pairs.append(Pair(words, compare_address(other.key, run.key)))
    return pairs
