"""People, as admins manage them: roles, activation, forgotten passwords, and deletion."""

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.actor import Actor
from accounts.models import Agent, ApiKey, User
from accounts.services.audit import audit
from accounts.sign_in.links import make_sign_in_link
from accounts.sign_in.second_factors import second_factor_exists
from accounts.sign_in.sign_ins import end_sign_ins
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.replicas import note_write_for_all

from .user_deletion import delete_user
from .users import require_another_admin, set_role


def list_people(actor: Actor) -> QuerySet[User]:
    """Return everyone by name, with their working keys, the agents that called for them, and their second factor."""
    actor.require("admin")
    return User.objects.annotate(
        usable_keys=_number_of(ApiKey.objects.usable()),
        agents_seen=_number_of(Agent.objects.all()),
        has_second_factor=second_factor_exists(),
    ).order_by("-is_active", "username")


def find_person(actor: Actor, person_id: UUID) -> User:
    """Return any user, for an admin.

    Raises:
        NotFound: there is nobody with this id.
    """
    person = list_people(actor).filter(pk=person_id).first()
    if person is None:
        raise NotFound("There is no such person any more.", hint="See the page “People”.")
    return person


@transaction.atomic
def give_role(actor: Actor, person: User, role: str) -> User:
    """Give a user another role, from their next request on.

    Raises:
        Conflict: this is the last admin.
    """
    actor.require("admin")
    return set_role(person, role)


@transaction.atomic
def deactivate(actor: Actor, person: User) -> User:
    """Deactivate a user: browsers, keys and links stop working. What they stored stays, and so do their keys.

    Raises:
        Conflict: this is the last admin.
    """
    actor.require("admin")
    require_another_admin(person)
    person.is_active = False
    person.save(update_fields=["is_active", "updated_at"])
    audit("user_deactivated", about=person)
    end_sign_ins(person)
    note_write_for_all()
    return person


@transaction.atomic
def activate(actor: Actor, person: User) -> User:
    """Reactivate a user, with the keys that have not expired meanwhile."""
    actor.require("admin")
    person.is_active = True
    person.save(update_fields=["is_active", "updated_at"])
    audit("user_activated", about=person)
    return person


@transaction.atomic
def reset_password(actor: Actor, person: User) -> str:
    """Remove a user's password, end their sign-ins, and return a link to choose a new one. It works once.

    Raises:
        Conflict: they are deactivated; a link would open nothing.
    """
    actor.require("admin")
    if not person.is_active:
        raise Conflict(f"{person} is deactivated.", hint="Activate them first.")
    person.set_unusable_password()
    person.save(update_fields=["password", "updated_at"])
    audit("password_reset", about=person)
    end_sign_ins(person)
    return f"{settings.PUBLIC_URL}/sign-in/{make_sign_in_link(person)}/"


@transaction.atomic
def sign_out_person(actor: Actor, person: User) -> int:
    """Sign a user out in all browsers; return how many there were. Their keys keep working."""
    actor.require("admin")
    audit("signed_out_by_admin", about=person)
    return end_sign_ins(person)


@transaction.atomic
def delete_person(actor: Actor, person: User, *, username: str) -> dict[str, int]:
    """Delete a user with everything they own, when their user name is repeated; return how many rows of each kind.

    Raises:
        Invalid: another name was given.
        Conflict: this is the last admin.
    """
    actor.require("admin")
    if username.strip() != person.username:
        raise Invalid.of("username", f"must be {person.username}, exactly")
    end_sign_ins(person)
    return delete_user(person)


def _number_of(rows: QuerySet[ApiKey] | QuerySet[Agent]) -> Coalesce:
    """Count rows of each user by themselves: two joins in one query would count each key once for each agent."""
    counted = rows.filter(user=OuterRef("pk")).order_by().values("user").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
