"""`manage.py rescore`: apply the evaluators of now to runs that are loaded. Old evaluations stay beside the new ones."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.benchmarks import BENCHMARKS
from evaluation.encoded import on_demand
from evaluation.models import Evaluation, Run, Score
from evaluation.protocols.base import Evaluator
from ingest.rescore import CannotRescore, rescore


class Command(BaseCommand):
    help = "Score runs again. Without options: what older rules, gold or labels scored. Exit 0: all done; 1: some could not be."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--benchmark", choices=BENCHMARKS, metavar="B", help="only runs of this benchmark (its slug)"
        )
        parser.add_argument("--run", action="append", metavar="ID", help="only this run; repeatable")
        parser.add_argument(
            "--evaluator",
            action="append",
            metavar="NAME",
            help="apply this one, due or not, also one on demand; repeatable",
        )
        parser.add_argument("--all", action="store_true", help="apply every evaluator, due or not")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = Run.objects.exclude(state=Run.State.SUPERSEDED).order_by("split_id", "pk")
        if options["benchmark"]:
            runs = runs.filter(split__release__benchmark__slug=options["benchmark"])
        if options["run"]:
            runs = runs.filter(key__in=options["run"])
            if missing := sorted(set(options["run"]) - set(runs.values_list("key", flat=True))):
                raise CommandError(f"no such run, or a superseded one: {', '.join(missing)}", returncode=2)
        names = set(options["evaluator"] or ())
        always = {each.name for spec in BENCHMARKS.values() for each in spec.standing_evaluators}
        on_wish = {each.name: each for spec in BENCHMARKS.values() for each in spec.optional_evaluators}
        if unknown := sorted(names - always - on_wish.keys()):
            raise CommandError(f"no such evaluator: {', '.join(unknown)}", returncode=2)
        for name in sorted(names & on_wish.keys()):
            if on_wish[name].missing:
                raise CommandError(f"{name} cannot be applied here: {on_wish[name].missing}", returncode=2)
        failed = made = 0
        for run in runs.select_related("split__release__benchmark", "model").iterator(chunk_size=100):
            try:
                for evaluation in rescore(run, self._wanted(run, names, options["all"])):
                    made += 1
                    self.stdout.write(f"{run.key}  {run}: {told(evaluation)}")
            except CannotRescore as error:
                failed += 1
                self.stderr.write(f"{run.key}  {run}: {error}")
        self.stdout.write(
            f"{made} evaluations made, {failed} runs could not be scored" if made or failed else "Nothing is due."
        )
        if failed:
            sys.exit(1)

    def _wanted(self, run: Run, names: set[str], everything: bool) -> list[Evaluator] | None:
        """None: what is due."""
        if not names and not everything:
            return None
        spec = BENCHMARKS[run.split.release.benchmark.slug]
        wanted = [each for each in spec.standing_evaluators if everything or each.name in names]
        return wanted + [each for each in on_demand(spec) if each.name in names]


def told(evaluation: Evaluation) -> str:
    """The headline of a new evaluation beside that of the one before it: `f1 0.4126 (was 0.4098)`."""
    before = (
        Evaluation.objects.filter(run=evaluation.run, evaluator__name=evaluation.evaluator.name, pk__lt=evaluation.pk)
        .order_by("-pk")
        .first()
    )
    now, was = (_headline(each) for each in (evaluation, before))
    changed = "" if before is None else f" (was {was})" if was != now else " (as before)"
    return f"{evaluation.evaluator.name}, {evaluation.evaluator.headline} {now}{changed}"


def _headline(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return ""
    rows = Score.objects.filter(
        evaluation=evaluation, metric=evaluation.evaluator.headline, variant="", dimension="overall"
    )
    values = dict(rows.values_list("repeat", "value"))
    value = values.get(None, next(iter(values.values()), None))
    return "–" if value is None else f"{value:.4f}"
