"""A standing as a table: the rows of entries and of reported figures, what stands below them."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.statistics import mean_sd
from leaderboard.models import ReportedScore
from leaderboard.standings import PARTIAL, STALE, Entry, Figure, Standing
from leaderboard.tables import Band, Cell, Column, Group, Row, Table, coverage_cell, format_value
from leaderboard.words import (
    REPORTED_GAP,
    day,
    in_words,
    origin_name,
    reported_name,
    small,
    source_in_words,
    stated,
    tied_first,
    with_unit,
)


def board_table(standing: Standing) -> Table:
    """The board: ranked entries, entries without a rank, reported figures. Columns in which nothing stands are left out."""
    board, spec = standing.board, standing.spec
    columns = _columns(standing)
    rows = [_entry_row(standing, entry, columns) for entry in standing.entries]
    rows += _reported_rows(standing, columns)
    filled = [
        place
        for place, column in enumerate(columns)
        if column.key in ("rank", "model", "score") or any(not row.cells[place].missing for row in rows)
    ]
    rows = [Row(row.key, tuple(row.cells[place] for place in filled), row.group) for row in rows]
    release = board.split.release
    return Table(
        key="board",
        title=spec.name,
        caption="",
        columns=tuple(columns[place] for place in filled),
        rows=tuple(rows),
        groups=_groups(standing),
        bands=tuple(_bands(standing)),
        notes=tuple(_notes(standing)),
        facts=(
            ("Release", release.name),
            ("Split", _split_in_words(standing)),
            ("Mode", board.mode),
            ("Shots, conversation", stated(board)),
            ("Evaluator", spec.evaluator.name if spec.evaluator and standing.entries else "none: figures as reported"),
            *([("Newest answers", day(standing.updated))] if standing.entries else []),
        ),
    )


def _split_in_words(standing: Standing) -> str:
    split, spec = standing.board.split, standing.spec
    return f"{split.name}, {split.expected_items:,} {spec.item_word}s" if split.expected_items else split.name


def _columns(standing: Standing) -> list[Column]:
    spec, headline, recomputed = standing.spec, standing.headline, bool(standing.entries)
    scores = [_score_column("score", headline, standing)]
    scores += [_score_column(f"figure-{place}", f, standing) for place, f in enumerate(standing.figures[1:], 2)]
    repeats = standing.shown.repeats
    rank_help = "By the value at full precision; below it the ranks that are not ruled out at 95 %."
    interval_help = f"95 %: whole {_plural(spec.unit)} are resampled 10,000 times."
    repeats_help = f"How many {repeats}, and the sample standard deviation of the first figure over them, in points."
    coverage_help = f"Share of the expected {spec.item_word}s from which an answer could be taken."
    return [
        Column("rank", "Rank", "rank", help=rank_help if recomputed else "Among the reported figures, by their value."),
        Column("model", "Model", "model"),
        scores[0],
        Column("interval", "Interval", "interval", unit=headline.unit, help=interval_help if recomputed else ""),
        *scores[1:],
        Column("repeats", f"{repeats.capitalize()} ± sd", "count", help=repeats_help),
        Column("coverage", "Answered", "share", unit="%", help=coverage_help),
        Column("origin", "Origin", "badge", help="Who asked the model, or that the figure is only reported."),
        Column("answered_at", "Answers of", "date", help="The day on which the answers were finished."),
    ]


def _plural(word: str) -> str:
    return f"{word}s"


def _score_column(key: str, figure: Figure, standing: Standing) -> Column:
    evaluator = standing.spec.evaluator
    meaning = (evaluator.metrics.get(figure.metric, "") if evaluator else "") or figure.metric
    return Column(
        key,
        figure.label,
        "score",
        unit=figure.unit,
        direction="higher",
        precision=figure.precision,
        metric=figure.metric,
        evaluator=evaluator.name if evaluator and standing.entries else "",
        help=figure.help or meaning,
    )


def _entry_row(standing: Standing, entry: Entry, columns: Sequence[Column]) -> Row:
    figures = standing.figures
    by_key = {column.key: column for column in columns}
    value = entry.figures.get(figures[0])
    score = by_key["score"]
    below = {"sub": _done_only(entry, score, standing)} if entry.why_unranked == PARTIAL else {}
    cells = {
        "rank": _rank_cell(entry, standing),
        "model": Cell(
            text=entry.model.name,
            value=entry.model.slug,
            href=entry.model.get_absolute_url(),
            sub=" · ".join(part for part in (entry.model.organisation, entry.model.access, entry.snapshot) if part),
            note="" if entry.model.registered else "A name found in a results file that stands in no register.",
        ),
        "score": score.cell(
            value.value,
            value.low,
            value.high,
            n=value.n,
            n_answered=value.n_answered,
            href=entry.runs[0].get_absolute_url(),
            note=_run_note(entry),
            **below,
        )
        if value
        else Cell("–", note="nothing to take a mean of"),
        "interval": by_key["interval"].cell(value.value, value.low, value.high) if value else Cell("–"),
        "repeats": _repeats_cell(entry),
        "coverage": coverage_cell(entry.answered, entry.expected, note=_coverage_note(entry)),
        "origin": _origin_cell(entry),
        "answered_at": Cell(text=day(entry.answered_at), value=day(entry.answered_at) or None),
    }
    for place, figure in enumerate(figures[1:], 2):
        other = entry.figures.get(figure)
        key = f"figure-{place}"
        cells[key] = by_key[key].cell(other.value, n=other.n, n_answered=other.n_answered) if other else Cell("–")
    group = {"": "ranked", PARTIAL: "partial", STALE: "stale"}.get(entry.why_unranked, "unranked")
    return Row(entry.key, tuple(cells[column.key] for column in columns), group)


def _rank_cell(entry: Entry, standing: Standing) -> Cell:
    place = entry.rank
    if place is None:
        return Cell("–", note="not ranked")
    between = f"{place.low}–{place.high}" if place.low < place.high else ""
    return Cell(str(place.rank), value=place.rank, rank=place.rank, tie=entry in tied_first(standing), sub=between)


def _done_only(entry: Entry, column: Column, standing: Standing) -> str:
    """What stands below the figure of a partial entry: the mean over what has a row, where rows are missing."""
    words = f"{standing.spec.item_word}s"
    if entry.done_only is None or entry.present == entry.expected:
        return f"heard on {format_value(entry.heard_share, '%', 0)} % of the {words}"
    share = format_value(entry.present / entry.expected, "%", 0)
    return f"{column.format(entry.done_only)} on {share} % of the {words}"


def _run_note(entry: Entry) -> str:
    if not entry.passed_over:
        return ""
    others = "another run" if entry.passed_over == 1 else f"{in_words(entry.passed_over)} other runs"
    return f"There {'is' if entry.passed_over == 1 else 'are'} {others} of the same repeats: the newest answers count."


def _coverage_note(entry: Entry) -> str:
    return "Of the least complete of its runs." if len(entry.runs) > 1 and entry.answered < entry.expected else ""


def _repeats_cell(entry: Entry) -> Cell:
    if len(entry.spread) < 2:
        return Cell("1", value=1) if entry.spread else Cell("–", note="nothing to take a mean of")
    _, sd, count = mean_sd(entry.spread)
    return Cell(f"{count} ± {format_value(sd, '%', 2)}", value=sd, n=count)


def _origin_cell(entry: Entry) -> Cell:
    origins = {run.origin for run in entry.runs}
    if len(origins) > 1:
        return Cell("several", value="several")
    origin = origins.pop()
    return Cell(origin_name(origin), value=origin, origin=origin)


def _reported_rows(standing: Standing, columns: Sequence[Column]) -> list[Row]:
    """Reported figures by value, then in their source's order. A model's second figure takes no place."""
    firsts: dict[int | str, ReportedScore] = {}
    for row in sorted(standing.reported, key=lambda row: (row.order, row.pk)):
        firsts.setdefault(row.model_id or row.group, row)
    placed = {row.pk for row in firsts.values()}
    figures = [row.value for row in standing.reported if row.pk in placed]
    ranks = {value: 1 + sum(other > value for other in figures) for value in figures}
    return [
        _reported_row(standing, row, columns, ranks.get(row.value) if row.pk in placed else None)
        for row in standing.reported
    ]


def _shared_note(standing: Standing) -> str:
    """What is told of every reported figure alike."""
    notes = {row.note for row in standing.reported}
    return notes.pop() if len(notes) == 1 and len(standing.reported) > 1 else ""


def _reported_row(standing: Standing, row: ReportedScore, columns: Sequence[Column], place: int | None) -> Row:
    figure = standing.shown.reported
    own = "score" if figure == standing.headline else f"figure-{standing.figures.index(figure) + 1}"
    by_key = {column.key: column for column in columns}
    cells = dict.fromkeys(by_key, Cell("–"))
    cells["rank"] = (
        Cell("–", note="a second figure of this model takes no place")
        if place is None
        else Cell(str(place), value=place, rank=place)
    )
    about = [row.model.organisation, row.model.access] if row.model else []
    cells["model"] = Cell(
        text=reported_name(row),
        value=row.model.slug if row.model else row.group,
        href=row.model.get_absolute_url() if row.model else "",
        sub=" · ".join(part for part in about if part),
    )
    cells[own] = by_key[own].cell(row.value, n=row.n, note="" if row.note == _shared_note(standing) else row.note)
    if own == "score":
        cells["interval"] = by_key["interval"].cell(row.value)
    if len(row.runs) > 1 or row.reported_sd is not None:
        sd = "" if row.reported_sd is None else f" ± {format_value(row.reported_sd, '%', 2)}"
        cells["repeats"] = Cell(f"{len(row.runs) or '?'}{sd}", value=row.reported_sd, note="As stated by the source.")
    cells["origin"] = Cell("reported", value="reported", origin="reported", note=source_in_words(row))
    return Row(f"reported-{row.pk}", tuple(cells[column.key] for column in columns), "reported")


def _bands(standing: Standing) -> list[Band]:
    """People as one band from the lowest to the highest reported figure."""
    people = sorted(standing.humans, key=lambda row: row.value)
    if not people or standing.shown.reported != standing.headline:
        return []
    label = " to ".join(dict.fromkeys((reported_name(people[0]), small(reported_name(people[-1])))))
    n = people[0].n if len({row.n for row in people}) == 1 else None
    return [Band(label, people[0].value, people[-1].value, n, "reported")]


def _groups(standing: Standing) -> tuple[Group, ...]:
    least = format_value(standing.board.min_coverage, "%", 0)
    words = f"{standing.spec.item_word}s"
    reported = ["not recomputed; places are within this group only.", REPORTED_GAP]
    if note := _shared_note(standing):
        reported.append(f"{note[:1].upper()}{note[1:]}.")
    mixed = standing.reported or any(entry.why_unranked for entry in standing.entries)
    return (
        Group("ranked", "Recomputed from answers" if mixed else ""),
        Group(
            "partial",
            "Partial, not ranked",
            f"heard on fewer than {least} % of the {words}. In the figure what is missing counts 0. The line below it is over "
            f"the {words} that were asked, which are not the same for everybody.",
        ),
        Group("unranked", "", ""),
        Group(
            "stale", "Not ranked", "scored by earlier rules or against earlier gold: `manage.py rescore` scores anew."
        ),
        Group("reported", "Reported", " ".join(reported)),
    )


def _notes(standing: Standing) -> list[str]:
    spec, words = standing.spec, f"{standing.spec.item_word}s"
    least = format_value(standing.board.min_coverage, "%", 0)
    notes = []
    if standing.entries:
        notes.append(
            f"Ranks follow the value at full precision; equal values share one. A rank needs a model that was heard on at "
            f"least {least} % of the {words} (a failed call is not heard). Two models are told apart when the 95 % interval "
            f"of their difference over the same resampled {_plural(spec.unit)} lies off zero."
        )
        notes.append(
            "An entry is the mean over its runs. Of several runs of the same repeat the newest answers count, then the newest "
            "loaded. Superseded and archived runs count nowhere."
        )
    for row in standing.humans:
        about = f" ({row.note})" if row.note else ""
        notes.append(f"{reported_name(row)}: {with_unit(standing.shown.reported, row.value)}, reported{about}.")
    return notes
