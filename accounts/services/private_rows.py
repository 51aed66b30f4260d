"""What admins see of other people's private rows: that they are there, and the texts only after saying why.

Opening the rows of a person needs a reason, is recorded in the audit log and told to the person, and holds for half an
hour in one browser. What is looked at meanwhile is recorded as well, each row once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import Alert, User
from accounts.services.alerts import tell
from accounts.services.audit import audit
from bigmind.core.errors import Invalid
from bigmind.privacy.masking import Mask, masking
from bigmind.text.hygiene import clean_name, echo

OPEN_FOR = timedelta(minutes=30)
REASON_CHARS = 10
_KEY = "private_rows"

Reason = Annotated[
    str,
    Field(max_length=200),
    AfterValidator(clean_name),
    Field(min_length=REASON_CHARS, max_length=200, description="Why you have to look. The owner reads it."),
]


@contextmanager
def hide_private_rows(viewer: User, session: SessionBase) -> Iterator[None]:
    """Hide the texts of other people's rows in this block, and record what was shown of those that are open.

    With one user there is nobody to hide them from.
    """
    if settings.BIGMIND_MODE == "personal":
        yield
        return
    mask = Mask(viewer.pk, frozenset(map(UUID, _open_now(session, viewer))))
    with masking(mask):
        yield
    if mask.shown:
        _record_shown(session, mask, viewer)


@transaction.atomic
def open_private_rows(actor: Actor, owner: User, session: SessionBase, *, reason: Reason) -> datetime:
    """Let an admin read a person's private rows in the admin site for half an hour; return until when.

    The person gets an alert with the reason.

    Raises:
        Forbidden: the actor is no admin.
        Invalid: these are the actor's own, which are never hidden.
    """
    actor.require("admin")
    if owner.pk == actor.user.pk:
        raise Invalid("Your own rows are not hidden from you.")
    now = timezone.now()
    minutes, why = OPEN_FOR.seconds // 60, echo(reason, limit=1_000)
    text = f"{actor.user} opened your private rows in the admin site for {minutes} minutes: {why}"
    tell(owner, Alert.Topic.PRIVATE_OPENED, text, by=actor.user, reason=reason)
    since = {"since": now.timestamp(), "by": str(actor.user.pk), "shown": []}
    session[_KEY] = {**_open_now(session, actor.user), str(owner.pk): since}
    return now + OPEN_FOR


def _open_now(session: SessionBase, viewer: User) -> dict[str, dict[str, Any]]:
    """Return whose rows are open to the one who opened them. A clock that was set back closes them."""
    now = timezone.now().timestamp()
    return {
        owner: opened
        for owner, opened in session.get(_KEY, {}).items()
        if 0 <= now - opened["since"] < OPEN_FOR.total_seconds() and opened.get("by") == str(viewer.pk)
    }


def _record_shown(session: SessionBase, mask: Mask, viewer: User) -> None:
    opened = _open_now(session, viewer)
    for owner in {owner for owner, *_ in mask.shown} & {UUID(one) for one in opened}:
        known = opened[str(owner)]["shown"]
        new = sorted({f"{label} {key}" for one, label, key in mask.shown if one == owner} - set(known))
        if new:
            audit("private_shown", about=User.objects.filter(pk=owner).first(), rows=new)
            opened[str(owner)]["shown"] = [*known, *new]
            session[_KEY] = opened
