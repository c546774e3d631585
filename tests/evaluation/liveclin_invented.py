"""What the tests of LiveClin share: invented cases and rows, the folder of official values, and a plain reading of the letter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluation.protocols import liveclin
from evaluation.protocols.base import Aggregate, ItemSpec, Result
from evaluation.protocols.liveclin import LiveClinOfficial, QuestionRow

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
CONFORMANCE = SHARED / "conformance" / "liveclin"
RESULTS = sorted(CONFORMANCE.glob("results/*.json"))
needs_shared = pytest.mark.skipif(not RESULTS, reason="the folder with the official values is not here")

OFFICIAL = LiveClinOfficial()


def details(*types: str | None) -> list[dict]:
    return [{"file": "f.jpg", "caption": "Invented", "type": kind} for kind in types]


def mcq(gold: str = "A", stage: str | None = "Discharge", images: object = None, tables: object = None) -> dict:
    return {"stage": stage, "correct_answer": gold, "image_details": images, "table_details": tables}


def make_case(pmc: str | None, *mcqs: dict, **fields: object) -> dict:
    policy = {"scenario": "Invented.", "mcqs": list(mcqs)}
    policy |= {name: fields.pop(name) for name in list(fields) if name.startswith("scenario_")}
    named = {"Level1": "Chapter 2: Neoplasms", "Level2": "Skin (C43-C44)", "Rarity": "rare"}
    return {"pmc": pmc, **named, "exam_creation": {"final_policy": policy}, **fields}


def row(key: str, response: str | None, repeat: int = 1, error: str | None = None, images=(), tables=()) -> QuestionRow:
    case, _, index = key.rpartition(":")
    return QuestionRow(case, int(index), response, error, list(images), list(tables), repeat)


def score(items: list[ItemSpec], *rows: QuestionRow) -> Result:
    return OFFICIAL.evaluate(items, [OFFICIAL.read(each) for each in rows], "seed")


def find(
    result: Result, metric: str, dimension: str = "overall", facet: str = "", variant: str = "", repeat: int | None = 1
) -> Aggregate:
    [found] = [
        aggregate
        for aggregate in result.aggregates
        if (aggregate.repeat, aggregate.metric, aggregate.variant, aggregate.dimension, aggregate.facet)
        == (repeat, metric, variant, dimension, facet)
    ]
    return found


def plain_letter(response: str) -> str | None:
    """The page's rules once more, sign by sign."""

    def is_letter(sign: str) -> bool:
        return sign.upper() in set(liveclin.LETTERS)

    def is_word(sign: str) -> bool:
        return sign.isalnum() or sign == "_"

    def skip(start: int, wanted) -> int:
        while start < len(response) and wanted(response[start]):
            start += 1
        return start

    lower = response.lower()
    for start in range(len(response)):
        if lower.startswith("\\boxed{", start):
            at = skip(start + 7, str.isspace)
            end = skip(at + 1, str.isspace)
            if at < len(response) and is_letter(response[at]) and response[end : end + 1] == "}":
                return response[at].upper()
    for start in range(len(response)):
        for word in ("answer", "option", "choice", "selected option"):
            if lower.startswith(word, start):
                first = start + len(word)
                last = skip(first, lambda sign: sign in ":-iIsS" or sign.isspace())
                for at in range(last, first - 1, -1):
                    ends = at + 1 >= len(response) or not is_word(response[at + 1])
                    if at < len(response) and is_letter(response[at]) and ends:
                        return response[at].upper()
    for line in reversed(response.split("\n")):
        line = line.strip()
        if line and is_letter(line[0]) and all(sign in ".)" or sign.isspace() for sign in line[1:]):
            return line[0].upper()
    for at in range(len(response) - 1, -1, -1):
        around = response[max(at - 1, 0) : at] + response[at + 1 : at + 2]
        if response[at] in liveclin.LETTERS and not any(map(is_word, around)):
            return response[at]
    return None
