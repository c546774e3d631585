"""What the run check needs to know, taken from a run and its first evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import prefetch_related_objects

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import Evaluation, Run, Vector
from evaluation.protocols.base import Outcome
from leaderboard.how import OUTCOMES
from leaderboard.models import Board
from leaderboard.reliability import one_a_repeat
from leaderboard.runcheck import LEAST_HEARD, Facts, Part
from leaderboard.standings import shown
from leaderboard.tables import format_value

MATERIAL = "material"  # the dimension that says what is shown with a question
IMAGES, TEXTS = "image", "text only"


@dataclass(frozen=True, slots=True)
class OutcomeTile:
    name: str
    meaning: str
    count: str
    share: str


def count_outcomes(evaluation: Evaluation | None) -> dict[Outcome, int]:
    """How many (item, repeat) pairs of the scored items came to each outcome; empty without an evaluation. One query."""
    if evaluation is None:
        return {}
    rows = Vector.objects.filter(evaluation=evaluation, name="outcome").values_list("repeat", "data")
    vectors = {repeat: np.frombuffer(data, dtype=np.uint8) for repeat, data in rows}
    # repeat 0 is over all repeats: it counts only where it is the only one
    chosen = [vector for repeat, vector in vectors.items() if repeat or len(vectors) == 1]
    counts = sum((np.bincount(vector, minlength=len(Outcome)) for vector in chosen), np.zeros(len(Outcome), dtype=int))
    return {outcome: int(counts[outcome]) for outcome in OUTCOMES} if chosen else {}


def outcomes_of(counts: Mapping[Outcome, int]) -> list[OutcomeTile]:
    """For the page, with the share of each; nothing where there is no item."""
    total = sum(counts.values())
    if not total:
        return []
    return [
        OutcomeTile(
            outcome.name.capitalize().replace("_", " "),
            outcome.meaning,
            f"{count:,}",
            f"{format_value(count / total, '%')} % of {total:,}",
        )
        for outcome, count in counts.items()
    ]


def check_facts(
    run: Run,
    live: Sequence[Run],
    evaluations: Sequence[Evaluation],
    spec: BenchmarkSpec,
    outcomes: Mapping[Outcome, int],
    board: Board | None,
) -> Facts:
    """The facts of the check; `live` are the other live runs of the model on the board. One query where images are told apart."""
    runs = one_a_repeat(run, live) if run.state == Run.State.LIVE else [run]
    tells = MATERIAL in spec.dimensions
    parts = _parts(evaluations[0]) if tells and evaluations else {}
    return Facts(
        outcomes=outcomes,
        several_questions=spec.unit in ("case", "conversation"),
        conversation_kept=run.conversation_kept,
        shots=run.shots,
        decoding=str(run.protocol.get("decoding") or ""),
        repeats=sum(len(one.repeats) or 1 for one in runs),
        snapshot=str(run.protocol.get("snapshot") or ""),
        images=parts.get(IMAGES),
        texts=parts.get(TEXTS),
        tells_images=tells,
        least_heard=board.min_coverage if board else LEAST_HEARD,
        words={
            "unit": spec.unit,
            "item": spec.item_word,
            "repeats": shown(spec, evaluations[0].evaluator.headline if evaluations else "").repeats,
        },
    )


def _parts(evaluation: Evaluation) -> dict[str, Part]:
    """Question accuracy by what is shown with the question, over all repeats or of the only one."""
    prefetch_related_objects([evaluation], "scores")  # the tables of scores need all of them
    scores = [
        score
        for score in evaluation.scores.all()
        if score.dimension == MATERIAL
        and score.facet in (IMAGES, TEXTS)
        and score.metric == "question_accuracy"
        and not score.variant
    ]
    found: dict[str, Part] = {}
    for score in sorted(scores, key=lambda score: score.repeat is None):
        if score.value is not None and score.ci_low is not None and score.ci_high is not None:
            found[score.facet] = Part(score.value, score.ci_low, score.ci_high, score.n)
    return found


def effort_of(run: Run) -> list[tuple[str, str, str]]:
    """(label, figure, words) of tokens, time, cost, calls, turns and browser share, as far as rows or `clinboard.yaml` say.

    Averages are over the rows that say something; calls, turns and browser share only of agentic runs.
    """
    told = run.counts.get("effort") or {}
    rows = told.get("rows", 0)
    tiles = []
    if run.mode == "agentic" and rows:
        calls = told["calls"]
        tiles += [
            (
                "Turns a row",
                format_value(told["turns"] / rows),
                f"{told['turns']:,} messages of the model in {rows:,} rows",
            ),
            ("Tool calls a row", format_value(calls / rows), f"{calls:,}, the one that answers among them"),
        ]
        if calls:
            share = format_value(told["browser_calls"] / calls, "%")
            tiles.append(("Browser share", f"{share} %", f"{told['browser_calls']:,} of {calls:,} tool calls"))
    if n := told.get("tokens_rows", 0):
        for name, label in (("prompt_tokens", "Tokens read"), ("completion_tokens", "Tokens written")):
            tiles.append(
                (label, f"{told[name]:,}", f"{format_value(told[name] / n, '', 0)} a row, stated in {n:,} of {rows:,}")
            )
    if n := told.get("seconds_rows", 0):
        seconds = told["seconds"]
        words = f"{format_value(seconds / n, '', 1)} s a row, stated in {n:,} of {rows:,}"
        tiles.append(("Time of the calls", f"{format_value(seconds / 3600, '', 2)} h", words))
    cost = run.protocol.get("cost_usd")
    if isinstance(cost, int | float):
        tiles.append(("Cost", f"{format_value(float(cost))} $", "stated in clinboard.yaml"))
    return tiles


def effort_unsaid(tiles: list[tuple[str, str, str]]) -> str:
    """What of tokens, time and cost nobody stated, in words; empty where all is said."""
    labels = {label for label, _, _ in tiles}
    missing = [
        word
        for word, label in (("tokens", "Tokens read"), ("time", "Time of the calls"), ("cost", "Cost"))
        if label not in labels
    ]
    return ", ".join(missing)
