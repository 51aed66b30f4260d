"""Users: add, list, delete, link keys to them; and what each role may do."""

from dataclasses import dataclass
from itertools import chain, count
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.actor import SCOPES_OF_ROLE
from accounts.models import SCOPES, ApiKey, Role, User
from accounts.people.names import plain_form, require_own_name
from accounts.services.audit import audit
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.replicas import note_write_for_all
from bigmind.text.hygiene import clean_name, echo

ACTIONS: dict[str, tuple[str, ...]] = {
    "read": (
        gettext_lazy("Recall what is theirs, and read the knowledge base"),
        gettext_lazy("Read what is approved as company knowledge"),
    ),
    "write": (
        gettext_lazy("Remember, correct, set aside and erase what is theirs"),
        gettext_lazy("Add to the knowledge base, propose company knowledge"),
    ),
    "curate": (
        gettext_lazy("Decide what becomes company knowledge"),
        gettext_lazy("Change and delete what others added to the knowledge base"),
    ),
    "admin": (
        gettext_lazy("Invite people, give them roles, deactivate and delete them"),
        gettext_lazy("End the keys of others, manage this instance"),
    ),
}

LONGEST_STEM = 140


@dataclass(frozen=True)
class Right:
    """Something that people may do, and for each role whether it may."""

    action: str
    scope: str
    allowed: tuple[bool, ...]


def role_matrix() -> list[Right]:
    """Return who may do what. The last line holds for everyone, and no scope changes it."""
    rights = [
        Right(action, scope, tuple(scope in SCOPES_OF_ROLE[role] for role in Role.values))
        for scope in SCOPES
        for action in ACTIONS[scope]
    ]
    return [*rights, Right(_("Read the private memory of others"), "", (False,) * len(Role.values))]


def add_user(
    username: str,
    *,
    display_name: str = "",
    role: str = Role.MEMBER,
    password: str | None = None,
    is_owner: bool = False,
) -> User:
    """Make a user and return it with its id, which never changes.

    Args:
        is_owner: Whether the operator names the first admin, who may be called `admin`.

    Raises:
        Invalid: the user name or the role cannot be used.
        Conflict: the user name is taken, whatever the case of its letters.
    """
    user = User(username=_clean(username), display_name=_clean(display_name), role=role)
    user.set_password(password)
    try:
        user.clean_fields()
    except ValidationError as error:
        problems = [{"field": field, "message": " ".join(found)} for field, found in error.message_dict.items()]
        raise Invalid(" ".join(f"{p['field']}: {p['message']}" for p in problems), problems=problems) from error
    if User.objects.filter(username__iexact=user.username).exists():
        raise Conflict(f"There is a user {echo(user.username)} already.", hint="Choose another name.")
    if not is_owner:
        require_own_name(user.username, field="username")
        if user.display_name != user.username:
            require_own_name(user.display_name, field="display_name")
    try:
        with transaction.atomic():
            user.save()
            audit("user_added", about=user, role=role)
    except IntegrityError as error:
        raise Conflict(f"There is a user {echo(user.username)} already.", hint="Choose another name.") from error
    return user


def list_users() -> QuerySet[User]:
    """Return all users by name, with the number of keys that work."""
    return User.objects.annotate(usable_keys=Count("keys", filter=Q(keys__in=ApiKey.objects.usable()))).order_by(
        "username"
    )


def find_user(reference: str) -> User:
    """Find a user by id or user name.

    Raises:
        NotFound: there is none.
    """
    try:
        return User.objects.get(pk=UUID(reference))
    except (ValueError, User.DoesNotExist):
        pass
    try:
        return User.objects.get(username__iexact=reference)
    except User.DoesNotExist as error:
        raise NotFound(f"There is no user {echo(reference)}.", hint="`bigmind user_list` shows them.") from error


def require_another_admin(user: User) -> None:
    """Refuse, within a transaction, to lose the last admin who is active: nobody could manage the instance any more.

    Call this before deleting, demoting or deactivating a user.

    Raises:
        Conflict: nobody but this user is an active admin.
    """
    # All of them are locked, always in the same order: of two admins who demote each other the second one sees it.
    admins = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("pk").select_for_update()
    if {admin.pk for admin in admins} == {user.pk}:
        raise Conflict(f"{user} is the last admin.", hint="Make someone else an admin first.")


@transaction.atomic
def set_role(user: User, role: str) -> User:
    """Give a user another role.

    Raises:
        Invalid: there is no such role.
        Conflict: this is the last admin.
    """
    if role not in Role.values:
        raise Invalid(f"role must be one of: {', '.join(Role.values)}.")
    if role != Role.ADMIN:
        require_another_admin(user)
    before, user.role = user.role, role
    user.save(update_fields=["role", "updated_at"])
    if before != role:
        audit("role_given", about=user, role=role, before=before)
        note_write_for_all()
    return user


@transaction.atomic
def link_key(user: User, key: ApiKey) -> ApiKey:
    """Let a key act for this user from now on. What either has stored stays where it is.

    Raises:
        Conflict: the key belongs to someone else; unlink it first, so that nobody takes a key by mistake. Or it is
            a connected app's, which only the person who let it in can let in.
    """
    if key.app_id is not None:
        raise Conflict("This key belongs to a connected app.", hint="Whoever wants the app connects it themselves.")
    if key.user_id == user.pk:
        return key
    if key.user is not None:
        raise Conflict(f"This key belongs to {key.user}.", hint="Unlink it first: `bigmind user_unlink`.")
    key.user, key.unlinked_at = user, None
    key.save(update_fields=["user", "unlinked_at"])
    audit("key_linked", about=user, key=key.pk)
    return key


@transaction.atomic
def unlink_key(key: ApiKey) -> ApiKey:
    """Take a key from its user. It opens nothing until it is linked again; what was stored stays with the user."""
    owner, key.user, key.unlinked_at = key.user, None, timezone.now()
    key.save(update_fields=["user", "unlinked_at"])
    audit("key_unlinked", about=owner, key=key.pk)
    return key


@transaction.atomic
def adopt_orphan_keys() -> list[ApiKey]:
    """Give each usable key that came without a user one of its own (seed 004: existing keys are migrated on start).

    A key that an operator unlinked stays disabled until someone links it to a user again.
    """
    orphans = list(ApiKey.objects.usable().never_linked().order_by("pk").select_for_update())
    for key in orphans:
        username = fresh_username(f"key-{key.pk.hex[:12]}")
        try:
            link_key(add_user(username, display_name=_owner_of(key)), key)
        except Invalid:  # A label may say anything; that must not hold up the start.
            link_key(add_user(username), key)
    return orphans


def fresh_username(base: str) -> str:
    """Return the name that is wanted, or where it is taken the first of wanted-2, wanted-3, … that is not."""
    names = chain([base], (f"{base[:LONGEST_STEM]}-{number}" for number in count(2)))
    taken = {plain_form(name) for name in User.objects.values_list("username", flat=True)}
    return next(name for name in names if plain_form(name) not in taken)


def _owner_of(key: ApiKey) -> str:
    """Name the owner of a key by its label. An imported label may not be a name; that must not hold up the start."""
    try:
        return clean_name(key.label) or f"Owner of {key.prefix}…"
    except ValueError:
        return f"Owner of {key.prefix}…"


def _clean(name: str) -> str:
    try:
        return clean_name(name)
    except ValueError as error:
        raise Invalid(f"The name {error}.") from error
