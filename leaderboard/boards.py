"""A board as a page shows it: its table with everything in words beside it; the cards of the home page."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from leaderboard.boardtable import board_table
from leaderboard.facets import in_order, offered, restrict
from leaderboard.models import Board
from leaderboard.standings import Standing, rank, standings, version
from leaderboard.tables import Table
from leaderboard.wishes import NO_WISH, Option, Select, Wish, arrange, asked_for, column_options, narrow, selects
from leaderboard.words import (
    INVENTED,
    PLAIN_MODE,
    board_subtitle,
    day,
    in_words,
    ranking_in_words,
    reported_name,
    small,
    stated,
    with_unit,
)

if TYPE_CHECKING:
    from evaluation.querysets import Person


@dataclass(frozen=True)
class BoardView:
    """All that a board's page and JSON say. `metric` and `definition` explain the headline, `sentence` the ranking.

    `chosen` says what the address asks for and what that hides; `choice` is what the page's form offers.
    """

    board: Board
    subtitle: str
    metric: str
    definition: str
    sentence: str
    invented: bool
    table: Table
    recomputed: bool = False
    chosen: tuple[str, ...] = ()
    choice: Choice | None = None
    version: str = ""  # equal where all that the view says is

    @property
    def summary(self) -> str:
        return f"{self.metric}: {self.definition} {self.sentence}"


@dataclass(frozen=True)
class Card:
    """A board on the home page."""

    board: Board
    title: str
    subtitle: str
    leader: str
    n_models: int
    updated: str
    origin_note: str
    invented: bool
    ranks: bool

    @property
    def name(self) -> str:
        return board_subtitle(self.board)

    @property
    def href(self) -> str:
        return self.board.get_absolute_url()


@dataclass(frozen=True)
class Choice:
    """What the form of a board offers and what its address has chosen."""

    wish: Wish
    selects: list[Select]
    facets: dict[str, list[str]]
    names: dict[str, str]  # of dimensions, for people
    columns: list[Option]
    chosen: list[tuple[str, str]]
    has_both: bool  # recomputed and reported figures, which may be put together

    @property
    def facet_groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Dimension in words -> (value in the address, label) of each facet that is not chosen yet."""
        order = [*(dimension for dimension in self.names if dimension in self.facets), *self.facets]
        return [
            (
                self.names.get(dimension, dimension),
                [
                    (f"{dimension}:{name}", name)
                    for name in in_order(self.facets[dimension])
                    if (dimension, name) not in self.wish.facets
                ],
            )
            for dimension in dict.fromkeys(order)
        ]


_views: OrderedDict[tuple[str, Wish], BoardView | None] = OrderedDict()


_views_lock = Lock()
MOST_VIEWS = 64


def view_board(board: Board, user: Person, wish: Wish = NO_WISH) -> BoardView | None:
    """The board as `user` sees it and `wish` asks for it; None when there is nothing on it for them.

    The last views are kept under all that they rest on, so that a board is built once while nothing changes.
    """
    key = version(board, user), wish
    with _views_lock:
        if key in _views and not wish.problems:
            _views.move_to_end(key)
            return _views[key]
    view = _view_board(board, user, wish)
    if view is not None:
        view = replace(view, version=hashlib.sha256(repr((key[0], wish.pairs)).encode()).hexdigest())
    if not wish.problems:  # which are no part of the key
        with _views_lock:
            _views[key] = view
            while len(_views) > MOST_VIEWS:
                _views.popitem(last=False)
    return view


def _view_board(board: Board, user: Person, wish: Wish) -> BoardView | None:
    standing = standings([board], user)[0]
    if not standing.entries and not standing.reported:
        return None
    rank(standing)
    headline, sentence = standing.headline, ranking_in_words(standing)
    facets = offered(board.split)
    wish, problems = _known(wish, facets)
    told = []
    offers = selects(standing, wish)
    recomputed = bool(standing.entries)
    has_both = recomputed and bool(standing.reported)
    if wish.facets:
        told.append(restrict(standing, wish.facets))
    if hidden := narrow(standing, wish):
        told.append(
            f"{in_words(hidden, True)} {'row is' if hidden == 1 else 'rows are'} hidden; ranks are those of the whole board."
        )
    table = board_table(standing)
    if wish.sort and wish.sort not in {column.key for column in table.columns}:
        problems.append(f"there is no column {wish.sort[:40]!r} to sort by")
    names = standing.spec.dimensions
    columns = column_options(table, wish)
    evaluator = standing.spec.evaluator
    definition = headline.help or (evaluator.metrics.get(headline.metric, "") if evaluator else "")
    return BoardView(
        board,
        board_subtitle(board),
        headline.label,
        definition[:1].lower() + definition[1:],
        sentence,
        board.split.release.name == INVENTED,
        arrange(table, wish),
        recomputed,
        (*(f"Passed over: {problem}." for problem in problems), *told),
        Choice(wish, offers, facets, names, columns, asked_for(wish, names), has_both),
    )


def other_boards(board: Board, user: Person) -> list[tuple[str, str]]:
    """(name, address) of the other boards of the same release that `user` may see: other splits, modes and protocols."""
    found = Board.objects.visible_to(user).with_benchmark().filter(split__release=board.split.release_id)
    names = (
        (" · ".join(part for part in (other.split.name, other.mode, stated(other)) if part), other) for other in found
    )
    return [(name, other.get_absolute_url()) for name, other in names if other.pk != board.pk]


def _known(wish: Wish, facets: dict[str, list[str]]) -> tuple[Wish, list[str]]:
    """The wish without facets that no item of the split carries, and what to say of those."""
    known = tuple(pair for pair in wish.facets if pair[1] in facets.get(pair[0], ()))
    problems = [f"there is no facet {':'.join(pair)[:80]!r}" for pair in wish.facets if pair not in known]
    return replace(wish, facets=known), [*wish.problems, *problems]


def view_cards(boards: Sequence[Board], user: Person) -> list[Card]:
    """A card for each board that has something on it for `user`, in the order of `boards`, invented ones last."""
    cards = [_card(standing) for standing in standings(boards, user) if standing.entries or standing.reported]
    return sorted(cards, key=lambda card: card.invented)


def _card(standing: Standing) -> Card:
    board, figure = standing.board, standing.headline
    leader = ""
    if ranked := standing.ranked:
        best = ranked[0].figures[figure].value
        first = [entry.model.name for entry in ranked if entry.figures[figure].value == best]
        leader = f"{', '.join(first)}, {with_unit(figure, best)}"
    elif standing.reported and not standing.entries:
        top = standing.reported[0]
        leader = f"{reported_name(top)}, {with_unit(standing.shown.reported, top.value)}"
    note = "Recomputed and reported figures, apart"
    if not standing.entries:
        note = "Reported figures only"
    elif not standing.reported:
        note = "Recomputed from answers"
    release, split = board.split.release.name, board.split.name
    asked = board.mode != PLAIN_MODE
    return Card(
        board,
        f"{release} · {board.mode}" if asked else release,
        " · ".join(part for part in (split, "" if asked else board.mode, stated(board), small(figure.label)) if part),
        leader,
        standing.models,
        day(standing.updated),
        note,
        release == INVENTED,
        board.split.rankable or bool(standing.reported),
    )
