"""Users and keys as the commands print them, and the user that a command acts for when none is named."""

from datetime import datetime
from typing import Any

from accounts.actor import Actor
from accounts.models import ApiKey, Role, User
from accounts.people.users import find_user
from bigmind.core.errors import NotFound
from bigmind.text.days import iso_day


def actor_for(reference: str | None) -> Actor:
    """Return the user of this name or id as an actor; the owner of the instance when none is named."""
    return Actor.of(find_user(reference) if reference else owner_of_instance())


def describe_user(user: User) -> dict[str, Any]:
    """Return a user as JSON-able data."""
    return {
        "id": str(user.pk),
        "username": user.username,
        "display_name": user.display_name,
        "role": user.role,
        "is_active": user.is_active,
        "created_at": user.created_at.isoformat(),
        "last_seen": _iso(user.last_seen),
    }


def describe_key(key: ApiKey, *, text: str = "") -> dict[str, Any]:
    """Return a key as JSON-able data; with its text when it was made just now."""
    return {
        **({"key": text} if text else {}),
        "id": str(key.pk),
        "prefix": key.prefix,
        "sha256": key.digest,
        "user": key.user.username if key.user else None,
        "label": key.label,
        "scopes": key.scopes,
        "toolsets": key.toolsets,
        "per_minute": key.per_minute,
        "state": key.state,
        "created_at": key.created_at.isoformat(),
        "expires_at": _iso(key.expires_at),
        "last_used_at": _iso(key.last_used_at),
        "last_used_by": key.last_used_by,
        "revoked_at": _iso(key.revoked_at),
    }


def day_of(moment: datetime | None) -> str:
    return iso_day(moment) if moment else "-"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def owner_of_instance() -> User:
    """Return the first admin: the one that the first start made.

    Raises:
        NotFound: there is none yet.
    """
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    if owner is None:
        raise NotFound("There is no admin yet.", hint="`bigmind up` makes the first user, and so does user_add.")
    return owner
