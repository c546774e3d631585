"""Small worlds for the hall: invented runs, loaded by the real ingest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.contrib.auth.models import AnonymousUser

from evaluation.models import Evaluation, Evaluator, Run, SplitItem, Vector
from ingest.context import Options
from ingest.pipeline import ingest
from leaderboard.breakdowns import Breakdown, break_down
from leaderboard.models import Board
from leaderboard.standings import standings
from tests.ingest.trees import Row, Tree, answered, ehr_gold, live_case, live_results, run_path

QUESTIONS = [f"q{number:02}" for number in range(20)]
EHR_BOARD = "ehr-bench-v1-full1800-agentic"
LIVE_BOARD = "liveclin-2025_h1-full-chat"


def ehr_tree(root: Path, rights: Mapping[str, int], asked: int = 20, **place: str) -> Tree:
    """One EHR-Bench run a model: of the 20 questions the first `rights[model]` are right, those past `asked` missing."""
    tree = Tree(root)
    split = place.get("split", "full1800")
    gold = f"gold/ehr_bench{'' if split == 'full1800' else '_' + split}.json"
    tree.json(gold, ehr_gold({question: ["Alpha"] for question in QUESTIONS}))
    for model, right in rights.items():
        tree.lines(run_path(model, **place), ehr_rows(right, asked))
    return tree


def ehr_rows(right: int, asked: int = 20, **fields: Any) -> list[Row]:
    return [
        answered(question, "alpha" if number < right else "omega", **fields)
        for number, question in enumerate(QUESTIONS[:asked])
    ]


def live_tree(root: Path, runs: Mapping[str, tuple[str, Sequence[str]]], cases: int = 8) -> Tree:
    """LiveClin cases of two questions, gold A and B; `runs` maps a file's stem to model and its letters a case."""
    tree = Tree(root)
    tree.lines("dataset.jsonl", [live_case(f"PMC{number}", "AB") for number in range(cases)])
    for stem, (model, letters) in runs.items():
        answers = {f"PMC{number}": pair for number, pair in enumerate(letters)}
        tree.json(f"{stem}.json", live_results(model, answers))
    return tree


def load(tree: Tree, visibility: str = "public", **options: Any) -> list[Run]:
    """Ingest the tree; its runs in the order of their paths."""
    report = ingest(tree.root, Options(visibility=visibility, **options))
    assert report.runs, report.findings
    runs = {run.key: run for run in Run.objects.all()}
    return list(dict.fromkeys(runs[entry["id"]] for entry in report.runs))


def broken_down(dimension: str, metric: str = "", slug: str = LIVE_BOARD) -> Breakdown:
    """The board by a dimension, as a visitor sees it."""
    board = Board.objects.with_benchmark().get(slug=slug)
    found = break_down(standings([board], AnonymousUser())[0], dimension, metric)
    assert found is not None
    return found


def older_rules(run: Run, **values: float) -> Evaluation:
    """A superseded evaluation of a run by an earlier version of its evaluator; `values` moves items of the headline."""
    current = run.evaluations.filter(current=True).order_by("pk").first()
    assert current is not None
    now = current.evaluator
    older, _ = Evaluator.objects.get_or_create(
        name=now.name,
        benchmark=now.benchmark,
        fingerprint="0" * 64,
        defaults={"description": "Earlier words.", "headline": now.headline},
    )
    made = Evaluation.objects.filter(run=run, evaluator=older).first()
    if made is not None:
        return made
    made = Evaluation.objects.create(
        run=run,
        evaluator=older,
        gold_fingerprint=current.gold_fingerprint,
        labels_fingerprint=current.labels_fingerprint,
        current=False,
    )
    keys = list(
        SplitItem.objects.filter(split=run.split, item__scored=True)
        .order_by("position")
        .values_list("item__key", flat=True)
    )
    for vector in current.vectors.filter(repeat=0, name=now.headline):
        data = np.frombuffer(vector.data, "<f8").copy()
        for key, value in values.items():
            data[keys.index(key)] = value
        Vector.objects.create(evaluation=made, repeat=0, name=vector.name, data=data.tobytes())
    return made
