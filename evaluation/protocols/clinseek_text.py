"""The text scorer of EHR-Bench and AgentEHR-Bench: set F1 over the last finish call. Protocol `clinseek-text-2026`."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as short
from typing import Any

import msgspec
from msgspec import UNSET

from evaluation.protocols import aggregate
from evaluation.protocols.base import Answer, Evaluator, ItemSpec, Outcome, Result, Verdicts
from evaluation.protocols.clinseek_rows import ClinSeekRow, Function

METRICS = ("f1", "precision", "recall", "exact_match")


def item_key(row: Mapping[str, Any], *, build: bool) -> str:
    """The sample id: the row's own `qid` (or `query_id`), else built from task, subject and, where given, admission."""
    own = row.get("qid") or row.get("query_id")
    if own and not build:
        return str(own)
    parts = [row["task"], row["subject_id"], row.get("hadm_id")]
    return "_".join(str(part) for part in parts if part is not None)


def gold_strings(label: Any) -> list[str]:
    """Gold as a list of strings, before lower-casing.

    A string is one item. In a list of objects only `atc_name` counts when any object has a non-empty one, else `name`.
    """
    if isinstance(label, str):
        return [label]
    if not isinstance(label, list):
        return []
    objects = [entry for entry in label if isinstance(entry, dict)]
    field = "atc_name" if any(entry.get("atc_name") for entry in objects) else "name"
    strings = [entry.get(field) if isinstance(entry, dict) else entry for entry in label]
    return [text for text in strings if isinstance(text, str)]


def text_items(
    rows: Iterable[Mapping[str, Any]],
    *,
    groups: Mapping[str, str] | None = None,
    aggregates: Mapping[str, Sequence[str]] | None = None,
    build_keys: bool = False,
) -> list[ItemSpec]:
    """Items of a text benchmark from its gold rows; of rows with one id the last counts, as in the public loader.

    Raises ValueError with row number, field and value where a row lacks its task, its subject or its label.
    """
    items: dict[str, ItemSpec] = {}
    for number, row in enumerate(rows, 1):
        for name in ("task", "subject_id"):
            if row.get(name) in (None, ""):
                raise ValueError(f"gold row {number}: {name} is {row.get(name)!r}, expected one")
        label = row.get("label", row.get("ground_truth"))
        if not isinstance(label, (str, list)):
            raise ValueError(f"gold row {number}: label is {short(label)}, expected a text or a list")
        task = str(row["task"])
        facets = [("task", task)]
        if row.get("task_type"):
            facets.append(("task_type", str(row["task_type"])))
        if groups and task in groups:
            facets.append(("task_group", groups[task]))
        facets += [("aggregate", name) for name, tasks in (aggregates or {}).items() if task in tasks]
        key = item_key(row, build=build_keys)
        items[key] = ItemSpec(key, key, str(row["subject_id"]), label, tuple(facets))
    return list(items.values())


def parse_arguments(arguments: Any) -> tuple[bool, Any]:
    """(parsed, value) of a call's arguments: JSON first, then a Python literal; an object or a list is taken as it is."""
    if not isinstance(arguments, str):
        return arguments is not None, arguments
    for loads in (msgspec.json.decode, json.loads):  # the first is fast and strict, the second takes NaN and surrogates
        try:
            return True, loads(arguments)
        except (ValueError, RecursionError):
            pass
    try:
        return True, ast.literal_eval(arguments)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None


def take(row: ClinSeekRow) -> tuple[tuple[str, ...], str]:
    """The predictions of a row, only strings, and the rule that took them.

    Messages from the last to the first, calls of a message from the last to the first: the first call whose name, in lower
    case, contains `finish` decides, also when it cannot be parsed. Status, role and `completed` are not consulted.
    """
    for message in reversed(row.messages or []):
        for call in reversed(message.tool_calls or []):
            function = call.function
            if isinstance(function, Function) and isinstance(function.name, str) and "finish" in function.name.lower():
                return _from_arguments(function.arguments)
    return (), "no_prediction"


def _from_arguments(arguments: Any) -> tuple[tuple[str, ...], str]:
    parsed, value = parse_arguments(arguments)
    if not parsed:
        return (), "finish_parse_error"
    if isinstance(value, dict):
        value = value.get("response", UNSET)
    if value is UNSET:
        return (), "finish_tool_call"
    if isinstance(value, list):
        return tuple(text for text in value if isinstance(text, str)), "finish_tool_call"
    if isinstance(value, str) and value.strip():
        return (value.strip(),), "finish_tool_call"
    return (), "finish_tool_call_non_list"


def prediction_set(prediction: Iterable[Any]) -> frozenset[str]:
    """Lower-cased and nothing else; what is no string is left out."""
    return frozenset(text.lower() for text in prediction if isinstance(text, str))


def set_scores(predicted: frozenset[str], gold: frozenset[str]) -> tuple[float, float, float, float]:
    """(f1, precision, recall, exact match) of two sets; an empty prediction gives 0 for all, also against empty gold."""
    if not predicted:
        return 0.0, 0.0, 0.0, 0.0
    hits = len(predicted & gold)
    precision = hits / len(predicted)
    recall = hits / len(gold) if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return f1, precision, recall, float(predicted == gold)


class ClinSeekText(Evaluator):
    """Evaluator `clinseek-text-2026` for one benchmark.

    Differs from the public scorer on purpose in three places, each told in `notes`: a byte-order mark costs no row; a row
    without an id or of an odd shape costs itself and not the file; a task spelled otherwise than in gold counts under gold's.
    """

    name = "clinseek-text-2026"
    headline = "f1"
    metrics = {
        "f1": "Set F1 of the lower-cased answers against the lower-cased gold, mean over questions.",
        "precision": "Share of the given answers that are in the gold, mean over questions.",
        "recall": "Share of the gold that was given, mean over questions.",
        "exact_match": "Share of questions whose answer set equals the gold set.",
    }
    description = (
        "Last finish call of the trajectory; strings lower-cased, nothing else; sets compared. Rows of one question are "
        "averaged, then questions. Missing questions count 0 (variant done_only leaves them out, as the public scorer prints)."
    )

    def __init__(
        self, benchmark: str, dimensions: tuple[str, ...], weighted: Mapping[str, Mapping[tuple[str, str], float]] = {}
    ):
        self.benchmark = benchmark
        self.dimensions = dimensions
        self.weighted = weighted
        self._last: _Prepared | None = None

    @property
    def fingerprint(self) -> str:
        weights = [[name, sorted(parts.items())] for name, parts in self.weighted.items()]
        content = json.dumps([self.name, self.description, self.benchmark, self.dimensions, METRICS, *weights])
        return hashlib.sha256(content.encode()).hexdigest()

    def read(self, row: ClinSeekRow) -> Answer:
        """Take the answer out of one row. The row must have an id."""
        prediction, rule = take(row)
        return Answer(row.item or "", row.repeat, prediction, rule, row.failed, (row.task, row.odd_shape))

    def evaluate(self, items: Sequence[ItemSpec], answers: Sequence[Answer], seed: str) -> Result:
        ready = self._prepare(items)
        rows = aggregate.Rows(len(ready.scored), METRICS)
        verdicts, notes = Verdicts(), []
        task_names: dict[str, str] = {}
        for answer in answers:
            task, odd_shape = answer.extra
            if odd_shape:
                notes.append(("odd_shape", answer.item, "the public scorer would stop at this row and lose the file"))
            predicted = prediction_set(answer.prediction)
            index = ready.place.get(answer.item)
            values = set_scores(predicted, ready.gold[index]) if index is not None else NOTHING
            if values[0] > 0:
                outcome = Outcome.RIGHT
            elif answer.error:
                outcome = Outcome.ERROR
            else:
                outcome = Outcome.WRONG if predicted else Outcome.NO_ANSWER
            if index is None:
                verdicts.add(outcome, None)
                continue
            if task != ready.tasks[index] and isinstance(task, str):
                task_names[task] = ready.tasks[index]
                notes.append(
                    ("task_differs", answer.item, f"task {task!r} in the row, {ready.tasks[index]!r} in the gold")
                )
            verdicts.add(outcome, values[0])
            rows.add(index, answer.repeat, outcome, values)
        vectors, aggregates = rows.collect(ready.groups, ready.clusters, seed, overall_only=frozenset(METRICS[1:]))
        for name, weights in self.weighted.items():
            aggregates += aggregate.weighted(aggregates, name, weights)
        return Result(verdicts, vectors, aggregates, notes, task_names)

    def _prepare(self, items: Sequence[ItemSpec]) -> _Prepared:
        # runs of one split come one after the other with the very same items
        kept = self._last
        if kept is None or kept.items is not items:
            kept = self._last = _Prepared(items, self.dimensions)
        return kept


NOTHING = (0.0, 0.0, 0.0, 0.0)


class _Prepared:
    """What every run of a split needs of its items."""

    def __init__(self, items: Sequence[ItemSpec], dimensions: tuple[str, ...]) -> None:
        self.items = items
        self.scored = [item for item in items if item.scored]
        self.place = {item.key: index for index, item in enumerate(self.scored)}
        self.gold = [frozenset(text.lower() for text in gold_strings(item.gold)) for item in self.scored]
        self.tasks = [str(dict(item.facets).get("task")) for item in self.scored]
        self.groups = aggregate.facet_groups(self.scored, dimensions)
        self.clusters = aggregate.cluster_codes(self.scored)
