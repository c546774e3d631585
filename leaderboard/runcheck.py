"""The run check: was the run made as the benchmark asks, and did it go well? Pure: no Django, no queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.protocols.base import Outcome
from leaderboard.tables import format_value

MET, NOT_MET, NOT_STATED = "met", "not met", "not stated"
# A failed call scores 0 and says nothing of the model: one in a hundred moves a mean by at most one point, which is less
# than the gap under which published figures are read as ties.
MOST_ERRORS = 0.01
# Above it the prompt or the reading of answers is the likelier cause than the model.
MOST_NO_ANSWER = 0.05
# Coverage that a rank needs; boards may ask for another one.
LEAST_HEARD = 0.95
REPEATS = 3
FAR_BELOW = 0.15  # of image items below text items, where the intervals lie apart as well
LEAST_ITEMS = 20  # of either kind: fewer tell nothing
_TEMPERATURE = re.compile(r"temp(?:erature)?\s*[:=]?\s*(\d+(?:\.\d+)?)\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A mean over `n` items with its 95 % interval; fractions."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Facts:
    """What is known of a run; None and "" where nobody said it.

    `outcomes` counts (item, repeat) pairs over the scored items of the split. `several_questions`: cases or conversations
    hold more than one question, so that keeping the conversation matters. `repeats` counts those of one snapshot, the ones
    in other runs with them. `images` and `texts` are the means over items with and without images, where the benchmark
    tells them apart and both occur.
    """

    outcomes: Mapping[Outcome, int]
    several_questions: bool = False
    conversation_kept: bool | None = None
    shots: int | None = None
    decoding: str = ""
    repeats: int = 1
    snapshot: str = ""
    images: Part | None = None
    texts: Part | None = None
    tells_images: bool = False
    least_heard: float = LEAST_HEARD
    words: Mapping[str, str] = field(default_factory=lambda: {"unit": "case", "item": "question", "repeats": "runs"})


@dataclass(frozen=True, slots=True)
class Check:
    """One point: `state` is MET, NOT_MET or NOT_STATED, `threshold` what it asks for, `found` what was seen, `why` it counts."""

    name: str
    state: str
    threshold: str
    found: str
    why: str

    @property
    def sign(self) -> str:
        return {MET: "✓", NOT_MET: "✗"}.get(self.state, "?")

    @property
    def css(self) -> str:
        return self.state.replace(" ", "-")


def run_check(facts: Facts) -> list[Check]:
    """Every point that applies to the run, in the order of asking, answering, reading."""
    checks = [_shots(facts), _temperature(facts), _repeats(facts), _snapshot(facts)]
    if facts.several_questions:
        checks.insert(0, _conversation(facts))
    checks += [_coverage(facts), _errors(facts), _no_answer(facts)]
    if facts.tells_images:
        checks.append(_images(facts))
    return checks


def temperature(decoding: str) -> float | None:
    """The temperature that a text on decoding states: `temperature 0, at most 8192 tokens` is 0.

    None where no clause is about it, where one says more than a number (`temperature 0 to 1`), or where two differ.
    """
    clauses = [clause.strip() for clause in re.split(r"[,;\n]", decoding) if "temp" in clause.lower()]
    read = [_TEMPERATURE.fullmatch(clause) for clause in clauses]
    found = {float(match[1]) if match else None for match in read}
    return found.pop() if len(found) == 1 else None


def _state(met: bool | None) -> str:
    return NOT_STATED if met is None else MET if met else NOT_MET


def _conversation(facts: Facts) -> Check:
    kept = facts.conversation_kept
    found = "" if kept is None else "kept" if kept else f"{facts.words['item']}s asked one by one"
    why = f"Later {facts.words['item']}s of a {facts.words['unit']} build on what was asked and answered before."
    return Check("Conversation kept", _state(kept), f"one conversation a {facts.words['unit']}", found, why)


def _shots(facts: Facts) -> Check:
    met = None if facts.shots is None else facts.shots == 0
    found = "" if facts.shots is None else "zero-shot" if facts.shots == 0 else f"{facts.shots}-shot"
    return Check("Zero-shot", _state(met), "no worked examples", found, "Examples in the prompt are another protocol.")


def _temperature(facts: Facts) -> Check:
    stated = temperature(facts.decoding)
    met = None if stated is None else stated == 0
    found = facts.decoding if stated is None else f"{stated:g}"
    why = "At 0 an answer can be had again; where the maker of the model asks for another one, this is no fault."
    return Check("Temperature", _state(met), "0", found, why)


def _repeats(facts: Facts) -> Check:
    words = facts.words["repeats"]
    why = f"From {REPEATS} {words} on a standard deviation says how far chance alone moves the figure."
    return Check(f"{REPEATS} {words}", _state(facts.repeats >= REPEATS), f"at least {REPEATS}", str(facts.repeats), why)


def _snapshot(facts: Facts) -> Check:
    why = "Providers change models under one name: without version or date nobody can ask the same model again."
    return Check("Snapshot", MET if facts.snapshot else NOT_STATED, "stated", facts.snapshot, why)


def _shares(facts: Facts, *outcomes: Outcome) -> tuple[float | None, str]:
    """The share of these outcomes in all, and the counts in words; None where there is no item."""
    total, count = sum(facts.outcomes.values()), sum(facts.outcomes.get(outcome, 0) for outcome in outcomes)
    if not total:
        return None, ""
    return count / total, f"{format_value(count / total, '%')} % ({count:,} of {total:,})"


def _coverage(facts: Facts) -> Check:
    share, found = _shares(facts, Outcome.RIGHT, Outcome.WRONG, Outcome.NO_ANSWER)
    met = None if share is None else share >= facts.least_heard
    asked = f"heard on at least {format_value(facts.least_heard, '%', 0)} %"
    return Check(
        "Coverage", _state(met), asked, found, "What is missing or failed counts 0; below this there is no rank."
    )


def _errors(facts: Facts) -> Check:
    share, found = _shares(facts, Outcome.ERROR)
    met = None if share is None else share <= MOST_ERRORS
    asked = f"at most {format_value(MOST_ERRORS, '%', 0)} %"
    return Check("Failed calls", _state(met), asked, found, "They score 0 and say nothing about the model: ask again.")


def _no_answer(facts: Facts) -> Check:
    share, found = _shares(facts, Outcome.NO_ANSWER)
    met = None if share is None else share <= MOST_NO_ANSWER
    asked = f"at most {format_value(MOST_NO_ANSWER, '%', 0)} %"
    why = "More of them hint at a prompt, a length limit or a reading that fails, not at a model that does not know."
    return Check("No answer taken", _state(met), asked, found, why)


def _images(facts: Facts) -> Check:
    """Not met where image items lie far below text items and the two intervals do not meet."""
    one, other = facts.images, facts.texts
    asked = f"at most {format_value(FAR_BELOW, '%', 0)} points below, or intervals that meet"
    why = "A gap that wide hints at images that never reached the model; it may also be what the model cannot do."
    if one is None or other is None or min(one.n, other.n) < LEAST_ITEMS:
        found = "" if one is None or other is None else f"fewer than {LEAST_ITEMS} items of a kind"
        return Check("Image items against text items", NOT_STATED, asked, found, why)
    found = f"{format_value(one.value, '%')} % (n {one.n:,}) against {format_value(other.value, '%')} % (n {other.n:,})"
    far = other.value - one.value > FAR_BELOW and one.high < other.low
    return Check("Image items against text items", NOT_MET if far else MET, asked, found, why)
