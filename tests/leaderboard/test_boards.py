"""Boards from runs: who is ranked and how, what stands beside a figure, and what is kept apart."""

from __future__ import annotations

import datetime
import statistics as plain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from evaluation.models import Evaluation, Evaluator, Run, Score, Split
from evaluation.statistics import percentile_interval, resample_counts
from leaderboard.boards import BoardView, view_board, view_cards
from leaderboard.models import Board
from leaderboard.tables import Cell
from tests.ingest.trees import Tree, called, ehr_gold, failed, med_document, run_path
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, QUESTIONS, ehr_rows, ehr_tree, live_tree, load

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


def view(slug: str = EHR_BOARD) -> BoardView:
    found = view_board(Board.objects.with_benchmark().get(slug=slug), NOBODY)
    assert found is not None
    return found


def rows(board: BoardView) -> dict[str, dict[str, Cell]]:
    """Model -> column -> cell, in the order of the table."""
    keys = [column.key for column in board.table.columns]
    return {row.cells[keys.index("model")].text: dict(zip(keys, row.cells, strict=True)) for row in board.table.rows}


def groups(board: BoardView) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    place = [column.key for column in board.table.columns].index("model")
    for row in board.table.rows:
        found.setdefault(row.group, []).append(row.cells[place].text)
    return found


# --- ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_rank_intervals_and_the_tie_with_the_first(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 17, "cedar": 2}))
    board = view()
    told = {name: (cells["rank"].text, cells["rank"].sub, cells["rank"].tie) for name, cells in rows(board).items()}
    assert told == {"alder": ("1", "1–2", True), "birch": ("2", "1–2", True), "cedar": ("3", "", False)}
    assert board.sentence == "Two of three models are statistically tied for first."
    assert [cells["score"].value for cells in rows(board).values()] == [0.9, 0.85, 0.1]
    assert [cells["score"].text for cells in rows(board).values()] == ["90.0", "85.0", "10.0"]


def test_equal_values_share_a_rank_and_the_next_is_free(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 12, "birch": 12, "cedar": 12, "dogwood": 11}))
    assert [cells["rank"].text for cells in rows(view()).values()] == ["1", "1", "1", "4"]


def test_a_leader_alone_is_not_called_tied(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 20, "birch": 2}))
    board = view()
    assert not any(cells["rank"].tie for cells in rows(board).values())
    assert board.sentence == "alder is first of two, and no other is statistically tied with it."


def test_one_model_alone(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 20}))
    assert view().sentence == "One model is ranked."


def test_the_interval_of_one_run_is_its_own(tmp_path: Path) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 13}))
    stored = Score.objects.get(evaluation__run=run, metric="f1", variant="", dimension="overall")
    cell = rows(view())["alder"]["score"]
    assert (cell.low, cell.high) == (stored.ci_low, stored.ci_high)
    assert cell.href == run.get_absolute_url()


# --- who is not ranked ------------------------------------------------------------------------------------------------


def test_a_partial_run_stands_below_with_missing_as_zero(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "whole", {"alder": 2}))
    load(ehr_tree(tmp_path / "part", {"birch": 10}, asked=10))
    board = view()
    assert groups(board) == {"ranked": ["alder"], "partial": ["birch"]}
    cells = rows(board)["birch"]
    assert (cells["rank"].text, cells["score"].value) == ("–", 0.5)
    assert cells["score"].sub == "100.0 on 50 % of the questions"
    assert (cells["coverage"].text, cells["coverage"].sub) == ("50.0", "10/20")
    assert board.sentence == "One model is ranked."


def test_failed_calls_are_not_heard(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path, {"alder": 20})
    broken = [failed(question) for question in QUESTIONS[18:]]
    tree.lines(run_path("birch"), [*ehr_rows(18, 18), *broken])
    load(tree)
    board = view()
    assert groups(board)["partial"] == ["birch"]
    assert rows(board)["birch"]["score"].sub == "heard on 90 % of the questions"


def test_the_least_coverage_is_the_boards_to_say(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 10}, asked=19))
    assert groups(view()) == {"ranked": ["alder"]}
    Board.objects.update(min_coverage=1.0)
    assert groups(view()) == {"partial": ["alder"]}
    assert view().sentence == "Nobody is ranked: no model was heard on enough of the questions."


def test_nobody_is_ranked_on_a_trial_split(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 3}, split="smoke20"))
    board = view("ehr-bench-v1-smoke20-agentic")
    assert groups(board) == {"unranked": ["alder", "birch"]}
    assert "Nobody is ranked" in board.sentence and "trials" in board.sentence
    (card,) = view_cards(list(Board.objects.with_benchmark()), NOBODY)
    assert (card.ranks, card.leader) == (False, "")
    page = Client().get("/").content.decode()
    assert "Unranked splits" in page and 'class="boards"' not in page


def test_nobody_is_ranked_without_gold(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("alder/score.json", med_document({(1, 1): 5, (2, 1): 2}))
    load(tree)
    board = view("llmeval-med-2025-full-chat")
    assert groups(board) == {"unranked": ["alder"]} and "gold was not given" in board.sentence


def test_earlier_rules_are_not_compared_with_todays(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 3}))
    evaluation = Evaluation.objects.get(run__model_name="alder")
    old = Evaluator.objects.create(
        name=evaluation.evaluator.name,
        benchmark=evaluation.evaluator.benchmark,
        fingerprint="old",
        description="earlier",
        headline="f1",
    )
    Evaluation.objects.filter(pk=evaluation.pk).update(evaluator=old)
    board = view()
    assert groups(board) == {"ranked": ["birch"], "stale": ["alder"]}
    assert rows(board)["birch"]["rank"].text == "1"


@pytest.mark.parametrize("state", ["superseded", "archived"])
def test_only_live_runs_count(tmp_path: Path, state: str) -> None:
    load(ehr_tree(tmp_path, {"alder": 18, "birch": 3}))
    Run.objects.filter(model_name="alder").update(state=state)
    assert groups(view()) == {"ranked": ["birch"]}


def test_a_run_without_scores_opens_no_board(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 18}))
    Evaluation.objects.all().delete()
    assert not Board.objects.visible_to(NOBODY).exists()
    assert view_board(Board.objects.with_benchmark().get(), NOBODY) is None


def test_another_protocol_is_another_board(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path, {"alder": 18, "birch": 3})
    tree.text("clinboard.yaml", 'runs:\n  - {path: "**/birch/**", shots: 5}\n')
    load(tree)
    assert groups(view()) == {"ranked": ["alder"]}
    five = view(f"{EHR_BOARD}-5-shot")
    assert groups(five) == {"ranked": ["birch"]} and "5-shot" in five.subtitle


# --- several runs of one model ----------------------------------------------------------------------------------------


def thrice(*letters: list[str]) -> dict[str, Any]:
    return {f"alder_run{number}": ("alder", of) for number, of in enumerate(letters, 1)}


def test_three_runs_are_one_entry(tmp_path: Path) -> None:
    right = [6, 5, 3]
    load(live_tree(tmp_path, thrice(*(["AB"] * n + ["AC"] * (8 - n) for n in right))))
    board = view(LIVE_BOARD)
    cells = rows(board)["alder"]
    values = [n / 8 for n in right]
    assert cells["score"].value == pytest.approx(plain.fmean(values), abs=1e-15)
    assert cells["repeats"].value == pytest.approx(plain.stdev(values), abs=1e-15)
    assert cells["repeats"].text == "3 ± 19.09"
    assert cells["figure-2"].value == pytest.approx(plain.fmean([(8 + n) / 16 for n in right]))
    assert board.sentence == "One model is ranked."
    low, high = slow_interval([[1.0] * n + [0.0] * (8 - n) for n in right])
    assert (cells["score"].low, cells["score"].high) == (pytest.approx(low), pytest.approx(high))


def slow_interval(cases: list[list[float]]) -> tuple[float, float]:
    """Percentile interval of the mean over runs, resampling whole cases, written out."""
    means = [plain.fmean(of) for of in zip(*cases, strict=True)]
    counts = resample_counts(len(means), Split.objects.get().fingerprint)
    samples = [sum(int(n) * mean for n, mean in zip(row, means, strict=True)) / len(means) for row in counts]
    return percentile_interval(np.array(samples))


def test_one_partial_run_makes_the_entry_partial(tmp_path: Path) -> None:
    load(live_tree(tmp_path, thrice(["AB"] * 8, ["AB"] * 8, ["AB"] * 2)))
    board = view(LIVE_BOARD)
    cells = rows(board)["alder"]
    assert groups(board) == {"partial": ["alder"]}
    assert (cells["coverage"].sub, cells["coverage"].note) == ("4/16", "Of the least complete of its runs.")


def test_repeats_in_one_file(tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path, {})
    right = {1: 10, 2: 12, 3: 17}
    tree.lines(run_path("alder"), [row for n, of in right.items() for row in ehr_rows(of, run_index=n)])
    load(tree)
    cells = rows(view())["alder"]
    assert cells["score"].value == pytest.approx(plain.fmean(right.values()) / 20)
    assert cells["repeats"].value == pytest.approx(plain.stdev(right.values()) / 20)


def test_judging_runs_are_called_so(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("dataset.json", med_document())
    for run, score in enumerate((5, 2, 4), 1):
        tree.json(f"alder/run{run}_score.json", med_document({(1, 1): score, (1, 2): score, (2, 1): score}))
    load(tree)
    board = view("llmeval-med-2025-full-chat")
    assert {"Judging runs ± sd", "Mean of categories", "Mean score"} <= {c.label for c in board.table.columns}
    cells = rows(board)["alder"]
    assert cells["repeats"].n == 3 and cells["repeats"].value == pytest.approx(plain.stdev([1, 0, 1]))
    assert (cells["score"].value, cells["figure-3"].text) == (0.0, "3.67")


@pytest.mark.parametrize("newest", ["first", "second"])
def test_of_two_runs_of_one_repeat_the_newest_answers_count(tmp_path: Path, newest: str) -> None:
    runs = {"first": load(ehr_tree(tmp_path / "a", {"alder": 18}))[0]}
    runs["second"] = load(ehr_tree(tmp_path / "b", {"alder": 4}))[0]
    for name, run in runs.items():
        day = 2 if name == newest else 1
        Run.objects.filter(pk=run.pk).update(answered_at=datetime.datetime(2026, 5, day, tzinfo=datetime.UTC))
    cells = rows(view())["alder"]
    assert cells["score"].href == runs[newest].get_absolute_url()
    assert cells["score"].note == "There is another run of the same repeats: the newest answers count."
    assert (cells["repeats"].text, cells["answered_at"].text) == ("1", "2026-05-02")


def test_a_snapshot_is_an_entry_of_its_own(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "a", {"alder": 18}))
    (other,) = load(ehr_tree(tmp_path / "b", {"alder": 4}))
    Run.objects.filter(pk=other.pk).update(protocol={"snapshot": "2026-07"})
    board = view()
    assert groups(board) == {"ranked": ["alder", "alder"]}
    (card,) = view_cards(list(Board.objects.with_benchmark()), NOBODY)
    assert card.n_models == 1


# --- reported figures -------------------------------------------------------------------------------------------------


@pytest.fixture
def published(db: None) -> None:
    assert called("load_published").code == 0


def test_the_reported_board_of_liveclin(published: None) -> None:
    board = view(LIVE_BOARD)
    names = [row.cells[1].text for row in board.table.rows]
    assert len(names) == 27 and len(set(names)) == 26
    assert names[:4] == ["o3", "GPT-5", "InternVL-3.5-241B", "Gemini-2.5 Pro"]
    assert groups(board).keys() == {"reported"}
    cells = [dict(zip([c.key for c in board.table.columns], row.cells, strict=True)) for row in board.table.rows]
    assert {of["origin"].origin for of in cells} == {"reported"}
    places = [of["rank"].rank for of in cells if of["rank"].rank]
    assert places == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 18, *range(20, 27)]
    assert not any(of["rank"].tie or of["score"].low for of in cells)
    lingshu = [of for of, name in zip(cells, names, strict=True) if name == "LingShu-7B"]
    assert [(of["score"].text, of["rank"].text) for of in lingshu] == [("15.3", "18"), ("11.1", "–")]
    assert "encyclopaedia" in lingshu[0]["origin"].note and "result.png" in lingshu[1]["origin"].note
    assert cells[0]["repeats"].text == "3 ± 0.36"
    (band,) = board.table.bands
    assert (band.label, band.low, band.high) == ("Attending physician to chief physician", 0.346, 0.378)
    assert any(note.startswith("Chief physician: 37.8 %, reported") for note in board.table.notes)
    assert "none was recomputed" in board.sentence


def test_the_papers_order_is_kept(published: None, shared: Path) -> None:
    import json

    told = json.loads((shared / "published" / "liveclin_2025_H1.json").read_text())
    paper = [score["model"] for score in told["scores"] if score["source"] == "card"]
    board = view(LIVE_BOARD)
    ours = [row.cells[1].text for row in board.table.rows if row.cells[0].rank]
    assert len(paper) == 26 and ours == paper


def test_recomputed_and_reported_are_never_one_sort(published: None, tmp_path: Path) -> None:
    load(live_tree(tmp_path, {"a": ("alder", ["AB"] + ["AC"] * 7)}))
    board = view(LIVE_BOARD)
    assert groups(board)["ranked"] == ["alder"]
    assert [row.group for row in board.table.rows][:2] == ["ranked", "reported"]
    assert rows(board)["o3"]["rank"].text == "1"
    card = next(c for c in view_cards(list(Board.objects.with_benchmark()), NOBODY) if c.board.slug == LIVE_BOARD)
    assert card.leader == "alder, 12.5 %" and card.n_models == 27
    assert card.origin_note == "Recomputed and reported figures, apart"


@pytest.mark.parametrize(
    ("slug", "label", "first"),
    [
        ("agent-ehr-bench-v1-subset600-agentic", "F1, 5 tasks", "Claude Opus 4.6"),
        ("mm-bench-v1-full2703-agentic", "F1, 989 questions", "Claude Opus 4.6"),
        ("llmeval-med-2025-full-chat", "Mean of categories", "Deepseek-R1"),
        ("ehr-bench-v1-full1800-oneshot", "F1", "Claude Opus 4.6"),
    ],
)
def test_what_is_reported_is_called_by_its_name(published: None, slug: str, label: str, first: str) -> None:
    board = view(slug)
    assert [c.label for c in board.table.columns if c.kind == "score"] == [label] == [board.metric]
    assert board.table.rows[0].cells[1].text == first
    assert Board.objects.visible_to(NOBODY).filter(slug=slug).exists()


def test_a_reported_average_stands_in_its_own_column(published: None, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    asked = ehr_gold({question: ["Alpha"] for question in QUESTIONS}, task="transfers")
    tree.json(
        "gold/agent_ehr_bench.json", [{k: v for k, v in row.items() if k not in ("qid", "task_type")} for row in asked]
    )
    path = run_path("alder", benchmark="agent_ehr_bench", split="subset600")
    rows_of = [{**row, "qid": f"transfers_{990 + n}"} for n, row in enumerate(ehr_rows(10))]
    tree.lines(path, rows_of)
    load(tree)
    board = view("agent-ehr-bench-v1-subset600-agentic")
    ours, reported = rows(board)["alder"], rows(board)["Claude Opus 4.6"]
    assert (ours["score"].text, ours["figure-2"].text) == ("50.0", "50.0")
    assert (reported["score"].text, reported["figure-2"].text, reported["interval"].text) == ("–", "36.0", "–")


# --- page, JSON, cost -------------------------------------------------------------------------------------------------


def test_page_and_json_say_the_same(tmp_path: Path, client: Client) -> None:
    load(ehr_tree(tmp_path / "whole", {"alder": 18, "birch": 17}))
    load(ehr_tree(tmp_path / "part", {"cedar": 7}, asked=7))
    document = client.get(f"/api/v1/boards/{EHR_BOARD}").json()
    page = client.get(f"/boards/{EHR_BOARD}/").content.decode()
    place = 0
    for row in document["table"]["rows"]:
        for key, cell in row["cells"].items():
            if key != "interval" and cell["text"] not in ("", "–"):
                place = page.index(cell["text"], place)
    assert document["table"] == view().table.as_dict()
    assert document["summary"].endswith("Both models are statistically tied for first.")
    assert view().sentence in page


def test_a_board_costs_few_queries(
    tmp_path: Path, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries, published: None
) -> None:
    models = {f"tree_{n}": n % 20 for n in range(15)}
    load(live_tree(tmp_path / "live", thrice(["AB"] * 8, ["AB"] * 7, ["AB"] * 6)))
    load(ehr_tree(tmp_path / "ehr", models))
    for slug in (EHR_BOARD, LIVE_BOARD):
        for most in (13, 8):  # the second time the board is kept and only asked whether it is what it was
            with django_assert_max_num_queries(most):
                assert client.get(f"/boards/{slug}/").status_code == 200
    with django_assert_max_num_queries(6):
        assert client.get("/").status_code == 200
    run = Run.objects.filter(split__release__benchmark__slug="ehr-bench").first()
    with django_assert_max_num_queries(12):
        assert client.get(run.get_absolute_url()).status_code == 200


def test_what_is_kept_is_made_anew_when_a_run_comes(tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "a", {"alder": 18, "birch": 17}))
    assert view().sentence.startswith("Both models")
    load(ehr_tree(tmp_path / "b", {"cedar": 1}))
    assert view().sentence.startswith("Two of three")


def test_the_sample_is_marked_as_invented(tmp_path: Path, client: Client) -> None:
    load(ehr_tree(tmp_path, {"alder": 18}), release="sample")
    assert b"Invented:" in client.get("/boards/ehr-bench-sample-full1800-agentic/").content
    assert b"invented" in client.get("/").content
