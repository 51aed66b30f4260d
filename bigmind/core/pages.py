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
        """How many items follow this page."""
        return max(0, self.total - self.offset - len(self.items))

    def of(self, items: Sequence[Other]) -> "Page[Other]":
        """Return the same page with something else in the place of each item."""
        return replace(self, items=items)  # type: ignore[return-value, arg-type]


def page_of(rows: QuerySet[Row], *, limit: int, offset: int = 0, cursor: str | None = None) -> Page[Row]:
    """Return the page of `rows` that starts at `offset` or after `cursor`, with the number of all rows.

    Paging by cursor returns each row that existed all along exactly once. Paging by offset does not: a row that is
    added meanwhile pushes another onto the next page, where it appears again.

    Raises:
        Invalid: the cursor does not belong to this list, or came together with an offset.
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
    # One extra row shows whether there is a next page. The count cannot: rows may have come or gone since.
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
        """How many items follow this page."""
        return max(0, self.total - self.offset - len(self.items))


class ListShape(PageShape[Shape], Generic[Shape]):
    """One page of a list. `total` counts all that match; ask again with `next_cursor` as `cursor` for more."""

    next_cursor: str | None = Field(description="What to send as `cursor` for the next page; null: this is the last.")
