"""Tests of connections on their page: what was seen, the next step on failure, and nothing for who is no admin."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, User
from accounts.sign_in.discovery import check_provider
from tests.accounts.provider import OutsideProvider
from tests.accounts.test_sso import ADA, go_there, invited, provider
from tests.curation.test_notices import Hook, hook
from tests.factories import browser_of, make_user

__all__ = ["hook", "provider"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Iterator[Client]:
    cache.clear()
    client.force_login(make_user("root", role="admin", display_name="Ruth Root", email="root@example.com"))
    return client


def run(client: Client, name: str) -> str:
    return client.post(reverse("system-test", args=[name])).text


def test_a_mail_is_sent_to_oneself_and_a_failure_says_what_to_look_at(admin: Client, settings: Any) -> None:
    off = run(admin, "mail")
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    sent = run(admin, "mail")
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    failed = run(admin, "mail")

    assert "No mail server is set." in off
    assert [letter.to for letter in mail.outbox] == [["root@example.com"]]
    assert "127.0.0.1:9 accepted a mail to root@example.com." in sent
    assert "127.0.0.1:9 does not answer (ConnectionRefusedError)." in failed
    assert "whether a firewall is between" in failed
    results = AuditEvent.objects.filter(event="connection_tested").order_by("number").values_list("details", flat=True)
    assert [one["result"] for one in results] == ["it is not set up", "it worked", "it failed"]


def test_a_webhook_shows_status_and_answer_and_private_networks_are_refused(
    admin: Client, hook: Hook, settings: Any
) -> None:
    worked = run(admin, "webhook")
    hook.status = 404
    moved = run(admin, "webhook")
    settings.WEBHOOK_PRIVATE = False
    refused = run(admin, "webhook")

    assert "localhost answered 200." in worked
    assert "localhost answered 404. The address may have moved" in moved
    assert "localhost is in a private network." in refused
    assert b'"type":"webhook.test"' in hook.received[0][1]
    assert len(hook.received) == 2


def test_the_embedder_and_the_company_server(admin: Client) -> None:
    embedder, reranker, company = run(admin, "embedder"), run(admin, "reranker"), run(admin, "company")

    assert "It made a vector of" in embedder
    assert "Dimensions" in embedder
    assert "No reranker is set." in reranker
    assert "No company server is set." in company


def test_tests_are_for_admins_and_not_without_end(admin: Client) -> None:
    curator = browser_of(make_user(role="curator"))
    addresses = [reverse("system-tests"), reverse("sso-set-up"), reverse("sso-test")]

    assert [curator.get(address).status_code for address in addresses] == [403, 403, 403]
    assert curator.post(reverse("system-test", args=["mail"])).status_code == 403
    # The minute may end meanwhile: then they are counted anew.
    statuses = [admin.post(reverse("system-test", args=["company"])).status_code for _ in range(25)]
    assert set(statuses[:12]) == {200}
    assert 429 in statuses
    assert admin.post(reverse("system-test", args=["nothing"])).status_code == 404


def test_the_provider_is_checked(admin: Client, provider: OutsideProvider, settings: Any) -> None:
    page = admin.post(reverse("sso-set-up")).text
    provider.nonsense = {"/.well-known/openid-configuration"}
    nonsense = check_provider()
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    away = check_provider()

    assert f"{settings.PUBLIC_URL}/sign-in/sso/callback/" in page
    assert "as BIGMIND_OIDC_ISSUER does" in page
    assert "It publishes 1 signing key." in page
    assert [check.outcome for check in nonsense] == ["problem"]
    assert "does not answer within 5 s" in away[0].what


def test_a_test_sign_in_says_who_would_come_in_and_changes_nothing(admin: Client, provider: OutsideProvider) -> None:
    provider.claims = dict(ADA)
    stranger = admin.get(_back_from_test(admin)).text
    invited()
    before = set(User.objects.values_list("pk", flat=True))

    welcome = admin.get(_back_from_test(admin)).text

    assert "You are not invited to this BigMind." in stranger
    assert "would be made with the role curator" in welcome
    assert "you are still signed in as Ruth Root" in welcome
    assert set(User.objects.values_list("pk", flat=True)) == before
    assert User.objects.get(pk=admin.session["_auth_user_id"]).username == "root"
    assert provider.asked[-1]["prompt"] == "login"


def test_a_test_begun_by_an_admin_shows_nothing_to_somebody_else(admin: Client, provider: OutsideProvider) -> None:
    provider.claims = dict(ADA)
    back = _back_from_test(admin)
    user = User.objects.get(username="root")
    user.role = "member"
    user.save()

    refused = admin.get(back)

    assert refused.status_code == 403
    assert ADA["email"] not in refused.text


def _back_from_test(client: Client) -> str:
    return go_there(client, address=reverse("sso-test"))
