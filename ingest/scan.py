"""The first steps of the road: walk, classify, find gold, select."""

from __future__ import annotations

import functools
import posixpath
import unicodedata
from collections.abc import Hashable, Iterable

from evaluation.models import ModelAlias
from evaluation.registry import register_model
from ingest.classify import Kind, classify
from ingest.context import CannotIngest, Context, Known
from ingest.gold import GoldFile, given_gold, gold_file
from ingest.readers.base import printable
from ingest.report import NotRun
from ingest.select import Seen, Selection, Told, select
from ingest.walk import Entry, Fault, walk


def look(context: Context) -> list[Seen]:
    """Every file of the tree with its kind; faults go to the report. An unchanged file keeps the kind it had."""
    found = []
    kinds: dict[tuple[str, str], Kind] = {}  # a name breaks ties, so a link's name is asked for itself
    for entry in walk(context.root, context.options.allow_outside):
        if isinstance(entry, Fault):
            _fault(context, entry)
            continue
        context.report.files_seen += 1
        context.options.looked(entry.path)
        key = entry.real, posixpath.basename(entry.path)
        if key not in kinds:
            kind = _kind(context, entry)
            if kind is None:
                continue
            kinds[key] = kind
        found.append(Seen(entry, kinds[key], str(context.root)))
    for path, twin in twins(entry.path for entry in found):
        text = f"the name differs only in case or Unicode form from {twin}: both are kept, some disks would lose one"
        context.report.find("warning", "twin_names", path, text)
    operational = {posixpath.dirname(seen.entry.physical) for seen in found if seen.kind.name == "operational"}
    for seen in found:
        if seen.kind.name == "summary_text" and posixpath.dirname(seen.entry.physical) in operational:
            seen.kind = Kind("operational")
    return found


def twins(paths: Iterable[str]) -> list[tuple[str, str]]:
    """(path, earlier path) of files and directories in one directory whose names are one on some disks."""
    known = set(paths)
    todo = known
    while todo := {path.rpartition("/")[0] for path in todo} - known:
        known |= todo
    if len(set(map(_folded, known))) == len(known):
        return []
    first: dict[tuple[str, str], str] = {}
    found = []
    for path in sorted(known):
        folder, _, name = path.rpartition("/")
        key = folder, _folded(name)
        if first.setdefault(key, path) != path:
            found.append((path, first[key]))
    return found


def _folded(name: str) -> str:
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def _kind(context: Context, entry: Entry) -> Kind | None:
    before = context.previous.get(entry.path)
    # what was unknown is looked at again: a newer version may know it
    if before is not None and before.kind not in ("", "unknown") and same_stat(before, entry):
        return Kind(before.kind, before.about)
    try:
        return classify(entry)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        _fault(context, Fault(entry.path, entry.physical, "unreadable", message, entry.chain, entry.archived))
    return None


def _fault(context: Context, fault: Fault) -> None:
    context.faults.append(fault)
    reason = "archived" if fault.archived else fault.reason
    context.report.not_runs.append(NotRun(fault.path, fault.physical, reason, fault.message))
    severity = "error" if fault.reason in ("unreadable", "outside_root") else "warning"
    if not fault.archived:
        context.report.find(severity, fault.reason, fault.path, fault.message)


def gold_files(context: Context, seen: Iterable[Seen]) -> list[GoldFile]:
    """Gold that was named, then gold that lies in the tree. CannotIngest when named gold cannot be read."""
    files = []
    for release, path in context.options.gold:
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


def register_models(context: Context) -> None:
    """Models and aliases that the configuration states; names that are met already join the model stated."""
    if context.options.dry_run:
        return
    for facts in context.config.models:
        aliases = [("directory", alias) for alias in facts.aliases]
        model = register_model(
            facts.name,
            aliases=aliases,
            why=f"{context.config_name} line {facts.line}",
            **{name: value for name, value in facts.facts.items() if name != "predecessor"},
        )
        if (before := facts.facts.get("predecessor")) and model.predecessor is None:
            model.predecessor = register_model(before, registered=False)
            model.save(update_fields=["predecessor"])
        for other in ModelAlias.objects.filter(name__in=facts.aliases).exclude(model=model).select_related("model"):
            text = f"line {facts.line}: {other.name!r} is a name of {other.model} already; staff can merge the two"
            context.report.find("warning", "alias_taken", context.config_name, text)


def choose(context: Context, seen: list[Seen]) -> Selection:
    """Select the runs; every refused file, undecided claim and override goes to the report."""
    data = [one.path for one in seen if one.kind.name in ("results", "liveclin", "llmeval")]
    left_out = {path: told for path in data if (told := context.config.left_out(path)) is not None}
    selection = select(
        [one for one in seen if one.path not in left_out],
        include_archived=context.options.include_archived,
        told=_told(context),
    )
    for path, (why, line) in left_out.items():
        text = f"left out by {context.config_name} line {line}: {why}"
        selection.refuse(path, "override", text)
        context.report.find("info", "override", path, text)
    for path, message in selection.undecided:
        context.report.find("error", "undecided", path, message)
    entries = {one.path: one for one in seen}
    for path, reason in sorted(selection.refused.items()):
        one = entries[path]
        if reason == "unknown_form":
            text = one.kind.about.get("message", "")
            text = "a Git LFS pointer, not the file itself: fetch it first" if one.kind.name == "lfs_pointer" else text
            selection.refuse(path, reason, text)
            context.report.find("warning", "unknown_form", path, selection.why(path))
        context.report.not_runs.append(NotRun(path, one.entry.physical, reason, selection.why(path)))
    return selection


def _told(context: Context) -> Told:
    """What aliases and configuration say of the files that claim to be runs."""
    config, friendly = context.config, context.friendly_names

    @functools.cache
    def aliases() -> dict[str, int]:
        return dict(ModelAlias.objects.values_list("name", "model_id"))

    def identity(name: str) -> Hashable:
        name = friendly.get(name, name)
        return aliases().get(printable(name), name)

    def wins(path: str) -> str:
        told = config.wins(path)
        return f"{context.config_name} line {told[1]}: {told[0]}" if told else ""

    return Told(
        wins=wins,
        model=lambda path, name: identity(config.stated(path).model or name),
        repeat=lambda path: config.stated(path).repeat,
        release=context.options.release,
    )


def same_stat(before: Known, entry: Entry) -> bool:
    """Whether a file is what it was, as far as its place, size, time and inode tell."""
    return (before.size, before.mtime_ns, before.inode, before.physical) == (
        entry.size,
        entry.mtime_ns,
        signed(entry.inode),
        entry.physical,
    )


def signed(inode: int) -> int:
    """Inode numbers are unsigned 64-bit; the databases' integers are signed."""
    return inode - (1 << 64) if inode >= 1 << 63 else inode
