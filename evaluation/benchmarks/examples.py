"""Small invented inputs at the edges of each protocol. The pages score them with the very rules that score the runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.protocols.clinseek_rows import ClinSeekRow, from_dict
from evaluation.protocols.liveclin import QuestionRow
from evaluation.protocols.llmeval_med import ScoredRow


@dataclass(frozen=True)
class Example:
    """What happens, in words; the gold as the benchmark's `items` takes it, and the rows as its `read` takes them."""

    words: str
    gold: Sequence[Any]
    rows: Sequence[Any]


def _clinseek(*response: str, **fields: Any) -> ClinSeekRow:
    call = {"function": {"name": "ehr.finish", "arguments": json.dumps({"response": response})}}
    row = {
        "qid": "q1",
        "run_index": 1,
        "messages": [{"tool_calls": [call]}],
        "status": "success",
        "label": ["aspirin", "heparin"],
    }
    return from_dict({"task": "invented", **row, **fields})


def _failed(**fields: Any) -> ClinSeekRow:
    return _clinseek(messages=[], status="error", **fields)


def clinseek(*, single: bool) -> tuple[Example, ...]:
    """Of EHR-Bench, AgentEHR-Bench and, with a question of one gold item (`single`), MM-Bench."""
    gold = [{"qid": "q1", "task": "invented", "subject_id": 1, "label": ["aspirin", "heparin"]}]
    right, wrong = _clinseek("aspirin", "heparin"), _clinseek("insulin")
    examples = [
        Example("Both of two gold items, in other case and order", gold, [_clinseek("HEPARIN", "Aspirin")]),
        Example("One of two gold items, nothing else", gold, [_clinseek("aspirin")]),
        Example("One of two gold items and two wrong ones", gold, [_clinseek("aspirin", "insulin", "statin")]),
        Example("A space after the text", gold, [_clinseek("aspirin ", "heparin")]),
        Example("An empty answer", gold, [_clinseek()]),
        Example("Prose in place of a list", gold, [_clinseek("The patient received aspirin and heparin.")]),
        Example("The call failed", gold, [_failed()]),
        Example("No row for the question", gold, []),
        Example("Two rows for the question, the first wrong, the second right", gold, [wrong, right]),
        Example("Two questions, one right, one without a row", [*gold, {**gold[0], "qid": "q2"}], [right]),
    ]
    if single:
        one = [{**gold[0], "label": ["aspirin"]}]
        own: dict[str, Any] = {"label": ["aspirin"]}
        examples += [
            Example("One gold item, the answer with a full stop and in capitals", one, [_clinseek(" ASPIRIN.", **own)]),
            Example("One gold item, the answer in other words", one, [_clinseek("acetylsalicylic acid", **own)]),
            Example("One gold item, given with another", one, [_clinseek("aspirin", "heparin", **own)]),
            Example("Empty gold", [{**gold[0], "label": []}], [_clinseek("aspirin", label=[])]),
        ]
    return (*examples, Example("No question at all", [], []))


def _case(letters: str) -> list[dict[str, Any]]:
    mcqs = [{"stage": "Diagnosis", "correct_answer": letter} for letter in letters]
    return [
        {
            "pmc": "PMC0",
            "Level1": "Chapter 2",
            "Level2": "Invented",
            "Rarity": "rare",
            "exam_creation": {"final_policy": {"mcqs": mcqs}},
        }
    ]


def _answers(*texts: str | None) -> list[QuestionRow]:
    """One row a text; None for a call that failed."""
    return [
        QuestionRow("PMC0", number, text, "invented failure" if text is None else None)
        for number, text in enumerate(texts)
    ]


LIVECLIN = (
    Example("A case of three questions, all right", _case("ABC"), _answers("A", "The answer is B.", r"\boxed{C}")),
    Example("One of three questions wrong", _case("ABC"), _answers("A", "B", "D")),
    Example("No letter in one answer", _case("ABC"), _answers("A", "B", "I cannot tell.")),
    Example("One call failed", _case("ABC"), _answers("A", "B", None)),
    Example("One question without a row", _case("ABC"), _answers("A", "B")),
    Example("Another option named first, then the answer", _case("B"), _answers("Option A is wrong. The answer is B.")),
    Example("A letter of medicine", _case("B"), _answers("Give vitamin D. **B**")),
    Example("A case without any row", _case("ABC"), []),
    Example("No case at all", [], []),
)


def _judged(*scores: Any, round_: int = 1) -> list[ScoredRow]:
    """One question as each judging run left it."""
    return [
        ScoredRow("医疗知识", 1, round_, None, None, None, score, "An answer.", None, repeat)
        for repeat, score in enumerate(scores, 1)
    ]


_DATASET = [{"医疗知识": [{"groupCode": 1, "round": 1, "problem": "Invented?", "sanswer": "Invented."}]}]
LLMEVAL_MED = (
    Example("One judging run gives 4", _DATASET, _judged(4)),
    Example("One judging run gives 3", _DATASET, _judged(3)),
    Example("Three judging runs give 5, 4 and 3", _DATASET, _judged(5, 4, 3)),
    Example("Three judging runs give 4, 4 and 3", _DATASET, _judged(4, 4, 3)),
    Example("The judge gave no score in one of two runs", _DATASET, _judged(5, "")),
    Example("The judge gave -1, its word for none", _DATASET, _judged(-1)),
    Example("The judge gave 2", _DATASET, _judged(2)),
    Example("No row for the question", _DATASET, []),
)
