"""The letter of a multiple-choice answer: a table by hand, and what must hold of any text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation.protocols import mcq, mcq_words
from evaluation.protocols.mcq import LETTERS, Extraction, extract
from tests.evaluation.mcq_table import TABLE


@pytest.mark.parametrize(("text", "letter"), TABLE)
def test_what_a_careful_reader_takes(text: str, letter: str) -> None:
    assert (extract(text).letter or "") == letter


def test_the_table_is_long_and_says_nothing_twice() -> None:
    assert len({text for text, _ in TABLE}) == len(TABLE) >= 150


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (r"\boxed{A}, no: \boxed{\text{C}}", "boxed", 28),
        ("<think>A</think>答案：Ｂ", "phrase", 19),
        ("**Final Answer**\n\nH", "headed", 18),
        ('{"answer": "d"}', "json", 12),
        ("A is wrong; B is the correct answer", "letter_first", 12),
        ("A is wrong, so B.", "conclusion", 15),
        ("It fits.\n(c)", "line", 10),
        ("B. Metformin\nIt is first line.", "leading", 0),
        ("sarcoidosis (E)", "marked", 13),
    ],
)
def test_the_rule_and_the_place_are_told(text: str, rule: str, place: int) -> None:
    found = extract(text)
    assert (found.rule, found.span) == (rule, (place, place + 1))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (None, "empty"),
        ("<think>A", "unclosed_reasoning"),
        ("A or B: the answer is A or B", "several"),
        ("Answer: none of these", "no_option"),
        ("I cannot help; (A) is as good as any", "refused"),
        ("Vitamin D", "none"),
    ],
)
def test_why_there_is_no_letter(text: str | None, why: str) -> None:
    assert extract(text) == Extraction(None, why, None)


def test_only_letters_of_the_question_are_options() -> None:
    assert extract("Answer: E", "ABCDE").letter == "E"
    assert extract("Answer: E", "ABCD") == (None, "no_option", None)


def test_the_text_of_exactly_one_option_is_its_letter() -> None:
    options = {"A": "Start  Heparin", "B": "Observe", "C": "observe"}
    assert extract("start heparin.", options=options) == ("A", "option_text", None)
    assert extract("Observe", options=options).letter is None
    assert extract("Heparin", options=options).letter is None
    assert extract("Answer: B", options=options).letter == "B"


PARTS = [
    "\\boxed{",
    "}",
    "answer",
    "Option",
    " is",
    ":",
    "the ",
    "**",
    "(",
    ")",
    "<think>",
    "</think>",
    "答案",
    "选",
    "or",
    "\n",
]
PARTS += [
    "not ",
    "correct",
    '"',
    "{",
    ". ",
    " ",
    "i",
    "a",
    "I",
    "A",
    "B",
    "C",
    "Ｄ",
    "K",
    "é",
    "İ",
    "\u200b",
    "vitamin ",
    "so ",
    "🅱",
]
texts = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


@settings(deadline=None, max_examples=400)
@given(st.text() | texts)
@example("İİİ the answer is B")
@example("\ud800 Answer: B")
def test_the_span_is_the_letter_in_the_original(text: str) -> None:
    letter, rule, span = extract(text)
    assert rule
    assert (letter is None) == (span is None)
    if letter and span:
        sign = text[slice(*span)]
        assert letter in LETTERS and len(sign) == 1
        assert sign.upper() == letter or sign in "Ｄ🅱" or not sign.isascii()


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from(LETTERS))
def test_a_last_box_is_the_answer_whatever_was_said_before(before: str, letter: str) -> None:
    assert extract(f"{before.replace('<think>', '')}.\n\nFinally: \\boxed{{{letter}}}").letter == letter


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from(LETTERS))
def test_reasoning_changes_nothing(thought: str, letter: str) -> None:
    inner = thought.replace("<think>", "").replace("</think>", "")
    assert extract(f"<think>{inner}</think>The answer is {letter}.").letter == letter
    assert extract(f"The answer is {letter}.<think>{inner}").rule == "unclosed_reasoning"


SENTENCES = [text for text, _ in TABLE] + [
    "I am not sure. ",
    "It is a common mistake to treat first. ",
    "This is consistent with vitamin D deficiency. ",
    "So the next step is a biopsy; options A and E are less specific.\n",
    "ICH KANN DAS NICHT SAGEN. ",
    "None of the above: the ANSWER IS e. ",
]


def everywhere(reader: mcq._Reader, pattern: re.Pattern[str], keys: str, since: int) -> Iterator[re.Match[str]]:
    """`_Reader._found` without the key signs: the whole text, in any case."""
    return reversed(list(re.compile(pattern.pattern, re.I | re.M).finditer(reader.text, since)))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(SENTENCES) | texts, max_size=4).map("".join))
def test_key_signs_leave_nothing_out(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcq._Reader, "_found", everywhere)
        expected = extract(text)
    assert extract(text) == expected


@pytest.mark.parametrize("words", [mcq_words.STATED, mcq_words.HEADED, mcq_words.CONCLUDED, mcq_words.REFUSED])
def test_words_for_lower_case_are_in_lower_case(words: str) -> None:
    said = re.sub(r"\\[A-Z]|\[\^?[^\]]*\]", "", words)
    assert said == said.lower()


UNITS = [" ", "\n", "A", "a.", "A x\n", "\\boxed{", "answer ", "if the answer is B ", "**", "<", "<think>", "</think>"]
UNITS += [
    "答案",
    "选",
    '"answer": ',
    "(A) ",
    "B is correct or ",
    "option the the ",
    "not A, but ",
    "{{}}",
    "I can't ",
    "\u200b",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    begin = time.process_time()
    extract(unit * (2**20 // len(unit)) + "x")
    # a tenth of that is usual; a quadratic search would take hours
    assert time.process_time() - begin < 10
