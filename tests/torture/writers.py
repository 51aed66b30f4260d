"""Many clients that write without end, while others do their worst."""

import threading
import time
from collections import Counter
from collections.abc import Set as AbstractSet
from types import TracebackType

from tests.torture.callers import Address
from tests.torture.scale import PATIENCE
from tests.torture.writes import NOT_NOW, Acknowledgement, NotAsPromised, acknowledged, client_of, numbered

TIMEOUT_SECONDS = 10.0


class Writers:
    """Write from many threads for the length of a `with`; what has begun by its end is still brought to its end."""

    def __init__(
        self,
        served: Address,
        number: int,
        name: str,
        *,
        not_now: AbstractSet[int] = NOT_NOW,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.acknowledgements: list[Acknowledgement] = []
        self.surprises: list[str] = []
        self._client = client_of(served, timeout=timeout)
        self._not_now = not_now
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(f"{name}, writer {n}",)) for n in range(number)]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()
        self._client.close()

    def texts(self) -> Counter[str]:
        """Return what has been acknowledged."""
        return Counter(each.write.text for each in self.acknowledgements)

    def wait_for_each(self) -> None:
        """Return when as many more writes as there are writers have been acknowledged."""
        wanted, give_up = len(self.acknowledgements) + len(self._threads), time.monotonic() + PATIENCE
        while len(self.acknowledgements) < wanted:
            assert time.monotonic() < give_up, f"Nobody gets through any more. {self.surprises[-1:]}"
            time.sleep(0.05)

    def _write(self, name: str) -> None:
        number = 0
        while not self._enough.is_set():
            number += 1
            try:
                write = numbered(number, f"{name}: decision {number}.")
                self.acknowledgements.append(acknowledged(self._client, write, not_now=self._not_now))
            except NotAsPromised as surprise:
                self.surprises.append(str(surprise))
