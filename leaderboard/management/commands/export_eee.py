"""`manage.py export_eee OUT`: runs as Every Eval Ever documents, schema 0.3, with their instances."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from evaluation.models import Evaluation, Run
from leaderboard.data import eee
from leaderboard.data.archive import as_json
from leaderboard.data.commands import add_person, person, whole_file


class Command(BaseCommand):
    help = "Write a document for each live run that is seen; instances only for who may see the benchmark's items."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "out", type=Path, metavar="OUT", help="the folder; files lie below OUT/data, as the schema wants"
        )
        parser.add_argument("--run", metavar="ID", help="only this run, live or not")
        parser.add_argument("--benchmark", metavar="SLUG", help="only this benchmark")
        parser.add_argument(
            "--evaluator", default="", metavar="NAME", help="default: the one whose figures the board shows"
        )
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = person(options)
            runs = Run.objects.visible_to(user).select_related("split__release__benchmark").order_by("pk")
            runs = runs.filter(key=options["run"]) if options["run"] else runs.live()
            if options["benchmark"]:
                runs = runs.filter(split__release__benchmark__slug=options["benchmark"])
            found = list(self._evaluations(list(runs), options["evaluator"]))
            if not found:
                raise CommandError("nothing was written: no scored run of that kind is seen by this person")
            with_instances = sum(self._write(evaluation, user, options["out"]) for evaluation in found)
        except DatabaseError as error:
            raise CommandError(f"{str(error).splitlines()[0]} (is the database migrated?)") from error
        except OSError as error:
            raise CommandError(f"{error.filename or options['out']}: {error.strerror or error}") from error
        self.stderr.write(f"{options['out']}: {len(found)} documents, {with_instances} with instances")

    def _evaluations(self, runs: list[Run], evaluator: str) -> Any:
        for run in runs:
            try:
                yield eee.evaluation_of(run, evaluator)
            except LookupError as error:
                self.stderr.write(str(error.args[0]))

    def _write(self, evaluation: Evaluation, user: Any, out: Path) -> bool:
        document = eee.document(evaluation, user)
        target = out / f"{eee.file_stem(evaluation)}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        detailed = "detailed_evaluation_results" in document
        if detailed:
            lines = out / document["detailed_evaluation_results"]["file_path"]
            with whole_file(lines) as path, path.open("wb") as stream:
                stream.writelines(eee.instances_for(evaluation, user))
        with whole_file(target) as path:
            path.write_bytes(as_json(document))
        return detailed
