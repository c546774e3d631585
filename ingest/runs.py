"""One run after the other: is it unchanged? If not: read, count, score, compare, load, and tell."""

from __future__ import annotations

import datetime
import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.dateparse import parse_datetime

from evaluation.benchmarks import BENCHMARKS, BenchmarkSpec
from evaluation.items import SplitItems
from evaluation.models import LanguageModel, ModelAlias, Run
from evaluation.protocols.base import Answers, Result, joined
from evaluation.registry import find_model, known_model
from evaluation.signals import run_loaded
from ingest import readers
from ingest.config import Stated
from ingest.context import Context
from ingest.effort import Effort
from ingest.load import due, evaluate, load_run, mark, marks, run_key, store_evaluation, store_summaries
from ingest.models import SourceFile, StoredSummary
from ingest.readers.base import FileContent, duplicate_counts, printable
from ingest.report import FindingNote, NotRun, run_entry
from ingest.scan import same_stat
from ingest.select import Chosen, Seen, Selection
from ingest.signs import Signs
from ingest.splits import ItemBook
from ingest.summaries import Comparison, Recomputed, Summaries, Summary, mm, overall_scores

Results = list[tuple[Any, Result]]
# Every repeat has scores and intervals of its own; no study repeats a run so often.
MOST_REPEATS = 100


@dataclass
class ReadRun:
    """A run as it was read, before anything of it is written."""

    chosen: Chosen
    stated: Stated
    contents: list[FileContent]
    items: SplitItems
    counts: dict[str, Any] = field(default_factory=dict)
    results: Results = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)
    stored: Results = field(default_factory=list)

    @property
    def spec(self) -> BenchmarkSpec:
        return BENCHMARKS[self.chosen.benchmark]

    @cached_property
    def answers(self) -> Answers:
        """Those of all files, in their order."""
        return joined([content.rows.answers for content in self.contents])

    @cached_property
    def recovered(self) -> Answers:
        return joined([content.recovered.answers for content in self.contents])

    @property
    def repeats(self) -> list[int]:
        return sorted({*self.answers.repeats, *self.recovered.repeats}) or [1]


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
        self.noted: set[str] = set()
        # where the dataset is missing, the items come from all scored files together
        previous = context.previous
        self._all_scored_files_unchanged = all(
            one.path in previous and same_stat(previous[one.path], one.entry) for one in book.scored_files
        )
        self._done = 0
        self._total = sum(one.entry.size for chosen in selection.chosen for one, _ in chosen.files)

    def load_all(self) -> None:
        for path, why in self.summaries.homeless:
            self.context.report.find("warning", "summary_without_run", path, why)
        # one split after the other: what is kept of a split is kept once
        for chosen in sorted(self.selection.chosen, key=lambda run: (run.benchmark, run.release or "", run.split)):
            self.context.options.progress(self._done, self._total, chosen.path)
            self.beat()
            reason = self._one(chosen)
            if reason:
                for one, _ in chosen.files:
                    self.selection.refuse(one.path, reason)
                    why = self.selection.why(one.path)
                    self.context.report.not_runs.append(NotRun(one.path, one.entry.physical, reason, why))
        self.context.options.progress(self._total, self._total, "")

    def _one(self, chosen: Chosen) -> str:
        """Load one run. Returns the reason why it became none, or nothing."""
        report = self.context.report
        release = self.context.options.release or chosen.release or BENCHMARKS[chosen.benchmark].default_release
        stated = self.context.config.stated(chosen.path)
        chosen.why = "; ".join([chosen.why, *self._named(stated)])
        if stated.repeat is not None and len(chosen.files) == 1:
            chosen.files = [(chosen.files[0][0], stated.repeat)]
        old = self._unchanged(chosen, release, stated)
        if old is not None:
            self._done += sum(one.entry.size for one, _ in chosen.files)
            self._tell_again(old, chosen, stated)
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
        repeats = len({repeat for content in contents for repeat in content.rows.answers.repeats})
        if repeats > MOST_REPEATS:
            text = (
                f"the rows carry {repeats} different values of run_index: is that a number of rows? Nothing was loaded"
            )
            report.find("error", "too_many_repeats", chosen.path, text)
            return "unknown_form"
        found = self.book.items(chosen, release, contents)
        if found.items is None:
            return found.reason
        run = ReadRun(chosen, stated, contents, found.items)
        run.counts = _counts(run)
        self._findings(run)
        run.results = evaluate(run.spec.evaluators, run.items, run.answers, run.recovered)
        run.counts["task_names"] = self._notes(run)
        self._signs(run)
        run.compared = self._compare(run)
        run.stored = _by_stored_verdicts(run)
        self._load(run)
        return ""

    def _named(self, stated: Stated) -> list[str]:
        """Where the configuration says whose run it is, or which repeat: that decides, too."""
        return [
            f"{self.context.config_name} line {stated.lines[name]}: {name} {value}"
            for name, value in (("repeat", stated.repeat), ("model", stated.model))
            if value is not None
        ]

    def _read(self, chosen: Chosen, index: int) -> FileContent:
        seen, repeat = chosen.files[index]

        def progress(size: int, rows: int) -> None:
            self._done += size
            self.context.report.rows_read += rows
            self.beat()
            self.context.options.progress(self._done, self._total, seen.path)

        read = readers.for_benchmark(chosen.benchmark)
        return read(seen.entry, repeat, BENCHMARKS[chosen.benchmark].read, progress)

    def _unchanged(self, chosen: Chosen, release: str, stated: Stated) -> Run | None:
        """The run that these files already are, told by stat alone; None when anything could have changed."""
        runs = set()
        for seen, _ in chosen.files:
            before, run = self.context.previous.get(seen.path), self.context.run_at(seen.path)
            if before is None or run is None or before.fate != "run" or not self._is_same(seen):
                return None
            runs.add(run)
        run = runs.pop() if len(runs) == 1 else None
        if run is None or run.state != (Run.State.ARCHIVED if chosen.archived else Run.State.LIVE):
            return None
        if len(run.files.all()) != len(chosen.files) or _values(run.stated) != _said(stated):
            return None
        split = run.split
        was = (split.release.benchmark.slug, split.release.name, split.name, run.mode)
        if was != (chosen.benchmark, release, chosen.split, chosen.mode):
            return None
        if split.gold_missing and not self._all_scored_files_unchanged:
            return None
        if self.book.has_gold_for(chosen.benchmark):
            items = self.book.items(chosen, release, None).items
            if items is None or items.split.pk != split.pk:
                return None
            run.split = items.split
        else:
            self.book.label(split)
        now = not due(run) and not self._stored_is_due(run, chosen)
        return run if now and self._has_same_summaries(run, chosen) else None

    def _stored_is_due(self, run: Run, chosen: Chosen) -> bool:
        """Whether scored rows lie beside the run that the evaluator of now has not counted against the gold of now."""
        stored = BENCHMARKS[chosen.benchmark].stored_evaluator
        rows = any(one.rows for one in self.summaries.of(chosen) if one.form.removesuffix(mm.MARKDOWN_ONLY) in mm.FORMS)
        return stored is not None and rows and mark(run, stored)[:-1] not in [mark[:-1] for mark in marks(run)]

    def _is_same(self, seen: Seen) -> bool:
        before = self.context.previous.get(seen.path)
        return before is not None and same_stat(before, seen.entry)

    def _has_same_summaries(self, run: Run, chosen: Chosen) -> bool:
        now = self.summaries.of(chosen)
        kept = {summary.path for summary in run.summaries.all()} - {seen.path for seen, _ in chosen.files}
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
                content.entry.path: _file_counts(run, [content], content.rows.answers) for content in run.contents
            }
        hashes = [(content.rows.answers.repeats, content.sha256) for content in run.contents]
        key = run_key(items.split, chosen.mode, model_name, hashes, chosen.archived)
        existing = Run.objects.filter(key=key).first()
        replaced = self._replaced(chosen, key)
        same = existing is not None and existing.state != Run.State.SUPERSEDED
        state = "archived" if chosen.archived else "unchanged" if same else "replaced" if replaced else "new"
        loaded = 0
        if model is not None:
            with transaction.atomic():
                if existing is not None:
                    self._keep(run, existing, replaced)
                else:
                    existing = self._new_run(run, model, model_name, key, replaced)
                    load_run(existing, run.contents, items, [*run.results, *run.stored], run.compared, replaced)
                    loaded = run.counts["rows"]
                self._note_files(chosen, existing)
            self.context.report.rows_loaded += loaded
            for one, _ in chosen.files:
                self.fates[one.path] = ("run", existing.pk)
        self._tell(run, key, model_name, state)

    def _note_files(self, chosen: Chosen, run: Run) -> None:
        """Which run the files became, in one transaction with it: should the process die before the end, the next ingest
        knows what to replace. Without their times the files are read again, so that nothing is left untold.
        """
        files = [
            SourceFile(
                source=self.context.source, path=one.path, physical=one.entry.physical, fate="run", run=run, mtime_ns=-1
            )
            for one, _ in chosen.files
        ]
        SourceFile.objects.bulk_create(
            files, update_conflicts=True, unique_fields=["source", "path"], update_fields=["fate", "run", "mtime_ns"]
        )
        self.noted.update(one.path for one, _ in chosen.files)

    def _model(self, name: str) -> tuple[LanguageModel | None, str, bool]:
        if not self.context.options.dry_run:
            return find_model(name)
        _, canonical, known = known_model(name)
        return None, canonical, known or name in self.context.friendly_names

    def _told(self, run: ReadRun) -> dict[str, Any]:
        """The fields of a run that its file and the configuration tell and that are no part of its identity."""
        found = [content.about.get("protocol", {}) for content in run.contents]
        return {
            "shots": run.stated.shots,
            "conversation_kept": run.stated.conversation_kept,
            "protocol": {name: value for about in (*found, run.stated.protocol) for name, value in about.items()},
            "origin": run.stated.origin or Run.Origin.OURS,
            "why": run.chosen.why,
            "stated": stated_of(self.context, run.stated),
        }

    @transaction.atomic
    def _keep(self, run: ReadRun, existing: Run, replaced: Run | None) -> None:
        """The same bytes again: the run that is there becomes live again, and is evaluated with the gold of now."""
        wanted = due(existing)
        for evaluator, result in run.results:
            if evaluator in wanted:
                store_evaluation(existing, run.items, run.contents, evaluator, result)
        kept = marks(existing)
        for evaluator, result in run.stored:
            if mark(existing, evaluator) not in kept:
                store_evaluation(existing, run.items, run.contents, evaluator, result)
        if run.spec.stored_evaluator and not run.stored:
            existing.evaluations.filter(evaluator__name=run.spec.stored_evaluator.name).update(current=False)
        if existing.state == Run.State.SUPERSEDED:
            existing.state, existing.superseded_by = Run.State.LIVE, None
        existing.counts = run.counts
        for name, value in self._told(run).items():
            setattr(existing, name, value)
        existing.save()
        if replaced is not None and replaced.pk != existing.pk:
            Run.objects.filter(pk=replaced.pk).update(state=Run.State.SUPERSEDED, superseded_by=existing)
        store_summaries(existing, run.compared)
        run_loaded.send(sender=Run, run=existing)

    def _new_run(self, run: ReadRun, model: LanguageModel, model_name: str, key: str, before: Run | None) -> Run:
        """The run to be written. Who may see it stays as it was `before`, unless the caller says otherwise."""
        options, chosen = self.context.options, run.chosen
        visibility = before.visibility if before else settings.CLINBOARD_DEFAULT_VISIBILITY
        told = [_moment(content.about.get("finished_at")) for content in run.contents]
        modified = max(content.entry.mtime_ns for content in run.contents) / 1e9
        latest = max((moment for moment in told if moment), default=None)
        return Run(
            key=key,
            split=run.items.split,
            mode=chosen.mode,
            model=model,
            model_name=model_name,
            repeats=run.repeats,
            state=Run.State.ARCHIVED if chosen.archived else Run.State.LIVE,
            visibility=options.visibility or visibility,
            owner=options.owner or (before.owner if before else None),
            team=options.team or (before.team if before else None),
            answered_at=latest or datetime.datetime.fromtimestamp(modified, datetime.UTC),
            counts=run.counts,
            **self._told(run),
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
        ids: Counter[str] = Counter()
        for content in run.contents:
            for name, count in content.provider_ids.items():
                ids[printable(name)] += count
        directory = printable(run.stated.model or run.chosen.model)
        aliases = ModelAlias.objects.filter(name__in=[*ids, directory]).select_related("model")
        models = {alias.name: alias.model for alias in aliases}
        named = models.get(directory)
        for name, count in ids.items():
            told = models.get(name)
            if told is not None and told != named:
                text = f"{count} rows were answered by {name!r} ({told}), the directory says {directory!r}"
                self.context.report.find("warning", "model_differs", run.chosen.path, text)
            elif told is None and named is not None:
                text = f"{count} rows name the provider id {name!r}, which is no alias of {named}"
                self.context.report.find("info", "unknown_provider_id", run.chosen.path, text)

    def _notes(self, run: ReadRun) -> dict[str, str]:
        """Evaluators' notes as findings, one a kind; returns how rows spell tasks that the gold spells otherwise."""
        kinds: Counter[tuple[str, str]] = Counter()
        for _, result in run.results:  # what several evaluators note is told once
            kinds |= Counter((code, message) for code, _, message in result.notes)
        for (code, message), count in kinds.items():
            times = f"{count} rows: " if count > 1 else ""
            self.context.report.find("warning", code, run.chosen.path, times + message)
        return {printable(row): gold for _, result in run.results for row, gold in result.task_names.items()}

    def _signs(self, run: ReadRun) -> None:
        """Signs of trouble in the rows of all files together, one finding a kind."""
        signs = sum((content.signs for content in run.contents), Signs())
        found = set(run.answers.ids)
        for severity, code, message in signs.findings(
            run.chosen.mode, run.items.specs, found, run.counts["task_names"]
        ):
            self.context.report.find(severity, code, run.chosen.path, message)

    def _compare(self, run: ReadRun) -> list[Comparison]:
        ours = Recomputed(
            run.chosen.benchmark,
            overall_scores(row for _, result in run.results[:1] for row in result.aggregates),
            run.answers,
            run.recovered,
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
                    repeats=content.rows.answers.repeats or [1],
                    path=content.entry.path,
                    physical=content.entry.physical,
                    state=state,
                    counts={**run.counts, **own},
                    stated=stated_of(self.context, run.stated),
                    compared=[] if number else run.compared,
                )
            )

    @cached_property
    def _known_runs(self) -> set[int]:
        """Runs of the tree whose model is registered by now: a name stated in this very pass counts too."""
        runs = Run.objects.filter(pk__in=self.context.runs, model__registered=True)
        return set(runs.values_list("pk", flat=True))

    def _tell_again(self, run: Run, chosen: Chosen, stated: Stated) -> None:
        """An unchanged run is told with its stored counts, findings and summaries.

        Its model may be known by now, and the words for it may be new.
        """
        words: dict[str, Any] = {"why": chosen.why, "stated": stated_of(self.context, stated)}
        if words != {"why": run.why, "stated": run.stated} and not self.context.options.dry_run:
            Run.objects.filter(pk=run.pk).update(**words)
        known = run.pk in self._known_runs
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
                    counts={**run.counts, "model_known": known, **run.counts.get("files", {}).get(file.path, {})},
                    stated=words["stated"],
                    compared=[] if number else stored,
                )
            )
        for kept in run.findings.all():  # of this source: see Context.recall
            if not (known and kept.code == "unregistered_model"):
                note = FindingNote(kept.severity, kept.code, kept.path, kept.message, kept.line, kept.offset)
                self.context.report.findings.append(note)
        for one, _ in chosen.files:
            self.fates[one.path] = ("run", run.pk)
        self._note_summaries(chosen)


def _counts(run: ReadRun) -> dict[str, Any]:
    """The documented counts of a run, over all its files."""
    return {
        **_file_counts(run, run.contents, run.answers),
        "expected_items": sum(item.scored for item in run.items.specs),
        "rankable": run.items.split.rankable,
        **({"effort": effort} if (effort := sum((c.effort for c in run.contents), Effort()).as_counts()) else {}),
    }


def _file_counts(run: ReadRun, contents: Sequence[FileContent], answers: Answers) -> dict[str, int]:
    found = set(answers.ids)
    same, conflicting = duplicate_counts(answers, run.spec.comparable)
    return {
        "rows": len(answers),
        "parsed": sum(content.parsed for content in contents),
        "malformed": sum(content.malformed for content in contents),
        "recovered": sum(len(content.recovered) for content in contents),
        "unique_items": len(found),
        "missing": sum(item.scored and item.key not in found for item in run.items.specs),
        "extra": len(found - run.items.ids.keys()),
        "duplicates_same": same,
        "duplicates_conflicting": conflicting,
    }


def stated_of(context: Context, stated: Stated) -> dict[str, Any]:
    """What the configuration says of a run, with the file and the line of each field; empty where it says nothing."""
    said = {name: {"value": value, "line": stated.lines[name]} for name, value in _said(stated).items()}
    return {"file": context.config_name, "sha256": context.config.sha256, "fields": said} if said else {}


def _said(stated: Stated) -> dict[str, Any]:
    names = ("repeat", "model", "shots", "conversation_kept", "origin")
    own = {name: value for name in names if (value := getattr(stated, name)) is not None}
    return own | stated.protocol


def _values(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: said["value"] for name, said in stored.get("fields", {}).items()}


def _moment(told: Any) -> datetime.datetime | None:
    """A time as a file tells it, None when it is none. One without a zone is UTC, as the writers of these files mean it."""
    try:
        moment = parse_datetime(str(told))
        return moment and moment.replace(tzinfo=moment.tzinfo or datetime.UTC).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _by_stored_verdicts(run: ReadRun) -> Results:
    """The figures that a scorer's rows beside the run give, where there are any."""
    stored, scored = run.spec.stored_evaluator, mm.newest_form(run.compared)
    if stored is None or scored is None:
        return []
    evaluator = stored.over(scored.rows, scored.basis)
    answers = joined([run.answers, run.recovered])
    return [(evaluator, evaluator.evaluate(run.items.specs, answers, run.items.split.fingerprint))]
