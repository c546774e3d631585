"""One run after the other: is it unchanged? If not: read, count, score, compare, load, and tell."""

from __future__ import annotations

import datetime
import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.dateparse import parse_datetime

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.items import SplitItems
from evaluation.models import Evaluation, LanguageModel, ModelAlias, Run
from evaluation.protocols.base import Result
from evaluation.registry import find_model, known_model
from ingest import readers
from ingest.config import Stated
from ingest.context import Context
from ingest.load import evaluate, load_run, printable, run_key, store_evaluation, store_summaries
from ingest.models import StoredSummary
from ingest.readers.base import FileContent, duplicate_counts
from ingest.report import NotRun, run_entry
from ingest.scan import same_stat
from ingest.select import Chosen, Seen, Selection
from ingest.splits import ItemBook
from ingest.summaries import Comparison, Recomputed, Summaries, Summary, overall_scores

Results = list[tuple[Any, Result]]


@dataclass(slots=True)
class ReadRun:
    """A run as it was read, before anything of it is written."""

    chosen: Chosen
    stated: Stated
    contents: list[FileContent]
    items: SplitItems
    counts: dict[str, Any]
    results: Results = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)

    @property
    def spec(self) -> BenchmarkSpec:
        return BENCHMARKS[self.chosen.benchmark]

    @property
    def rows(self) -> list:
        """All rows in the order of their evaluation: recovered ones last."""
        rows = [row for content in self.contents for row in content.rows]
        return rows + [row for content in self.contents for row in content.recovered]

    @property
    def repeats(self) -> list[int]:
        return sorted({row.answer.repeat for row in self.rows}) or [1]


class RunLoader:
    """Loads what was selected. `fates` then says of each path what became of it: (`run` | `summary`, run's key or None)."""

    def __init__(
        self, context: Context, book: ItemBook, selection: Selection, seen: Sequence[Seen], beat: Callable[[], None]
    ) -> None:
        self.beat = beat
        self.context = context
        self.book = book
        self.selection = selection
        refused = {one.path for one in seen if one.kind.name in ("results", "array")} & selection.refused.keys()
        self.summaries = Summaries.of_tree(
            selection.chosen, seen, {posixpath.dirname(path) for path in refused}, self._remembered
        )
        self.fates: dict[str, tuple[str, int | None]] = {}
        self._done = 0
        self._total = sum(one.entry.size for chosen in selection.chosen for one, _ in chosen.files)

    def load_all(self) -> None:
        for path, why in self.summaries.homeless:
            self.context.report.find("warning", "summary_without_run", path, why)
        for chosen in self.selection.chosen:
            self.context.options.progress(self._done, self._total, chosen.path)
            self.beat()
            reason = self._one(chosen)
            if reason:
                for one, _ in chosen.files:
                    self.context.report.not_runs.append(NotRun(one.path, one.entry.physical, reason))
                    self.selection.refused[one.path] = reason
        self.context.options.progress(self._total, self._total, "")

    def _one(self, chosen: Chosen) -> str:
        """Load one run. Returns the reason why it became none, or nothing."""
        report = self.context.report
        release = self.context.options.release or chosen.release or BENCHMARKS[chosen.benchmark].default_release
        stated = self.context.config.stated(chosen.path)
        if stated.repeat is not None and len(chosen.files) == 1:
            chosen.files = [(chosen.files[0][0], stated.repeat)]
        old = self._unchanged(chosen, release, stated)
        if old is not None:
            self._done += sum(one.entry.size for one, _ in chosen.files)
            self._tell_again(old, chosen)
            return ""
        try:
            contents = [self._read(chosen, index) for index in range(len(chosen.files))]
        except OSError as error:
            report.find("error", "unreadable", chosen.path, f"cannot be read: {error.strerror or error}")
            return "unreadable"
        except (ValueError, RecursionError) as error:
            report.find("error", "bad_json", chosen.path, str(error))
            return "unknown_form"
        for content in contents:
            for trouble in content.troubles:
                where = content.entry.path, trouble.message, trouble.line, trouble.offset
                report.find(trouble.severity, trouble.code, *where)
        if not any(content.rows for content in contents):
            report.find("error", "no_rows", chosen.path, "not one row that could be loaded: the file is left alone")
            return "unknown_form"
        found = self.book.items(chosen, release, contents)
        if found.items is None:
            return found.reason
        run = ReadRun(chosen, stated, contents, found.items, _counts(chosen, contents, found.items, stated))
        self._findings(run)
        run.results = evaluate(run.spec, run.items, run.rows)
        run.counts["task_names"] = self._notes(run)
        run.compared = self._compare(run)
        self._load(run)
        return ""

    def _read(self, chosen: Chosen, index: int) -> FileContent:
        seen, repeat = chosen.files[index]

        def progress(count: int) -> None:
            self._done += count
            self.beat()
            self.context.options.progress(self._done, self._total, seen.path)

        read = readers.for_benchmark(chosen.benchmark)
        content = read(seen.entry, index, repeat, BENCHMARKS[chosen.benchmark].read, progress)
        self.context.report.rows_read += content.parsed
        return content

    def _unchanged(self, chosen: Chosen, release: str, stated: Stated) -> Run | None:
        """The run that these files already are, told by stat alone; None when anything could have changed."""
        runs = set()
        for seen, _ in chosen.files:
            run = self.context.run_at(seen.path)
            if run is None or not self._is_same(seen):
                return None
            runs.add(run)
        run = runs.pop() if len(runs) == 1 else None
        if run is None or run.state != (Run.State.ARCHIVED if chosen.archived else Run.State.LIVE):
            return None
        if run.files.count() != len(chosen.files) or run.counts.get("stated") != _as_counts(stated):
            return None
        split = run.split
        was = (split.release.benchmark.slug, split.release.name, split.name, run.mode)
        if was != (chosen.benchmark, release, chosen.split, chosen.mode):
            return None
        # LiveClin gold is told by the ids of the results, which only reading gives
        if self.book.has_gold_for(chosen.benchmark) and chosen.benchmark != "liveclin":
            items = self.book.items(chosen, release, None).items
            if items is None or items.split.pk != split.pk:
                return None
            run.split = items.split
        return run if _is_evaluated(run) and self._has_same_summaries(run, chosen) else None

    def _is_same(self, seen: Seen) -> bool:
        before = self.context.previous.get(seen.path)
        return before is not None and same_stat(before, seen.entry)

    def _has_same_summaries(self, run: Run, chosen: Chosen) -> bool:
        now = self.summaries.of(chosen)
        kept = set(run.summaries.values_list("path", flat=True)) - {seen.path for seen, _ in chosen.files}
        return kept == {one.path for one in now} and all(self._is_same(file) for one in now for file in one.files)

    def _remembered(self, summary: Summary, runs: Collection[Chosen]) -> Chosen | None:
        """What the last pass found, while neither the summary nor any run that it may be of has changed; else KeyError."""
        if not all(self._is_same(file) for file in (*summary.files, *(one for run in runs for one, _ in run.files))):
            raise KeyError(summary.path)
        known = {run.pk: chosen for chosen in runs if (run := self.context.run_at(chosen.path)) is not None}
        kept = StoredSummary.objects.filter(path=summary.path, run__in=known).first()
        return known[kept.run_id] if kept is not None else None

    # --- into the tables ---------------------------------------------------------------------------------------------

    def _load(self, run: ReadRun) -> None:
        chosen, items = run.chosen, run.items
        name = printable(run.stated.model or chosen.model)
        model, model_name, known = self._model(name)
        if not known:
            message = f"model {name!r} is not registered: kept under that exact name, merged with nothing"
            self.context.report.find("warning", "unregistered_model", chosen.path, message)
        run.counts["model_known"] = known
        if len(run.contents) > 1:
            run.counts["files"] = {
                content.entry.path: _file_counts(content, items, run.spec) for content in run.contents
            }
        hashes = [(sorted({row.answer.repeat for row in content.rows}), content.sha256) for content in run.contents]
        key = run_key(items.split, chosen.mode, model_name, hashes, chosen.archived)
        existing = Run.objects.filter(key=key).first()
        replaced = self._replaced(chosen, key)
        same = existing is not None and existing.state != Run.State.SUPERSEDED
        state = "archived" if chosen.archived else "unchanged" if same else "replaced" if replaced else "new"
        if model is not None:
            kept = self._keep(run, existing, replaced) if existing is not None else None
            if kept is None:
                kept = self._new_run(run, model, model_name, key, existing or replaced)
                self._write(kept, run, existing, replaced)
            for one, _ in chosen.files:
                self.fates[one.path] = ("run", kept.pk)
        self._tell(run, key, model_name, state)

    def _model(self, name: str) -> tuple[LanguageModel | None, str, bool]:
        if not self.context.options.dry_run:
            return find_model(name)
        return None, *known_model(name)[1:]

    def _keep(self, run: ReadRun, existing: Run, replaced: Run | None) -> Run | None:
        """The same bytes again: the run that is there, live again and evaluated; None when its items were made anew."""
        current = _is_evaluated(existing)
        if not current and existing.responses.exists() and not existing.responses.exclude(item=None).exists():
            return None
        with transaction.atomic():
            if not current:
                for evaluator, result in run.results:
                    store_evaluation(existing, run.items, run.rows, evaluator, result)
            if existing.state == Run.State.SUPERSEDED:
                existing.state, existing.superseded_by = Run.State.LIVE, None
            existing.counts = run.counts
            existing.save(update_fields=["state", "superseded_by", "counts"])
            if replaced is not None and replaced.pk != existing.pk:
                Run.objects.filter(pk=replaced.pk).update(state=Run.State.SUPERSEDED, superseded_by=existing)
            store_summaries(existing, run.compared)
        return existing

    @transaction.atomic
    def _write(self, new: Run, run: ReadRun, existing: Run | None, replaced: Run | None) -> None:
        if existing is not None:  # its items were made from scored files and are now made from gold
            existing.delete()
            replaced = None if replaced is not None and replaced.pk == existing.pk else replaced
        load_run(new, run.contents, run.rows, run.items, run.results, run.compared, replaced)
        self.context.report.rows_loaded += run.counts["rows"]

    def _new_run(self, run: ReadRun, model: LanguageModel, model_name: str, key: str, before: Run | None) -> Run:
        """The run to be written. Who may see it stays as it was `before`, unless the caller says otherwise."""
        options, chosen, stated = self.context.options, run.chosen, run.stated
        visibility = before.visibility if before else settings.CLINBOARD_DEFAULT_VISIBILITY
        told = [parse_datetime(str(content.about.get("finished_at") or "")) for content in run.contents]
        modified = max(content.entry.mtime_ns for content in run.contents) / 1e9
        latest = max((_aware(moment) for moment in told if moment), default=None)
        protocol = {
            name: value for content in run.contents for name, value in content.about.get("protocol", {}).items()
        }
        return Run(
            key=key,
            split=run.items.split,
            mode=chosen.mode,
            model=model,
            model_name=model_name,
            repeats=run.repeats,
            shots=stated.shots,
            conversation_kept=stated.conversation_kept,
            protocol={**protocol, **stated.protocol},
            origin=stated.origin or Run.Origin.OURS,
            state=Run.State.ARCHIVED if chosen.archived else Run.State.LIVE,
            visibility=options.visibility or visibility,
            owner=options.owner or (before.owner if before else None),
            team=options.team or (before.team if before else None),
            answered_at=latest or datetime.datetime.fromtimestamp(modified, datetime.UTC),
            why=chosen.why,
            counts=run.counts,
        )

    def _replaced(self, chosen: Chosen, key: str) -> Run | None:
        """The live run that was read from this path before, when it is another one."""
        state = Run.State.ARCHIVED if chosen.archived else Run.State.LIVE
        for seen, _ in chosen.files:
            before = self.context.run_at(seen.path)
            if before is not None and before.key != key and before.state == state:
                return before
        return None

    # --- what there is to tell ---------------------------------------------------------------------------------------

    def _findings(self, run: ReadRun) -> None:
        find, counts, path = self.context.report.find, run.counts, run.chosen.path
        self._provider_findings(run)
        if counts["extra"]:
            text = f"{counts['extra']} ids that the gold does not know: loaded, not scored"
            find("warning", "extra_items", path, text)
        if counts["missing"]:
            text = f"{counts['missing']} of {counts['expected_items']} expected items have no row and count 0"
            find("warning", "missing_items", path, text)
        if counts["duplicates_conflicting"]:
            text = f"{counts['duplicates_conflicting']} questions have several rows with different answers"
            find("warning", "duplicates_conflicting", path, text)
        if counts["duplicates_same"]:
            text = f"{counts['duplicates_same']} questions have several rows with the same answer"
            find("info", "duplicates_same", path, text)

    def _provider_findings(self, run: ReadRun) -> None:
        """What rows say about the provider's model against what the directory says."""
        ids = Counter(name for content in run.contents for name in content.provider_ids.elements())
        aliases = ModelAlias.objects.filter(name__in=[*ids, run.stated.model or run.chosen.model]).select_related(
            "model"
        )
        models = {alias.name: alias.model for alias in aliases}
        named = models.get(run.stated.model or run.chosen.model)
        for name, count in ids.items():
            told = models.get(name)
            if told is not None and told != named:
                text = f"{count} rows were answered by {name!r} ({told}), the directory says {run.chosen.model!r}"
                self.context.report.find("warning", "model_differs", run.chosen.path, text)
            elif told is None and named is not None:
                text = f"{count} rows name the provider id {name!r}, which is no alias of {named}"
                self.context.report.find("info", "unknown_provider_id", run.chosen.path, text)

    def _notes(self, run: ReadRun) -> dict[str, str]:
        """Evaluators' notes as findings, one a kind; returns how rows spell tasks that the gold spells otherwise."""
        kinds = Counter((code, message) for _, result in run.results for code, _, message in result.notes)
        for (code, message), count in kinds.items():
            times = f"{count} rows: " if count > 1 else ""
            self.context.report.find("warning", code, run.chosen.path, times + message)
        return {row: gold for _, result in run.results for row, gold in result.task_names.items()}

    def _compare(self, run: ReadRun) -> list[Comparison]:
        ours = Recomputed(
            run.chosen.benchmark,
            overall_scores(row for _, result in run.results for row in result.aggregates),
            [row.answer for row in run.rows if not row.recovered],
            [row.answer for row in run.rows if row.recovered],
            {spec.key: spec.gold for spec in run.items.specs},
            run.counts["task_names"],
        )
        compared = self.summaries.compare(run.chosen, run.contents, ours)
        for summary in compared:
            for trouble in summary.troubles:
                self.context.report.find(trouble.severity, trouble.code, summary.path, trouble.message)
            if summary.agrees is False:
                self.context.report.find("warning", "stale_summary", summary.path, summary.disagreement)
        self._note_summaries(run.chosen)
        return compared

    def _note_summaries(self, chosen: Chosen) -> None:
        for one in self.summaries.of(chosen):
            if not one.seen.entry.archived:
                self.fates[one.path] = ("summary", None)

    def _tell(self, run: ReadRun, key: str, model_name: str, state: str) -> None:
        for number, content in enumerate(run.contents):
            own = run.counts.get("files", {}).get(content.entry.path, {})
            self.context.report.runs.append(
                run_entry(
                    key=key,
                    chosen=run.chosen,
                    release=run.items.split.release.name,
                    model_name=model_name,
                    repeats=sorted({row.answer.repeat for row in content.rows}) or [1],
                    path=content.entry.path,
                    physical=content.entry.physical,
                    state=state,
                    counts={**run.counts, **own},
                    compared=[] if number else run.compared,
                )
            )

    def _tell_again(self, run: Run, chosen: Chosen) -> None:
        """An unchanged run is told with its stored counts, findings and summaries."""
        stored = list(run.summaries.all())
        for number, file in enumerate(run.files.all()):
            self.context.report.runs.append(
                run_entry(
                    key=run.key,
                    chosen=chosen,
                    release=run.split.release.name,
                    model_name=run.model_name,
                    repeats=file.repeats or [1],
                    path=file.path,
                    physical=file.physical,
                    state="archived" if chosen.archived else "unchanged",
                    counts={**run.counts, **run.counts.get("files", {}).get(file.path, {})},
                    compared=[] if number else stored,
                )
            )
        for kept in run.findings.filter(source=self.context.source):
            self.context.report.find(kept.severity, kept.code, kept.path, kept.message, kept.line, kept.offset)
        for one, _ in chosen.files:
            self.fates[one.path] = ("run", run.pk)
        self._note_summaries(chosen)


def _counts(chosen: Chosen, contents: Sequence[FileContent], items: SplitItems, stated: Stated) -> dict[str, Any]:
    """The documented counts of a run, over all its files."""
    spec = BENCHMARKS[chosen.benchmark]
    whole = FileContent(contents[0].entry, [row for content in contents for row in content.rows])
    whole.recovered = [row for content in contents for row in content.recovered]
    whole.parsed = sum(content.parsed for content in contents)
    whole.malformed = sum(content.malformed for content in contents)
    return {
        **_file_counts(whole, items, spec),
        "expected_items": sum(item.scored for item in items.specs),
        "rankable": items.split.rankable,
        "stated": _as_counts(stated),
    }


def _file_counts(content: FileContent, items: SplitItems, spec: BenchmarkSpec) -> dict[str, int]:
    found = {row.answer.item for row in content.rows}
    same, conflicting = duplicate_counts(content.rows, spec.comparable)
    return {
        "rows": len(content.rows),
        "parsed": content.parsed,
        "malformed": content.malformed,
        "recovered": len(content.recovered),
        "unique_items": len(found),
        "missing": sum(item.scored and item.key not in found for item in items.specs),
        "extra": len(found - items.ids.keys()),
        "duplicates_same": same,
        "duplicates_conflicting": conflicting,
    }


def _as_counts(stated: Stated) -> dict[str, Any]:
    """What the configuration says of a run, as it is kept to notice when it says something else."""
    names = ("repeat", "shots", "conversation_kept", "model", "origin", "protocol")
    return {name: value for name in names if (value := getattr(stated, name)) not in (None, {}, "")}


def _aware(moment: datetime.datetime) -> datetime.datetime:
    # a time without a zone is read as UTC, as the writers of these files mean it
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _is_evaluated(run: Run) -> bool:
    """Whether every evaluator of the code, as it is now, has been applied to the run with the split's present gold."""
    wanted = {(e.name, e.fingerprint) for e in BENCHMARKS[run.split.release.benchmark.slug].evaluators}
    have = Evaluation.objects.filter(run=run, current=True, gold_fingerprint=run.split.fingerprint)
    return wanted <= set(have.values_list("evaluator__name", "evaluator__fingerprint"))
