"""Lists with a limit, an offset or a cursor, and a total: what every operation that lists returns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from pydantic import BaseModel, ConfigDict, Field

from bigmind.core.cursors import behind, cursor_behind, in_total_order
from bigmind.core.errors import Invalid

Item = TypeVar("Item")
Other = TypeVar("Other")
Row = TypeVar("Row", bound=Model)
Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list: `items` from `offset` on, out of `total`; `next_cursor` leads to the next, if there is one."""

    items: Sequence[Item]
    total: int
    limit: int
    offset: int
    next_cursor: str | None = None

    @property
    def left(self) -> int:
        """How many more there are after this page."""
        return max(0, self.total - self.offset - len(self.items))

    def of(self, items: Sequence[Other]) -> "Page[Other]":
        """Return the same page with something else in the place of each item."""
        return replace(self, items=items)  # type: ignore[return-value, arg-type]


def page_of(rows: QuerySet[Row], *, limit: int, offset: int = 0, cursor: str | None = None) -> Page[Row]:
    """Return the page of `rows` that begins at `offset` or behind `cursor`, with the number of all rows.

    A walk by cursor sees each row that was there all along exactly once. One by offset does not: whoever adds a row
    meanwhile pushes another onto the next page, where it is seen again.

    Raises:
        Invalid: the cursor is not one of this list, or an offset came along with it.
    """
    rows = in_total_order(rows)
    total = rows.count()
    if cursor is None:
        found = rows[offset : offset + limit + 1]
    elif offset:
        raise Invalid.of("cursor", "cannot be sent together with offset. Send one of the two")
    else:
        rest = behind(cursor, rows)
        offset, found = max(0, total - rest.count()), rest[: limit + 1]
    # One row more than the page tells whether there is a next, whatever was counted a moment before.
    items = list(found)
    has_next, items = len(items) > limit, items[:limit]
    return Page(items, total, limit, offset, cursor_behind(items[-1], rows) if has_next else None)


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


class ListShape(PageShape[Shape], Generic[Shape]):
    """One page of a list. `total` counts all that match; ask again with `next_cursor` as `cursor` for more."""

    next_cursor: str | None = Field(description="What to send as `cursor` for the next page; null: this is the last.")
