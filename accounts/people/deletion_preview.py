"""Departures: what goes when a user is deleted, counted before anything does."""

from django.apps import apps
from django.db import transaction

from accounts.models import User

from .users import delete_user


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
    return ", ".join(f"{count:,} {noun_of(name, count)}" for name, count in counts.items() if count)


def noun_of(model_name: str, count: int) -> str:
    """Name rows of a model, in the number there are of them."""
    models = {model.__name__: model for model in apps.get_models()}
    options = models[model_name]._meta
    return str(options.verbose_name if count == 1 else options.verbose_name_plural)
