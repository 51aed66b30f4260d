"""Lists with a limit, an offset and a total: what every operation that lists returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)
Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a list: `items` from `offset` on, out of `total`."""

    items: Sequence[Item]
    total: int
    limit: int
    offset: int

    @property
    def left(self) -> int:
        """How many more there are after this page."""
        return max(0, self.total - self.offset - len(self.items))


def page_of(rows: QuerySet[Row], *, limit: int, offset: int) -> Page[Row]:
    """Return the page of `rows` that begins at `offset`, with the number of all rows, in two queries."""
    return Page(items=list(rows[offset : offset + limit]), total=rows.count(), limit=limit, offset=offset)


class PageShape(BaseModel, Generic[Shape]):
    """One page of a list. `total` counts all that match; ask again with a larger `offset` for more."""

    model_config = ConfigDict(from_attributes=True)

    items: list[Shape]
    total: int = Field(description="How many match in all.")
    limit: int
    offset: int

    @property
    def left(self) -> int:
        """How many more there are after this page."""
        return max(0, self.total - self.offset - len(self.items))
