"""Notices: who is told what, in the app, by e-mail as often as they like, and over a signed webhook."""

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from pydantic import ValidationError

from accounts.people.invitations import invite
from accounts.services.mail import mail_invitation
from bigmind.environment import Environment
from bigmind.network.addresses import AddressRefused, Fetched, public_address
from curation.decisions.entry_details import comment
from curation.models import Delivery, Frequency, Notice
from curation.notifications.deliveries import PAUSES, deliver_pending
from curation.notifications.notices import choose_reasons, mark_seen, notices_of
from curation.services.digests import send_digests, subscribe
from tests.curation.factories import decide_at_latest, propose
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db


def test_the_proposer_is_told_of_the_decision_and_the_curator_of_nothing() -> None:
    author, curator = make_actor(), make_actor(curator=True)
    entry = propose(author, title="Health")

    decide_at_latest(curator, entry_id=entry.pk, action="reject", notes="Too vague.")

    assert [notice.text for notice in notices_of(author)] == [
        f"“Health” ({entry.handle}) was rejected by {curator.user}: Too vague."
    ]
    assert not notices_of(curator).exists()


def test_what_was_seen_is_not_new_any_more() -> None:
    author = make_actor()
    decide_at_latest(make_actor(curator=True), entry_id=propose(author).pk, action="approve")

    assert (mark_seen(author), mark_seen(author)) == (1, 0)


def test_a_notice_says_why_and_nobody_hears_of_what_they_muted() -> None:
    author, owner, curator = make_actor(), make_actor(), make_actor(curator=True)
    entry = propose(author)
    comment(owner, entry_id=decide_at_latest(curator, entry_id=entry.pk, action="approve").entry.pk, text="Why?")
    choose_reasons(author, reasons=["owned", "commented"])
    Notice.objects.all().delete()

    comment(curator, entry_id=entry.pk, text="Because.")
    told = dict(Notice.objects.values_list("user__username", "reason"))
    choose_reasons(owner, reasons=["proposed"])
    comment(curator, entry_id=entry.pk, text="And so on.")

    assert told == {owner.user.username: "commented"}
    assert Notice.objects.count() == len(told)


def test_those_who_spoke_hear_of_the_answer_once_each() -> None:
    author, curator = make_actor(), make_actor(curator=True)
    entry = propose(author)
    comment(curator, entry_id=entry.pk, text="Since when?")
    comment(curator, entry_id=entry.pk, text="And for whom?")

    comment(author, entry_id=entry.pk, text="Since March.")

    assert Notice.objects.filter(user=author.user).count() == 2
    assert Notice.objects.filter(user=curator.user).count() == 1


def test_whoever_once_commented_is_told_nothing_of_a_draft_they_may_not_read() -> None:
    author, reader, curator = make_actor(), make_actor(), make_actor(curator=True)
    entry = propose(author)
    decide_at_latest(curator, entry_id=entry.pk, action="approve")
    comment(reader, entry_id=entry.pk, text="Since when?")
    decide_at_latest(curator, entry_id=entry.pk, action="reopen")

    comment(author, entry_id=entry.pk, text="We are changing it.")

    assert not Notice.objects.filter(user=reader.user).exists()


class Hook(HTTPServer):
    """A webhook of somebody else: it answers as it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.status = 200
        self.received: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_port}/hook"


class _Answering(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hook(settings: Any) -> Iterator[Hook]:
    server = Hook()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    settings.WEBHOOK_URL, settings.WEBHOOK_SECRET, settings.WEBHOOK_PRIVATE = server.url, "a secret", True
    yield server
    server.shutdown()
    server.server_close()


def test_the_webhook_hears_of_a_proposal_signed_and_without_its_text(hook: Hook) -> None:
    entry = propose(title="Health", content="Answer /healthz to Zanzibar.")

    deliver_pending()

    ((headers, body),) = hook.received
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(b"a secret", signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{wanted}"
    assert json.loads(body)["type"] == "company.propose"
    assert json.loads(body)["data"]["handle"] == entry.handle
    assert b"Zanzibar" not in body


@pytest.mark.parametrize("status", [503, 302])  # A redirection is not followed.
def test_what_fails_is_tried_again_later_and_given_up_at_last(hook, status):
    hook.status = status
    propose()

    for _ in range(len(PAUSES) + 2):
        deliver_pending()
        Delivery.objects.update(not_before=timezone.now() - timedelta(seconds=1))

    delivery = Delivery.objects.get()
    assert len(hook.received) == len(PAUSES) + 1
    assert delivery.given_up_at is not None
    assert str(status) in delivery.error


PRIVATE = """
localhost/hook 127.0.0.1:8000/ [::1]/ 169.254.169.254/latest/meta-data/ 10.0.0.7/ 192.168.1.1/
[::ffff:127.0.0.1]/ 2130706433/ 0.0.0.0/ [fe80::1]/ [fd00::1]/ 100.64.0.1/ [64:ff9b::a9fe:a9fe]/ [::7f00:1]/
[fec0::1]/ 192.0.0.192/ [64:ff9b:1::7f00:1]/ [::ffff:0:127.0.0.1]/ [5f00::1]/ [2002:7f00:1::1]/ [2001::1]/
[3fff::1]/ [ff02::1]/ 198.18.0.1/ 240.0.0.1/ 224.0.0.1/
"""


@pytest.mark.parametrize("place", PRIVATE.split())
def test_addresses_that_are_not_public_are_refused(place):
    with pytest.raises(AddressRefused, match="private network"):
        public_address(f"http://{place}")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://example.com/", "not an address", "https://"])
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused, match="no http"):
        public_address(url)


def test_a_public_address_is_called_by_its_number_and_one_behind_a_gateway_judged_by_what_that_calls():
    assert public_address("https://93.184.216.34/hook") == ("https://93.184.216.34:443/hook", "93.184.216.34")
    assert public_address("http://[64:ff9b::5db8:d822]/")[0] == "http://[64:ff9b::5db8:d822]:80/"


def test_a_name_that_leads_elsewhere_after_it_was_checked_is_not_asked_again(hook, settings, monkeypatch):
    asked, look_up = [], socket.getaddrinfo

    def rebind(host: Any, *rest: Any, **more: Any) -> Any:
        if host != "rebind.example":
            return look_up(host, *rest, **more)
        asked.append(host)
        return look_up("127.0.0.1" if len(asked) == 1 else "127.0.0.9", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    settings.WEBHOOK_URL = f"http://rebind.example:{hook.server_port}/hook"
    propose()

    deliver_pending()

    ((headers, _),) = hook.received
    assert asked == ["rebind.example"]
    assert headers["host"] == f"rebind.example:{hook.server_port}"


def test_without_a_webhook_nothing_is_queued(settings: Any) -> None:
    settings.WEBHOOK_URL = ""

    propose()

    assert not Delivery.objects.exists()


@pytest.fixture
def mail_server(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"


def test_what_another_worker_sends_meanwhile_is_not_sent_twice(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(title="Health")
    propose(title="Readiness")
    sent: list[str] = []

    def slow_post(url: str, body: bytes, headers: dict[str, str], **_: Any) -> Fetched:
        sent.append(headers["webhook-id"])
        deliver_pending()
        return Fetched(200, {}, b"")

    monkeypatch.setattr("curation.notifications.webhook_requests.post", slow_post)

    deliver_pending()

    assert sorted(sent) == sorted(str(pk) for pk in Delivery.objects.values_list("pk", flat=True))
    assert not Delivery.objects.filter(delivered_at=None).exists()


def test_only_what_is_being_sent_is_taken(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(title="Health")
    propose(title="Readiness")
    due: list[int] = []

    def slow_post(*_: Any, **__: Any) -> Fetched:
        due.append(Delivery.objects.filter(delivered_at=None, not_before__lte=timezone.now()).count())
        return Fetched(200, {}, b"")

    monkeypatch.setattr("curation.notifications.webhook_requests.post", slow_post)

    deliver_pending()

    assert due == [1, 0]


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("http://localhost:99999/hook", "a secret"),
        ("http://localhost:port/hook", "a secret"),
        (f"http://{'a' * 70}.example/hook", "a secret"),
        ("http://localhost/hook\x00", "a secret"),
        ("http://localhost/hook", "whsec_no base64"),
    ],
)
def test_a_webhook_that_cannot_be_called_keeps_no_mail_from_being_sent(url, secret, mail_server, settings):
    settings.WEBHOOK_URL, settings.WEBHOOK_SECRET, settings.WEBHOOK_PRIVATE = url, secret, True
    make_user("eve", role="curator", email="eve@example.com")
    propose()
    send_digests()

    deliver_pending()

    assert len(mail.outbox) == 1
    assert "cannot be used" in Delivery.objects.get(delivered_at=None).error


@pytest.mark.parametrize("port", ["99999", "0", "port", "-1"])
def test_a_webhook_with_a_wrong_port_is_refused_at_the_start(port: str) -> None:
    with pytest.raises(ValidationError, match="must have a port from 1 to 65535"):
        Environment(webhook_url=f"https://hooks.example.com:{port}/", webhook_secret="a secret")


@pytest.mark.parametrize("secret", ["whsec_", "whsec_no base64", "whsec_abc"])
def test_a_secret_that_is_not_the_base64_it_says_is_refused_at_the_start(secret: str) -> None:
    with pytest.raises(ValidationError, match="must have base64 after") as refusal:
        Environment(webhook_secret=secret)

    assert "input_value" not in str(refusal.value)


@pytest.mark.parametrize("secret", ["whsec_YSBzZWNyZXQ=", "any text", ""])
def test_a_secret_that_can_sign_is_accepted(secret: str) -> None:
    assert Environment(webhook_secret=secret).webhook_secret.get_secret_value() == secret


def test_a_person_is_written_once_a_day_what_was_decided(mail_server: None) -> None:
    author = make_actor(make_user(email="ada@example.com"))
    entry = propose(author, title="Health")
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="approve")

    first = send_digests()
    again = send_digests()
    deliver_pending()

    (letter,) = mail.outbox
    assert (first, again) == (1, 0)
    assert letter.to == ["ada@example.com"]
    assert "was approved by" in letter.body
    assert f"/company/{entry.pk}/" in letter.body


def test_a_digest_counts_what_it_does_not_show_and_the_next_one_begins_behind_it(mail_server: None) -> None:
    author = make_actor(make_user(email="ada@example.com"))
    entry = propose(author, title="Health")
    Notice.objects.bulk_create(Notice(user=author.user, entry=entry, text=f"Notice {each}.") for each in range(13))

    send_digests()
    Notice.objects.create(user=author.user, entry=entry, text="Notice of the next day.")
    send_digests(timezone.now() + timedelta(days=1, minutes=1))
    deliver_pending()

    first, second = mail.outbox
    assert "13 decisions and comments" in first.subject
    assert first.body.count("Notice ") == 10
    for text in (first.body, first.alternatives[0].content):
        assert "and 3 more" in text
        assert "/notices/" in text
    assert second.body.count("Notice ") == 1
    assert "more" not in second.body


def test_a_curator_is_written_what_waits_with_a_link_to_each(mail_server: None) -> None:
    make_user("eve", role="curator", email="eve@example.com")
    entry = propose(title="Health <b>")

    send_digests()
    deliver_pending()

    (letter,) = mail.outbox
    assert "1 waiting for a curator" in letter.subject
    assert "Health <b>" in letter.body
    assert f"/curation/{entry.pk}/" in letter.body
    assert "/notices/#letters>" in letter.extra_headers["List-Unsubscribe"]


def test_mails_look_like_the_product_and_load_nothing(mail_server: None, settings: Any) -> None:
    settings.PUBLIC_URL = "https://bigmind.example.com"
    author = make_actor(make_user(email="ada@example.com"))
    decided = propose(author, title="Health <img src=x>")
    decide_at_latest(make_actor(curator=True), entry_id=decided.pk, action="approve")
    grace = make_actor(admin=True)
    mail_invitation(invite(grace, name="Eve <b>", email="eve@example.com"))

    send_digests()
    deliver_pending()

    pages = [letter.alternatives[0].content for letter in mail.outbox]
    assert len(pages) == 2
    for page in pages:
        assert "prefers-color-scheme: dark" in page
        assert not re.findall(r"<(?:img|link|script|iframe)|url\(|@import", page)
    assert "Eve &lt;b&gt;" in pages[0]
    assert "Health &lt;img src=x&gt;" in pages[1]
    assert "Because you proposed it" in pages[1]
    assert f'href="https://bigmind.example.com/company/{decided.pk}/"' in pages[1]


def test_who_wants_no_mail_gets_none(mail_server: None) -> None:
    curator = make_actor(make_user(role="curator", email="eve@example.com"))
    subscribe(curator, frequency=Frequency.NEVER)
    propose()

    assert send_digests() == 0


def test_without_a_mail_server_nothing_is_written(settings: Any) -> None:
    settings.EMAIL_HOST = ""
    make_user("eve", role="curator", email="eve@example.com")
    propose()

    assert send_digests() == 0
