"""Where webhook messages go, and sending one: signed as Standard Webhooks has it, to addresses that may be called.

Which ones may is a rule for all that BigMind calls: `bigmind/network/addresses.py:public_address`.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from django.conf import settings
from django.utils import timezone

from bigmind.network.addresses import AddressRefused, Fetched, Private, post

AUDIT_HEAD = "audit.head"
ANSWER_BYTES = 2_000
"""How much of a response is read, to show it in a test of the webhook."""


class DeliveryFailed(Exception):
    """A delivery failed. The message says why."""


@dataclass(frozen=True)
class WebhookTarget:
    """Where messages go, and what signs them: the first secret is the present one."""

    url: str
    secrets: tuple[str, ...]
    may_be_private: bool

    @property
    def host(self) -> str:
        """How people recognize it: the path is often a password."""
        return urlsplit(self.url).hostname or ""


def environment_webhook() -> WebhookTarget | None:
    """Return the webhook that the environment names; None where it names none."""
    if not settings.WEBHOOK_URL:
        return None
    return WebhookTarget(settings.WEBHOOK_URL, (settings.WEBHOOK_SECRET,), settings.WEBHOOK_PRIVATE)


def send_to(target: WebhookTarget, message_id: UUID, message: Any) -> Fetched:
    """Send a signed message to a webhook within ten seconds; return the status and the beginning of the answer.

    Headers and signature are those of Standard Webhooks (standardwebhooks.com, 1.0.0): while a secret is being rotated,
    one signature for each, with a space between.

    Raises:
        DeliveryFailed: the address may not be called, or does not answer. The sentence says why.
    """
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    moment = int(timezone.now().timestamp())
    try:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "BigMind",
            "webhook-id": str(message_id),
            "webhook-timestamp": str(moment),
            "webhook-signature": " ".join(signature(str(message_id), moment, body, one) for one in target.secrets),
        }
        return post(target.url, body, headers, may_be_private=target.may_be_private, most_bytes=ANSWER_BYTES)
    except Private as error:
        raise DeliveryFailed(f"{error} BIGMIND_WEBHOOK_PRIVATE=true permits it.") from error
    except AddressRefused as error:
        raise DeliveryFailed(str(error)) from error
    except httpx.HTTPError as error:
        raise DeliveryFailed(f"It does not answer: {type(error).__name__}.") from error
    except (httpx.InvalidURL, ValueError) as error:  # A name that cannot be encoded is a ValueError, too.
        raise DeliveryFailed(
            "Its address or secret cannot be used: BIGMIND_WEBHOOK_URL, BIGMIND_WEBHOOK_SECRET."
        ) from error


def signature(message_id: str, moment: int, body: bytes, secret: str) -> str:
    """Return the signature of a webhook message, as the Standard Webhooks specification has it.

    Raises:
        ValueError: the secret begins with `whsec_`, and what follows is no base64.
    """
    encoded = secret.removeprefix("whsec_")
    key = secret.encode() if encoded == secret else base64.b64decode(encoded, validate=True)
    signed = f"{message_id}.{moment}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
