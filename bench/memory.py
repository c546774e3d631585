"""Peak memory of `manage.py ingest` in a process of its own.

    python -m bench.memory ROOT GOLD

Runs the command on the migrated database of DATABASE_URL and prints, as JSON, the peak resident memory in MB, the part of it
that was there before the first file was looked at, and the length of the longest line read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ALLOWED_MB, LINES = 100, 2


def peak_mb() -> float:
    """The most memory that this process ever held, in MB of 10**6 bytes.

    From /proc, where there is one: the figure of getrusage begins with what the parent held when it started this process.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(root: Path, gold: Path) -> dict[str, Any]:
    """Peak, base and longest line of an ingest of `root`, in MB. The database must be empty of it."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", str(root), str(gold)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def bound_mb(longest: float) -> float:
    """What an ingest may hold (MB) when its longest line has so many MB."""
    return ALLOWED_MB + LINES * longest


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    root, gold = sys.argv[1:]
    sys.argv = ["manage.py", "ingest", root, "--gold", gold, "--json"]
    import django
    from django.core.management import execute_from_command_line

    django.setup()
    from ingest import pipeline
    from ingest.management.commands.ingest import Command  # noqa: F401 - what the command needs is loaded

    look, base = pipeline.look, 0.0

    def first_look(context: Any) -> Any:
        nonlocal base
        base = peak_mb()
        return look(context)

    pipeline.look = first_look
    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        execute_from_command_line(sys.argv)
    peak = peak_mb()
    from evaluation.models import ResultFile

    longest = max(file.counts["longest_line"] for file in ResultFile.objects.all()) / 1e6
    rows = json.loads(said.getvalue())["rows_loaded"]
    print(json.dumps({"peak": peak, "base": base, "longest": longest, "rows": rows}))


if __name__ == "__main__":
    main()
