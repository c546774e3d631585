"""What boards and their parts are called, in words."""

from __future__ import annotations

from datetime import datetime

from leaderboard.models import Board, ReportedScore
from leaderboard.standings import Entry, Figure, Standing
from leaderboard.tables import format_value

INVENTED = "sample"  # the release of the sample tree
PLAIN_MODE = "chat"  # goes without saying in a title
REPORTED_TIE = 0.015  # a gap between two reported figures that is smaller says nothing
# A reported figure comes without its answers, so no test is possible: this never decides a rank.
REPORTED_GAP = "A rule of thumb, never a test: gaps under 1.5 points between reported figures are to be read as ties."
_NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def in_words(number: int, capital: bool = False) -> str:
    """`three`, from thirteen on `13`."""
    word = _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
    return word.capitalize() if capital else word


def origin_name(origin: str) -> str:
    return {"ours": "run by us", "uploaded": "uploaded"}.get(origin, origin)


def day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else ""


def small(label: str) -> str:
    """`case accuracy`, but `F1`."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def with_unit(figure: Figure, value: float) -> str:
    return f"{format_value(value, figure.unit, figure.precision)} {figure.unit}".strip()


def board_subtitle(board: Board) -> str:
    return " · ".join(part for part in (board.split.release.name, board.split.name, board.mode, stated(board)) if part)


def stated(board: Board) -> str:
    return "" if board.shots is None and board.conversation_kept is None else board.protocol


def tied_first(standing: Standing) -> list[Entry]:
    """The entries that cannot be told apart from the leader, with it; none where the leader stands alone."""
    tied = [entry for entry in standing.ranked if entry.rank and entry.rank.tied_with_leader]
    return tied if len(tied) > 1 else []


def ranking_in_words(standing: Standing) -> str:
    """One sentence on the top of the board, or on why nobody is ranked."""
    ranked, board = standing.ranked, standing.board
    if not standing.entries:
        return "All figures here are reported elsewhere; none was recomputed from answers."
    if not ranked:
        if board.split.gold_missing:
            return "Nobody is ranked: the gold was not given, so the questions come from the scored files."
        if not board.split.rankable:
            return "Nobody is ranked: this split is for trials, too small to tell models apart."
        return "Nobody is ranked: no model was heard on enough of the questions."
    tied = tied_first(standing)
    if len(ranked) == 1:
        return "One model is ranked."
    if not tied:
        return (
            f"{ranked[0].model.name} is first of {in_words(len(ranked))}, and no other is statistically tied with it."
        )
    if len(tied) == len(ranked) == 2:
        return "Both models are statistically tied for first."
    if len(tied) == len(ranked):
        return f"All {in_words(len(ranked))} models are statistically tied for first."
    return f"{in_words(len(tied), True)} of {in_words(len(ranked))} models are statistically tied for first."


def reported_name(row: ReportedScore) -> str:
    return row.model.name if row.model else row.group


def source_in_words(row: ReportedScore) -> str:
    """What a reported figure was taken from, and the protocol as it words it."""
    source = row.source
    parts = [source.text, f"commit {source.commit}" if source.commit else "", source.url]
    parts += [f"retrieved {source.retrieved}" if source.retrieved else "", row.protocol]
    return "; ".join(part for part in parts if part) + "."
