"""Models: exact names and two that are one. A merge and its taking back leave every table as it was."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.merging import CannotMerge, merge, pointing_to, unmerge
from evaluation.models import LanguageModel, ModelAlias, ModelMerge, Run
from evaluation.registry import KNOWN_MODELS, find_model, known_model, model_slug, register_model, sync_registry
from leaderboard.models import ReportedScore, ReportSource
from tests.ingest.trees import Tree, ingest, live_case, live_results, run_path, small_tree, tables

pytestmark = pytest.mark.django_db


def named(name: str) -> LanguageModel:
    return ModelAlias.objects.get(name=name).model


def reported(model: LanguageModel, value: float = 0.5) -> ReportedScore:
    source, _ = ReportSource.objects.get_or_create(key="t/x", text="a table")
    split = Run.objects.all()[0].split
    return ReportedScore.objects.create(
        split=split, mode="agentic", model=model, metric="f1", value=value, printed="50.0", source=source
    )


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Three unregistered models with a run each, and figures of two of them."""
    tree = small_tree(tmp_path / "t", "aster", "aster-3", "boreal")
    ingest(tree, "--visibility", "public")
    reported(named("aster"))
    reported(named("boreal"))
    return tree


# --- merge and back ---------------------------------------------------------------------------------------------------


def test_everything_moves_and_moves_back(tree: Tree) -> None:
    before = tables()
    source, target = named("aster"), named("boreal")
    done = merge(source, target, None, "the same weights")
    assert (source.runs.count(), source.aliases.count(), source.reported.count()) == (0, 0, 0)
    assert (target.runs.count(), target.aliases.count(), target.reported.count()) == (2, 2, 2)
    assert done.moved == {
        "evaluation.modelalias.model": [ModelAlias.objects.get(name="aster").pk],
        "evaluation.run.model": [Run.objects.get(model_name="aster").pk],
        "leaderboard.reportedscore.model": [ReportedScore.objects.order_by("pk")[0].pk],
    }
    assert (done.source, done.target, done.why) == (source, target, "the same weights")
    # what the two say of themselves does not change, and a run keeps the name that its tree gives
    assert LanguageModel.objects.get(pk=source.pk).name == "aster"
    assert set(target.runs.values_list("model_name", flat=True)) == {"aster", "boreal"}
    unmerge(done)
    assert tables() == before


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_any_merges_taken_back_in_any_order_are_nothing(tree: Tree, seed: int) -> None:
    before = tables()
    chance = random.Random(seed)
    models = [named(name) for name in ("aster", "aster-3", "boreal")] + list(LanguageModel.objects.all()[:2])
    for source, target in chance.sample(list(itertools.permutations(models, 2)), 6):
        try:
            merge(source, target, None)
        except CannotMerge:
            assert source == target or ModelMerge.objects.filter(source__in=[source, target]).exists()
    assert not ModelMerge.objects.filter(target__merge__isnull=False).exists(), "a target is never merged itself"
    merges = list(ModelMerge.objects.all())
    chance.shuffle(merges)
    for done in merges:
        unmerge(done)
    assert tables() == before


def test_a_merge_of_a_merge_goes_along(tree: Tree) -> None:
    first = merge(named("aster"), named("aster-3"), None)
    second = merge(LanguageModel.objects.get(name="aster-3"), named("boreal"), None)
    first.refresh_from_db()
    assert first.target == second.target == named("boreal")
    unmerge(first)
    assert (named("aster").runs.count(), named("boreal").runs.count()) == (1, 2)
    unmerge(second)
    assert [named(name).runs.count() for name in ("aster", "aster-3", "boreal")] == [1, 1, 1]


def test_what_cannot_be_merged(tree: Tree) -> None:
    aster, three, boreal = (named(name) for name in ("aster", "aster-3", "boreal"))
    with pytest.raises(CannotMerge, match="the same model"):
        merge(aster, aster, None)
    merge(aster, boreal, None)
    before = tables()
    for source, target in ((aster, three), (three, aster), (boreal, aster)):
        with pytest.raises(CannotMerge, match="aster is merged into boreal already"):
            merge(source, target, None)
    assert tables() == before
    with pytest.raises(ProtectedError):
        aster.delete()


def test_runs_read_since_under_a_name_go_back_with_it(tree: Tree) -> None:
    done = merge(named("aster"), named("boreal"), None)
    tree.lines(run_path("aster", mode="oneshot"), [{"qid": "q1", "messages": []}])
    ingest(tree)
    assert named("boreal").runs.count() == 3
    unmerge(done)
    assert set(named("aster").runs.values_list("mode", flat=True)) == {"agentic", "oneshot"}
    assert set(named("boreal").runs.values_list("model_name", flat=True)) == {"boreal"}


def test_a_merge_is_no_reason_to_read_anything_again(tree: Tree) -> None:
    """Two directories of one model on one split are then undecided: neither is read, both runs stay."""
    merge(named("aster"), named("boreal"), None)
    again = ingest(tree)
    assert again.document["rows_read"] == 0
    assert sorted(path for path, reason in again.not_runs.items() if reason == "undecided") == [
        run_path("aster"),
        run_path("boreal"),
    ]
    assert Run.objects.live().count() == 3
    unmerge(ModelMerge.objects.get())
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


def test_the_registry_leaves_the_facts_of_a_target_alone(tree: Tree) -> None:
    known, target = named("glm_4_7"), named("boreal")
    done = merge(known, target, None)
    before = tables()
    sync_registry()
    assert tables() == before
    unmerge(done)
    assert named("glm_4_7").name == "GLM-4.7"


def test_pointing_to_counts_what_would_move(tree: Tree) -> None:
    assert sorted(pointing_to(named("aster"))) == [("model aliases", 1), ("reported scores", 1), ("runs", 1)]
    assert pointing_to(LanguageModel.objects.create(slug="bare", name="bare")) == []


# --- exact names ------------------------------------------------------------------------------------------------------


def test_two_similar_names_stay_two_models() -> None:
    pairs = [("Qwen3-VL-235B", "Qwen3-235B"), ("qwen3_vl_235b", "qwen3_235b"), ("qwen3-vl-235b", "qwen3-235b")]
    for one, other in pairs:
        assert named(one).slug == "qwen3-vl-235b" and named(other).slug == "qwen3-235b"
        assert (find_model(one)[1], find_model(other)[1]) == ("qwen3_vl_235b", "qwen3_235b")


@pytest.mark.parametrize(
    "name", ["Qwen3_VL_235B", "qwen3-vl-235B", "Qwen3-VL-235B ", "qwen3 vl 235b", "Qwen3VL235B", "ｑwen3-vl-235b"]
)
def test_no_other_spelling_is_taken_for_a_known_model(name: str) -> None:
    assert known_model(name) == (None, name, False)
    model, canonical, known = find_model(name)
    assert (model.name, canonical, known, model.registered) == (name, name, False, False)


def test_every_listed_name_leads_to_its_model_and_directory() -> None:
    for friendly, directory, tag, _, _, ids in KNOWN_MODELS:
        for name in (friendly, directory, tag, *ids):
            model, canonical, known = find_model(name)
            assert (model.name, canonical, known) == (friendly, directory, True)


ODD_NAMES = [
    "lab/aster-7b/checkpoint-1",
    "模型-九",
    "🜁 aster 🜂",
    "🜁",
    "aster ",
    " aster",
    "Aster",
    "ASTER",
    "aste\u0301r",
    "ast\u00e9r",
    "a" * 300,
    "a" * 299 + "b",
    "模" * 300,
    "../../etc",
    "?q=1#x",
    "%2F",
    "-",
    ".",
    "<b>aster</b>",
    "aster\\n",
]


def test_odd_names_survive_the_whole_road(tmp_path: Path, client: Any) -> None:
    """As the file gives them: in --json, in the tables, on a page of their own, in the API; no two share anything."""
    tree = Tree(tmp_path / "t")
    tree.lines("dataset.jsonl", [live_case("PMC1", "AB")])
    for number, name in enumerate(["aster", *ODD_NAMES]):
        tree.json(f"{number}.json", live_results(name, {"PMC1": "AB"}))
    result = ingest(tree, "--visibility", "public")
    names = ["aster", *ODD_NAMES]
    assert [result.runs[f"{number}.json"]["model"] for number in range(len(names))] == names
    found = {model.name: model for model in LanguageModel.objects.filter(runs__isnull=False)}
    assert found.keys() == set(names)
    slugs = [model.slug for model in found.values()]
    assert len(set(slugs)) == len(slugs) and all(0 < len(slug) <= 120 and "/" not in slug for slug in slugs)
    from django.utils.html import escape

    for name, model in found.items():
        page = client.get(model.get_absolute_url())
        assert page.status_code == 200 and escape(name) in page.content.decode()
    listed = {model["name"]: model["page"] for model in client.get("/api/v1/models").json()}
    assert set(names) <= listed.keys()
    assert {run["state"] for run in ingest(tree).runs.values()} == {"unchanged"}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), unique=True, max_size=6))
def test_slugs_are_short_and_fit_an_address(names: list[str]) -> None:
    for name in names:
        slug = model_slug(name)
        assert 0 < len(slug) <= 107 and not set(slug) & set("/?#% ")


def test_a_slug_that_is_taken_gets_a_number() -> None:
    one, other = register_model("nova-1"), register_model("Nova 1")
    assert (one.slug, other.slug) == ("nova-1", "nova-1-2")


def test_directory_names_of_trees_survive_too(tmp_path: Path, client: Any) -> None:
    names = ["aster ", "模型", "🜁🜂", "a" * 250, "aster%2F", "aste\u0301r", "ast\u00e9r"]
    tree = small_tree(tmp_path / "t", *names)
    result = ingest(tree, "--visibility", "public")
    assert sorted(run["model"] for run in result.document["runs"]) == sorted(names)
    for run in Run.objects.all():
        assert client.get(run.get_absolute_url()).status_code == 200


# --- statements of the configuration ----------------------------------------------------------------------------------


def test_an_alias_stated_later_takes_the_unregistered_model_along(tree: Tree) -> None:
    runs = {run.key: run.model_name for run in Run.objects.all()}
    tree.text("clinboard.yaml", "# names\nmodels:\n  Aster 3: {aliases: [aster, aster-x]}\n")
    result = ingest(tree)
    assert {run["state"] for run in result.runs.values()} == {"unchanged"}
    model = named("aster")
    assert (model.name, model.registered, model.runs.count(), model.reported.count()) == ("Aster 3", True, 1, 1)
    assert {run.key: run.model_name for run in Run.objects.all()} == runs
    done = ModelMerge.objects.get()
    assert (done.source.name, done.by, done.why) == ("aster", None, "clinboard.yaml line 3")
    before = tables()
    ingest(tree)
    assert tables() == before


def test_an_alias_of_another_registered_model_is_told_and_left(tree: Tree) -> None:
    tree.text("clinboard.yaml", "models:\n  Mine: {aliases: [glm_4_7, boreal]}\n")
    merge(named("aster"), named("boreal"), None)
    result = ingest(tree)
    assert [finding["message"] for finding in result.findings("alias_taken")] == [
        "line 2: 'glm_4_7' is a name of GLM-4.7 already; staff can merge the two",
        "line 2: 'boreal' is a name of boreal already; staff can merge the two",
    ]
    assert (named("glm_4_7").name, named("boreal").name) == ("GLM-4.7", "boreal")


# --- pages ------------------------------------------------------------------------------------------------------------


def test_the_page_of_a_merged_model_leads_to_the_other(tree: Tree, client: Any) -> None:
    source, target = named("aster"), named("boreal")
    done = merge(source, target, None)
    moved = client.get(source.get_absolute_url())
    assert (moved.status_code, moved["Location"]) == (302, target.get_absolute_url())
    page = client.get(target.get_absolute_url()).content.decode()
    assert "aster" in page and page.count("Reported elsewhere") == 1
    names = {model["name"]: model["aliases"] for model in client.get("/api/v1/models").json()}
    assert "aster" not in names and {alias["name"] for alias in names["boreal"]} == {"aster", "boreal"}
    unmerge(done)
    assert client.get(source.get_absolute_url()).status_code == 200


def test_a_merged_name_gives_no_private_model_away(tmp_path: Path, client: Any) -> None:
    ingest(small_tree(tmp_path / "t", "aster", "boreal"))
    merge(named("aster"), named("boreal"), None)
    assert client.get(LanguageModel.objects.get(name="aster").get_absolute_url()).status_code == 404


# --- the admin --------------------------------------------------------------------------------------------------------

MODELS, MERGES = "/admin/evaluation/languagemodel/", "/admin/evaluation/modelmerge/"


def ask(client: Any, sources: list[LanguageModel], **data: Any) -> Any:
    data |= {"action": "merge_into", "_selected_action": [source.pk for source in sources]}
    return client.post(MODELS, data, follow=True)


def texts(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def test_staff_confirm_a_merge_and_take_it_back(tree: Tree, admin_client: Any, admin_user: User) -> None:
    before = tables()
    source, target = named("aster"), named("boreal")
    page = ask(admin_client, [source]).content.decode()
    assert tables() == before, "asking changes nothing"
    assert "Merge models" in page and "runs: 1" in page and f'<option value="{target.pk}">boreal</option>' in page
    assert f'<option value="{source.pk}">' not in page
    again = ask(admin_client, [source], apply="Merge", target="")
    assert "This field is required" in again.content.decode() and tables() == before

    done = ask(admin_client, [source], apply="Merge", target=target.pk, why="the same weights")
    assert texts(done) == ["aster is boreal now: 3 entries moved. Take it back under “Model merges”."]
    kept = ModelMerge.objects.get()
    assert (kept.source, kept.target, kept.by, kept.why) == (source, target, admin_user, "the same weights")
    listed = admin_client.get(MODELS, {"q": "aster"}).content.decode()
    assert "boreal" in listed
    assert admin_client.get(MERGES).status_code == 200

    back = admin_client.post(MERGES, {"action": "take_back", "_selected_action": [kept.pk]}, follow=True)
    assert texts(back) == ["aster and boreal are two models again."]
    assert tables() == before
    assert LogEntry.objects.count() == 2


def test_several_at_once_and_one_that_cannot(tree: Tree, admin_client: Any) -> None:
    aster, three, boreal = (named(name) for name in ("aster", "aster-3", "boreal"))
    merge(aster, named("glm_4_7"), None)
    done = ask(admin_client, [aster, three], apply="Merge", target=boreal.pk)
    assert texts(done) == [
        "Nothing was done for aster: aster is merged into GLM-4.7 already.",
        "aster-3 is boreal now: 2 entries moved. Take it back under “Model merges”.",
    ]


def test_models_and_merges_cannot_be_deleted_there(tree: Tree, admin_client: Any) -> None:
    done = merge(named("aster"), named("boreal"), None)
    for url in (f"{MODELS}{done.source_id}/delete/", f"{MERGES}{done.pk}/delete/", f"{MERGES}add/"):
        assert admin_client.get(url).status_code == 403
    assert admin_client.get(f"{MODELS}{done.target_id}/change/").status_code == 200


def test_staff_without_the_right_see_no_action(tree: Tree, client: Any) -> None:
    from django.contrib.auth.models import Permission

    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=["view_languagemodel", "view_modelmerge"]))
    client.force_login(user)
    done = merge(named("aster"), named("boreal"), None)
    before = tables()
    assert "merge_into" not in client.get(MODELS).content.decode()
    ask(client, [named("aster-3")], apply="Merge", target=done.target_id)
    client.post(MERGES, {"action": "take_back", "_selected_action": [done.pk]})
    assert tables() == before
