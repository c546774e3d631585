"""A model over all boards: its place and headline on each, whether it may know the questions, and its relatives beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from evaluation.models import LanguageModel, Run, is_later
from leaderboard.boardtable import board_table
from leaderboard.compare import compare_address, entry_side
from leaderboard.models import Board, ReportedScore
from leaderboard.standings import Entry, Standing, rank, standings
from leaderboard.tables import Cell, Column, Group, Row, Table, format_value
from leaderboard.words import board_subtitle

if TYPE_CHECKING:
    from evaluation.querysets import Person

EXPOSED = "newer than the questions: exposure possible"
OLDER = "older than the questions"
UNKNOWN = "not stated"


@dataclass(frozen=True)
class Exposure:
    """Whether a model may have seen questions while it was trained; `why` gives the two dates."""

    words: str
    why: str


def exposure(model: LanguageModel, newest_question: str) -> Exposure:
    """By the knowledge cut-off, and where that is not stated by the day of release, against the newest question.

    Where either is not stated, or known too roughly to tell (a year against a month in it), nothing is guessed.
    """
    known = model.knowledge_cutoff or model.released_on
    if not known or not newest_question:
        return Exposure(UNKNOWN, "no date of the questions" if known else "no date of the model")
    what = "knowledge cut-off" if model.knowledge_cutoff else "released"
    why = f"{what} {known}, newest question {newest_question}"
    later = is_later(known, newest_question)
    if later is None:
        return Exposure(UNKNOWN, f"{why}: too rough to tell")
    return Exposure(EXPOSED if later else OLDER, why)


def results_page(model: LanguageModel, relatives: Sequence[tuple[str, LanguageModel]], user: Person) -> dict[str, Any]:
    """`results_table` and `relatives_table` of the model's page; None for a table without rows.

    Five queries, and two for each board whose ranks are not known yet. `relatives` are (what it is, model).
    """
    shown = _standings(model, user)
    for standing in shown:
        rank(standing)
    return {
        "results_table": results_table(model, shown),
        "relatives_table": relatives_table(model, relatives, shown),
    }


def _standings(model: LanguageModel, user: Person) -> list[Standing]:
    """The boards that the model stands on, as the person sees them."""
    runs = Run.objects.visible_to(user).live().filter(model=model, evaluations__current=True)
    reported = ReportedScore.objects.filter(model=model, on_board=True)
    found = Q(split__in=runs.values("split")) | Q(split__in=reported.values("split"))
    boards = list(Board.objects.visible_to(user).with_benchmark().filter(found))
    return [
        standing
        for standing in standings(boards, user)
        if _entries(standing, model) or any(row.model_id == model.pk for row in standing.reported)
    ]


def _entries(standing: Standing, model: LanguageModel) -> list[Entry]:
    return [entry for entry in standing.entries if entry.model.pk == model.pk]


# --- the results ------------------------------------------------------------------------------------------------------

_COLUMNS = (
    Column("board", "Board", "model"),
    Column("rank", "Rank", "rank", help="On that board, with the ranks that are not ruled out at 95 %."),
    Column("metric", "Headline", "text", help="Each board has its own: never compare two of them with each other."),
    Column("score", "Value", "count"),
    Column("coverage", "Answered", "share", unit="%"),
    Column("repeats", "Repeats ± sd", "count"),
    Column("origin", "Origin", "badge"),
    Column("answered_at", "Answers of", "date"),
    Column("exposure", "Questions seen in training?", "text"),
)


def results_table(model: LanguageModel, shown: Iterable[Standing]) -> Table | None:
    """A row for each entry of the model on a board, with the board's own cells; figures reported of it are marked."""
    rows = []
    for standing in shown:
        table = board_table(standing)
        places = {column.key: place for place, column in enumerate(table.columns)}
        chance = exposure(model, standing.newest_question)
        keys = {entry.key for entry in _entries(standing, model)}
        keys |= {f"reported-{row.pk}" for row in standing.reported if row.model_id == model.pk}
        for row in table.rows:
            if row.key in keys:
                own = {key: row.cells[place] for key, place in places.items()}
                rows.append(_result(row, own, standing, chance))
    if not rows:
        return None
    groups = (
        Group("ours", "Recomputed from answers" if any(row.group == "reported" for row in rows) else ""),
        Group("partial", "Partial, not ranked", "heard on too few of the questions."),
        Group("reported", "Reported", "not recomputed; the rank is among the reported figures of that board."),
    )
    return Table("results", f"{model.name} on every board", "", _COLUMNS, tuple(rows), groups)


def _result(row: Row, own: dict[str, Cell], standing: Standing, chance: Exposure) -> Row:
    board = standing.board
    reported = row.group == "reported"
    figure = standing.shown.reported if reported else standing.headline
    score = own["score"]
    if reported and score.missing:  # the reported figure has a column of its own
        score = next((cell for key, cell in own.items() if key.startswith("figure-") and not cell.missing), score)
    between = score.sub if score.low is not None else ""
    name = Cell(
        board.benchmark.name,
        value=board.slug,
        href=board.get_absolute_url(),
        sub=" · ".join(part for part in (board_subtitle(board), row.key.partition(" ")[2]) if part),
    )
    cells = (
        name,
        own["rank"],
        Cell(figure.label),
        replace(score, text=f"{score.text} {figure.unit}".strip(), sub=between, href="" if reported else score.href),
        own.get("coverage", Cell("–", note="not stated")),
        own.get("repeats", Cell("–", note="not stated")),
        own.get("origin", Cell("–")),
        own.get("answered_at", Cell("–", note="not stated")),
        Cell(chance.words, sub=chance.why),
    )
    group = "reported" if reported else "partial" if row.group == "partial" else "ours"
    return Row(f"{board.slug} {row.key}", cells, group)


# --- predecessor and successors ---------------------------------------------------------------------------------------


def relatives_table(
    model: LanguageModel, relatives: Sequence[tuple[str, LanguageModel]], shown: Iterable[Standing]
) -> Table | None:
    """On each board that both stand on the newer less the older of them, in points; None where there is no such board.

    Of several entries of one model (snapshots) the best placed stands for it. No interval stands here: the head-to-head has
    it, over the questions that both share.
    """
    rows = []
    for standing in shown:
        mine = next(iter(_entries(standing, model)), None)
        if mine is None:
            continue
        figure = standing.headline
        for what, other in relatives:
            theirs = next(iter(_entries(standing, other)), None)
            if theirs is None:
                continue
            value, its = mine.figures[figure].value, theirs.figures[figure].value
            gain = value - its if what == "predecessor" else its - value
            versus = compare_address(
                *(entry_side(standing.board.slug, e.model.slug, e.snapshot) for e in (mine, theirs))
            )
            rows.append(
                Row(
                    f"{standing.board.slug} {other.slug}",
                    (
                        Cell(other.name, href=other.get_absolute_url(), sub=what),
                        Cell(standing.board.benchmark.name, sub=board_subtitle(standing.board)),
                        Cell(
                            f"{format_value(value, figure.unit, figure.precision)} {figure.unit}".strip(), value=value
                        ),
                        Cell(f"{format_value(its, figure.unit, figure.precision)} {figure.unit}".strip(), value=its),
                        Cell(_signed(gain), value=gain),
                        Cell("Head to head", href=versus),
                    ),
                    "all",
                )
            )
    if not rows:
        return None
    columns = (
        Column("other", "Model", "model"),
        Column("board", "Board", "text"),
        Column("own", model.name, "count"),
        Column("its", "The other", "count"),
        Column("difference", "Newer less older, points", "count"),
        Column("versus", "With interval and test", "link"),
    )
    title = f"{model.name} beside its predecessor and successors"
    return Table("relatives", title, "", columns, tuple(rows), (Group("all", ""),))


def _signed(difference: float) -> str:
    text = format_value(difference, "%")
    return text.replace("-", "−") if difference < 0 else "0.0" if text == "0.0" else f"+{text}"
