"""Head to head: the four cells, the difference and its facets against a slow twin, what is refused, and who sees items."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import Benchmark, Evaluation, LanguageModel, Run
from evaluation.statistics import resample_counts
from leaderboard.compare import compare_page, find_sides, pairs_of, pairs_of_model
from leaderboard.evaluators import Tally
from leaderboard.headtohead import parts_of
from tests.conftest import People
from tests.ingest.trees import answered, ehr_gold, run_path
from tests.leaderboard.worlds import EHR_BOARD, LIVE_BOARD, QUESTIONS, Tree, ehr_tree, live_tree, load

pytestmark = pytest.mark.django_db


def page(people: People, role: str = "anonymous", **query: str) -> dict[str, Any]:
    return compare_page(people[role], query)


def text_of(people: People, role: str, **query: str) -> str:
    client = Client()
    if role != "anonymous":
        client.force_login(people[role])
    return client.get("/compare/", query).content.decode()


@pytest.fixture
def runs(people: People, tmp_path: Path) -> dict[str, Run]:
    """12 and 8 of 20 right, the 12 among them the 8; a partial one that was asked 10 and has 9 right."""
    full = load(ehr_tree(tmp_path / "a", {"alder": 12, "birch": 8}))
    (cedar,) = load(ehr_tree(tmp_path / "b", {"cedar": 9}, asked=10))
    return {run.model_name: run for run in (*full, cedar)}


# --- the numbers ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 0.5, 1]), st.sampled_from([0, 0.5, 1]), st.integers(0, 4)),
        min_size=1,
        max_size=30,
    )
)
def test_parts_equal_a_slow_twin(rows: list[tuple[float, float, int]]) -> None:
    one, two = (np.array([row[side] for row in rows], float) for side in (0, 1))
    codes = np.array([row[2] for row in rows])
    members = [number for number, row in enumerate(rows) if row[0] != 0.5]
    found = parts_of(one, two, codes, {"d": {"f": members, "none": []}}, "seed")["d"]
    assert found["none"].n == 0 and found["none"].difference is None
    part = found["f"]
    assert part.n == len(members)
    if not members:
        assert part.low is None
        return
    assert part.first == float(Fraction(sum(int(2 * rows[n][0]) for n in members), 2 * len(members)))
    rights = [(rows[n][0] == 1, rows[n][1] == 1) for n in members]
    assert part.counts == Tally(
        *(rights.count(pair) for pair in [(True, True), (True, False), (False, True), (False, False)])
    )

    sums = {code: sum(rows[n][0] - rows[n][1] for n in members if rows[n][2] == code) for code in codes.tolist()}
    if not any(sums.values()):
        assert part.low is part.high is None
        return
    names = sorted(set(codes.tolist()))
    means = []
    for counts in resample_counts(len(names), "seed").tolist():
        times = dict(zip(names, counts, strict=True))
        weight = sum(times[rows[n][2]] for n in members)
        if weight:
            means.append(sum(times[rows[n][2]] * (rows[n][0] - rows[n][1]) for n in members) / weight)
    low, high = np.quantile(means, 0.025), np.quantile(means, 0.975)
    # five clusters at most differ: never enough to tell two apart
    assert part.low == pytest.approx(min(low, 0), abs=1e-8) and part.high == pytest.approx(max(high, 0), abs=1e-8)


def test_counts_difference_and_test(runs: dict[str, Run], people: People) -> None:
    found = page(people, a=runs["alder"].key, b=runs["birch"].key)["found"]
    assert found.whole.counts == Tally(both=8, only_first=4, only_second=0, neither=8)
    assert found.whole.difference == pytest.approx(0.2)
    assert found.higher == (4, 0) and found.p == 2 * 0.5**4
    # four of twenty patients differ: an exact sign test is not significant, so neither is the interval
    assert found.whole.low <= 0 < found.whole.high and not found.graded
    assert "cannot be told apart" in text_of(people, "anonymous", a=runs["alder"].key, b=runs["birch"].key)


def test_enough_patients_tell_two_apart(people: People, tmp_path: Path) -> None:
    alder, birch = load(ehr_tree(tmp_path, {"alder": 18, "birch": 4}))
    context = page(people, a=birch.key, b=alder.key)
    assert context["found"].whole.high < 0 and context["leads"] == "b"
    assert context["found"].parts["task"]["labevents"].high == pytest.approx(context["found"].whole.high)


def test_the_other_way_round(runs: dict[str, Run], people: People) -> None:
    one = page(people, a=runs["alder"].key, b=runs["birch"].key)["found"].whole
    two = page(people, a=runs["birch"].key, b=runs["alder"].key)["found"].whole
    assert (two.first, two.second, two.low, two.high) == (one.second, one.first, -one.high, -one.low)
    assert (two.counts.only_first, two.counts.only_second) == (one.counts.only_second, one.counts.only_first)


def test_values_between_are_not_right_and_stand_in_the_test(people: People, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("gold/ehr_bench.json", ehr_gold({name: ["Alpha", "Beta"] for name in QUESTIONS}))
    tree.lines(run_path("half"), [answered(name, "alpha") for name in QUESTIONS])
    tree.lines(run_path("none"), [answered(name, "omega") for name in QUESTIONS])
    half, none = load(tree)
    found = page(people, a=half.key, b=none.key)["found"]
    assert found.whole.counts == Tally(0, 0, 0, 20) and found.graded
    assert found.higher == (20, 0) and found.whole.first == pytest.approx(2 / 3)
    assert "Exact sign test" in text_of(people, "anonymous", a=half.key, b=none.key)


def test_cases_are_compared_where_the_headline_is_of_cases(people: People, tmp_path: Path) -> None:
    letters = {"a": ("alder", ["AB"] * 8), "b": ("birch", ["AB"] * 2 + ["AA"] * 6)}
    alder, birch = load(live_tree(tmp_path, letters))
    found = page(people, a=alder.key, b=birch.key)["found"]
    assert found.whole.counts == Tally(2, 6, 0, 0) and found.whole.n == 8
    assert {facet: part.n for facet, part in found.parts["rarity"].items()} == {"rare": 8}
    assert "position" not in found.parts
    by_question = page(people, a=alder.key, b=birch.key, metric="question_accuracy")
    assert by_question["found"].whole.n == 16 and by_question["caution"]
    assert by_question["found"].parts["position"]["Q2"].counts == Tally(2, 6, 0, 0)


def test_the_difference_is_that_of_the_board(runs: dict[str, Run], people: People) -> None:
    sides = [f"{EHR_BOARD}/{runs[name].model.slug}" for name in ("alder", "birch")]
    by_entry = page(people, a=sides[0], b=sides[1])["found"].whole
    assert by_entry == page(people, a=runs["alder"].key, b=runs["birch"].key)["found"].whole


# --- what is missing, what is refused ---------------------------------------------------------------------------------


def test_missing_counts_nothing_and_common_items_are_offered(runs: dict[str, Run], people: People) -> None:
    asked = {"a": runs["alder"].key, "b": runs["cedar"].key}
    context = page(people, **asked)
    assert context["found"].missing == (0, 10) and context["found"].whole.second == pytest.approx(9 / 20)
    common = page(people, **asked, items="common")["found"]
    assert common.whole.n == 10 and common.whole.counts == Tally(9, 1, 0, 0)
    assert "items=common" in context["offer"]


def test_another_split_is_refused_and_its_common_items_offered(
    runs: dict[str, Run], people: People, tmp_path: Path
) -> None:
    (small,) = load(ehr_tree(tmp_path / "s", {"alder": 20}, split="smoke20"))
    assert small.split_id != runs["birch"].split_id
    asked = {"a": small.key, "b": runs["birch"].key}
    refused = page(people, **asked)
    assert "hold other items" in refused["problem"] and "found" not in refused
    common = page(people, **asked, items="common")["found"]
    assert common.whole.counts == Tally(8, 12, 0, 0)


def test_other_benchmarks_gold_rules_and_the_same_run_are_refused(
    runs: dict[str, Run], people: People, tmp_path: Path
) -> None:
    (live,) = load(live_tree(tmp_path / "l", {"a": ("alder", ["AB"] * 8)}))
    one = runs["alder"].key
    assert "ask other questions" in page(people, a=one, b=live.key)["problem"]
    same = page(people, a=live.key, b=live.key)
    assert "the same run" in same["problem"] and same["rules"] == f"/runs/{live.key}/evaluators/"
    assert "no evaluator" in page(people, a=one, b=runs["birch"].key, by="none")["problem"]
    Evaluation.objects.filter(run=runs["birch"]).update(gold_fingerprint="older")
    assert "earlier gold" in page(people, a=one, b=runs["birch"].key)["problem"]
    Evaluation.objects.filter(run=runs["birch"]).delete()
    assert "no figures by this evaluator" in page(people, a=one, b=runs["birch"].key)["problem"]


@given(st.text(max_size=40))
def test_any_side_is_found_or_not(side: str) -> None:
    from django.contrib.auth.models import AnonymousUser

    assert find_sides({"a": side}, AnonymousUser()) == {"a": None}


@pytest.mark.parametrize("query", ["", "?a=", "?a=x&b=y", "?a=%00&b=%00", "?a=a/b/c/d&b=/&cell=z&page=x&metric=%F0"])
def test_odd_addresses_are_pages(people: People, client: Client, query: str) -> None:
    assert client.get(f"/compare/{query}").status_code == 200


# --- items behind the counts, links, cost -----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["anonymous", "member", "staff"])
def test_items_of_a_cell_are_for_who_may_see_them(runs: dict[str, Run], people: People, role: str) -> None:
    text = text_of(people, role, a=runs["alder"].key, b=runs["birch"].key, cell="a")
    assert ("q08" in text) == ("q11" in text) == (role == "member")
    assert "q07" not in text and "q12" not in text
    assert ("omega" in text) == (role == "member")


def test_pairs_that_suggest_themselves(runs: dict[str, Run], people: People, tmp_path: Path) -> None:
    (oneshot,) = load(ehr_tree(tmp_path / "o", {"alder": 3}, mode="oneshot"))
    LanguageModel.objects.filter(pk=runs["alder"].model_id).update(predecessor=runs["birch"].model)
    alder = Run.objects.select_related("model", "split").get(pk=runs["alder"].pk)
    labels = [pair.label for pair in pairs_of(alder, people["anonymous"])]
    assert labels == ["Is newer better? Against its predecessor birch", "agentic against oneshot"]
    of_model = pairs_of_model(alder.model, people["anonymous"])
    assert [pair.label.split(":")[0] for pair in of_model] == [labels[0], labels[1]]
    assert f"b={oneshot.key}" in of_model[1].href
    (newer,) = pairs_of_model(LanguageModel.objects.get(pk=runs["birch"].model_id), people["anonymous"])
    assert newer.label.startswith("Its successor alder") and f"a={alder.key}" in newer.href
    Run.objects.filter(pk=runs["birch"].pk).update(visibility="private")
    assert [pair.label for pair in pairs_of(alder, people["anonymous"])] == labels[1:]


def test_two_repeats_of_one_file(people: People, tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path, {})
    rows = [answered(name, "alpha" if number < right else "omega", run_index=repeat)
            for repeat, right in ((1, 12), (2, 5)) for number, name in enumerate(QUESTIONS)]  # fmt: skip
    tree.lines(run_path("alder"), rows)
    (run,) = load(tree)
    found = page(people, a=f"{run.key}/1", b=f"{run.key}/2")["found"]
    assert found.whole.counts == Tally(5, 7, 0, 8)
    assert page(people, a=f"{run.key}/1", b=f"{run.key}/3")["missing"] == ["b"]


def test_a_board_offers_its_entries(runs: dict[str, Run], client: Client) -> None:
    text = client.get(f"/boards/{EHR_BOARD}/").content.decode()
    assert f'<option value="{EHR_BOARD}/alder">alder</option>' in text


def test_few_queries(runs: dict[str, Run], people: People, client: Client, django_assert_max_num_queries: Any) -> None:
    client.force_login(people["member"])
    asked = {"a": runs["alder"].key, "b": runs["birch"].key}
    client.get("/compare/", asked)
    with django_assert_max_num_queries(10):  # session and person among them
        client.get("/compare/", asked)
    with django_assert_max_num_queries(15):
        client.get("/compare/", {**asked, "cell": "both"})


def test_evaluators_are_chosen_for_both(people: People, tmp_path: Path) -> None:
    alder, birch = load(live_tree(tmp_path, {"a": ("alder", ["AB"] * 8), "b": ("birch", ["AA"] * 8)}))
    found = page(people, a=alder.key, b=birch.key, by="clinboard-mcq-1")
    assert found["evaluator"] == "clinboard-mcq-1" and found["found"].whole.counts == Tally(0, 8, 0, 0)
    assert Benchmark.objects.get(slug="liveclin").item_access == "nobody" and not found["visible"]
    assert LIVE_BOARD in find_sides({"a": f"{LIVE_BOARD}/alder"}, people["anonymous"])["a"].href  # type: ignore[union-attr]
