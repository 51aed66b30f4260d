"""Headlines of sessions that their owner shows to others, one by one."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.rls import rls_bypass
from knowledge.models import Session, ShownHeadline
from knowledge.models.sessions import SessionQuerySet

OFFERED = 30
"""The newest sessions whose headlines can be chosen. What was chosen earlier is offered as well."""

SessionIds = Annotated[list[UUID], Field(max_length=200, description="The sessions whose headlines others may read.")]


def headlines_to_offer(user: User) -> list[Session]:
    """Return the sessions whose headlines someone may choose to show, the newest first."""
    offered = Session.objects.of(user).in_view().exclude(one_liner="").exclude(auto_closed=True)
    newest = offered.newest_first().values("pk")[:OFFERED]
    shown = ShownHeadline.objects.of(user).values("session")
    return list((offered.filter(pk__in=newest) | offered.filter(pk__in=shown)).newest_first())


def visible_headlines(user: User) -> QuerySet[ShownHeadline]:
    """Return the headlines that someone shows, of the newest session first."""
    return ShownHeadline.objects.of(user).in_view().newest_first().select_related("session")


@rls_bypass()
def headlines_of_each(users: Collection[UUID]) -> dict[UUID, list[str]]:
    """Return the headlines that each of these people shows."""
    found: dict[UUID, list[str]] = {}
    rows = ShownHeadline.objects.filter(session__user__in=users).in_view().newest_first()
    for user, text in rows.values_list("session__user", "text"):
        found.setdefault(user, []).append(text)
    return found


@transaction.atomic
def choose_headlines(actor: Actor, *, session_ids: SessionIds) -> None:
    """Show the headlines of these sessions of the actor, as they are worded now, and no others."""
    mine: SessionQuerySet = Session.objects.of(actor.user).in_view().exclude(one_liner="")
    chosen = list(mine.filter(pk__in=session_ids))
    ShownHeadline.objects.of(actor.user).exclude(session__in=chosen).delete()
    for session in chosen:
        ShownHeadline.objects.update_or_create(session=session, defaults={"text": session.one_liner})
