"""`manage.py load_published [DIR]`: figures of papers and project pages, to stand beside what is recomputed."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, transaction
from django.db.models import Model

from evaluation.models import Benchmark, LanguageModel, Release, Split
from evaluation.registry import register_model
from leaderboard.exchange import Stated
from leaderboard.models import ReportedScore, ReportSource
from leaderboard.published import Figure, Publication, Source, Unreadable, read
from leaderboard.receivers import ensure_board


@dataclass
class Changes:
    new: int = 0
    changed: int = 0
    removed: int = 0

    def __str__(self) -> str:
        told = [f"{count} {word}" for word, count in vars(self).items() if count]
        return ", ".join(told) or "nothing changed"


class Command(BaseCommand):
    help = "Load reported figures from the JSON files of a directory. The same files again change nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "directory", nargs="?", type=Path, metavar="DIR", help="where the files lie (default: fixtures/published)"
        )
        for field in ("release", "split", "mode"):
            parser.add_argument(
                f"--{field}", default="", help=f"the {field} of Every Eval Ever documents that name none"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        directory = options["directory"] or settings.BASE_DIR / "fixtures" / "published"
        paths = sorted(directory.glob("*.json"))
        if not paths:
            raise CommandError(f"{directory}: no .json files there")
        stated = Stated(options["release"], options["split"], options["mode"])
        try:
            publications = [read(path, stated) for path in paths]
            with transaction.atomic():
                changes = [store(publication) for publication in publications]
        except Unreadable as error:
            raise CommandError(f"nothing was loaded: {error}") from error
        except OSError as error:
            raise CommandError(f"nothing was loaded: {error.filename}: {error.strerror}") from error
        except (DatabaseError, Benchmark.DoesNotExist) as error:
            raise CommandError(f"nothing was loaded: {error} (is the database migrated?)") from error
        for path, publication, change in zip(paths, publications, changes, strict=True):
            self.stdout.write(f"{path.name}: {len(publication.figures)} reported figures, {change}")


def store(publication: Publication) -> Changes:
    """Make the tables say what the file says, and nothing else of this file. The caller holds the transaction.

    Raises Unreadable for a text that does not fit its column.
    """
    for model in publication.models:
        register_model(model.name, access=model.access, aliases=model.aliases)
    changes = Changes()
    sources = {name: _source(publication.name, name, told, changes) for name, told in publication.sources.items()}
    split_of = cache(_split)
    model_of = cache(register_model)
    wanted: dict[tuple[Any, ...], ReportedScore] = {}
    for figure in publication.figures:
        split = split_of(figure.benchmark, figure.release, figure.split)
        row = _row(figure, split, model_of(figure.model) if figure.model else None, sources[figure.source])
        what = f"{publication.name}.json: {figure.model or figure.group} {figure.metric}"
        _check(row, what, ["split", "model", "source", "n", "runs", "reported_sd"])
        wanted[_values(row, IDENTITY)] = row
    for split, mode in dict.fromkeys((row.split, row.mode) for row in wanted.values() if row.on_board):
        ensure_board(split, mode)

    before = [source for source in ReportSource.objects.all() if source.key.startswith(f"{publication.name}/")]
    for row in ReportedScore.objects.filter(source__in=before):
        new = wanted.pop(_values(row, IDENTITY), None)
        if new is None:
            row.delete()
            changes.removed += 1
        elif _values(new, CONTENT) != _values(row, CONTENT):
            new.pk = row.pk
            new.save()
            changes.changed += 1
    ReportedScore.objects.bulk_create(wanted.values())
    changes.new += len(wanted)
    gone = {source.pk for source in before} - {source.pk for source in sources.values()}
    ReportSource.objects.filter(pk__in=gone).delete()
    return changes


def _source(file: str, name: str, told: Source, changes: Changes) -> ReportSource:
    key = f"{file}/{name}"
    new = ReportSource(key=key, text=told.what, url=told.url, retrieved=told.retrieved, commit=told.commit)
    _check(new, f"{file}.json: source {name!r}", ["key"])
    row = ReportSource.objects.filter(key=key).first()
    if row is None:
        new.save()
    elif _values(new, SOURCE) == _values(row, SOURCE):
        return row
    else:
        new.pk = row.pk
        new.save()
        changes.changed += 1
    return new


def _split(benchmark: str, release: str, split: str) -> Split:
    """The split, made without items where none was read yet: gold that comes later fills it."""
    parent, _ = Release.objects.get_or_create(benchmark=Benchmark.objects.get(slug=benchmark), name=release)
    return Split.objects.get_or_create(release=parent, name=split, defaults={"gold_missing": True})[0]


def _row(figure: Figure, split: Split, model: LanguageModel | None, source: ReportSource) -> ReportedScore:
    return ReportedScore(
        split=split,
        mode=figure.mode,
        protocol=figure.protocol,
        on_board=figure.on_board,
        model=model,
        group=figure.group,
        human=figure.human,
        metric=figure.metric,
        variant=figure.variant,
        dimension=figure.dimension,
        facet=figure.facet,
        value=figure.value,
        printed=figure.printed,
        unit=figure.unit,
        n=figure.n,
        runs=list(figure.runs),
        reported_sd=figure.sd,
        order=figure.order,
        source=source,
        note=figure.note,
    )


def _check(row: Model, what: str, exclude: list[str]) -> None:
    try:
        row.clean_fields(exclude=exclude)
    except ValidationError as error:
        raise Unreadable(
            f"{what}: {'; '.join(f'{name}: {texts[0]}' for name, texts in error.message_dict.items())}"
        ) from error


IDENTITY = ("source_id", "split_id", "mode", "protocol", "model_id", "group", "metric", "variant", "dimension", "facet")
CONTENT = ("on_board", "human", "value", "printed", "unit", "n", "runs", "reported_sd", "order", "note")
SOURCE = ("text", "url", "retrieved", "commit")


def _values(row: Model, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in names)
