"""The frame: health, sign-in, headers, errors, lists for staff, and answers that need not be sent again."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.staticfiles.finders import find
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from evaluation.models import LanguageModel, ModelAlias
from ingest.models import Source
from tests.conftest import People
from tests.ingest.trees import called
from tests.leaderboard.worlds import EHR_BOARD, ehr_tree, load

pytestmark = pytest.mark.django_db


def test_health(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer["Cache-Control"]


def test_health_without_a_database(client: Client) -> None:
    with patch.object(connection, "cursor", side_effect=OperationalError("gone, host db.internal")):
        answer = client.get("/healthz")
    assert answer.status_code == 503 and "internal" not in answer.content.decode()


def test_an_empty_house_says_how_to_begin(client: Client) -> None:
    assert b"python manage.py ingest" in client.get("/").content
    assert b"No model has a run" in client.get("/models/").content


def test_sign_in_and_out(client: Client, people: People) -> None:
    people.owner.set_password("a long one 7")
    people.owner.save()
    answer = client.post("/login/", {"username": "owner", "password": "a long one 7", "next": "/models/"})
    assert answer.status_code == 302 and answer["Location"] == "/models/"
    assert "Sign out" in client.get("/").content.decode()
    assert client.post("/logout/").status_code == 302
    assert "Sign in" in client.get("/").content.decode()


def test_a_sign_in_leads_to_no_other_site(client: Client, people: People) -> None:
    people.owner.set_password("a long one 7")
    people.owner.save()
    answer = client.post("/login/", {"username": "owner", "password": "a long one 7", "next": "https://elsewhere.org/"})
    assert answer["Location"] == "/"


def test_an_old_form_is_explained() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "x", "password": "y"})
    assert answer.status_code == 403 and b"The form was too old" in answer.content


def test_pages_bring_no_code_of_their_own(client: Client, tmp_path: Path) -> None:
    (run,) = load(ehr_tree(tmp_path, {"alder": 5}))
    for path in ("/", f"/boards/{EHR_BOARD}/", run.get_absolute_url(), "/models/", run.model.get_absolute_url()):
        answer = client.get(path)
        text = answer.content.decode()
        assert "unsafe-inline" not in answer["Content-Security-Policy"]
        assert " style=" not in text and "<style" not in text and " onclick=" not in text
        assert "<script>" not in text and "//" not in text.replace("http://www.w3.org", "").replace("<!doctype", "")


@pytest.mark.parametrize("path", ["/", f"/boards/{EHR_BOARD}/"])
def test_a_first_page_with_all_it_loads_is_under_100_kb(tmp_path: Path, path: str) -> None:
    load(ehr_tree(tmp_path, {f"model-{number}": number % 20 for number in range(40)}))
    answer = Client(headers={"accept-encoding": "gzip"}).get(path)
    text = gzip.decompress(answer.content).decode()
    loaded = set(re.findall(r'(?:src|href)="/static/([^"]+)"', text))
    assert {"clinboard.css", "theme.js"} <= loaded
    files = [Path(find(name)) for name in loaded]
    assert len(answer.content) + sum(len(gzip.compress(file.read_bytes())) for file in files) < 100_000


@pytest.mark.parametrize("path", ["/", f"/boards/{EHR_BOARD}/", "/models/", f"/api/v1/boards/{EHR_BOARD}"])
def test_an_unchanged_page_is_not_sent_again(client: Client, tmp_path: Path, path: str) -> None:
    load(ehr_tree(tmp_path / "a", {"alder": 5}))
    first = client.get(path)
    assert "private" in first["Cache-Control"] and "Cookie" in first["Vary"]
    again = client.get(path, headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304 and not again.content
    load(ehr_tree(tmp_path / "b", {"birch": 6}))
    assert client.get(path, headers={"if-none-match": first["ETag"]}).status_code == 200


def test_an_etag_is_no_way_to_another_persons_page(people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path / "a", {"alder": 5}))
    load(ehr_tree(tmp_path / "b", {"birch": 6}), "private", owner=people.owner)
    owner, stranger = Client(), Client()
    owner.force_login(people.owner)
    tag = owner.get(f"/api/v1/boards/{EHR_BOARD}")["ETag"]
    answer = stranger.get(f"/api/v1/boards/{EHR_BOARD}", headers={"if-none-match": tag})
    assert answer.status_code == 200 and b"birch" not in answer.content


@pytest.mark.parametrize("path", ["/boards/none/", "/runs/0123456789ab/", "/models/none/", "/nothing"])
def test_what_is_not_there(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 and b"Nothing here" in answer.content


@pytest.mark.parametrize("path", ["/api/v1/boards/none", "/api/v1/runs/none", "/api/v1/nothing", "/api/v2/boards"])
def test_errors_of_the_api_are_problems(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["status"] == 404 and answer.json()["title"] == "Not Found"


def test_pages_are_only_read(client: Client) -> None:
    for name in ("home", "models", "healthz", "robots"):
        assert client.post(reverse(name)).status_code == 405
    assert client.post("/api/v1/boards").status_code == 405


def test_the_description_of_the_api(client: Client) -> None:
    document = client.get("/api/v1/openapi.json").json()
    assert set(document["paths"]) == {
        "/api/v1/boards",
        "/api/v1/benchmarks/{slug}/items",
        "/api/v1/boards/{slug}",
        "/api/v1/boards/{slug}/archive",
        "/api/v1/boards/{slug}/items",
        "/api/v1/findings",
        "/api/v1/runs/{key}",
        "/api/v1/runs/{key}/eee",
        "/api/v1/runs/{key}/eee/instances",
        "/api/v1/runs/{key}/evaluators",
        "/api/v1/runs/{key}/items",
        "/api/v1/models",
        "/api/v1/tables",
    }
    page = client.get("/api/v1/docs").content.decode()
    assert "cdn" not in page and "https://" not in page


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_with_all_its_names(client: Client, tmp_path: Path) -> None:
    (run,) = load(ehr_tree(tmp_path, {"qwen3_vl_235b": 5}))
    text = client.get("/models/qwen3-vl-235b/").content.decode()
    for name in ("Qwen3-VL-235B", "qwen3_vl_235b", "qwen.qwen3-vl-235b-a22b", "provider id", run.key, "25.0 %"):
        assert name in text
    assert "stands in no register" not in text


def test_a_name_from_a_file_is_told_as_such(client: Client, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"Прим ер_9 %": 5}))
    model = LanguageModel.objects.get(name="Прим ер_9 %")
    assert "stands in no register" in client.get(model.get_absolute_url()).content.decode()
    assert "Not registered" in client.get("/models/").content.decode()


def test_reported_figures_of_a_model(client: Client) -> None:
    called("load_published")
    text = client.get("/models/gpt-5/").content.decode()
    assert "35.5 %" in text and "pilot: AI-only pipeline" in text and "Runs</h2>" not in text


# --- sources ----------------------------------------------------------------------------------------------------------


def test_a_source_leads_to_its_findings(client: Client, people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 5, "birch": 4}, asked=12))
    client.force_login(people.staff)
    source = Source.objects.get()
    text = client.get(reverse("source", args=[source.pk])).content.decode()
    link = f"{reverse('findings')}?source={source.pk}&severity=warning"
    assert link.replace("&", "&amp;") in text
    assert "missing_items" in client.get(link).content.decode()


# --- admin ------------------------------------------------------------------------------------------------------------

FACTS = {"evaluation.Response", "evaluation.ItemScore", "evaluation.Score", "evaluation.Vector"}


def test_every_list_of_the_admin_opens(client: Client, people: People, tmp_path: Path) -> None:
    load(ehr_tree(tmp_path, {"alder": 5}, asked=12))
    called("load_published")
    people.staff.is_superuser = True
    people.staff.save()
    client.force_login(people.staff)
    ours = [model for model in admin.site._registry if model._meta.app_label in ("evaluation", "ingest", "leaderboard")]
    assert not FACTS & {model._meta.label for model in ours}
    for model in ours:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert client.get(url).status_code == 200, url
        thing = model._default_manager.first()
        if thing is not None:
            url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[thing.pk])
            assert client.get(url).status_code == 200, url
    assert len(ours) == 17 and apps.is_installed("django.contrib.admin")


def test_names_that_a_private_tree_gives_a_model_stay_with_those_who_may_see_it(
    client: Client, people: People, tmp_path: Path
) -> None:
    (run,) = load(ehr_tree(tmp_path / "open", {"alder": 5}))
    ModelAlias.objects.create(model=run.model, kind=ModelAlias.Kind.DIRECTORY, name="secret_checkpoint_0817")
    page, api = run.model.get_absolute_url(), "/api/v1/models"
    for role, sees in (("anonymous", False), ("owner", False), ("stranger", False), ("staff", True)):
        own = Client()
        if role != "anonymous":
            own.force_login(people[role])
        for address in (page, api):
            text = own.get(address).content.decode()
            assert "alder" in text and ("secret_checkpoint_0817" in text) == sees, (role, address)
