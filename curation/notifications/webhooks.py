"""Webhooks and their events: add, change and test them, and rotate their secrets."""

import base64
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.audit import audit
from bigmind.core.encryption import decrypt, encrypt
from bigmind.core.errors import Invalid, NotFound
from bigmind.environment.addresses import web_address
from bigmind.network.addresses import AddressRefused, Private, public_address
from bigmind.text.hygiene import one_line, show_hidden
from curation.models import Action, Webhook

from .webhook_requests import AUDIT_HEAD, DeliveryFailed, WebhookTarget, send_to

PURPOSE = "bigmind: secrets of webhooks"
MOST_WEBHOOKS = 20
NAME_CHARS, URL_CHARS = 60, 500
OVERLAP = timedelta(hours=24)
"""How long the old secret signs beside the new one."""
ANSWER_SHOWN = 500

EVENTS: dict[str, str] = {
    **{f"company.{action}": f"Company entry: {label.lower()}" for action, label in Action.choices},
    AUDIT_HEAD: "Audit log: its sealed last line, every five minutes if there is a new one",
}
"""What a webhook may choose, with what it means."""


@dataclass(frozen=True)
class NewSecret:
    """A webhook and its secret, which is readable only now."""

    webhook: Webhook
    secret: str


@dataclass(frozen=True)
class TriedWebhook:
    """The result of a test message."""

    ok: bool
    summary: str
    next_step: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)


def list_webhooks(actor: Actor) -> "QuerySet[Webhook]":
    """Return the webhooks with how many deliveries wait and failed. For admins."""
    actor.require("admin")
    waiting = Q(deliveries__delivered_at=None, deliveries__given_up_at=None)
    failed = Q(deliveries__delivered_at=None, deliveries__given_up_at__isnull=False)
    # A webhook without deliveries is joined with a row of nulls, which would count as one that waits.
    return Webhook.objects.annotate(
        waiting=Count("deliveries", filter=waiting & Q(deliveries__isnull=False)),
        failed=Count("deliveries", filter=failed),
    ).order_by("name")


def get_webhook(actor: Actor, webhook_id: int) -> Webhook:
    """Return one webhook. For admins.

    Raises:
        NotFound: there is none with this id.
    """
    actor.require("admin")
    found = Webhook.objects.filter(pk=webhook_id).first()
    if found is None:
        raise NotFound("There is no such webhook.", hint="Look at the list of webhooks.")
    return found


@transaction.atomic
def add_webhook(actor: Actor, *, name: str, url: str, events: Collection[str]) -> NewSecret:
    """Add a webhook that is sent these events from now on; return it with its secret. For admins.

    Raises:
        Invalid: a name that is taken, an address that may not be called, or no event.
    """
    actor.require("admin")
    if Webhook.objects.count() >= MOST_WEBHOOKS:
        raise Invalid.of("name", f"would be one webhook too many; the limit is {MOST_WEBHOOKS}", hint="Remove one.")
    fields = _accept(name, url, events)
    secret = _new_secret()
    webhook = Webhook.objects.create(**fields, secret=encrypt(secret, purpose=PURPOSE), by=actor.user)
    audit("webhook_added", webhook=webhook.name, events=webhook.events)
    return NewSecret(webhook, secret)


@transaction.atomic
def change_webhook(
    actor: Actor, webhook_id: int, *, name: str, url: str, events: Collection[str], is_on: bool
) -> Webhook:
    """Change a webhook. What waits goes to the new address. For admins; returns it.

    Raises:
        NotFound: there is none with this id.
        Invalid: as when it is added.
    """
    webhook = get_webhook(actor, webhook_id)
    changes = {**_accept(name, url, events, but=webhook), "is_on": is_on}
    changed = [key for key, value in changes.items() if getattr(webhook, key) != value]
    for key in changed:
        setattr(webhook, key, changes[key])
    if changed:
        webhook.save(update_fields=changed)
        audit("webhook_changed", webhook=webhook.name, fields=changed)
    return webhook


@transaction.atomic
def rotate_webhook_secret(actor: Actor, webhook_id: int) -> NewSecret:
    """Give a webhook a new secret and return it. For a day messages carry the signatures of both. For admins.

    Raises:
        NotFound: there is none with this id.
    """
    webhook, secret = get_webhook(actor, webhook_id), _new_secret()
    webhook.old_secret, webhook.old_until = webhook.secret, timezone.now() + OVERLAP
    webhook.secret = encrypt(secret, purpose=PURPOSE)
    webhook.save(update_fields=["secret", "old_secret", "old_until"])
    audit("webhook_secret_rotated", webhook=webhook.name, until=webhook.old_until.isoformat(timespec="minutes"))
    return NewSecret(webhook, secret)


@transaction.atomic
def remove_webhook(actor: Actor, webhook_id: int) -> str:
    """Remove a webhook with its deliveries; return its name. For admins.

    Raises:
        NotFound: there is none with this id.
    """
    webhook = get_webhook(actor, webhook_id)
    webhook.delete()
    audit("webhook_removed", webhook=webhook.name)
    return webhook.name


def target_of(webhook: Webhook) -> WebhookTarget:
    """Return where a webhook's messages go, and what signs them.

    Raises:
        DeliveryFailed: its secret cannot be read any more.
    """
    kept = [webhook.secret]
    if webhook.old_secret and webhook.old_until and webhook.old_until > timezone.now():
        kept.append(webhook.old_secret)
    try:
        signing = tuple(decrypt(one, purpose=PURPOSE) for one in kept)
    except InvalidToken as error:
        raise DeliveryFailed("Its secret cannot be read: the secret key has changed. Rotate it.") from error
    return WebhookTarget(webhook.url, signing, settings.WEBHOOK_PRIVATE)


def try_webhook(target: WebhookTarget) -> TriedWebhook:
    """Send a signed test message now, within ten seconds; return the status and the beginning of the answer."""
    message = {"type": "webhook.test", "timestamp": timezone.now().isoformat(), "data": {"url": settings.PUBLIC_URL}}
    try:
        answer = send_to(target, uuid4(), message)
    except DeliveryFailed as error:
        return TriedWebhook(False, f"{target.host}: {error}", "Check the address, and that the receiver runs.")
    text = one_line(show_hidden(answer.body.decode(errors="replace")))[:ANSWER_SHOWN]
    seen = [("Status", str(answer.status)), ("Answer", text or "empty")]
    summary = f"{target.host} answered {answer.status}."
    if 200 <= answer.status < 300:
        return TriedWebhook(True, summary, "", seen)
    return TriedWebhook(False, summary, _NEXT_STEPS.get(answer.status, _LOOK_THERE), seen)


_WRONG_SECRET = "It does not accept the signature: compare the secrets."  # noqa: S105 - a sentence
_NEXT_STEPS = {401: _WRONG_SECRET, 403: _WRONG_SECRET, 404: "The address may have moved: check the path."}
_LOOK_THERE = "Look into the logs of the receiver. A redirection is not followed."


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _accept(name: str, url: str, events: Collection[str], *, but: Webhook | None = None) -> dict[str, object]:
    name, url = one_line(show_hidden(name)).strip(), url.strip()
    if not 1 <= len(name) <= NAME_CHARS:
        raise Invalid.of("name", f"must have 1 to {NAME_CHARS} characters; it has {len(name)}")
    others = Webhook.objects.exclude(pk=but.pk) if but else Webhook.objects
    if others.filter(name=name).exists():
        raise Invalid.of("name", "is taken by another webhook")
    unknown = [one for one in events if one not in EVENTS]
    if not events or unknown:
        raise Invalid.of("events", "must be one or more of the events listed")
    if but is None or url != but.url:
        _require_callable(url)
    return {"name": name, "url": url, "events": [one for one in EVENTS if one in events]}


def _require_callable(url: str) -> None:
    if not 1 <= len(url) <= URL_CHARS:
        raise Invalid.of("url", f"must have 1 to {URL_CHARS} characters; it has {len(url)}")
    try:
        web_address(url)
        if "@" in urlsplit(url).netloc:
            raise Invalid.of("url", "must not have a name or password in it")
        public_address(url, may_be_private=settings.WEBHOOK_PRIVATE)
    except Private as error:
        hint = "Whoever runs this BigMind permits that with BIGMIND_WEBHOOK_PRIVATE=true."
        raise Invalid.of("url", "must not be in a private network", hint=hint) from error
    except AddressRefused as error:
        raise Invalid.of("url", f"cannot be called: {str(error).removesuffix('.')}") from error
    except ValueError as error:
        raise Invalid.of("url", "must look like https://hooks.example.com/bigmind") from error
