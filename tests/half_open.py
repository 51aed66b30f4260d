"""Holds connections without a key, with heads and bodies that never end, and sends bodies of ten megabytes.

It is a program, so that it takes no time from the test that looks on: `python -m tests.half_open <url> <connections>
<threads that send> <address>...` goes on until its input is closed.
"""

import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

MIB = 1024 * 1024
HALF_A_HEAD = "GET / HTTP/1.1\r\nHost: HOST\r\nX-Long: " + "x" * 15_000
HALF_A_BODY = "POST /sign-in/ HTTP/1.1\r\nHost: HOST\r\nContent-Length: 60000\r\n\r\n" + "x" * 59_999
PATHS = ("/", "/sign-in/", "/api/v1/facts/", "/api/v1/import/", "/mcp", "/nowhere/")


@contextmanager
def attacking(url: str, count: int, senders: int, sources: Sequence[str]) -> Iterator[None]:
    """Run the program, beginning when it holds its connections."""
    command = [sys.executable, "-m", "tests.half_open", url, str(count), str(senders), *sources]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin
        assert program.stdout
        program.stdout.readline()
        try:
            yield
        finally:
            program.stdin.close()


def connect(url: str, sent: str, source: str) -> socket.socket:
    """Open a connection from an address of this machine, and send the beginning of a request."""
    parts = urlsplit(url)
    connection = socket.create_connection(("127.0.0.1", parts.port or 0), timeout=5, source_address=(source, 0))
    with suppress(OSError):  # It may be closed already.
        connection.sendall(sent.replace("HOST", parts.netloc).encode())
    return connection


@contextmanager
def holding(url: str, count: int, sources: Sequence[str], sent: Sequence[str]) -> Iterator[None]:
    """Hold so many connections, opening another one for each that is closed."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 2_000, files[1]), files[1]))
    done = threading.Event()

    def hold(number: int) -> None:
        held: list[socket.socket] = []
        with ExitStack() as all_held:
            while not done.wait(0.05):
                for connection in list(held):
                    if _is_closed(connection):
                        connection.close()
                        held.remove(connection)
                with suppress(OSError):
                    while len(held) < count // THREADS and not done.is_set():
                        kind = sent[(number + len(held)) % len(sent)]
                        held.append(all_held.enter_context(connect(url, kind, sources[len(held) % len(sources)])))

    with _threads(THREADS, hold, done):
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, files)


THREADS = 4


@contextmanager
def sending(url: str, threads: int, source: str) -> Iterator[None]:
    """Send bodies of ten megabytes without a key, one after the other."""
    done = threading.Event()

    def send(number: int) -> None:
        while not done.is_set():
            path = PATHS[number % len(PATHS)]
            number += 1
            head = f"POST {path} HTTP/1.1\r\nHost: HOST\r\nContent-Length: {10 * MIB}\r\n\r\n"
            with suppress(OSError), connect(url, head, source) as connection:
                for _ in range(160):
                    connection.sendall(b"x" * (MIB // 16))

    with _threads(threads, send, done):
        yield


@contextmanager
def _threads(count: int, act, done: threading.Event) -> Iterator[None]:
    threads = [threading.Thread(target=act, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(30)


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


if __name__ == "__main__":
    address, held, at_once, *from_where = sys.argv[1:]
    with (
        holding(address, int(held), from_where, ["", HALF_A_HEAD, HALF_A_BODY]),
        sending(address, int(at_once), from_where[0]),
    ):
        print("ready", flush=True)
        sys.stdin.read()
