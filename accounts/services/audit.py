"""The audit log of people and keys: written in the transaction of what it records, sealed, and its last row noted.

What a seal binds, and how it is made, is in `accounts/models/audit.py`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from accounts.actor import acting
from accounts.models import AuditEvent, AuditHead, User
from accounts.models.audit import KEYED, REMOVED
from bigmind.core.errors import Invalid
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.batches import in_batches

log = structlog.get_logger()

READ_AT_ONCE = 500


def head_of_audit() -> AuditHead | None:
    """Return the head as the database has it; none before the first row, or where someone deleted it."""
    return AuditHead.objects.filter(pk=AuditHead.ONLY).first()


def move_head(event: AuditEvent, *, is_first: bool) -> None:
    """Note a row as the last one. A missing head is created with the first row only: later it means tampering."""
    head = AuditHead.seal_last(event.number, event.seal)
    # An update of a deleted head changes no row: it stays missing, and is reported.
    if is_first:
        head.save(force_insert=True)
    else:
        AuditHead.objects.filter(pk=AuditHead.ONLY).update(number=head.number, last=head.last, seal=head.seal)
    transaction.on_commit(partial(_keep_outside, head), robust=True)


def head_text(head: AuditHead | None) -> str:
    """Return a head as it is noted where text is kept: in the log, in the manifest of a backup, in a message."""
    return f"{head.number}.{head.last}.{head.seal}" if head else ""


def head_in(text: str) -> AuditHead:
    """Return the head that `head_text` made this text of.

    Raises:
        Invalid: it is none.
    """
    number, last, seal = (*text.strip().split("."), "", "")[:3]
    if not (number.isascii() and number.isdigit() and last and seal):
        raise Invalid.of("head", "must be a number and two seals with points between, as the log has it")
    return AuditHead(number=int(number[:18]), last=last, seal=seal)  # more digits than 18 fit no bigint


def missing_ends(elsewhere: Mapping[str, AuditHead] = MappingProxyType({})) -> Iterator[tuple[int, str]]:
    """Yield the number of each row that was the last one and is gone, or another, and what says so.

    Args:
        elsewhere: Heads that were kept in other places, by what to call the place.
    """
    head, last = head_of_audit(), AuditEvent.objects.order_by("-number").first()
    if head is None and last:
        yield last.number, "which row is the last one is noted nowhere any more"
    noted_in = {"the database": head, "the file audit_head.json": _outside(), **elsewhere}
    for where, noted in noted_in.items():
        if noted is None:
            continue
        if not noted.is_sealed([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]):
            yield (
                noted.number,
                f"{where} notes it as the last row, not as it was written, or the secret key was another",
            )
        elif not AuditEvent.objects.filter(number=noted.number, seal=noted.last).exists():
            yield noted.number, f"{where} notes it as the last row, and {_what_is_gone(noted, last)}"


def _what_is_gone(noted: AuditHead, last: AuditEvent | None) -> str:
    ends = last.number if last else 0
    if ends >= noted.number:
        return "it is gone or another"
    missing = f"rows {ends + 1} to {noted.number} are" if ends + 1 < noted.number else "it is"
    return f"{missing} missing: the log ends with row {ends}" if ends else f"the log is empty: {missing} missing"


def forget_outside() -> None:
    """Let the file go: a backup was restored, and the log may end earlier than it did."""
    if settings.AUDIT_HEAD_FILE:
        Path(settings.AUDIT_HEAD_FILE).unlink(missing_ok=True)


def _keep_outside(head: AuditHead) -> None:
    # Logs that are collected go where the owner of the database does not reach.
    if settings.LOG_AUDIT:
        log.info("The audit log has a new last row.", head=head_text(head))
    before = _outside()
    # The lock ended with the commit: the process that wrote a later row may have come first.
    if not settings.AUDIT_HEAD_FILE or (before and before.number >= head.number):
        return
    path = Path(settings.AUDIT_HEAD_FILE)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        aside.touch(mode=0o600)
        aside.write_text(json.dumps({"number": head.number, "last": head.last, "seal": head.seal}))
        aside.replace(path)
    except OSError as error:
        log.warning("The head of the audit log cannot be kept beside the database.", error=str(error))


def _outside() -> AuditHead | None:
    with suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads(Path(settings.AUDIT_HEAD_FILE or os.devnull).read_text())
        return AuditHead(number=int(noted["number"]), last=str(noted["last"]), seal=str(noted["seal"]))
    return None


@dataclass(frozen=True)
class BrokenEvent:
    """A place where the log was altered."""

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
    # Someone who was deleted in this transaction is in the log by their id alone.
    ids = {user.pk for user in (who, about) if user}
    here = set(User.objects.filter(pk__in=ids).values_list("pk", flat=True)) if ids else ids
    who_is_here = who if who and who.pk in here else None
    about_is_here = about if about and about.pk in here else None
    # Until the commit: two rows at once would have the same number, and seal the same row before them.
    wait_for_turn(AdvisoryLock.AUDIT_LOG, "audit")
    last, head = AuditEvent.objects.order_by("-number").first(), head_of_audit()
    noted = AuditEvent(
        # Behind the head also where rows before it are gone: the gap is what tells.
        number=max(last.number if last else 0, head.number if head else 0) + 1,
        event=event,
        by=who_is_here,
        by_id_kept=who.pk if who else None,
        by_name=str(who)[:200] if who_is_here else "",
        about=about_is_here,
        about_id_kept=about.pk if about else None,
        about_name=str(about)[:200] if about_is_here else "",
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


def find_broken_events(elsewhere: Mapping[str, AuditHead] = MappingProxyType({})) -> Iterator[BrokenEvent]:
    """Yield every row of the log that was changed, every place where one is missing, and the last one if it is gone.

    Args:
        elsewhere: Heads that were kept in other places, by what to call the place.
    """
    number, seal, keyed = 0, "", False
    for event in chain.from_iterable(in_batches(AuditEvent.objects.all(), READ_AT_ONCE, by="number")):
        if event.number != number + 1:
            missing = f"rows {number + 1} to {event.number - 1} are" if event.number > number + 2 else "a row is"
            yield BrokenEvent(event.number, f"{missing} missing before it")
        elif not _is_sealed(event, seal, must_be_keyed=keyed):
            yield BrokenEvent(event.number, "it is not what was written, or the secret key was another")
        number, seal, keyed = event.number, event.seal, keyed or event.is_keyed
    yield from starmap(BrokenEvent, missing_ends(elsewhere))


def events_without_key() -> int:
    """Return how many rows have the first kind of seal, which anyone who owns the database could forge."""
    return AuditEvent.objects.exclude(seal__startswith=KEYED).count()


def _is_sealed(event: AuditEvent, previous: str, *, must_be_keyed: bool) -> bool:
    """Whether a row has a valid seal. After the first keyed seal a plain hash is invalid: anyone can compute one."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if vouched := event.details.get(REMOVED):
        return any(vouched == event.removal_seal(previous, secret) for secret in secrets)
    if not event.is_keyed:
        return not must_be_keyed and event.seal == event.hash_after(previous)
    return any(event.seal == event.seal_after(previous, secret) for secret in secrets)
