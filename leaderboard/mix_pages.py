"""The board over a person's own mix of cases: standardised figures, and the models that may be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from evaluation import statistics
from evaluation.benchmarks import BenchmarkSpec
from leaderboard.breakdowns import FEW, Breakdown, dimension_label, figure_cell, model_cell, units
from leaderboard.exports import EXPORTS
from leaderboard.facetnames import full, short
from leaderboard.mix import HEADER, OTHER, Margins, Mix, dimensions_for, field_name, from_address
from leaderboard.standings import Entry, Standing
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value
from leaderboard.words import INVENTED, board_subtitle, in_words, small

MARGIN = 5.0  # points
# metrics that count right answers: only of them "36 of 100" is said
COUNTS = frozenset({"case_accuracy", "question_accuracy", "exact_match", "len1_accuracy", "usability_rate"})
GROUPS = {
    "chosen": "may be chosen",
    "open": "undecided",
    "worse": "worse",
    "partial": "not ranked",
}


@dataclass(frozen=True)
class MixBoard:
    """`table` None where nothing could be computed: then `errors` says why."""

    mix: Mix
    margin: float
    table: Table | None
    sentence: str
    errors: list[str]
    effective: float


def margin_of(given: Mapping[str, str]) -> tuple[float, list[str]]:
    """The margin in points, above 0 and at most 100; without one 5."""
    text = given.get("margin", "").strip().replace(",", ".")
    try:
        margin = float(text) if text else MARGIN
    except ValueError:
        margin = 0.0
    return (
        (margin, [])
        if 0 < margin <= 100
        else (MARGIN, [f"The margin {text[:20]!r} is no number of points from 0 to 100."])
    )


def natural(value: float, low: float, high: float, word: str) -> str:
    """`36 of 100 cases, 33 to 38`: whole numbers, rounded."""
    return f"{100 * value:.0f} of 100 {word}, {100 * low:.0f} to {100 * high:.0f}"


def mix_board(standing: Standing, margins: Margins, mix: Mix, margin: float, errors: list[str]) -> MixBoard:
    """The entries over the mix. Missing counts 0, as in the board's headline; several runs of an entry are averaged.

    Ranked entries are put into three groups by their paired difference to the best of them and its 95 % interval: not worse by
    more than the margin (the interval lies above it), worse by more (below it), or undecided. Entries without a rank on the
    board are compared with none.
    """
    errors = [*errors, *mix.errors]
    if errors or not mix.is_given:
        return MixBoard(mix, margin, None, "", errors, 0.0)
    found = Breakdown(standing, "", standing.headline.metric, {})
    entries = found.comparable()
    values = found.values(entries) if entries else None
    if values is None:
        return MixBoard(mix, margin, None, "", ["The values of single items are not stored for this board."], 0.0)
    counted = units(found)
    try:
        weights = statistics.mix_weights(_codes(margins, mix, len(counted)), len(counted))
    except ValueError as error:
        words = f"This mix cannot be made from the board's {found.word}: {error}."
        return MixBoard(mix, margin, None, "", [words], 0.0)
    matrix, sizes = statistics.cluster_sums(values[:, counted], found.clusters[0][counted], weights)
    seed = standing.board.split.fingerprint
    means = matrix.sum(axis=1) / sizes.sum()
    bounds = statistics.weighted_intervals(matrix, sizes, seed=seed)
    ranked = [number for number, entry in enumerate(entries) if not entry.why_unranked]
    places = statistics.rank_intervals(
        [None if entry.why_unranked else float(mean) for entry, mean in zip(entries, means, strict=True)],
        matrix, sizes, seed=seed,
    )  # fmt: skip
    behind: dict[int, tuple[float, float, float]] = {}
    if ranked:
        best = max(ranked, key=lambda number: means[number])
        gaps = statistics.differences_to(matrix[ranked], sizes, ranked.index(best), seed=seed)
        behind = {number: (float(d), float(a), float(b)) for number, d, a, b in zip(ranked, *gaps, strict=True)}
    group = {
        number: "chosen" if low > -margin / 100 or number == best else "worse" if high < -margin / 100 else "open"
        for number, (_, low, high) in behind.items()
    }
    table = _table(standing, found, entries, means, bounds, places, behind, group, margin)
    first = [entries[number].model.name for number in ranked if means[number] == means[best]] if ranked else []
    return MixBoard(
        mix,
        margin,
        table,
        _sentence(first, [entries[n].model.name for n in ranked if group[n] == "chosen"], len(ranked), margin),
        [],
        statistics.effective(sizes),
    )


def _codes(margins: Margins, mix: Mix, count: int) -> list[tuple[np.ndarray, list[float]]]:
    out = []
    for dimension in mix.numbers:
        codes, shares = np.full(count, -1), mix.shares(dimension)
        for number, (_, places) in enumerate(margins[dimension].items()):
            codes[places] = number
        out.append((codes, [shares.get(facet, 0.0) for facet in margins[dimension]]))
    return out


def _sentence(first: list[str], chosen: list[str], ranked: int, margin: float) -> str:
    if not first:
        return "Nobody is ranked on this board, so there is no best to compare with."
    leads = f"{', '.join(first)} {'is' if len(first) == 1 else 'are'} first over your mix."
    return (
        f"{leads} {in_words(len(chosen), True)} of {in_words(ranked)} {'is' if len(chosen) == 1 else 'are'} not worse than the "
        f"best by more than {margin:g} points (95 %): {', '.join(chosen)}."
    )


def _table(
    standing: Standing, found: Breakdown, entries: list[Entry], means: np.ndarray, bounds: list[tuple[float, float]],
    places: list[statistics.RankInterval | None], behind: dict[int, tuple[float, float, float]], group: dict[int, str],
    margin: float,
) -> Table:  # fmt: skip
    figure = standing.headline
    score = found.column
    own = Column("own", "On the board", "score", unit=score.unit, precision=score.precision, metric=score.metric)
    gap = Column("behind", "To the best", "score", unit="pp" if score.unit == "%" else score.unit, metric=score.metric)
    whiskers = Column("interval", "95 % interval", "interval", unit=score.unit)
    says = figure.metric in COUNTS
    columns = [
        Column("rank", "Rank", "rank", help="Over your mix; below it the ranks that are not ruled out at 95 %."),
        Column("model", "Model", "model"),
        *([Column("natural", "Expect", "text", help="The figure and its interval as whole numbers.")] if says else []),
        score,
        whiskers,
        gap,
        own,
    ]
    order = sorted(
        range(len(entries)), key=lambda n: (list(GROUPS).index(group.get(n, "partial")), -means[n], entries[n].key)
    )
    rows = []
    for number in order:
        entry, place, (low, high) = entries[number], places[number], bounds[number]
        value = float(means[number])
        cells = [
            Cell(
                str(place.rank), value=place.rank, rank=place.rank,
                sub=f"{place.low}–{place.high}" if place.low < place.high else "",
            ) if place else Cell("–", note="not ranked"),
            model_cell(entry),
            *([Cell(natural(value, low, high, found.word))] if says else []),
            score.cell(value, min(low, value), max(high, value)),
            whiskers.cell(value, min(low, value), max(high, value)),
            Cell("the best", value=0.0) if number in behind and behind[number] == (0, 0, 0) and group[number] == "chosen"
            else gap.cell(*behind[number]) if number in behind else Cell("–", note="compared with none"),
            figure_cell(own, entry.figures.get(figure), sub=""),
        ]  # fmt: skip
        rows.append(Row(entry.key, tuple(cells), group.get(number, "partial")))
    points = f"{margin:g} points"
    return Table(
        "mix",
        f"{standing.spec.name}: your case mix",
        "",
        tuple(columns),
        tuple(rows),
        (
            Group(
                "chosen", f"Not worse than the best by more than {points}", "95 % interval of the difference above it."
            ),
            Group("open", "Undecided", f"The interval of the difference holds −{points}."),
            Group("worse", f"Worse than the best by more than {points}", "95 % interval of the difference below it."),
            Group("partial", "Not ranked", "What is missing counts 0; compared with none."),
        ),
        notes=(
            f"Direct standardisation: each {found.word[:-1]} is weighted so that the weighted {found.word} have your shares; "
            f"several dimensions are met together (iterative proportional fitting). What is missing counts 0.",
            f"Intervals and differences: whole {standing.spec.unit}s are resampled 10,000 times with these weights, both models "
            "on the same ones. The best is the best observed; no correction for the number of models.",
        ),
        facts=(
            ("Release", standing.board.split.release.name),
            ("Split", standing.board.split.name),
            ("Mode", standing.board.mode),
            ("Metric", f"{score.label}: {score.help}"),
            ("Evaluator", score.evaluator),
        ),
    )


# --- the page ---------------------------------------------------------------------------------------------------------


def mix_address(standing: Standing, margins: Margins, mix: Mix, margin: float) -> str:
    """The page of a mix: the shares stand in the address."""
    fields = [
        (field_name(dimension, facet), f"{number:g}")
        for dimension in margins
        for facet, number in (*mix.numbers.get(dimension, {}).items(), (OTHER, mix.other.get(dimension, 0)))
        if number
    ]
    if margin != MARGIN:
        fields.append(("margin", f"{margin:g}"))
    return reverse("board-mix", args=[standing.board.slug]) + (f"?{urlencode(fields)}" if fields else "")


def mix_of(standing: Standing, given: Mapping[str, str]) -> tuple[Margins, MixBoard]:
    margins = dimensions_for(standing)
    margin, errors = margin_of(given)
    mix = from_address(given, margins)
    if "margin" in given and not (mix.is_given or mix.errors):
        errors = [*errors, "No share is given: at least one field needs a number above 0."]
    return margins, mix_board(standing, margins, mix, margin, errors)


def asked_for(standing: Standing, margins: Margins, mix: Mix, given: Mapping[str, str]) -> list[str]:
    """The dimensions whose fields the form shows: those given, those asked for, else those that the benchmark names."""
    wanted = [d for d in margins if d in mix.numbers or d in mix.other or d in given.get("by", "").split(",")]
    named = [d for d in standing.spec.mix if d in margins]
    return wanted or named or list(margins)[:1]


def mix_page(
    standing: Standing, margins: Margins, made: MixBoard, given: Mapping[str, str], text: str = ""
) -> dict[str, Any]:
    mix, board, spec = made.mix, standing.board, standing.spec
    found = Breakdown(standing, "", standing.headline.metric, {})
    total = len(units(found))
    by = asked_for(standing, margins, mix, given)
    path = reverse("board-mix", args=[board.slug])
    address = mix_address(standing, margins, mix, made.margin)
    parts = []
    for dimension in by:
        lines = [
            (
                field_name(dimension, facet),
                full(spec, dimension, facet),
                given.get(field_name(dimension, facet)) or _number(mix.numbers.get(dimension, {}).get(facet)),
                len(places),
                f"{len(places) / total:.1%}",
            )
            for facet, places in margins[dimension].items()
        ]
        other = given.get(field_name(dimension, OTHER)) or _number(mix.other.get(dimension))
        parts.append((dimension_label(spec, dimension), lines, field_name(dimension, OTHER), other))
    others = [
        (dimension_label(spec, dimension), f"{path}?{urlencode({'by': ','.join([*by, dimension])})}")
        for dimension in margins
        if dimension not in by
    ]
    return {
        "made": made,
        "title": "My case mix",
        "subtitle": f"{spec.name} · {board_subtitle(board)}",
        "metric": found.column,
        "word": found.word,
        "total": f"{total:,}",
        "effective": f"{made.effective:,.0f}",
        "said": [*mix.said(), *_thin(spec, margins, mix, found.word)] if made.table else [],
        "parts": parts,
        "others": others,
        "margin": given.get("margin") or f"{made.margin:g}",
        "forms": [
            (form.label, f"{address}&format={name}") for name, form in EXPORTS.items() if name != "html" and made.table
        ],
        "clear": path if mix.is_given or made.errors else "",
        "header": ",".join(HEADER),
        "example": "\n".join([",".join(HEADER), *_example(margins, by)]),
        "pasted": text,
        "invented": board.split.release.name == INVENTED,
        "spec": spec,
        "csv_href": reverse("board-mix-csv", args=[board.slug]),
        "small": small(found.column.label),
    }


def _thin(spec: BenchmarkSpec, margins: Margins, mix: Mix, word: str) -> list[str]:
    """A sentence on the shares that rest on few units."""
    out = []
    for dimension in mix.numbers:
        thin = {f: s for f, s in mix.shares(dimension).items() if s and len(margins[dimension][f]) < FEW}
        if thin:
            named = ", ".join(f"{short(spec, dimension, facet)} ({len(margins[dimension][facet])})" for facet in thin)
            share = format_value(sum(thin.values()), "%")
            out.append(f"{share} % of your mix rest on facets with fewer than {FEW} {word}: {named}.")
    return out


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _example(margins: Margins, by: list[str]) -> list[str]:
    """The board's own shares as lines of a CSV, to be changed."""
    out = []
    for dimension in by:
        total = sum(len(places) for places in margins[dimension].values()) or 1
        for facet, places in margins[dimension].items():
            quoted = '"' + facet.replace('"', '""') + '"' if set(facet) & set(',"\n') else facet
            out.append(f"{dimension},{quoted},{100 * len(places) / total:.1f}")
    return out
