"""Pages of single items: what they show, that no text becomes markup, and that any key has a safe address."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import QueryDict
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluation.models import Benchmark, Item, Run
from ingest.models import GoldPlace
from leaderboard.itempages import source_links
from leaderboard.itemsets import case_address, item_address
from leaderboard.messages import message_texts, message_views
from leaderboard.texts import Mark, segments, text_piece
from tests.conftest import ROLES, People
from tests.ingest.trees import Row, Tree, answered, ehr_gold, live_case, live_results, med_document, run_path
from tests.leaderboard.worlds import QUESTIONS, ehr_tree, live_tree, load

pytestmark = pytest.mark.django_db
EVIL = "<script>alert(1)</script><img src=//x onerror=y> & \\boxed{B}"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@pytest.fixture
def reader(people: People, client: Client) -> Client:
    """Somebody in the data-access group; every benchmark shows its items to it."""
    Benchmark.objects.update(item_access="group")
    client.force_login(people["member"])
    return client


def case_tree(root: Path, **meta: Any) -> Tree:
    """One case of three questions with texts, a figure beside the dataset and one that is elsewhere."""
    case = live_case("PMC7", "BCA", doi="10.1000/a b", title="Of <b>bold</b> moves")
    policy = case["exam_creation"]["final_policy"]
    policy["scenario"] = EVIL
    policy["scenario_image_details"] = [
        {"file": "a.png", "caption": "Film", "type": "CT", "url": "https://far.example/a.png"}
    ]
    policy["scenario_table_details"] = [{"caption": "Labs", "type": "Lab", "content": "<td>7</td>"}]
    policy["mcqs"][0] |= {"question": "Which?", "options": {"A": "one", "B": EVIL}}
    policy["mcqs"][1]["image_details"] = [{"file": "../../secret.png", "caption": "Far", "type": "CT"}]
    tree = Tree(root)
    tree.bytes("data/image/a.png", PNG)
    tree.bytes("secret.png", PNG)
    tree.lines("data/dataset.jsonl", [live_case("PMC1", "AA"), case])
    document: Row = live_results("alder", {"PMC7": "BBA"}, **meta)
    document["cases"][0]["mcqs"][0]["model_response"] = f"{EVIL} and \\boxed{{C}}"
    document["cases"][0]["mcqs"][2]["error"] = "refused by https://10.0.0.7/v1 at /srv/lab/x.py"
    tree.json("alder.json", document)
    return tree


def get(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    text = answer.content.decode()
    if status == 200:
        assert "noindex" in answer["X-Robots-Tag"] and 'content="noindex' in text
        assert "<script>alert" not in text and "<img src=//" not in text and " style=" not in text
    return text


# --- one answer -------------------------------------------------------------------------------------------------------


def test_an_answer_with_what_each_evaluator_took(reader: Client, tmp_path: Path) -> None:
    (run,) = load(case_tree(tmp_path))
    text = get(reader, f"/runs/{run.key}/items/0/")
    assert "Read from its place and checked" in text and text.count("✓ the same") == 2
    # officially the first box, by a careful reading the last: B stands in the first, C in the last
    assert '\\boxed{<mark title="taken by liveclin-official-2026-02">B</mark>}' in text
    assert '\\boxed{<mark title="taken by clinboard-mcq-1">C</mark>}' in text
    assert "/cases/0/mcqs/0" in text and "alder.json" in text
    assert f"{item_address('liveclin', '2025_H1', 'PMC7:0')}".replace("&", "&amp;") in text


def test_addresses_of_the_lab_are_for_who_may_see_them(reader: Client, people: People, tmp_path: Path) -> None:
    (run,) = load(case_tree(tmp_path), owner=people.owner)
    for address in (f"/runs/{run.key}/items/2/", f"/runs/{run.key}/items/2/?text=error"):
        text = get(reader, address)
        assert "refused by (address) at (path)" in text and "10.0.0.7" not in text and "/srv" not in text
    people["member"].is_staff = True
    people["member"].save()
    assert "10.0.0.7" in get(reader, f"/runs/{run.key}/items/2/?text=error")


def test_a_changed_file_is_told(reader: Client, tmp_path: Path) -> None:
    tree = case_tree(tmp_path)
    (run,) = load(tree)
    (tmp_path / "alder.json").write_text("{}")
    text = get(reader, f"/runs/{run.key}/items/0/")
    assert "The answer cannot be shown." in text and "it has 2 bytes" in text and str(tmp_path) not in text
    assert "liveclin-official-2026-02" in text and "boxed" in text and "<mark" not in text


def test_a_long_answer_comes_in_pieces(reader: Client, tmp_path: Path) -> None:
    tree = case_tree(tmp_path)
    document = json.loads((tmp_path / "alder.json").read_text())
    document["cases"][0]["mcqs"][0]["model_response"] = "x" * 50_000 + " \\boxed{B} end"
    tree.json("alder.json", document)
    (run,) = load(tree)
    page = f"/runs/{run.key}/items/0/"
    text = get(reader, page)
    assert (
        len(text) < 40_000 and "characters 1–20000 of 50014" in text and " end" not in text.split("Where it stands")[0]
    )
    assert "?text=answer&amp;from=50008" in text  # where the letter stands
    piece = get(reader, f"{page}?text=answer&from=40000")
    assert "end</pre>" in piece and "characters 40001–50014" in piece
    assert "characters 50014–50014" in get(reader, f"{page}?text=answer&from=99999999")
    assert "Where it stands" in get(reader, f"{page}?text=nothing&from=-3")


def test_tool_calls_are_folded(reader: Client, tmp_path: Path) -> None:
    tree = ehr_tree(tmp_path, {})
    row = answered("q00", "alpha", question="see /srv/lab/data/q.txt")
    image = {"type": "image", "source": {"media_type": "image/png", "data": "A" * 99}}
    call = {"function": {"name": "ehr.load", "arguments": "/srv/lab/data"}}
    row["messages"][:0] = [
        {"role": "user", "content": [{"type": "text", "text": EVIL}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "y" * 9000},
    ]
    tree.lines(run_path("alder"), [row])
    (run,) = load(tree)
    text = get(reader, f"/runs/{run.key}/items/0/")
    assert "image/png, 99 characters of base64" in text and "<code>ehr.load</code>" in text
    assert "characters 1–4000 of 9000" in text and "/srv/lab" not in text and text.count("(path)") == 2
    assert "characters 4001–9000 of 9000" in get(reader, f"/runs/{run.key}/items/0/?text=m2c&from=4000")
    for odd in ("m9c", "m2x", "m", "mc", "m99999999999c", "t0"):
        assert "All of this answer" not in get(reader, f"/runs/{run.key}/items/0/?text={odd}")


def test_the_judge_speaks_for_each_run(reader: Client, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.json("dataset.json", med_document())
    for number, score in ((1, 4), (2, 2)):
        document = med_document({(1, 1): 5, (1, 2): score})
        for question in document["医疗知识"]:
            question |= {"model_answer_judgement": f"run {number} says [{score}]", "checklist": "must {name} it"}
        tree.json(f"alder/run{number}_score.json", document)
    (run,) = load(tree)
    text = get(reader, f"/runs/{run.key}/items/1/")
    assert "Judging run 1: score 4" in text and "run 2 says [2]" in text and "must {name} it" in text
    assert "Round 1: the question" in text and "invented 1.1" in text
    (tmp_path / "alder/run2_score.json").unlink()
    assert "The file is gone" in get(reader, f"/runs/{run.key}/items/1/")


# --- lists, items, cases ----------------------------------------------------------------------------------------------


def test_the_list_filters_by_outcome_and_facet(reader: Client, tmp_path: Path) -> None:
    (run,) = load(live_tree(tmp_path, {"a": ("alder", ["AB"] * 3 + ["AA"] * 2 + ["-B"])}))
    page = f"/runs/{run.key}/items/"
    assert get(reader, page).count("PMC") >= 16
    wrong = get(reader, f"{page}?outcome=wrong")
    assert "PMC3:1" in wrong and "PMC0:1" not in wrong and "wrong <span" in wrong
    first = get(reader, f"{page}?dimension=position&facet=Q1&outcome=error")
    assert "PMC5:0" in first and "PMC5:1" not in first
    missing = get(reader, f"{page}?outcome=missing")
    assert "PMC7:1" in missing and "no row" in missing
    for odd in ("outcome=odd", "by=nobody", "repeat=7", "dimension=position&facet=Q9", "dimension=x"):
        get(reader, f"{page}?{odd}", 404)
    assert "noindex" in reader.get(page)["X-Robots-Tag"]


def test_scores_lead_to_their_items(reader: Client, people: People, tmp_path: Path) -> None:
    (run,) = load(live_tree(tmp_path, {"a": ("alder", ["AB"] * 8)}))
    link = f"/runs/{run.key}/items/?by=liveclin-official-2026-02&amp;dimension=position&amp;facet=Q2"
    assert link in reader.get(run.get_absolute_url()).content.decode()
    get(reader, link.replace("&amp;", "&"))
    assert "/items/" not in Client().get(run.get_absolute_url()).content.decode()


def test_an_item_over_all_models(reader: Client, people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "a", {"alder": 5, "birch": 0}))
    load(ehr_tree(tmp_path / "b", {"cedar": 3}, asked=3))
    load(ehr_tree(tmp_path / "c", {"secretive": 9}), "private", owner=people.owner)
    text = get(reader, item_address("ehr-bench", "v1", "q03"))
    assert "1 of 2 answers is right" in text and "no row" in text and "cedar" in text and "secretive" not in text


def test_a_case_with_its_texts(reader: Client, tmp_path: Path) -> None:
    load(case_tree(tmp_path))
    text = get(reader, case_address("liveclin", "2025_H1", "PMC7"))
    assert (
        "1 broke first at 2" in text and "Of &lt;b&gt;bold&lt;/b&gt; moves" in text and "&lt;td&gt;7&lt;/td&gt;" in text
    )
    assert 'href="https://pmc.ncbi.nlm.nih.gov/articles/PMC7/" rel="noreferrer noopener"' in text
    assert 'href="https://doi.org/10.1000/a%20b" rel="noreferrer noopener"' in text
    assert "far.example" not in text and text.count("<img ") == 1 and "It does not lie beside" in text
    assert text.count("✓ gold") == 1  # only the first question has options
    figure = "/cases/liveclin/figure/?release=2025_H1&case=PMC7&place="
    answer = reader.get(f"{figure}scenario&number=0")
    assert (answer.content, answer["Content-Type"]) == (PNG, "image/png")
    assert answer["X-Content-Type-Options"] == "nosniff" and "noindex" in answer["X-Robots-Tag"]
    for odd in ("2&number=0", "scenario&number=9", "0&number=0", "-1&number=0", "x&number=0", "scenario&number=%C2%B2"):
        assert reader.get(figure + odd).status_code == 404, odd


def test_a_dataset_that_is_gone_or_other_is_told(reader: Client, tmp_path: Path) -> None:
    load(case_tree(tmp_path))
    dataset, address = tmp_path / "data/dataset.jsonl", case_address("liveclin", "2025_H1", "PMC7")
    text = dataset.read_text()
    dataset.write_text(text.replace('"correct_answer": "B"', '"correct_answer": "C"'))
    assert "The dataset file data/dataset.jsonl has changed: its sha256" in get(reader, address)
    GoldPlace.objects.all().delete()  # of a tree that was read before places were kept only the size is known
    assert "other letters for this case" in get(reader, address)
    dataset.write_text(text)
    assert "Read from" in get(reader, address)
    dataset.unlink()
    assert "It is not known where the dataset file lies" in get(reader, address)


@pytest.fixture
def apart(tmp_path: Path) -> Tree:
    """The results in `results`, the dataset with its figure in `data`, outside their tree and named with --gold."""
    tree = case_tree(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "alder.json").rename(tmp_path / "results/alder.json")
    load(Tree(tmp_path / "results"), gold=[(None, tmp_path / "data")])
    return tree


CASE = case_address("liveclin", "2025_H1", "PMC7")
PICTURE = "/cases/liveclin/figure/?release=2025_H1&case=PMC7&place=scenario&number=0"


def test_a_dataset_outside_the_tree_is_found_again(reader: Client, people: People, apart: Tree) -> None:
    text = get(reader, CASE)
    assert "Which?" in text and "✓ gold" in text and 'Read from <code class="path">dataset.jsonl</code>' in text
    assert reader.get(PICTURE).content == PNG
    assert str(apart.root) not in text
    people["member"].is_staff = True
    people["member"].save()
    assert f":{apart.root}/data/dataset.jsonl</code>" in get(reader, CASE)


def test_a_dataset_reached_by_a_link_out_of_the_tree_is_found_again(reader: Client, tmp_path: Path) -> None:
    case_tree(tmp_path)
    tree = Tree(tmp_path / "results")
    (tmp_path / "alder.json").rename(tmp_path / "real.json")
    tree.link("alder.json", "../real.json")
    tree.link("gold", "../data")
    (run,) = load(tree, allow_outside=[str(tmp_path)])
    for kept in (True, False):
        text = get(reader, CASE)
        assert "Which?" in text and "gold/dataset.jsonl" in text and str(tmp_path) not in text
        assert reader.get(PICTURE).content == PNG
        if kept:
            GoldPlace.objects.all().delete()
    assert "Read from its place and checked" in get(reader, f"/runs/{run.key}/items/0/")


def test_a_dataset_outside_the_tree_must_be_what_was_read(reader: Client, apart: Tree) -> None:
    dataset = apart.root / "data/dataset.jsonl"
    text, size = dataset.read_text(), dataset.stat().st_size
    os.utime(dataset, (1, 1))
    assert "Which?" in get(reader, CASE)  # touched only: its sha256 is the one that was read
    for other, why in (
        (text.replace("Which?", "Whose?"), "has changed: its sha256 is not the one that was read"),
        (text + "\n", f"has changed: it has {size + 1:,} bytes, and had {size:,}"),
    ):
        dataset.write_text(other)
        page = get(reader, CASE)
        assert f"The dataset file dataset.jsonl {why}" in page and "Which?" not in page and "Whose?" not in page
        assert reader.get(PICTURE).status_code == 404
    dataset.unlink()
    page = get(reader, CASE)
    assert "The dataset file dataset.jsonl is gone" in page and str(apart.root) not in page
    assert "Gold: <code" in page and reader.get(PICTURE).status_code == 404
    dataset.write_text(text)
    Item.objects.filter(key="PMC7:0").update(gold="J")
    assert "other letters for this case" in get(reader, CASE)
    GoldPlace.objects.update(host="elsewhere")
    assert "or not on this machine" in get(reader, CASE)
    GoldPlace.objects.all().delete()
    assert "It is not known where the dataset file lies" in get(reader, CASE)


@pytest.mark.parametrize("role", ROLES)
def test_a_place_on_disk_is_for_staff_who_may_see_the_items(people: People, apart: Tree, role: str) -> None:
    Benchmark.objects.update(item_access="members")
    client = Client()
    if role != "anonymous":
        client.force_login(people[role])
    (apart.root / "data/dataset.jsonl").unlink()
    answer = client.get(CASE)
    assert answer.status_code == (404 if role == "anonymous" else 200)
    assert (str(apart.root) in answer.content.decode()) == (role == "staff")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("access", ["nobody", "group", "members", "public"])
def test_levels_of_access(people: People, tmp_path: Path, role: str, access: str) -> None:
    (run,) = load(case_tree(tmp_path))
    Benchmark.objects.update(item_access=access)
    client = Client()
    if role != "anonymous":
        client.force_login(people[role])
    seen = {"nobody": False, "group": role == "member", "members": role != "anonymous", "public": True}[access]
    for address in (
        f"/runs/{run.key}/items/",
        f"/runs/{run.key}/items/0/",
        item_address("liveclin", "2025_H1", "PMC7:0"),
        case_address("liveclin", "2025_H1", "PMC7"),
        "/cases/liveclin/figure/?release=2025_H1&case=PMC7&place=scenario&number=0",
    ):
        assert client.get(address).status_code == (200 if seen else 404), address


def test_few_queries(reader: Client, tmp_path: Path, django_assert_max_num_queries: Any) -> None:
    """The same number for one run and for many, for one item and for a page of them."""
    runs = load(ehr_tree(tmp_path, {f"model_{number}": number for number in range(9)}))
    for address, most in (
        (f"/runs/{runs[0].key}/items/", 9),
        (f"/runs/{runs[0].key}/items/3/", 13),
        (item_address("ehr-bench", "v1", "q03"), 10),
        (case_address("ehr-bench", "v1", "q03"), 10),
    ):
        reader.get(address)
        with django_assert_max_num_queries(most):
            assert reader.get(address).status_code == 200


# --- addresses and texts ----------------------------------------------------------------------------------------------

KEY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


@given(KEY, KEY)
def test_every_key_has_an_address_that_leads_back(release: str, key: str) -> None:
    for name, address in (("item", item_address("b-1", release, key)), ("case", case_address("b-1", release, key))):
        parts = urlsplit(address)
        query = QueryDict(parts.query)
        assert (query["release"], query[name]) == (release, key)
        assert address.isascii() and not set(address) & set("<>\"' \n\\") and parts.fragment == ""


@pytest.mark.parametrize("key", ["a/b", "..", ".", "?x#y", "医疗:1", "a\\x00b", "%2F", "+ +", "\u202e"])
def test_odd_keys_are_found(reader: Client, tmp_path: Path, key: str) -> None:
    tree = Tree(tmp_path)
    tree.json("gold/ehr_bench.json", ehr_gold({name: ["Alpha"] for name in (*QUESTIONS, key)}))
    tree.lines(run_path("alder"), [answered(name, "alpha") for name in (*QUESTIONS, key)])
    (run,) = load(tree)
    assert Item.objects.filter(key=key).exists() and Run.objects.get().counts["extra"] == 0
    assert "1 of 1 answers is right" in get(reader, item_address("ehr-bench", "v1", key))
    assert "✓ the same" in get(reader, f"/runs/{run.key}/items/20/")


@pytest.mark.parametrize(
    "query", ["", "?release=v1", "?release=%00&item=%00", "?release=v1&item=zz", "?release=x&item=q00"]
)
def test_what_is_not_there(reader: Client, tmp_path: Path, query: str) -> None:
    load(ehr_tree(tmp_path, {"alder": 1}))
    for slug in ("ehr-bench", "liveclin", "nothing"):
        assert reader.get(f"/items/{slug}/{query}").status_code == 404
        assert reader.get(f"/cases/{slug}/{query.replace('item', 'case')}").status_code == 404


TEXT = st.text(max_size=30)


@given(TEXT, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))), st.integers(0, 30), st.integers(0, 30))
def test_segments_are_the_text_and_mark_what_is_marked(
    text: str, spans: list[tuple[int, int]], start: int, size: int
) -> None:
    marks = [Mark(min(span), max(span), f"e{number}") for number, span in enumerate(spans) if min(span) < max(span)]
    start, end = min(start, len(text)), min(start + size, len(text))
    found = segments(text, marks, start, end)
    shown = "".join(part.text for part in found)
    assert shown == text[start:end].encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if text.isascii() and "\0" not in text:
        at = start
        for part in found:
            for place in range(at, at + len(part.text)):
                assert part.who == ", ".join(mark.who for mark in marks if mark.start <= place < mark.end)
            at += len(part.text)


@given(TEXT, st.integers(-5, 50), st.integers(1, 9))
def test_pieces_join_to_the_text(text: str, start: int, size: int) -> None:
    piece = text_piece("k", "label", text, start, size)
    assert 0 <= piece.start <= piece.end <= len(text)
    assert (piece.after is None) == (piece.end == len(text)) and piece.after in (None, piece.end)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "function", "name", "arguments", "type", "text", "source", "data"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(ANY, max_size=4))
def test_messages_of_any_shape_are_shown(messages: list[Any]) -> None:
    views = message_views(messages, 0, lambda key, text: text)
    assert [view.number for view in views] == list(range(len(messages)))
    for number, view in enumerate(views):
        assert {text.key for text in view.texts} == set(message_texts(number, messages[number])[0])


@pytest.mark.parametrize(
    ("case", "dataset", "links"),
    [
        ("PMC12", {}, ["https://pmc.ncbi.nlm.nih.gov/articles/PMC12/"]),
        ("10.1/x", {}, []),
        ("x", {"doi": '10.1234/a"b<c'}, ["https://doi.org/10.1234/a%22b%3Cc"]),
        ("x", {"pmc": "javascript:1", "doi": "javascript:1"}, []),
        ("PMC1/../x", {"pmc": 7}, []),
    ],
)
def test_links_to_the_article(case: str, dataset: dict[str, Any], links: list[str]) -> None:
    assert [href for _, href in source_links(case, dataset)] == links
