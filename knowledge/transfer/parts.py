"""The parts of a memory document: what it has of each kind, and how an import takes that back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeVar, cast

from django.db.models import Model, QuerySet
from django.utils.module_loading import import_string
from pydantic import BaseModel, ConfigDict, create_model

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Moment
from bigmind.database.columns import ColumnCopy
from knowledge.kinds import LISTED, MemoryKind
from knowledge.models import Session
from knowledge.transfer.import_receipts import MovedIn


class ExportedModel(BaseModel):
    """A row as a document has it."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    @classmethod
    def of(cls, row: object, **other: Any) -> Self:
        """Return a row as it is stored, without asking whether it could be stored today.

        What an earlier version accepted, or the removal of a text has left, is exported; an import validates it.
        """
        columns = {name: str(field.validation_alias or name) for name, field in cls.model_fields.items()}
        values = {name: getattr(row, at) for name, at in columns.items() if name not in other}
        return cast("Self", cls.model_construct(**values, **other))


class ExportedArchivable(ExportedModel):
    """A row that can be archived, as a document has it."""

    set_aside_at: Moment | None = None


@dataclass(frozen=True)
class MemoryPart:
    """What a memory document has of one kind, in a list that is called as replies call their number.

    Attributes:
        shape: One as the document has it.
        rows: A user's, in the order of the document.
        take: Takes what a document has: adds what is new to the actor's memory, and counts it.
        left_out: The columns that a document has not, each with the reason.
        export: Makes the shape of a row, where more belongs to it than its columns.
    """

    model: type[Model]
    shape: type[ExportedModel]
    rows: Callable[[User], QuerySet[Any]]
    take: Callable[[Actor, Sequence[Any], MovedIn], None]
    left_out: Mapping[str, str]
    export: Callable[[Any], ExportedModel] | None = None

    def write(self, user: User) -> list[ExportedModel]:
        """Return a user's as a document has them."""
        return [(self.export or self.shape.of)(row) for row in self.rows(user)]

    @property
    def columns(self) -> ColumnCopy:
        """Which columns a document has."""
        return ColumnCopy("memory_export", self.model, self.left_out, self.shape.model_fields)


@cache
def memory_parts() -> dict[str, MemoryPart]:
    """Return the parts of a document by their names: sessions first, because the others refer to them."""
    rows = sorted(LISTED.values(), key=lambda row: row.model is not Session)
    return {row.plural: _part_of(row) for row in rows}


AnyDocument = TypeVar("AnyDocument", bound=ExportedModel)


def add_parts(document: type[AnyDocument]) -> type[AnyDocument]:
    """Return a document that has a list for each kind, also for those that it does not name itself."""
    added = [row for row in LISTED.values() if row.plural not in document.model_fields]
    lists: dict[str, Any] = {row.plural: (list[_part_of(row).shape], []) for row in added}  # type: ignore[misc]
    return create_model(document.__name__, __base__=document, __doc__=document.__doc__, **lists) if lists else document


def _part_of(row: MemoryKind) -> MemoryPart:
    assert row.own, "what is listed is one's own"
    part: MemoryPart = import_string(row.own.part)
    return part
