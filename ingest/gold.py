"""Gold: which items a split has and what is right. Found by content, told apart by the stem of its file."""

from __future__ import annotations

import datetime
import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as short
from typing import Any

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.base import GoldCounter
from evaluation.protocols.base import ItemSpec
from ingest import documents
from ingest.classify import Kind, classify
from ingest.figures import lies_there
from ingest.walk import Entry, Fault, walk

_SUFFIXES = (".gz", ".zst", ".jsonl", ".ndjson", ".json")


@dataclass
class GoldFile:
    """One gold file. `split` is empty where its name serves all splits; `release` is set where the caller said so.

    `size` (bytes as stored) and `sha256` are those of the bytes that the items were read from, once they were.
    """

    benchmark: str
    path: str
    real: str
    split: str
    release: str | None
    form: str
    modified_at: datetime.datetime
    size: int = 0
    sha256: str = ""
    _items: list[ItemSpec] | None = field(default=None, repr=False)
    _counter: GoldCounter | None = field(default=None, repr=False)

    def items(self) -> list[ItemSpec]:
        """Its items, read once. ValueError names the file and what cannot be read; OSError passes through."""
        if self._items is None:
            spec = BENCHMARKS[self.benchmark]
            self._counter = spec.counter() if spec.counter else None
            try:
                rows = _rows(self)
                self._items = spec.items(self._counter.over(rows) if self._counter else rows)
            except ValueError as error:
                raise ValueError(f"{self.path}: {error}") from error
        return self._items

    def counts(self) -> dict[str, int]:
        """What was counted beside the items, once these were read. It looks which pictures lie beside the file now."""
        if self._counter is None:
            return {}
        folder = os.path.dirname(self.real)
        return self._counter.counts(lambda file: lies_there(folder, file))

    def forget(self) -> None:
        """Let go of the items, which take some megabytes; they are read again when they are asked for again."""
        self._items = None


def _rows(gold: GoldFile) -> Iterable[Any]:
    """Gold as it stands, a bare NaN or Infinity as null: no database has a word for it."""
    stored = Path(gold.real).read_bytes()
    gold.size, gold.sha256 = len(stored), hashlib.sha256(stored).hexdigest()
    data = documents.unpack(stored)
    if gold.form == "lines":
        return documents.dictionaries(data)
    document = documents.loads(data, constant=_null)
    if gold.form in ("document", "row"):
        return [document]
    rows = list(document.values()) if isinstance(document, dict) else document
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ValueError(f"gold row {number} is {short(row)}, expected an object")
    return rows


def _null(name: str) -> None:
    return None


def gold_file(entry: Entry, kind: Kind, release: str | None) -> GoldFile:
    """Read benchmark and split off a classified file: the stem `<benchmark>` serves all splits, `<benchmark>_<split>` one."""
    benchmark = kind.about["benchmark"]
    stem = posixpath.basename(entry.path)
    for suffix in _SUFFIXES:
        stem = stem.removesuffix(suffix)
    split = ""
    for name in (benchmark, benchmark.replace("-", "_")):
        if stem.startswith(f"{name}_"):
            split = stem.removeprefix(f"{name}_")
    modified_at = datetime.datetime.fromtimestamp(entry.mtime_ns / 1e9, datetime.UTC)
    return GoldFile(benchmark, entry.path, entry.real, split, release, kind.about["form"], modified_at)


def given_gold(release: str | None, path: Path) -> Iterator[GoldFile]:
    """The gold in a file (or a link to one) or a folder that was named on the command line. ValueError where there is none."""
    found, why = False, "no gold of a known benchmark"
    try:
        for one in walk(path) if path.is_dir() else [_entry(path)]:
            kind = Kind("other", {"message": one.message}) if isinstance(one, Fault) else classify(one)
            if isinstance(one, Entry) and kind.name == "gold":
                found = True
                yield gold_file(one, kind, release)
            why = kind.about.get("message", why)
    except OSError as error:
        raise ValueError(f"--gold {error.filename or path}: {error.strerror or error}") from error
    if not found:
        raise ValueError(f"--gold {path}: {why}")


def _entry(path: Path) -> Entry:
    status, real = path.stat(), str(path.resolve())
    place = (path.name, path.name, real, (), False, False)
    return Entry(*place, status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)


class GoldShelf:
    """All gold that is at hand, and the choice among it."""

    def __init__(self, files: Iterable[GoldFile]):
        self.files = list(files)

    def choose(self, benchmark: str, release: str, split: str, ids: set[str] | None = None) -> GoldFile | None:
        """The gold of a split: stated release before unstated, a file named for the split (or the release) before one for all.

        LiveClin gold belongs to the release whose results match its ids: with `ids` given, a file that shares none of them
        is no candidate, and the one that shares most wins. Of copies the first is taken; ValueError where two files are
        equally good and differ.
        """
        best: list[tuple[tuple[int, ...], GoldFile]] = []
        for gold in self.files:
            fits = gold.release in (None, release) and gold.split in ("", split, release)
            if gold.benchmark != benchmark or not fits:
                continue
            shared = 0
            if ids is not None and gold.release is None:
                shared = len(ids & {item.key for item in gold.items()})
                if not shared:
                    continue
            best.append(((gold.release is not None, bool(gold.split), shared), gold))
        if not best:
            return None
        top = max(order for order, _ in best)
        first = [gold for order, gold in best if order == top]
        if any(_content(gold) != _content(first[0]) for gold in first[1:]):
            names = ", ".join(sorted(gold.path for gold in first))
            raise ValueError(f"several gold files fit {benchmark} {release} {split} and differ: {names}")
        return first[0]


def _content(gold: GoldFile) -> dict[str, ItemSpec]:
    return {item.key: item for item in gold.items()}
