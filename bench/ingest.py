"""Whole ingest with scoring against orjson alone on the same files.

    python -m bench.ingest [--rows 2703] [--repeat 5]

Prints, for 30 runs of 2 KB lines and 3 runs of 60 KB lines, the median of interleaved rounds and their ratio, and the peak
memory of one ingest in a process of its own against 100 MB + 2 x the longest line. The database is that of DATABASE_URL
(a scratch SQLite file when unset); it is emptied between rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.memory import bound_mb, measure

TASKS = [f"task_{number:02d}" for number in range(45)]


def write_tree(root: Path, runs: int, rows: int, line: int, rng: random.Random) -> None:
    """A ClinSeek tree of `runs` models with `rows` rows of about `line` bytes, and its gold beside it."""
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    gold = [
        {
            "qid": f"ehr_bench_decision_making_{number}",
            "subject_id": number // 3,
            "task": TASKS[number % 45],
            "task_type": "decision_making" if number % 45 > 17 else "risk_prediction",
            "label": rng.sample(words, 3),
        }
        for number in range(rows)
    ]
    (root / "gold").mkdir(parents=True)
    (root / "gold" / "ehr_bench.json").write_text(json.dumps(gold))
    for run in range(runs):
        folder = root / "results" / "ehr_bench" / "agentic" / "full1800" / f"model_{run:02d}"
        folder.mkdir(parents=True)
        with (folder / "results.jsonl").open("w") as out:
            for item in gold:
                out.write(json.dumps(row(item, line, words, rng)) + "\n")


def row(item: dict, size: int, words: list[str], rng: random.Random) -> dict:
    answer = json.dumps({"response": [*item["label"][: rng.randint(0, 3)], *rng.sample(words, 1)]})
    call = {"id": "t1", "type": "function", "function": {"name": "ehr.finish", "arguments": answer}}
    start = rng.randrange(4000)
    text = " ".join(words[start : start + 1000])
    filler = (text * (size // len(text) + 1))[: max(0, size - 900)]
    return {
        "qid": item["qid"],
        "run_index": 1,
        "runs_per_question": 1,
        "session_id": f"{item['qid']}__q_1__run_1",
        "question": "made up",
        "messages": [
            {"role": "system", "content": "made up"},
            {"role": "tool", "content": filler, "tool_call_id": "t0"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "Finish", "tool_call_id": "t1"},
        ],
        "completed": True,
        "status": "success",
        "stop_reason": "finish_tool_call",
        **item,
    }


def yardstick(root: Path) -> float:
    import orjson

    start = time.perf_counter()
    for path in sorted((root / "results").rglob("*.jsonl")):
        with path.open("rb", buffering=1 << 20) as lines:
            for line in lines:
                orjson.loads(line)
    return time.perf_counter() - start


def empty() -> None:
    from evaluation.models import Release, Run
    from ingest.models import Source

    for model in (Source, Run, Release):
        model.objects.all().delete()


def one_ingest(root: Path) -> float:
    from ingest.pipeline import Options, ingest

    start = time.perf_counter()
    report = ingest(root / "results", Options(gold=[(None, root / "gold")]))
    spent = time.perf_counter() - start
    assert report.rows_loaded, report.findings[:3]
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2703)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{scratch}/bench.sqlite3")
        prepare()
        for name, runs, line in (("A: 30 runs, 2 KB lines", 30, 2_000), ("B: 3 runs, 60 KB lines", 3, 60_000)):
            root = Path(scratch) / name[0]
            write_tree(root, runs, options.rows, line, random.Random(line))
            rounds = []
            for _ in range(options.repeat):
                rounds.append((yardstick(root), one_ingest(root)))
                empty()
            base, whole = (statistics.median(column) for column in zip(*rounds, strict=True))
            told = measure(root / "results", root / "gold")
            empty()
            rate = runs * options.rows / whole
            print(
                f"{name}: ingest {whole:.2f} s ({rate:,.0f} rows/s), orjson alone {base:.2f} s, ratio {whole / base:.2f}; "
                f"peak {told['peak']:.0f} MB of {bound_mb(told['longest']):.0f} MB allowed, {told['base']:.0f} MB of it before "
                "the first file"
            )


def prepare() -> None:
    """Migrate the database of DATABASE_URL; exit where it holds runs, for benches write their own and empty it."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from evaluation.models import Run

    if Run.objects.exists():
        sys.exit("The database of DATABASE_URL holds runs, and benches empty it: name a scratch one.")


if __name__ == "__main__":
    main()
