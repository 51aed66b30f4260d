"""The audit log of people and keys: what is done is noted in the transaction that does it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from accounts.actor import acting
from accounts.models import AuditEvent, User
from accounts.models.audit import KEYED
from accounts.services.audit_head import head_of_audit, missing_ends, move_head
from bigmind.core.advisory_locks import wait_for_turn

_TURNS = 7731


@dataclass(frozen=True)
class BrokenEvent:
    """A place where the log is not what was written."""

    number: int
    why: str


@transaction.atomic
def audit(event: str, *, about: User | None = None, by: User | None = None, **details: Any) -> AuditEvent:
    """Record that something was done, by the actor of this call or the user of this page.

    Args:
        about: To whom it was done.
        by: Who did it, where the call does not tell: a user who is signing in has no page yet.
        details: Ids, roles and counts. No names, because they could not be taken away, and nothing that was stored.
    """
    actor = acting()
    who = by or (actor.user if actor else None)
    wait_for_turn(_TURNS, "audit")
    last, head = AuditEvent.objects.order_by("-number").first(), head_of_audit()
    noted = AuditEvent(
        # Behind the head also where rows before it are gone: the gap is what tells.
        number=max(last.number if last else 0, head.number if head else 0) + 1,
        event=event,
        by=_still_here(who),
        by_id_kept=who.pk if who else None,
        by_name=str(who)[:200] if _still_here(who) else "",
        about=_still_here(about),
        about_id_kept=about.pk if about else None,
        about_name=str(about)[:200] if _still_here(about) else "",
        details=json.loads(json.dumps(details, cls=DjangoJSONEncoder)),
    )
    noted.seal = noted.seal_after(last.seal if last else "")
    noted.save(force_insert=True)
    move_head(noted, is_first=not (last or head))
    return noted


def take_names_from_audit(user: User) -> int:
    """Remove a user's name from the log; return from how many rows. The events stay, with the id."""
    done = AuditEvent.objects.filter(by_id_kept=user.pk).update(by=None, by_name="")
    return done + AuditEvent.objects.filter(about_id_kept=user.pk).update(about=None, about_name="")


def find_broken_events() -> Iterator[BrokenEvent]:
    """Yield every row of the log that was changed, every place where one is missing, and the last one if it is gone."""
    number, seal, keyed = 0, "", False
    for event in AuditEvent.objects.order_by("number").iterator(chunk_size=500):
        if event.number != number + 1:
            yield BrokenEvent(event.number, "a row before it is missing")
        elif not _is_sealed(event, seal, must_be_keyed=keyed):
            yield BrokenEvent(event.number, "it is not what was written, or the secret key was another")
        number, seal, keyed = event.number, event.seal, keyed or event.is_keyed
    yield from starmap(BrokenEvent, missing_ends())


def events_without_key() -> int:
    """Return how many rows have the first kind of seal, which anyone who owns the database could forge."""
    return AuditEvent.objects.exclude(seal__startswith=KEYED).count()


def _is_sealed(event: AuditEvent, previous: str, *, must_be_keyed: bool) -> bool:
    """Whether a row has a valid seal. After the first keyed seal a plain hash is invalid: anyone can compute one."""
    if not event.is_keyed:
        return not must_be_keyed and event.seal == event.hash_after(previous)
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return any(event.seal == event.seal_after(previous, secret) for secret in secrets)


def _still_here(user: User | None) -> User | None:
    """The person, unless they were deleted in this transaction."""
    return User.objects.filter(pk=user.pk).first() if user else None
