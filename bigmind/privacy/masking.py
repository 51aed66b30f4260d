"""Masking: rows of a private model are loaded with their texts hidden, wherever in a request they are loaded from.

The admin site reads rows in many ways: lists, forms, confirmations, names of related rows. So the text is taken out
where a row becomes an object, and none of these ways has to remember to hide it.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import CharField, Field, ForeignKey, JSONField, Model, TextField

HIDDEN = "hidden"

METADATA = frozenset(
    {
        "action",
        "client",
        "client_id",
        "conversation",
        "event",
        "frequency",
        "handle",
        "idempotency_key",
        "kind",
        "language",
        "last_event",
    }
    | {"error", "operation", "source_id", "sub_agent", "tool_use_id", "trouble", "version"}
)
"""Text fields of private models that hold ids and words of BigMind's own. Those with choices need no mention."""


@dataclass
class Mask:
    """Who looks, whose rows are open to them, and which of these they were shown: `(owner, model, key)`."""

    viewer: UUID
    opened: frozenset[UUID] = frozenset()
    shown: set[tuple[UUID, str, str]] = field(default_factory=set)
    owners: dict[tuple[type[Model], Any], UUID | None] = field(default_factory=dict)


_mask: ContextVar[Mask | None] = ContextVar("mask", default=None)


class MaskedRow(RuntimeError):
    """A row whose texts are hidden was about to be saved, which would have destroyed them."""


class PrivateModel(Model):
    """Base of models whose rows are one user's alone: every text of theirs, also a field that is added later.

    Attributes:
        owned_by: The path to the user whose rows they are.
        shared_without_owner: Whether a row without an owner belongs to everybody.
    """

    owned_by: ClassVar[str] = "user"
    shared_without_owner: ClassVar[bool] = False

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, unless the texts are hidden."""
        if owner_if_hidden(self):
            raise MaskedRow(f"{self._meta.label} {self.pk} was loaded with its texts hidden, so it is not saved.")
        super().save(*args, **kwargs)

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **more: Any) -> Self:
        """Make an object of a row, with its texts hidden where this request may not show them."""
        row = super().from_db(db, field_names, values, **more)
        if (mask := _mask.get()) is not None:
            _hide_texts(row, mask)
        return row

    @classmethod
    @cache
    def private_texts(cls) -> frozenset[str]:
        """Return the names of the fields that are hidden from others."""
        return frozenset(one.name for one in cls._meta.concrete_fields if _is_text(one))


@contextmanager
def masking(mask: Mask | None) -> Iterator[None]:
    """Hide inside this block the texts of private rows of all but the viewer and those who are open to them."""
    token = _mask.set(mask)
    try:
        yield
    finally:
        _mask.reset(token)


def current_mask() -> Mask | None:
    """Return the mask of this request; None where nothing is masked."""
    return _mask.get()


def owner_if_hidden(row: Model) -> UUID | None:
    """Return whose row this is if its texts are hidden, else None."""
    return row.__dict__.get("_hidden_from_others")


def reaches_private_text(model: type[Model] | None, path: str) -> bool:
    """Return whether a path of fields and look-ups, such as `session__one_liner__startswith`, leads to a hidden one."""
    for name in path.lstrip("-^=@").split("__"):
        fields = {one.name: one for one in model._meta.get_fields()} if model else {}
        if name not in fields:
            return False
        if model and issubclass(model, PrivateModel) and name in model.private_texts():
            return True
        model = fields[name].related_model if fields[name].is_relation else None
    return False


def _is_text(one: "Field[Any, Any]") -> bool:
    if isinstance(one, ArrayField):
        return _is_text(one.base_field)
    is_text = isinstance(one, CharField | TextField | JSONField)
    return is_text and not one.choices and not one.primary_key and one.name not in METADATA


def _hide_texts(row: PrivateModel, mask: Mask) -> None:
    owner = _owner_of(row, row.owned_by, mask)
    if owner == mask.viewer or (owner is None and row.shared_without_owner):
        return
    if owner in mask.opened:
        mask.shown.add((owner, row._meta.label, str(row.pk)))
        return
    values = row.__dict__
    for name in row.private_texts():
        # A deferred text is hidden too: reading it later must not load it.
        values[name] = _hide(values.get(name, HIDDEN))
    values["_hidden_from_others"] = owner or mask.viewer


def _hide(value: Any) -> Any:
    if not value:
        return value
    return [HIDDEN] if isinstance(value, list) else {HIDDEN: HIDDEN} if isinstance(value, dict) else HIDDEN


def _owner_of(instance: Model, path: str, mask: Mask) -> UUID | None:
    """Return the owner, without loading anything that the row itself says."""
    name, _, rest = path.partition("__")
    relation = type(instance)._meta.get_field(name)
    assert isinstance(relation, ForeignKey)
    key = instance.__dict__.get(relation.attname)
    if not rest or key is None:
        return key
    target = relation.related_model
    if (target, key) not in mask.owners:
        mask.owners[target, key] = target._default_manager.filter(pk=key).values_list(f"{rest}_id", flat=True).first()
    return mask.owners[target, key]
