"""API keys: create, look up, rotate and revoke them; and what is stored and shown of their text."""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Least
from django.utils import timezone

from accounts.models import SCOPES, ApiKey, User
from accounts.models.keys import ApiKeyQuerySet
from accounts.services.audit import audit
from accounts.services.key_cache import KNOWN_KEYS
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.load_once import load_once
from bigmind.text.hygiene import echo
from bigmind.text.key_text import ALPHABET, PREFIX, RANDOM_CHARS, checksum, is_well_formed

__all__ = ["PREFIX", "SHOWN_CHARS", "digest_of", "is_well_formed", "new_key_text"]

SHOWN_CHARS = 8


def new_key_text(prefix: str = PREFIX) -> str:
    """Return a new key or token: 190 bits of randomness, so that its plain SHA-256 is safe to store."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARS))
    return f"{prefix}{body}{checksum(body)}"


def digest_of(text: str) -> str:
    """Return the digest stored for a key or a one-time token: its SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


_KEY = [field.attname for field in ApiKey._meta.concrete_fields]
_USER = [field.attname for field in User._meta.concrete_fields]


def key_with_digest(digest: str) -> ApiKey | None:
    """Return the key with this digest and, loaded with it, its user; None when there is none. One statement.

    Django builds the statement once per process, instead of once per call: building it took longer than
    PostgreSQL takes to answer it.
    """
    if key := recall_key(digest):
        return key
    # Both from before the question: a row that changes while it is asked for must not be kept.
    read_at, changes = monotonic(), KNOWN_KEYS.changes
    with connection.cursor() as cursor:
        cursor.execute(_statement(), [digest])
        row = cursor.fetchone()
    if row is None:
        return None
    KNOWN_KEYS.keep(digest, row, read_at=read_at, changes=changes)
    return _key_of(row)


def recall_key(digest: str) -> ApiKey | None:
    """Return the same of a key that was looked up a moment ago, without asking the database."""
    row = KNOWN_KEYS.find(digest)
    return _key_of(row) if row else None


def _key_of(row: Sequence[Any]) -> ApiKey:
    key = ApiKey.from_db(DEFAULT_DB_ALIAS, _KEY, row[: len(_KEY)])
    key.user = User.from_db(DEFAULT_DB_ALIAS, _USER, row[len(_KEY) :]) if key.user_id else None
    return key


@load_once
def _statement() -> str:
    """Selects the columns of the key, then those of its user, each in the order of the model's fields."""
    sql, _ = ApiKey.objects.select_related("user").filter(digest="0").query.sql_with_params()
    return str(sql)


DEFAULT_SCOPES = ("read", "write")
DEFAULT_OVERLAP = timedelta(hours=24)
KEYS_END_SOON = timedelta(days=14)
MOST_PER_MINUTE = 1_000_000


@dataclass(frozen=True)
class NewKey:
    """A new key with its text, which exists only now."""

    key: ApiKey
    text: str


@transaction.atomic
def create_key(
    user: User,
    *,
    label: str = "",
    scopes: Collection[str] = DEFAULT_SCOPES,
    toolsets: Collection[str] = (),
    expires_at: datetime | None = None,
    per_minute: int | None = None,
    replaces: ApiKey | None = None,
    text: str = "",
) -> NewKey:
    """Create an API key for a user and return it with its text, which is stored nowhere and cannot be shown again.

    `text` is that of a key a user has made beforehand; without it a new one is made. `per_minute` is a limit of its
    own, instead of everyone's.

    Raises:
        Invalid: a scope is unknown, none is given, the key would be expired from the start, or its limit is no limit.
    """
    _refuse_useless(scopes, expires_at, per_minute)
    text = text or new_key_text()
    key = ApiKey.objects.create(
        user=user,
        label=label.strip()[:200],
        prefix=text[:SHOWN_CHARS],
        digest=digest_of(text),
        scopes=[scope for scope in SCOPES if scope in scopes],
        toolsets=sorted(set(toolsets)),
        expires_at=expires_at,
        per_minute=per_minute,
        replaces=replaces,
    )
    audit(
        "key_created",
        about=user,
        **_audit_details(key),
        scopes=key.scopes,
        toolsets=key.toolsets,
        expires_at=expires_at,
        replaces=replaces.pk if replaces else None,
    )
    return NewKey(key, text)


def _refuse_useless(scopes: Collection[str], expires_at: datetime | None, per_minute: int | None) -> None:
    """Refuse a key without permissions or with invalid terms."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise Invalid(
            f"scopes must be some of {', '.join(SCOPES)}" + (f"; not {', '.join(unknown)}." if unknown else ".")
        )
    if expires_at and expires_at <= timezone.now():
        raise Invalid("expires_at must lie ahead.")
    if per_minute is not None and not 1 <= per_minute <= MOST_PER_MINUTE:
        raise Invalid(f"per_minute must be 1 to {MOST_PER_MINUTE:,}; {per_minute:,} was given.")


def list_keys(user: User | None = None) -> ApiKeyQuerySet:
    """Return the keys of a user, or of everyone, the newest first."""
    keys = ApiKey.objects.select_related("user").order_by("-created_at", "id")
    return keys.filter(user=user) if user else keys


def keys_ending_soon(user: User) -> QuerySet[ApiKey]:
    """Return a user's working keys that end within two weeks, the first to end first."""
    soon = timezone.now() + KEYS_END_SOON
    ending = list_keys(user).usable().of_people().filter(Q(expires_at__lte=soon) | Q(revoked_at__lte=soon))
    return ending.order_by(Least("expires_at", "revoked_at"), "pk")


@transaction.atomic
def rotate_key(key: ApiKey, *, overlap: timedelta = DEFAULT_OVERLAP) -> NewKey:
    """Make a successor with the same user, label, scopes, toolsets, limit and lifetime; the old works on for `overlap`.

    Raises:
        Conflict: the key has ended or has no user, or is a connected app's, which changes its tokens by itself. A key
            can be rotated once; rotate its successor.
    """
    key = ApiKey.objects.select_for_update(of=("self",)).get(pk=key.pk)
    if key.app_id is not None:
        raise Conflict("This key belongs to a connected app.", hint="Revoke it, and connect the app again.")
    if key.state != "active" or key.user is None:
        raise Conflict(f"This key is {key.state if key.user else 'linked to no user'}.", hint="Make a new key instead.")
    now = timezone.now()
    new = create_key(
        key.user,
        label=key.label,
        scopes=key.scopes,
        toolsets=key.toolsets,
        expires_at=now + (key.expires_at - key.created_at) if key.expires_at else None,
        per_minute=key.per_minute,
        replaces=key,
    )
    key.revoked_at = now + overlap
    key.save(update_fields=["revoked_at"])
    audit("key_rotated", about=key.user, **_audit_details(key), successor=new.key.pk, works_until=key.revoked_at)
    return new


@transaction.atomic
def revoke_key(key: ApiKey) -> ApiKey:
    """Revoke a key at once. What was stored with it stays. Revoking twice changes nothing."""
    now = timezone.now()
    if key.revoked_at is None or key.revoked_at > now:
        key.revoked_at = now
        key.save(update_fields=["revoked_at"])
        audit("key_revoked", about=key.user, **_audit_details(key))
    return key


def find_key(reference: str) -> ApiKey:
    """Find a key by its text, its id, its SHA-256, or the first characters that lists show of it: all, and no more.

    Raises:
        NotFound: no key fits, or more than one does.
    """
    reference = reference.strip()
    fitting = list(list_keys().filter(_is_meant_by(reference))[:2])
    if len(fitting) == 1:
        return fitting[0]
    hint = "Give its id or its SHA-256: `bigmind key_list` shows them."
    raise NotFound(f"{'Several keys begin' if fitting else 'No key begins'} with {echo(reference[:12])}.", hint=hint)


def _audit_details(key: ApiKey) -> dict[str, Any]:
    """What the audit log says of a key: not its label, which people name after themselves."""
    return {"key": key.pk, "begins": key.prefix, "app": key.app_id}


def _is_meant_by(reference: str) -> Q:
    if is_well_formed(reference):
        return Q(digest=digest_of(reference))
    try:
        return Q(pk=UUID(reference))
    except ValueError:
        # The whole of what is shown is compared: a mistyped key must not find another that begins like it.
        return Q(digest=reference.lower()) | Q(prefix=reference)
