"""Bulk writing on both databases: what goes in comes out."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from evaluation.facts import insert_rows
from evaluation.models import (
    Benchmark,
    Evaluation,
    Evaluator,
    ItemScore,
    LanguageModel,
    Release,
    Run,
    Score,
    Split,
    Vector,
)
from tests.needs import need

TEXTS = ("", "\\N", "a\tb\nc\rd", "\\", "\\.", "'\"", "ä 中 \U0001f600", "x" * 100_000)
FLOATS = (0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 0.0, None)


@pytest.fixture
def evaluation(db: None) -> Evaluation:
    benchmark = Benchmark.objects.get(slug="ehr-bench")
    split = Split.objects.create(release=Release.objects.create(benchmark=benchmark, name="made-up"), name="full")
    model = LanguageModel.objects.create(slug="made-up", name="made-up")
    run = Run.objects.create(key="0" * 12, split=split, mode="agentic", model=model, model_name="made-up")
    evaluator = Evaluator.objects.filter(benchmark=benchmark).first()
    return Evaluation.objects.create(run=run, evaluator=evaluator, gold_fingerprint="")


def test_texts_and_numbers_come_back_as_they_were(evaluation: Evaluation) -> None:
    rows = [
        (evaluation.pk, number, 1, FLOATS[number % len(FLOATS)], "made-up", text) for number, text in enumerate(TEXTS)
    ]
    insert_rows(ItemScore, ("evaluation_id", "ordinal", "outcome", "value", "rule", "prediction"), iter(rows))
    back = list(
        ItemScore.objects.order_by("ordinal").values_list("evaluation_id", "ordinal", "outcome", "value", "rule")
    )
    assert back == [row[:-1] for row in rows]
    assert list(ItemScore.objects.order_by("ordinal").values_list("prediction", flat=True)) == list(TEXTS)


def test_bytes_come_back_as_they_were(evaluation: Evaluation) -> None:
    data = bytes(range(256)) * 100
    insert_rows(Vector, ("evaluation_id", "repeat", "name", "data"), [(evaluation.pk, 0, "made-up", data)])
    assert bytes(Vector.objects.get().data) == data


def test_keys_that_count_up_go_on_behind_bulk_rows(evaluation: Evaluation) -> None:
    columns = ("evaluation_id", "repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered")
    row: tuple[Any, ...] = (evaluation.pk, None, "f1", "", "overall", "", 0.5, 1, 1)
    insert_rows(Score, columns, [row, row])
    Score.objects.create(evaluation=evaluation, metric="f1", dimension="overall", n=1, n_answered=1)
    assert Score.objects.count() == 3


def test_no_rows_are_no_trouble(evaluation: Evaluation) -> None:
    insert_rows(Vector, ("evaluation_id", "repeat", "name", "data"), [])
    assert not Vector.objects.exists()


@pytest.mark.django_db
def test_these_tests_ran_on_postgresql() -> None:
    need("postgres", connection.vendor == "postgresql", "DATABASE_URL names no PostgreSQL server")
