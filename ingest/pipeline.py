"""The road: walk -> classify -> gold -> select -> read -> score -> load -> report. One function a step."""

from __future__ import annotations

import datetime
import os
import posixpath
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.items import GoldDiffers, SplitItems, load_items, store_split
from evaluation.models import Benchmark, Evaluation, ModelAlias, Release, Run, Split
from evaluation.protocols.llmeval_med import items as scored_items
from evaluation.registry import find_model, register_model
from ingest import config as configuration
from ingest import documents, summaries
from ingest.classify import Kind, classify
from ingest.gold import GoldFile, GoldShelf, given_gold, gold_file
from ingest.load import evaluate, load_run, printable, run_key, store_evaluation, store_summary
from ingest.models import Finding, Pass, Source, SourceFile, SourcePlace
from ingest.readers import clinseek, liveclin, llmeval_med
from ingest.readers.base import FileContent, duplicate_counts
from ingest.report import NotRun, Report
from ingest.select import Chosen, Seen, Selection, select
from ingest.summaries import Comparison
from ingest.walk import Entry, Fault, walk

CONFIG_NAME = "clinboard.yaml"


class CannotIngest(Exception):
    """Nothing could be done; the text says why in one line."""


@dataclass
class Options:
    gold: Sequence[tuple[str | None, Path]] = ()
    release: str | None = None
    config: Path | None = None
    allow_outside: Sequence[str] = ()
    include_archived: bool = False
    dry_run: bool = False
    visibility: str = ""
    owner: Any = None
    team: Any = None
    # Told (bytes done, bytes in all, current file); bytes in all may grow while files are found.
    progress: Callable[[int, int, str], None] = lambda done, total, path: None


def ingest(root: str | os.PathLike[str], options: Options) -> Report:
    """Read a tree and load its runs. Raises CannotIngest when nothing could be done; everything else is in the report."""
    return _Ingest(Path(root), options).run()


@dataclass
class _Gold:
    """The items of one (benchmark, release, split), or why there are none."""

    items: SplitItems | None
    reason: str = ""


@dataclass
class _Ingest:
    root: Path
    options: Options
    report: Report = field(default_factory=Report)
    _splits: dict[tuple[str, str, str], _Gold] = field(default_factory=dict)

    def run(self) -> Report:
        if not self.root.is_dir():
            raise CannotIngest(
                f"{self.root}: no such directory" if not self.root.exists() else f"{self.root}: not a directory"
            )
        self.root = self.root.resolve()
        self.source = self._source()
        self.config = self._config()
        previous = {file.path: file for file in self.source.files.select_related("run")} if self.source else {}
        self.pass_ = self._start_pass()
        try:
            seen = self._look(previous)
            self.shelf = GoldShelf(self._gold_files(seen))
            self._register_config_models()
            selection = self._select(seen)
            self._process(selection, seen, previous)
            self._finish(selection, seen)
        except BaseException as error:
            self._fail(error)
            raise
        return self.report

    # --- where and with what -----------------------------------------------------------------------------------------

    def _source(self) -> Source | None:
        host = settings.CLINBOARD_HOST or socket.gethostname()
        place = SourcePlace.objects.filter(host=host, path=str(self.root)).select_related("source").first()
        if place is not None or self.options.dry_run:
            return place.source if place else None
        with transaction.atomic():
            source = Source.objects.create(name=self.root.name or str(self.root))
            SourcePlace.objects.create(source=source, host=host, path=str(self.root))
        return source

    def _config(self) -> configuration.Config:
        path = self.options.config or self.root / CONFIG_NAME
        if not path.is_file():
            if self.options.config is not None:
                raise CannotIngest(f"--config {path}: no such file")
            return configuration.EMPTY
        try:
            return configuration.load(path)
        except (configuration.ConfigError, OSError) as error:
            raise CannotIngest(str(error)) from error

    def _start_pass(self) -> Pass | None:
        return None if self.source is None or self.options.dry_run else Pass.objects.create(source=self.source)

    def _fail(self, error: BaseException) -> None:
        if self.pass_ is not None:
            # after a failed statement or on a full disk even this may not be possible; the first error is the one to tell
            try:
                Pass.objects.filter(pk=self.pass_.pk).update(
                    finished_at=timezone.now(), error=f"{type(error).__name__}: {error}"[:2000]
                )
            except Exception:  # noqa: S110
                pass

    # --- walk and classify -------------------------------------------------------------------------------------------

    def _look(self, previous: dict[str, SourceFile]) -> list[Seen]:
        """Every file of the tree with its kind; faults go to the report. An unchanged file keeps the kind it had."""
        found = []
        kinds: dict[str, Kind] = {}
        for entry in walk(self.root, self.options.allow_outside):
            if isinstance(entry, Fault):
                self._fault(entry)
                continue
            self.report.files_seen += 1
            if entry.real not in kinds:
                kind = self._kind(entry, previous.get(entry.path))
                if kind is None:
                    continue
                kinds[entry.real] = kind
            found.append(Seen(entry, kinds[entry.real], str(self.root)))
        operational = {posixpath.dirname(seen.entry.physical) for seen in found if seen.kind.name == "operational"}
        for seen in found:
            if seen.kind.name == "summary_text" and posixpath.dirname(seen.entry.physical) in operational:
                seen.kind = Kind("operational")
        return found

    def _kind(self, entry: Entry, before: SourceFile | None) -> Kind | None:
        if before is not None and before.kind and _same_stat(before, entry):
            return Kind(before.kind, before.about)
        try:
            return classify(entry)
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            self._fault(Fault(entry.path, entry.physical, "unreadable", message, entry.chain, entry.archived))
        except ValueError as error:
            return Kind("unknown", {"message": str(error)})
        return None

    def _fault(self, fault: Fault) -> None:
        reason = "archived" if fault.archived else fault.reason
        self.report.not_runs.append(NotRun(fault.path, fault.physical, reason))
        severity = "error" if fault.reason in ("unreadable", "outside_root") else "warning"
        if not fault.archived:
            self.report.find(severity, fault.reason, fault.path, fault.message)

    # --- gold --------------------------------------------------------------------------------------------------------

    def _gold_files(self, seen: Iterable[Seen]) -> list[GoldFile]:
        files = []
        for release, path in self.options.gold:
            try:
                files += list(given_gold(release, path))
            except (ValueError, OSError) as error:
                raise CannotIngest(str(error)) from error
        given = {gold.real for gold in files}
        for one in seen:
            if one.kind.name == "gold" and not one.entry.archived and one.entry.real not in given:
                given.add(one.entry.real)
                files.append(gold_file(one.entry, one.kind, None))
        return files

    def _items(self, chosen: Chosen, release: str, contents: Sequence[FileContent] | None) -> _Gold:
        """The split of a run: made from gold at hand, else the loaded one; for LLMEval-Med else from the scored files."""
        key = (chosen.benchmark, release, chosen.split)
        if key not in self._splits:
            self._splits[key] = self._find_items(chosen, release, contents)
        return self._splits[key]

    def _find_items(self, chosen: Chosen, release: str, contents: Sequence[FileContent] | None) -> _Gold:
        benchmark = Benchmark.objects.get(slug=chosen.benchmark)
        spec = BENCHMARKS[chosen.benchmark]
        ids = None
        if chosen.benchmark == "liveclin" and contents is not None:
            ids = {row.answer.item for content in contents for row in content.rows}
        loaded = Split.objects.filter(release__benchmark=benchmark, release__name=release, name=chosen.split).first()
        try:
            gold = self.shelf.choose(chosen.benchmark, release, chosen.split, ids)
            specs = gold.items() if gold else []
        except (ValueError, OSError) as error:
            self.report.find("error", "bad_gold", chosen.path, str(error))
            return _Gold(None, "no_gold")
        if gold is not None:
            return self._store(benchmark, release, chosen, specs, gold.path, spec)
        if loaded is not None and not loaded.gold_missing:
            return _Gold(load_items(loaded))
        if chosen.benchmark == "llmeval-med":
            return self._items_from_scored_files(benchmark, release, chosen)
        message = f"no gold for {chosen.benchmark} {release} {chosen.split}: give it with --gold, nothing was loaded"
        self.report.find("error", "gold_missing", chosen.path, message)
        return _Gold(None, "no_gold")

    def _items_from_scored_files(self, benchmark: Benchmark, release: str, chosen: Chosen) -> _Gold:
        message = "the dataset was not given: items come from the scored files, and the runs are not ranked (--gold)"
        scored = []
        for seen in self._llmeval_files:
            try:
                scored.append(documents.loads(documents.read_whole(seen.entry.real)))
            except (ValueError, OSError) as error:
                self.report.find("error", "bad_json", seen.path, str(error))
        self.report.find("warning", "gold_missing", chosen.path, message)
        try:
            # only what identifies an item: answers and scores differ between the files and are no gold
            specs = scored_items(*scored, problems=[])
        except ValueError as error:
            self.report.find("error", "bad_gold", chosen.path, str(error))
            return _Gold(None, "no_gold")
        return self._store(benchmark, release, chosen, specs, chosen.path, BENCHMARKS["llmeval-med"], gold_missing=True)

    def _store(
        self,
        benchmark: Benchmark,
        release: str,
        chosen: Chosen,
        specs: list,
        path: str,
        spec: BenchmarkSpec,
        gold_missing: bool = False,
    ) -> _Gold:
        published = self.config.expected(chosen.benchmark, chosen.split) or spec.sizes.get(chosen.split)
        size = sum(item.scored for item in specs)
        if published is not None and size != published and not gold_missing:
            message = f"the gold holds {size} expected items, {published} are published for split {chosen.split}"
            self.report.find("warning", "split_size", path, message)
        rankable = not gold_missing and not chosen.split.startswith(("smoke", "demo")) and release != "demo"
        if self.options.dry_run:
            split = Split(release=Release(benchmark=benchmark, name=release), name=chosen.split, rankable=rankable)
            split.expected_items = size
            return _Gold(SplitItems(split, specs, {item.key: 0 for item in specs}))
        try:
            split = store_split(benchmark, release, chosen.split, specs, rankable=rankable, gold_missing=gold_missing)
        except GoldDiffers as error:
            self.report.find("error", "gold_differs", path, str(error))
            return _Gold(None, "no_gold")
        except ValueError as error:
            self.report.find("error", "bad_gold", path, str(error))
            return _Gold(None, "no_gold")
        return _Gold(load_items(split))

    # --- select ------------------------------------------------------------------------------------------------------

    def _register_config_models(self) -> None:
        if self.options.dry_run:
            return
        for facts in self.config.models:
            aliases = [("directory", alias) for alias in facts.aliases]
            register_model(facts.name, access=facts.access, organisation=facts.organisation, aliases=aliases)

    def _select(self, seen: list[Seen]) -> Selection:
        left_out = {}
        for one in seen:
            if (
                one.kind.name in ("results", "liveclin", "llmeval")
                and (why := self.config.left_out(one.path)) is not None
            ):
                left_out[one.path] = why
        selection = select(
            [one for one in seen if one.path not in left_out],
            include_archived=self.options.include_archived,
            wins=lambda path: self.config.wins(path) is not None,
        )
        for path, (why, line) in left_out.items():
            selection.refused[path] = "override"
            self.report.find("info", "override", path, f"left out by {self.config.path} line {line}: {why}")
        for path, message in selection.undecided:
            self.report.find("error", "undecided", path, message)
        entries = {one.path: one for one in seen}
        for path, reason in sorted(selection.refused.items()):
            one = entries[path]
            self.report.not_runs.append(NotRun(path, one.entry.physical, reason))
            if reason == "unknown_form":
                text = one.kind.about.get("message", "")
                text = (
                    "a Git LFS pointer, not the file itself: fetch it first" if one.kind.name == "lfs_pointer" else text
                )
                self.report.find("warning", "unknown_form", path, text or "none of the known forms")
        self._llmeval_files = [s for c in selection.chosen if c.benchmark == "llmeval-med" for s, _ in c.files]
        return selection

    # --- read, score, load -------------------------------------------------------------------------------------------

    def _process(self, selection: Selection, seen: list[Seen], previous: dict[str, SourceFile]) -> None:
        self._done = 0
        self._total = sum(one.entry.size for chosen in selection.chosen for one, _ in chosen.files)
        self._beside = self._summary_files(selection, seen)
        self._fates: dict[str, tuple[str, int | None]] = {}
        for chosen in selection.chosen:
            self.options.progress(self._done, self._total, chosen.path)
            reason = self._one_run(chosen, previous)
            if reason:
                for one, _ in chosen.files:
                    self.report.not_runs.append(NotRun(one.path, one.entry.physical, reason))
                    selection.refused[one.path] = reason
        self.options.progress(self._total, self._total, "")

    def _one_run(self, chosen: Chosen, previous: dict[str, SourceFile]) -> str:
        """Load one run. Returns the reason why it became none, or nothing."""
        release = self.options.release or chosen.release or BENCHMARKS[chosen.benchmark].default_release
        stated = self.config.stated(chosen.path)
        if stated.repeat is not None and len(chosen.files) == 1:
            chosen.files = [(chosen.files[0][0], stated.repeat)]
        old = self._unchanged(chosen, release, stated, previous)
        if old is not None:
            self._done += sum(one.entry.size for one, _ in chosen.files)
            self._carry_over(old, chosen)
            return ""
        try:
            contents = [self._read(chosen, index) for index in range(len(chosen.files))]
        except OSError as error:
            self.report.find("error", "unreadable", chosen.path, f"cannot be read: {error.strerror or error}")
            return "unreadable"
        except (ValueError, RecursionError) as error:
            self.report.find("error", "bad_json", chosen.path, f"{error}")
            return "unknown_form"
        gold = self._items(chosen, release, contents)
        if gold.items is None:
            return gold.reason
        self._load(chosen, contents, gold.items, stated, previous)
        return ""

    def _read(self, chosen: Chosen, index: int) -> FileContent:
        seen, repeat = chosen.files[index]
        take = BENCHMARKS[chosen.benchmark].read

        def progress(count: int) -> None:
            self._done += count
            self.options.progress(self._done, self._total, seen.path)

        if chosen.benchmark == "liveclin":
            content = liveclin.read(seen.entry, index, repeat or 1, take, progress)
        elif chosen.benchmark == "llmeval-med":
            content = llmeval_med.read(seen.entry, index, repeat or 1, take, progress)
        else:
            content = clinseek.read(seen.entry, index, take, progress)
            if repeat is not None:
                for row in content.rows:
                    row.answer.repeat = repeat
        self.report.rows_read += content.parsed
        return content

    def _unchanged(self, chosen: Chosen, release: str, stated: Any, previous: dict[str, SourceFile]) -> Run | None:
        """The run that these files already are, told by stat alone; None when anything could have changed."""
        runs = set()
        for seen, _ in chosen.files:
            before = previous.get(seen.path)
            if before is None or before.run is None or not _same_stat(before, seen.entry):
                return None
            runs.add(before.run)
        run = runs.pop() if len(runs) == 1 else None
        if run is None or run.state == Run.State.SUPERSEDED or run.files.count() != len(chosen.files):
            return None
        split = run.split
        same = (split.release.benchmark.slug, split.release.name, split.name, run.mode) == (
            chosen.benchmark,
            release,
            chosen.split,
            chosen.mode,
        )
        if (
            not same
            or (run.state == Run.State.ARCHIVED) != chosen.archived
            or run.counts.get("stated") != _stated(stated)
        ):
            return None
        gold = self._items(chosen, release, None) if self._gold_at_hand(chosen) else None
        if (gold is not None and (gold.items is None or gold.items.split.pk != split.pk)) or not _evaluated(run):
            return None
        return run

    def _gold_at_hand(self, chosen: Chosen) -> bool:
        return any(gold.benchmark == chosen.benchmark for gold in self.shelf.files) and chosen.benchmark != "liveclin"

    def _counts(
        self, chosen: Chosen, contents: Sequence[FileContent], items: SplitItems, stated: Any
    ) -> dict[str, Any]:
        """The documented counts of a run."""
        spec = BENCHMARKS[chosen.benchmark]
        rows = [row for content in contents for row in content.rows]
        found = {row.answer.item for row in rows}
        expected = {item.key for item in items.specs if item.scored}
        known = {item.key for item in items.specs}
        same, conflicting = duplicate_counts(rows, spec.comparable)
        return {
            "rows": len(rows),
            "parsed": sum(content.parsed for content in contents),
            "malformed": sum(content.malformed for content in contents),
            "recovered": 0,
            "unique_items": len(found),
            "expected_items": len(expected),
            "missing": len(expected - found),
            "extra": len(found - known),
            "duplicates_same": same,
            "duplicates_conflicting": conflicting,
            "rankable": items.split.rankable,
            "stated": _stated(stated),
        }

    def _load(
        self,
        chosen: Chosen,
        contents: list[FileContent],
        items: SplitItems,
        stated: Any,
        previous: dict[str, SourceFile],
    ) -> None:
        spec = BENCHMARKS[chosen.benchmark]
        counts = self._counts(chosen, contents, items, stated)
        self._run_findings(chosen, contents, counts)
        name = printable(stated.model or chosen.model)
        if self.options.dry_run:
            alias = ModelAlias.objects.filter(name=name).select_related("model").first()
            model, model_name, known = None, name, bool(alias and alias.model.registered)
        else:
            model, model_name, known = find_model(name)
        if not known:
            message = f"model {name!r} is not registered: kept under that exact name, merged with nothing"
            self.report.find("warning", "unregistered_model", chosen.path, message)
        repeats = sorted({row.answer.repeat for content in contents for row in content.rows}) or [1]
        files = [(sorted({row.answer.repeat for row in content.rows}), content.sha256) for content in contents]
        key = run_key(items.split, chosen.mode, model_name, files, chosen.archived)
        existing = None if items.split.pk is None else Run.objects.filter(key=key).first()
        before = self._replaced(chosen, previous, key)
        state = "archived" if chosen.archived else "replaced" if before else "new"
        if existing is not None and existing.state != Run.State.SUPERSEDED:
            state = "archived" if chosen.archived else "unchanged"
        counts["model_known"] = known
        rows = [row for content in contents for row in content.rows]
        results = evaluate(spec, items, rows)
        counts["task_names"] = self._notes(chosen, results)
        compared = self._compare(chosen, contents, results, counts["task_names"])
        if self.options.dry_run:
            self._tell(chosen, contents, counts, key, model_name, state, compared, release=items.split.release.name)
            return
        if existing is not None and _evaluated(existing):
            self._revive(existing, before, counts, compared)
            run = existing
        elif (
            existing is not None
            and existing.split.pk == items.split.pk
            and existing.responses.exclude(item=None).exists()
        ):
            with transaction.atomic():
                for evaluator, result in results:
                    store_evaluation(existing, items, rows, evaluator, result)
                self._revive(existing, before, counts, compared)
            run = existing
        else:
            run = self._new_run(chosen, contents, items, stated, model, model_name, key, repeats, counts)
            with transaction.atomic():
                if existing is not None:  # its items were made anew from real gold
                    existing.delete()
                load_run(run, contents, items, results, compared, before)
            self.report.rows_loaded += counts["rows"]
        for one, _ in chosen.files:
            self._fates[one.path] = ("run", run.pk)
        self._tell(chosen, contents, counts, key, model_name, state, compared, release=items.split.release.name)

    def _new_run(
        self,
        chosen: Chosen,
        contents: Sequence[FileContent],
        items: SplitItems,
        stated: Any,
        model: Any,
        model_name: str,
        key: str,
        repeats: list[int],
        counts: dict[str, Any],
    ) -> Run:
        told = [parse_datetime(str(content.about.get("finished_at") or "")) for content in contents]
        modified = [content.entry.mtime_ns / 1e9 for content in contents]
        latest = max((moment for moment in told if moment), default=None)
        protocol = {key: value for content in contents for key, value in content.about.get("protocol", {}).items()}
        return Run(
            key=key,
            split=items.split,
            mode=chosen.mode,
            model=model,
            model_name=model_name,
            repeats=repeats,
            shots=stated.shots,
            conversation_kept=stated.conversation_kept,
            protocol={**protocol, **stated.protocol},
            origin=stated.origin or Run.Origin.OURS,
            state=Run.State.ARCHIVED if chosen.archived else Run.State.LIVE,
            visibility=self.options.visibility or settings.CLINBOARD_DEFAULT_VISIBILITY,
            owner=self.options.owner,
            team=self.options.team,
            answered_at=latest or datetime.datetime.fromtimestamp(max(modified), datetime.UTC),
            why=chosen.why,
            counts=counts,
        )

    def _revive(self, run: Run, before: Run | None, counts: dict[str, Any], compared: Sequence[Comparison]) -> None:
        """The same bytes again: nothing is added. A superseded run of these bytes becomes the live one."""
        with transaction.atomic():
            if run.state == Run.State.SUPERSEDED:
                run.state, run.superseded_by = Run.State.LIVE, None
            run.counts = counts
            run.save(update_fields=["state", "superseded_by", "counts"])
            if before is not None and before.pk != run.pk:
                Run.objects.filter(pk=before.pk).update(state=Run.State.SUPERSEDED, superseded_by=run)
            for summary in compared:
                store_summary(run, summary)

    def _replaced(self, chosen: Chosen, previous: dict[str, SourceFile], key: str) -> Run | None:
        for seen, _ in chosen.files:
            before = previous.get(seen.path)
            if before is not None and before.run is not None and before.run.key != key:
                state = Run.State.ARCHIVED if chosen.archived else Run.State.LIVE
                if before.run.state == state and before.run.mode == chosen.mode:
                    return before.run
        return None

    # --- what there is to tell about a run ---------------------------------------------------------------------------

    def _run_findings(self, chosen: Chosen, contents: Sequence[FileContent], counts: dict[str, Any]) -> None:
        for content in contents:
            for trouble in content.troubles:
                self.report.find(
                    trouble.severity, trouble.code, content.entry.path, trouble.message, trouble.line, trouble.offset
                )
        path = chosen.path
        if counts["extra"]:
            self.report.find(
                "warning", "extra_items", path, f"{counts['extra']} ids that the gold does not know: loaded, not scored"
            )
        if counts["missing"]:
            share = f"{counts['missing']} of {counts['expected_items']}"
            self.report.find("warning", "missing_items", path, f"{share} expected items have no row and count 0")
        if counts["duplicates_conflicting"]:
            text = f"{counts['duplicates_conflicting']} questions have several rows with different answers; the official mean is used"
            self.report.find("warning", "duplicates_conflicting", path, text)
        if counts["duplicates_same"]:
            self.report.find(
                "info",
                "duplicates_same",
                path,
                f"{counts['duplicates_same']} questions have several rows with the same answer",
            )

    def _notes(self, chosen: Chosen, results: Sequence[tuple[Any, Any]]) -> dict[str, str]:
        """Evaluators' notes as findings, one a kind; returns how rows spell tasks that the gold spells otherwise."""
        names: dict[str, str] = {}
        kinds: Counter[tuple[str, str]] = Counter()
        for _, result in results:
            for code, _, message in result.notes:
                kinds[code, message] += 1
        for (code, message), count in kinds.items():
            times = f"{count} rows: " if count > 1 else ""
            self.report.find("warning", code, chosen.path, times + message)
        for _, result in results:
            names.update(result.task_names)
        return names

    def _summary_files(self, selection: Selection, seen: Iterable[Seen]) -> dict[str, list[Seen]]:
        """Stored summaries by the path of the run they stand beside; one physical file counts once."""
        places = [
            (chosen.path, chosen.files[0][0].entry.physical, chosen.mode, chosen.model)
            for chosen in selection.chosen
            if not chosen.archived
        ]
        beside: dict[str, dict[str, Seen]] = {}
        for one in seen:
            if one.kind.name == "summary" and not one.entry.archived:
                path = summaries.belongs_to(one.path, one.entry.physical, places)
                if path is None:
                    continue
                files = beside.setdefault(path, {})
                # of several paths to one summary the one in the run's own folder is shown
                if one.entry.real not in files or posixpath.dirname(one.path) == posixpath.dirname(path):
                    files[one.entry.real] = one
        return {path: list(files.values()) for path, files in beside.items()}

    def _compare(
        self,
        chosen: Chosen,
        contents: Sequence[FileContent],
        results: Sequence[tuple[Any, Any]],
        task_names: dict[str, str],
    ) -> list[Comparison]:
        ours = summaries.overall_scores(row for _, result in results for row in result.aggregates)
        compared = []
        for content in contents:
            if content.about.get("summary"):
                compared.append(summaries.compare(content.entry.path, "liveclin", content.about["summary"], ours, {}))
        for one in self._beside.get(chosen.path, ()):
            try:
                document = documents.loads(documents.read_whole(one.entry.real))
            except (ValueError, OSError, RecursionError) as error:
                self.report.find("warning", "bad_json", one.path, f"the summary cannot be read: {error}")
                continue
            compared.append(summaries.compare(one.path, one.kind.about["form"], document, ours, task_names))
            self._fates[one.path] = ("summary", None)
        for summary in compared:
            if summary.agrees is False:
                name, theirs, mine = max(summary.rows, key=lambda row: abs(row[1] - row[2]))
                text = f"does not agree with the items: {name} {theirs:.4f} in the file, {mine:.4f} recomputed"
                self.report.find("warning", "stale_summary", summary.path, text)
        return compared

    def _tell(
        self,
        chosen: Chosen,
        contents: Sequence[FileContent],
        counts: dict[str, Any],
        key: str,
        model_name: str,
        state: str,
        compared: Sequence[Comparison],
        release: str,
    ) -> None:
        for number, content in enumerate(contents):
            own = counts if len(contents) == 1 else self._file_counts(chosen, content, counts)
            self.report.runs.append(
                _entry(
                    key=key,
                    chosen=chosen,
                    release=release,
                    model_name=model_name,
                    repeats=sorted({row.answer.repeat for row in content.rows}) or [1],
                    path=content.entry.path,
                    physical=content.entry.physical,
                    state=state,
                    counts=own,
                    compared=compared if number == 0 else [],
                )
            )

    def _file_counts(self, chosen: Chosen, content: FileContent, counts: dict[str, Any]) -> dict[str, Any]:
        """Counts of one file of a run that has several: rows of this file against the same expected items."""
        found = {row.answer.item for row in content.rows}
        same, conflicting = duplicate_counts(content.rows, BENCHMARKS[chosen.benchmark].comparable)
        release = self.options.release or chosen.release or BENCHMARKS[chosen.benchmark].default_release
        items = self._splits[chosen.benchmark, release, chosen.split].items
        expected = {item.key for item in items.specs if item.scored} if items else set()
        known = {item.key for item in items.specs} if items else set()
        own = {
            "rows": len(content.rows),
            "parsed": content.parsed,
            "malformed": content.malformed,
            "unique_items": len(found),
            "missing": len(expected - found),
            "extra": len(found - known),
            "duplicates_same": same,
            "duplicates_conflicting": conflicting,
        }
        counts.setdefault("files", {})[content.entry.path] = own
        return {**counts, **own}

    def _carry_over(self, run: Run, chosen: Chosen) -> None:
        """An unchanged run is told again with its stored counts, findings and summaries."""
        stored = [
            Comparison(s.path, s.form, [tuple(row) for row in s.rows], _tolerance(s.form))
            for s in run.summaries.order_by("pk")
        ]
        for number, file in enumerate(run.files.all()):
            self.report.runs.append(
                _entry(
                    key=run.key,
                    chosen=chosen,
                    release=run.split.release.name,
                    model_name=run.model_name,
                    repeats=file.repeats or [1],
                    path=file.path,
                    physical=file.physical,
                    state="archived" if chosen.archived else "unchanged",
                    counts={**run.counts, **run.counts.get("files", {}).get(file.path, {})},
                    compared=stored if number == 0 else [],
                )
            )
        for finding in run.findings.all():
            self.report.find(
                finding.severity, finding.code, finding.path, finding.message, finding.line, finding.offset
            )
        for one, _ in chosen.files:
            self._fates[one.path] = ("run", run.pk)
        for one in self._beside.get(chosen.path, ()):
            self._fates[one.path] = ("summary", None)

    # --- the end -----------------------------------------------------------------------------------------------------

    @transaction.atomic
    def _finish(self, selection: Selection, seen: Sequence[Seen]) -> None:
        for line, text in self.config.unused():
            self.report.find("warning", "config_unused", self.config.path, f"line {line}: {text} matches nothing")
        if not self.report.runs and not self.report.not_runs:
            raise CannotIngest(f"{self.root}: no results of a known form below this directory")
        self.report.close()
        self.report.runs.sort(key=lambda entry: entry["path"])
        self.report.not_runs.sort(key=lambda entry: entry.path)
        if self.pass_ is None:
            return
        self._store_files(selection, seen)
        self._store_findings()
        Pass.objects.filter(pk=self.pass_.pk).update(
            finished_at=timezone.now(),
            files_seen=self.report.files_seen,
            rows_read=self.report.rows_read,
            rows_loaded=self.report.rows_loaded,
        )

    def _store_files(self, selection: Selection, seen: Sequence[Seen]) -> None:
        assert self.source is not None
        rows = []
        for one in seen:
            fate, run_id = self._fates.get(one.path, (selection.refused.get(one.path) or one.kind.name, None))
            entry = one.entry
            rows.append(
                SourceFile(
                    source=self.source,
                    path=entry.path,
                    physical=entry.physical,
                    chain=[list(step) for step in entry.chain],
                    size=entry.size,
                    mtime_ns=entry.mtime_ns,
                    inode=_signed(entry.inode),
                    kind=one.kind.name,
                    about=one.kind.about,
                    fate=fate,
                    run_id=run_id,
                    last_pass=self.pass_,
                )
            )
        fields = ["physical", "chain", "size", "mtime_ns", "inode", "kind", "about", "fate", "run", "last_pass"]
        SourceFile.objects.bulk_create(
            rows, batch_size=200, update_conflicts=True, unique_fields=["source", "path"], update_fields=fields
        )

    def _store_findings(self) -> None:
        assert self.source is not None and self.pass_ is not None
        by_path = {path: run_id for path, (fate, run_id) in self._fates.items() if fate == "run"}
        # a summary's finding belongs to its run, so that it is told again while nothing changes
        for path, files in self._beside.items():
            by_path.update({one.path: by_path[path] for one in files if path in by_path})
        live = set(by_path.values())
        Finding.objects.filter(source=self.source).filter(run=None).delete()
        Finding.objects.filter(source=self.source, run_id__in=live).delete()
        Finding.objects.bulk_create(
            [
                Finding(
                    source=self.source,
                    last_pass=self.pass_,
                    run_id=by_path.get(note.path),
                    severity=note.severity,
                    code=note.code,
                    path=note.path,
                    line=note.line,
                    offset=note.offset,
                    message=printable(note.message),
                )
                for note in self.report.findings
            ],
            batch_size=500,
        )


def _entry(
    *,
    key: str,
    chosen: Chosen,
    release: str,
    model_name: str,
    repeats: list[int],
    path: str,
    physical: str,
    state: str,
    counts: dict[str, Any],
    compared: Sequence[Comparison],
) -> dict[str, Any]:
    """One documented entry of `runs`."""
    return {
        "id": key,
        "benchmark": chosen.benchmark,
        "release": release,
        "split": chosen.split,
        "mode": chosen.mode,
        "model": model_name,
        "model_known": counts["model_known"],
        "repeats": repeats,
        "path": path,
        "physical": physical,
        "state": state,
        **{
            name: counts[name]
            for name in (
                "rows",
                "parsed",
                "malformed",
                "recovered",
                "unique_items",
                "expected_items",
                "missing",
                "extra",
                "duplicates_same",
                "duplicates_conflicting",
                "rankable",
            )
        },
        "summaries": [
            {"path": s.path, "form": s.form, "agrees": s.agrees, "largest_difference": s.largest_difference}
            for s in compared
        ],
    }


def _same_stat(before: SourceFile, entry: Entry) -> bool:
    return (before.size, before.mtime_ns, before.inode, before.physical) == (
        entry.size,
        entry.mtime_ns,
        _signed(entry.inode),
        entry.physical,
    )


def _signed(inode: int) -> int:
    # inode numbers are unsigned 64-bit; the databases' integers are signed
    return inode - (1 << 64) if inode >= 1 << 63 else inode


def _stated(stated: Any) -> dict[str, Any]:
    """What the configuration says of a run, as it is stored to notice a change of it."""
    names = ("repeat", "shots", "conversation_kept", "model", "origin", "protocol")
    return {name: value for name in names if (value := getattr(stated, name)) not in (None, {}, "")}


def _tolerance(form: str) -> float:
    return summaries.FOUR_DECIMALS if form == "liveclin" else summaries.EXACT


def _evaluated(run: Run) -> bool:
    """Whether every current evaluator of the code has been applied to the run with the split's present gold."""
    wanted = {(e.name, e.fingerprint) for e in BENCHMARKS[run.split.release.benchmark.slug].evaluators}
    have = Evaluation.objects.filter(run=run, current=True, gold_fingerprint=run.split.fingerprint)
    return wanted <= set(have.values_list("evaluator__name", "evaluator__fingerprint"))
