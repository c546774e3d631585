"""Which files a tree holds, and by which ways each of them is reached.

Links are never followed blindly: every one is resolved step by step, so that what it passes through is known, and
ends as a file, as a directory that is walked under this logical path too, or as a `Fault`. A file reached by several
paths comes out once a path; `real`, or (`device`, `inode`), tells that it is the same one.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from stat import S_ISDIR, S_ISLNK, S_ISREG

ARCHIVE = "_archive"
SKIPPED = frozenset({".git", "__pycache__", ".venv"})
MAX_STEPS = 40
MAX_PATHS = 32
MAX_TEXT_LINK = 4096
# Files that are surely data are not opened here. Everything else that is small is: model directories are called
# `Claude-Opus-4.6`, so a dot in a name does not make an ending.
_SUFFIXES = """
.json .jsonl .ndjson .txt .md .rst .log .out .err .csv .tsv .gz .zst .xz .bz2 .zip .tar .tgz .yaml .yml .toml .ini .cfg
.conf .lock .tmp .bak .parquet .arrow .feather .npy .npz .pkl .pt .bin .safetensors .sqlite .sqlite3 .db .xlsx .xls .pdf
.tex .bib .html .htm .css .js .xml .svg .png .jpg .jpeg .gif .webp .dcm .py .pyc .ipynb .sh
"""
DATA_SUFFIXES = frozenset(_SUFFIXES.split())

Chain = tuple[tuple[str, str], ...]


# Not frozen: a frozen dataclass takes 1 us longer to make, a quarter of the time of the whole walk.
@dataclass(slots=True, unsafe_hash=True)
class Entry:
    """A regular file reached by one logical path.

    `path` and `physical` are relative to the root and "/"-separated; bytes of a name that are not UTF-8 show as
    `\\xNN`. `real` is absolute and exact: open that.
    """

    path: str
    physical: str  # where the file really lies; begins with "../" when that is outside the root
    real: str
    chain: Chain  # every link followed, in order: (where the link lies, relative to the root; its target as written)
    archived: bool  # `_archive` is a component of the logical path, of a step on the way or of the physical path
    outside: bool  # lies outside the root, then below an allowed directory
    size: int  # bytes
    mtime_ns: int
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A path through which nothing is reached."""

    path: str
    physical: str  # the target as far as it can be named
    reason: str  # "loop", "dangling_link", "link_as_text", "outside_root" or "unreadable"
    message: str  # for a person: what is wrong and what to do
    chain: Chain
    archived: bool


def walk(root: str | os.PathLike[str], allow_outside: Sequence[str | os.PathLike[str]] = ()) -> Iterator[Entry | Fault]:
    """Every path to a regular file below `root`, and every path that leads to nothing: depth first, sorted by name.

    Links that leave the root are followed only to below a directory of `allow_outside`. A directory that more than
    `MAX_PATHS` paths of links lead to is walked that often, and the rest is told in one fault at the end: links that
    fork and meet again at every level make more paths than there is time. Sockets, pipes and devices are passed over
    unopened, and so are the directories `SKIPPED`.

    Raises FileNotFoundError or NotADirectoryError, at the call, when `root` is no directory.
    """
    real = os.path.realpath(root, strict=True)
    if not os.path.isdir(real):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(root))
    return _Walk(real, [os.path.realpath(directory) for directory in allow_outside]).files()


@dataclass(slots=True)
class _Directory:
    """A directory under one logical path. The three names are ready to have a file's name added: "" or "a/b/"."""

    path: str
    physical: str
    real: str
    chain: Chain
    archived: bool
    outside: bool


@dataclass(slots=True)
class _Route:
    """What a resolution has passed through."""

    chain: list[tuple[str, str]]
    archived: bool


class _Broken(Exception):
    """A resolution that ended at nothing, `where` being the last real path that can be named."""

    def __init__(self, reason: str, where: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.where, self.message = reason, where, message


class _Walk:
    def __init__(self, root: str, allowed: list[str]) -> None:
        self.root = root
        self.allowed = allowed
        self.open: set[str] = set()  # the directories from the root down to the one being read
        self.visits: Counter[tuple[str, bool]] = Counter()
        self.unwalked: dict[tuple[str, bool], _Directory] = {}

    def files(self) -> Iterator[Entry | Fault]:
        # A stack and no recursion: a tree may be deeper than Python's.
        stack = [self.look(_Directory("", "", _slashed(self.root), (), False, False))]
        while stack:
            for found in stack[-1]:
                if isinstance(found, _Directory):
                    stack.append(self.look(found))
                    break
                yield found
            else:
                stack.pop()
        for key, directory in self.unwalked.items():
            more = self.visits[key] - MAX_PATHS
            message = (
                f"{MAX_PATHS} paths of links to this directory were walked and {more} more were not; remove links that "
                "fork and meet again."
            )
            yield self.closed(directory, "loop", message)

    def look(self, here: _Directory) -> Iterator[Entry | Fault | _Directory]:
        """What lies in one directory; a directory in it is given back to be looked at next."""
        if here.real in self.open:
            yield self.closed(here, "loop", "The link leads to a directory that it lies in; remove the link.")
            return
        if here.chain and self.too_often(here):
            return
        try:
            with os.scandir(here.real) as entries:
                found = sorted(entries, key=attrgetter("name"))
        except OSError as error:
            yield self.closed(here, "unreadable", f"The directory cannot be read ({error.strerror}); check its rights.")
            return
        self.open.add(here.real)
        for entry in found:
            name = entry.name
            try:
                if entry.is_symlink():
                    item = self.follow(here, name)
                elif entry.is_file(follow_symlinks=False):
                    item = self.file(here, entry)
                elif entry.is_dir(follow_symlinks=False) and name not in SKIPPED:
                    archived = here.archived or name == ARCHIVE
                    path, physical, real = here.path + name + "/", here.physical + name + "/", here.real + name + "/"
                    item = _Directory(path, physical, real, here.chain, archived, here.outside)
                else:
                    continue
            except OSError as error:
                message = f"The file cannot be read ({error.strerror}); check its rights."
                path, physical = _shown(here.path + name), _shown(here.physical + name)
                item = Fault(path, physical, "unreadable", message, here.chain, here.archived or name == ARCHIVE)
            if item:
                yield item
        self.open.discard(here.real)

    def file(self, here: _Directory, found: os.DirEntry[str]) -> Entry | Fault | _Directory | None:
        name = found.name
        status = found.stat(follow_symlinks=False)
        if status.st_size <= MAX_TEXT_LINK and not _is_data(name) and _text_link(here.real + name, status):
            return self.follow(here, name)
        path = here.path + name
        physical = here.physical + name if here.chain else path
        return _entry(path, physical, here.real + name, here.chain, here.archived, here.outside, status)

    def too_often(self, here: _Directory) -> bool:
        # Paths through the archive are counted apart, so that they never use up those of live results.
        key = here.real, here.archived
        self.visits[key] += 1
        if self.visits[key] > MAX_PATHS:
            self.unwalked.setdefault(key, here)
            return True
        return False

    def closed(self, directory: _Directory, reason: str, message: str) -> Fault:
        path, physical = (_shown(name[:-1]) or "." for name in (directory.path, directory.physical))
        return Fault(path, physical, reason, message, directory.chain, directory.archived)

    def follow(self, here: _Directory, name: str) -> Entry | Fault | _Directory | None:
        """What a link, or a file that may be a flattened one, leads to; None for what is passed over."""
        path = here.path + name
        route = _Route(list(here.chain), here.archived)
        try:
            real = self.resolve(here.real, name, route, ())
            outside = not _below(real, self.root)
            if outside and not any(_below(real, directory) for directory in self.allowed):
                message = "The link leaves the tree and was not followed; name its directory with --allow-outside."
                raise _Broken("outside_root", real, message)
        except _Broken as broken:
            physical, chain = self.relative(broken.where), tuple(route.chain)
            return Fault(_shown(path), physical, broken.reason, broken.message, chain, route.archived)
        status = os.lstat(real)
        physical, chain = self.relative(real), tuple(route.chain)
        if S_ISREG(status.st_mode):
            return _entry(path, physical, real, chain, route.archived, outside, status)
        if S_ISDIR(status.st_mode) and not SKIPPED & {name, os.path.basename(real)}:
            physical = "" if real == self.root else physical + "/"
            return _Directory(path + "/", physical, _slashed(real), chain, route.archived, outside)
        return None

    def resolve(self, at: str, target: str, route: _Route, within: tuple[str, ...]) -> str:
        """The real path of `target` seen from the real directory `at`; `within` are the links being followed.

        `..` is taken on the real path, as the system does, and a flattened link counts as a link on the way too.
        Raises _Broken.
        """
        real = "/" if target.startswith("/") else at.rstrip("/") or "/"
        parts = [part for part in target.split("/") if part not in ("", ".")]
        for position, part in enumerate(parts, 1):
            path = os.path.join(real, part)
            named = os.path.normpath(os.path.join(path, *parts[position:]))
            # A directory that holds the root says nothing about what is archived inside it.
            route.archived |= part == ARCHIVE and not _below(self.root, path)
            try:
                status = os.lstat(path)
                link = os.readlink(path) if S_ISLNK(status.st_mode) else _text_link(path, status)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                    message = "The link's target does not exist; fetch it or remove the link."
                    raise _Broken("dangling_link", named, message) from None
                message = f"The link cannot be followed ({error.strerror}); check the rights of its target."
                raise _Broken("unreadable", named, message) from None
            if link is None:
                real = os.path.dirname(real) if part == ".." else path
                continue
            before = len(route.chain), route.archived
            route.chain.append((self.relative(path), _shown(link)))
            if path in within:
                raise _Broken("loop", path, "The link leads back to itself; remove it.")
            if len(route.chain) > MAX_STEPS:
                raise _Broken("loop", path, f"More than {MAX_STEPS} links follow one another; shorten the chain.")
            try:
                real = self.resolve(real, link, route, (*within, path))
            except _Broken as broken:
                if S_ISLNK(status.st_mode) or broken.reason not in ("dangling_link", "link_as_text"):
                    raise
                if "/" in link and not any(map(str.isspace, link)):
                    message = (
                        "The file holds nothing but the path of a link that a download flattened, and that target does "
                        "not exist; fetch it or put the link right."
                    )
                    raise _Broken("link_as_text", broken.where, message) from None
                real, route.archived = path, before[1]
                del route.chain[before[0] :]
        return real

    def relative(self, real: str) -> str:
        return _shown(os.path.relpath(real, self.root))


def _entry(
    path: str, physical: str, real: str, chain: Chain, archived: bool, outside: bool, status: os.stat_result
) -> Entry:
    return Entry(
        path if path.isascii() else _shown(path),
        physical if physical.isascii() else _shown(physical),
        real,
        chain,
        archived,
        outside,
        status.st_size,
        status.st_mtime_ns,
        status.st_dev,
        status.st_ino,
    )


def _is_data(name: str) -> bool:
    return name[name.rfind(".") :].lower() in DATA_SUFFIXES


def _text_link(path: str, status: os.stat_result) -> str | None:
    """The relative path that is all a small text file holds, if it may be a link that a download flattened."""
    directory, name = os.path.split(path)
    if _is_data(name) or not 0 < status.st_size <= MAX_TEXT_LINK or not S_ISREG(status.st_mode):
        return None
    try:
        # Should it have become a pipe meanwhile, opening it must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as file:
            text = file.read(MAX_TEXT_LINK + 1).decode()
    except (OSError, UnicodeDecodeError):
        return None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text or text != text.strip() or not text.isprintable() or text.startswith("/") or "://" in text:
        return None
    if "/" in text or text == ".." or (text != name and os.path.lexists(os.path.join(directory, text))):
        return text
    return None


def _below(path: str, directory: str) -> bool:
    return _slashed(path).startswith(_slashed(directory))


def _slashed(directory: str) -> str:
    return directory if directory.endswith("/") else directory + "/"


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
