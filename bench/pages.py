"""Server time of pages at 200 runs x 6,605 items, against an empty Django view in the same run.

    python -m bench.pages [--runs 200] [--cases 1407] [--repeat 7]

Invented runs of LiveClin's size, written straight into the tables of a scratch SQLite file (or DATABASE_URL). For each page:
milliseconds and queries with empty caches, of a person signed in, of a visitor (for whom pages are kept whole) with the
rate as a share of the empty view's, and the bytes that are sent, all interleaved.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from bench.ingest import prepare

BOARD = "liveclin-bench-full-chat"
STAGES = ("Presentation & Assessment", "Diagnosis & Interpretation", "Therapeutic Strategy", "Follow-up")


def fill(runs: int, cases: int) -> None:
    """A board of `runs` models over `cases` cases with chapters, rarity, stages and positions."""
    from evaluation import models as m
    from evaluation.benchmarks import BENCHMARKS
    from evaluation.protocols.aggregate import facet_groups, means
    from evaluation.protocols.base import ItemSpec, Outcome
    from evaluation.statistics import mean_intervals  # noqa: F401 - loaded before the clock runs
    from leaderboard.models import Board

    spec = BENCHMARKS["liveclin"]
    stream = np.random.RandomState(1407)
    benchmark, _ = m.Benchmark.objects.get_or_create(slug="liveclin", defaults={"name": spec.name})
    release = m.Release.objects.create(benchmark=benchmark, name="bench")
    sizes = stream.randint(3, 7, size=cases)
    specs = []
    for case, size in enumerate(sizes):
        own = (("icd_chapter", f"Chapter {1 + case % 20}: Invented"), ("rarity", "rare" if case % 6 else "unrare"))
        for n in range(size):
            facets = (*own, ("stage", STAGES[min(n, 3)]), ("position", f"Q{n + 1}"))
            specs.append(ItemSpec(f"C{case}:{n}", f"C{case}", f"C{case}", "A", facets))
    split = m.Split.objects.create(release=release, name="full", fingerprint="f" * 64, expected_items=len(specs))
    items = m.Item.objects.bulk_create(
        [m.Item(release=release, key=s.key, case=s.case, cluster=s.cluster, gold="A") for s in specs]
    )
    m.SplitItem.objects.bulk_create([m.SplitItem(split=split, item=i, position=n) for n, i in enumerate(items)])
    pairs = {pair: m.Facet(release=release, dimension=pair[0], name=pair[1]) for s in specs for pair in s.facets}
    m.Facet.objects.bulk_create(pairs.values())
    held = m.Item.facets.through
    held.objects.bulk_create(
        [held(item=i, facet=pairs[pair]) for i, s in zip(items, specs, strict=True) for pair in s.facets]
    )
    assert spec.evaluator is not None
    evaluator, _ = m.Evaluator.objects.get_or_create(
        name=spec.evaluator.name,
        benchmark=benchmark,
        fingerprint=spec.evaluator.fingerprint,
        defaults={"description": spec.evaluator.description, "headline": "case_accuracy"},
    )
    codes = np.repeat(np.arange(cases), sizes)
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    questions = facet_groups(specs, ("icd_chapter", "rarity", "stage", "position"))
    of_cases = facet_groups([specs[first] for first in firsts], ("icd_chapter", "rarity"))
    for number in range(runs):
        model = m.LanguageModel.objects.create(slug=f"bench-{number}", name=f"Bench {number}", registered=True)
        run = m.Run.objects.create(
            key=f"bench{number:011}", split=split, mode="chat", model=model, model_name=model.name, repeats=[1],
            visibility="public",
        )  # fmt: skip
        made = m.Evaluation.objects.create(run=run, evaluator=evaluator, gold_fingerprint=split.fingerprint)
        right = (stream.random_sample(len(specs)) < 0.6 + 0.35 * number / runs).astype(float)
        solved = (np.bincount(codes, right) == sizes).astype(float)
        outcome = np.where(right > 0, Outcome.RIGHT, Outcome.WRONG).astype(np.uint8)
        vectors = {"outcome": outcome, "question_accuracy": right, "case_accuracy": solved[codes]}
        m.Vector.objects.bulk_create(
            [m.Vector(evaluation=made, repeat=0, name=name, data=data.tobytes()) for name, data in vectors.items()]
        )
        counted = np.full(cases, Outcome.WRONG, dtype=np.uint8)
        found = means({"question_accuracy": right}, outcome, questions, codes, repeat=1, seed="bench")
        found += means({"case_accuracy": solved}, counted, of_cases, np.arange(cases), repeat=1, seed="bench")
        m.Score.objects.bulk_create(
            [
                m.Score(
                    evaluation=made, repeat=a.repeat, metric=a.metric, variant=a.variant, dimension=a.dimension,
                    facet=a.facet, value=a.value, n=a.n, n_answered=a.n_answered, ci_low=a.ci_low, ci_high=a.ci_high,
                )
                for a in found
            ]
        )  # fmt: skip
    Board.objects.create(slug=BOARD, split=split, mode="chat", metric="case_accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", type=int, default=1407)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{Path(scratch)}/bench.sqlite3")
        prepare()
        from django.conf import settings
        from django.contrib.auth import get_user_model
        from django.core.cache import cache
        from django.db import connection
        from django.http import HttpResponse
        from django.test import Client
        from django.test.utils import CaptureQueriesContext
        from django.urls import path

        from config import urls
        from leaderboard.compare import entry_side
        from leaderboard.facetnames import facet_key

        settings.ALLOWED_HOSTS = ["testserver"]
        fill(options.runs, options.cases)
        urls.urlpatterns.append(path("bench-empty/", lambda request: HttpResponse("")))
        base, side = f"/boards/{BOARD}", partial(entry_side, BOARD)
        chapter, rare = facet_key("Chapter 2: Invented"), facet_key("rare")
        pages = {
            "empty view": "/bench-empty/",
            "board": f"{base}/",
            "by chapter, heat map": f"{base}/by/icd_chapter/",
            "by chapter, table": f"{base}/by/icd_chapter/?view=table",
            "by position, lines": f"{base}/by/position/",
            "by rarity, contrast": f"{base}/by/rarity/",
            "one facet": f"{base}/by/icd_chapter/{chapter}/",
            "against the median": f"{base}/by/icd_chapter/?model=bench-7",
            "head to head": f"/compare/?{urlencode({'a': side('bench-7'), 'b': side('bench-8')})}",
            "my case mix": f"{base}/mix/?rarity.{rare}=40&rarity.{facet_key('unrare')}=60",
        }
        visitor = Client(headers={"accept-encoding": "gzip"})
        person = Client(headers={"accept-encoding": "gzip"})
        person.force_login(get_user_model().objects.create_user("bench"))
        cold, queries, size = {}, {}, {}
        for name, address in pages.items():
            cache.clear()
            with CaptureQueriesContext(connection) as told:
                start = time.perf_counter()
                response = person.get(address)
                cold[name] = time.perf_counter() - start
            assert response.status_code == 200, address
            queries[name], size[name] = len(told), len(response.content)
        timed = {(who, name): [] for who in (visitor, person) for name in pages}
        warm = dict.fromkeys(pages, 0)
        for _ in range(options.repeat + 1):
            for (who, name), spent in timed.items():
                with CaptureQueriesContext(connection) as told:
                    start = time.perf_counter()
                    who.get(pages[name])
                    spent.append(time.perf_counter() - start)
                warm[name] = len(told) if who is person else warm[name]
        least = {key: median(spent[1:]) for key, spent in timed.items()}
        print(
            f"{options.runs} runs x {options.cases} cases; milliseconds and queries, visitors' share of an empty view's rate"
        )
        print(f"{'page':<22} {'cold':>12} {'signed in':>12} {'visitor':>14} {'sent':>9}")
        for name in pages:
            seen = least[visitor, name]
            print(
                f"{name:<22} {1000 * cold[name]:7.0f} / {queries[name]:2} {1000 * least[person, name]:7.1f} / {warm[name]:2} "
                f"{1000 * seen:7.2f} / {least[visitor, 'empty view'] / seen:.2f} {size[name] / 1000:6.1f} kB"
            )


if __name__ == "__main__":
    main()
