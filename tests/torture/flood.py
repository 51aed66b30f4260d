"""A flood by one person: `python -m tests.torture.flood URL KEY DOCUMENT` until a line comes on standard input.

It runs in a process of its own and gives way to all others, as clients on other machines would.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx

from tests.transports.mcp_wire import Wire

AT_ONCE = 64
ERROR = "Traceback (most recent call last):\n" + '  File "crane.py", line 7, in lift\n' * 40 + "ValueError: too heavy"


@dataclass(frozen=True)
class Address:
    """Where it goes."""

    url: str


def flood(url: str, key: str, document: dict[str, Any]) -> Counter[str]:
    """Keep 64 requests under way; return how often each status was answered."""
    kinds: list[Callable[[httpx.Client, Wire], httpx.Response]] = [
        lambda _, wire: tool(wire, "memory_semantic_search", {"query": "Which cranes are oiled on a Friday, and why?"}),
        lambda rest, _: rest.post("import/", json={"document": document}),
        lambda rest, _: rest.get("export/"),
        lambda _, wire: tool(wire, "lesson_for", {"error": ERROR}),
    ]
    answers, done = Counter[str](), Event()

    def work(number: int) -> None:
        rest = httpx.Client(base_url=f"{url}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=120)
        wire = Wire(Address(url), key, timeout=120)  # type: ignore[arg-type]
        while not done.is_set():
            try:
                answer = kinds[number % len(kinds)](rest, wire)
            except httpx.TransportError as error:
                answers[type(error).__name__] += 1
                continue
            status = "429" if "BIGMIND_WAITING_PER_PERSON" in answer.text else str(answer.status_code)
            answers[status] += 1
            if status == "429":
                done.wait(0.5)  # Sooner than it was told.

    threads = [Thread(target=work, args=(number,), daemon=True) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    done.set()
    for thread in threads:
        thread.join(60)
    return answers


def tool(wire: Wire, name: str, arguments: dict[str, object]) -> httpx.Response:
    """Call a tool."""
    return wire.send("tools/call", {"name": name, "arguments": arguments})


if __name__ == "__main__":
    os.nice(10)
    print(json.dumps(flood(sys.argv[1], sys.argv[2], json.loads(Path(sys.argv[3]).read_text()))))
