"""What agents do all day: write, read what is known, search for what was written; and how long each call took."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import count, takewhile
from threading import Event, Thread
from time import monotonic

import httpx
import numpy as np

from tests.torture.writes import numbered

Ask = Callable[[], httpx.Response]


class Day:
    """The calls of some agents: what they wrote, what failed, whether searches fell back on words."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.written: Counter[str] = Counter()
        self.fallbacks: Counter[bool] = Counter()
        self.failures: list[str] = []
        self._client = client
        self._name = name

    def rounds(self, number: int) -> "Day":
        """Let one agent work for so many rounds."""
        self._work("one agent", range(number))
        return self

    def until(self, over: Callable[[], bool], *, agents: int) -> "Day":
        """Let some agents work until it is over."""
        with ThreadPoolExecutor(agents) as threads:
            each = [
                threads.submit(self._work, f"agent {n}", takewhile(lambda _: not over(), count()))
                for n in range(agents)
            ]
        for agent in each:
            agent.result()
        return self

    def lasting(self, seconds: float, *, agents: int) -> "Day":
        """Let some agents work for so long."""
        end = monotonic() + seconds
        return self.until(lambda: monotonic() > end, agents=agents)

    def p95(self, call: str) -> float:
        """Return the seconds within which 95 of 100 calls were answered."""
        return float(np.percentile(self.seconds[call], 95))

    def summary(self) -> str:
        """Return how many calls there were, and their p95 in milliseconds."""
        calls = sum(map(len, self.seconds.values()))
        figures = ", ".join(f"{call} {1000 * self.p95(call):.0f} ms" for call in self.seconds)
        return f"{self._name}: {calls} calls, {len(self.failures)} failed; p95: {figures}"

    def _work(self, agent: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            codeword = _codeword(f"{self._name}, {agent}, {number}")
            text = f"{self._name}, {agent}: the router of branch {codeword} was switched."
            if self._answered("write", lambda text=text, number=number: numbered(number, text).send(self._client)):
                self.written[text] += 1
            self._answered("read", lambda: self._client.get("facts/", params={"limit": 20}))
            self._search(codeword, text)

    def _search(self, codeword: str, text: str) -> None:
        """Look for what was just written: by its words it is found at once."""
        answer = self._answered("search", lambda: self._client.get("search/", params={"query": codeword, "limit": 5}))
        if answer is None:
            return
        found = answer.json()
        self.fallbacks[found["fallback"]] += 1
        if text not in {item["excerpt"] for item in found["items"]}:
            self.failures.append(f"“{text}” was not found.")

    def _answered(self, call: str, ask: Ask) -> httpx.Response | None:
        """Call once. Nothing is tried again: whatever is away, agents are to notice nothing."""
        begun = monotonic()
        try:
            answer = ask()
        except httpx.TransportError as error:
            self.failures.append(f"{call}: {error!r}")
            return None
        self.seconds[call].append(monotonic() - begun)
        if answer.is_success:
            return answer
        self.failures.append(f"{call}: {answer.status_code} {answer.text}")
        return None


def _codeword(address: str) -> str:
    """Return a word that stands in no other text. Letters alone: search takes some digits for numbers."""
    return "".join(chr(ord("a") + byte % 26) for byte in sha256(address.encode()).digest()[:12])


@contextmanager
def at_work(client: httpx.Client, name: str, *, agents: int) -> Iterator[Callable[[], Day]]:
    """Let agents write, read and search meanwhile; yield what tells how it went, once it is over."""
    day, over = Day(client, name), Event()
    working = Thread(target=lambda: day.until(over.is_set, agents=agents))
    working.start()
    try:
        yield lambda: day
    finally:
        over.set()
        working.join()
