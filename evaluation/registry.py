"""Bring the code's benchmarks, evaluators and known models into the tables. Idempotent; runs after every migrate."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from evaluation.benchmarks import BENCHMARKS
from evaluation.merging import merge
from evaluation.models import Benchmark, Evaluator, LanguageModel, ModelAlias, ModelMerge

# (friendly name, directory name, raw tag, access, organisation, provider ids): formats/clinseek.md, section 7
KNOWN_MODELS: tuple[tuple[str, str, str, str, str, tuple[str, ...]], ...] = (
    (
        "Claude Opus 4.6",
        "claude_opus_4_6",
        "claude-opus-4-6",
        "proprietary",
        "Anthropic",
        ("us.anthropic.claude-opus-4-6-v1", "eu.anthropic.claude-opus-4-6-v1"),
    ),
    (
        "Claude Sonnet 4.6",
        "claude_sonnet_4_6",
        "claude-sonnet-4-6",
        "proprietary",
        "Anthropic",
        ("us.anthropic.claude-sonnet-4-6", "eu.anthropic.claude-sonnet-4-6", "global.anthropic.claude-sonnet-4-6"),
    ),
    ("Qwen3-VL-235B", "qwen3_vl_235b", "qwen3-vl-235b", "open", "Alibaba", ("qwen.qwen3-vl-235b-a22b",)),
    ("Qwen3-235B", "qwen3_235b", "qwen3-235b", "open", "Alibaba", ("qwen.qwen3-235b-a22b-2507-v1:0",)),
    ("Kimi K2.5", "kimi_k2_5", "kimi-k2-5", "open", "Moonshot AI", ("moonshotai.kimi-k2.5",)),
    ("GLM-4.7", "glm_4_7", "glm-4-7", "open", "Z.ai", ("zai.glm-4.7",)),
    ("MiniMax M2.5", "minimax_m2_5", "minimax-m2-5", "open", "MiniMax", ("minimax.minimax-m2.5",)),
    ("gpt-oss-120b", "gpt_oss_120b", "gpt-oss-120b", "open", "OpenAI", ("openai.gpt-oss-120b-1:0",)),
)

# any listed name -> the directory name
CANONICAL = {
    alias: directory for name, directory, tag, _, _, ids in KNOWN_MODELS for alias in (name, directory, tag, *ids)
}

# Every name that the table above gives away.
KNOWN_NAMES = frozenset(name for *names, _, _, provider_ids in KNOWN_MODELS for name in (*names, *provider_ids))


@transaction.atomic
def sync_registry(**_kwargs: object) -> None:
    """Create what is missing and refresh what the code declares; rights set by staff are left alone."""
    for order, spec in enumerate(BENCHMARKS.values()):
        declared = {
            "name": spec.name,
            "description": spec.description,
            "licence": spec.licence,
            "attribution": spec.attribution,
            "order": order,
        }
        benchmark, _ = Benchmark.objects.update_or_create(
            slug=spec.slug, defaults=declared, create_defaults={**declared, "item_access": spec.item_access}
        )
        for evaluator in spec.evaluators:
            Evaluator.objects.get_or_create(
                name=evaluator.name,
                benchmark=benchmark,
                fingerprint=evaluator.fingerprint,
                defaults={"description": evaluator.description, "headline": evaluator.headline},
            )
    for name, directory, tag, access, organisation, provider_ids in KNOWN_MODELS:
        register_model(
            name,
            access=access,
            organisation=organisation,
            aliases=[("directory", directory), ("tag", tag), *(("provider", alias) for alias in provider_ids)],
        )


def model_slug(name: str) -> str:
    """A readable slug for any name: what is no letter or digit becomes a hyphen, and a hash is added where letters are lost.

    Names that differ only in case and in what stands between their words share one; `register_model` numbers those.
    """
    plain = slugify(re.sub(r"[._/]+", "-", name), allow_unicode=True)
    if plain and plain.isascii() and len(plain) <= 100 and re.sub(r"[^a-z0-9]+", "-", name.lower()) == plain:
        return plain
    return f"{plain[:100] or 'model'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


@transaction.atomic
def register_model(
    name: str,
    *,
    aliases: Iterable[tuple[str, str]] = (),
    registered: bool = True,
    why: str = "",
    **facts: Any,
) -> LanguageModel:
    """The model of that exact name, made when there is none. `facts` are fields of a model; those it has already stay.

    A model into which the named one was merged keeps its own facts. An alias of a model that is not registered and has no
    other name is merged, for the reason `why`; any other stays with the model that has it.
    """
    alias = ModelAlias.objects.filter(name=name).select_related("model").first()
    model = alias.model if alias else None
    if model is None:
        slug, n = model_slug(name), 1
        while LanguageModel.objects.filter(slug=slug if n == 1 else f"{slug}-{n}").exists():
            n += 1
        model = LanguageModel.objects.create(
            slug=slug if n == 1 else f"{slug}-{n}",
            name=name,
            registered=registered,
            **facts,
        )
        ModelAlias.objects.create(model=model, kind=ModelAlias.Kind.NAME, name=name)
    facts["registered"] = registered
    changed = {field: value for field, value in facts.items() if value and not getattr(model, field)}
    if changed and not ModelMerge.objects.filter(source__name=name).exists():
        LanguageModel.objects.filter(pk=model.pk).update(**changed)
        model.refresh_from_db()
    for kind, text in aliases:
        alias, made = ModelAlias.objects.get_or_create(name=text, defaults={"model": model, "kind": kind})
        stray = alias.model
        if not made and stray != model and not stray.registered and stray.aliases.count() == 1:
            merge(stray, model, None, why)
            ModelAlias.objects.filter(pk=alias.pk).update(kind=kind)
    return model


def known_model(name: str) -> tuple[LanguageModel | None, str, bool]:
    """(model, canonical name, known) for a name as a tree gives it, which must be an alias letter by letter.

    The canonical name is the directory name for the names of KNOWN_MODELS; any other name stays as it is given, also when
    it was merged. An unknown name gives no model.
    """
    alias = ModelAlias.objects.filter(name=name).select_related("model").first()
    if alias is None:
        return None, name, False
    return alias.model, CANONICAL.get(name, name), alias.model.registered


def find_model(name: str) -> tuple[LanguageModel, str, bool]:
    """As `known_model`, but an unknown name becomes a model of its own, not registered."""
    model, canonical, known = known_model(name)
    return model or register_model(name, registered=False), canonical, known
