"""Columns: what a place that copies rows field by field takes along, so that a new column is never lost in silence."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Field, Model


@dataclass(frozen=True)
class ColumnCopy:
    """A place that copies rows of a model: each column is carried there, or left out for a reason.

    Attributes:
        place: What is made of a row there, in a few words.
        left_out: The columns that are not carried, each with the reason.
        carried: The columns that are; None where the place derives them: then a new column is carried at once.
    """

    place: str
    model: type[Model]
    left_out: Mapping[str, str]
    carried: Collection[str] | None = None

    def names(self) -> tuple[str, ...]:
        taken = [name for name in column_names(self.model) if name not in self.left_out]
        return tuple(taken if self.carried is None else (name for name in taken if name in self.carried))

    def fields(self) -> "dict[str, Field[Any, Any]]":
        """Return the columns that are carried by their attributes: `owner_id` for `owner`."""
        return {field.attname: field for field in columns_of(self.model) if field.name in self.names()}

    def values(self, row: Model) -> dict[str, Any]:
        return {name: getattr(row, name) for name in self.names()}

    def faults(self) -> list[str]:
        """Return what is wrong with the two lists, in sentences that say what to do."""
        columns, model = column_names(self.model), self.model.__name__
        carried = set(self.carried or ())
        forgotten = [name for name in columns if self.carried is not None and name not in {*carried, *self.left_out}]
        gone = [name for name in self.left_out if name not in columns]
        both = [name for name in self.left_out if name in carried]
        return [
            *(
                f"{model}.{name} is lost in {self.place}. Carry it there, or name it in left_out with the reason."
                for name in forgotten
            ),
            *(f"{model} has no column {name}. Take it out of left_out of {self.place}." for name in gone),
            *(f"{model}.{name} is carried in {self.place}. Take it out of left_out." for name in both),
        ]


def column_names(model: type[Model]) -> list[str]:
    """Return the names of the fields that a row of a model consists of, links to many others included."""
    return [field.name for field in columns_of(model)]


def columns_of(model: type[Model]) -> "list[Field[Any, Any]]":
    """Return the fields that a row of a model consists of."""
    return [*model._meta.concrete_fields, *model._meta.many_to_many]
