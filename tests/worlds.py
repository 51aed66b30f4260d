"""A world that is made once for all tests of a module: each of them changes it in a transaction of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, transaction
from pytest_django.plugin import DjangoDbBlocker

World = TypeVar("World")


@contextmanager
def keep_world(blocker: DjangoDbBlocker, make: Callable[[], World]) -> Iterator[World]:
    """Make a world in a transaction that ends with the `with`; what tests do meanwhile is a savepoint within it.

    Call this in a fixture of a module whose tests would each make the same. The tests must be `django_db` without
    `transaction=True`, and read its rows afresh: what a test changed in memory stays changed.
    """
    with blocker.unblock(), transaction.atomic():
        # The end of each test closes its connection, and with it this transaction would be gone.
        connection.close = lambda: None  # type: ignore[method-assign]
        try:
            yield make()
        finally:
            del connection.close  # type: ignore[method-assign]
            transaction.set_rollback(True)


@contextmanager
def undone() -> Iterator[None]:
    """Take back what is done within, so that one test can try many things on one world."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
