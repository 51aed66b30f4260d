"""The admin: every model can be looked at, and mending goes through the services."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django.plugin import DjangoDbBlocker

from accounts.keys import create_key
from accounts.models import ApiKey, Call, Role, SignInLink, User
from curation.models import (
    Claim,
    Comment,
    Comparison,
    GoldenQuestion,
    Overlap,
    Review,
)
from knowledge.models import (
    Chunk,
    CompanyEntry,
    Entry,
    Fact,
    Hypothesis,
    Note,
    Passage,
    Session,
    Summary,
)
from tests.everything import make_one_of_everything
from tests.factories import browser_of, make_user
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

FOR_CURATORS = {Claim, Comment, CompanyEntry, Comparison, Entry, GoldenQuestion, Overlap, Review}
OURS = [model for label in ("accounts", "knowledge", "curation") for model in apps.get_app_config(label).get_models()]


@pytest.fixture
def browser() -> Client:
    """An admin who is signed in."""
    return browser_of(make_user("root", role=Role.ADMIN))


@pytest.fixture
def curator(one_of_everything: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A curator who is signed in, and is refused without the page that says so: to write it takes most of the time."""
    monkeypatch.setattr("bigmind.urls.handler403", lambda request, exception: HttpResponse(status=403))
    return browser_of(make_user(role=Role.CURATOR))


@pytest.fixture(scope="module")
def one_of_everything(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Somebody's memory with one row of every model, made once: each test takes back what it changes."""
    with keep_world(django_db_blocker, make_one_of_everything):
        yield


def _url(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def _act(browser: Client, model: type[Model], action: str, **more: str) -> Any:
    chosen = [str(pk) for pk in model._default_manager.values_list("pk", flat=True)]
    form = {"action": action, "_selected_action": chosen, **more}
    return browser.post(_url(model, "changelist"), form, follow=True)


def test_every_model_is_there() -> None:
    assert [model for model in OURS if not admin.site.is_registered(model)] == []


def test_members_do_not_enter() -> None:
    client = browser_of(make_user(role=Role.MEMBER))

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403


def test_curators_see_what_is_shared_and_nothing_else(curator: Client) -> None:
    rows = {model: model._default_manager.first() for model in OURS}

    lists = {model for model in OURS if curator.get(_url(model, "changelist")).status_code != 403}
    opened = {
        model for model, row in rows.items() if row and curator.get(_url(model, "change", row.pk)).status_code == 200
    }
    index = curator.get("/admin/")

    assert lists == FOR_CURATORS
    assert opened == FOR_CURATORS
    assert index.status_code == 200
    assert {row["model"] for app in index.context["app_list"] for row in app["models"]} == FOR_CURATORS


def test_curators_add_change_and_delete_no_row(curator: Client) -> None:
    answers = {}
    for model in OURS:
        row = model._default_manager.first()
        assert row is not None
        answers[model, "add"] = curator.get(_url(model, "add")).status_code
        answers[model, "change"] = curator.post(_url(model, "change", row.pk), {"title": "Mine"}).status_code
        answers[model, "delete"] = curator.post(_url(model, "delete", row.pk), {"post": "yes"}).status_code

    assert {asked: status for asked, status in answers.items() if status != 403} == {}


def test_a_password_is_changed_on_its_own_page(browser: Client) -> None:
    assert browser.get("/admin/password_change/")["Location"] == reverse("password")


def test_who_is_not_signed_in_is_sent_to_the_sign_in_page() -> None:
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("sign-in"))


def test_a_user_made_here_has_no_password(browser: Client) -> None:
    browser.post(_url(User, "add"), {"username": "eric", "role": "member", "is_active": "on"})

    assert not User.objects.get(username="eric").has_usable_password()


def test_a_key_is_revoked_by_the_same_service_as_everywhere(browser: Client) -> None:
    key = create_key(make_user()).key

    _act(browser, ApiKey, "revoke")

    assert ApiKey.objects.get(pk=key.pk).state == "revoked"


def test_the_last_admin_cannot_be_deleted(browser: Client) -> None:
    User.objects.exclude(username="root").update(role=Role.MEMBER)
    make_user()

    page = _act(browser, User, "delete_selected", post="yes")

    assert "last admin" in page.content.decode()
    assert list(User.objects.values_list("username", flat=True)) == ["root"]


@pytest.mark.parametrize("model", [Session, Chunk, Fact, Hypothesis, Note], ids=lambda model: model.__name__)
def test_what_is_erased_here_is_gone_from_search_too(
    model: type[Model], browser: Client, one_of_everything: None
) -> None:
    before = Passage.objects.count()

    _act(browser, model, "delete_selected", post="yes")

    assert not model._default_manager.exists()
    assert Passage.objects.count() < before


@pytest.mark.parametrize("model", [Session, Chunk, Fact, Hypothesis, Note], ids=lambda model: model.__name__)
def test_what_is_set_aside_here_is_out_of_sight_until_it_is_restored(
    model: type[Model], browser: Client, one_of_everything: None
) -> None:
    before = Passage.objects.count()

    _act(browser, model, "set_aside")
    aside = Passage.objects.count()
    _act(browser, model, "restore")

    assert aside < before
    assert Passage.objects.count() == before


def test_a_user_is_deleted_with_everything_they_own(browser: Client, one_of_everything: None) -> None:
    browser.post(_url(User, "delete", User.objects.get(username="ada").pk), {"post": "yes"})

    assert [model.__name__ for model in (Session, Fact, Call) if model._default_manager.exists()] == []
    assert not Passage.objects.exclude(owner=None).exists()


def test_what_people_wrote_and_what_happened_is_not_reworded(browser: Client, one_of_everything: None) -> None:
    for model in (Fact, Session, Note, Summary, Passage, Call):
        pk = model._default_manager.values_list("pk", flat=True).first()
        assert browser.post(_url(model, "change", pk), {"fact": "Something else"}).status_code == 403


def test_keys_and_links_are_not_made_where_nobody_would_see_them(browser: Client) -> None:
    for model in (ApiKey, SignInLink):
        assert browser.get(_url(model, "add")).status_code == 403
