"""Webhooks that admins add: their events, signatures while a secret is rotated, tests, and what is refused."""

import base64
import hashlib
import hmac
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.views.sign_in import CONFIRMED
from bigmind.core.errors import Forbidden, Invalid
from curation.models import Delivery, Webhook
from curation.notifications.deliveries import deliver_pending
from curation.notifications.webhooks import add_webhook
from tests.curation.factories import decide_at_latest, propose
from tests.curation.test_notices import Hook, hook
from tests.factories import make_actor, make_user
from tests.meanwhile import meanwhile

__all__ = ["hook"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    cache.clear()
    client.force_login(make_user("root", role="admin", display_name="Ruth Root"))
    session = client.session
    session[CONFIRMED] = time.time()
    session.save()
    return client


def _signed(secret: str, headers: dict[str, str], body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def _secret_on(page: str) -> str:
    return page.partition("<code>whsec_")[2].partition("</code>")[0].join(["whsec_", ""])


def test_each_webhook_is_sent_what_it_chose_and_that_of_the_environment_everything(admin: Client, hook: Hook) -> None:
    sent = {"name": "Approvals", "url": f"{hook.url}?approvals", "events": ["company.approve"]}
    page = admin.post(reverse("webhook-new"), sent).text
    secret = _secret_on(page)

    decide_at_latest(make_actor(curator=True), entry_id=propose(title="Deploys on Tuesdays").pk, action="approve")
    deliver_pending()

    own = Delivery.objects.filter(webhook__name="Approvals")
    assert [delivery.event for delivery in own] == ["company.approve"]
    assert {delivery.event for delivery in Delivery.objects.filter(webhook=None)} == {
        "company.propose",
        "company.approve",
    }
    ours = [one for one in hook.received if one[0]["webhook-id"] == str(own.get().pk)]
    ((headers, body),) = ours
    assert headers["webhook-signature"] == _signed(secret, headers, body)
    assert secret not in Webhook.objects.get().secret
    assert secret not in admin.get(reverse("webhook", args=[Webhook.objects.get().pk])).text


def test_while_a_secret_is_rotated_both_sign(admin: Client, hook: Hook, settings: Any) -> None:
    settings.WEBHOOK_URL = ""
    sent = {"name": "Chat", "url": hook.url, "events": ["company.propose"]}
    old = _secret_on(admin.post(reverse("webhook-new"), sent).text)
    row = Webhook.objects.get()
    new = _secret_on(admin.post(reverse("webhook-rotate", args=[row.pk])).text)

    propose(title="Health")
    deliver_pending()

    ((headers, body),) = hook.received
    assert headers["webhook-signature"].split() == [_signed(new, headers, body), _signed(old, headers, body)]


@pytest.mark.parametrize("status", [200, 500])
def test_one_that_is_removed_while_it_is_sent_to_keeps_nothing_else_from_being_sent(admin, hook, status):
    admin.post(reverse("webhook-new"), {"name": "Chat", "url": hook.url, "events": ["company.propose"]})
    hook.status = status
    propose()
    Delivery.objects.exclude(webhook=None).update(not_before=timezone.now() - timedelta(minutes=1))

    with meanwhile(Webhook.objects.all().delete, after='UPDATE "curation_delivery"'):
        deliver_pending()

    assert [(one.webhook, one.attempts) for one in Delivery.objects.all()] == [(None, 1)]


def test_it_is_tested_turned_off_and_removed_on_its_page(admin: Client, hook: Hook, settings: Any) -> None:
    settings.WEBHOOK_URL = ""
    sent = {"name": "Chat", "url": hook.url, "events": ["company.propose"]}
    admin.post(reverse("webhook-new"), sent)
    page = reverse("webhook", args=[Webhook.objects.get().pk])

    hook.status = 401
    tried = admin.post(f"{page}test/").text
    admin.post(page, {**sent, "name": "Chat room"})
    propose(title="Health")
    listed = admin.get(reverse("webhooks")).text
    log = admin.get(reverse("audit"), {"kind": "settings"}).text
    admin.post(f"{page}remove/")

    assert "localhost answered 401. It does not accept the signature: compare the secrets." in tried
    assert "Chat room" in listed
    assert not Delivery.objects.exists()
    assert "Ruth Root tested the webhook Chat: it failed." in log
    assert "Ruth Root changed the webhook Chat room: name, is on." in log
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"url": "http://127.0.0.1/hook"}, "must not be in a private network"),
        ({"url": "http://169.254.169.254/latest"}, "must not be in a private network"),
        ({"url": "https://ann:secret@93.184.216.34/"}, "must not have a name or password"),
        ({"url": "ftp://93.184.216.34/"}, "must look like https://hooks.example.com/bigmind"),
        ({"url": "https://93.184.216.34:99999/"}, "must look like"),
        ({"url": "https://" + "a" * 600}, "must have 1 to 500 characters; it has 608"),
        ({"name": " "}, "must have 1 to 60 characters; it has 0"),
        ({"name": "Taken"}, "is taken by another webhook"),
        ({"events": []}, "must be one or more of the events listed"),
        ({"events": ["company.nothing"]}, "must be one or more of the events listed"),
    ],
)
def test_what_could_not_work_is_refused_by_its_field(wrong: dict[str, Any], said: str) -> None:
    admin = make_actor(admin=True)
    fields: dict[str, Any] = {"url": "https://93.184.216.34/hook", "events": ["company.approve"]}
    add_webhook(admin, name="Taken", **fields)

    with pytest.raises(Invalid) as refusal:
        add_webhook(admin, **{"name": "New", **fields, **wrong})

    assert said in str(refusal.value)
    assert str(refusal.value).startswith(next(iter(wrong)))


def test_curators_add_none() -> None:
    with pytest.raises(Forbidden):
        add_webhook(make_actor(curator=True), name="Mine", url="https://93.184.216.34/", events=["company.approve"])
