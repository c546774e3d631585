"""Which files are runs? One table of rules, read from the top; every file that is not selected keeps its reason."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from ingest.classify import Kind
from ingest.readers.llmeval_med import repeat_of
from ingest.walk import Entry

BENCHMARK_DIRECTORIES = {"ehr_bench": "ehr-bench", "agent_ehr_bench": "agent-ehr-bench", "mm_bench": "mm-bench"}
MODES = ("agentic", "oneshot")
_MAIN = re.compile(r"(?P<stem>results|merged_unique)\.(jsonl|ndjson|json)(\.gz|\.zst)?$")
# Kinds of content that need a word when they do not become a run.
LISTED = {"results", "repaired", "derived", "scored", "operational", "driver_input", "liveclin", "llmeval"}


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
    """What was decided: `refused` holds the reason by logical path, `undecided` (path, message) of errors."""

    chosen: list[Chosen] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    undecided: list[tuple[str, str]] = field(default_factory=list)
    _why: dict[str, str] = field(default_factory=dict)

    def refuse(self, path: str, reason: str, why: str = "") -> None:
        """`why` says it of this very file; without it the reason's own words count."""
        self.refused[path] = reason
        self._why[path] = why

    def why(self, path: str) -> str:
        """Why a refused file is no run, in words."""
        return self._why.get(path) or WORDS[self.refused[path]]


def _place_of_rows(seen: Seen) -> Place | None:
    """The place of a file that holds rows of a run, or should by its name."""
    return seen.place if seen.kind.name == "results" or _MAIN.match(seen.base) else None


def _in_smoke_directory(seen: Seen) -> bool:
    place = _place_of_rows(seen)
    return place is not None and place.model.startswith("smoke")


def _is_retried(seen: Seen) -> bool:
    place = _place_of_rows(seen)
    return place is not None and place.model.endswith("_retried")


def _is_steal_copy(seen: Seen) -> bool:
    place = seen.place
    directories = place.rest[:-1] if place else seen.path.split("/")[:-1]
    return seen.base.startswith("results_steal_") or any(name.startswith("steal_") for name in directories)


def _is_shard(seen: Seen) -> bool:
    place = _place_of_rows(seen)
    return place is not None and len(place.rest) > 1


Rule = tuple[str, str, Callable[[Seen], bool]]

# The first rule that fits gives the reason, its words tell why. Faults of links come from the walk.
RULES: tuple[Rule, ...] = (
    ("archived", "lies in _archive or is reached through it", lambda seen: seen.entry.archived),
    ("smoke", "a smoke run inside a full split", _in_smoke_directory),
    ("operational_summary", "the driver's own bookkeeping, no scores", lambda seen: seen.kind.name == "operational"),
    ("driver_input", "questions dealt to a worker, no answers", lambda seen: seen.kind.name == "driver_input"),
    ("scored_output", "rows that a scorer wrote, not the answers", lambda seen: seen.kind.name == "scored"),
    ("repaired_copy", "answers that were repaired after the run", lambda seen: seen.kind.name == "repaired"),
    ("derived", "answers that a later script added or moved", lambda seen: seen.kind.name == "derived"),
    ("retried", "a second try: only the canonical directory counts", _is_retried),
    ("steal_copy", "rows that an idle worker took over from another", _is_steal_copy),
    ("shard", "a part below the model's directory: the run lies merged one level up", _is_shard),
    ("unknown_form", "none of the known forms", lambda seen: seen.kind.name in ("unknown", "lfs_pointer")),
)
# What remains when no rule fits: decided between several files, or found while a run was read.
WORDS = {name: words for name, words, _ in RULES} | {
    "duplicate_path": "another path to a file that is told already",
    "undecided": "several files claim one run and no rule decides",
    "override": "the configuration decided",
    "no_gold": "there is no gold for it",
    "unreadable": "it cannot be read",
}
# Of several files that claim one run, the order in which they are asked: the first difference decides, in these words.
ORDER = (
    ("raw", "the model's directory beats the driver's raw tree"),
    ("depth", "the run's own folder beats what lies below it"),
    ("single", "the merged file beats single results"),
)


@dataclass(frozen=True)
class Told:
    """What is known beside the tree: aliases of models and the configuration. Functions of a path, all optional.

    `wins`: why it is named as the file that counts, empty where it is not. `model`: the same value for all names of one
    model. `repeat`: as stated; a results file below the model's directory is then a run of its own. `release`: the
    caller's, for everything.
    """

    wins: Callable[[str], str] = lambda path: ""
    model: Callable[[str, str], Hashable] = lambda path, name: name
    repeat: Callable[[str], int | None] = lambda path: None
    release: str | None = None


def select(files: Iterable[Seen], *, include_archived: bool = False, told: Told = Told()) -> Selection:
    """Decide for every file.

    One result set per (benchmark, release, split, mode, model, repeat): merged beats single results, the canonical
    directory beats the driver's raw tree and `_retried`, a path without links beats one with links, and what the
    configuration names beats everything. What no rule decides is undecided: none of those files becomes a run.
    Every refused file keeps its reason and the words for it.
    """
    result = Selection()
    open_files: list[Seen] = []
    for seen in files:
        listed = seen.kind.name in LISTED or seen.kind.name in ("unknown", "lfs_pointer")
        if seen.entry.archived and include_archived and seen.kind.name in ("results", "liveclin", "llmeval"):
            open_files.append(seen)
            continue
        if seen.entry.archived and seen.kind.name == "summary":
            result.refuse(seen.path, "archived")
            continue
        if not listed:
            continue
        reason = next((name for name, _, fits in RULES if fits(seen)), None)
        if reason is None or (reason == "shard" and _is_stated_run(seen, told)):
            open_files.append(seen)
        else:
            result.refuse(seen.path, reason)
    for archived in (False, True):
        part = [seen for seen in open_files if seen.entry.archived == archived]
        _select_clinseek([s for s in part if s.kind.name == "results"], result, archived, told)
        _select_liveclin([s for s in part if s.kind.name == "liveclin"], result, archived, told)
        _select_llmeval([s for s in part if s.kind.name == "llmeval"], result, archived, told)
    return result


def _one_path_each(files: list[Seen], result: Selection, rank: Callable[[Seen], tuple]) -> list[Seen]:
    """Of the logical paths of one physical file the best by `rank`; the others are duplicate paths."""
    by_file: dict[tuple[int, int], list[Seen]] = defaultdict(list)
    for seen in files:
        by_file[seen.entry.device, seen.entry.inode].append(seen)
    best = []
    for paths in by_file.values():
        paths.sort(key=rank)
        best.append(paths[0])
        for seen in paths[1:]:
            result.refuse(seen.path, "duplicate_path", f"the same file as {paths[0].path}")
    return best


def _fewest_links(seen: Seen) -> tuple:
    return len(seen.entry.chain), seen.path


Claims = list[tuple[tuple, Seen]]  # order as in ORDER, or none


def _one_of(claims: Claims, result: Selection, told: Told, what: str, beaten: str) -> tuple[Seen, str] | None:
    """The file that is the run, and what decided: the configuration names it, or its order is the least of ORDER.

    The others are refused for the reason `beaten`, or `override` where the configuration decided. Where several are
    equally good those are undecided and there is none. `what` says what they claim to be.
    """
    named = [(order, seen) for order, seen in claims if told.wins(seen.path)]
    best = min(order for order, _ in named or claims)
    first = sorted((seen for order, seen in named or claims if order == best), key=lambda seen: seen.path)
    decided = [told.wins(first[0].path)] if named else []
    for order, seen in claims:
        if seen not in first:
            words = decided[0] if named else next(w for (_, w), a, b in zip(ORDER, order, best, strict=False) if a != b)
            result.refuse(seen.path, "override" if named else beaten, f"{words}: {first[0].path}")
            decided += [] if named or words in decided else [words]
    if len(first) > 1:
        _leave_undecided(first, result, f"several files claim to be {what}: {', '.join(seen.path for seen in first)}")
        return None
    return first[0], "; ".join(decided)


def _leave_undecided(files: Iterable[Seen], result: Selection, message: str) -> None:
    for seen in files:
        result.refuse(seen.path, "undecided", message)
        result.undecided.append((seen.path, message))


def _and(why: str, decided: str) -> str:
    return f"{why}; {decided}" if decided else why


def _main_file(seen: Seen, told: Told) -> re.Match[str] | None:
    """Whether a path is that of a whole run: in the model's directory itself, or below it where its repeat is stated."""
    place = seen.place
    if place is None or (len(place.rest) > 1 and told.repeat(seen.path) is None):
        return None
    return _MAIN.match(place.rest[-1])


def _is_stated_run(seen: Seen, told: Told) -> bool:
    return seen.kind.name == "results" and _main_file(seen, told) is not None


def _select_clinseek(files: list[Seen], result: Selection, archived: bool, told: Told) -> None:
    def rank(seen: Seen) -> tuple:
        place = seen.place
        main = _main_file(seen, told) is not None
        raw = place is None or place.raw
        return (not main, raw, len(seen.entry.chain) if not raw else 0, seen.path)

    places: list[tuple[Seen, Place, str]] = []
    paths = _one_path_each(files, result, rank)
    beside_lines = {posixpath.dirname(seen.path) for seen in paths if _MAIN.match(seen.base) and not _is_array(seen)}
    for seen in paths:
        place = seen.place
        if _is_array(seen) and posixpath.dirname(seen.path) in beside_lines and not told.wins(seen.path):
            # runners write lines; an array beside them was made from them later
            result.refuse(seen.path, "derived")
            continue
        match = _main_file(seen, told)
        if place is not None and match is not None:
            places.append((seen, place, match["stem"]))
        elif archived:
            result.refuse(seen.path, "archived")
        else:
            message = "rows of results, but the path does not say <benchmark>/<mode>/<split>/<model>/results.jsonl"
            _leave_undecided([seen], result, message)
    directories = {(*_split_of(p), _as_tag(p.model)): p.model for _, p, _ in places if not p.raw}
    by_run: dict[tuple, Claims] = defaultdict(list)
    models: dict[tuple, str] = {}
    for seen, place, stem in places:
        # the driver's raw tag of a model directory names the same model
        model = directories.get((*_split_of(place), _as_tag(place.model)), place.model) if place.raw else place.model
        key = (*_split_of(place), told.model(seen.path, model), told.repeat(seen.path))
        models[key] = model if key not in models or not place.raw else models[key]
        by_run[key].append(((place.raw, len(place.rest), stem != "merged_unique"), seen))
    for key, claims in by_run.items():
        benchmark, split, mode = key[:3]
        model = models[key]
        found = _one_of(claims, result, told, f"{model} on {benchmark} {split} ({mode})", "shard")
        if found is not None:
            file, decided = found
            merged = file.base.startswith("merged_unique")
            below = file.place is not None and len(file.place.rest) > 1
            name = "merged file" if merged else "results.json" if _is_array(file) else "results.jsonl"
            why = f"{name} {'below' if below else 'of'} the model's directory"
            why += ", reached through a link" if file.entry.chain else ""
            why += ", a JSON array" if _is_array(file) else ""
            chosen = Chosen(benchmark, None, split, mode, model, [(file, None)], _and(why, decided), archived)
            result.chosen.append(chosen)


def _is_array(seen: Seen) -> bool:
    return seen.kind.about.get("form") == "array"


def _split_of(place: Place) -> tuple[str, str, str]:
    return place.benchmark, place.split, place.mode


def _as_tag(model: str) -> str:
    """The driver's tag of a model: everything but letters and digits becomes a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", model.lower())


_RUN_SUFFIX = re.compile(r"_run([1-9]\d{0,8})$")


def _select_liveclin(files: list[Seen], result: Selection, archived: bool, told: Told) -> None:
    by_run: dict[tuple, Claims] = defaultdict(list)
    for seen in _one_path_each(files, result, _fewest_links):
        model, dataset = seen.kind.about["model"], told.release or seen.kind.about["dataset"]
        stem = posixpath.splitext(seen.base.removesuffix(".gz").removesuffix(".zst"))[0]
        match = _RUN_SUFFIX.search(stem)
        repeat = told.repeat(seen.path) or (int(match[1]) if match else 1)
        by_run[told.model(seen.path, model), dataset, repeat].append(((), seen))
    for (_, dataset, repeat), claims in by_run.items():
        model = claims[0][1].kind.about["model"]
        found = _one_of(claims, result, told, f"{model} on liveclin {dataset}, repeat {repeat}", "override")
        if found is not None:
            file, decided = found
            why = _and(f"LiveClin results file, repeat {repeat}" if repeat > 1 else "LiveClin results file", decided)
            model, dataset = file.kind.about["model"], file.kind.about["dataset"]
            result.chosen.append(Chosen("liveclin", dataset, "full", "chat", model, [(file, repeat)], why, archived))


def _select_llmeval(files: list[Seen], result: Selection, archived: bool, told: Told) -> None:
    by_folder: dict[str, list[Seen]] = defaultdict(list)
    for seen in _one_path_each(files, result, _fewest_links):
        by_folder[posixpath.dirname(seen.path)].append(seen)
    by_model: dict[Hashable, list[list[Seen]]] = defaultdict(list)
    for folder in by_folder.values():
        # one file of a stated repeat is a run of its own; several are the judging runs of one
        repeat = told.repeat(folder[0].path) if len(folder) == 1 else None
        by_model[told.model(folder[0].path, _folder_name(folder[0])), repeat].append(folder)
    for folders in by_model.values():
        model = _folder_name(folders[0][0])
        if len(folders) > 1:
            names = ", ".join(sorted(posixpath.dirname(folder[0].path) or "." for folder in folders))
            message = f"several folders claim to be {model} on llmeval-med: {names}"
            _leave_undecided([seen for folder in folders for seen in folder], result, message)
            continue
        by_repeat: dict[int, Claims] = defaultdict(list)
        try:
            for seen in folders[0]:
                by_repeat[repeat_of(seen.base)].append(((), seen))
        except ValueError as error:
            _leave_undecided(folders[0], result, str(error))
            continue
        found = {
            repeat: _one_of(claims, result, told, f"judging run {repeat} of {model}", "override")
            for repeat, claims in sorted(by_repeat.items())
        }
        chosen: list[tuple[Seen, int | None]] = [(one[0], repeat) for repeat, one in found.items() if one is not None]
        if len(chosen) < len(found):
            message = f"another judging run of {model} is undecided, and its figure is the mean over all of them"
            _leave_undecided([seen for seen, _ in chosen], result, message)
            continue
        why = f"scored files of one folder: {len(chosen)} judging run{'s' if len(chosen) > 1 else ''}"
        why = _and(why, "; ".join(dict.fromkeys(one[1] for one in found.values() if one is not None and one[1])))
        result.chosen.append(Chosen("llmeval-med", None, "full", "chat", model, chosen, why, archived))


def _folder_name(seen: Seen) -> str:
    return posixpath.basename(posixpath.dirname(seen.path)) or posixpath.basename(seen.root)
