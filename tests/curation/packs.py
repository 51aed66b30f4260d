"""Publishers of packs for tests: BigMinds of their own, with a secret key and a memory of their own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.test import override_settings

from accounts.actor import Actor
from bigmind.core.signed_documents import sign
from curation.packs.publishing import own_public_key
from curation.packs.subscriptions import trust_key
from tests.factories import make_actor

FROM = "Fernwood Platform"


@contextmanager
def publisher(secret: str = "the secret key of fernwood") -> Iterator[Actor]:
    """Another BigMind, as a curator of it: what is stored there is not here afterwards."""
    with override_settings(SECRET_KEY=secret), transaction.atomic():
        yield make_actor(curator=True)
        transaction.set_rollback(True)


def key_of(secret: str = "the secret key of fernwood") -> str:
    with override_settings(SECRET_KEY=secret):
        return own_public_key()


def trusting(signer: str = FROM, secret: str = "the secret key of fernwood") -> None:
    trust_key(make_actor(admin=True), public_key=key_of(secret), signer=signer)


def packed(secret: str = "the secret key of fernwood", **said: Any) -> bytes:
    """A file that somebody signed without BigMind: whatever is said is in it."""
    document = {
        "name": "platform-basics",
        "version": "1.0.0",
        "title": "Platform basics",
        "publisher": FROM,
        "published_at": "2026-11-23T08:00:00Z",
        "entries": [pack_line()],
        **said,
    }
    with override_settings(SECRET_KEY=secret):
        return json.dumps(
            {"format": "bigmind-pack", "version": 1, "signed": document, **sign(document, purpose="packs")}
        ).encode()


def pack_line(key: str = "C1", **said: Any) -> dict[str, Any]:
    return {
        "key": key,
        "category": "standard",
        "title": f"Health checks of {key}",
        "content": f"Every service of {key} answers GET /healthz within one second.",
        **said,
    }
