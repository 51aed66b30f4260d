"""Users and keys as the commands print them."""

from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import transaction

from accounts.models import ApiKey, User
from accounts.services.users import delete_user


def described_user(user: User) -> dict[str, Any]:
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


def described_key(key: ApiKey, *, text: str = "") -> dict[str, Any]:
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
        "state": key.state,
        "created_at": key.created_at.isoformat(),
        "expires_at": _iso(key.expires_at),
        "last_used_at": _iso(key.last_used_at),
        "last_used_by": key.last_used_by,
        "revoked_at": _iso(key.revoked_at),
    }


def what_goes_with(user: User) -> dict[str, int]:
    """Count what deleting a user would delete: it is deleted, counted, and left as it was.

    Raises:
        Conflict: this user cannot be deleted.
    """
    with transaction.atomic():
        counts = delete_user(User.objects.get(pk=user.pk))
        transaction.set_rollback(True)
    return counts


def in_words(counts: dict[str, int]) -> str:
    """Write counts of rows as people say them: “1 user, 2 API keys”."""
    return ", ".join(f"{count:,} {_noun(name, count)}" for name, count in counts.items() if count)


def day_of(moment: datetime | None) -> str:
    """Return the day of a moment, or a dash."""
    return f"{moment:%Y-%m-%d}" if moment else "-"


def _noun(model_name: str, count: int) -> str:
    models = {model.__name__: model for model in apps.get_models()}
    options = models[model_name]._meta
    return str(options.verbose_name if count == 1 else options.verbose_name_plural)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
