"""Which files are runs? One table of rules, read from the top; every file that is not selected keeps its reason."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ingest.classify import Kind
from ingest.walk import Entry

BENCHMARK_DIRECTORIES = {"ehr_bench": "ehr-bench", "agent_ehr_bench": "agent-ehr-bench", "mm_bench": "mm-bench"}
MODES = ("agentic", "oneshot")
_MAIN = re.compile(r"(?P<stem>results|merged_unique)\.(jsonl|ndjson)(\.gz|\.zst)?$")
# Kinds of content that need a word when they do not become a run.
LISTED = {"results", "repaired", "derived", "scored", "operational", "driver_input", "liveclin", "llmeval", "array"}


@dataclass(frozen=True, slots=True)
class Place:
    """What a path of a ClinSeek tree says: benchmark, mode, split, model directory, and the rest below it.

    `raw` marks the driver's own tree (`_multi_eval_raw/<stamp>/<raw tag>/…`), where the model directory is a raw tag.
    """

    benchmark: str
    mode: str
    split: str
    model: str
    rest: tuple[str, ...]
    raw: bool = False


def place_of(path: str) -> Place | None:
    """Read `…/<benchmark>/<mode>/<split>/<model>/…`; None where the path is not of that shape."""
    parts = path.split("/")
    for start, part in enumerate(parts[:-4]):
        if part not in BENCHMARK_DIRECTORIES or parts[start + 1] not in MODES:
            continue
        benchmark, mode, split, model = BENCHMARK_DIRECTORIES[part], *parts[start + 1 : start + 4]
        rest = tuple(parts[start + 4 :])
        if split == "scored":
            return None
        if model.startswith("_"):  # _multi_eval_raw/<stamp>/<raw tag>/…
            return Place(benchmark, mode, split, rest[1], rest[2:], raw=True) if len(rest) > 2 else None
        return Place(benchmark, mode, split, model, rest)
    return None


@dataclass(slots=True)
class Seen:
    """A file as the walk found it and the look classified it."""

    entry: Entry
    kind: Kind
    # Where the root itself lies: a root below <benchmark>/<mode> still says what it holds.
    root: str = ""

    @property
    def path(self) -> str:
        return self.entry.path

    @property
    def base(self) -> str:
        return posixpath.basename(self.entry.path)

    @property
    def place(self) -> Place | None:
        return place_of(self.entry.path) or place_of(f"{self.root}/{self.entry.path}")


@dataclass(slots=True)
class Chosen:
    """One run to be: its files in the order of reading, each with the repeat that its name states (None: the rows say)."""

    benchmark: str
    release: str | None
    split: str
    mode: str
    model: str
    files: list[tuple[Seen, int | None]]
    why: str
    archived: bool = False

    @property
    def path(self) -> str:
        return self.files[0][0].path


@dataclass(slots=True)
class Selection:
    chosen: list[Chosen] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # logical path -> reason
    undecided: list[tuple[str, str]] = field(default_factory=list)  # (path, message)


def _in_smoke_directory(seen: Seen) -> bool:
    place = seen.place
    return place is not None and place.model.startswith("smoke")


def _is_retried(seen: Seen) -> bool:
    place = seen.place
    return place is not None and place.model.endswith("_retried")


def _is_steal_copy(seen: Seen) -> bool:
    return seen.base.startswith("results_steal_") or any(
        part.startswith("steal_") for part in seen.path.split("/")[:-1]
    )


def _is_shard(seen: Seen) -> bool:
    place = seen.place
    return place is not None and len(place.rest) > 1


Rule = tuple[str, str, Callable[[Seen], bool]]

# The first rule that fits gives the reason. Faults of links come from the walk; `duplicate_path` and `undecided` from below.
RULES: tuple[Rule, ...] = (
    ("archived", "lies in or is reached through _archive", lambda seen: seen.entry.archived),
    ("smoke", "a smoke run inside a full split", _in_smoke_directory),
    ("operational_summary", "the driver's own bookkeeping", lambda seen: seen.kind.name == "operational"),
    ("driver_input", "questions dealt to a worker, no answers", lambda seen: seen.kind.name == "driver_input"),
    ("scored_output", "rows that a scorer wrote", lambda seen: seen.kind.name == "scored"),
    ("repaired_copy", "answers repaired after the run", lambda seen: seen.kind.name == "repaired"),
    ("derived", "rows with answers added by a later script", lambda seen: seen.kind.name == "derived"),
    ("retried", "the canonical directory beside it wins", _is_retried),
    ("steal_copy", "rows that an idle worker took over", _is_steal_copy),
    ("shard", "part of a run that lies merged one level up", _is_shard),
    ("unknown_form", "none of the known forms", lambda seen: seen.kind.name in ("array", "unknown", "lfs_pointer")),
)


def select(
    files: Iterable[Seen], *, include_archived: bool = False, wins: Callable[[str], bool] = lambda path: False
) -> Selection:
    """Decide for every file. `wins(path)` says whether the configuration names that file as the one that counts.

    One result set per (benchmark, split, mode, model, repeat): merged beats single results, the canonical directory beats
    the driver's raw tree and `_retried`, a path without links beats one with links. What no rule decides is undecided.
    """
    result = Selection()
    open_files: list[Seen] = []
    for seen in files:
        listed = seen.kind.name in LISTED or seen.kind.name in ("unknown", "lfs_pointer")
        if seen.entry.archived and include_archived and seen.kind.name in ("results", "liveclin", "llmeval"):
            open_files.append(seen)
            continue
        if seen.entry.archived and seen.kind.name == "summary":
            result.refused[seen.path] = "archived"
            continue
        if not listed:
            continue
        reason = next((name for name, _, fits in RULES if fits(seen)), None)
        if reason is None:
            open_files.append(seen)
        else:
            result.refused[seen.path] = reason
    for archived in (False, True):
        part = [seen for seen in open_files if seen.entry.archived == archived]
        _select_clinseek([s for s in part if s.kind.name == "results"], result, archived, wins)
        _select_liveclin([s for s in part if s.kind.name == "liveclin"], result, archived)
        _select_llmeval([s for s in part if s.kind.name == "llmeval"], result, archived)
    return result


def _one_path_each(files: list[Seen], result: Selection, rank: Callable[[Seen], tuple]) -> list[Seen]:
    """Of the logical paths of one physical file the best by `rank`; the others are duplicate paths."""
    by_file: dict[str, list[Seen]] = defaultdict(list)
    for seen in files:
        by_file[seen.entry.real].append(seen)
    best = []
    for paths in by_file.values():
        paths.sort(key=rank)
        best.append(paths[0])
        result.refused.update({seen.path: "duplicate_path" for seen in paths[1:]})
    return best


def _select_clinseek(files: list[Seen], result: Selection, archived: bool, wins: Callable[[str], bool]) -> None:
    def rank(seen: Seen) -> tuple:
        place = seen.place
        main = place is not None and len(place.rest) == 1 and _MAIN.match(place.rest[0]) is not None
        raw = place is None or place.raw
        return (not main, raw, len(seen.entry.chain) if not raw else 0, seen.path)

    by_run: dict[tuple[str, str, str, str], list[tuple[tuple, Seen]]] = defaultdict(list)
    for seen in _one_path_each(files, result, rank):
        place = seen.place
        match = _MAIN.match(place.rest[0]) if place is not None and len(place.rest) == 1 else None
        if place is None or match is None:
            result.refused[seen.path] = "archived" if archived else "undecided"
            if not archived:
                result.undecided.append(
                    (
                        seen.path,
                        "rows of results, but the path does not say <benchmark>/<mode>/<split>/<model>/results.jsonl",
                    )
                )
            continue
        key = (place.benchmark, place.split, place.mode, place.model)
        by_run[key].append(((not wins(seen.path), place.raw, match["stem"] != "merged_unique"), seen))
    _drop_raw_twins(by_run, result)
    for (benchmark, split, mode, model), candidates in by_run.items():
        candidates.sort(key=lambda pair: (pair[0], pair[1].path))
        first = [seen for order, seen in candidates if order == candidates[0][0]]
        if len(first) > 1:
            names = ", ".join(seen.path for seen in first)
            for seen in first:
                result.refused[seen.path] = "undecided"
                result.undecided.append(
                    (seen.path, f"several files claim to be {model} on {benchmark} {split}: {names}")
                )
            continue
        result.refused.update({seen.path: "shard" for _, seen in candidates[1:]})
        why = (
            "merged file of the model's directory"
            if "merged_unique" in first[0].base
            else "results.jsonl of the model's directory"
        )
        if first[0].entry.chain:
            why += ", reached through a link"
        result.chosen.append(Chosen(benchmark, None, split, mode, model, [(first[0], None)], why, archived))


def _drop_raw_twins(by_run: dict, result: Selection) -> None:
    """A raw tag's merged file beside the canonical directory of the same model is another state of that run: it loses."""
    canonical = {
        (benchmark, split, mode, re.sub(r"[^a-z0-9]+", "-", model.lower()))
        for (benchmark, split, mode, model), candidates in by_run.items()
        if any(not order[1] for order, _ in candidates)
    }
    for key in [key for key, candidates in by_run.items() if all(order[1] for order, _ in candidates)]:
        benchmark, split, mode, tag = key
        if (benchmark, split, mode, tag) in canonical:
            result.refused.update({seen.path: "shard" for _, seen in by_run.pop(key)})


_RUN_SUFFIX = re.compile(r"_run(\d+)$")


def _select_liveclin(files: list[Seen], result: Selection, archived: bool) -> None:
    by_run: dict[tuple[str, str, int], list[Seen]] = defaultdict(list)
    for seen in _one_path_each(files, result, lambda seen: (len(seen.entry.chain), seen.path)):
        stem = posixpath.splitext(seen.base.removesuffix(".gz").removesuffix(".zst"))[0]
        match = _RUN_SUFFIX.search(stem)
        repeat = int(match[1]) if match and int(match[1]) > 0 else 1
        by_run[seen.kind.about["model"], seen.kind.about["dataset"], repeat].append(seen)
    for (model, dataset, repeat), candidates in by_run.items():
        if len(candidates) > 1:
            names = ", ".join(seen.path for seen in candidates)
            for seen in candidates:
                result.refused[seen.path] = "undecided"
                result.undecided.append(
                    (seen.path, f"several files claim to be {model} on liveclin {dataset}, repeat {repeat}: {names}")
                )
            continue
        why = f"LiveClin results file; repeat {repeat} by its name" if repeat > 1 else "LiveClin results file"
        result.chosen.append(
            Chosen("liveclin", dataset, "full", "chat", model, [(candidates[0], repeat)], why, archived)
        )


def _select_llmeval(files: list[Seen], result: Selection, archived: bool) -> None:
    from ingest.readers.llmeval_med import repeat_of

    by_folder: dict[str, dict[int, list[Seen]]] = defaultdict(lambda: defaultdict(list))
    for seen in _one_path_each(files, result, lambda seen: (len(seen.entry.chain), seen.path)):
        by_folder[posixpath.dirname(seen.path)][repeat_of(seen.base)].append(seen)
    by_model: dict[str, list[str]] = defaultdict(list)
    for folder in by_folder:
        by_model[posixpath.basename(folder)].append(folder)
    for folder, repeats in by_folder.items():
        first = next(iter(repeats.values()))[0]
        model = posixpath.basename(folder) or posixpath.basename(first.root)
        clash = [seen for seens in repeats.values() if len(seens) > 1 for seen in seens]
        if len(by_model[model]) > 1:
            clash = [seen for seens in repeats.values() for seen in seens]
        if clash:
            for seen in clash:
                result.refused[seen.path] = "undecided"
                result.undecided.append((seen.path, f"several scored files claim one judging run of {model}"))
            continue
        chosen: list[tuple[Seen, int | None]] = [(repeats[repeat][0], repeat) for repeat in sorted(repeats)]
        why = f"scored files of one folder: {len(chosen)} judging run{'s' if len(chosen) > 1 else ''}"
        result.chosen.append(Chosen("llmeval-med", None, "full", "chat", model, chosen, why, archived))
