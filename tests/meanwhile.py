"""Something that another process does between two statements of the code that is tested."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def meanwhile(act: Callable[[], object], *, after: str) -> Iterator[None]:
    """Do it once, right after the first statement of the block that begins with these words."""
    done: list[bool] = []

    def act_between(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        answer = execute(sql, *more)
        if sql.startswith(after) and not done:
            done.append(True)
            act()
        return answer

    with connection.execute_wrapper(act_between):
        yield
    assert done, f"nothing begins with {after}"
