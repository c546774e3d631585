"""The ingest as a task: called here, and run by a real worker over a real broker."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from celery import Celery
from celery.exceptions import TimeoutError as NoResult

from evaluation.models import Run
from ingest.pipeline import CannotIngest
from ingest.tasks import ingest_tree
from tests.live import environment, manage, process, scratch_database
from tests.needs import need

BROKER = os.environ.get("CLINBOARD_TEST_BROKER", "redis://127.0.0.1:6379/5")
ROWS = (
    {"qid": "made-up-1", "task": "ICU_Mortality_1day", "task_type": "risk_prediction", "label": "yes"},
    {"qid": "made-up-2", "task": "labevents", "task_type": "decision_making", "label": ["Made-up A", "Made-up B"]},
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """One run of two questions with their gold: one right, one half right."""
    gold = tmp_path / "tree" / "gold" / "ehr_bench.jsonl"
    gold.parent.mkdir(parents=True)
    gold.write_text("".join(json.dumps({**row, "subject_id": n}) + "\n" for n, row in enumerate(ROWS)))
    results = tmp_path / "tree" / "ehr_bench" / "agentic" / "full1800" / "made_up_model" / "results.jsonl"
    results.parent.mkdir(parents=True)
    with results.open("w") as out:
        for number, (row, answer) in enumerate(zip(ROWS, (["yes"], ["made-up a"]), strict=True)):
            call = {"function": {"name": "ehr.finish", "arguments": json.dumps({"response": answer})}}
            messages = [{"role": "assistant", "content": "", "tool_calls": [call]}]
            told = {"run_index": 1, "runs_per_question": 1, "status": "success", "completed": True}
            out.write(json.dumps({**row, "subject_id": number, **told, "messages": messages}) + "\n")
    return tmp_path / "tree"


COUNTS = {"rows_read": 2, "rows_loaded": 2, "runs": {"new": 1}}


@pytest.mark.django_db
def test_the_task_returns_the_counts_of_the_report(tree: Path) -> None:
    told = ingest_tree(str(tree), visibility="public")
    assert {name: told[name] for name in COUNTS} == COUNTS
    assert told["findings"].get("error", 0) == 0
    assert Run.objects.get().visibility == "public"
    again = ingest_tree(str(tree))
    assert (again["rows_loaded"], again["runs"]) == (0, {"unchanged": 1})


@pytest.mark.django_db
def test_the_task_gives_runs_to_a_person_and_a_team(tree: Path, django_user_model: type) -> None:
    from django.contrib.auth.models import Group

    django_user_model.objects.create_user("ada")  # type: ignore[attr-defined]
    Group.objects.create(name="ward-7")
    ingest_tree(str(tree), visibility="team", owner="ada", team="ward-7")
    run = Run.objects.select_related("owner", "team").get()
    assert (str(run.owner), str(run.team), run.visibility) == ("ada", "ward-7", "team")


@pytest.mark.django_db
@pytest.mark.parametrize("who", [{"owner": "nobody"}, {"team": "nobody"}])
def test_the_task_refuses_unknown_people(tree: Path, who: dict[str, str]) -> None:
    with pytest.raises(CannotIngest, match=r"nobody: no such (user|group)"):
        ingest_tree(str(tree), **who)  # type: ignore[arg-type]
    assert not Run.objects.exists()


@pytest.fixture
def queue() -> Iterator[str]:
    """A queue of its own on the broker, taken away afterwards."""
    broker = redis.Redis.from_url(BROKER, socket_connect_timeout=3)
    try:
        broker.ping()
    except redis.RedisError as error:
        need("worker", False, f"no Redis answers at {BROKER} ({error})")
    name = f"clinboard-test-{uuid.uuid4().hex}"
    yield name
    broker.delete(name, f"_kombu.binding.{name}")


@pytest.mark.worker
@pytest.mark.xdist_group("server")
def test_a_worker_ingests_a_tree_and_a_second_delivery_changes_nothing(tree: Path, tmp_path: Path, queue: str) -> None:
    app = Celery(broker=BROKER, backend=BROKER)
    with scratch_database(tmp_path) as database:
        manage(database, "migrate", "--verbosity", "0")
        env = environment(database, CELERY_BROKER_URL=BROKER)
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "config",
            "--result-backend",
            BROKER,
            "worker",
            "--pool",
            "threads",
        ]
        command += ["--concurrency", "1", "--loglevel", "WARNING", "--queues", queue]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        log = tmp_path / "worker.log"
        with process(command, log, env):
            for state, loaded in (("new", 2), ("unchanged", 0)):
                sent = app.send_task("ingest.tasks.ingest_tree", [str(tree)], {"visibility": "public"}, queue=queue)
                try:
                    told = sent.get(timeout=60)
                except NoResult:
                    pytest.fail(f"the worker gave no result: {log.read_text()}")
                assert (told["runs"], told["rows_loaded"]) == ({state: 1}, loaded)
                sent.forget()
            gone = app.send_task("ingest.tasks.ingest_tree", [str(tree / "nowhere")], queue=queue)
            with pytest.raises(CannotIngest, match="no such directory"):
                gone.get(timeout=60)
            gone.forget()
        scores = json.loads(manage(database, "scores", "--json").stdout)
    app.close()
    [headline] = [row for row in scores if (row["metric"], row["variant"], row["dimension"]) == ("f1", "", "overall")]
    # by hand: 1 for the first, precision 1 and recall 1/2 for the second
    assert headline["value"] == pytest.approx((1 + 2 / 3) / 2, abs=1e-12)
