"""What is counted of LiveClin's dataset beside its items: options, images, tables, and never of a case that was refused."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.protocols.liveclin import items
from evaluation.protocols.liveclin_gold import GoldCounter
from tests.ingest.trees import Row, live_case

TEN = dict.fromkeys("ABCDEFGHIJ", "made up")


def case(name: str, golds: str, *mcqs: Row, **policy: Any) -> Row:
    """A case whose questions carry the fields of `mcqs`, and its scenario those of `policy`."""
    made = live_case(name, golds)
    own = made["exam_creation"]["final_policy"]
    own |= policy
    for mcq, fields in zip(own["mcqs"], mcqs, strict=False):
        mcq |= fields
    return made


def counted(*cases: Row, there: str = "") -> dict[str, int]:
    counter = GoldCounter()
    items(counter.over(cases))
    return counter.counts(lambda file: file in there.split())


@pytest.mark.parametrize(
    ("options", "letter", "ten", "among"),
    [
        (TEN, "J", 1, 1),
        (TEN, "j", 1, 1),
        (TEN | {"K": "one more"}, "A", 0, 1),
        (dict.fromkeys("ABCDEFGHI", "nine"), "J", 0, 0),
        ({letter.lower(): "small" for letter in TEN}, "A", 0, 0),
        (list(TEN), "A", 0, 0),
        (None, "A", 0, 0),
    ],
)
def test_options(options: Any, letter: str, ten: int, among: int) -> None:
    found = counted(case("PMC1", letter, {"options": options}))
    assert (found["questions"], found["ten_options"], found["letter_among_options"]) == (1, ten, among)


def test_images_and_tables() -> None:
    one, two, nameless = ({"file": file, "type": "CT"} for file in ("one.png", "two.png", ""))
    shown = case(
        "PMC1",
        "ABC",
        {"image_details": [one, two], "table_details": [{"type": "Lab"}]},
        {"image_details": [one, nameless, {"type": "CT"}, {"file": 7}], "table_details": None},
        scenario_image_details=[one],
        scenario_table_details=[{"type": "Lab"}, {"type": "Lab"}],
    )
    # a case shows a file once however often, another case another picture; an image without a file is nowhere
    found = counted(shown, case("PMC2", "A", {"image_details": [one]}), there="one.png")
    assert (found["images"], found["images_there"], found["tables"], found["questions"]) == (6, 2, 3, 4)


def test_a_case_that_is_refused_is_not_counted() -> None:
    counter = GoldCounter()
    with pytest.raises(ValueError, match="image_details"):
        items(counter.over([case("PMC1", "A"), case("PMC2", "A", {"image_details": [None]}), case("PMC3", "A")]))
    assert counter.counts(lambda file: True)["questions"] == 1
