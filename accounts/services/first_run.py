"""First run: one user and one key, made once and kept."""

import getpass
import re
from dataclasses import dataclass

from django.db import transaction

from accounts.models import Role, User

from .keys import create_key
from .users import add_user, adopt_orphan_keys

ADVISORY_LOCK = 7700


@dataclass(frozen=True)
class FirstRun:
    """The user who owns this instance, and the key's text if it was made just now."""

    user: User
    key_text: str | None


@transaction.atomic
def first_run(username: str = "") -> FirstRun:
    """Return the first user, making it with its key when nobody exists yet; adopt keys without a user.

    Call this at every start: the second time it makes nothing, and `key_text` is None.
    """
    _one_at_a_time()
    adopt_orphan_keys()
    # The owner is the first admin. Adopted keys belong to members, so they never take this place.
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    if owner is not None:
        return FirstRun(owner, None)
    owner = add_user(username or _system_user(), role=Role.ADMIN)
    return FirstRun(owner, create_key(owner, label="First key", scopes=("read", "write", "curate", "admin")).text)


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
