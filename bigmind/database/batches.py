"""Reading a long table in batches, so that memory holds one of them at a time."""

from collections.abc import Iterator
from typing import Any, TypeVar

from django.db.models import QuerySet

Row = TypeVar("Row")


def in_batches(rows: "QuerySet[Any, Row]", size: int, *, by: str = "pk") -> Iterator[list[Row]]:
    """Yield the rows of a query in the order of a unique column, at most `size` at a time.

    `QuerySet.iterator` reads all of them before it yields the first: without cursors of the server, as here
    (`DISABLE_SERVER_SIDE_CURSORS`), the driver keeps the whole answer.

    Args:
        rows: Rows of a model, or tuples whose first value is that column.
    """
    rows = rows.order_by(by)
    batch = list(rows[:size])
    while batch:
        yield batch
        last = batch[-1]
        behind = {f"{by}__gt": last[0] if isinstance(last, tuple) else getattr(last, by)}
        batch = list(rows.filter(**behind)[:size]) if len(batch) == size else []
