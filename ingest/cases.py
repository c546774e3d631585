"""The texts of a LiveClin case, read from the dataset file where a tree has one. They are stored nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evaluation.models import Item, Release
from evaluation.protocols.liveclin import case_id, items
from ingest import documents, lines
from ingest.context import this_host
from ingest.drilldown import MOST_ROW, CannotRead
from ingest.lines import LineReader
from ingest.models import SourceFile, SourcePlace

MOST_FIGURE = 20 << 20
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_FOLDERS = ("", "image", "images", "figures")


class _Head(msgspec.Struct):
    """What names a case; its texts are skipped."""

    pmc: Any = None
    pmid: Any = None
    PMID: Any = None
    doi: Any = None


@dataclass(frozen=True)
class CaseText:
    """A case object of the dataset, and the logical path and folder of its file."""

    case: dict[str, Any]
    path: str
    folder: str

    @property
    def policy(self) -> dict[str, Any]:
        return self.case["exam_creation"]["final_policy"]


def read_case(release: Release, name: str) -> CaseText:
    """The case of a release. Raises CannotRead where no dataset file of it is known and unchanged on this machine, or where
    the letters in it are not the gold that is loaded.
    """
    why = "The dataset file is not known: it did not lie in the tree of the results. Only names and letters are stored."
    for path, real in _datasets(release):
        try:
            found = _look_up(real, name)
        except (OSError, ValueError, EOFError):
            why = "The dataset file cannot be read."
            continue
        if found is None:
            why = "The case does not stand in the dataset file that is at hand."
            continue
        if not _is_loaded(release, found):
            why = "The dataset file at hand has other letters for this case than the gold that is loaded."
            continue
        return CaseText(found, path, os.path.dirname(real))
    raise CannotRead(why)


def _datasets(release: Release) -> Iterator[tuple[str, str]]:
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


# --- figures ----------------------------------------------------------------------------------------------------------


def figure(text: CaseText, file: str) -> tuple[bytes, str] | None:
    """Bytes and type of a figure that lies beside the dataset; None where there is none.

    Only PNG, JPEG, GIF and WebP by their first bytes, only below the dataset's folder, links resolved.
    """
    if not re.fullmatch(r"[^\x00]{1,300}", file):
        return None
    base = os.path.realpath(text.folder)
    for folder in _FOLDERS:
        real = os.path.realpath(os.path.join(base, folder, file))
        if os.path.commonpath([base, real]) != base or not os.path.isfile(real) or os.stat(real).st_size > MOST_FIGURE:
            continue
        with open(real, "rb") as stream:
            data = stream.read(MOST_FIGURE)
        kind = next((kind for magic, kind in _IMAGES.items() if data.startswith(magic)), "")
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            kind = "image/webp"
        if kind:
            return data, kind
    return None
