"""An ingest that is killed at any moment: nothing is half there, and the next one mends everything."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.ingest.trees import ROOT, Tree, answered, ehr_gold, run_path

MODELS, QUESTIONS, KILLS = 6, 120, 10
# Read in a process of its own: a row count of every table by natural keys, and whether any run is only half there.
PROBE = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from evaluation.models import Evaluation, ItemScore, Response, Run, Score, Vector
from ingest.models import Finding, SourceFile
half = []
for run in Run.objects.all():
    evaluations = list(Evaluation.objects.filter(run=run, current=True))
    rows = Response.objects.filter(run=run).count()
    scored = ItemScore.objects.filter(evaluation__in=evaluations).count()
    if not (len(evaluations) == 1 and rows == scored == run.counts["rows"] and run.files.count() == 1):
        half.append([run.key, len(evaluations), rows, scored])
tables = {
    "runs": sorted(map(list, Run.objects.values_list("key", "state", "model_name", "visibility"))),
    "responses": sorted(map(list, Response.objects.values_list("run__key", "ordinal", "item__key", "offset", "length"))),
    "verdicts": sorted(map(list, ItemScore.objects.values_list("evaluation__run__key", "ordinal", "outcome", "value"))),
    "scores": sorted(
        json.dumps(list(row))
        for row in Score.objects.values_list("evaluation__run__key", "metric", "variant", "facet", "value", "n", "ci_low")
    ),
    "vectors": Vector.objects.count(),
    "files": sorted(map(list, SourceFile.objects.values_list("path", "fate", "run__key", "size"))),
    "findings": sorted(map(list, Finding.objects.values_list("code", "path", "message"))),
}
json.dump({"half": half, "tables": tables}, sys.stdout)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of the commands: a database of its own, of the kind that the tests run on."""
    used = settings.DATABASES["default"]
    plain = {
        name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    }
    plain |= {"DEBUG": "1", "CLINBOARD_HOST": "here", "PYTHONPATH": str(ROOT)}
    if not used["ENGINE"].endswith("postgresql"):
        yield plain | {"DATABASE_URL": f"sqlite:///{tmp_path / 'killed.sqlite3'}"}
        return
    import psycopg

    name = f"clinboard_killed_{os.getpid()}"
    place = {
        "host": used["HOST"],
        "port": used["PORT"] or 5432,
        "user": used["USER"],
        "password": used["PASSWORD"] or None,
    }
    with psycopg.connect(dbname="postgres", autocommit=True, **place) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            secret = f":{used['PASSWORD']}" if used["PASSWORD"] else ""
            address = f"{used['USER']}{secret}@{used['HOST']}:{place['port']}"
            yield plain | {"DATABASE_URL": f"postgres://{address}/{name}"}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def command(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, **quiet)


def probe(environment: dict[str, str]) -> dict[str, Any]:
    import json

    found = subprocess.run([sys.executable, "-c", PROBE], cwd=ROOT, env=environment, capture_output=True, check=True)
    return json.loads(found.stdout)


def test_killed_at_ten_moments_and_ingested_again_equals_a_clean_ingest(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    labels = {f"q{number}": ["alpha", f"word{number}"] for number in range(QUESTIONS)}
    tree = Tree(tmp_path / "results")
    tree.json("gold/ehr_bench.json", ehr_gold(labels))
    choose = random.Random(3)
    for number in range(MODELS):
        rows = [answered(qid, choose.choice(["alpha", "beta"]), f"word{choose.randrange(150)}") for qid in labels]
        tree.lines(run_path(f"model_{number}"), rows)
    assert command(environment, "migrate", "-v0").wait(120) == 0
    began = time.monotonic()
    assert command(environment, "ingest", str(tree.root)).wait(120) == 0
    whole = time.monotonic() - began
    clean = probe(environment)
    assert not clean["half"] and len(clean["tables"]["runs"]) == MODELS
    assert command(environment, "flush", "--no-input", "-v0").wait(120) == 0

    for _ in range(KILLS):
        process = command(environment, "ingest", str(tree.root))
        time.sleep(whole * choose.uniform(0.3, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    seen = probe(environment)
    assert not seen["half"]
    assert command(environment, "ingest", str(tree.root)).wait(120) == 0
    assert probe(environment) == clean
    assert command(environment, "ingest", str(tree.root)).wait(120) == 0
    assert probe(environment) == clean
