"""Deleting a user with everything they own and everything each app keeps about them; counted first.

What everybody shares stays when its author goes: a foreign key with `SET_NULL`, as in `knowledge/models/entries.py`,
says so. An app that keeps more of a user than goes with their rows registers a function here when it is ready
(`AppConfig.ready`): this app knows nothing of the tables of those above.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import models, transaction

from accounts.models import User
from accounts.services.audit import audit, take_names_from_audit
from accounts.services.erasure_reports import Erased, report_erasure
from bigmind.database.rls import rls_scope

from .users import require_another_admin

DeletionHook = Callable[[User, Erased], None]
"""Removes what an app keeps of a user besides their rows, in the transaction that deletes them, and notes it."""

_HOOKS: list[DeletionHook] = []


def on_user_deletion(hook: DeletionHook) -> None:
    """Call this function with each user who is deleted, before their rows go."""
    _HOOKS.append(hook)


def name_in_previews(models: Iterable[str]) -> None:
    """Name rows of these models in what a deletion would delete, before those of this app."""
    SHOWN_ALONE[:0] = models


@transaction.atomic
def delete_user(user: User) -> dict[str, int]:
    """Delete a user with everything they own; return how many rows of each kind went. A signed report is kept.

    Raises:
        Conflict: this is the last admin, and nobody could manage the instance any more.
    """
    # The only user may go: nobody is left who would miss an admin.
    if User.objects.exclude(pk=user.pk).exists():
        require_another_admin(user)
    erased = Erased({"what": "person", "person": str(user.pk)})
    for hook in _HOOKS:
        hook(user, erased)
    erased.counts["lines of the audit log without a name"] = take_names_from_audit(user)
    # The admin site logs names.
    LogEntry.objects.filter(content_type__model="user", object_id=str(user.pk)).delete()
    with rls_scope(user.pk):
        _, counted = user.delete()
    counts = {label.rpartition(".")[2]: count for label, count in sorted(counted.items())}
    erased.counts = {**counts, **erased.counts}
    report = report_erasure(erased, whose=None)
    audit("user_deleted", about=user, report=report.pk)
    return counts


def preview_deletion(user: User) -> dict[str, int]:
    """Count what deleting a user would delete: it is deleted, counted, and left as it was.

    Raises:
        Conflict: this user cannot be deleted.
    """
    with transaction.atomic():
        # Another object of the same row: Django takes the id from the one that it deletes.
        counts = delete_user(User.objects.get(pk=user.pk))
        transaction.set_rollback(True)
    return counts


SHOWN_ALONE = ["ApiKey", "Agent", "Instance", "ConnectedApp", "Notice", "SignIn"]
"""What people know by its name. The rest of what goes, such as usage and receipts, is one figure."""


@dataclass(frozen=True)
class DeletionPreview:
    """What deleting a user does: `going` by the words of the product, `others` in one figure, and what `stays`."""

    going: list[tuple[int, str]]
    others: int
    stays: list[tuple[int, str]]


def describe_deletion(user: User) -> DeletionPreview:
    """Count what would be deleted with a user, and what would stay without their name; nothing is changed.

    Raises:
        Conflict: this user cannot be deleted.
    """
    counts = preview_deletion(user)
    going = [(counts[name], noun_of(name, counts[name])) for name in SHOWN_ALONE if counts.get(name)]
    others = sum(count for name, count in counts.items() if name not in (*SHOWN_ALONE, "User"))
    return DeletionPreview(going, others, _what_stays(user))


def _what_stays(user: User) -> list[tuple[int, str]]:
    """Count what names a user and belongs to everyone: the database only takes the name away."""
    found: dict[str, set[Any]] = {}
    for relation in User._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel) and relation.on_delete is models.SET_NULL:
            rows = relation.related_model._default_manager.filter(**{relation.field.name: user})
            found.setdefault(relation.related_model.__name__, set()).update(rows.values_list("pk", flat=True))
    return [(len(rows), noun_of(name, len(rows))) for name, rows in found.items() if rows]


def in_words(counts: dict[str, int]) -> str:
    """Put counts of rows into words: “1 user, 2 API keys”."""
    return ", ".join(f"{count:,} {noun_of(name, count)}" for name, count in counts.items() if count)


def noun_of(model_name: str, count: int) -> str:
    """Name rows of a model, in the number there are of them."""
    models = {model.__name__: model for model in apps.get_models()}
    options = models[model_name]._meta
    return str(options.verbose_name if count == 1 else options.verbose_name_plural)
