"""First steps: what a newcomer still has to do until their agents remember, judged by what really happened."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, QuerySet
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import Agent, ApiKey, Sharing, User
from accounts.people.names import require_own_name
from accounts.people.sharing import choose_sharing
from bigmind.database.fixed_queries import FixedQuery
from bigmind.text.hygiene import clean_name
from knowledge.models import Fact, Note, Session

from .people_index import index_person

PersonName = Annotated[
    str,
    Field(max_length=200),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=200, description="How the person is called."),
]


@dataclass(frozen=True)
class FirstSteps:
    """What a person has done already. `is_asked`: whether there are others here who could see something of them."""

    is_named: bool
    has_key: bool
    has_agent: bool
    has_session: bool
    has_memory: bool
    has_chosen: bool
    is_asked: bool
    is_closed: bool

    @property
    def done(self) -> list[bool]:
        steps = [self.is_named, self.has_agent, self.has_memory]
        return [*steps, self.has_chosen] if self.is_asked else steps

    @property
    def total(self) -> int:
        return len(self.done)

    @property
    def left(self) -> int:
        """How many of them are still to be done."""
        return self.done.count(False)

    @property
    def is_open(self) -> bool:
        """Whether to still show a person the way to them: a missing name alone is no reason."""
        return not self.is_closed and not all(self.done[1:])


def first_steps_of(user: User) -> FirstSteps:
    """Return what a person has done of their first steps, in one query."""
    found = next(iter(_DONE(user.pk)), (False,) * 6)
    has_key, has_agent, has_session, has_fact, has_note, has_chosen = found
    return FirstSteps(
        is_named=bool(user.display_name),
        has_key=has_key,
        has_agent=has_agent,
        has_session=has_session,
        has_memory=has_fact or has_note,
        has_chosen=has_chosen,
        is_asked=settings.BIGMIND_MODE != "personal",
        is_closed=user.first_steps_closed_at is not None,
    )


def _select_done(user_id: UUID) -> "QuerySet[User, Any]":
    queries = (
        ApiKey.objects.filter(user=user_id),
        Agent.objects.filter(user=user_id),
        Session.objects.filter(user=user_id),
        Fact.objects.filter(user=user_id),
        Note.objects.filter(user=user_id),
        Sharing.objects.filter(user=user_id),
    )
    return User.objects.filter(pk=user_id).values_list(*(Exists(rows.order_by()) for rows in queries))


_DONE = FixedQuery(_select_done)


def close_first_steps(actor: Actor) -> None:
    """Stop showing the person the way to their first steps. The page stays."""
    User.objects.filter(pk=actor.user.pk).update(first_steps_closed_at=timezone.now())


def change_name(actor: Actor, *, name: PersonName) -> User:
    """Change how the person is called, here and in what others see of them.

    Raises:
        Invalid: it is a word of BigMind's own, or looks like the user name of someone else.
    """
    require_own_name(name, field="name", user=actor.user)
    actor.user.display_name = name
    actor.user.save(update_fields=["display_name", "updated_at"])
    return actor.user


@transaction.atomic
def share_nothing(actor: Actor) -> None:
    """Record that the person was asked what others may see and said “not now”: nothing is shown until they choose."""
    choose_sharing(actor, sections=[], in_directory=False)
    index_person(actor.user)
