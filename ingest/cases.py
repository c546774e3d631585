"""The texts of a LiveClin case, read from the dataset file where it lies. They are stored nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import QuerySet

from evaluation.models import Item, Release
from evaluation.protocols.liveclin import case_id, items
from ingest import documents, lines
from ingest.context import this_host
from ingest.drilldown import MOST_ROW, CannotRead, check_unchanged
from ingest.lines import LineReader
from ingest.models import GoldPlace, SourceFile, SourcePlace

UNKNOWN = (
    "It is not known where the dataset file lies: only names and letters are stored. Ingest the results again with it, in "
    "their tree or with --gold."
)


class _Head(msgspec.Struct):
    """What names a case; its texts are skipped."""

    pmc: Any = None
    pmid: Any = None
    PMID: Any = None
    doi: Any = None


@dataclass(frozen=True)
class CaseText:
    """A case object of the dataset, and the name (as shown) and folder of its file."""

    case: dict[str, Any]
    path: str
    folder: str

    @property
    def policy(self) -> dict[str, Any]:
        return self.case["exam_creation"]["final_policy"]


def read_case(release: Release, name: str) -> CaseText:
    """The case of a release, from where its gold was last read or else from a dataset in the trees of its runs.

    Raises CannotRead where no dataset file of it is known and unchanged on this machine, or where the letters in it are not
    the gold that is loaded. Of several files the first one's reason is told.
    """
    reasons = []
    for path, real, kept in _datasets(release, name):
        try:
            if kept is not None:
                _check_place(kept)
            return _read_from(path, real, release, name)
        except CannotRead as error:
            reasons.append(str(error))
    raise CannotRead(reasons[0] if reasons else UNKNOWN)


def kept_places(release: Release, name: str) -> list[str]:
    """`host:place` of the gold files that hold the case. For staff only: they may lie anywhere."""
    return [f"{kept.host}:{kept.place}" for kept in _kept(release, name)]


def _kept(release: Release, name: str) -> QuerySet[GoldPlace]:
    return GoldPlace.objects.filter(split__release=release, split__items__case=name).distinct().order_by("pk")


def _datasets(release: Release, name: str) -> Iterator[tuple[str, str, GoldPlace | None]]:
    """(name shown, place on this machine, what is kept of it) of the files that may hold the case, each place once.

    What was read before places were kept lies in a tree: found there by its size.
    """
    tried = set()
    for kept in _kept(release, name):
        tried.add(kept.place)
        yield kept.path, kept.place, kept
    for path, real in _in_trees(release):
        if real not in tried:
            tried.add(real)
            yield path, real, None


def _check_place(kept: GoldPlace) -> None:
    """Raises CannotRead, without the place, where the gold is not what was read."""
    what = f"dataset file {kept.path}"
    if kept.host != this_host() or not os.path.isfile(kept.place):
        raise CannotRead(f"The {what} is gone: it no longer lies where it was read, or not on this machine.")
    try:
        check_unchanged(kept, kept.place, what)
    except OSError as error:
        raise CannotRead(f"The {what} cannot be read: {error.strerror or 'the system refuses'}.") from error


def _read_from(path: str, real: str, release: Release, name: str) -> CaseText:
    try:
        found = _look_up(real, name)
    except (OSError, ValueError, EOFError) as error:
        raise CannotRead("The dataset file cannot be read.") from error
    if found is None:
        raise CannotRead("The case does not stand in the dataset file that is at hand.")
    if not _is_loaded(release, found):
        raise CannotRead("The dataset file at hand has other letters for this case than the gold that is loaded.")
    return CaseText(found, path, os.path.dirname(real))


def _in_trees(release: Release) -> Iterator[tuple[str, str]]:
    """(logical path, place on this machine) of the datasets in the trees that brought in the release's runs."""
    files = SourceFile.objects.filter(
        fate="gold",
        about__benchmark="liveclin",
        missing_since=None,
        source__in=SourceFile.objects.filter(run__split__release=release).values("source"),
    ).order_by("pk")
    roots: dict[int, list[str]] = {}
    for source, path in SourcePlace.objects.filter(host=this_host()).values_list("source", "path"):
        roots.setdefault(source, []).append(path)
    for file in files:
        for root in roots.get(file.source_id, ()):
            real = os.path.normpath(os.path.join(root, file.physical))
            if os.path.isfile(real) and os.stat(real).st_size == file.size:
                yield file.path, real


def _look_up(real: str, name: str) -> dict[str, Any] | None:
    reader = LineReader(real, _Head, slow=lambda row: _Head(**{key: row.get(key) for key in _Head.__struct_fields__}))
    for _, offset, length, head in reader:
        if case_id(msgspec.structs.asdict(head)) == name and length <= MOST_ROW:
            value = documents.loads(lines.read_bytes(real, offset, length), constant=lambda name: None)
            return value if isinstance(value, dict) else None
    return None


def _is_loaded(release: Release, case: Mapping[str, Any]) -> bool:
    loaded = dict(Item.objects.filter(release=release, case=case_id(case)).values_list("key", "gold"))
    return bool(loaded) and {item.key: item.gold for item in items([case])}.items() >= loaded.items()
