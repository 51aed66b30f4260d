"""Deleting a user takes their name out of what others were told, and nothing else."""

import pytest

from accounts.people.user_deletion import delete_user
from curation.decisions.entry_details import comment
from curation.models import Delivery, Notice
from tests.curation.factories import decide_at_latest, propose
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db


def curator_called(name):
    return make_actor(make_user(role="curator", display_name=name))


def notices_of(author):
    return list(Notice.objects.filter(user=author.user).order_by("pk").values_list("text", flat=True))


def test_only_whole_names_and_only_where_they_name_the_one_who_decided_leave_notices():
    make_user(role="admin")
    author, ann = make_actor(), curator_called("ann")
    entry = propose(author, title="What ann planned was announced by ann.")

    decide_at_latest(ann, entry_id=entry.pk, action="reject", notes="It is announced by ann. Later.")
    decide_at_latest(curator_called("joann"), entry_id=entry.pk, action="reopen", notes="To ann.")
    before = notices_of(author)
    delete_user(ann.user)

    begins = f"“What ann planned was announced by ann.” ({entry.handle})"
    assert before[0] == f"{begins} was rejected by ann: It is announced by ann. Later."
    assert notices_of(author)[0] == f"{begins} was rejected by a former user: It is announced by ann. Later."
    assert notices_of(author)[1:] == before[1:]


def test_of_two_people_of_one_name_the_comments_of_the_other_keep_it():
    make_user(role="admin")
    author, one, other = make_actor(), curator_called("Ann Lee"), curator_called("Ann Lee")
    entry = propose(author)

    comment(one, entry_id=entry.pk, text="Since when?")
    comment(other, entry_id=entry.pk, text="And for whom?")
    delete_user(one.user)

    begins = [text.partition(" commented on ")[0] for text in notices_of(author)]
    assert begins == ["a former user", other.user.signature]


def test_messages_about_the_decisions_of_a_namesake_are_sent_as_they_were(settings):
    settings.WEBHOOK_URL = "https://example.com/hook"
    make_user(role="admin")
    one, other = curator_called("Ann Lee"), curator_called("Ann Lee")
    for curator in (one, other):
        decide_at_latest(curator, entry_id=propose(title="Ann Lee decides").pk, action="approve")

    delete_user(one.user)

    sent = Delivery.objects.filter(event="company.approve", delivered_at=None).order_by("created_at")
    assert [(row.body["data"]["by"], row.body["data"]["title"]) for row in sent] == [
        ("a former user", "Ann Lee decides"),
        ("Ann Lee", "Ann Lee decides"),
    ]
