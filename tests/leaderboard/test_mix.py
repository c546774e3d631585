"""My case mix: standardised figures, who may be chosen, natural frequencies, and shares read strictly."""

from __future__ import annotations

import csv
import io
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.facetnames import facet_key
from leaderboard.mix import Margins, dimensions_for, from_address, from_csv
from leaderboard.mix_pages import margin_of, natural
from leaderboard.models import Board
from leaderboard.standings import standings
from tests.leaderboard.test_breakdowns import EYE, NEOPLASMS, world
from tests.leaderboard.worlds import LIVE_BOARD

MIX = f"/boards/{LIVE_BOARD}/mix/"
MARGINS: Margins = {"rarity": {"rare": np.array([0, 1]), "unrare": np.array([2])}, "scene": {"a,b": np.array([0])}}


def shares(**numbers: float) -> str:
    """An address with shares of the two chapters and `other`."""
    keys = {"neoplasms": facet_key(NEOPLASMS), "eye": facet_key(EYE), "other": "other"}
    return f"{MIX}?{urlencode({f'icd_chapter.{keys[name]}': number for name, number in numbers.items()})}"


def rows_of(client: Client, address: str) -> dict[str, dict[str, str]]:
    response = client.get(f"{address}&format=csv")
    assert response.status_code == 200
    return {row["Model"]: row for row in csv.DictReader(io.StringIO(response.content.decode()))}


@pytest.mark.django_db
def test_figures_over_a_mix_and_who_may_be_chosen(tmp_path: Path, client: Client) -> None:
    """alder is right in 20 of 24 neoplasms and none of the eye's 8, birch in 6 of 24 and all 8; cedar always, elm as cedar
    but for one case.
    """
    world(
        tmp_path,
        {
            "alder": ["AB"] * 20 + ["AC"] * 12,
            "birch": ["AB"] * 6 + ["CB"] * 18 + ["AB"] * 8,
            "cedar": ["AB"] * 32,
            "elm": ["AB"] * 31 + ["AC"],
        },
    )
    rows = rows_of(client, shares(neoplasms=50, eye=50))
    column = "Case accuracy, %"
    figures = {name: float(row[column]) for name, row in rows.items()}
    assert figures == {"cedar": 100.0, "elm": 93.8, "birch": 62.5, "alder": 41.7}
    own = {name: float(row["On the board, %"]) for name, row in rows.items()}
    assert own == {"cedar": 100.0, "elm": 96.9, "birch": 43.8, "alder": 62.5}

    text = unescape(client.get(shares(neoplasms=50, eye=50)).content.decode())
    assert (
        "cedar is first over your mix. One of four is not worse than the best by more than 5 points (95 %): cedar."
        in text
    )
    assert "63 of 100 cases" in text or "62 of 100 cases" in text
    assert "The numbers of" not in text and "rest on facets with fewer than 20 cases" in text
    wide = unescape(client.get(shares(neoplasms=50, eye=50) + "&margin=30").content.decode())
    assert "not worse than the best by more than 30 points (95 %): cedar, elm." in wide

    # the board's own mix gives the board's own figures; parts of 48 are said to be so
    rows = rows_of(client, shares(neoplasms=36, eye=12))
    assert {name: float(row[column]) for name, row in rows.items()} == own
    text = client.get(shares(neoplasms=36, eye=12)).content.decode()
    assert "The numbers of icd chapter add up to 48, not to 100: each was divided by 48." in text
    # what is not measured is left out and said
    text = client.get(shares(neoplasms=60, other=40)).content.decode()
    assert "40.0 % of your mix is not measured here (other, by icd chapter)" in text and "83.3" in text


@pytest.mark.django_db
def test_dimensions_that_part_the_cases_and_bad_shares(tmp_path: Path, client: Client) -> None:
    world(tmp_path)
    standing = standings([Board.objects.with_benchmark().get(slug=LIVE_BOARD)], AnonymousUser())[0]
    margins = dimensions_for(standing)
    # position and stage differ inside a case; one facet alone parts nothing
    assert list(margins) == ["icd_chapter", "disease_cluster", "rarity"]
    assert {facet: len(places) for facet, places in margins["rarity"].items()} == {"rare": 24, "unrare": 8}

    first = client.get(MIX).content.decode()
    assert f'name="icd_chapter.{facet_key(EYE)}"' in first and 'name="rarity.other"' in first
    clash = shares(neoplasms=100) + f"&rarity.{facet_key('unrare')}=100"
    text = client.get(clash).content.decode()
    assert "This mix cannot be made from the board&#x27;s cases: a facet with a share has no item left." in text
    for bad, words in (("-1", "is no number of 0 or more"), ("nan", "is no number"), ("1e400", "is no number")):
        assert words in client.get(f"{MIX}?rarity.{facet_key('rare')}={bad}").content.decode()
    assert "No share is given" in client.get(f"{MIX}?rarity.other=&margin=5").content.decode()
    assert "no facet of the board has a share above 0" in client.get(shares(neoplasms=0)).content.decode()
    assert client.get(f"{clash}&format=csv").status_code == 404

    upload = SimpleUploadedFile("mix.csv", b"dimension;facet;share\r\nrarity;rare;12,5 %\r\nrarity;unrare;87,5\r\n")
    response = client.post(f"{MIX}csv/", {"file": upload, "margin": "3"})
    assert response.status_code == 302
    assert response.headers["Location"] == (
        f"{MIX}?rarity.{facet_key('rare')}=12.5&rarity.{facet_key('unrare')}=87.5&margin=3"
    )
    assert client.get(MIX, {"csv": "dimension,facet,share\nrarity,rare,1\n"}).status_code == 302
    broken = client.post(f"{MIX}csv/", {"file": SimpleUploadedFile("mix.csv", b"dimension,facet,\xff")})
    assert broken.status_code == 400 and b"byte 17 fits no character" in broken.content
    assert client.post(f"{MIX}csv/").status_code == 400
    evil = client.get(MIX, {"csv": "dimension,facet,share\n<script>,x,1\n"})
    assert evil.status_code == 400 and b"<script>," not in evil.content


# --- pure --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Line 1: the header is"),
        ("facet,share\n", "expected dimension,facet,share"),
        ("dimension,facet,share\n", "There is no line below the header."),
        ("dimension,facet,share\nrarity,rare\n", "Line 2: 2 fields, expected 3."),
        ("dimension,facet,share\n\ncolour,red,1\n", "Line 3, dimension: 'colour' is none of rarity, scene."),
        ("dimension,facet,share\nrarity,rear,1\n", "Line 2, facet: the board has no 'rear'. Did you mean 'rare'?"),
        ("dimension,facet,share\nrarity,rare,1\nrarity,rare,2\n", "Line 3, facet: 'rare' stands there twice."),
        ("dimension,facet,share\nrarity,rare,much\n", "Line 2, share of rare: 'much' is no number of 0 or more."),
        ("dimension,facet,share\nrarity,other,5\n", "rarity: no facet of the board has a share above 0."),
        ("x" * 100_001, "at most 100,000 are read"),
    ],
)
def test_a_bad_line_is_told_with_its_place(text: str, words: str) -> None:
    (error,) = from_csv(text, MARGINS).errors
    assert words in error


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffdimension,facet,share\nrarity,rare,25\nscene,\"a,b\",1\nrarity,unrare,75",
        "Dimension;Facet;Share\r\nrarity;rare;25,0\r\nscene;a,b;1\r\nrarity;unrare;75 %\r\n",
        "dimension\tfacet\tshare\nrarity\trare\t25\nscene\ta,b\t1\n\nrarity\tunrare\t75\n",
    ],
)  # fmt: skip
def test_commas_semicolons_and_tabs(text: str) -> None:
    mix = from_csv(text, MARGINS)
    assert not mix.errors and mix.numbers == {"rarity": {"rare": 25, "unrare": 75}, "scene": {"a,b": 1}}
    assert mix.shares("rarity") == {"rare": 0.25, "unrare": 0.75}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for given_text in (text, f"dimension,facet,share\n{text}", f"dimension;facet;share\nrarity;{text}"):
        mix = from_csv(given_text, MARGINS)
        assert mix.errors or mix.is_given
    assert not from_address({f"rarity.{facet_key('rare')}": text}, MARGINS).errors or text.strip()


def test_margin_and_natural_frequencies() -> None:
    assert margin_of({}) == (5.0, []) and margin_of({"margin": "2,5"}) == (2.5, [])
    for bad in ("0", "-1", "101", "nan", "wide", "inf"):
        assert margin_of({"margin": bad})[1]
    assert natural(0.3625, 0.334, 0.381, "cases") == "36 of 100 cases, 33 to 38"
