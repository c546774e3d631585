"""`load_ratings`: the file, what it refuses, and what the run's page shows to whom."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.models import Benchmark, HumanRating, Run
from ingest.readers.human_ratings import KEYS, RatingsError, load
from ingest.strict_rows import MOST_PROBLEMS
from tests.conftest import ROLES, People
from tests.ingest.trees import Tree, ingest, med_document, small_tree

HEADER = ",".join(KEYS)
LINE = "MTG:1:1,A,1,5,4,5,3"


def wrong(path: Path, text: str | bytes) -> list[tuple[int, str, str]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RatingsError) as caught:
        load(path)
    return caught.value.problems


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ratings.csv"


# --- the file ---------------------------------------------------------------------------------------------------------


def as_object(line: str, header: str = HEADER) -> dict[str, Any]:
    return {k: int(v) if v.isdigit() else v for k, v in zip(header.split(","), line.split(","), strict=True)}


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}\n{LINE}\n",
        f"\ufeff{HEADER}\r\n\r\n{LINE}\r\n",
        ",".join(reversed(KEYS)) + "\n" + ",".join(reversed(LINE.split(","))),
        json.dumps(as_object(LINE)) + "\n",
        "\n" + json.dumps({key: str(value) for key, value in as_object(LINE).items()}),
    ],
)
def test_csv_and_json_lines_say_the_same(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
    (rated,) = load(path).lines
    assert (rated.item, rated.rater, rated.rating) == ("MTG:1:1", "A", (1, 5, 4, 5, 3))


@pytest.mark.parametrize("field", KEYS[2:])
@pytest.mark.parametrize("value", ["", "-1", "6", "4.0", " 4", "five", "٤", "+4", "1e0", "nan"])
def test_a_number_off_its_scale_is_told_with_line_field_and_value(path: Path, field: str, value: str) -> None:
    row = {**dict(zip(KEYS, LINE.split(","), strict=True)), field: value}
    ((line, where, told),) = wrong(path, f"{HEADER}\n{LINE}\n\n{','.join(row.values())}\n".replace("A", "B", 1))
    assert (line, where) == (4, field) and repr(value) in told
    assert f"from 0 to {1 if field == 'safety' else 5}" in told


@pytest.mark.parametrize("value", [None, True, 4.0, 2.5, [4], {"a": 1}, 10**40])
def test_json_that_is_no_whole_number_is_refused(path: Path, value: Any) -> None:
    ((line, where, _),) = wrong(path, json.dumps({**as_object(LINE), "correctness": value}))
    assert (line, where) == (1, "correctness")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("", 0, "holds no ratings"),
        (HEADER, 0, "holds no ratings"),
        ("item,rater\nMTG:1:1,A", 1, "the header is"),
        (f"{HEADER}\n{LINE},1", 2, "has 8 fields, expected 7"),
        (f'{HEADER}\n{LINE}\n"x', 3, "is not CSV"),
        (f"{HEADER}\n{LINE}\nMTG:2:1,B,1,5,5,5,5\n{LINE}", 4, "'A' has rated in line 2"),
        (f"{HEADER}\n,A,1,5,5,5,5", 2, "expected text of 1 to 300"),
        (f"{HEADER}\nMTG:1:1,{'x' * 101},1,5,5,5,5", 2, "expected text of 1 to 100"),
        (f"{HEADER}\nMTG:1:1,a\x00b,1,5,5,5,5", 2, "U+0000"),
        ("{", 1, "is not JSON"),
        ('{"item": "a", "item": "b"}', 1, "is given twice"),
        ('{"items": "a"}', 1, "is not a known key"),
        ("{}\n[1]", 2, "is no JSON object"),
        (b"item\n\xff", 2, "byte 0xff"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(path: Path, text: str | bytes, line: int, told: str) -> None:
    assert any(line == where and told in message for where, _, message in wrong(path, text))


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(RatingsError, match=r"ratings.csv: cannot be read: No such file"):
        load(path)


def test_many_problems_are_told_in_part(path: Path) -> None:
    wrong(path, HEADER + "\nMTG:1:1,A,2,5,5,5,5" * (MOST_PROBLEMS + 5))
    with pytest.raises(RatingsError, match="and 5 more"):
        load(path)


@settings(deadline=None, max_examples=60)
@given(text=st.text(max_size=60) | st.text(alphabet='{}[]",:1\n', max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    for before in ("", HEADER + "\n"):
        path.write_text(before + text, encoding="utf-8", errors="surrogatepass")
        with pytest.raises(RatingsError):
            load(path)


# --- the command and the page -----------------------------------------------------------------------------------------

MTG = "医疗文本生成"
GOLD = {**med_document(), **med_document(category=MTG)}


@pytest.fixture
def run(db: None, tmp_path: Path) -> Run:
    """Judged twice: MTG 1:1 is usable in both runs, 1:2 in none, 2:1 by the mean of its scores."""
    tree = Tree(tmp_path / "tree")
    tree.json("dataset.json", GOLD)
    for number, scores in enumerate(("5 3 3", "4 2 5"), 1):
        judged = dict(zip([(1, 1), (1, 2), (2, 1)], scores.split(), strict=True))
        document = {**med_document({(1, 1): "4"}), **med_document(judged, category=MTG)}
        tree.json(f"nova/run{number}_score.json", document)
    assert ingest(tree, "--visibility", "public").code == 0
    return Run.objects.get()


def told(*args: Any) -> str:
    out = StringIO()
    call_command("load_ratings", *args, stdout=out)
    return out.getvalue()


RATED = ["MTG:1:1,A,1,5,5,5,5", "MTG:1:1,B,1,5,5,2,5", "MTG:1:2,A,1,3,3,3,3", "MTG:2:1,A,1,4,4,4,4"]


def test_ratings_are_loaded_and_replaced(run: Run, path: Path) -> None:
    path.write_text("\n".join([HEADER, *RATED]))
    assert "4 ratings of 3 questions by 2 people, in place of 0" in told(path, "--run", run.key)
    assert HumanRating.objects.count() == 4
    path.write_text("\n".join([HEADER, *RATED[:1]]))
    assert "in place of 4 earlier ones" in told(path, "--run", run.key)
    (kept,) = HumanRating.objects.all()
    assert (kept.run, kept.item.key, kept.rater, kept.safety, kept.readability) == (run, "MTG:1:1", "A", 1, 5)
    assert kept.file == "ratings.csv" and len(kept.sha256) == 64


def test_a_dry_run_writes_nothing(run: Run, path: Path) -> None:
    path.write_text("\n".join([HEADER, *RATED]))
    assert "nothing was written" in told(path, "--run", run.key, "--dry-run")
    assert not HumanRating.objects.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("MTG:9:9,A,1,5,5,5,5", "line 3: item is 'MTG:9:9', no question of"),
        ("MK:1:1,A,1,5,5,5,5", "line 3: item is 'MK:1:1', no question of the category MTG"),
        ("MTG:1:2,A,2,5,5,5,5", "line 3: safety is '2'"),
    ],
)
def test_one_wrong_line_loads_nothing(run: Run, path: Path, line: str, message: str) -> None:
    path.write_text("\n".join([HEADER, RATED[0], line]))
    for options in ((), ("--dry-run",)):
        with pytest.raises(CommandError, match=message) as caught:
            told(path, "--run", run.key, *options)
        assert caught.value.returncode == 2
    assert not HumanRating.objects.exists()


def test_only_a_run_of_llmeval_med_is_rated(run: Run, path: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--run nothing: no such run"):
        told(path, "--run", "nothing")
    ingest(small_tree(tmp_path / "other"))
    other = Run.objects.exclude(pk=run.pk).first()
    with pytest.raises(CommandError, match="people rate answers of llmeval-med"):
        told(path, "--run", other.key)


def page(run: Run, user: User | None = None) -> str:
    client = Client()
    if user and user.is_authenticated:
        client.force_login(user)
    return client.get(run.get_absolute_url()).content.decode()


def test_the_page_shows_how_far_the_judge_agrees(run: Run, path: Path) -> None:
    Benchmark.objects.update(item_access="public")
    assert "People beside the judge" not in page(run)
    path.write_text("\n".join([HEADER, *RATED]))
    told(path, "--run", run.key)
    text = " ".join(page(run).split())
    # people: usable 1:1 by A and 2:1; B's usefulness of 2 makes 1:1 a 3; the judge has 1:1 and 2:1
    assert '<th scope="row" class="names">usable</th><td class="num">2</td><td class="num">0</td>' in text
    assert '<th scope="row" class="names">not usable</th><td class="num">1</td><td class="num">1</td>' in text
    assert "75.0 %" in text and ">0.50<" in text  # chance: (2 x 3 + 2 x 1) / 16
    assert "of 3 texts by 2 raters" in text and "ratings.csv" in text


@pytest.mark.parametrize("access", ["nobody", "group", "members", "public"])
def test_ratings_are_item_data(run: Run, people: People, path: Path, access: str) -> None:
    Benchmark.objects.update(item_access=access)
    path.write_text("\n".join([HEADER, *RATED]))
    told(path, "--run", run.key)
    may = {"nobody": set(), "group": {"member"}, "members": set(ROLES) - {"anonymous"}, "public": set(ROLES)}[access]
    for role in ROLES:
        assert HumanRating.objects.visible_to(people[role]).exists() == (role in may), role
    for role in ("anonymous", "member", "staff"):
        assert ("People beside the judge" in page(run, people[role])) == (role in may), role
    Run.objects.update(visibility="private")
    assert not HumanRating.objects.visible_to(people["stranger"]).exists()
