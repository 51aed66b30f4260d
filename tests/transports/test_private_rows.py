"""The admin site hides what people wrote from admins, until they say why they have to read it."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import CharField, Model, TextField
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from accounts.models import Alert, AuditEvent, Role, User
from accounts.services import private_rows
from bigmind.privacy.masking import HIDDEN, Mask, MaskedRow, PrivateModel, masking
from bigmind.web.admin import ReadOnlyAdmin
from curation.models import Delivery
from knowledge.models import Chunk, Fact, Hypothesis, Note, Passage, Session, Summary
from tests.everything import make_one_of_everything
from tests.factories import browser_of, make_actor, make_user
from tests.knowledge.factories import make_fact
from tests.worlds import keep_world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

MARKER = "zqx7"
OURS = [model for label in ("accounts", "knowledge", "curation") for model in apps.get_app_config(label).get_models()]
PRIVATE = [model for model in OURS if issubclass(model, PrivateModel)]
NOT_PRIVATE = {
    "people and their access, which admins manage": {
        *("User", "Sharing", "Agent", "Invitation", "Instance", "ApiKey", "ConnectedApp", "AppToken", "SignInLink"),
        *("SignInTry", "SignIn"),
    },
    "what was done, without what anyone stored": {
        *("Call", "TaskTally", "AuditEvent", "AuditHead", "ErasureReport", "Writing", "Serving", "EmbeddingDay"),
        *("BackupRun", "Worker"),
    },
    "read by everybody, or by every curator": {
        *("App", "AppTable", "AppEntity", "AppWorkflow", "AmbiguousName", "Healing", "AppRun", "CompanyEntry"),
        *("CompanyServer", "CompanyCopy", "Dispatch", "Entry", "EntryFingerprint", "LessonAsked", "Proof", "Gap"),
        "SourceRepository",
        *("ReferenceCollection", "ReferenceImport", "Reference", "ReferenceName", "ReferenceVersion"),
        *("ReferenceDrift", "ReferenceUse", "GoldenQuestion", "Comment", "Claim", "Review", "Overlap", "Comparison"),
        *("SettingOverride", "Webhook"),
    },
    "numbers, and how often": {"EmbeddingSpace", "PassageVector", "CachedVector", "Subscription", "IndexGap"},
}


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Client]:
    """An admin's browser, and Ada's memory with one row of every model, and the marker in every text of it."""
    with pytest.MonkeyPatch.context() as patch, keep_world(django_db_blocker, _plant_everywhere) as browser:
        # Beside each page are the names of all models, and no row: to write them takes half of the time.
        patch.setattr(admin.site, "get_app_list", lambda *_, **__: [])
        yield browser


@pytest.fixture
def root() -> User:
    """An admin of a team."""
    return make_user("root", role=Role.ADMIN)


@pytest.fixture
def browser(root: User) -> Client:
    """The admin's browser."""
    return browser_of(root)


def _plant_everywhere() -> Client:
    make_one_of_everything()
    Delivery.objects.update(to=User.objects.get(username="ada"))
    for model in PRIVATE:
        owned = model._default_manager.exclude(**{model.owned_by: None})
        for name in model.private_texts():
            owned.update(**{name: _planted(model._meta.get_field(name))})
    return browser_of(make_user(role=Role.ADMIN))


def _planted(field: Any) -> Any:
    if isinstance(field, CharField):
        return f"{MARKER} {'y' * 300}"[: field.max_length]
    return MARKER if isinstance(field, TextField) else [MARKER]


def _url(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def _open(client: Client, owner: User, reason: str = "A complaint about a stored number.") -> Any:
    return client.post(reverse("private-rows", args=[owner.pk]), {"reason": reason})


def test_every_model_is_private_or_is_not_and_why() -> None:
    known = [name for names in NOT_PRIVATE.values() for name in names]

    assert {model.__name__ for model in OURS} == {*known, *(model.__name__ for model in PRIVATE)}
    assert not {*known} & {model.__name__ for model in PRIVATE}


def test_every_private_model_is_shown_by_an_admin_that_hides() -> None:
    assert [model for model in PRIVATE if not isinstance(admin.site.get_model_admin(model), ReadOnlyAdmin)] == []


@pytest.mark.parametrize("model", PRIVATE, ids=lambda model: model.__name__)
def test_no_text_of_a_private_row_is_shown_found_or_asked_about(
    model: type[PrivateModel], world: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of these pages only the status is looked at, and to write them takes most of the time.
    monkeypatch.setattr("bigmind.urls.handler400", lambda request, exception: HttpResponse(status=400))
    row = model._default_manager.exclude(**{model.owned_by: None}).first()
    assert row is not None

    shown = [
        world.get(_url(model, "changelist"), {"o": ".".join(map(str, range(12)))}),
        world.get(_url(model, "change", row.pk)),
        world.get(_url(model, "history", row.pk)),
        world.get(_url(model, "delete", row.pk)),
    ]
    found = world.get(_url(model, "changelist"), {"q": MARKER})
    asked = [
        world.get(_url(model, "changelist"), {f"{name}{how}": MARKER})
        for name, other in zip(sorted(model.private_texts()), cycle(("__startswith", "__gt")), strict=False)
        for how in ("", other)
    ]

    assert [page.status_code for page in (*shown[:2], found)] == [200] * 3
    assert [page.request["PATH_INFO"] for page in shown if MARKER in page.text] == []
    assert {page.status_code for page in asked} <= {400}
    assert not found.context["cl"].result_count or not found.context["cl"].search_fields
    for listed in (shown[0], found):
        order = {str(name).lstrip("-") for name in listed.context["cl"].queryset.query.order_by}
        assert not order & model.private_texts()


@pytest.mark.parametrize("model", [model for model in OURS if model not in PRIVATE], ids=lambda model: model.__name__)
def test_no_list_or_row_of_another_model_shows_one_either(model: type[Model], world: Client) -> None:
    row = model._default_manager.first()
    assert row is not None

    pages = [
        world.get(_url(model, "changelist")),
        world.get(_url(model, "change", row.pk)),
        world.get(_url(model, "changelist"), {"q": "ada"}),
        world.get(_url(model, "delete", row.pk)),
    ]

    assert [page.status_code for page in pages[:3]] == [200] * 3
    assert [page.request["PATH_INFO"] for page in pages if MARKER in page.text] == []


def test_whoever_deletes_a_person_or_erases_for_them_reads_nothing_either(world: Client) -> None:
    form = {"action": "delete_selected", "_selected_action": list(Fact.objects.values_list("pk", flat=True))}

    asked = world.post(_url(Fact, "changelist"), form)
    done = world.post(_url(Fact, "changelist"), {**form, "post": "yes"}, follow=True)

    assert MARKER not in asked.text + done.text
    assert not Fact.objects.exists()


@pytest.mark.parametrize("model", [Session, Chunk, Fact, Hypothesis, Note], ids=lambda model: model.__name__)
def test_setting_a_hidden_row_aside_and_back_changes_no_text(model: type[PrivateModel], world: Client) -> None:
    texts = [*model.private_texts() - {"deprecation_reason"}]
    before = list(model._default_manager.order_by("pk").values_list(*texts))
    chosen = {"_selected_action": list(model._default_manager.values_list("pk", flat=True))}

    world.post(_url(model, "changelist"), {"action": "set_aside", **chosen})
    world.post(_url(model, "changelist"), {"action": "restore", **chosen})

    assert list(model._default_manager.order_by("pk").values_list(*texts)) == before


def test_a_hidden_row_is_never_saved() -> None:
    fact = make_fact(make_actor(), fact="Deploys on Mondays.")

    with masking(Mask(make_user().pk)):
        hidden = Fact.objects.defer("fact").get(pk=fact.pk)
        assert hidden.fact == HIDDEN
        with pytest.raises(MaskedRow):
            hidden.save()

    fact.refresh_from_db()
    assert fact.fact == "Deploys on Mondays."


def test_whoever_says_why_reads_for_half_an_hour_and_the_owner_hears_of_it(
    browser: Client, root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = make_actor(), make_actor()
    facts = [make_fact(actor, fact=f"{MARKER} of {name}") for actor, name in ((ada, "ada"), (bob, "bob"))]
    pages = [_url(Fact, "change", fact.pk) for fact in facts]
    leads = browser.get(pages[0])

    opened = _open(browser, ada.user)
    shown = [browser.get(page) for page in (*pages, pages[0])]
    listed = browser.get(_url(Fact, "changelist"))
    other = Client()
    other.force_login(root)

    assert reverse("private-rows", args=[ada.user.pk]) in leads.text
    assert opened.status_code == 302
    assert [f"{MARKER} of ada" in page.text for page in shown] == [True, False, True]
    assert (f"{MARKER} of ada" in listed.text, f"{MARKER} of bob" in listed.text) == (True, False)
    assert MARKER not in other.get(pages[0]).text
    alert = Alert.objects.get(user=ada.user)
    assert "root opened your private rows" in alert.text
    assert "A complaint about a stored number." in alert.text
    assert alert.is_urgent
    first, second = AuditEvent.objects.filter(event__startswith="private").order_by("number")
    assert (first.event, first.by, first.about) == ("private_opened", root, ada.user)
    assert first.details == {"reason": "A complaint about a stored number."}
    assert (second.event, second.about, second.details) == (
        "private_shown",
        ada.user,
        {"rows": [f"knowledge.Fact {facts[0].pk}"]},
    )
    for moved in (timedelta(minutes=31), timedelta(minutes=-1)):
        moment = timezone.now() + moved
        monkeypatch.setattr(private_rows.timezone, "now", lambda moment=moment: moment)
        assert MARKER not in browser.get(pages[0]).text


def test_rows_that_one_admin_opened_are_open_to_nobody_else(browser: Client, root: User) -> None:
    ada, cora = make_actor(), make_user("cora", role=Role.ADMIN)
    page = _url(Fact, "change", make_fact(ada, fact=MARKER).pk)
    _open(browser, ada.user)
    opened = dict(browser.session.items())
    assert MARKER in browser.get(page).text

    User.objects.filter(pk=root.pk).update(role=Role.MEMBER)
    demoted = browser.get(page)
    User.objects.filter(pk=root.pk).update(role=Role.ADMIN)
    browser.force_login(cora)
    in_one_browser = browser.get(page)
    session = browser.session
    session.update({name: value for name, value in opened.items() if not name.startswith("_auth")})
    session.save()

    assert MARKER not in demoted.text
    assert in_one_browser.status_code == 200
    assert MARKER not in in_one_browser.text
    assert MARKER not in browser.get(page).text, "What one admin opened was carried into another's session."


@pytest.mark.parametrize("reason", ["", "  ", "Because.", "\u200b" * 20, "x" * 201])
def test_without_a_reason_nothing_opens(browser: Client, reason: str) -> None:
    ada = make_actor()
    fact = make_fact(ada, fact=MARKER)

    answer = _open(browser, ada.user, reason)

    assert answer.status_code == 422
    assert MARKER not in browser.get(_url(Fact, "change", fact.pk)).text
    assert not Alert.objects.filter(user=ada.user).exists()


def test_only_admins_open_rows_and_come_back_to_the_admin_site(browser: Client) -> None:
    ada, cora = make_user(), make_user(role=Role.CURATOR)
    page, curator = reverse("private-rows", args=[ada.pk]), Client()
    curator.force_login(cora)

    refused = _open(curator, ada)
    away = browser.post(f"{page}?next=https://evil.example/admin/", {"reason": "A complaint about a number."})
    back = browser.post(f"{page}?next=/admin/knowledge/fact/", {"reason": "A complaint about a number."})

    assert refused.status_code == 403
    assert (away["Location"], back["Location"]) == ("/admin/", "/admin/knowledge/fact/")


def test_ones_own_rows_and_those_of_personal_mode_are_not_hidden(browser: Client, root: User, settings: Any) -> None:
    own, other = make_fact(make_actor(root), fact=f"{MARKER} own"), make_fact(make_actor(), fact=f"{MARKER} other")
    pages = [_url(Fact, "change", fact.pk) for fact in (own, other)]

    team = [MARKER in browser.get(page).text for page in pages]
    settings.BIGMIND_MODE = "personal"
    personal = [MARKER in browser.get(page).text for page in pages]
    found = browser.get(_url(Fact, "changelist"), {"q": f"{MARKER} other"})

    assert (team, personal) == ([True, False], [True, True])
    assert found.context["cl"].result_count == 1


def test_what_is_shared_is_not_hidden(world: Client) -> None:
    shared = Passage.objects.filter(owner=None).first()
    assert shared is not None
    Passage.objects.filter(pk=shared.pk).update(text="Everybody reads this.")

    assert "Everybody reads this." in world.get(_url(Passage, "change", shared.pk)).text
    assert Summary.owned_by == "session__user"
