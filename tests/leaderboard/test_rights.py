"""Who may see what, by every road: role x route x visibility. A route that is not in the table fails the test."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import polars
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from evaluation.models import LanguageModel, Run
from ingest.models import Source
from leaderboard.builder import FORMATS
from leaderboard.exports import EXPORTS
from leaderboard.facetnames import facet_key
from leaderboard.freezing import freeze
from leaderboard.lists import models_page
from leaderboard.models import Board, Freeze
from tests.conftest import ROLES, People
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, ehr_tree, live_tree, load, older_rules

TASK = "labevents"  # of the questions of the shared board
VISIBILITIES = ("private", "team", "public")
SEES = {
    "private": {"owner", "staff"},
    "team": {"owner", "staff", "mate"},
    "public": set(ROLES),
}


@dataclass(frozen=True)
class World:
    """Beside a public run there is one of each visibility: on the same board, better than the public one, and on a board
    of its own. Its model's name occurs nowhere else.
    """

    people: People
    hidden: dict[str, Run]
    alone: dict[str, Run]
    source: Source
    freezes: dict[str, Freeze]
    clients: dict[str, Client] = field(default_factory=dict)
    answers: dict[tuple[Any, ...], Any] = field(default_factory=dict)


@pytest.fixture
def world(people: People, tmp_path: Path) -> World:
    load(ehr_tree(tmp_path / "open", {"openly": 10}))
    hidden, alone = {}, {}
    rights = {"owner": people.owner, "team": people.team}
    for number, visibility in enumerate(VISIBILITIES):
        better = ehr_tree(tmp_path / visibility, {f"{visibility}_marvel": 18 - number})
        (hidden[visibility],) = load(better, visibility, **rights)
        other = live_tree(tmp_path / f"live_{visibility}", {"a": (f"{visibility}_wonder", ["AB"] * 8)})
        (alone[visibility],) = load(other, visibility, release=f"of_{visibility}", **rights)
    shared = Board.objects.with_benchmark().get(slug=EHR_BOARD)
    eyes = {"public": None, "team": people.owner, "private": people.staff}
    freezes = {name: freeze(shared, user) for name, user in eyes.items()}
    return World(people, hidden, alone, Source.objects.get(name="private"), freezes)


Check = Callable[[World, str, str], None]


def get(world: World, role: str, name: str, *args: Any, query: str = "") -> Any:
    if role not in world.clients:  # a client is slow to make: it lists the static files
        world.clients[role] = Client()
        if role != "anonymous":
            world.clients[role].force_login(world.people[role])
    return world.clients[role].get(reverse(name, args=args) + (f"?{query}" if query else ""))


def sees(role: str, visibility: str) -> bool:
    return role in SEES[visibility]


def only_who_sees(name: str) -> Check:
    """The run's own page: there for who may see it, for everybody else not there."""

    def check(world: World, role: str, visibility: str) -> None:
        for run in (world.hidden[visibility], world.alone[visibility]):
            response = get(world, role, name, run.key)
            assert response.status_code == (200 if sees(role, visibility) else 404)
            assert (run.model_name in response.content.decode()) == sees(role, visibility)

    return check


def evaluators_of(name: str, of_one: int) -> Check:
    """As the run itself; a run with one evaluator answers `of_one` to who may see it. Items of LiveClin are nobody's."""

    def check(world: World, role: str, visibility: str) -> None:
        for run in (world.hidden[visibility], world.alone[visibility]):
            wanted = of_one if run.evaluations.filter(current=True).count() == 1 else 200
            response = get(world, role, name, run.key)
            assert response.status_code == (wanted if sees(role, visibility) else 404)
            assert (run.key in response.content.decode()) == (sees(role, visibility) and wanted == 200)
        assert "PMC0:" not in get(world, role, name, world.alone[visibility].key).content.decode()

    return check


def lists_what_is_seen(name: str, *args: str, mark: Callable[[Run], str]) -> Check:
    """A page for everybody on which a run leaves a mark only for those who may see it."""

    def check(world: World, role: str, visibility: str) -> None:
        response = get(world, role, name, *args)
        assert response.status_code == 200
        text = (response.getvalue() if response.streaming else response.content).decode()
        assert (mark(world.hidden[visibility]) in text) == sees(role, visibility)

    return check


def board_of(name: str) -> Check:
    """The shared board is everybody's, with the visible rows; a board that a hidden run opened is not there."""

    def check(world: World, role: str, visibility: str) -> None:
        lists_what_is_seen(name, EHR_BOARD, mark=lambda run: run.model_name)(world, role, visibility)
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        assert get(world, role, name, slug).status_code == (200 if sees(role, visibility) else 404)

    return check


def content(response: Any) -> str:
    """The text of an answer; of a Parquet file its metadata, which hold the whole table."""
    data = response.getvalue() if response.streaming else response.content
    if data[:4] == b"PAR1":
        return polars.read_parquet_metadata(io.BytesIO(data))["clinboard"] + str(polars.read_parquet(io.BytesIO(data)))
    return data.decode().replace("\\_", "_")  # as Markdown and LaTeX write it


def once(world: World, role: str, name: str, *args: Any, query: str = "") -> Any:
    """The answer, asked for once a role: it is the same for every visibility that is looked for in it."""
    key = (role, name, args, query)
    if key not in world.answers:
        world.answers[key] = get(world, role, name, *args, query=query)
    return world.answers[key]


def board_files(world: World, role: str, visibility: str) -> None:
    """Every form of the shared board holds what the role may see; a board that a hidden run opened has no file."""
    for form in EXPORTS:
        response = once(world, role, "board-file", EHR_BOARD, form)
        assert response.status_code == 200 and "attachment" in response["Content-Disposition"]
        assert (world.hidden[visibility].model_name in content(response)) == sees(role, visibility), form
    slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
    assert once(world, role, "board-file", slug, "csv").status_code == (200 if sees(role, visibility) else 404)
    assert once(world, role, "board-file", EHR_BOARD, "exe").status_code == 404


def recipes(name: str) -> Check:
    """A recipe in every form: the rows that the role may see; a hidden board or model is as one that does not exist."""

    def check(world: World, role: str, visibility: str) -> None:
        def ask(form: str, **recipe: str) -> Any:
            wishes = {"title": "t", "c1.board": EHR_BOARD, "format": form, **recipe}
            return once(world, role, name, query=urlencode({key: value for key, value in wishes.items() if value}))

        seen, hidden = sees(role, visibility), world.hidden[visibility]
        for form in ("", *FORMATS):
            mark = hidden.model.slug if form == "macros" else hidden.model_name
            assert (mark in content(ask(form))) == (seen and form != "methods"), form
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        for form in ("", "csv"):
            for wanted, wish in (("c1.board", slug), ("models", hidden.model_name)):
                answer = ask(form, **{wanted: wish})
                if form or name == "api:tables":
                    assert answer.status_code == (200 if seen else 400), (form, wish)
                if not seen:
                    nothing = ask(form, **{wanted: "nothing-such"})
                    assert _bare(content(answer), wish) == _bare(content(nothing), "nothing-such"), (form, wish)

    return check


def _bare(text: str, word: str) -> str:
    """The text without what was asked for, and without what each answer has of its own."""
    return re.sub(r"csrfmiddlewaretoken[^>]*|nonce=\S+", "", text.replace(word, ""))


def boards_of(name: str) -> Check:
    def check(world: World, role: str, visibility: str) -> None:
        text = get(world, role, name).content.decode()
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        assert (slug in text) == sees(role, visibility)
        assert (world.alone[visibility].model_name in text) == sees(role, visibility)
        best = next((v for v in VISIBILITIES if sees(role, v)), None)
        for other in VISIBILITIES:
            assert (f"{other}_marvel" in text) == (other == best)

    return check


def data_of_run(name: str, *args: str, items: bool = True) -> Check:
    """A run's data: not there for who may not see the run, refused to who may see it but not the items."""

    def check(world: World, role: str, visibility: str) -> None:
        for run in (world.hidden[visibility], world.alone[visibility]):
            response = get(world, role, name, run.key, *args)
            # nobody may see the items of LiveClin, members alone those of EHR-Bench
            allowed = not items or (role == "member" and run == world.hidden[visibility])
            wanted = (200 if allowed else 403) if sees(role, visibility) else 404
            assert response.status_code == wanted
            assert (run.key.encode() in as_bytes(response)) == (wanted == 200)

    return check


def data_of_runs(name: str, *args: str) -> Check:
    """Data of several runs: those that are seen, for who may see the items."""

    def check(world: World, role: str, visibility: str) -> None:
        response = get(world, role, name, *args)
        assert response.status_code == (200 if role == "member" else 403)
        run = world.hidden[visibility]
        assert (run.key.encode() in as_bytes(response)) == (role == "member" and sees(role, visibility))

    return check


def archive_of(name: str) -> Check:
    """The shared board's archive holds the visible runs, unpacked; that of a board that a hidden run opened is not there."""

    def check(world: World, role: str, visibility: str) -> None:
        with zipfile.ZipFile(io.BytesIO(as_bytes(get(world, role, name, EHR_BOARD)))) as archive:
            text = b"".join(map(archive.read, archive.namelist()))
        for mark in (world.hidden[visibility].key, world.hidden[visibility].model_name):
            assert (mark.encode() in text) == sees(role, visibility)
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        assert get(world, role, name, slug).status_code == (200 if sees(role, visibility) else 404)

    return check


def as_bytes(response: Any) -> bytes:
    return response.getvalue() if response.streaming else response.content


def findings_of(name: str) -> Check:
    """Findings of visible runs, by key and by model; those of no run, which name their source, are for staff alone."""

    def check(world: World, role: str, visibility: str) -> None:
        for mark in (lambda run: run.key, lambda run: run.model_name):
            lists_what_is_seen(name, mark=mark)(world, role, visibility)
        response = get(world, role, name)
        text = (response.getvalue() if response.streaming else response.content).decode()
        assert (world.alone[visibility].key in text) == sees(role, visibility)
        assert ("split_size" in text) == (role == "staff")

    return check


def model_page(world: World, role: str, visibility: str) -> None:
    for run in (world.hidden[visibility], world.alone[visibility]):
        response = get(world, role, "model", run.model.slug)
        assert response.status_code == (200 if sees(role, visibility) else 404)
        assert (run.key in response.content.decode()) == sees(role, visibility)


def staff_alone(name: str, *, source: bool = False) -> Check:
    def check(world: World, role: str, visibility: str) -> None:
        response = get(world, role, name, *([world.source.pk] if source else []))
        assert response.status_code == (200 if role == "staff" else 404)
        assert ("marvel" in response.content.decode()) == (role == "staff" and source)

    return check


def says_nothing(name: str, *args: str, status: int = 200) -> Check:
    """For everybody the same, and not a word on any run."""

    def check(world: World, role: str, visibility: str) -> None:
        response = get(world, role, name, *args)
        assert response.status_code == status
        text = response.content.decode()
        for run in (*world.hidden.values(), *world.alone.values()):
            assert run.key not in text and run.model_name not in text

    return check


def release_of(world: World, role: str, visibility: str) -> None:
    """The public release is everybody's and says nothing of runs; one that only a hidden run opened is not there."""
    says_nothing("release", "ehr-bench", "v1")(world, role, visibility)
    response = get(world, role, "release", "liveclin", f"of_{visibility}")
    assert response.status_code == (200 if sees(role, visibility) else 404)


def benchmark_of(world: World, role: str, visibility: str) -> None:
    """Public facts for everybody; of releases only those with a board that the role may see."""
    says_nothing("benchmark", "ehr-bench")(world, role, visibility)
    text = get(world, role, "benchmark", "liveclin").content.decode()
    assert (f"of_{visibility}" in text) == sees(role, visibility)


def moves_of_a_board(world: World, role: str, visibility: str) -> None:
    """Only visible runs stand side by side; which items move only for who may see them."""
    for run in Run.objects.all():
        older_rules(run)
    board_of("moves")(world, role, visibility)
    text = get(world, role, "moves", EHR_BOARD).content.decode()
    assert ("Which ones is shown to those" in text) == (role != "member")


FREEZES = {"public": set(ROLES), "team": {"owner", "staff"}, "private": {"staff"}}


def freeze_of(name: str, *more: str) -> Check:
    """A public freeze is everybody's and holds what is public; another is its owner's and staff's, or staff's alone."""

    def check(world: World, role: str, visibility: str) -> None:
        for kind, readers in FREEZES.items():
            response = get(world, role, name, world.freezes[kind].address, *more)
            assert response.status_code == (200 if role in readers else 404), kind
            if name not in ("freeze-cite", "freeze-figure"):
                held = visibility == "public" or kind != "public"
                assert (world.hidden[visibility].model_name in response.content.decode()) == (held and role in readers)

    return check


def sees_items(role: str, visibility: str) -> bool:
    """Items of EHR-Bench are its data-access group's, staff and owners are no exception; those of LiveClin nobody's."""
    return role == "member" and sees(role, visibility)


def items_of(name: str, *args: int) -> Check:
    """A page of a run's single items: there for who sees the run and may see items, for everybody else not there."""

    def check(world: World, role: str, visibility: str) -> None:
        run = world.hidden[visibility]
        answer = get(world, role, name, run.key, *args)
        assert answer.status_code == (200 if sees_items(role, visibility) else 404)
        assert ("q00" in content(answer)) == sees_items(role, visibility)
        if answer.status_code == 200:
            assert "noindex" in answer["X-Robots-Tag"] and "private" in answer["Cache-Control"]
        assert get(world, role, name, world.alone[visibility].key, *args).status_code == 404

    return check


def freeze_list(world: World, role: str, visibility: str) -> None:
    text = get(world, role, "freezes").content.decode()
    for kind, readers in FREEZES.items():
        assert (world.freezes[kind].address in text) == (role in readers)


def freeze_diff(world: World, role: str, visibility: str) -> None:
    """Both must be seen."""
    for kind, readers in FREEZES.items():
        for pair in ((kind, "public"), ("public", kind)):
            response = get(world, role, "freeze-diff", *(world.freezes[name].address for name in pair))
            assert response.status_code == (200 if role in readers else 404)


def freeze_button(world: World, role: str, visibility: str) -> None:
    """Reading it does nothing; only staff may press it, for others it is not there."""
    before = Freeze.objects.count()
    assert get(world, role, "board-freeze", EHR_BOARD).status_code == 405
    response = world.clients[role].post(reverse("board-freeze", args=[EHR_BOARD]))
    assert response.status_code == (302 if role == "staff" else 404)
    assert Freeze.objects.count() == before


def board_file(name: str, *more: str) -> Check:
    """A file that is no text to search: there for who sees something of the board."""

    def check(world: World, role: str, visibility: str) -> None:
        assert get(world, role, name, EHR_BOARD, *more).status_code == 200
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        assert get(world, role, name, slug, *more).status_code == (200 if sees(role, visibility) else 404)

    return check


def over_models(name: str, **query: str) -> Check:
    """A page of an item or case over all models: for who may see items, with the runs that they see."""

    def check(world: World, role: str, visibility: str) -> None:
        answer = once(world, role, name, "ehr-bench", query=urlencode({"release": "v1", **query}))
        assert answer.status_code == (200 if role == "member" else 404)
        assert (world.hidden[visibility].key in content(answer)) == sees_items(role, visibility)
        other = urlencode({"release": f"of_{visibility}", "item": "PMC0:0", "case": "PMC0"})
        assert once(world, role, name, "liveclin", query=other).status_code == 404

    return check


def figure_of_a_case(world: World, role: str, visibility: str) -> None:
    query = {"release": f"of_{visibility}", "case": "PMC0", "place": "1", "number": "0"}
    for slug in ("liveclin", "ehr-bench"):
        assert once(world, role, "figure", slug, query=urlencode(query)).status_code == 404


def head_to_head(world: World, role: str, visibility: str) -> None:
    """Counts for who sees both runs, items for who may see them; a hidden side is as one that does not exist."""
    open_run = Run.objects.get(model_name="openly")
    for run in (world.hidden[visibility], world.alone[visibility]):
        board = EHR_BOARD if run is world.hidden[visibility] else LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        for side in (run.key, f"{run.key}/1", f"{board}/{run.model.slug}"):
            text = content(once(world, role, "compare", query=urlencode({"a": open_run.key, "b": side, "cell": "b"})))
            assert (run.model.name in text) == sees(role, visibility), side
            if not sees(role, visibility):
                missing = content(once(world, role, "compare", query=f"a={open_run.key}&b=nothing-such&cell=b"))
                assert _bare(text, side) == _bare(missing, "nothing-such")
            elif run is world.hidden[visibility]:
                assert "Who is right where" in text
                assert ("q12" in text) == sees_items(role, visibility)


def alone_board(visibility: str) -> str:
    """The board that only a hidden run has opened."""
    return LIVE_BOARD.replace("2025_h1", f"of_{visibility}")


def breakdowns_of(name: str, *facets: str) -> Check:
    """A board by a dimension, and by a facet of it, in every form: as the board itself."""
    of_ehr, of_live = (("task", *facets[:1]), ("rarity", *facets[1:]))

    def check(world: World, role: str, visibility: str) -> None:
        for query in ("", "view=table", "view=chart", "format=csv", "format=json"):
            response = get(world, role, name, EHR_BOARD, *of_ehr, query=query)
            if not (facets and query.startswith("view=")):
                assert response.status_code == 200
                assert (world.hidden[visibility].model_name in response.content.decode()) == sees(role, visibility)
            response = get(world, role, name, alone_board(visibility), *of_live, query=query)
            assert response.status_code == (200 if sees(role, visibility) else 404)
        hidden = get(world, role, name, EHR_BOARD, *of_ehr, query=f"model={world.hidden[visibility].model.slug}")
        assert facets or hidden.status_code == (200 if sees(role, visibility) else 404)

    return check


def first_breakdown(world: World, role: str, visibility: str) -> None:
    assert get(world, role, "board-breakdowns", EHR_BOARD).status_code == 302
    response = get(world, role, "board-breakdowns", alone_board(visibility))
    assert response.status_code == (302 if sees(role, visibility) else 404)


def case_mix(world: World, role: str, visibility: str) -> None:
    assert get(world, role, "board-mix", EHR_BOARD).status_code == 200
    for query in ("", "format=csv" if sees(role, visibility) else "csv=dimension,facet,share"):
        response = get(world, role, "board-mix", alone_board(visibility), query=query)
        assert response.status_code == ((404 if query else 200) if sees(role, visibility) else 404)


def case_mix_upload(world: World, role: str, visibility: str) -> None:
    get(world, role, "home")  # makes the client
    response = world.clients[role].post(reverse("board-mix-csv", args=[alone_board(visibility)]))
    assert response.status_code == (400 if sees(role, visibility) else 404)


ROUTES: dict[str, Check] = {
    "board-figure": board_file("board-figure", "svg"),
    "board-cite": board_file("board-cite"),
    "board-freeze": freeze_button,
    "freezes": freeze_list,
    "freeze": freeze_of("freeze"),
    "freeze-content": freeze_of("freeze-content"),
    "freeze-table": freeze_of("freeze-table", "csv"),
    "freeze-cite": freeze_of("freeze-cite"),
    "freeze-figure": freeze_of("freeze-figure", "svg"),
    "freeze-diff": freeze_diff,
    "home": boards_of("home"),
    "board": board_of("board"),
    "moves": moves_of_a_board,
    "board-breakdowns": first_breakdown,
    "board-by": breakdowns_of("board-by"),
    "board-facet": breakdowns_of("board-facet", facet_key(TASK), facet_key("rare")),
    "board-mix": case_mix,
    "board-mix-csv": case_mix_upload,
    "benchmark": benchmark_of,
    "release": release_of,
    "how": says_nothing("how", "ehr-bench"),
    "board-file": board_files,
    "tables": recipes("tables"),
    "run": only_who_sees("run"),
    "run-evaluators": evaluators_of("run-evaluators", 404),
    "run-eee": data_of_run("run-eee", items=False),
    "run-eee-instances": data_of_run("run-eee-instances"),
    "run-items": data_of_run("run-items", "jsonl"),
    "board-archive": archive_of("board-archive"),
    "board-items": data_of_runs("board-items", EHR_BOARD, "jsonl"),
    "run-answers": items_of("run-answers"),
    "response": items_of("response", 0),
    "item": over_models("item", item="q00"),
    "case": over_models("case", case="q00"),
    "figure": figure_of_a_case,
    "compare": head_to_head,
    "models": lists_what_is_seen("models", mark=lambda run: run.model_name),
    "model": model_page,
    "sources": staff_alone("sources"),
    "source": staff_alone("source", source=True),
    "findings": findings_of("findings"),
    "findings-csv": findings_of("findings-csv"),
    "healthz": says_nothing("healthz"),
    "robots": says_nothing("robots"),
    "login": says_nothing("login"),
    "logout": says_nothing("logout", status=405),
    "api:boards": boards_of("api:boards"),
    "api:board": board_of("api:board"),
    "api:tables": recipes("api:tables"),
    "api:run": only_who_sees("api:run"),
    "api:run-evaluators": evaluators_of("api:run-evaluators", 200),
    "api:run-eee": data_of_run("api:run-eee", items=False),
    "api:run-eee-instances": data_of_run("api:run-eee-instances"),
    "api:run-items": data_of_run("api:run-items"),
    "api:board-archive": archive_of("api:board-archive"),
    "api:board-items": data_of_runs("api:board-items", EHR_BOARD),
    "api:benchmark-items": data_of_runs("api:benchmark-items", "ehr-bench"),
    "api:models": lists_what_is_seen("api:models", mark=lambda run: run.model_name),
    "api:findings": findings_of("api:findings"),
    "api:openapi-json": says_nothing("api:openapi-json"),
    "api:openapi-view": says_nothing("api:openapi-view"),
    "api:api-root": says_nothing("api:api-root", status=404),
    "api-nothing": says_nothing("api-nothing", "v9/runs", status=404),
}


def routes(resolver: URLResolver, space: tuple[str, ...] = ()) -> Iterator[str]:
    """Every named route but those of the admin, which has its own rights."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield ":".join((*space, pattern.name or f"unnamed {pattern.pattern}"))
        elif pattern.app_name != "admin":
            yield from routes(pattern, (*space, *([pattern.namespace] if pattern.namespace else [])))


def test_every_route_is_in_the_table() -> None:
    assert sorted(set(routes(get_resolver()))) == sorted(ROUTES)


@pytest.mark.parametrize("role", ROLES)
def test_every_route_and_visibility(world: World, role: str) -> None:
    """One world a role; every route and visibility is tried, also after one has failed."""
    failures = []
    for route, check in ROUTES.items():
        for visibility in VISIBILITIES:
            try:
                check(world, role, visibility)
            except AssertionError as error:
                failures.append(f"{route}, {visibility} run, {role}: {error}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("role", ROLES)
def test_counts_and_ranks_hold_only_what_is_seen(world: World, role: str) -> None:
    seen = 1 + sum(sees(role, visibility) for visibility in VISIBILITIES)
    document = get(world, role, "api:board", EHR_BOARD).json()
    assert len(document["table"]["rows"]) == seen
    assert [row["cells"]["rank"]["rank"] for row in document["table"]["rows"]] == list(range(1, seen + 1))
    card = next(card for card in get(world, role, "api:boards").json() if card["slug"] == EHR_BOARD)
    assert card["models"] == seen


@pytest.mark.parametrize("role", ROLES)
def test_a_figure_draws_only_what_is_seen(world: World, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reaches the pen, since a picture is no text to search."""
    drawn: list[str] = []
    monkeypatch.setattr("leaderboard.pictures.drawn", lambda kind, what, *more: drawn.append(repr(what)) or b"")
    get(world, role, "board-figure", EHR_BOARD, "svg")
    path = reverse("board-figure", args=[EHR_BOARD, "svg"])
    for query in ("kind=heat&by=task_type", f"kind=scatter&with={EHR_BOARD}"):
        assert world.clients[role].get(f"{path}?{query}").status_code == 200
    assert len(drawn) == 3
    for visibility, run in world.hidden.items():
        assert [run.model_name in what for what in drawn] == [sees(role, visibility)] * 3
        slug = LIVE_BOARD.replace("2025_h1", f"of_{visibility}")
        status = world.clients[role].get(f"{path}?kind=scatter&with={slug}").status_code
        assert status == 400  # no board here, or no model in common


def test_a_private_run_moves_nothing_for_others(world: World, tmp_path: Path) -> None:
    def seen() -> list[bytes]:
        pages = [
            ("home",),
            ("models",),
            ("board", EHR_BOARD),
            ("board-by", EHR_BOARD, "task"),
            ("board-facet", EHR_BOARD, "task", facet_key(TASK)),
            ("board-mix", EHR_BOARD),
            ("api:boards",),
            ("api:models",),
            ("api:board", EHR_BOARD),
        ]
        return [get(world, "anonymous", *page).content for page in pages]

    before = seen()
    load(ehr_tree(tmp_path / "more", {"one_more": 20}), "private", owner=world.people.owner)
    assert [first == then for first, then in zip(before, seen(), strict=True)] == [True] * len(before)


def test_an_inactive_person_is_a_stranger(world: World) -> None:
    gone = User(pk=world.people.owner.pk, is_active=False, is_staff=True)
    assert not Run.objects.visible_to(gone).exclude(visibility="public").exists()
    assert Board.objects.visible_to(gone).count() == 2


def test_a_registered_name_alone_is_not_shown(world: World) -> None:
    """A model that only a private tree's clinboard.yaml names is nobody else's to know."""
    LanguageModel.objects.create(slug="unborn", name="Unborn 1", registered=True)
    assert get(world, "stranger", "model", "unborn").status_code == 404
    assert b"Unborn 1" not in get(world, "stranger", "models").content


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_a_known_model_shows_only_its_visible_runs(
    people: People, client: Client, tmp_path: Path, role: str, visibility: str
) -> None:
    """A registered model: with hidden runs only it is not there; beside a public run a hidden one is not counted."""
    (hidden,) = load(ehr_tree(tmp_path / "hidden", {"glm_4_7": 18}), visibility, owner=people.owner, team=people.team)
    if role != "anonymous":
        client.force_login(people[role])
    page, seen = hidden.model.get_absolute_url(), sees(role, visibility)
    assert client.get(page).status_code == (200 if seen else 404)
    for path in ("/models/", "/api/v1/models"):
        assert ("GLM-4.7" in client.get(path).content.decode()) == seen
    (shown,) = load(ehr_tree(tmp_path / "shown", {"glm_4_7": 3}))
    text = client.get(page).content.decode()
    assert shown.key in text and (hidden.key in text) == seen
    (row,) = models_page(people[role])["table"].rows
    assert row.cells[3].value == 1 + seen
    assert (hidden.key in client.get(shown.get_absolute_url()).content.decode()) == seen
