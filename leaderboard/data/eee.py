"""Runs as Every Eval Ever documents, schema 0.3: one document an evaluation, with a file of instances beside it.

Source: the schemas of Every Eval Ever, version 0.3.0 (evaluation and instance level). What is not stated is left out or
given as `unknown`, never made up. Question texts and whole answers are not kept in the tables and stand in no document:
`input.raw` is empty, and an instance names the bytes of the file that its answer was taken from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.utils.text import slugify

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Benchmark, Evaluation, LanguageModel, ModelAlias, Run, Score
from leaderboard.data.items import COLUMNS, ItemRows
from leaderboard.scores import metric_name
from leaderboard.standings import shown

if TYPE_CHECKING:
    from evaluation.querysets import Person

SCHEMA = "0.3.0"
LIBRARY = "clinboard"
OUT_OF_FIVE = {"mean_score"}  # metrics that are no share
LOWER_IS_BETTER = {"error_rate", "unsafe_rate"}
AVAILABILITY = {
    LanguageModel.Access.PROPRIETARY: "closed_weights",
    LanguageModel.Access.OPEN: "open_weights",
}
FAILED = "the call failed or was skipped"


def evaluation_of(run: Run, evaluator: str = "") -> Evaluation:
    """The current evaluation by an evaluator, the one of the board where none is named. Raises LookupError."""
    name = evaluator or evaluator_name(run)
    related = ("evaluator", "run__model", "run__split__release__benchmark")
    found = run.evaluations.filter(current=True, evaluator__name=name).select_related(*related).first()
    if found is None:
        raise LookupError(f"run {run.key} has no evaluation by {name or 'any evaluator'!r}")
    return found


def evaluator_name(run: Run) -> str:
    """The evaluator whose figures the board shows; empty where the benchmark has none."""
    evaluator = BENCHMARKS[run.split.release.benchmark.slug].evaluator
    return evaluator.name if evaluator else ""


def document(evaluation: Evaluation, user: Person) -> dict[str, Any]:
    """The document of an evaluation. It names its instances only where `user` may have them."""
    run, benchmark = evaluation.run, evaluation.run.split.release.benchmark
    model = _model(run, user)
    made = f"{run.loaded_at.timestamp():.6f}"
    out = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id(evaluation, model["id"]),
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": "ClinBoard",
            "source_type": "evaluation_run",
            "source_organization_name": settings.ADDRESS or "not stated",
            "evaluator_relationship": "other",  # who ran it for whom is not known
            "additional_details": {
                "run": run.key,
                "page": f"{settings.ADDRESS}{run.get_absolute_url()}",
                "origin": run.origin,
                "licence": benchmark.licence or "not stated",
                "attribution": benchmark.attribution or "not stated",
            },
        },
        "eval_library": {
            "name": LIBRARY,
            "version": _version(),
            "additional_details": {
                "evaluator": evaluation.evaluator.name,
                "evaluator_fingerprint": evaluation.evaluator.fingerprint,
                "gold_fingerprint": evaluation.gold_fingerprint,
            },
        },
        "model_info": model,
        "evaluation_results": [_result(evaluation, score) for score in _scores(evaluation)],
    }
    if run.answered_at:
        out["evaluation_timestamp"] = run.answered_at.isoformat()
    if benchmark.items_visible_to(user):
        out["detailed_evaluation_results"] = _detailed(evaluation, model["id"])
    return out


def evaluation_id(evaluation: Evaluation, model_id: str) -> str:
    """`benchmark/model/time`, as the schema asks; the time is that of loading, so the id stays."""
    run = evaluation.run
    return f"{_name(run)}.{evaluation.evaluator.name}/{model_id}/{run.loaded_at.timestamp():.6f}"


def file_stem(evaluation: Evaluation) -> str:
    """Where a document and its instances lie in an exchange folder: data/BENCHMARK/DEVELOPER/MODEL/UUID, as the schema asks.

    The UUID has the form of version 4 and is made of run and evaluator, so that the same evaluation keeps it.
    """
    run = evaluation.run
    digest = hashlib.sha256(
        f"{run.key} {evaluation.evaluator.name} {evaluation.evaluator.fingerprint}".encode()
    ).digest()
    developer = slugify(run.model.organisation) or "unknown"
    return f"data/{run.split.release.benchmark.slug}/{developer}/{run.model.slug}/{UUID(bytes=digest[:16], version=4)}"


def _name(run: Run) -> str:
    split = run.split
    return ".".join((split.release.benchmark.slug, split.release.name, split.name, run.mode))


def _version() -> str:
    try:
        return version(LIBRARY)
    except PackageNotFoundError:
        return "unknown"


def _model(run: Run, user: Person) -> dict[str, Any]:
    model = run.model
    names = ModelAlias.objects.visible_to(user).filter(model=model, kind=ModelAlias.Kind.PROVIDER)
    known = names.order_by("pk").values_list("name", flat=True).first()
    out: dict[str, Any] = {
        "name": model.name,
        "id": known or model.slug,
        "additional_details": {
            "deployment_type": "unknown",
            "model_availability": AVAILABILITY.get(LanguageModel.Access(model.access), "unknown"),
            "name_in_files": run.model_name,
        },
    }
    if model.organisation:
        out["developer"] = model.organisation
    return out


def _scores(evaluation: Evaluation) -> Any:
    """A score without a value has no place in a document: there n = 0."""
    return Score.objects.filter(evaluation=evaluation, value__isnull=False).order_by("pk")


def result_id(metric: str, variant: str, dimension: str, facet: str, repeat: int | None) -> str:
    """Unique in a document, and the same in every export."""
    return json.dumps([metric, variant, dimension, facet, repeat], ensure_ascii=False)


def _result(evaluation: Evaluation, score: Score) -> dict[str, Any]:
    run = evaluation.run
    release, slug = run.split.release, run.split.release.benchmark.slug
    place = {name: getattr(score, name) for name in ("metric", "variant", "dimension", "facet", "repeat")}
    texts = {name: str(value) for name, value in place.items() if value not in ("", None)}
    uncertainty: dict[str, Any] = {"num_samples": score.n}
    if score.ci_low is not None and score.ci_high is not None:
        ends = {"lower": score.ci_low, "upper": score.ci_high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = ends
    points = score.metric in OUT_OF_FIVE
    return {
        "evaluation_result_id": result_id(**place),
        "evaluation_name": " ".join(part for part in (slug, score.dimension, score.facet) if part),
        "source_data": {
            "dataset_name": release.benchmark.name,
            "source_type": "other",
            "additional_details": {
                "benchmark": slug,
                "release": release.name,
                "split": run.split.name,
                "mode": run.mode,
                "protocol": run.protocol_text,
            },
        },
        "metric_config": {
            "metric_id": f"{slug}.{score.metric}",
            "metric_name": metric_name(score.metric),
            "metric_unit": "points" if points else "proportion",
            "lower_is_better": score.metric in LOWER_IS_BETTER,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 5 if points else 1,
        },
        "score_details": {
            "score": score.value,
            "details": {**texts, "n": str(score.n), "n_answered": str(score.n_answered)},
            "uncertainty": uncertainty,
        },
    }


# --- instances --------------------------------------------------------------------------------------------------------


def _detailed(evaluation: Evaluation, model_id: str) -> dict[str, Any]:
    digest, rows = hashlib.sha256(), 0
    for piece in instances(evaluation, model_id):
        digest.update(piece)
        rows += piece.count(b"\n")
    return {
        "format": "jsonl",
        "file_path": f"{file_stem(evaluation)}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": rows,
        "additional_details": {
            "left_out": "items without a row, rows whose item the gold does not know, rows saved from broken lines",
            "items_without_row": str(evaluation.run.counts.get("missing", 0)),
        },
    }


def instances_for(evaluation: Evaluation, user: Person) -> Iterator[bytes]:
    """`instances` as `user` would name the model; who may see items is asked before."""
    return instances(evaluation, _model(evaluation.run, user)["id"])


def instances(evaluation: Evaluation, model_id: str) -> Iterator[bytes]:
    """JSON Lines of the instances, a piece a batch. The caller has asked whether items may be seen."""
    run = evaluation.run
    benchmark: Benchmark = run.split.release.benchmark
    head = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id(evaluation, model_id),
        "model_id": model_id,
        "evaluation_name": _name(run),
    }
    metric = _item_metric(evaluation)
    places = set(
        Score.objects.filter(
            evaluation=evaluation, metric=metric, variant="", dimension="overall", value__isnull=False
        ).values_list("repeat", flat=True)
    )
    encode = msgspec.json.Encoder().encode_lines
    agentic = run.mode == "agentic"
    for batch in ItemRows(benchmark, [evaluation]).batches():
        kept = []
        for values in batch:
            row = dict(zip(COLUMNS, values, strict=True))
            if row["value"] is None or row["recovered"]:
                continue
            one = {**head, **_instance(row, agentic)}
            repeat = row["repeat"] if row["repeat"] in places else None
            if repeat in places:
                one["evaluation_result_id"] = result_id(metric, "", "overall", "", repeat)
            kept.append(one)
        if kept:
            yield encode(kept)


def _item_metric(evaluation: Evaluation) -> str:
    """The metric whose values single items have: where the headline counts cases, that of the questions."""
    spec = BENCHMARKS[evaluation.run.split.release.benchmark.slug]
    headline = evaluation.evaluator.headline
    return "question_accuracy" if shown(spec, headline).of_cases else headline


def _instance(row: dict[str, Any], agentic: bool) -> dict[str, Any]:
    taken = row["outcome"] in ("right", "wrong")
    place = f"bytes {row['offset']}-{row['offset'] + row['length'] - 1} of {row['file']}"
    attribution = {
        "turn_idx": 0,
        "source": row["pointer"] or place,
        "extracted_value": row["prediction"],
        "extraction_method": row["rule"],
        "is_terminal": True,
    }
    about = (
        "run",
        "evaluator",
        "case",
        "repeat",
        "outcome",
        "file",
        "file_sha256",
        "line",
        "offset",
        "length",
        "pointer",
    )
    return {
        "sample_id": row["item"],
        "interaction_type": "agentic" if agentic else "single_turn",
        "input": {"raw": "", "reference": _references(json.loads(row["gold"] or "null"))},
        **({"messages": []} if agentic else {"output": {"raw": []}}),
        "answer_attribution": [attribution] if taken else [],
        "evaluation": {"score": row["value"], "is_correct": row["outcome"] == "right" and row["value"] == 1},
        "error": FAILED if row["outcome"] == "error" else None,
        "metadata": {name: str(row[name]) for name in about if row[name] not in ("", None)},
    }


def _references(gold: Any) -> list[str]:
    """Gold as texts: as it is where it is text, else as JSON."""
    if gold is None:
        return []
    every = gold if isinstance(gold, list) else [gold]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, sort_keys=True) for one in every]
