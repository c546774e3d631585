"""Which files become runs: one row a rule, then what claims the same run, then paths."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.classify import Kind
from ingest.select import RULES, Place, Seen, Selection, Told, place_of, select
from ingest.walk import Entry

FULL = "ehr_bench/agentic/full1800"
RAW = "mm_bench/agentic/full2703/_multi_eval_raw/full5_20260421T091517Z"
_inodes = iter(range(1, 1_000_000))


def seen(path: str, kind: str = "results", root: str = "/data/tree", **fields: Any) -> Seen:
    """A file of its own; `real` or `inode` make it the same file as another."""
    about = fields.pop("about", {})
    inode = fields.pop("inode", None) or next(_inodes)
    values = {"physical": path, "real": f"{root}/{path}", "chain": (), "archived": path.startswith("_archive/")}
    values |= {"outside": False, "size": 1, "mtime_ns": 1, "device": 1, "inode": inode} | fields
    return Seen(Entry(path=path, **values), Kind(kind, about), root)


def live(path: str, model: str = "aster", dataset: str = "2025_H1", **fields: Any) -> Seen:
    return seen(path, "liveclin", about={"model": model, "dataset": dataset}, **fields)


def paths(selection: Selection) -> list[str]:
    return sorted(file.path for chosen in selection.chosen for file, _ in chosen.files)


# --- one row a rule ---------------------------------------------------------------------------------------------------

REFUSED = {
    "archived": [
        seen(f"_archive/{FULL}/m/results.jsonl"),
        seen(f"{FULL}/m_prev/results.jsonl", archived=True),
        seen("_archive/x/scored.jsonl", "scored"),
        seen("_archive/x/summary.json", "summary"),
        seen("_archive/x/odd.json", "unknown"),
        seen("_archive/live.json", "liveclin", about={"model": "aster", "dataset": "2025_H1"}),
    ],
    "smoke": [seen("mm_bench/agentic/full2703/smoke5_m/results.jsonl"), seen(f"{FULL}/smoke/results.jsonl")],
    "operational_summary": [seen(f"{RAW}/summary.json", "operational"), seen(f"{FULL}/m/summary.md", "operational")],
    "driver_input": [seen(f"{RAW}/m/us-east-1/input.jsonl", "driver_input")],
    "scored_output": [seen(f"{FULL}/m/per_question.jsonl", "scored"), seen("hierarchical/x/rows.jsonl", "scored")],
    "repaired_copy": [seen(f"{FULL}/m/results.repaired.jsonl", "repaired")],
    "derived": [seen(f"{FULL}/m/results_with_answers.json", "derived")],
    "retried": [seen(f"{FULL}/m_retried/results.jsonl"), seen(f"{FULL}/m_retried/us-east-1/results.jsonl")],
    "steal_copy": [
        seen(f"{RAW}/m/us-east-1/steal_01/results.jsonl"),
        seen(f"{RAW}/m/us-east-1/results_steal_01.jsonl"),
        seen("anywhere/steal_02/results.jsonl"),
    ],
    "shard": [seen(f"{FULL}/m/us-east-1/results.jsonl"), seen(f"{RAW}/m/us-east-1/results.jsonl")],
    "unknown_form": [
        seen("odd.jsonl", "unknown"),
        seen(f"{FULL}/m/results.json", "unknown"),
        seen(f"{FULL}/m/results.jsonl", "lfs_pointer"),
        seen(f"{FULL}/m/logs/odd.json", "unknown"),
        seen(f"{FULL}/m_retried/odd.json", "unknown"),
    ],
}


def test_the_table_covers_every_rule() -> None:
    assert list(REFUSED) == [name for name, _, _ in RULES]


@pytest.mark.parametrize(
    ("reason", "file"),
    [pytest.param(reason, file, id=f"{reason}:{file.path}") for reason, files in REFUSED.items() for file in files],
)
def test_each_rule_refuses_for_its_reason(reason: str, file: Seen) -> None:
    found = select([file])
    assert (found.chosen, found.undecided, found.refused) == ([], [], {file.path: reason})


def test_the_first_rule_that_fits_counts() -> None:
    everything = "_archive/ehr_bench/agentic/full1800/smoke_retried/steal_01/results_steal_01.jsonl"
    assert select([seen(everything)]).refused == {everything: "archived"}
    without = "ehr_bench/agentic/full1800/smoke_retried/steal_01/results_steal_01.jsonl"
    assert select([seen(without)]).refused == {without: "smoke"}
    assert select([seen(f"{FULL}/m_retried/steal_01/results.jsonl")]).refused.popitem()[1] == "retried"
    assert select([seen(f"{FULL}/m/steal_01/results.jsonl")]).refused.popitem()[1] == "steal_copy"


@pytest.mark.parametrize("kind", ["gold", "summary", "summary_text", "other"])
def test_what_is_no_result_needs_no_word(kind: str) -> None:
    found = select([seen(f"{FULL}/m/x.json", kind)])
    assert (found.chosen, found.refused, found.undecided) == ([], {}, [])


@pytest.mark.parametrize("directory", ["steal_of_time", "steal_models/deep"])
def test_a_directory_above_the_tree_is_no_steal_copy(directory: str) -> None:
    assert paths(select([seen(f"{directory}/{FULL}/m/results.jsonl")])) == [f"{directory}/{FULL}/m/results.jsonl"]


# --- a run of its own -------------------------------------------------------------------------------------------------


def test_a_plain_result_becomes_a_run() -> None:
    (chosen,) = select([seen(f"{FULL}/m/results.jsonl")]).chosen
    assert (chosen.benchmark, chosen.release, chosen.split, chosen.mode, chosen.model, chosen.archived) == (
        "ehr-bench",
        None,
        "full1800",
        "agentic",
        "m",
        False,
    )
    assert (chosen.path, chosen.why) == (f"{FULL}/m/results.jsonl", "results.jsonl of the model's directory")


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "jsonl.gz", "ndjson.zst"])
@pytest.mark.parametrize("stem", ["results", "merged_unique"])
def test_names_of_result_files(stem: str, ending: str) -> None:
    assert paths(select([seen(f"{FULL}/m/{stem}.{ending}")])) == [f"{FULL}/m/{stem}.{ending}"]


def test_merged_beats_single_results() -> None:
    found = select([seen(f"{FULL}/m/results.jsonl"), seen(f"{FULL}/m/merged_unique.jsonl")])
    assert (paths(found), found.refused) == (
        [f"{FULL}/m/merged_unique.jsonl"],
        {f"{FULL}/m/results.jsonl": "shard"},
    )


def test_the_canonical_directory_beats_retried_whatever_the_order() -> None:
    files = [seen(f"{FULL}/m_retried/results.jsonl"), seen(f"{FULL}/m/results.jsonl")]
    for order in (files, files[::-1]):
        found = select(order)
        assert (paths(found), found.refused) == (
            [f"{FULL}/m/results.jsonl"],
            {f"{FULL}/m_retried/results.jsonl": "retried"},
        )


def test_the_canonical_directory_beats_the_drivers_raw_tree() -> None:
    raw, own = seen(f"{RAW}/glm-4-7/merged_unique.jsonl"), seen("mm_bench/agentic/full2703/glm_4_7/results.jsonl")
    found = select([raw, own])
    assert (paths(found), found.refused) == ([own.path], {raw.path: "shard"})
    (alone,) = select([raw]).chosen
    assert (alone.model, alone.path) == ("glm-4-7", raw.path)


def test_modes_splits_and_benchmarks_are_runs_apart() -> None:
    places = (FULL, "ehr_bench/oneshot/full1800", "ehr_bench/agentic/smoke20", "mm_bench/agentic/full2703")
    assert len(select([seen(f"{place}/m/results.jsonl") for place in places]).chosen) == 4


def test_names_that_differ_in_case_are_two_models() -> None:
    found = select([seen(f"{FULL}/GLM_4_7/results.jsonl"), seen(f"{FULL}/glm_4_7/results.jsonl")])
    assert sorted(chosen.model for chosen in found.chosen) == ["GLM_4_7", "glm_4_7"]


def test_names_of_blanks_dots_and_trailing_spaces_stay_as_they_are() -> None:
    names = [" m", "m ", "m.", "ü", "模型", "m\nn"]
    assert {chosen.model for chosen in select([seen(f"{FULL}/{n}/results.jsonl") for n in names]).chosen} == set(names)


@pytest.mark.parametrize(
    "path",
    [
        "results.jsonl",
        "m/results.jsonl",
        "ehr_bench/full1800/m/results.jsonl",
        f"{FULL}/results.jsonl",
        f"{FULL}/m/results_old.jsonl",
        f"{FULL}/m/Results.JSONL",
        "mm_bench/agentic/scored/m/results.jsonl",
        f"{RAW}/results.jsonl",
    ],
)
def test_rows_at_a_place_that_says_nothing_are_undecided(path: str) -> None:
    found = select([seen(path)])
    assert (found.chosen, found.refused) == ([], {path: "undecided"})
    ((told, message),) = found.undecided
    assert told == path and "<benchmark>/<mode>/<split>/<model>" in message


# --- several paths to one file ----------------------------------------------------------------------------------------


def test_a_path_without_links_beats_one_with_links() -> None:
    first = seen(f"{FULL}/a_link/results.jsonl", inode=7, chain=(("a_link", "m"),))
    second = seen(f"{FULL}/m/results.jsonl", inode=7)
    found = select([first, second])
    assert (paths(found), found.refused) == ([second.path], {first.path: "duplicate_path"})


def test_the_models_directory_beats_the_raw_tree_it_links_to() -> None:
    raw = seen(f"{RAW}/glm-4-7/merged_unique.jsonl", inode=7)
    link = seen("mm_bench/agentic/full2703/glm_4_7/merged_unique.jsonl", inode=7, chain=(("glm_4_7", "…"),))
    found = select([raw, link])
    assert (paths(found), found.refused) == ([link.path], {raw.path: "duplicate_path"})
    assert found.chosen[0].why == "merged file of the model's directory, reached through a link"


def test_hard_links_are_one_file() -> None:
    files = [seen(f"{FULL}/{name}/results.jsonl", inode=9) for name in ("b", "a")]
    found = select(files)
    assert (paths(found), found.refused) == ([f"{FULL}/a/results.jsonl"], {f"{FULL}/b/results.jsonl": "duplicate_path"})
    # the same number on another disk is another file
    other = seen(f"{FULL}/c/results.jsonl", inode=9, device=2)
    assert len(select([*files, other]).chosen) == 2


def test_a_file_that_is_archived_by_one_path_and_live_by_another() -> None:
    files = [seen(f"{FULL}/m/results.jsonl", inode=5), seen(f"{FULL}/old/results.jsonl", inode=5, archived=True)]
    assert paths(select(files)) == [f"{FULL}/m/results.jsonl"]
    both = select(files, include_archived=True)
    assert {chosen.model: chosen.archived for chosen in both.chosen} == {"m": False, "old": True}


# --- the archive ------------------------------------------------------------------------------------------------------


def test_the_archive_is_taken_only_when_asked_and_never_beside_live_runs() -> None:
    files = [
        seen(f"{FULL}/m/results.jsonl"),
        seen(f"_archive/{FULL}/m/results.jsonl"),
        seen("_archive/somewhere/results.jsonl"),
        seen("_archive/somewhere/scored.jsonl", "scored"),
    ]
    found = select(files, include_archived=True)
    assert {chosen.path: chosen.archived for chosen in found.chosen} == {files[0].path: False, files[1].path: True}
    assert found.refused == {files[2].path: "archived", files[3].path: "archived"}
    assert found.undecided == []


# --- claims that no rule decides --------------------------------------------------------------------------------------


def test_two_files_of_one_directory_are_undecided_and_both_named() -> None:
    files = [seen(f"{FULL}/m/results.jsonl"), seen(f"{FULL}/m/results.jsonl.gz")]
    found = select(files)
    assert (found.chosen, set(found.refused.values())) == ([], {"undecided"})
    assert [path for path, _ in found.undecided] == [file.path for file in files]
    assert all(file.path in message for _, message in found.undecided for file in files)


def test_a_tie_of_the_best_leaves_the_others_their_reason() -> None:
    merged = [seen(f"{FULL}/m/merged_unique.jsonl"), seen(f"{FULL}/m/merged_unique.jsonl.gz")]
    found = select([*merged, seen(f"{FULL}/m/results.jsonl")])
    assert found.refused == {
        merged[0].path: "undecided",
        merged[1].path: "undecided",
        f"{FULL}/m/results.jsonl": "shard",
    }


SAME = Told(model=lambda path, name: name.lower().replace("-", "_").replace(".", "_"))


def test_two_directories_of_one_model_are_undecided() -> None:
    """Aliases say that both names are one model: nothing says which of the two runs it is."""
    files = [seen(f"{FULL}/Claude-Opus-4.6/results.jsonl"), seen(f"{FULL}/claude_opus_4_6/results.jsonl")]
    assert len(select(files).chosen) == 2
    found = select(files, told=SAME)
    assert (found.chosen, set(found.refused.values()), len(found.undecided)) == ([], {"undecided"}, 2)


def test_the_configuration_decides() -> None:
    files = [seen(f"{FULL}/m/results.jsonl"), seen(f"{FULL}/m/results.jsonl.gz"), seen(f"{FULL}/m/merged_unique.jsonl")]
    found = select(files, told=Told(wins=lambda path: "named" * path.endswith(".gz")))
    assert paths(found) == [f"{FULL}/m/results.jsonl.gz"]
    assert found.refused == {files[0].path: "override", files[2].path: "override"}
    both = select(files, told=Told(wins=lambda path: "named" * ("results" in path)))
    assert both.refused == {files[0].path: "undecided", files[1].path: "undecided", files[2].path: "override"}


def test_the_configuration_can_prefer_the_raw_tree_and_the_model_keeps_its_name() -> None:
    raw, own = seen(f"{RAW}/glm-4-7/merged_unique.jsonl"), seen("mm_bench/agentic/full2703/glm_4_7/results.jsonl")
    (chosen,) = select([raw, own], told=Told(wins=lambda path: "named" * ("_multi_eval_raw" in path))).chosen
    assert (chosen.path, chosen.model) == (raw.path, "glm_4_7")


def test_stated_repeats_are_runs_apart() -> None:
    files = [seen(f"{FULL}/m/results.jsonl"), seen(f"{FULL}/m_second/results.jsonl")]
    told = Told(model=lambda path, name: "m", repeat=lambda path: 2 if "second" in path else None)
    assert len(select(files, told=told).chosen) == 2
    assert len(select(files, told=Told(model=lambda path, name: "m")).undecided) == 2


# --- LiveClin ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "repeat"),
    [
        ("aster_2025_H1.json", 1),
        ("aster_2025_H1_run1.json", 1),
        ("aster_2025_H1_run2.json", 2),
        ("aster_run12.json.gz", 12),
        ("aster_run2_old.json", 1),
        ("aster_run0.json", 1),
        ("aster_run.json", 1),
        ("run3.json", 1),
        ("aster_run99999999999999999999.json", 1),
        ("deep/er/aster_run3.json.zst", 3),
    ],
)
def test_the_repeat_of_a_liveclin_file(name: str, repeat: int) -> None:
    (chosen,) = select([live(name)]).chosen
    assert [number for _, number in chosen.files] == [repeat]
    assert (chosen.benchmark, chosen.release, chosen.split, chosen.mode) == ("liveclin", "2025_H1", "full", "chat")


def test_liveclin_clashes_are_undecided_and_the_rest_goes_on() -> None:
    files = [live("a/x.json"), live("b/x.json"), live("c.json", "borea"), live("d.json", dataset="2025_H2")]
    found = select(files)
    assert paths(found) == ["c.json", "d.json"]
    assert found.refused == {"a/x.json": "undecided", "b/x.json": "undecided"}
    assert all("aster on liveclin 2025_H1, repeat 1: a/x.json, b/x.json" in message for _, message in found.undecided)


def test_a_stated_release_makes_two_datasets_one() -> None:
    files = [live("a.json", dataset="2025_H1"), live("b.json", dataset="demo")]
    assert len(select(files).chosen) == 2
    assert set(select(files, told=Told(release="mine")).refused.values()) == {"undecided"}


def test_stated_repeats_and_winners_of_liveclin() -> None:
    files = [live("a.json"), live("b.json")]
    told = Told(repeat=lambda path: 2 if path == "b.json" else None)
    assert {chosen.path: chosen.files[0][1] for chosen in select(files, told=told).chosen} == {"a.json": 1, "b.json": 2}
    found = select(files, told=Told(wins=lambda path: "named" * (path == "b.json")))
    assert (paths(found), found.refused) == (["b.json"], {"a.json": "override"})


def test_links_to_a_liveclin_file_are_one_run() -> None:
    files = [live("z/x.json", inode=3), live("a/x.json", inode=3, chain=(("a", "z"),))]
    found = select(files)
    assert (paths(found), found.refused) == (["z/x.json"], {"a/x.json": "duplicate_path"})


# --- LLMEval-Med ------------------------------------------------------------------------------------------------------


def med(path: str, **fields: Any) -> Seen:
    return seen(path, "llmeval", **fields)


def test_the_scored_files_of_a_folder_are_one_run() -> None:
    (chosen,) = select([med(f"aster/run{n}_score.json") for n in (10, 2, 1)]).chosen
    assert [(file.path, repeat) for file, repeat in chosen.files] == [
        ("aster/run1_score.json", 1),
        ("aster/run2_score.json", 2),
        ("aster/run10_score.json", 10),
    ]
    assert (chosen.benchmark, chosen.model, chosen.split, chosen.mode) == ("llmeval-med", "aster", "full", "chat")


def test_files_of_the_root_belong_to_a_model_of_the_roots_name() -> None:
    (chosen,) = select([med("run1_score.json", root="/data/aster")]).chosen
    assert chosen.model == "aster"


@pytest.mark.parametrize(
    "files",
    [
        ["aster/run1_score.json", "aster/run1_score_b.json"],
        ["aster/run1_score.json", "aster/score.json"],
        ["aster/run1_score.json", "aster/run1_score_b.json", "aster/run2_score.json"],
        ["a/aster/run1_score.json", "b/aster/run2_score.json"],
        ["aster/run0_score.json", "aster/run2_score.json"],
    ],
)
def test_llmeval_clashes_leave_the_whole_model_undecided(files: list[str]) -> None:
    found = select([*map(med, files), med("borea/run1_score.json")])
    assert found.refused == dict.fromkeys(files, "undecided")
    assert sorted(path for path, _ in found.undecided) == sorted(files)
    assert paths(found) == ["borea/run1_score.json"]


def test_the_configuration_decides_between_judging_runs() -> None:
    files = [med("aster/run1_score.json"), med("aster/run1_score_b.json"), med("aster/run2_score.json")]
    found = select(files, told=Told(wins=lambda path: "named" * path.endswith("_b.json")))
    assert paths(found) == ["aster/run1_score_b.json", "aster/run2_score.json"]
    assert found.refused == {"aster/run1_score.json": "override"}


# --- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"{FULL}/m/results.jsonl", Place("ehr-bench", "agentic", "full1800", "m", ("results.jsonl",))),
        (f"deep/er/{FULL}/m/x/y.jsonl", Place("ehr-bench", "agentic", "full1800", "m", ("x", "y.jsonl"))),
        (
            "agent_ehr_bench/agentic/subset600/m/results.jsonl",
            Place("agent-ehr-bench", "agentic", "subset600", "m", ("results.jsonl",)),
        ),
        (
            f"{RAW}/glm-4-7/merged_unique.jsonl",
            Place("mm-bench", "agentic", "full2703", "glm-4-7", ("merged_unique.jsonl",), raw=True),
        ),
        (f"{RAW}/summary.json", None),
        ("ehr_bench/chat/full1800/m/results.jsonl", None),
        ("EHR_bench/agentic/full1800/m/results.jsonl", None),
        (f"{FULL}/results.jsonl", None),
        ("", None),
        ("mm_bench/oneshot/scored/m/scored.jsonl", None),
    ],
)
def test_what_a_path_says(path: str, place: Place | None) -> None:
    assert place_of(path) == place


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("/data/ehr_bench", "agentic/full1800/m/results.jsonl"),
        ("/data/ehr_bench/agentic", "full1800/m/results.jsonl"),
        ("/data/ehr_bench/agentic/full1800", "m/results.jsonl"),
        ("/data/ehr_bench/agentic/full1800/m", "results.jsonl"),
    ],
)
def test_a_root_inside_the_tree_still_says_what_it_holds(root: str, path: str) -> None:
    (chosen,) = select([seen(path, root=root)]).chosen
    assert (chosen.benchmark, chosen.mode, chosen.split, chosen.model, chosen.path) == (
        "ehr-bench",
        "agentic",
        "full1800",
        "m",
        path,
    )


def test_the_path_in_the_tree_counts_before_the_place_of_the_root() -> None:
    (chosen,) = select([seen(f"{FULL}/m/results.jsonl", root="/data/mm_bench/oneshot/x/y")]).chosen
    assert (chosen.benchmark, chosen.mode) == ("ehr-bench", "agentic")
