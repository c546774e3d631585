"""`manage.py scores --json`: every aggregate of the live runs, for other programs."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Run, Score, protocol_text


class Command(BaseCommand):
    help = "List the scores of all live runs, one object an aggregate."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="a JSON list; otherwise tab-separated lines")
        parser.add_argument("--benchmark", metavar="B", help="only this benchmark (its slug)")
        parser.add_argument("--run", metavar="ID", help="only this run")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._write(options)
        except DatabaseError as error:
            self.stderr.write(f"scores: {str(error).splitlines()[0]} (is the database migrated?)")
            sys.exit(2)

    def _write(self, options: dict[str, Any]) -> None:
        scores = Score.objects.filter(evaluation__current=True, evaluation__run__state=Run.State.LIVE)
        if options["benchmark"]:
            scores = scores.filter(evaluation__run__split__release__benchmark__slug=options["benchmark"])
        if options["run"]:
            scores = scores.filter(evaluation__run__key=options["run"])
        self._tell_absent(options)
        fields = ("repeat", "metric", "variant", "dimension", "facet", "value", "n", "n_answered", "ci_low", "ci_high")
        rows = scores.order_by("evaluation_id", "pk").values_list("evaluation_id", *fields)
        heads: dict[int, dict[str, Any]] = {}
        first = True
        if options["json"]:
            self.stdout.write("[", ending="")
        for evaluation_id, *values in rows.iterator(chunk_size=5000):
            if evaluation_id not in heads:
                heads[evaluation_id] = self._head(evaluation_id)
            entry = {**heads[evaluation_id], **dict(zip(fields, values, strict=True))}
            if options["json"]:
                self.stdout.write(("" if first else ",") + "\n" + json.dumps(entry), ending="")
            else:
                if first:
                    self.stdout.write("\t".join(entry))
                self.stdout.write("\t".join("" if value is None else str(value) for value in entry.values()))
            first = False
        if options["json"]:
            self.stdout.write("\n]")

    def _tell_absent(self, options: dict[str, Any]) -> None:
        """Evaluators that cannot be applied here, on standard error: their scores are not in the list."""
        for spec in BENCHMARKS.values():
            for evaluator in spec.optional_evaluators:
                if evaluator.missing and options["benchmark"] in (None, spec.slug):
                    self.stderr.write(f"scores: no {evaluator.name}: {evaluator.missing}")

    def _head(self, evaluation_id: int) -> dict[str, Any]:
        run = Run.objects.select_related("split__release__benchmark").get(evaluations=evaluation_id)
        evaluator = run.evaluations.select_related("evaluator").get(pk=evaluation_id).evaluator
        return {
            "run": run.key,
            "benchmark": run.split.release.benchmark.slug,
            "release": run.split.release.name,
            "split": run.split.name,
            "mode": run.mode,
            "model": run.model_name,
            "protocol": protocol_text(run.shots, run.conversation_kept),
            "origin": run.origin,
            "evaluator": evaluator.name,
        }
