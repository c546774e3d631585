"""Published figures: four forms of JSON files, read into one flat list. No Django here.

A file is of the form that its fields show: `columns` (one table, a column a category), `benchmark` (one board with its
side figures), `evaluation_results` (a document for exchange, see `leaderboard.exchange`) or none of them (scores that name
their benchmark themselves). Figures stay in the words of their source; values become fractions (0..1), and what the file
prints is kept beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.ehr_bench import TASK_GROUPS

if TYPE_CHECKING:
    from leaderboard.exchange import Stated

# What the figures of the form without `benchmark` were measured on; the files name the benchmark only.
CLINSEEK_SPLITS = {"ehr-bench": "full1800", "agent-ehr-bench": "subset600", "mm-bench": "full2703"}
TASK_TYPES = ("risk_prediction", "decision_making")
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
UNITS = {"percent": Decimal(100), "fraction": Decimal(1)}


class Unreadable(ValueError):
    """A file that is of none of the forms or does not add up; the text names the file and the place."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One reported figure. `value`, `runs` and `sd` are fractions; `printed` is the file's own text in `unit`.

    `model` is empty for people and for means of models: `group` names them. `order` is the place in the file, from 1.
    """

    source: str
    benchmark: str
    release: str
    split: str
    mode: str
    metric: str
    value: float
    printed: str
    order: int = 0
    unit: str = "percent"
    model: str = ""
    group: str = ""
    human: bool = False
    protocol: str = ""
    on_board: bool = True
    variant: str = ""
    dimension: str = "overall"
    facet: str = ""
    n: int | None = None
    runs: tuple[float, ...] = ()
    sd: float | None = None
    note: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it this figure and no other; a file may say it once."""
        place = (self.source, self.benchmark, self.release, self.split, self.mode, self.protocol)
        return (*place, self.model, self.group, self.metric, self.variant, self.dimension, self.facet)


class Source(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    what: str
    url: str = ""
    retrieved: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class NamedModel:
    name: str
    access: str = ""
    aliases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Publication:
    """What one file says. `sources` by their key in the file."""

    name: str
    sources: dict[str, Source]
    models: list[NamedModel] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


def read(path: Path, stated: Stated | None = None) -> Publication:
    """Read one file; `stated` is about documents of exchange alone.

    Raises Unreadable (file, place and reason in the text) and OSError.
    """
    from leaderboard.exchange import Stated, read_document  # it builds on this module

    content = path.read_bytes()
    try:
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw]).keys()
        form: Callable[[bytes, str], Publication] = (
            partial(read_document, stated=stated or Stated())
            if "evaluation_results" in fields
            else _table
            if "columns" in fields
            else _board
            if "benchmark" in fields
            else _scores
        )
        publication = form(content, path.stem)
        _check(publication)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(f"{path.name}: {error}") from error
    figures = [replace(figure, order=order) for order, figure in enumerate(publication.figures, 1)]
    return replace(publication, figures=figures)


def _check(publication: Publication) -> None:
    seen = set()
    for figure in publication.figures:
        if figure.source not in publication.sources:
            raise ValueError(f"the source {figure.source!r} of {figure.model or figure.group} is not described")
        if figure.benchmark not in BENCHMARKS:
            raise ValueError(f"{figure.benchmark!r} is no benchmark; known are {', '.join(BENCHMARKS)}")
        if figure.identity in seen:
            raise ValueError(f"said twice: {' '.join(part for part in figure.identity if part)}")
        seen.add(figure.identity)


def as_fraction(value: Decimal, unit: str) -> float:
    """Exactly rounded: 35.7 percent is the float nearest to 0.357."""
    if unit not in UNITS:
        raise ValueError(f"the unit is {unit!r}; known are {', '.join(UNITS)}")
    if not value.is_finite() or not 0 <= value <= UNITS[unit]:
        raise ValueError(f"{value} {unit} is not between 0 and {UNITS[unit]}")
    return float(value / UNITS[unit])


# --- one board with its side figures (LiveClin) -----------------------------------------------------------------------


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    value: Decimal
    source: str
    access: str = ""
    note: str = ""


class _Repeats(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    runs: list[Decimal]
    source: str
    reported_sd: Decimal | None = None
    note: str = ""


class _People(msgspec.Struct, forbid_unknown_fields=True):
    group: str
    value: Decimal
    n_cases: int
    source: str
    note: str = ""


class _OtherProtocol(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    protocol: str
    value: Decimal
    source: str
    note: str = ""


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    metric: str
    dimension: str
    facet: str
    value: Decimal
    source: str
    note: str = ""


class _Example(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    source: str
    total_cases: int
    correct_cases: int
    case_accuracy: Decimal
    total_mcqs: int
    correct_mcqs: int
    question_accuracy: Decimal
    note: str = ""


class _Board(msgspec.Struct, forbid_unknown_fields=True):
    benchmark: str
    release: str
    split: str
    unit: str
    metric: str
    sources: dict[str, Source]
    scores: list[_Entry]
    protocol: str = ""
    repeats: list[_Repeats] = []
    human_baselines: list[_People] = []
    other_protocols: list[_OtherProtocol] = []
    by_dimension: list[_Part] = []
    example_run: _Example | None = None
    facts: Any = None


def _board(content: bytes, name: str) -> Publication:
    file = msgspec.json.decode(content, type=_Board)
    unit = file.unit

    def figure(source: str, value: Decimal, **more: Any) -> Figure:
        told = {"metric": file.metric, "unit": unit, **more}
        return Figure(
            source=source,
            benchmark=file.benchmark,
            release=file.release,
            split=file.split,
            mode="chat",
            value=as_fraction(value, told["unit"]),
            printed=str(value),
            **told,
        )

    repeats = {(entry.model, entry.source): entry for entry in file.repeats}
    figures = []
    for entry in file.scores:
        known = repeats.pop((entry.model, entry.source), None)
        note = "; ".join(filter(None, (entry.note, known.note if known else "")))
        row = figure(entry.source, entry.value, model=entry.model, protocol=file.protocol, note=note)
        if known:
            runs = tuple(as_fraction(run, unit) for run in known.runs)
            sd = None if known.reported_sd is None else as_fraction(known.reported_sd, unit)
            row = replace(row, runs=runs, sd=sd)
        figures.append(row)
    for model, source in repeats:
        raise ValueError(f"repeats of {model} from {source!r} belong to no score")
    for people in file.human_baselines:
        figures.append(
            figure(people.source, people.value, group=people.group, human=True, n=people.n_cases, note=people.note)
        )
    for other in file.other_protocols:
        figures.append(
            figure(
                other.source, other.value, model=other.model, protocol=other.protocol, note=other.note, on_board=False
            )
        )
    for part in file.by_dimension:
        # a mean over models is no model
        who = {"group" if part.model.startswith("mean of ") else "model": part.model}
        stated = "not stated" not in part.metric
        figures.append(
            figure(
                part.source,
                part.value,
                metric=part.metric,
                dimension=part.dimension,
                facet=part.facet,
                note=part.note,
                on_board=stated,
                **who,
            )
        )
    figures += _example(file.example_run, figure)
    models = {entry.model: NamedModel(entry.model, entry.access) for entry in file.scores}
    return Publication(name, file.sources, list(models.values()), figures)


def _example(run: _Example | None, figure: Callable[..., Figure]) -> Iterator[Figure]:
    """The counts and accuracies of an example run: side figures, given as fractions."""
    if run is None:
        return
    for metric, value, right, n, word in (
        ("case_accuracy", run.case_accuracy, run.correct_cases, run.total_cases, "cases"),
        ("question_accuracy", run.question_accuracy, run.correct_mcqs, run.total_mcqs, "questions"),
    ):
        note = "; ".join(filter(None, (f"{right} of {n} {word} right", run.note)))
        yield figure(run.source, value, model=run.model, metric=metric, unit="fraction", n=n, note=note, on_board=False)


# --- scores that name their benchmark (ClinSeek) ----------------------------------------------------------------------


class _Model(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    directory: Name
    raw_tag: Name


class _Score(msgspec.Struct, forbid_unknown_fields=True):
    benchmark: str
    model: Name
    mode: str
    group: str
    metric: str
    value: Decimal
    source: str
    note: str = ""


class _Scores(msgspec.Struct, forbid_unknown_fields=True):
    unit: str
    sources: dict[str, Source]
    scores: list[_Score]
    models: list[_Model] = []
    rules: dict[str, str] = {}


def _scores(content: bytes, name: str) -> Publication:
    file = msgspec.json.decode(content, type=_Scores)
    figures = []
    for entry in file.scores:
        if entry.benchmark not in CLINSEEK_SPLITS:
            raise ValueError(f"{entry.benchmark!r} is not known here; known are {', '.join(CLINSEEK_SPLITS)}")
        dimension, facet = clinseek_place(entry.benchmark, entry.group)
        rule = file.rules.get(f"{entry.benchmark} {entry.group}", "")
        figures.append(
            Figure(
                source=entry.source,
                benchmark=entry.benchmark,
                release=BENCHMARKS[entry.benchmark].default_release,
                split=CLINSEEK_SPLITS[entry.benchmark],
                mode=entry.mode,
                model=entry.model,
                metric=entry.metric,
                dimension=dimension,
                facet=facet,
                value=as_fraction(entry.value, file.unit),
                printed=str(entry.value),
                unit=file.unit,
                note="; ".join(filter(None, (rule, entry.note))),
            )
        )
    models = [
        NamedModel(model.name, aliases=(("directory", model.directory), ("tag", model.raw_tag)))
        for model in file.models
    ]
    return Publication(name, file.sources, _with_named(models, figures), figures)


def clinseek_place(benchmark: str, group: str) -> tuple[str, str]:
    """(dimension, facet) of a group of questions, as our own scores name them. Raises ValueError for an unknown group."""
    if benchmark == "ehr-bench":
        if group == "overall":
            return "overall", ""
        if group in TASK_TYPES:
            return "task_type", group
        if group in TASK_GROUPS:
            return "task_group", group
        raise ValueError(f"{group!r} is no task type and no task group of {benchmark}")
    if group.startswith("overall"):
        return "aggregate", group
    return ("fine_task" if benchmark == "mm-bench" else "task"), group


# --- one table, a column a category (LLMEval-Med) ---------------------------------------------------------------------


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    OP: Decimal
    MK: Decimal
    MLU: Decimal
    MR: Decimal
    MSE: Decimal
    MTG: Decimal
    access: str = ""


class _Mismatch(msgspec.Struct):
    model: Name
    plain_mean: Decimal


class _Facts(msgspec.Struct):
    overall_mismatch: list[_Mismatch] = []


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    benchmark: str
    release: str
    unit: str
    metric: str
    source: Source
    columns: list[str]
    scores: list[_Row]
    facts: _Facts = msgspec.field(default_factory=_Facts)


def _table(content: bytes, name: str) -> Publication:
    file = msgspec.json.decode(content, type=_Table)
    plain_means = {entry.model: entry.plain_mean for entry in file.facts.overall_mismatch}
    figures = []
    for row in file.scores:
        for column in file.columns:
            value = getattr(row, column, None)
            if not isinstance(value, Decimal):
                raise ValueError(f"{column!r} is no column of this table")
            figure = Figure(
                source="table",
                benchmark=file.benchmark,
                release=file.release,
                split="full",
                mode="chat",
                model=row.model,
                metric=file.metric,
                value=as_fraction(value, file.unit),
                printed=str(value),
                unit=file.unit,
            )
            if column != "OP":
                figure = replace(figure, dimension="category", facet=column)
            else:
                # the table's overall is the plain mean of its categories; a row where it is not says so
                mean = plain_means.get(row.model)
                note = "" if mean is None else f"the plain mean of the five printed category rates is {mean}"
                figure = replace(figure, variant="mean_of_categories", note=note)
            figures.append(figure)
    models = [NamedModel(row.model, row.access) for row in file.scores]
    return Publication(name, {"table": file.source}, models, figures)


def _with_named(models: list[NamedModel], figures: Iterable[Figure]) -> list[NamedModel]:
    """`models` and every further model that a figure names."""
    known = {model.name for model in models}
    more = dict.fromkeys(figure.model for figure in figures if figure.model and figure.model not in known)
    return models + [NamedModel(name) for name in more]
