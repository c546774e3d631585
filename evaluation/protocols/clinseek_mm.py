"""MM-Bench: gold names and the extraction of answers, by the raw part of the public MM scorer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from reprlib import repr as short
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluation.protocols.base import Answer, ItemSpec
from evaluation.protocols.clinseek_rows import Call, ClinSeekRow, Function
from evaluation.protocols.clinseek_text import set_scores

# Of one row, in this order; `accuracy` is the Jaccard index, `subset_match` (the scorer's word) that the sets are equal.
VALUES = ("f1", "precision", "recall", "accuracy", "subset_match")
Values = tuple[float, float, float, float, float]
RIGHT: Values = (1.0, 1.0, 1.0, 1.0, 1.0)
WRONG: Values = (0.0, 0.0, 0.0, 0.0, 0.0)
# Facets of the dimension `gold_items`, by which an answer is scored: a verdict for one item, sets for several.
ONE, SEVERAL = "one", "two or more"


class Own(NamedTuple):
    """What only the MM scorer needs of a row: it scores a row by the row's own task and label.

    `indexed` says that the row has a run index: the scorer tells rows without one from those of run 1.
    """

    task: Any
    odd_shape: bool
    label: Any
    indexed: bool


def gold_names(label: Any) -> list[str]:
    """Names of a gold label: `name`, or `value` where the name is null; blanks are dropped, a null item is the word None."""
    if label is None:
        return []
    entries = label if isinstance(label, list) else [label if isinstance(label, str) else str(label)]
    names = []
    for entry in entries:
        value = (
            (entry.get("name") if entry.get("name") is not None else entry.get("value"))
            if isinstance(entry, dict)
            else entry
        )
        names.append("" if isinstance(entry, dict) and value is None else str(value))
    return [name for name in names if name.strip()]


def mm_items(rows: Iterable[Mapping[str, Any]]) -> list[ItemSpec]:
    """Items from gold rows; an item with empty gold stands in no denominator. Raises ValueError with row, field and value."""
    items: dict[str, ItemSpec] = {}
    for number, row in enumerate(rows, 1):
        for name in ("qid", "task"):
            if not isinstance(row.get(name), str) or not row[name]:
                raise ValueError(f"gold row {number}: {name} is {short(row.get(name))}, expected a text")
        key, label = row["qid"], row.get("label", row.get("ground_truth"))
        subject = row.get("subject_id")
        names = gold_names(label)
        facets = [("task", row["task"])]
        facets += [(name, str(row[name])) for name in ("scope", "source_benchmark") if row.get(name)]
        if names:
            facets.append(("gold_items", ONE if len(names) == 1 else SEVERAL))
        cluster = key if subject is None else str(subject)
        items[key] = ItemSpec(key, key, cluster, label, tuple(facets), scored=bool(names))
    return list(items.values())


def _named(call: Call) -> tuple[Any, Any]:
    if call.name is None and isinstance(call.function, Function):
        return call.function.name, call.function.arguments
    return call.name, call.arguments


def take(row: ClinSeekRow) -> tuple[tuple[str, ...], str]:
    """(prediction strings, note) by the MM scorer's rules.

    The last message with a call named exactly `ehr.finish` or `finish` whose arguments are there and not null decides; of
    its calls the first. Notes: `ok`, `no_finish_call`, `bad_json_args`, `no_response_key` and, where the scorer says `ok`
    and counts the row as incomplete all the same, `null_response`. What is nested too deeply to be read or written out is
    `bad_json_args`.
    """
    for _, call in row.calls():
        name, arguments = _named(call)
        if name not in ("ehr.finish", "finish") or arguments is None or arguments is UNSET:
            continue
        try:
            return _from_arguments(arguments)
        except (ValueError, RecursionError):
            return (), "bad_json_args"
    return (), "no_finish_call"


def _from_arguments(arguments: Any) -> tuple[tuple[str, ...], str]:
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
        if not isinstance(arguments, dict):
            return (), "no_response_key"
    if not isinstance(arguments, dict):
        return (), "bad_json_args"
    if "response" not in arguments:
        return (), "no_response_key"
    response = arguments["response"]
    return strings(response), "ok" if response is not None else "null_response"


def strings(response: Any) -> tuple[str, ...]:
    """A list item by item (an object by its first non-empty of name, value, text, answer, else its JSON), a text as one."""
    if response is None:
        return ()
    if not isinstance(response, list):
        return (response if isinstance(response, str) else str(response),)
    return tuple(
        str(next((item[key] for key in ("name", "value", "text", "answer") if item.get(key)), None) or json.dumps(item))
        if isinstance(item, dict)
        else str(item)
        for item in response
    )


def prediction_set(prediction: Iterable[str]) -> frozenset[str]:
    """Stripped, lower-cased, empty ones dropped."""
    return frozenset(text.strip().lower() for text in prediction) - {""}


def set_values(predicted: frozenset[str], gold: frozenset[str]) -> Values:
    """The VALUES of two sets; an empty prediction gives 0 for all."""
    f1, precision, recall, equal = set_scores(predicted, gold)
    return f1, precision, recall, len(predicted & gold) / max(1, len(predicted | gold)), equal


def read(row: ClinSeekRow) -> Answer:
    """Take the answer out of one row. The row must have an id."""
    prediction, note = take(row)
    own = Own(row.task, row.odd_shape, row.label, row.run_index is not None)
    return Answer(row.item or "", row.repeat, prediction, note, row.failed, own)
