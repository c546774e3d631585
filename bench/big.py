"""Peak memory of an ingest of very large files against its bound: 100 MB + 2 x the longest line.

    python -m bench.big [--gb 1.0] [--line 200] [--forms FORM ...]

Writes each file into a temporary folder, ingests it with `manage.py ingest` in a process of its own and takes it away.
Forms: `rows` (rows of 400 KB), `middle` (of 60 KB), `small` (of 2 KB), `line` (one line of `--line` MB among small ones),
`array` (`rows` as one JSON array), `packed` (`rows` as zstd). The database is that of DATABASE_URL (a scratch SQLite file
when unset); it is emptied between forms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import zstandard

from bench.ingest import empty, prepare, row, write_tree
from bench.memory import bound_mb, measure

FORMS = ("rows", "middle", "small", "line", "array", "packed")
ITEMS = 2703


def rows_of(count: int, size: int) -> Iterator[bytes]:
    """Rows of about `size` bytes; when there are more than items, later ones are further repeats."""
    rng = random.Random(size)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    for number in range(count):
        item = {
            "qid": f"ehr_bench_decision_making_{number % ITEMS}",
            "task": f"task_{number % 45:02d}",
            "label": words[:3],
        }
        yield json.dumps({**row(item, size, words, rng), "run_index": 1 + number // ITEMS}).encode()


def write(form: str, folder: Path, size: int, line: int) -> None:
    """The results file of a form, of about `size` bytes."""
    folder.mkdir(parents=True)
    per_row = {"small": 2_000, "line": 2_000, "middle": 60_000}.get(form, 400_000)
    rows = rows_of(ITEMS if form == "line" else max(1, size // per_row), per_row)
    if form == "array":
        with (folder / "results.json").open("wb") as out:
            for number, text in enumerate(rows):
                out.write((b",\n" if number else b"[\n") + text)
            out.write(b"\n]\n")
        return
    name = "results.jsonl.zst" if form == "packed" else "results.jsonl"
    with (folder / name).open("wb") as plain:
        out = zstandard.ZstdCompressor(level=1).stream_writer(plain) if form == "packed" else plain
        for number, text in enumerate(rows):
            if form == "line" and number == ITEMS // 2:
                text = text[:-1] + b', "padding": "' + b"x" * line + b'"}'
            out.write(text + b"\n")
        out.flush()
        if out is not plain:
            out.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--line", type=float, default=200.0, help="MB of the long line")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{scratch}/bench.sqlite3")
        prepare()
        write_tree(Path(scratch), 0, ITEMS, 0, random.Random(1))
        for form in options.forms:
            root = Path(scratch) / form
            write(form, root / "ehr_bench/agentic/full1800/made_up", round(options.gb * 1e9), round(options.line * 1e6))
            start = time.perf_counter()
            told = measure(root, Path(scratch) / "gold")
            spent = time.perf_counter() - start
            bound = bound_mb(told["longest"])
            verdict = "kept" if told["peak"] <= bound else "BROKEN"
            print(
                f"{form:<7} peak {told['peak']:.0f} MB of {bound:.0f} MB allowed ({verdict}); {told['base']:.0f} MB before the "
                f"first file, longest line {told['longest']:.1f} MB, {told['rows']} rows, {spent:.0f} s",
                flush=True,
            )
            empty()
            for path in sorted(root.rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()


if __name__ == "__main__":
    main()
