"""The head of the audit log: which row is the last one, sealed, and noted where whoever cuts off rows must forge it.

It stands in a table of its own, which changes in the transaction of each row, and in a file beside the secret key, for
whoever puts back an older state of both tables.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction

from accounts.models import AuditEvent, AuditHead

log = structlog.get_logger()


def head_of_audit() -> AuditHead | None:
    """Return the head as the database has it; none before the first row, or where someone deleted it."""
    return AuditHead.objects.filter(pk=AuditHead.ONLY).first()


def move_head(event: AuditEvent, *, is_first: bool) -> None:
    """Note a row as the last one. A missing head is created with the first row only: later it means tampering."""
    head = AuditHead.seal_last(event.number, event.seal)
    if is_first:
        head.save(force_insert=True)
    else:
        AuditHead.objects.filter(pk=AuditHead.ONLY).update(number=head.number, last=head.last, seal=head.seal)
    transaction.on_commit(partial(_keep_outside, head), robust=True)


def missing_ends() -> Iterator[tuple[int, str]]:
    """Yield the number of each row that was the last one and is gone, or another, and what says so."""
    head, last = head_of_audit(), AuditEvent.objects.order_by("-number").first()
    if head is None and last:
        yield last.number, "which row is the last one is noted nowhere any more"
    for noted, where in ((head, "the database"), (_outside(), "the file audit_head.json")):
        if noted is None:
            continue
        if not noted.is_sealed([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]):
            yield (
                noted.number,
                f"{where} notes it as the last row, not as it was written, or the secret key was another",
            )
        elif not AuditEvent.objects.filter(number=noted.number, seal=noted.last).exists():
            yield noted.number, f"{where} notes it as the last row, and it is gone or another"


def forget_outside() -> None:
    """Let the file go: a backup was restored, and the log may end earlier than it did."""
    if settings.AUDIT_HEAD_FILE:
        Path(settings.AUDIT_HEAD_FILE).unlink(missing_ok=True)


def _keep_outside(head: AuditHead) -> None:
    before = _outside()
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
