"""What serving HTTP costs, by BigMind's own server and by others that are installed, and what each makes of odd heads.

The application behind them only answers, so what is measured is the server alone: as much as another one could save.
"""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from time import perf_counter, sleep, thread_time
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
ROUNDS, TIMES = 3, 320
TOGETHER = (1, 16)
PATIENCE_SECONDS = 12
OURS = "benchmarks.servers"
APPLICATION = f"{OURS}:application"
LIMITS = ["--h11-max-incomplete-event-size", "16384"]
UVICORN = ["-m", "uvicorn", "--lifespan", "off", "--no-access-log", "--log-level", "critical", "--http"]
GRANIAN = ["-m", "granian", APPLICATION, "--interface", "asginl", "--loop", "asyncio", "--no-access-log"]
SERVERS: Mapping[str, tuple[str, list[str]]] = {
    "BigMind (uvicorn with h11 and deadlines)": ("h11", [*UVICORN, f"{OURS}:protocol", f"{OURS}:framed", *LIMITS]),
    "uvicorn with httptools": ("httptools", [*UVICORN, "httptools", APPLICATION]),
    "granian": ("granian", [*GRANIAN, "--log-level", "warning"]),
}
"""The package that each needs, and its arguments."""
FACTS = {"items": [{"fact_id": number, "fact": "Deploys go through the router. " * 6} for number in range(20)]}
REPLY = json.dumps(FACTS).encode()
ASKED = (
    "POST /api/v1/facts/ HTTP/1.1\r\nHost: HOST\r\nAccept: application/json\r\nAuthorization: Bearer bm_0123456789\r\n"
    "Content-Type: application/json\r\nContent-Length: 60\r\n\r\n" + "x" * 60
)


def _head(*lines: str, method: str = "GET", host: str = "Host: HOST", version: str = "1.1", body: str = "") -> str:
    return "\r\n".join([f"{method} /healthz HTTP/{version}", *filter(None, [host]), *lines, "", body])


HEADS: Mapping[str, str] = {
    "a plain head": _head(),
    "no Host": _head("X: y", host=""),
    "two Hosts": _head("Host: other.example"),
    "Content-Length and Transfer-Encoding": _head(
        "Content-Length: 3", "Transfer-Encoding: chunked", method="POST", body="0\r\n\r\n"
    ),
    "two lengths": _head("Content-Length: 0", "Content-Length: 3", method="POST", body="abc"),
    "a length of +3": _head("Content-Length: +3", method="POST", body="abc"),
    "an unknown Transfer-Encoding": _head("Transfer-Encoding: xchunked", method="POST", body="0\r\n\r\n"),
    "a chunk of size 0x3": _head("Transfer-Encoding: chunked", method="POST", body="0x3\r\nabc\r\n0\r\n\r\n"),
    "a space before the colon": _head("X : y"),
    "a folded line": _head("X: y", " z"),
    "a line without a colon": _head("nonsense"),
    "a NUL in a value": _head("X: a\0b"),
    "a control character in a value": _head("X: a\x01b"),
    "a bare line feed in a value": _head("X: a\nY: b"),
    "HTTP/9.9": _head(version="9.9"),
    "a head of 20 KB": _head(f"X: {'x' * 20_000}"),
    "a head of 200 KB": _head(f"X: {'x' * 200_000}"),
    f"half a head, for {PATIENCE_SECONDS} s": "GET /healthz HTTP/1.1\r\nHost: HOST\r\n",
}
"""Heads that a proxy may read otherwise than a server, or that cost too much, after one that is as it should be."""


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Read what was sent, and answer with a list of facts."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(REPLY)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": REPLY})


def __getattr__(name: str) -> Any:
    """Give uvicorn what BigMind's web processes have: their protocol, and the check of framing before all else."""
    if name == "framed":
        from bigmind.transports.request_limits import PlainFraming

        return PlainFraming(application)
    if name != "protocol":
        raise AttributeError(name)
    from bigmind.embedded.connections import connections_of_this_process
    from bigmind.embedded.web import DeadlineProtocol

    DeadlineProtocol.counted = connections_of_this_process()
    return DeadlineProtocol


def measure() -> list[str]:
    """Ask every server in turns; return the tables of requests, of heads and of encoders."""
    servers = {name: command for name, (package, command) in SERVERS.items() if find_spec(package)}
    spent: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in servers}
    heads: dict[str, list[str]] = {}
    for turn in range(ROUNDS):
        for name, command in servers.items():
            with _served(command) as (process, port):
                spent[name].append([asyncio.run(_spent(process, port, together)) for together in TOGETHER])
                if turn == 0:
                    heads[name] = [_answer(port, head) for head in HEADS.values()]
    rows = [
        [name, *(f"{min(own) * 1000:.2f} ms; {min(wall) * 1000:.2f} ms" for own, wall in _by_number(rounds))]
        for name, rounds in spent.items()
    ]
    by_head = [[what, *answers] for what, *answers in zip(HEADS, *heads.values(), strict=True)]
    return [
        *_table(["server", *(f"{together} at once" for together in TOGETHER)], rows),
        "",
        *_table(["head", *heads], by_head),
        "",
        *_table(["encoder of a reply", "processor time"], [[name, f"{took:.3f} ms"] for name, took in _encoders()]),
    ]


def _by_number(rounds: list[list[tuple[float, float]]]) -> list[tuple[list[float], list[float]]]:
    return [([own for own, _ in some], [wall for _, wall in some]) for some in zip(*rounds, strict=True)]


def _table(titles: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows)]


@contextmanager
def _served(command: list[str]) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = Popen([sys.executable, *command, "--host", "127.0.0.1", "--port", str(port)], cwd=ROOT, env=os.environ)
    try:
        while True:
            sleep(0.1)
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
        yield psutil.Process(started.pid), port
    finally:
        started.terminate()
        started.wait()


async def _spent(process: psutil.Process, port: int, together: int) -> tuple[float, float]:
    """Return seconds of the processor for a request, with those of workers, and seconds to its answer."""
    asked = ASKED.replace("HOST", f"127.0.0.1:{port}").encode()

    async def go_on(times: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(times):
            writer.write(asked)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(len(REPLY))
        writer.close()

    await asyncio.gather(*(go_on(3) for _ in range(together)))
    before, began = _seconds_of(process), perf_counter()
    await asyncio.gather(*(go_on(TIMES // together) for _ in range(together)))
    return (_seconds_of(process) - before) / TIMES, (perf_counter() - began) / TIMES * together


def _seconds_of(process: psutil.Process) -> float:
    spent = [part.cpu_times() for part in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in spent)


def _answer(port: int, head: str) -> str:
    """Send a head, and return the status of the answer, or what came in its place."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
        answer = b""
        with suppress(ConnectionError):
            client.sendall(head.replace("HOST", f"127.0.0.1:{port}").encode())
            try:
                answer = client.recv(4096)
            except TimeoutError:
                return "waits"
    return answer[9:12].decode() if answer else "closed"


def _encoders() -> list[tuple[str, float]]:
    """Encode a reply of 20 facts in each way there is, from the same data; in milliseconds of the processor."""
    from pydantic_core import to_json

    ways = {"pydantic, as it is": to_json, "the standard library": lambda facts: json.dumps(facts).encode()}
    if find_spec("orjson"):
        import orjson

        ways["orjson"] = orjson.dumps
    if find_spec("msgspec"):
        import msgspec

        ways["msgspec"] = msgspec.json.encode
    return [(name, min(_took(encode) for _ in range(200))) for name, encode in ways.items()]


def _took(encode: Any) -> float:
    began = thread_time()
    encode(FACTS)
    return (thread_time() - began) * 1000
