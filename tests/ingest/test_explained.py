"""Every decision is explained: in `--json`, in the tables and on the run page; what a clinboard.yaml says has its line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from evaluation.models import Evaluation, LanguageModel, Run
from ingest.models import SourceFile
from ingest.select import RULES, WORDS
from leaderboard.models import Board
from leaderboard.standings import standings
from tests.ingest.trees import (
    GOLD,
    Called,
    Tree,
    answered,
    called,
    ehr_gold,
    ingest,
    live_case,
    live_results,
    med_document,
    run_path,
    small_tree,
    tables,
)

pytestmark = pytest.mark.django_db
FULL = "ehr_bench/agentic/full1800"


def whys(result: Called) -> dict[str, str]:
    """path -> why, of runs and of files that are none."""
    entries = [*result.document["runs"], *result.document["not_runs"]]
    return {entry["path"]: entry["why"] for entry in entries}


def config(tree: Tree, text: str) -> str:
    """Writes a clinboard.yaml; gives its sha256."""
    tree.text("clinboard.yaml", text)
    return hashlib.sha256(text.encode()).hexdigest()


# --- why a file is a run, or none -------------------------------------------------------------------------------------


def test_every_line_of_the_document_says_why(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7", "kimi_k2_5")
    row = [answered("q1", "alpha")]
    tree.lines(f"{FULL}/glm_4_7/merged_unique.jsonl", row)
    tree.lines(f"{FULL}/glm_4_7/us-east-1/results.jsonl", row)
    tree.lines(f"{FULL}/kimi_k2_5_retried/results.jsonl", row)
    tree.lines(f"{FULL}/smoke5_kimi/results.jsonl", row)
    tree.lines("_archive/old/results.jsonl", row)
    tree.text("odd.jsonl", "hello\n")
    tree.link(f"{FULL}/Kimi", "kimi_k2_5")
    tree.link(f"{FULL}/gone", "nowhere")
    tree.lines(f"{FULL}/twin/results.jsonl", row)
    tree.lines(f"{FULL}/twin/results.jsonl.gz", row)
    result = ingest(tree)
    told = whys(result)
    assert told[f"{FULL}/glm_4_7/merged_unique.jsonl"] == (
        "merged file of the model's directory; the merged file beats single results"
    )
    assert told[f"{FULL}/glm_4_7/results.jsonl"] == (
        f"the merged file beats single results: {FULL}/glm_4_7/merged_unique.jsonl"
    )
    assert told[f"{FULL}/kimi_k2_5/results.jsonl"] == "results.jsonl of the model's directory"
    assert told[f"{FULL}/Kimi/results.jsonl"] == f"the same file as {FULL}/kimi_k2_5/results.jsonl"
    assert "does not exist" in told[f"{FULL}/gone"]
    assert "several files claim to be twin" in told[f"{FULL}/twin/results.jsonl"]
    words = {name: words for name, words, _ in RULES}
    for path, reason in (
        (f"{FULL}/glm_4_7/us-east-1/results.jsonl", "shard"),
        (f"{FULL}/kimi_k2_5_retried/results.jsonl", "retried"),
        (f"{FULL}/smoke5_kimi/results.jsonl", "smoke"),
        ("_archive/old/results.jsonl", "archived"),
    ):
        assert (result.not_runs[path], told[path]) == (reason, words[reason])
    assert told["odd.jsonl"]
    assert all(told.values())
    # the same words stand with the files in the tables, and a second ingest says them again
    kept = dict(SourceFile.objects.exclude(why="").values_list("path", "why"))
    assert kept == {path: why for path, why in told.items() if path in result.not_runs}
    assert dict(Run.objects.values_list("files__path", "why")) == {path: told[path] for path in result.runs}
    assert whys(ingest(tree)) == told


def test_every_reason_has_words() -> None:
    assert WORDS.keys() == {name for name, _, _ in RULES} | {
        "duplicate_path",
        "undecided",
        "override",
        "no_gold",
        "unreadable",
    }
    assert all(WORDS.values())


def test_without_gold(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    tree.lines(run_path("glm_4_7"), [answered("q1", "alpha")])
    result = ingest(tree)
    assert whys(result) == {run_path("glm_4_7"): "there is no gold for it"}


def test_what_the_configuration_decides_is_told_with_its_line(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7", "kimi_k2_5")
    tree.lines(f"{FULL}/glm_4_7/results.jsonl.gz", [answered("q1", "alpha")])
    text = """\
wins:
  - path: "**/results.jsonl.gz"
    why: the other was cut
leave_out:
  - {path: "**/kimi_k2_5/*", why: "server was misconfigured"}
"""
    config(tree, text)
    result = ingest(tree)
    assert result.not_runs == {
        f"{FULL}/glm_4_7/results.jsonl": "override",
        f"{FULL}/kimi_k2_5/results.jsonl": "override",
    }
    assert whys(result) == {
        f"{FULL}/glm_4_7/results.jsonl.gz": (
            "results.jsonl of the model's directory; clinboard.yaml line 2: the other was cut"
        ),
        f"{FULL}/glm_4_7/results.jsonl": (f"clinboard.yaml line 2: the other was cut: {FULL}/glm_4_7/results.jsonl.gz"),
        f"{FULL}/kimi_k2_5/results.jsonl": "left out by clinboard.yaml line 5: server was misconfigured",
    }


# --- what the configuration says of a run -----------------------------------------------------------------------------

STATED = """\
runs:
  - {path: "**", shots: 0, decoding: "temperature 0", judge: nobody}
  - path: "**/glm_4_7/*"
    decoding: greedy
    snapshot: 2026-09-02
    cost_usd: 12.5
"""


def test_statements_are_kept_with_their_lines_and_shown(tmp_path: Path, client: Any) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7")
    sha256 = config(tree, STATED)
    result = ingest(tree, "--visibility", "public")
    (entry,) = result.document["runs"]
    fields = {
        "shots": {"value": 0, "line": 2},
        "decoding": {"value": "greedy", "line": 4},
        "judge": {"value": "nobody", "line": 2},
        "snapshot": {"value": "2026-09-02", "line": 5},
        "cost_usd": {"value": 12.5, "line": 6},
    }
    assert entry["stated"] == {"file": "clinboard.yaml", "sha256": sha256, "fields": fields}
    run = Run.objects.get()
    assert run.stated == entry["stated"]
    assert (run.shots, run.protocol["decoding"], run.protocol["cost_usd"]) == (0, "greedy", 12.5)
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert f"Selected because: {entry['why']}." in page.replace("&#x27;", "'")
    shown = page[page.index("Stated in <code>clinboard.yaml</code>:") :].split(". <span")[0]
    told = ["Judge nobody", "Shots 0", "Decoding greedy", "Snapshot 2026-09-02", "Cost, US dollars 12.5"]
    assert [shown.index(text) for text in told] == sorted(shown.index(text) for text in told)
    assert shown.count("(line 2)") == 2 and "(line 6)" in shown and sha256 in page
    document = client.get(f"/api/v1/runs/{run.key}").json()
    assert (document["why"], document["stated"]) == (entry["why"], entry["stated"])


def test_without_a_configuration_nothing_is_stated(tmp_path: Path, client: Any) -> None:
    tree = small_tree(tmp_path / "t")
    result = ingest(tree, "--visibility", "public")
    assert result.document["runs"][0]["stated"] == Run.objects.get().stated == {}
    assert "Stated in" not in client.get(Run.objects.get().get_absolute_url()).content.decode()


def test_lines_that_moved_are_kept_up_without_reading_anything(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7")
    config(tree, STATED)
    ingest(tree)
    sha256 = config(tree, "# one more line\n" + STATED)
    before = tables()
    dry = ingest(tree, "--dry-run")
    assert (tables(), dry.document["runs"][0]["stated"]["fields"]["shots"]["line"]) == (before, 3)
    again = ingest(tree)
    (entry,) = again.document["runs"]
    assert (again.document["rows_read"], entry["state"]) == (0, "unchanged")
    assert Run.objects.get().stated == entry["stated"]
    assert (entry["stated"]["sha256"], entry["stated"]["fields"]["decoding"]["line"]) == (sha256, 5)


def test_what_is_said_later_changes_the_run_and_its_board_but_not_its_identity(tmp_path: Path) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7")
    ingest(tree)
    run = Run.objects.get()
    assert (run.shots, run.origin, run.protocol) == (None, "ours", {})
    config(tree, 'runs: [{path: "**", shots: 2, conversation_kept: true, origin: uploaded, decoding: greedy}]')
    (entry,) = ingest(tree).document["runs"]
    again = Run.objects.get()
    assert (again.key, again.pk, entry["state"]) == (run.key, run.pk, "unchanged")
    assert (again.shots, again.conversation_kept, again.origin) == (2, True, "uploaded")
    assert again.protocol == {"decoding": "greedy"}
    assert Board.objects.filter(shots=2, conversation_kept=True).exists()
    (tree.root / "clinboard.yaml").unlink()
    ingest(tree)
    again = Run.objects.get()
    assert (again.shots, again.conversation_kept, again.origin, again.protocol, again.stated) == (
        None,
        None,
        "ours",
        {},
        {},
    )
    assert Evaluation.objects.count() == 1


def test_words_for_strangers_hold_no_addresses(tmp_path: Path, client: Any, admin_client: Any) -> None:
    tree = small_tree(tmp_path / "t", "glm_4_7")
    tree.lines(f"{FULL}/glm_4_7/results.jsonl.gz", [answered("q1", "alpha")])
    config(tree, 'wins: [{path: "**.gz", why: "from https://gpu7.lab.internal/x and /srv/data/y"}]')
    ingest(tree, "--visibility", "public")
    url = Run.objects.get().get_absolute_url()
    stranger, staff = (one.get(url).content.decode() for one in (client, admin_client))
    assert "gpu7" in staff and "/srv/data" in staff
    assert "gpu7" not in stranger and "/srv/data" not in stranger
    assert "gpu7" not in client.get(f"/api/v1{url.rstrip('/')}").content.decode()


# --- three folders of one model are its repeats -----------------------------------------------------------------------

FOLDERS = {
    "trees beside each other": "run{n}/" + run_path("aster"),
    "folders in the place of the model": run_path("run{n}"),
    "folders below the model": f"{FULL}/aster/run{{n}}/results.jsonl",
    "the number behind the model's name": run_path("aster_run{n}"),
    "a merged file each": f"{FULL}/aster/run{{n}}/merged_unique.jsonl",
}


def repeats_of(tree: Tree, pattern: str, model: str = "aster") -> None:
    globs = (pattern.format(n=n) for n in (1, 2, 3))
    lines = [f'  - {{path: "{glob}", model: "{model}", repeat: {n}}}\n' for n, glob in enumerate(globs, 1)]
    config(tree, "runs:\n" + "".join(lines))


@pytest.mark.parametrize("pattern", FOLDERS.values(), ids=FOLDERS)
def test_three_folders_are_three_repeats_of_one_model(tmp_path: Path, pattern: str) -> None:
    """Of three questions 1, 2 and 3 are right in the three repeats."""
    tree = Tree(tmp_path / "t")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    for n in (1, 2, 3):
        answers = [answered("q1", "alpha", "beta"), answered("q2", "gamma"), answered("q3", "yes")]
        wrong = [answered(f"q{number}", "omega") for number in range(n + 1, 4)]
        tree.lines(pattern.format(n=n), [*answers[:n], *wrong])
    repeats_of(tree, pattern)
    result = ingest(tree, "--visibility", "public")
    assert (result.code, result.not_runs) == (0, {})
    runs = {entry["path"]: entry for entry in result.document["runs"]}
    assert {path: (entry["model"], entry["repeats"]) for path, entry in runs.items()} == {
        pattern.format(n=n): ("aster", [n]) for n in (1, 2, 3)
    }
    for n in (1, 2, 3):
        said = f"clinboard.yaml line {n + 1}: repeat {n}; clinboard.yaml line {n + 1}: model aster"
        assert runs[pattern.format(n=n)]["why"].endswith(said)
    assert LanguageModel.objects.filter(runs__isnull=False).distinct().count() == 1

    rows = called("scores", "--json").document
    headline = {
        (row["model"], row["repeat"]): row["value"]
        for row in rows
        if (row["metric"], row["variant"], row["dimension"]) == ("f1", "", "overall")
    }
    assert headline == {("aster", n): pytest.approx(n / 3) for n in (1, 2, 3)}

    (standing,) = standings(list(Board.objects.with_benchmark()), AnonymousUser())
    (entry,) = standing.entries
    assert entry.spread == [pytest.approx(n / 3) for n in (1, 2, 3)]
    assert entry.figures[standing.headline].value == pytest.approx(2 / 3)
    assert [run.repeats for run in entry.runs] == [[1], [2], [3]] and entry.passed_over == 0
    again = ingest(tree)
    assert {run["state"] for run in again.runs.values()} == {"unchanged"} and again.document["rows_read"] == 0


def test_what_lies_below_a_repeat_is_a_shard_of_it(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    for n in (1, 2):
        tree.lines(f"{FULL}/aster/run{n}/results.jsonl", [answered("q1", "alpha")])
        tree.lines(f"{FULL}/aster/run{n}/us-east-1/results.jsonl", [answered("q1", "alpha")])
    config(
        tree, f'runs:\n- {{path: "{FULL}/aster/run1/**", repeat: 1}}\n- {{path: "{FULL}/aster/run2/**", repeat: 2}}\n'
    )
    result = ingest(tree)
    assert sorted(result.runs) == [f"{FULL}/aster/run{n}/results.jsonl" for n in (1, 2)]
    assert set(result.not_runs.values()) == {"shard"}
    told = whys(result)[f"{FULL}/aster/run2/us-east-1/results.jsonl"]
    assert told == f"the run's own folder beats what lies below it: {FULL}/aster/run2/results.jsonl"


def test_the_same_repeat_twice_is_undecided(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    for name in ("a", "b"):
        tree.lines(run_path(name), [answered("q1", "alpha")])
    config(tree, f'runs: [{{path: "{FULL}/*/results.jsonl", model: aster, repeat: 2}}]')
    result = ingest(tree)
    assert (result.code, set(result.not_runs.values())) == (1, {"undecided"})
    assert all("several files claim to be" in why for why in whys(result).values())


def test_repeats_of_liveclin_by_folder(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    tree.lines("dataset.jsonl", [live_case("PMC1", "AB")])
    for n, letters in enumerate(("AB", "AA", "BB"), 1):
        tree.json(f"run{n}/x.json", live_results("aster" if n == 1 else f"aster_run{n}", {"PMC1": letters}))
    repeats_of(tree, "run{n}/x.json")
    result = ingest(tree)
    assert {path: (run["model"], run["repeats"]) for path, run in result.runs.items()} == {
        f"run{n}/x.json": ("aster", [n]) for n in (1, 2, 3)
    }


def test_repeats_of_llmeval_med_by_folder_of_one_judging_file(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    tree.json("dataset.json", med_document())
    for n in (1, 2, 3):
        tree.json(f"aster_run{n}/run1_score.json", med_document({(1, 1): 5, (1, 2): n + 1, (2, 1): 4}))
    repeats_of(tree, "aster_run{n}/run1_score.json")
    result = ingest(tree)
    assert {path: (run["model"], run["repeats"]) for path, run in result.runs.items()} == {
        f"aster_run{n}/run1_score.json": ("aster", [n]) for n in (1, 2, 3)
    }
    (standing,) = standings(list(Board.objects.with_benchmark()), _staff())
    assert len(standing.entries) == 1 and len(standing.entries[0].spread) == 3


def _staff() -> Any:
    from django.contrib.auth.models import User

    return User.objects.create_user("staff", is_staff=True)


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    """The yaml block on repeats in docs/clinboard-yaml.md is taken as it stands."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "clinboard-yaml.md").read_text("utf-8")
    block = text.split("## Repeats in folders")[1].split("```yaml\n")[1].split("```")[0]
    tree = Tree(tmp_path / "t")
    tree.json("gold/ehr_bench.json", ehr_gold(GOLD))
    for n in (1, 2, 3):
        tree.lines(f"{FULL}/aster_3_large/run{n}/results.jsonl", [answered("q1", "alpha")])
        tree.lines(run_path(f"boreal_run{n}"), [answered("q1", "alpha")])
    config(tree, block)
    result = ingest(tree)
    assert sorted((run["model"], run["repeats"][0]) for run in result.document["runs"]) == [
        (model, n) for model in ("aster_3_large", "boreal") for n in (1, 2, 3)
    ]
    assert "config_unused" not in result.codes
