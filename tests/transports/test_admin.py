"""The admin: every model can be looked at, and mending goes through the services."""

from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import Client, override_settings
from django.urls import reverse

from accounts.models import Alert, ApiKey, Call, Role, SignInLink, User
from accounts.services.app_tokens import let_in
from accounts.services.connected_apps import introduce_app
from accounts.services.erasures import Erased, report_erasure
from accounts.services.invitations import invite
from accounts.services.keys import create_key
from accounts.services.sign_in_links import make_sign_in_link
from accounts.services.sign_in_tries import count_try
from accounts.services.task_tallies import tally_task
from bigmind.api.examples import example_arguments
from bigmind.core.operations import accepted
from bigmind.core.sections import Section
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.models import Delivery, Frequency, Notice, Subscription
from curation.services.entries import comment
from curation.services.proposals import promote_to_global
from curation.services.queue import claim_entry
from knowledge.embeddings.budget import spend
from knowledge.models import (
    AmbiguousName,
    App,
    AppRun,
    Chunk,
    CompanyCopy,
    CompanyEntry,
    CompanyServer,
    Dispatch,
    Fact,
    Gap,
    Healing,
    Hypothesis,
    Note,
    Passage,
    Proof,
    Recall,
    ReferenceDrift,
    ReferenceUse,
    ReferenceVersion,
    Serving,
    Session,
    Summary,
    UnansweredQuestion,
    Writing,
)
from knowledge.services.app_learning import learn_app
from knowledge.services.embedding import embed_pending
from knowledge.services.entries import add_entry
from knowledge.services.facts import store_fact
from knowledge.services.feedback import give_feedback
from knowledge.services.hypotheses import add_hypothesis
from knowledge.services.instances import register_instance
from knowledge.services.lessons import lesson_for
from knowledge.services.notes import set_note
from knowledge.services.people import change_sharing
from knowledge.services.sessions import append_chunk, end_session, start_session
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_reference

pytestmark = pytest.mark.django_db

OURS = [model for label in ("accounts", "knowledge", "curation") for model in apps.get_app_config(label).get_models()]


@pytest.fixture
def browser() -> Client:
    """An admin who is signed in."""
    client = Client()
    client.force_login(make_user("root", role=Role.ADMIN))
    return client


@pytest.fixture
def one_of_everything() -> None:
    """Somebody's memory with one row of every model."""
    user = make_user("ada")
    create_key(user)
    make_sign_in_link(user)
    Alert.objects.create(user=user, kind=Alert.Kind.KEY_ENDS, text="ada's key ends.")
    app = introduce_app("c1", name="Ada's chat", redirect_uris=["https://chat.example/back"], address="192.0.2.8")
    let_in(
        make_actor(user), app, scopes=["read"], challenge="c" * 43, redirect_uri="", resource="https://b.example/mcp"
    )
    invite(make_actor(admin=True), name="ada's friend")
    browser = Client()
    browser.force_login(user)
    browser.get(reverse("keys"))
    count_try("ada", "192.0.2.7")
    tally_task("knowledge.tasks.embed_pending", seconds=0.1, scheduled=True, request_id="1")
    actor = make_agent(user, "claude-code")
    perform(CATALOGUE["memory_update_profile"], actor, {"role": "Engineer"}, door="command", idempotency_key="profile")
    start_session(actor)
    append_chunk(actor, role="user", content="It was the pool.")
    end_session(actor, one_liner="Found the leak", summary="A long hunt.")
    store_fact(actor, category="identity", fact="Is called Ada.")
    add_hypothesis(actor, hypothesis="I believe it is the pool.")
    set_note(actor, domain="email", key="rules", content="Be brief.")
    add_entry(actor, content="Routes are ordered.", entry_type="fact")
    with override_settings(BIGMIND_MODE="team"):
        entry = promote_to_global(actor, category="standard", title="Health", content="Answer /healthz.").entry
    curator = make_actor(curator=True)
    comment(curator, entry_id=entry.pk, text="Since when?")
    claim_entry(curator, entry_id=entry.pk)
    give_feedback(actor, kind="fact", id=str(Fact.objects.get().pk), verdict="useful")
    Writing.objects.create(kind="fact", source_id="1", made=True, user=user, agent=actor.agent)
    Notice.objects.create(user=user, entry=entry, text="Approved.")
    Delivery.objects.create(channel="webhook", event="proposed", body={})
    Subscription.objects.create(user=user, frequency=Frequency.WEEKLY)
    embed_pending()
    add_entry(actor, content="`TypeError: pay is not a function`", entry_type="fact")
    lesson_for(actor, error="TypeError: pay is not a function")
    Proof.objects.create(entry=entry)
    start = start_session(actor).session
    Serving.objects.create(session=start, user=user, kind="company", source_id=str(entry.pk))
    Recall.objects.create(session=start, user=user, handle="C1", why="Poisoned.")
    report_erasure(Erased({"what": "source"}), whose=user)
    UnansweredQuestion.objects.create(gap=Gap.objects.create(), user=user, text="Who knows?", digest="1")
    reference = make_reference(name="helios users list", title="List users")
    ReferenceVersion.objects.create(reference=reference, number=1, text={}, why="edit")
    ReferenceDrift.objects.create(reference=reference)
    ReferenceUse.objects.create(reference=reference)
    spend(100)
    learn_app(actor, **accepted(learn_app, example_arguments(CATALOGUE["app_learn"])))
    AmbiguousName.objects.create(name="Elicit", look_up="elicit")
    Healing.objects.create(app=App.objects.get(), app_name="CRM", failure="row_gone", outcome="found", user=user)
    AppRun.objects.create(purpose="bootstrap", connector="budibase", asked_by=user)
    sessions = list(Session.objects.of(user).values_list("pk", flat=True))
    change_sharing(actor, sections=list(Section), in_directory=True, session_ids=sessions)
    server = CompanyServer.objects.create(url="https://bigmind.example.com")
    Dispatch.objects.create(entry=entry, server=server)
    copied = CompanyEntry.objects.create(
        category="standard", title="Deploys", content="Blue-green.", digest="1", is_copy=True, status="approved"
    )
    CompanyCopy.objects.create(entry=copied, server=server, upstream_id=1, upstream_revision=1)
    register_instance(actor, instance_id=uuid4(), name="ada's laptop", version="1.0")


def _url(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def _act(browser: Client, model: type[Model], action: str, **more: str) -> Any:
    chosen = [str(pk) for pk in model._default_manager.values_list("pk", flat=True)]
    form = {"action": action, "_selected_action": chosen, **more}
    return browser.post(_url(model, "changelist"), form, follow=True)


def test_every_model_is_there() -> None:
    assert [model for model in OURS if not admin.site.is_registered(model)] == []


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_every_list_can_be_searched_and_every_row_opened(
    model: type[Model], browser: Client, one_of_everything: None
) -> None:
    row = model._default_manager.first()
    assert row is not None

    pages = [
        browser.get(_url(model, "changelist"), {"q": "ada"}),
        browser.get(_url(model, "change", row.pk)),
    ]

    assert [page.status_code for page in pages] == [200, 200]


@pytest.mark.parametrize("role", [Role.MEMBER, Role.CURATOR])
def test_only_admins_enter(role: str) -> None:
    client = Client()
    client.force_login(make_user(role=role))

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403


def test_who_is_not_signed_in_is_sent_to_the_sign_in_page() -> None:
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("sign-in"))


def test_a_user_made_here_has_no_password(browser: Client) -> None:
    browser.post(_url(User, "add"), {"username": "eric", "role": "member", "is_active": "on"})

    assert not User.objects.get(username="eric").has_usable_password()


def test_a_key_is_revoked_by_the_same_service_as_everywhere(browser: Client) -> None:
    create_key(make_user())

    _act(browser, ApiKey, "revoke")

    assert ApiKey.objects.get().state == "revoked"


def test_the_last_admin_cannot_be_deleted(browser: Client) -> None:
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
