"""Many who want the same thing at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.embedded.instance import Instance
from tests.torture.scale import CONTENDERS, PATIENCE
from tests.torture.writes import query

Answer = TypeVar("Answer")


def all_at_once(act: Callable[[int], Answer]) -> list[Answer]:
    """Return what each of many threads is answered that all begin at the same moment."""
    start = threading.Barrier(CONTENDERS)

    def contend(number: int) -> Answer:
        start.wait(PATIENCE)
        return act(number)

    with ThreadPoolExecutor(CONTENDERS) as threads:
        return list(threads.map(contend, range(CONTENDERS)))


def first_user(instance: Instance) -> str:
    """Return the name of the user that the first start made."""
    ((username,),) = query(instance.home, "SELECT username FROM accounts_user ORDER BY created_at LIMIT 1")
    return str(username)
