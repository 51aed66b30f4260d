"""Asking an expert: it reaches them, is private between the two, and the answer can be proposed to everyone."""

from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.actor import Actor
from accounts.models import Alert, AuditEvent, User
from accounts.services.alerts import unseen_alerts
from bigmind.core.errors import Conflict, NotFound, TooMany
from bigmind.core.profile_sections import ProfileSection
from bigmind.core.rls import rls_bypass, rls_scope
from curation.models import Delivery, Frequency
from curation.notifications.digests import send_digests, subscribe
from knowledge.models import CompanyEntry, ExpertQuestion, Note
from knowledge.services.expert_questions import (
    answer_question,
    ask_expert,
    decline_question,
    read_question,
    withdraw_question,
)
from knowledge.services.first_steps import share_nothing
from knowledge.services.people_index import change_sharing
from tests.factories import make_actor, make_key, make_user

pytestmark = pytest.mark.django_db

QUESTION = "Why does the ledger hang without Redis?"
ANSWER = "Its tests need Redis on port 6380. Set `REDIS_URL` before you run them."


@pytest.fixture(autouse=True)
def team(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"


@pytest.fixture
def asker() -> Actor:
    return make_actor(make_user("asa", display_name="Asa Berg"))


@pytest.fixture
def expert() -> Actor:
    actor = make_actor(make_user("eve", display_name="Eve Moran"))
    change_sharing(actor, sections=[ProfileSection.WHO], in_directory=True, session_ids=[])
    return actor


def page_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_question_goes_all_the_way_to_a_proposal(asker: Actor, expert: Actor, settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    subscribe(expert, frequency=Frequency.AT_ONCE, address="eve@example.com")
    asking, knowing = page_of(asker.user), page_of(expert.user)

    asked = asking.post(reverse("question-ask", args=["eve"]), {"question": QUESTION})
    send_digests()
    (told,) = unseen_alerts(expert.user)
    waiting = knowing.get(reverse("questions")).text
    knowing.post(asked.url, {"do": "answer", "answer": ANSWER})
    (heard,) = unseen_alerts(asker.user)
    knowing.post(asked.url, {"do": "file"})

    entry = CompanyEntry.objects.get()
    assert "Asa Berg asks you" in told.text
    assert QUESTION in Delivery.objects.get(to=expert.user).body["text"]
    assert QUESTION in waiting
    assert heard.text.startswith("Eve Moran answered")
    assert ANSWER in asking.get(asked.url).text
    assert ANSWER in Note.objects.get(user=asker.user, domain="answers").content
    assert (entry.status, entry.proposed_by, entry.content) == ("pending", expert.user, ANSWER)
    assert QUESTION in entry.evidence
    assert entry.handle in knowing.get(asked.url).text
    assert mail.outbox == []
    assert not AuditEvent.objects.filter(event__startswith="question").exists()


def test_nobody_else_sees_that_there_is_a_question(asker: Actor, expert: Actor) -> None:
    asked = ask_expert(asker, username="eve", question=QUESTION)
    admin = make_actor(admin=True)
    address = reverse("question", args=[asked.pk])

    seen = [page_of(admin.user).get(address).status_code, page_of(asker.user).get(address).status_code]
    with rls_scope(admin.user.pk):
        rows = list(ExpertQuestion.objects.all())
    listed = page_of(admin.user).get(reverse("admin:knowledge_expertquestion_changelist")).text

    assert seen == [404, 200]
    assert rows == []
    assert QUESTION not in listed
    assert "asa" not in listed
    with pytest.raises(NotFound):
        read_question(admin, asked.pk)


def test_only_who_agreed_to_be_seen_is_asked(asker: Actor, expert: Actor) -> None:
    undecided, hidden = make_user("uma"), make_actor(make_user("hal"))
    share_nothing(hidden)
    browser = page_of(asker.user)
    pages = [browser.get(reverse("question-ask", args=[name])) for name in ("eve", "uma", "hal", "asa", "nobody")]

    assert [page.status_code for page in pages] == [200, 200, 404, 404, 404]
    assert "cannot be asked yet" in pages[1].text
    for name, refusal in ((undecided.username, Conflict), ("hal", NotFound), ("asa", NotFound)):
        with pytest.raises(refusal):
            ask_expert(asker, username=name, question=QUESTION)


def test_questions_are_declined_withdrawn_and_limited(asker: Actor, expert: Actor) -> None:
    first = ask_expert(asker, username="EVE", question="One?")
    with pytest.raises(Conflict, match="already"):
        ask_expert(asker, username="eve", question="One?")
    second, _ = (ask_expert(asker, username="eve", question=text) for text in ("Two?", "Three?"))
    with pytest.raises(Conflict, match="wait for Eve Moran"):
        ask_expert(asker, username="eve", question="Four?")

    withdraw_question(asker, question_id=first.pk)
    decline_question(expert, question_id=second.pk)

    assert Alert.objects.filter(user=expert.user).count() == 2
    assert "has no answer" in unseen_alerts(asker.user).get().text
    with pytest.raises(NotFound):
        read_question(expert, first.pk)
    with pytest.raises(Conflict, match="declined already"):
        answer_question(expert, question_id=second.pk, answer=ANSWER)
    with pytest.raises(NotFound):
        answer_question(asker, question_id=second.pk, answer=ANSWER)
    with rls_bypass():
        ExpertQuestion.objects.bulk_create(
            ExpertQuestion(user=asker.user, expert=expert.user, text=f"{number}?", state="answered")
            for number in range(8)
        )
    with pytest.raises(TooMany):
        ask_expert(asker, username="eve", question="Four?")


def test_an_answer_with_a_secret_or_too_long_is_refused_beside_its_field(asker: Actor, expert: Actor) -> None:
    asked = ask_expert(asker, username="eve", question=QUESTION)
    browser = page_of(expert.user)

    refused = [
        browser.post(reverse("question", args=[asked.pk]), {"do": "answer", "answer": text})
        for text in ("", "x" * 4_001, f"Take the key {make_key().text}: it works.")
    ]

    assert [page.status_code for page in refused] == [422, 422, 422]
    assert read_question(expert, asked.pk).answer == ""


def test_a_question_waits_in_the_inbox_of_who_was_asked_until_they_answer(asker: Actor, expert: Actor) -> None:
    asked = ask_expert(asker, username=expert.user.username, question="How do we rotate the PgBouncer credentials?")
    before = page_of(expert.user).get(reverse("home")).text
    answer_question(expert, question_id=asked.pk, answer="With Vault.")
    after = page_of(expert.user).get(reverse("home")).text
    told = page_of(asker.user).get(reverse("home")).text

    assert "Questions asked of you" in before
    assert reverse("question", args=[asked.pk]) in before
    assert "Questions asked of you" not in after
    assert "Open questions" in told
