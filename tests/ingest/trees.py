"""Tiny invented results trees, and the commands over them as other programs call them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command

from evaluation.benchmarks import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))
Row = dict[str, Any]


class Tree:
    """Writes below `root`; every method gives the path it wrote."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def bytes(self, path: str, data: bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def text(self, path: str, text: str) -> Path:
        return self.bytes(path, text.encode("utf-8", "surrogatepass"))

    def json(self, path: str, value: Any) -> Path:
        return self.text(path, json.dumps(value))

    def lines(self, path: str, rows: Iterable[Row]) -> Path:
        return self.text(path, "".join(json.dumps(row) + "\n" for row in rows))

    def link(self, path: str, target: str | Path) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        return place


# --- ClinSeek ---------------------------------------------------------------------------------------------------------


def run_path(model: str, benchmark: str = "ehr_bench", mode: str = "agentic", split: str = "full1800") -> str:
    return f"{benchmark}/{mode}/{split}/{model}/results.jsonl"


def finish(arguments: Any, name: str = "ehr.finish") -> list[Row]:
    """A trajectory of one finish call; `arguments` stand as they are given."""
    return [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}]


def answered(qid: Any, *answers: Any, **fields: Any) -> Row:
    """A results row that answers; without answers the list is empty."""
    arguments = json.dumps({"response": list(answers)})
    row = {"qid": qid, "run_index": 1, "messages": finish(arguments), "status": "success"}
    return {**row, "stop_reason": "finish_tool_call", **fields}


def failed(qid: Any, **fields: Any) -> Row:
    return {"qid": qid, "run_index": 1, "messages": [], "status": "error", "stop_reason": "exception", **fields}


def ehr_gold(labels: dict[str, Any], task: str = "labevents", task_type: str = "decision_making") -> list[Row]:
    """One gold row a question of EHR-Bench, one patient each."""
    return [
        {"qid": qid, "subject_id": 990 + number, "hadm_id": None, "task": task, "task_type": task_type, "label": label}
        for number, (qid, label) in enumerate(labels.items())
    ]


GOLD = {"q1": ["Alpha", "Beta"], "q2": ["Gamma"], "q3": "yes"}


def small_tree(root: Path, *models: str) -> Tree:
    """EHR-Bench gold of three questions and one run a model: q1 half right (F1 2/3), q2 wrong, q3 missing."""
    tree = Tree(root)
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    for model in models or ("glm_4_7",):
        tree.lines(run_path(model), [answered("q1", "alpha"), answered("q2", "delta")])
    return tree


# --- LiveClin ---------------------------------------------------------------------------------------------------------


def live_case(case: str, golds: str, **fields: Any) -> Row:
    """A case of the dataset: one question a letter of `golds`."""
    mcqs = [{"stage": "Discharge", "correct_answer": letter, "image_details": None} for letter in golds]
    named = {"Level1": "Chapter 2: Neoplasms", "Level2": "Skin (C43-C44)", "Rarity": "rare"}
    return {"pmc": case, **named, "exam_creation": {"final_policy": {"scenario": "Invented.", "mcqs": mcqs}}, **fields}


def live_results(model: str, letters: dict[str, str], dataset: str = "2025_H1", **meta: Any) -> Row:
    """A results document without summary: for each case one answered letter a question, `-` for a failed call."""
    cases = [
        {
            "case_id": case,
            "mcqs": [
                {"mcq_index": index, "model_response": None, "error": "timeout"}
                if letter == "-"
                else {"mcq_index": index, "model_response": f"\\boxed{{{letter}}}", "error": None}
                for index, letter in enumerate(answers)
            ],
        }
        for case, answers in letters.items()
    ]
    return {"meta": {"model": model, "dataset": dataset, **meta}, "summary": {}, "cases": cases}


# --- LLMEval-Med ------------------------------------------------------------------------------------------------------


def med_document(scores: dict[tuple[int, int], Any] | None = None, category: str = "医疗知识") -> Row:
    """Questions (groupCode, round) of one category; with `scores` a scored document, else the dataset."""
    questions = scores if scores is not None else {(1, 1): None, (1, 2): None, (2, 1): None}
    return {
        category: [
            {
                "category1": category,
                "category2": "made up",
                "scene": "made up",
                "groupCode": group,
                "round": number,
                "problem": f"invented {group}.{number}",
                "sanswer": "invented",
                **({} if scores is None else {"model_answer": "…", "model_answer_score": score}),
            }
            for (group, number), score in questions.items()
        ]
    }


# --- the commands -----------------------------------------------------------------------------------------------------


@dataclass
class Called:
    """What a command gave: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def runs(self) -> dict[str, Row]:
        """The entries of `runs` by path."""
        return {entry["path"]: entry for entry in self.document["runs"]}

    @property
    def not_runs(self) -> dict[str, str]:
        return {entry["path"]: entry["reason"] for entry in self.document["not_runs"]}

    def findings(self, code: str) -> list[Row]:
        return [entry for entry in self.document["findings"] if entry["code"] == code]

    @property
    def codes(self) -> set[str]:
        return {entry["code"] for entry in self.document["findings"]}


def called(name: str, *arguments: Any) -> Called:
    """Run a management command in this process."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(name, *map(str, arguments), stdout=out, stderr=err)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return Called(code, out.getvalue(), err.getvalue())


def ingest(root: Path | Tree, *arguments: Any) -> Called:
    """`manage.py ingest ROOT … --json`."""
    return called("ingest", root.root if isinstance(root, Tree) else root, *arguments, "--json")


Score = tuple[int | None, str, str, str, str]


def scores(*arguments: Any) -> dict[str, dict[Score, Row]]:
    """`manage.py scores --json` by model and then by (repeat, metric, variant, dimension, facet): the boards' evaluators."""
    found: dict[str, dict[Score, Row]] = {}
    first = {spec.slug: spec.evaluators[0].name for spec in BENCHMARKS.values() if spec.evaluators}
    for row in called("scores", *arguments, "--json").document:
        if row["evaluator"] != first[row["benchmark"]]:
            continue
        key = (row["repeat"], row["metric"], row["variant"], row["dimension"], row["facet"])
        assert key not in found.setdefault(row["model"], {}), "an aggregate stands twice"
        found[row["model"]][key] = row
    return found


OURS = ("evaluation", "ingest", "leaderboard")


def tables() -> dict[str, list[str]]:
    """Every row of every table, but for what each pass writes anew: the passes, and who saw a file or finding last."""
    dump = {}
    for model in (model for app in OURS for model in apps.get_app_config(app).get_models(include_auto_created=True)):
        label = model._meta.label
        if label == "ingest.Pass":
            continue
        left_out = {"last_pass", *({"id"} if label == "ingest.Finding" else ())}
        fields = [field.name for field in model._meta.concrete_fields if field.name not in left_out]
        rows = model.objects.values_list(*fields)
        dump[label] = sorted(repr([bytes(v) if isinstance(v, memoryview) else v for v in row]) for row in rows)
    return dump
