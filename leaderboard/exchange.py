"""Every Eval Ever documents (schema 0.3) as published figures. No Django here.

A document of our own names benchmark, release, split, mode and metric in its details. One of others is taken where its
`dataset_name` is a benchmark's name or slug, letter by letter; what it does not say must be stated by who loads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import msgspec

from evaluation.benchmarks import BENCHMARKS
from leaderboard.published import Figure, Name, NamedModel, Publication, Source, as_fraction

VERSION = "0.3."
UNITS = {"proportion": "fraction", "fraction": "fraction", "percent": "percent", "points": "points"}
ACCESS = {"open_weights": "open", "closed_weights": "proprietary"}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\Z", re.ASCII)
_LONGEST = 20  # characters of a printed figure


@dataclass(frozen=True, slots=True)
class Stated:
    """What who loads a document says where the document says nothing."""

    release: str = ""
    split: str = ""
    mode: str = ""


class _SourceMetadata(msgspec.Struct):
    source_type: str
    source_organization_name: str
    evaluator_relationship: str
    source_name: str = ""
    source_organization_url: str = ""


class _Library(msgspec.Struct):
    name: str
    version: str
    additional_details: dict[str, str] = {}


class _Model(msgspec.Struct):
    name: Name
    id: Name
    additional_details: dict[str, str] = {}


class _Data(msgspec.Struct):
    dataset_name: str
    source_type: str
    additional_details: dict[str, str] = {}


class _Metric(msgspec.Struct):
    lower_is_better: bool
    metric_id: str = ""
    metric_name: str = ""
    metric_unit: str = ""
    max_score: float | str | None = None


class _Uncertainty(msgspec.Struct):
    num_samples: int | None = None


class _Score(msgspec.Struct):
    score: msgspec.Raw
    details: dict[str, str] = {}
    uncertainty: _Uncertainty | None = None


class _Result(msgspec.Struct):
    evaluation_name: str
    source_data: _Data
    metric_config: _Metric
    score_details: _Score


class _Document(msgspec.Struct):
    schema_version: str
    evaluation_id: str
    retrieved_timestamp: str
    source_metadata: _SourceMetadata
    eval_library: _Library
    model_info: _Model
    evaluation_results: list[_Result]


def read_document(content: bytes, name: str, stated: Stated) -> Publication:
    """The figures of one document. Raises ValueError with field and value, and msgspec.MsgspecError for what is no JSON."""
    version = msgspec.json.decode(content, type=dict[str, Any]).get("schema_version")
    if not isinstance(version, str) or not version.startswith(VERSION):
        raise ValueError(f"schema_version: {version!r} cannot be read, only {VERSION}x")
    try:
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.ValidationError as error:
        raise ValueError(_with_value(str(error), content)) from error
    model, library = document.model_info, document.eval_library
    own = library.name == "clinboard"
    by = f"evaluator {library.additional_details['evaluator']}" if "evaluator" in library.additional_details else ""
    figures = [
        (replace(figure, model=model.name, note=by), repeat)
        for figure, repeat in _figures(document.evaluation_results, stated)
    ]
    told = document.source_metadata
    who = " of ".join(part for part in (told.source_name, told.source_organization_name) if part)
    source = Source(
        what=f"Every Eval Ever document {document.evaluation_id}, {who}; computed by {library.name} {library.version}",
        url=told.source_organization_url,
    )
    access = ACCESS.get(model.additional_details.get("model_availability", ""), "")
    aliases = () if own or model.id == model.name else (("provider", model.id),)
    return Publication(name, {"document": source}, [NamedModel(model.name, access, aliases)], _joined(figures))


def _with_value(message: str, content: bytes) -> str:
    """The message with the value that stands where it points to."""
    path = message.rpartition(" - at `$")[2].rstrip("`")
    value = msgspec.json.decode(content)
    for key, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[key]
        except (KeyError, IndexError, TypeError):
            return message
    return f"{message}: {repr(value)[:100]}"


def _figures(results: list[_Result], stated: Stated) -> Iterator[tuple[Figure, int | None]]:
    """Each result with the repeat that it is of; None: over all, or not stated."""
    for number, result in enumerate(results):
        at = f"evaluation_results[{number}]"
        place, said = result.source_data.additional_details, result.score_details.details
        benchmark = _benchmark(result.source_data, at)
        value, printed, unit = _value(result, at)
        repeat = said.get("repeat")
        if repeat is not None and not (repeat.isascii() and repeat.isdigit()):
            raise ValueError(f"{at}.score_details.details.repeat: {repeat!r} is no number")
        n = said.get("n", "")
        told = result.score_details.uncertainty
        protocol = place.get("protocol", "")
        where = {
            field: place.get(field) or getattr(stated, field) or _missing(field, at)
            for field in ("release", "split", "mode")
        }
        figure = Figure(
            source="document",
            benchmark=benchmark,
            release=where["release"],
            split=where["split"],
            mode=where["mode"],
            metric=_metric(result.metric_config, said, benchmark, at),
            value=value,
            printed=printed,
            unit=unit,
            protocol="" if protocol == "not stated" else protocol,
            on_board=not result.metric_config.lower_is_better,
            variant=said.get("variant", ""),
            dimension=said.get("dimension", "overall"),
            facet=said.get("facet", ""),
            n=int(n) if n.isascii() and n.isdigit() else told.num_samples if told else None,
        )
        yield figure, None if repeat is None else int(repeat)


def _missing(field: str, at: str) -> str:
    raise ValueError(f"{at}.source_data.additional_details.{field}: is missing; state it with --{field}")


def _benchmark(data: _Data, at: str) -> str:
    named = data.additional_details.get("benchmark", data.dataset_name)
    for slug, spec in BENCHMARKS.items():
        if named in (slug, spec.name):
            return slug
    raise ValueError(f"{at}.source_data.dataset_name: {named!r} is no benchmark; known are {', '.join(BENCHMARKS)}")


def _metric(config: _Metric, said: dict[str, str], benchmark: str, at: str) -> str:
    metric = said.get("metric") or config.metric_id.removeprefix(f"{benchmark}.") or config.metric_name
    if not metric:
        raise ValueError(f"{at}.metric_config.metric_id: is missing, and so is metric_name")
    return metric


def _value(result: _Result, at: str) -> tuple[float, str, str]:
    """(value, as printed, unit); shares become fractions, points of a scale stay what they are."""
    text = bytes(result.score_details.score).decode()
    if not _NUMBER.match(text):
        raise ValueError(f"{at}.score_details.score: {text[:100]} is no number")
    config = result.metric_config
    word = config.metric_unit or {1: "proportion", 100: "percent"}.get(config.max_score, "")  # type: ignore[call-overload]
    if word not in UNITS:
        raise ValueError(f"{at}.metric_config.metric_unit: {word!r} is not known; known are {', '.join(UNITS)}")
    unit, score = UNITS[word], Decimal(text)
    try:
        value = float(score) if unit == "points" else as_fraction(score, unit)
    except ValueError as error:
        raise ValueError(f"{at}.score_details.score: {error}") from error
    return value, text if len(text) <= _LONGEST else f"{value:.6g}", unit


def _joined(figures: list[tuple[Figure, int | None]]) -> list[Figure]:
    """One figure a place, with the values of its repeats. Where one repeat stands alone it is the figure."""
    overall = [figure for figure, repeat in figures if repeat is None]
    repeats: dict[tuple[str, ...], dict[int, Figure]] = {}
    for figure, repeat in figures:
        if repeat is None:
            continue
        mine = repeats.setdefault(figure.identity, {})
        if repeat in mine:
            raise ValueError(f"repeat {repeat} is said twice: {' '.join(part for part in figure.identity if part)}")
        mine[repeat] = figure
    out = []
    for figure in overall:
        found = repeats.pop(figure.identity, {})
        out.append(replace(figure, runs=tuple(found[number].value for number in sorted(found))))
    for identity, found in repeats.items():
        if len(found) > 1:
            raise ValueError(f"repeats without a figure over all: {' '.join(part for part in identity if part)}")
        out += found.values()
    return out
