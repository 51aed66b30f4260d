"""Idempotency: a write that is sent again with its key is performed once, and gets the reply kept of the first time."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts.actor import Actor
from accounts.models import KeptReply, User
from bigmind.core.errors import Conflict

REPLIES_KEPT = timedelta(days=7)
"""`bigmind/retention.py` deletes older ones."""


@transaction.atomic
def once(
    actor: Actor,
    *,
    idempotency_key: str,
    operation: str,
    arguments: Mapping[str, Any],
    perform: Callable[[], Any],
    keeps_reply: bool = True,
) -> tuple[Any, bool]:
    """Perform a write once per idempotency key; return its JSON reply and whether it was kept from before.

    The reply and what the write stored commit together. A second call with the same key waits for the first, then
    gets its reply; if the first was refused, nothing was kept, and the second is performed. The reply of an erasure
    shows what it erased, so it is not kept (`keeps_reply`).

    Raises:
        Conflict: the key was used for another operation or with other arguments, or the reply is gone.
    """
    fingerprint = _fingerprint(operation, arguments)
    # The row comes before the work: the unique index lets a second call wait here until the first has ended.
    kept, is_first = KeptReply.objects.get_or_create(
        user=actor.user,
        idempotency_key=idempotency_key,
        defaults={"operation": operation, "fingerprint": fingerprint},
    )
    if not is_first:
        if kept.fingerprint != fingerprint:
            raise Conflict(
                "This idempotency key was used for a different call.", hint="Use a new key for each new write."
            )
        if kept.reply is None:
            raise Conflict("This call was performed before, and what it replied has been erased since.")
        return kept.reply, True
    reply = perform()
    if keeps_reply:
        KeptReply.objects.filter(pk=kept.pk).update(reply=reply)
    return reply, False


def forget_kept_replies(user: User) -> None:
    """Blank the stored replies of a user: what they erase must not survive in a replayed reply.

    That the calls were performed is still known, so that none of them is performed again.
    """
    KeptReply.objects.filter(user=user).update(reply=None)


def _fingerprint(operation: str, arguments: Mapping[str, Any]) -> str:
    text = json.dumps([operation, dict(arguments)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
