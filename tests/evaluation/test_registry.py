"""Models by their exact names, and what the code declares in the tables."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.benchmarks import BENCHMARKS
from evaluation.models import Benchmark, Evaluator, LanguageModel, ModelAlias, is_later
from evaluation.registry import KNOWN_MODELS, find_model, known_model, model_slug, register_model, sync_registry
from tests.ingest.trees import Tree, ingest, run_path, scores, small_tree, tables

pytestmark = pytest.mark.django_db


def test_benchmarks_and_evaluators_are_there_after_migrate() -> None:
    assert list(Benchmark.objects.values_list("slug", flat=True)) == list(BENCHMARKS)
    assert {(e.benchmark.slug, e.name) for e in Evaluator.objects.select_related("benchmark")} == {
        ("ehr-bench", "clinseek-text-2026"),
        ("agent-ehr-bench", "clinseek-text-2026"),
        ("mm-bench", "clinseek-mm-raw-2026"),
        ("liveclin", "liveclin-official-2026-02"),
        ("llmeval-med", "llmeval-med-aggregate-2026"),
    }


def test_syncing_again_changes_nothing_and_leaves_rights_alone() -> None:
    group = Group.objects.create(name="data access")
    Benchmark.objects.filter(slug="ehr-bench").update(item_access="nobody", data_group=group, description="stale")
    LanguageModel.objects.filter(slug="glm-4-7").update(organisation="as staff says")
    before = tables()
    sync_registry()
    after = tables()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"evaluation.Benchmark"}
    benchmark = Benchmark.objects.get(slug="ehr-bench")
    assert (benchmark.item_access, benchmark.data_group, benchmark.description) == (
        "nobody",
        group,
        BENCHMARKS["ehr-bench"].description,
    )


@pytest.mark.parametrize("known", KNOWN_MODELS, ids=[row[1] for row in KNOWN_MODELS])
def test_every_name_of_the_clinseek_table_is_that_model(known: tuple) -> None:
    name, directory, tag, access, organisation, provider_ids = known
    for alias in (name, directory, tag, *provider_ids):
        model, canonical, registered = known_model(alias)
        assert model is not None
        assert (model.name, canonical, registered) == (name, directory, True)
        assert (model.access, model.organisation) == (access, organisation)
    assert model.slug == tag


@pytest.mark.parametrize(
    "name", ["GLM_4_7", "glm_4_7 ", " glm_4_7", "glm-4.7", "Glm-4.7", "claude_opus_4_6_retried", ""]
)
def test_names_are_never_folded(name: str) -> None:
    assert known_model(name) == (None, name, False)


def test_similar_names_are_different_models() -> None:
    assert known_model("qwen3_235b")[0] != known_model("qwen3_vl_235b")[0]


def test_an_unknown_name_becomes_a_model_of_its_own_once() -> None:
    model, canonical, known = find_model("orinox_7b")
    assert (model.name, canonical, known, model.registered) == ("orinox_7b", "orinox_7b", False, False)
    assert find_model("orinox_7b")[0] == model != find_model("orinox_7b ")[0]
    assert LanguageModel.objects.filter(registered=False).count() == 2


def test_other_models_keep_the_name_that_the_tree_gives() -> None:
    """Only the eight models of the table have a canonical directory name."""
    model = register_model("Aster 3 Large", aliases=[("directory", "a_first"), ("directory", "z_last")])
    for name in ("Aster 3 Large", "a_first", "z_last"):
        assert known_model(name) == (model, name, True)
    glm = register_model("GLM-4.7", aliases=[("directory", "a_glm_checkpoint")])
    # a run's id rests on its name: it stays when a name joins a model of the table
    assert known_model("a_glm_checkpoint") == (glm, "a_glm_checkpoint", True)


def test_facts_are_added_and_never_emptied() -> None:
    register_model("Aster", access="open", organisation="Star Lab")
    model = register_model("Aster")
    assert (model.access, model.organisation, model.registered) == ("open", "Star Lab", True)
    assert register_model("Aster", organisation="Other").organisation == "Star Lab"


def test_registering_a_name_found_in_a_tree() -> None:
    found = find_model("aster")[0]
    model = register_model("aster", access="open")
    assert (model, model.registered, model.access) == (found, True, "open")


def test_an_alias_of_a_registered_model_stays_where_it_is() -> None:
    other = register_model("Borea", aliases=[("directory", "borea_7b")])
    register_model("Aster", aliases=[("directory", "borea_7b")])
    assert known_model("borea_7b")[0] == other


def test_an_alias_brings_the_runs_of_the_unregistered_model_along(tmp_path) -> None:
    """First a tree with an unknown directory, then a configuration that says whose it is."""
    tree: Tree = small_tree(tmp_path / "tree", "orinox_7b")
    first = ingest(tree)
    assert first.runs[run_path("orinox_7b")]["model_known"] is False
    assert [finding["path"] for finding in first.findings("unregistered_model")] == [run_path("orinox_7b")]
    before = scores()
    tree.text("clinboard.yaml", "models:\n  Orinox 7B:\n    aliases: [orinox_7b]\n    access: open\n")
    again = ingest(tree)
    run = again.runs[run_path("orinox_7b")]
    assert (run["state"], run["model"], run["model_known"]) == ("unchanged", "orinox_7b", True)
    assert not again.findings("unregistered_model")
    assert scores() == before
    assert not LanguageModel.objects.unmerged().filter(registered=False).exists()
    assert ModelAlias.objects.get(name="orinox_7b").model.name == "Orinox 7B"


# --- slugs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Claude Opus 4.6", "claude-opus-4-6"),
        ("GLM-4.7", "glm-4-7"),
        ("gpt_oss_120b", "gpt-oss-120b"),
        ("o3", "o3"),
        ("org/model", "org-model"),
    ],
)
def test_readable_slugs(name: str, slug: str) -> None:
    assert model_slug(name) == slug


@pytest.mark.parametrize(
    "name", ["模型", "Füß", "a+b", "a++b", "(a)", "", " ", "-", "🫀", "x" * 300, "\ud800", "a " * 90]
)
def test_names_that_lose_letters_get_a_hash(name: str) -> None:
    assert model_slug(name)[-7] == "-"
    assert model_slug(name) != model_slug(name + "!")


def test_names_that_share_a_slug_are_numbered() -> None:
    slugs = [register_model(name).slug for name in ("Aster 3", "aster-3", "ASTER.3")]
    assert slugs == ["aster-3", "aster-3-2", "aster-3-3"]


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_name_has_a_slug_that_a_path_can_hold(name: str) -> None:
    slug = model_slug(name)
    assert 0 < len(slug) <= 110 and "/" not in slug and not any(map(str.isspace, slug))


@pytest.mark.parametrize(
    ("day", "other", "later"),
    [
        ("2026-03", "2025-06", True),
        ("2025-06-30", "2025-07", False),
        ("2025", "2026-01", False),
        ("2025-06", "2025-06", False),
        ("2025-06-12", "2025-06", None),
        ("2025", "2025-06", None),
        ("", "2025-06", None),
        ("2025-06", "", None),
    ],
)
def test_days_are_compared_as_exactly_as_both_are_known(day: str, other: str, later: bool | None) -> None:
    assert is_later(day, other) is later
