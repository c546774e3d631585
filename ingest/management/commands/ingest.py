"""`manage.py ingest ROOT`: walk a tree, say what it holds, load its runs, score them."""

from __future__ import annotations

import json
import sys
import traceback
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from evaluation.models import Run
from ingest.pipeline import CannotIngest, Options, ingest
from ingest.report import Report
from ingest.watch import Watch


def named_path(text: str) -> tuple[str | None, Path]:
    """`[NAME=]PATH`; a path that holds `=` itself is taken whole when it exists."""
    name, mark, path = text.partition("=")
    if not mark or Path(text).exists():
        return None, Path(text)
    return name, Path(path)


class Command(BaseCommand):
    help = "Read a tree of result files: find the runs, load and score them. Exit 0: all loaded; 1: with errors; 2: not finished."
    # the checks import every page and the API: a third of the start-up time and 40 MB that reading a tree has no use for
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", type=Path, metavar="ROOT", help="the directory to read; it is never written to")
        parser.add_argument(
            "--gold",
            action="append",
            default=[],
            type=named_path,
            metavar="[RELEASE=]PATH",
            help="a gold file or a folder of them; repeatable",
        )
        parser.add_argument("--release", metavar="NAME", help="the release of everything in this tree")
        parser.add_argument("--config", type=Path, metavar="PATH", help="in place of clinboard.yaml in ROOT")
        parser.add_argument(
            "--labels",
            action="append",
            default=[],
            type=named_path,
            metavar="[BENCHMARK=]FILE",
            help="own dimensions of items: CSV with the header item,dimension,facet, or JSON Lines; repeatable",
        )
        parser.add_argument(
            "--allow-outside",
            action="append",
            default=[],
            metavar="DIR",
            help="links out of ROOT may lead below this directory; repeatable",
        )
        parser.add_argument("--include-archived", action="store_true", help="load what lies in _archive, as archived")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
        parser.add_argument(
            "--visibility", choices=Run.Visibility.values, help="who may see the runs (default: private)"
        )
        parser.add_argument("--owner", metavar="USER", help="the user to whom the runs belong")
        parser.add_argument("--team", metavar="GROUP", help="the team that may see them with --visibility team")

    def handle(self, *args: Any, **options: Any) -> None:
        report, failure = Report(), ""
        watch = Watch(report, self.stderr.write, sys.stderr if self.stderr.isatty() else None)
        try:
            ingest(options["root"], self._options(options, watch), report)
        except CannotIngest as error:
            failure = str(error)
        except KeyboardInterrupt:
            failure = "stopped; nothing was written" if options["dry_run"] else "stopped; what is loaded is complete"
        except Exception as error:
            failure = _failure(error, options["root"])
            if options["traceback"]:
                self.stderr.write(traceback.format_exc())
        finally:
            watch.close()
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), ensure_ascii=True))
        elif report.runs or not failure:
            self._print(report, options["dry_run"])
        if failure:
            self.stderr.write("ingest: " + "; ".join(line for line in failure.splitlines() if line.strip()))
            sys.exit(2)
        if report.has_errors:
            sys.exit(1)

    def _options(self, options: dict[str, Any], watch: Watch) -> Options:
        owner = team = None
        if options["owner"]:
            owner = get_user_model().objects.filter(username=options["owner"]).first()
            if owner is None:
                raise CannotIngest(f"--owner {options['owner']}: no such user")
        if options["team"]:
            team = Group.objects.filter(name=options["team"]).first()
            if team is None:
                raise CannotIngest(f"--team {options['team']}: no such group")
        if options["visibility"] == Run.Visibility.TEAM and team is None:
            raise CannotIngest("--visibility team needs --team GROUP")
        return Options(
            gold=options["gold"],
            release=options["release"],
            config=options["config"],
            labels=options["labels"],
            allow_outside=options["allow_outside"],
            include_archived=options["include_archived"],
            dry_run=options["dry_run"],
            visibility=options["visibility"] or "",
            owner=owner,
            team=team,
            progress=watch.update,
            looked=watch.looked,
        )

    def _print(self, report: Report, dry_run: bool) -> None:
        write = self.stdout.write
        for run in report.runs:
            what = f"{run['benchmark']} {run['release']} {run['split']} {run['mode']}"
            write(f"{run['state']:<10} {run['id']}  {what}  {run['model']}  {run['rows']} rows  {run['path']}")
        reasons: dict[str, int] = {}
        for entry in report.not_runs:
            reasons[entry.reason] = reasons.get(entry.reason, 0) + 1
        if reasons:
            write("no runs:   " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())))
        for finding in report.findings:
            if finding.severity != "info":
                where = finding.path + (f" line {finding.line}" if finding.line else "")
                write(f"{finding.severity:<10} {finding.code}: {where}: {finding.message}")
        verb = "would be loaded" if dry_run else "loaded"
        total = sum(run["rows"] for run in report.runs) if dry_run else report.rows_loaded
        write(
            f"{report.files_seen} files seen, {report.rows_read} rows read, {total} rows {verb}, {len(report.runs)} run files."
        )


def _failure(error: Exception, root: Path) -> str:
    """One line for what nobody foresaw."""
    said = " ".join(str(error).split())[:500]
    if isinstance(error, DatabaseError):
        return f"the database refused: {said} (is it migrated? run `manage.py migrate`)"
    if isinstance(error, OSError):
        return f"{error.filename or root}: {error.strerror or said}"
    named = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{named}. This is a fault of ClinBoard; --traceback shows where. What is loaded is complete."
