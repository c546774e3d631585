"""A second look at an unchanged tree against a bare scandir + stat of the same files.

    python -m bench.rescan [--files 20000] [--links 2000] [--repeat 5]

The tree has one results file in twenty files; links lead to files, to directories, to nothing and in circles. Prints the
medians of interleaved rounds and their ratio; the ingest's own part (rows of the source from the database, the walk, what
became of each path) is timed in the running process, without the start of Python.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from bench.ingest import one_ingest, prepare, row


def write_tree(root: Path, files: int, links: int, rng: random.Random) -> None:
    results = root / "results"
    gold = [
        {"qid": f"ehr_bench_{n}", "subject_id": n, "task": "labevents", "task_type": "decision_making", "label": ["a"]}
        for n in range(5)
    ]
    (root / "gold").mkdir(parents=True)
    (root / "gold" / "ehr_bench.json").write_text(json.dumps(gold))
    folders = max(1, files // 20)
    for number in range(folders):
        folder = results / "ehr_bench" / "agentic" / "full1800" / f"model_{number:04d}"
        folder.mkdir(parents=True)
        lines = [json.dumps(row(item, 900, ["word"] * 5000, rng)) + "\n" for item in gold]
        (folder / "results.jsonl").write_text("".join(lines) + f'{{"qid": "extra_{number}", "messages": []}}\n')
        for other in range(19):
            (folder / f"run_{other:02d}.log").write_text("made up\n")
    place = results / "links"
    place.mkdir()
    for number in range(links):
        folder = f"../ehr_bench/agentic/full1800/model_{rng.randrange(folders):04d}"
        kind = number % 20
        target = (
            f"{folder}/run_00.log" if kind < 5 else folder if kind < 6 else f"link_{number}" if kind < 12 else "nothing"
        )
        (place / f"link_{number}").symlink_to(target)


def bare(root: Path) -> float:
    """scandir without following, and one stat a file: the least that telling "unchanged" can take."""
    start = time.perf_counter()
    stack, seen = [os.fspath(root / "results")], 0
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    seen += 1
    return time.perf_counter() - start


def again(root: Path) -> float:
    from ingest.pipeline import Options, ingest

    start = time.perf_counter()
    report = ingest(root / "results", Options(gold=[(None, root / "gold")]))
    spent = time.perf_counter() - start
    assert not report.rows_loaded and {run["state"] for run in report.runs} == {"unchanged"}
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{scratch}/bench.sqlite3")
        prepare()
        root = Path(scratch) / "tree"
        write_tree(root, options.files, options.links, random.Random(7))
        one_ingest(root)
        rounds = [(bare(root), again(root)) for _ in range(options.repeat)]
        base, whole = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(
            f"{options.files} files, {options.links} links, {options.files // 20} runs: unchanged re-scan {whole:.3f} s, "
            f"scandir + stat {base:.3f} s, ratio {whole / base:.2f}"
        )


if __name__ == "__main__":
    main()
