"""Each published figure has its place among our scores, and each named aggregate its plain arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.ehr_bench import TASK_GROUPS
from evaluation.protocols.base import ItemSpec
from evaluation.protocols.clinseek_mm_means import MULTIMODAL_TASKS
from leaderboard.published import TASK_TYPES, read
from leaderboard.twins import Twin, twin, twin_of
from tests.evaluation.test_clinseek_mm_raw import answers_of, gold_row, row, table
from tests.ingest.trees import answered

FILE = Path(__file__).resolve().parents[1] / "fixtures" / "published" / "clinseek.json"


def test_every_published_figure_of_clinseek_has_a_twin() -> None:
    figures = read(FILE).figures
    assert len(figures) == 305
    for figure in figures:
        found = twin_of(figure)
        assert found is not None, figure.identity
        spec = BENCHMARKS[figure.benchmark]
        evaluator = spec.named(found.evaluator)
        assert evaluator is not None and found.metric in evaluator.metrics
        assert found.dimension in {"overall", "fine_task", *spec.dimensions}
        # what is missing counts 0 in both, and our place is the published one
        assert (found.variant, found.dimension, found.facet) == ("", figure.dimension, figure.facet)
        assert bool(found.needs) is (figure.benchmark == "mm-bench")
        strict = spec.evaluators[0].name
        assert (found.evaluator == strict) is (figure.benchmark != "mm-bench"), "never the strict figure of MM-Bench"


def test_what_we_do_not_compute_has_none() -> None:
    assert twin("ehr-bench", "auroc", "", "overall", "") is None
    assert twin("mm-bench", "f1", "", "task", "ehrxqa_table") is None
    assert twin("made-up", "f1", "", "overall", "") is None
    assert twin("ehr-bench", "f1", "", "task_group", "Next_Event") == Twin(
        "clinseek-text-2026", "f1", "", "task_group", "Next_Event"
    )


# --- plain arithmetic -------------------------------------------------------------------------------------------------


def text_scores(slug: str, tasks: dict[str, tuple[str, list[bool]]]) -> Any:
    """Scores of made-up questions: task -> (task type, which are right)."""
    golds, rows = [], []
    for task, (kind, right) in tasks.items():
        for number, good in enumerate(right):
            gold = {"qid": f"{task}{number}", "task": task, "subject_id": f"{task}{number}", "label": ["yes"]}
            golds.append({**gold, "task_type": kind} if kind else gold)
            rows.append((golds[-1], good))
    spec = BENCHMARKS[slug]
    items = spec.items(golds)
    keys = [item.key for item in items]
    reader = spec.evaluators[0]
    from evaluation.protocols.clinseek_rows import from_dict

    answers = [
        reader.read(from_dict(answered(key, "yes" if good else "no", task=gold["task"])))
        for key, (gold, good) in zip(keys, rows, strict=True)
    ]
    return table(reader.evaluate(items, answers, "seed").aggregates)


def test_ehr_bench_weighs_risk_and_decision_and_equals_the_overall_on_a_full_split() -> None:
    tasks = {"ED_Hospitalization": ("risk_prediction", [True, False]), "poe": ("decision_making", [True, True, False])}
    ours = text_scores("ehr-bench", tasks)
    for variant in ("", "done_only"):
        named = ours[1, "f1", variant, "aggregate", "risk_0.4_decision_0.6"]
        assert (named.value, named.n) == (pytest.approx(0.4 * 1 / 2 + 0.6 * 2 / 3), 5)
        assert named.value == pytest.approx(ours[1, "f1", variant, "overall", ""].value)


def test_ehr_bench_weights_hold_where_the_split_has_others_and_never_move_to_one_side() -> None:
    uneven = {"ED_Hospitalization": ("risk_prediction", [True]), "poe": ("decision_making", [False] * 9)}
    ours = text_scores("ehr-bench", uneven)
    assert ours[1, "f1", "", "aggregate", "risk_0.4_decision_0.6"].value == pytest.approx(0.4)
    assert ours[1, "f1", "", "overall", ""].value == pytest.approx(0.1)
    alone = text_scores("ehr-bench", {"poe": ("decision_making", [True])})
    assert not [place for place in alone if place[3] == "aggregate"]


def test_task_groups_are_the_18_risk_and_27_decision_tasks_in_10_and_10() -> None:
    groups = list(TASK_GROUPS)
    sizes = [sum(len(TASK_GROUPS[name]) for name in part) for part in (groups[:10], groups[10:])]
    assert (len(groups), sizes, len({task for tasks in TASK_GROUPS.values() for task in tasks})) == (20, [18, 27], 45)
    assert set(TASK_TYPES) == {"risk_prediction", "decision_making"}


def test_a_task_group_is_the_mean_over_its_questions_which_is_that_of_its_tasks_where_all_are_alike() -> None:
    tasks = {"labevents": ("decision_making", [True, False]), "microbiologyevents": ("decision_making", [True, True])}
    ours = text_scores("ehr-bench", tasks)
    group = ours[1, "f1", "", "task_group", "Lab_Microbiology_orders"].value
    each = [ours[1, "f1", "", "task", task].value for task in tasks]
    assert group == pytest.approx(3 / 4) == pytest.approx(sum(each) / 2)


def test_agent_ehr_bench_leaves_prescriptions_out_of_its_average() -> None:
    five = ("diagnoses_ccs", "labevents", "microbiologyevents", "procedures_ccs", "transfers")
    ours = text_scores(
        "agent-ehr-bench", {task: ("", [place < 3, False]) for place, task in enumerate((*five, "prescriptions"))}
    )
    named = ours[1, "f1", "", "aggregate", "overall_5_tasks"]
    assert (named.value, named.n) == (pytest.approx(3 / 10), 10)
    assert named.value == pytest.approx(sum(ours[1, "f1", "", "task", task].value for task in five) / 5)


def test_mm_bench_has_its_multimodal_aggregate_from_labels_alone_and_weighs_questions_alike() -> None:
    spec = BENCHMARKS["mm-bench"]
    golds = [gold_row(f"q{number}", "Yes") for number in range(8)]
    right = [True, False, True, True, False, False, True, True]
    rows = [row(gold, "yes" if good else "no") for gold, good in zip(golds, right, strict=True)]
    items = spec.items(golds)
    place = (1, "unified_f1", "", "aggregate", "overall_multimodal_989")
    assert place not in table(spec.evaluators[0].evaluate(items, answers_of(rows), "seed").aggregates)
    fine = [MULTIMODAL_TASKS[0]] * 3 + [*MULTIMODAL_TASKS[1:4]] + ["ehrxqa_patient_lookup"] * 2
    labelled = [
        ItemSpec(one.key, one.case, one.cluster, one.gold, one.facets, one.scored, (("fine_task", task),))
        for one, task in zip(items, fine, strict=True)
    ]
    ours = table(spec.evaluators[0].evaluate(labelled, answers_of(rows[:-2]), "seed").aggregates)
    assert (ours[place].value, ours[place].n) == (pytest.approx(3 / 6), 6)
    parts = [ours[1, "unified_f1", "", "fine_task", task] for task in MULTIMODAL_TASKS[:4]]
    assert ours[place].value == pytest.approx(
        sum(part.value * part.n for part in parts) / sum(part.n for part in parts)
    )
    # done_only goes by rows, also where one is missing
    few = table(spec.evaluators[0].evaluate(labelled, answers_of(rows[:2]), "seed").aggregates)
    assert (few[1, "unified_f1", "done_only", *place[3:]].value, few[place].value) == (0.5, pytest.approx(1 / 6))
