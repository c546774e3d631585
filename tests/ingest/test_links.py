"""Links of every kind through `manage.py ingest --json`: what becomes a run, what is told, and the chain that is kept."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from evaluation.models import ResultFile, Run
from ingest.models import SourceFile
from tests.ingest.trees import GOLD, Called, Tree, answered, ehr_gold, ingest, tables

pytestmark = pytest.mark.django_db
FULL = "ehr_bench/agentic/full1800"
Chain = list[list[str]]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Gold and one model, `aster`, whose directory lies in the tree."""
    tree = Tree(tmp_path / "tree")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    tree.lines(f"{FULL}/aster/results.jsonl", [answered("q1", "alpha")])
    return tree


@pytest.fixture
def outside(tmp_path: Path) -> Tree:
    """Beside the tree: a directory that holds results, and one whose name begins alike."""
    outside = Tree(tmp_path / "outside")
    outside.lines("boreal/results.jsonl", [answered("q2", "gamma")])
    Tree(tmp_path / "outside2").lines("cobalt/results.jsonl", [answered("q3", "yes")])
    return outside


def lies(path: str) -> str:
    return f"{FULL}/{path}"


def chains(model: type[ResultFile] | type[SourceFile]) -> dict[str, Chain]:
    """path -> chain, of the files that were reached by links."""
    return {path: chain for path, chain in model.objects.values_list("path", "chain") if chain}


def models(result: Called) -> dict[str, str]:
    return {entry["model"]: entry["path"] for entry in result.document["runs"]}


def kept(path: str) -> SourceFile:
    return SourceFile.objects.get(path=path)


# --- inside -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["../../raw/b", "../../raw/./c/../b", "../../raw/hop"])
def test_a_directory_link_inside_is_followed_and_every_step_kept(tree: Tree, target: str) -> None:
    tree.lines("ehr_bench/raw/b/results.jsonl", [answered("q1", "alpha", "beta")])
    tree.text("ehr_bench/raw/c/empty.txt", "")
    tree.link("ehr_bench/raw/hop", "b")
    tree.link(lies("boreal"), target)
    result = ingest(tree)
    path = lies("boreal/results.jsonl")
    assert models(result) == {"aster": lies("aster/results.jsonl"), "boreal": path}
    assert result.runs[path]["physical"] == "ehr_bench/raw/b/results.jsonl"
    assert result.runs[path]["why"] == "results.jsonl of the model's directory, reached through a link"
    wanted = [[lies("boreal"), target]] + ([["ehr_bench/raw/hop", "b"]] if target.endswith("hop") else [])
    assert chains(ResultFile) == {path: wanted}
    assert chains(SourceFile)[path] == wanted
    # the other ways to the same bytes are no runs
    assert set(result.not_runs.values()) == {"duplicate_path"}
    assert {line["why"] for line in result.document["not_runs"]} == {f"the same file as {path}"}


def test_a_file_link_and_a_chain_of_three(tree: Tree) -> None:
    tree.lines("store/x.jsonl", [answered("q1", "alpha")])
    tree.link("b/two", "../store/x.jsonl")
    tree.link("a/one", "../b/two")
    tree.link(lies("boreal/results.jsonl"), "../../../../a/one")
    result = ingest(tree)
    path = lies("boreal/results.jsonl")
    assert models(result)["boreal"] == path and result.runs[path]["physical"] == "store/x.jsonl"
    assert chains(ResultFile)[path] == [
        [path, "../../../../a/one"],
        ["a/one", "../b/two"],
        ["b/two", "../store/x.jsonl"],
    ]


def test_an_absolute_link_into_the_tree(tree: Tree) -> None:
    target = str(tree.root / "store" / "b")
    tree.lines("store/b/results.jsonl", [answered("q1", "alpha")])
    tree.link(lies("boreal"), target)
    result = ingest(tree)
    assert models(result)["boreal"] == lies("boreal/results.jsonl")
    assert chains(ResultFile)[lies("boreal/results.jsonl")] == [[lies("boreal"), target]]


def test_of_several_paths_the_one_with_the_fewest_links_is_the_run(tree: Tree) -> None:
    tree.link(lies("a_hop"), "z_link")
    tree.link(lies("z_link"), "aster")
    result = ingest(tree)
    assert models(result) == {"aster": lies("aster/results.jsonl")}
    assert result.not_runs == {lies(f"{name}/results.jsonl"): "duplicate_path" for name in ("a_hop", "z_link")}
    assert kept(lies("a_hop/results.jsonl")).chain == [[lies("a_hop"), "z_link"], [lies("z_link"), "aster"]]


def test_a_link_into_the_archive_is_archived(tree: Tree) -> None:
    tree.lines("_archive/old/results.jsonl", [answered("q1", "alpha")])
    tree.link(lies("boreal"), "../../../_archive/old")
    result = ingest(tree)
    assert result.not_runs[lies("boreal/results.jsonl")] == "archived"
    assert "boreal" not in models(result)


# --- outside ----------------------------------------------------------------------------------------------------------

WAYS_OUT = {
    "plain": "../../../../outside/boreal",
    "through a directory and back": "../full1800/aster/../../../../../outside/boreal",
    "through a link and back": "hop/../../../../outside/boreal",
    "over the root's own name": "../../../../tree/../outside/boreal",
}


@pytest.mark.parametrize("target", WAYS_OUT.values(), ids=WAYS_OUT)
def test_a_link_that_leaves_the_tree_is_followed_only_where_allowed(tree: Tree, outside: Tree, target: str) -> None:
    tree.text("ehr_bench/x/y/empty.txt", "")
    tree.link(lies("hop"), "../../x/y")
    tree.link(lies("boreal"), target)
    link, file = lies("boreal"), lies("boreal/results.jsonl")
    result = ingest(tree)
    assert (result.code, models(result).keys()) == (1, {"aster"})
    assert result.not_runs[link] == "outside_root"
    (finding,) = result.findings("outside_root")
    assert (finding["severity"], finding["path"]) == ("error", link) and "--allow-outside" in finding["message"]
    assert kept(link).fate == "outside_root" and kept(link).chain[-1][0] in (link, lies("hop"))
    assert kept(link).chain[0] == [link, target]
    assert not SourceFile.objects.filter(path=file).exists()

    other = ingest(tree, "--allow-outside", outside.root.parent / "outside2")
    assert (other.code, models(other).keys()) == (1, {"aster"}), "a directory beside it allows nothing"

    allowed = ingest(tree, "--allow-outside", outside.root)
    assert (allowed.code, models(allowed)["boreal"]) == (0, file)
    assert allowed.runs[file]["physical"] == "../outside/boreal/results.jsonl"
    assert chains(ResultFile)[file][0] == [link, target] and chains(SourceFile)[file] == chains(ResultFile)[file]


def test_an_allowed_name_is_no_prefix(tree: Tree, outside: Tree) -> None:
    tree.link(lies("cobalt"), "../../../../outside2/cobalt")
    result = ingest(tree, "--allow-outside", outside.root)
    assert result.not_runs == {lies("cobalt"): "outside_root"}


def test_a_link_inside_an_allowed_directory_that_leads_on_is_refused(tree: Tree, outside: Tree) -> None:
    outside.link("hop", "../outside2/cobalt")
    tree.link(lies("cobalt"), "../../../../outside/hop")
    result = ingest(tree, "--allow-outside", outside.root)
    assert result.not_runs == {lies("cobalt"): "outside_root"}
    assert kept(lies("cobalt")).chain == [
        [lies("cobalt"), "../../../../outside/hop"],
        ["../outside/hop", "../outside2/cobalt"],
    ]
    both = ingest(tree, "--allow-outside", outside.root, "--allow-outside", outside.root.parent / "outside2")
    assert models(both)["cobalt"] == lies("cobalt/results.jsonl")


def test_out_and_in_again_is_inside(tree: Tree) -> None:
    tree.link(lies("boreal"), "../../../../tree/" + lies("aster"))
    result = ingest(tree)
    assert result.not_runs == {lies("boreal/results.jsonl"): "duplicate_path"}


# --- links that lead to nothing ---------------------------------------------------------------------------------------


def test_a_dangling_link(tree: Tree) -> None:
    tree.link(lies("boreal"), "../nowhere/b")
    tree.link(lies("cobalt/results.jsonl"), "gone.jsonl")
    result = ingest(tree)
    assert result.not_runs == {lies("boreal"): "dangling_link", lies("cobalt/results.jsonl"): "dangling_link"}
    assert {finding["path"] for finding in result.findings("dangling_link")} == result.not_runs.keys()
    assert kept(lies("boreal")).chain == [[lies("boreal"), "../nowhere/b"]]
    assert all("does not exist" in line["why"] for line in result.document["not_runs"])
    assert kept(lies("boreal")).why == result.document["not_runs"][0]["why"]


def test_a_link_that_dangles_later_and_heals(tree: Tree) -> None:
    tree.lines("store/b/results.jsonl", [answered("q1", "alpha")])
    tree.link(lies("boreal"), "../../../store/b")
    ingest(tree)
    os.rename(tree.root / "store", tree.root.parent / "away")
    gone = ingest(tree)
    assert gone.not_runs[lies("boreal")] == "dangling_link"
    assert [finding["path"] for finding in gone.findings("dangling_link")] == [lies("boreal")]
    assert Run.objects.live().count() == 2, "a file that is gone leaves its run"
    os.rename(tree.root.parent / "away", tree.root / "store")
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


def test_loops_of_one_two_and_three(tree: Tree) -> None:
    for name, target in (("self", "self"), ("a", "b"), ("b", "a"), ("x", "y"), ("y", "z"), ("z", "x")):
        tree.link(lies(name), target)
    result = ingest(tree)
    assert result.not_runs == {lies(name): "loop" for name in ("self", "a", "b", "x", "y", "z")}
    assert [step[0] for step in kept(lies("x")).chain] == [lies(name) for name in ("x", "y", "z", "x")]
    assert models(result) == {"aster": lies("aster/results.jsonl")}


@pytest.mark.parametrize("target", ["..", "../..", "../../..", "."])
def test_a_link_to_its_own_ancestor_ends(tree: Tree, target: str) -> None:
    """Everything is found once as itself; what is found again through the link has the same bytes."""
    tree.link(lies("all"), target)
    result = ingest(tree)
    assert models(result) == {"aster": lies("aster/results.jsonl")}
    assert set(result.not_runs.values()) <= {"loop", "duplicate_path"} and "loop" in result.not_runs.values()
    assert len(result.not_runs) == len(result.document["not_runs"])


def test_links_in_an_ancestors_circle_of_two_directories(tree: Tree) -> None:
    tree.link("p/to_q", "../q")
    tree.link("q/to_p", "../p")
    result = ingest(tree)
    assert set(result.not_runs.values()) == {"loop"}


# --- links flattened to text files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_text_link_is_followed_like_a_link(tree: Tree, end: str) -> None:
    tree.lines("ehr_bench/raw/b/results.jsonl", [answered("q1", "alpha")])
    tree.text(lies("boreal"), f"../../raw/b{end}")
    result = ingest(tree)
    path = lies("boreal/results.jsonl")
    assert (result.code, models(result)["boreal"]) == (0, path)
    assert chains(ResultFile) == {path: [[lies("boreal"), "../../raw/b"]]}
    assert result.not_runs == {"ehr_bench/raw/b/results.jsonl": "duplicate_path"}


def test_a_bad_text_link_is_told(tree: Tree) -> None:
    tree.text(lies("boreal"), "../../raw/nowhere")
    result = ingest(tree)
    assert result.not_runs == {lies("boreal"): "link_as_text"}
    (finding,) = result.findings("link_as_text")
    assert "a download flattened" in finding["message"] and kept(lies("boreal")).why == finding["message"]
    assert kept(lies("boreal")).chain == [[lies("boreal"), "../../raw/nowhere"]]


def test_a_text_link_out_of_the_tree_needs_leave(tree: Tree, outside: Tree) -> None:
    tree.text(lies("boreal"), "../../../../outside/boreal")
    assert ingest(tree).not_runs == {lies("boreal"): "outside_root"}
    assert models(ingest(tree, "--allow-outside", outside.root))["boreal"] == lies("boreal/results.jsonl")


def test_a_link_to_a_text_link(tree: Tree) -> None:
    tree.text(lies("b_text"), "aster/")
    tree.link(lies("a_link"), "b_text")
    result = ingest(tree)
    assert result.not_runs == {lies(f"{name}/results.jsonl"): "duplicate_path" for name in ("a_link", "b_text")}
    assert kept(lies("a_link/results.jsonl")).chain == [[lies("a_link"), "b_text"], [lies("b_text"), "aster/"]]


@pytest.mark.parametrize("text", ["just a note", "see http://host/x", "/etc/passwd", "a/b\nc/d\n"])
def test_other_small_texts_are_no_links(tree: Tree, text: str) -> None:
    tree.text(lies("note"), text)
    result = ingest(tree)
    assert (result.code, result.not_runs) == (0, {})


# --- hard links -------------------------------------------------------------------------------------------------------


def test_hard_links_are_one_run(tree: Tree) -> None:
    for name in ("boreal", "cobalt"):
        (tree.root / lies(name)).mkdir()
        os.link(tree.root / lies("aster/results.jsonl"), tree.root / lies(f"{name}/results.jsonl"))
    result = ingest(tree)
    first = lies("aster/results.jsonl")
    assert models(result) == {"aster": first}
    others = {lies(f"{name}/results.jsonl") for name in ("boreal", "cobalt")}
    assert result.not_runs == dict.fromkeys(others, "duplicate_path")
    assert {line["why"] for line in result.document["not_runs"]} == {f"the same file as {first}"}
    # a hard link has no chain: each path is where the file really lies
    assert all(kept(path).physical == path and kept(path).chain == [] for path in others)
    before = tables()
    assert ingest(tree).document["rows_read"] == 0 and tables() == before


def test_a_hard_link_in_the_archive_does_not_take_the_run_away(tree: Tree) -> None:
    (tree.root / "_archive").mkdir()
    os.link(tree.root / lies("aster/results.jsonl"), tree.root / "_archive/results.jsonl")
    result = ingest(tree)
    assert models(result) == {"aster": lies("aster/results.jsonl")}
    assert result.not_runs == {"_archive/results.jsonl": "archived"}


# --- names that look alike --------------------------------------------------------------------------------------------

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "ast\u00e9r") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(("one", "other"), [("Aster-X", "aster-x"), (COMPOSED, DECOMPOSED)], ids=["case", "form"])
def test_names_that_differ_only_in_case_or_unicode_form_are_two_models(tree: Tree, one: str, other: str) -> None:
    tree.lines(lies(f"{one}/results.jsonl"), [answered("q1", "alpha")])
    tree.lines(lies(f"{other}/results.jsonl"), [answered("q2", "gamma")])
    if len(os.listdir(tree.root / FULL)) < 3:
        pytest.skip("this disk takes the two names for one")
    result = ingest(tree)
    assert models(result) == {name: lies(f"{name}/results.jsonl") for name in ("aster", one, other)}
    assert Run.objects.values("model").distinct().count() == 3
    (finding,) = result.findings("twin_names")
    assert (finding["severity"], finding["path"]) == ("warning", lies(max(one, other)))
    assert "differs only in" in finding["message"] and lies(min(one, other)) in finding["message"]
    before = tables()
    assert ingest(tree).document["rows_read"] == 0 and tables() == before


def test_a_link_to_a_twin_name_keeps_both_paths(tree: Tree) -> None:
    tree.link(lies("ASTER"), "aster")
    if len(os.listdir(tree.root / FULL)) < 2:
        pytest.skip("this disk takes the two names for one")
    result = ingest(tree)
    assert result.not_runs == {lies("ASTER/results.jsonl"): "duplicate_path"}
    assert kept(lies("ASTER/results.jsonl")).chain == [[lies("ASTER"), "aster"]]
    assert len(result.findings("twin_names")) == 1


def test_a_tree_without_twins_says_nothing_of_them(tree: Tree) -> None:
    tree.lines(lies("aster_2/results.jsonl"), [answered("q1", "alpha")])
    tree.lines("ehr_bench/oneshot/full1800/aster/results.jsonl", [answered("q1", "alpha")])
    assert not ingest(tree).findings("twin_names")
