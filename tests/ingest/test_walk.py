"""The tree walk: what is reached, by which ways, and what is told about ways that lead to nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import tarfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import walk as module
from ingest.walk import Entry, Fault, walk

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CLINBOARD_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


def put(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def link(path: Path, target: str | os.PathLike[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def seen(root: Path, **options: list[str]) -> dict[str, Entry | Fault]:
    """What is found, by logical path; no path may come twice."""
    found = list(walk(root, **options))
    assert len({item.path for item in found}) == len(found)
    return {item.path: item for item in found}


def reasons(root: Path, **options: list[str]) -> dict[str, str]:
    """{path: reason of its fault, or "file"}"""
    return {path: getattr(item, "reason", "file") for path, item in seen(root, **options).items()}


# --- files and order -----------------------------------------------------------------------------------------------


def test_files_come_depth_first_by_name_whatever_the_disk_says(root: Path) -> None:
    for name in ("b/z.json", "b/a/x.json", "a.json", "c.json", "b/k.json", "B.json"):
        put(root / name)
    assert [item.path for item in walk(root)] == ["B.json", "a.json", "b/a/x.json", "b/k.json", "b/z.json", "c.json"]


def test_a_plain_file_has_its_stat_and_no_chain(root: Path) -> None:
    file = put(root / "m" / "results.jsonl", "{}\n")
    status = file.stat()
    assert list(walk(root)) == [
        Entry(
            path="m/results.jsonl",
            physical="m/results.jsonl",
            real=str(file),
            chain=(),
            archived=False,
            outside=False,
            size=3,
            mtime_ns=status.st_mtime_ns,
            device=status.st_dev,
            inode=status.st_ino,
        )
    ]


def test_a_root_that_is_no_directory_is_refused_at_the_call(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        walk(root / "missing")
    with pytest.raises(NotADirectoryError):
        walk(put(root / "file.json"))
    with pytest.raises(FileNotFoundError):
        walk(link(root / "dangling", "missing"))


def test_a_root_may_be_a_link_itself(root: Path, tmp_path: Path) -> None:
    put(root / "x.json")
    (entry,) = walk(link(tmp_path / "alias", root))
    assert isinstance(entry, Entry)
    assert (entry.path, entry.real, entry.chain, entry.outside) == ("x.json", str(root / "x.json"), (), False)


def test_an_empty_root_gives_nothing(root: Path) -> None:
    assert list(walk(str(root))) == []


def test_hard_links_are_two_files_with_one_inode(root: Path) -> None:
    os.link(put(root / "a.json"), root / "b.json")
    a, b = walk(root)
    assert isinstance(a, Entry) and isinstance(b, Entry)
    assert (a.device, a.inode) == (b.device, b.inode) and a.real != b.real


@pytest.mark.parametrize("name", [".git", "__pycache__", ".venv"])
def test_working_directories_of_tools_are_passed_over(root: Path, name: str) -> None:
    put(root / "a" / name / "x.json")
    link(root / "linked", f"a/{name}")
    assert reasons(root) == {}


def test_a_directory_deeper_than_pythons_stack(root: Path) -> None:
    paths = [str(root)]
    for _ in range(1200):
        paths.append(paths[-1] + "/d")
        os.mkdir(paths[-1])
    try:
        put(Path(paths[-1] + "/x.json"))
        (entry,) = walk(root)
        assert entry.path == "d/" * 1200 + "x.json"
    finally:
        os.remove(paths[-1] + "/x.json")
        for path in reversed(paths[1:]):
            os.rmdir(path)


def test_pipes_and_sockets_are_never_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    link(root / "to_pipe", "pipe")
    monkeypatch.chdir(root)  # the path of a socket may only be short
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind("socket")
        put(root / "x.json")
        assert reasons(root) == {"x.json": "file"}


def test_names_that_are_not_utf8_are_shown_escaped_and_opened_exactly(root: Path) -> None:
    raw = os.fsencode(root) + b"/mod\xe9l"
    os.mkdir(raw)
    with open(raw + b"/\xff.json", "wb") as file:
        file.write(b"{}")
    os.symlink(b"mod\xe9l", os.fsencode(root) + b"/alias")
    put(root / "modèle.json")
    found = seen(root)
    assert set(found) == {"alias/\\xff.json", "mod\\xe9l/\\xff.json", "modèle.json"}
    entry = found["alias/\\xff.json"]
    assert isinstance(entry, Entry)
    assert (entry.physical, entry.chain) == ("mod\\xe9l/\\xff.json", (("alias", "mod\\xe9l"),))
    assert Path(entry.real).read_bytes() == b"{}"
    for item in found.values():
        item.path.encode(), item.physical.encode()


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_directory_link_gives_a_second_path_with_its_chain(root: Path) -> None:
    put(root / "raw" / "tag" / "results.jsonl")
    link(root / "full" / "model", "../raw/tag")
    first, second = walk(root)
    assert isinstance(first, Entry) and isinstance(second, Entry)
    assert (first.path, first.physical) == ("full/model/results.jsonl", "raw/tag/results.jsonl")
    assert first.chain == (("full/model", "../raw/tag"),)
    assert (second.path, second.chain) == ("raw/tag/results.jsonl", ())
    assert first.real == second.real and (first.device, first.inode) == (second.device, second.inode)
    assert first.size == second.size == 3


def test_a_file_link_and_an_absolute_link(root: Path) -> None:
    put(root / "d" / "x.json")
    link(root / "file", "d/x.json")
    link(root / "dir", root / "d")
    found = seen(root)
    assert found["file"].chain == (("file", "d/x.json"),)
    assert found["dir/x.json"].chain == (("dir", str(root / "d")),)
    assert {item.physical for item in found.values()} == {"d/x.json"}


def test_links_on_the_way_are_steps_of_the_chain(root: Path) -> None:
    put(root / "store" / "v2" / "x.json")
    link(root / "current", "store")
    link(root / "store" / "latest", "v2")
    link(root / "model", "current/latest")
    found = seen(root)
    assert found["model/x.json"].chain == (
        ("model", "current/latest"),
        ("current", "store"),
        ("store/latest", "v2"),
    )
    # a link inside a linked directory: its own place is a physical one
    assert found["current/latest/x.json"].chain == (("current", "store"), ("store/latest", "v2"))


def test_dot_dot_is_taken_on_the_real_path(root: Path) -> None:
    put(root / "deep" / "inner" / "y.json")
    put(root / "deep" / "x.json", "right")
    put(root / "x.json", "wrong: what the text of the path says")
    link(root / "jump", "deep/inner")
    link(root / "to", "jump/../x.json")
    entry = seen(root)["to"]
    assert isinstance(entry, Entry)
    assert entry.physical == "deep/x.json" and Path(entry.real).read_text() == "right"
    assert entry.chain == (("to", "jump/../x.json"), ("jump", "deep/inner"))


def test_one_link_may_be_passed_twice(root: Path) -> None:
    put(root / "d" / "x.json")
    link(root / "a", "d")
    link(root / "b", "a/../a/../d/x.json")
    assert reasons(root)["b"] == "file"


def test_a_dangling_link_names_what_it_wants(root: Path) -> None:
    link(root / "m" / "model", "../gone/deep/../model")
    fault = seen(root)["m/model"]
    assert isinstance(fault, Fault)
    assert (fault.reason, fault.physical) == ("dangling_link", "gone/model")
    assert fault.chain == (("m/model", "../gone/deep/../model"),)


def test_a_link_through_a_file_dangles(root: Path) -> None:
    put(root / "x.json")
    link(root / "a", "x.json/y")
    link(root / "b", "x.json/../x.json")
    link(root / "c", "n" * 300)
    assert reasons(root) == {"x.json": "file", "a": "dangling_link", "b": "dangling_link", "c": "dangling_link"}


# --- loops -----------------------------------------------------------------------------------------------------------


def test_links_in_a_circle_are_loops(root: Path) -> None:
    link(root / "a", "b")
    link(root / "b", "a")
    link(root / "self", "self")
    link(root / "grows", "grows/x")
    found = seen(root)
    assert {item.reason for item in found.values() if isinstance(item, Fault)} == {"loop"} and len(found) == 4
    assert found["a"].chain == (("a", "b"), ("b", "a"), ("a", "b"))


@pytest.mark.parametrize("target", ["..", ".", "../..", "../../a", "/"])
def test_a_link_to_a_directory_that_holds_it_is_a_loop(root: Path, target: str) -> None:
    put(root / "a" / "b" / "x.json")
    link(root / "a" / "b" / "up", root if target == "/" else target)
    found = reasons(root)
    assert found == {"a/b/x.json": "file", "a/b/up": "loop"}


def test_a_loop_through_two_directories_ends(root: Path) -> None:
    put(root / "a" / "x.json")
    put(root / "b" / "y.json")
    link(root / "a" / "to_b", "../b")
    link(root / "b" / "to_a", "../a")
    assert reasons(root) == {
        "a/x.json": "file",
        "a/to_b/y.json": "file",
        "a/to_b/to_a": "loop",
        "b/y.json": "file",
        "b/to_a/x.json": "file",
        "b/to_a/to_b": "loop",
    }


def test_forty_links_in_a_row_are_followed_and_no_more(root: Path) -> None:
    put(root / "00.json")
    for step in range(1, 42):
        link(root / f"{step:02}.json", f"{step - 1:02}.json")
    found = reasons(root)
    assert found.pop("41.json") == "loop"
    assert set(found.values()) == {"file"}
    assert len(seen(root)["40.json"].chain) == 40


def test_links_that_fork_at_every_level_do_not_explode(root: Path) -> None:
    levels = [root / f"d{level:02}" for level in range(25)]  # 2 ** 24 paths to the last
    for level, below in pairwise(levels):
        put(level / "x.json")
        link(level / "a", f"../{below.name}")
        link(level / "b", f"../{below.name}")
    put(levels[-1] / "last.json")
    found = list(walk(root))
    assert len(found) < 25 * 100
    paths = Counter(item.real for item in found if isinstance(item, Entry))
    assert max(paths.values()) == 33  # the way without links, and 32 with
    assert "d24/last.json" in {item.path for item in found}
    faults = [item for item in found if isinstance(item, Fault)]
    assert {fault.reason for fault in faults} == {"loop"}
    assert Counter(fault.physical for fault in faults).most_common(1)[0][1] == 1
    assert all("more were not" in fault.message for fault in faults)


def test_paths_through_the_archive_do_not_use_up_those_of_live_results(root: Path) -> None:
    put(root / "store" / "x.json")
    for number in range(40):
        link(root / "_archive" / f"old{number:02}", "../store")
    link(root / "live", "store")
    found = seen(root)
    assert found["live/x.json"].archived is False
    assert found["store/x.json"].archived is False
    (fault,) = (item for item in found.values() if isinstance(item, Fault))
    assert fault.archived and fault.physical == "store" and " 8 more" in fault.message


# --- out of the root -------------------------------------------------------------------------------------------------


def test_links_out_of_the_root_are_read_only_when_allowed(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "ext" / "run" / "sub" / "results.jsonl")
    put(tmp_path / "ext2" / "y.json")
    link(root / "model", "../ext/run")
    link(root / "other", "../ext2")
    link(root / "file", "../ext2/y.json")
    found = seen(root)
    assert reasons(root) == {"model": "outside_root", "other": "outside_root", "file": "outside_root"}
    assert found["model"].physical == "../ext/run"
    assert "--allow-outside" in found["model"].message  # type: ignore[union-attr]
    allowed = seen(root, allow_outside=[str(tmp_path / "ext")])
    assert reasons(root, allow_outside=[str(tmp_path / "ext")]) == {
        "model/sub/results.jsonl": "file",
        "other": "outside_root",
        "file": "outside_root",
    }
    entry = allowed["model/sub/results.jsonl"]
    assert isinstance(entry, Entry)
    assert entry.outside and entry.physical == "../ext/run/sub/results.jsonl"


def test_an_allowed_directory_may_be_named_by_a_link(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "ext" / "x.json")
    link(root / "model", "../ext")
    alias = link(tmp_path / "alias", "ext")
    assert reasons(root, allow_outside=[str(alias)]) == {"model/x.json": "file"}


def test_a_way_out_and_back_in_again_is_inside(root: Path, tmp_path: Path) -> None:
    put(root / "d" / "x.json")
    link(tmp_path / "ext" / "back", root / "d")
    link(root / "model", "../ext/back")
    entry = seen(root)["model/x.json"]
    assert isinstance(entry, Entry)
    assert not entry.outside and entry.physical == "d/x.json"
    assert entry.chain == (("model", "../ext/back"), ("../ext/back", str(root / "d")))


def test_a_link_out_of_an_allowed_directory_is_judged_anew(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "secret" / "x.json")
    link(tmp_path / "ext" / "sneak", "../secret")
    link(root / "model", "../ext")
    assert reasons(root, allow_outside=[str(tmp_path / "ext")]) == {"model/sneak": "outside_root"}


def test_an_allowed_directory_that_holds_the_root_ends(root: Path, tmp_path: Path) -> None:
    put(root / "x.json")
    put(tmp_path / "y.json")
    link(root / "up", "..")
    found = reasons(root, allow_outside=[str(tmp_path)])
    assert found == {"up/root": "loop", "up/y.json": "file", "x.json": "file"}


def test_a_dangling_link_out_of_the_root_is_dangling(root: Path) -> None:
    link(root / "model", "../gone/model")
    assert reasons(root) == {"model": "dangling_link"}


# --- archive ---------------------------------------------------------------------------------------------------------


def test_whatever_passes_through_the_archive_is_archived(root: Path) -> None:
    put(root / "_archive" / "old" / "x.json")
    put(root / "live" / "x.json")
    put(root / "my_archive" / "x.json")
    link(root / "prev", "_archive/old")
    link(root / "step", "_archive/../live/x.json")
    link(root / "via", "prev/x.json")
    link(root / "_archive" / "kept", "../live")
    link(root / "_archive" / "gone", "nowhere")
    link(root / "lost", "_archive/nowhere")
    assert {path: item.archived for path, item in seen(root).items()} == {
        "_archive/old/x.json": True,
        "_archive/kept/x.json": True,
        "_archive/gone": True,
        "live/x.json": False,
        "lost": True,
        "my_archive/x.json": False,
        "prev/x.json": True,
        "step": True,
        "via": True,
    }


def test_an_archive_outside_counts_and_one_above_the_root_does_not(tmp_path: Path) -> None:
    root = tmp_path / "_archive" / "root"
    put(root / "x.json")
    put(tmp_path / "ext" / "_archive" / "y.json")
    link(root / "same", root / "x.json")
    link(root / "old", "../../ext/_archive/y.json")
    found = seen(root, allow_outside=[str(tmp_path / "ext")])
    assert {path: item.archived for path, item in found.items()} == {"x.json": False, "same": False, "old": True}


# --- links that a download flattened ---------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("name", ["model", "Claude-Opus-4.6"])
def test_a_text_file_with_a_path_is_followed_like_a_link(root: Path, name: str, end: str) -> None:
    put(root / "raw" / "tag" / "results.jsonl")
    put(root / "full" / name, f"../raw/tag{end}")
    entry = seen(root)[f"full/{name}/results.jsonl"]
    assert entry.physical == "raw/tag/results.jsonl"
    assert entry.chain == ((f"full/{name}", "../raw/tag"),)


def test_a_text_file_with_the_path_of_a_file_or_the_name_of_a_sibling(root: Path) -> None:
    put(root / "d" / "x.json")
    put(root / "to_file", "d/x.json")
    put(root / "sibling", "d")
    found = seen(root)
    assert found["to_file"].physical == "d/x.json"
    assert found["sibling/x.json"].chain == (("sibling", "d"),)


def test_a_whole_chain_may_be_flattened(root: Path) -> None:
    put(root / "store" / "v2" / "x.json")
    put(root / "current", "store/v2")
    put(root / "a" / "model", "../current\n")
    link(root / "b", "a/model/x.json")
    found = seen(root)
    steps = (("a/model", "../current"), ("current", "store/v2"))
    assert found["a/model/x.json"].chain == steps
    assert found["b"].chain == (("b", "a/model/x.json"), *steps)


def test_a_flattened_link_to_nothing_says_so(root: Path) -> None:
    put(root / "model", "../raw/tag")
    link(root / "to_model", "model")
    found = seen(root)
    assert reasons(root) == {"model": "link_as_text", "to_model": "link_as_text"}
    assert found["model"].physical == "../raw/tag"
    assert found["model"].chain == (("model", "../raw/tag"),)


def test_a_flattened_link_may_loop_leave_the_root_or_be_archived(root: Path, tmp_path: Path) -> None:
    put(root / "up" / "all", "..")
    put(root / "a", "./b")
    put(root / "b", "./a")
    put(tmp_path / "ext" / "x.json")
    put(root / "out", "../ext")
    put(root / "_archive" / "old" / "y.json")
    put(root / "prev", "_archive/old")
    assert reasons(root) == {
        "up/all": "loop",
        "a": "loop",
        "b": "loop",
        "out": "outside_root",
        "_archive/old/y.json": "file",
        "prev/y.json": "file",
    }
    assert seen(root)["prev/y.json"].archived


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "hello",
        "name",  # its own
        "either and/or both",
        " d/x.json",
        "d/x.json ",
        "d/x.json\n\n",
        "d/x.json\nd/x.json",
        "d/x.json\0",
        "/etc/hostname",
        "https://example.org/x",
        "d/x.json" + " " * 5000,
        "é".encode("latin-1").decode("latin-1") + " n/a",
    ],
)
def test_other_small_texts_are_files(root: Path, text: str) -> None:
    put(root / "d" / "x.json")
    put(root / "name", text)
    entry = seen(root)["name"]
    assert isinstance(entry, Entry)
    assert entry.chain == () and entry.physical == "name"


def test_bytes_that_are_not_utf8_are_a_file(root: Path) -> None:
    (root / "name").write_bytes(b"d/\xff")
    assert reasons(root) == {"name": "file"}


def test_data_files_are_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root / "d" / "y.json")
    for suffix in (".json", ".jsonl", ".txt", ".md", ".log", ".csv", ".gz", ".zst", ".yaml", ".JSON"):
        put(root / f"x{suffix}", "d/y.json")
    put(root / "large", "x" * 5000)
    monkeypatch.setattr(os, "open", None)
    assert set(reasons(root).values()) == {"file"}


# --- what cannot be read ---------------------------------------------------------------------------------------------


def test_an_unreadable_directory_is_told_and_the_rest_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root / "locked" / "x.json")
    put(root / "z.json")
    scandir = os.scandir

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        if "locked" in path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = seen(root)
    assert reasons(root) == {"locked": "unreadable", "z.json": "file"}
    assert "Permission denied" in found["locked"].message  # type: ignore[union-attr]


def test_a_link_whose_target_may_not_be_seen_is_unreadable(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root / "d" / "x.json")
    link(root / "model", "d/x.json")
    lstat = os.lstat

    def refuse(path: str) -> os.stat_result:
        if path.endswith("d/x.json"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return lstat(path)

    monkeypatch.setattr(os, "lstat", refuse)
    assert reasons(root) == {"d/x.json": "file", "model": "unreadable"}


def test_a_file_that_vanishes_meanwhile_is_told(root: Path) -> None:
    put(root / "a.json")
    put(root / "b.json")
    found = walk(root)
    assert next(found).path == "a.json"
    os.remove(root / "b.json")
    (fault,) = found
    assert isinstance(fault, Fault)
    assert (fault.path, fault.reason) == ("b.json", "unreadable")


# --- against a plain second walker -----------------------------------------------------------------------------------


def plain(root: str, allowed: str) -> dict[str, str]:
    """{logical path: real path, or the reason of the fault}, by asking the system about whole paths."""
    found: dict[str, str] = {}

    def visit(directory: str, logical: str, above: tuple[str, ...]) -> None:
        for name in os.listdir(directory):
            path, shown = os.path.join(directory, name), logical + name
            try:
                os.stat(path)
            except OSError as error:
                found[shown] = "loop" if error.errno == errno.ELOOP else "dangling_link"
                continue
            real = os.path.realpath(path)
            if not f"{real}/".startswith(f"{allowed}/"):
                found[shown] = "outside_root"
            elif os.path.isfile(real):
                found[shown] = real
            elif real in above:
                found[shown] = "loop"
            else:
                visit(real, shown + "/", (*above, real))

    visit(root, "", (root,))
    return found


PLACES = ["a", "b", "a/c", "a/d", "b/c", "b/e", "a/c/f", "b/c/g"]
TARGETS = ["a", "b", "c", "d", "..", "../..", "../a", "../b/c", "c/../d", "./e", "x.json", "a/c/f", "../../a/d", "d/f"]


@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries(st.sampled_from(PLACES), st.sampled_from(["dir", "file", *TARGETS]), max_size=8),
    st.sampled_from(["", "/"]),
)
def test_walk_agrees_with_the_system(tmp_path_factory: pytest.TempPathFactory, tree: dict[str, str], end: str) -> None:
    outer = tmp_path_factory.mktemp("tree") / "x"
    root = outer / "y" / "root"
    root.mkdir(parents=True)
    try:
        for place, what in sorted(tree.items()):
            path = root / place
            if os.path.realpath(path.parent) != str(path.parent) or not path.parent.is_dir():
                continue  # never make anything behind a link
            if what == "dir":
                path.mkdir()
            elif what == "file":
                put(path.parent / "x.json")
            else:
                os.symlink(what + (end if not what.endswith("json") else ""), path)
        found = {
            item.path: item.reason if isinstance(item, Fault) else item.real for item in walk(root, [str(outer.parent)])
        }
        assert found == plain(str(root), str(outer.parent))
    finally:
        shutil.rmtree(outer)


# --- the published tree ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = SHARED / "conformance" / "clinseek" / "clinseek_small.tar.gz"
    if not archive.exists():
        pytest.skip("the conformance pack is not there")
    base = tmp_path_factory.mktemp("pack")
    with tarfile.open(archive) as tar:
        tar.extractall(base, filter="tar")
    base = base / "clinseek"
    for path, target in json.loads((base / "expected.json").read_text())["absolute_links"].items():
        os.symlink(base / target, base / path)
    return base


def test_the_pack_is_walked_as_expected(pack: Path) -> None:
    expected = json.loads((pack / "expected.json").read_text())
    found = seen(pack / "results", allow_outside=[str(pack / "external")])
    faults = {f"results/{path}": item.reason for path, item in found.items() if isinstance(item, Fault)}
    wanted = {row["path"]: row["reason"] for row in expected["not_runs"]}
    assert faults == {path: reason for path, reason in wanted.items() if reason in ("loop", "dangling_link")}
    physical = {os.path.normpath(f"results/{item.physical}") for item in found.values() if isinstance(item, Entry)}
    assert physical >= {run["physical"] for run in expected["runs"]}
    for run in expected["runs"]:
        below = f"{run['path']}/".removeprefix("results/")
        reached = [
            item
            for path, item in found.items()
            if isinstance(item, Entry)
            and f"{path}/".startswith(below)
            and os.path.normpath(f"results/{item.physical}") == run["physical"]
        ]
        assert len(reached) == 1, run["path"]
        assert reached[0].size == run["file"]["bytes"]
        assert not reached[0].archived
        assert reached[0].outside == run["physical"].startswith("external/")
    archived = {f"results/{path}" for path, item in found.items() if item.archived}
    assert {row["path"] for row in expected["not_runs"] if row["reason"] == "archived"} <= archived
    assert all("_archive" in item.physical for item in found.values() if item.archived)
    for row in expected["not_runs"]:
        if row["reason"] == "link_as_text":
            path = row["path"].removeprefix("results/")
            below_it = [item for name, item in found.items() if name.startswith(f"{path}/")]
            assert below_it and all(item.chain[0][0] == path for item in below_it)


def test_the_pack_without_leave_to_go_outside(pack: Path) -> None:
    found = reasons(pack / "results")
    assert Counter(found.values())["outside_root"] == 7
    assert not any("_retried" in path for path, reason in found.items() if reason != "file")


def test_the_limits_are_those_of_the_documentation() -> None:
    assert (module.MAX_STEPS, module.MAX_PATHS, module.MAX_TEXT_LINK) == (40, 32, 4096)
