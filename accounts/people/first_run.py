"""First run: creates one user and one key, once."""

import getpass
import re
from dataclasses import dataclass

from django.db import transaction

from accounts.keys import create_key, is_well_formed
from accounts.models import Role, User
from bigmind.core.errors import Invalid
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn

from .invitations import require_good_password
from .users import add_user, adopt_orphan_keys, fresh_username, set_role

ALL_SCOPES = ("read", "write", "curate", "admin")


@dataclass(frozen=True)
class Initial:
    """What the operator configured for the first user. None of it is ever printed."""

    password: str = ""
    key_text: str = ""


@dataclass(frozen=True)
class FirstRun:
    """The user who owns this instance, and the key's text if it was made just now and nobody knows it yet.

    `is_new`: whether they became its owner just now.
    """

    user: User
    key_text: str | None
    is_new: bool = False


@transaction.atomic
def first_run(username: str = "", initial: Initial | None = None) -> FirstRun:
    """Return the first admin, making one with a key when there is none; adopt keys that came without a user.

    Call this at every start: the second time it makes nothing, and `key_text` is None. `initial` counts only where
    there is no user at all: what was configured once must not open an instance that people use.

    Raises:
        Invalid: the name cannot be a user name, or what `initial` says cannot be a password or a key.
    """
    wait_for_turn(AdvisoryLock.FIRST_RUN, "first run")
    given = (initial or Initial()) if not User.objects.exists() else Initial()
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    is_first = owner is None
    owner = owner or _make_owner(username or _system_user())
    # After the owner is known: adopted keys belong to members, and those never take this place.
    adopt_orphan_keys()
    if not is_first:
        return FirstRun(owner, None)
    if given.password:
        _set_password(owner, given.password)
    return FirstRun(owner, _first_key(owner, given.key_text), is_new=True)


def _make_owner(user_name: str) -> User:
    """Make an admin: of the one user there is, if that is who is meant; else a new one, never of someone else."""
    everyone = list(User.objects.all()[:2])
    if len(everyone) == 1 and everyone[0].is_active and everyone[0].username.lower() == user_name.strip().lower():
        return set_role(everyone[0], Role.ADMIN)
    return add_user(fresh_username(user_name), role=Role.ADMIN, is_owner=True)


def _set_password(owner: User, password: str) -> None:
    require_good_password(password, owner)
    owner.set_password(password)
    owner.save(update_fields=["password"])


def _first_key(owner: User, given: str) -> str | None:
    """Make the first key; return its text, unless the operator provided the key and so knows it."""
    if given and not is_well_formed(given):
        raise Invalid("BIGMIND_INIT_KEY is not a BigMind key.", hint="`bigmind key_text` makes one.")
    text = create_key(owner, label="First key", scopes=ALL_SCOPES, text=given).text
    return None if given else text


def _system_user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user id without a name
        name = ""
    return re.sub(r"[^\w.@+-]", "-", name)[:150] or "owner"
