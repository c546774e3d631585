"""Gold: which items a split has and what is right. Found by content, told apart by the stem of its file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.benchmarks import BENCHMARKS
from evaluation.protocols.base import ItemSpec
from ingest import documents
from ingest.classify import Kind, classify
from ingest.walk import Entry, Fault, walk

_SUFFIXES = (".gz", ".zst", ".jsonl", ".ndjson", ".json")


@dataclass
class GoldFile:
    """One gold file. `split` is empty where its name serves all splits; `release` is set where the caller said so."""

    benchmark: str
    path: str
    real: str
    split: str
    release: str | None
    form: str
    _items: list[ItemSpec] | None = field(default=None, repr=False)

    def items(self) -> list[ItemSpec]:
        """Its items, read once. ValueError names the file and what cannot be read; OSError passes through."""
        if self._items is None:
            try:
                self._items = BENCHMARKS[self.benchmark].items(_rows(self))
            except ValueError as error:
                raise ValueError(f"{self.path}: {error}") from error
        return self._items


def _rows(gold: GoldFile) -> Iterable[Any]:
    if gold.form == "lines":
        return documents.dictionaries(gold.real)
    text = documents.read_whole(gold.real)
    if gold.form == "document":
        return [documents.loads(text)]
    document = documents.loads(text)
    rows = list(document.values()) if isinstance(document, dict) else document
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ValueError(f"gold row {number} is {row!r}, expected an object")
    return rows


def gold_file(entry: Entry, kind: Kind, release: str | None) -> GoldFile:
    """Read benchmark and split off a classified file: the stem `<benchmark>` serves all splits, `<benchmark>_<split>` one."""
    benchmark = kind.about["benchmark"]
    stem = posixpath.basename(entry.path)
    for suffix in _SUFFIXES:
        stem = stem.removesuffix(suffix)
    directory = benchmark.replace("-", "_")
    stem = stem.replace("-", "_") if stem.startswith(benchmark) else stem
    split = stem.removeprefix(f"{directory}_") if stem.startswith(f"{directory}_") else ""
    return GoldFile(benchmark, entry.path, entry.real, split, release, kind.about["form"])


def given_gold(release: str | None, path: Path) -> Iterator[GoldFile]:
    """The gold in a file or folder that was named on the command line. ValueError where there is none."""
    root = path.parent if path.is_file() else path
    found = False
    for entry in walk(root):
        if isinstance(entry, Fault) or (path.is_file() and entry.path != path.name):
            continue
        kind = classify(entry)
        if kind.name == "gold":
            found = True
            yield gold_file(entry, kind, release)
    if not found:
        raise ValueError(f"--gold {path}: no gold of a known benchmark")


class GoldShelf:
    """All gold that is at hand, and the choice among it."""

    def __init__(self, files: Iterable[GoldFile]):
        self.files = list(files)

    def choose(self, benchmark: str, release: str, split: str, ids: set[str] | None = None) -> GoldFile | None:
        """The gold of a split: stated release before unstated, the split's own file before one for all splits.

        LiveClin gold belongs to the release whose results match its ids: with `ids` given, a file that shares none of them
        is no candidate, and the one that shares most wins. ValueError where two files are equally good.
        """
        best: list[tuple[tuple[int, ...], GoldFile]] = []
        for gold in self.files:
            if gold.benchmark != benchmark or gold.release not in (None, release) or gold.split not in ("", split):
                continue
            shared = 0
            if ids is not None and gold.release is None:
                shared = len(ids & {item.key for item in gold.items()})
                if not shared:
                    continue
            best.append(((gold.release is not None, gold.split == split, shared), gold))
        if not best:
            return None
        top = max(order for order, _ in best)
        first = [gold for order, gold in best if order == top]
        real = {gold.real for gold in first}
        if len(real) > 1:
            names = ", ".join(sorted(gold.path for gold in first))
            raise ValueError(f"several gold files fit {benchmark} {release} {split}: {names}")
        return first[0]
