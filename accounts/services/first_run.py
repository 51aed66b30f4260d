"""First run: one user and one key, made once and kept."""

import getpass
import re
from dataclasses import dataclass

from django.db import transaction

from accounts.models import Role, User

from .keys import create_key
from .users import add_user, adopt_orphan_keys, fresh_username, set_role

ADVISORY_LOCK = 7700


@dataclass(frozen=True)
class FirstRun:
    """The user who owns this instance, and the key's text if it was made just now."""

    user: User
    key_text: str | None


@transaction.atomic
def first_run(username: str = "") -> FirstRun:
    """Return the first admin, making one with a key when there is none; adopt keys that came without a user.

    Call this at every start: the second time it makes nothing, and `key_text` is None.

    Raises:
        Invalid: the name cannot be a user name.
    """
    _one_at_a_time()
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    is_first = owner is None
    owner = owner or _make_owner(username or _system_user())
    # After the owner is known: adopted keys belong to members, and those never take this place.
    adopt_orphan_keys()
    if not is_first:
        return FirstRun(owner, None)
    return FirstRun(owner, create_key(owner, label="First key", scopes=("read", "write", "curate", "admin")).text)


def _make_owner(wanted: str) -> User:
    """Make an admin: of the one user there is, if that is who is meant; else a new one, never of somebody else."""
    everyone = list(User.objects.all()[:2])
    if len(everyone) == 1 and everyone[0].is_active and everyone[0].username.lower() == wanted.strip().lower():
        return set_role(everyone[0], Role.ADMIN)
    return add_user(fresh_username(wanted), role=Role.ADMIN)


def _one_at_a_time() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])


def _system_user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number that has no name
        name = ""
    return re.sub(r"[^\w.@+-]", "-", name)[:150] or "owner"
