"""Scoring 1.3 million responses against the same rules written plainly.

    python -m bench.score [--rows 1300000] [--variants 6]

Two thirds are ClinSeek rows (2,703 questions a run), one third LiveClin responses (1,407 cases). A few invented runs are
parsed beforehand and scored again and again, one run at a time: taking the answer out of each row, verdicts, vectors, and
every mean with its 95 % interval of 10,000 resamples. The yardstick is a plain loop over the same rows by the same published
rules (last finish call and set F1; first of five letter patterns), with the means by task, and without intervals: the public
scorers' work without their reading of files. Both must find the same headline. Prints rows/s, the ratio, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import msgspec

from bench.ingest import TASKS, row
from evaluation.benchmarks import ehr_bench, liveclin
from evaluation.protocols.base import Answers, Evaluator, ItemSpec
from evaluation.protocols.clinseek_rows import ClinSeekRow
from evaluation.protocols.liveclin import QuestionRow

Runs = list[list[Any]]


def clinseek(variants: int, rng: random.Random) -> tuple[list[ItemSpec], Runs]:
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    gold = [
        {
            "qid": f"ehr_bench_{number}",
            "subject_id": number // 3,
            "task": TASKS[number % 45],
            "task_type": "decision_making" if number % 45 > 17 else "risk_prediction",
            "label": rng.sample(words, 3),
        }
        for number in range(2703)
    ]
    decode = msgspec.json.Decoder(ClinSeekRow).decode
    runs = [[decode(json.dumps(row(item, 900, words, rng))) for item in gold] for _ in range(variants)]
    return ehr_bench.SPEC.items(gold), runs


def plain_clinseek(items: Sequence[ItemSpec], rows: Sequence[ClinSeekRow]) -> float:
    """Mean F1 over the questions, as the public text scorer goes about it."""
    gold = {item.key: item for item in items}
    by_task = defaultdict(list)
    scores = []
    for answer in rows:
        predicted: list[str] = []
        for message in reversed(answer.messages):
            finish = [call for call in message.tool_calls or [] if "finish" in call.function.name.lower()]
            if finish:
                predicted = json.loads(finish[-1].function.arguments)["response"]
                break
        item = gold[answer.qid]
        given, wanted = {text.lower() for text in predicted}, {text.lower() for text in item.gold}
        hits = len(given & wanted)
        precision = hits / len(given) if given else 0.0
        recall = hits / len(wanted) if wanted else 0.0
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        scores.append(f1)
        by_task[answer.task].append((f1, precision, recall, given == wanted))
    assert all(sum(column) / len(column) >= 0 for found in by_task.values() for column in zip(*found, strict=True))
    return sum(scores) / len(items)


def exams(variants: int, rng: random.Random) -> tuple[list[ItemSpec], Runs]:
    cases = []
    for number in range(1407):
        mcqs = [{"stage": "Discharge", "correct_answer": rng.choice("ABCDEFGHIJ")} for _ in range(rng.randint(3, 6))]
        levels = {"Level1": f"Chapter {number % 20}: made up", "Level2": f"made up {number % 72}", "Rarity": "rare"}
        cases.append(
            {"pmc": f"PMC{number}", **levels, "exam_creation": {"final_policy": {"scenario": "-", "mcqs": mcqs}}}
        )
    items = liveclin.SPEC.items(cases)
    forms = ("\\boxed{{{}}}", "The answer is {}", "It fits best.\n{}.", "Of these, {} remains", "{}")

    def response(item: ItemSpec) -> str:
        letter = item.gold if rng.random() < 0.8 else rng.choice("ABCDEFGHIJ")
        return "the patient has fever and a rash; " * rng.randint(0, 6) + rng.choice(forms).format(letter)

    return items, [
        [QuestionRow(item.case, int(item.key.rpartition(":")[2]), response(item)) for item in items]
        for _ in range(variants)
    ]


PATTERNS = (
    re.compile(r"\\boxed\{\s*([A-J])\s*\}", re.I),
    re.compile(r"(?:answer|option|choice|selected option)[:\-is\s]*([A-J])\b", re.I),
    re.compile(r"^[^\S\n]*([A-J])[\s.)]*$", re.I | re.M),
    re.compile(r"\b([A-J])\b"),
    re.compile(r"^\s*([A-J])\s*$", re.I),
)


def plain_exams(items: Sequence[ItemSpec], rows: Sequence[QuestionRow]) -> float:
    """Share of cases whose questions are all right, as the public evaluator goes about it."""
    gold = {item.key: item.gold for item in items}
    right: dict[str, bool] = {}
    for answer in rows:
        letter = None
        for number, pattern in enumerate(PATTERNS):
            found = pattern.findall(answer.model_response)
            if found:
                letter = found[-1 if number in (2, 3) else 0].upper()
                break
        right[answer.case_id] = right.get(answer.case_id, True) and letter == gold[answer.key]
    return sum(right.values()) / len(right)


def score(evaluator: Evaluator, items: Sequence[ItemSpec], rows: Sequence[Any]) -> float:
    answers = Answers(evaluator.read(each) for each in rows)
    result = evaluator.evaluate(items, answers, "bench")
    headline = next(each for each in result.aggregates if each.metric == evaluator.headline)
    assert headline.value is not None and headline.dimension == "overall" and not headline.variant
    return headline.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_300_000)
    parser.add_argument("--variants", type=int, default=6)
    options = parser.parse_args()
    total, spent = 0, [0.0, 0.0]
    for name, share, make, evaluator, plain in (
        ("ClinSeek", 2 / 3, clinseek, ehr_bench.EVALUATOR, plain_clinseek),
        ("LiveClin", 1 / 3, exams, liveclin.EVALUATOR, plain_exams),
    ):
        items, runs = make(options.variants, random.Random(1407))
        count = max(1, round(options.rows * share / len(items)))
        ours = theirs = 0.0
        for number in range(count):
            rows = runs[number % len(runs)]
            start = time.perf_counter()
            expected = plain(items, rows)
            middle = time.perf_counter()
            found = score(evaluator, items, rows)
            ours += time.perf_counter() - middle
            theirs += middle - start
            assert abs(found - expected) < 1e-12, (name, found, expected)
        rows_scored = count * len(items)
        print(
            f"{name}: {count} runs, {rows_scored:,} rows: {ours:.1f} s ({rows_scored / ours:,.0f} rows/s), "
            f"plain loop without intervals {theirs:.1f} s, ratio {ours / theirs:.2f}",
            flush=True,
        )
        total, spent = total + rows_scored, [spent[0] + ours, spent[1] + theirs]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{total:,} rows: {spent[0]:.1f} s ({total / spent[0]:,.0f} rows/s), plain loop {spent[1]:.1f} s, "
        f"ratio {spent[0] / spent[1]:.2f}; peak {peak:.0f} MB with {2 * options.variants} runs held as rows"
    )


if __name__ == "__main__":
    main()
