"""HTTP to other servers: a process keeps its connections to each, and an exchange has one deadline for all of it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ssl import SSLContext
from time import monotonic
from typing import Any

import httpcore
import httpx

MOST_SERVERS = 64
MOST_CONNECTIONS = 20
KEPT_SECONDS = 3.0
"""Shorter than servers keep an idle connection, so that none is closed just when it is used again."""
PIECE_BYTES = 16 * 1024


class Exchange:
    """A request and its response, with a common deadline, TLS, headers and body together.

    Attributes:
        ends: When it is over. A server that sends a byte a second is never too late for a single read.
    """

    def __init__(self, seconds: float) -> None:
        self.ends = monotonic() + seconds

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return monotonic() > self.ends


_EXCHANGE: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[Exchange]:
    """End whatever is sent or read inside this block when so much time has passed."""
    token = _EXCHANGE.set(exchange := Exchange(seconds))
    try:
        yield exchange
    finally:
        _EXCHANGE.reset(token)


@lru_cache(maxsize=MOST_SERVERS)
def client_for(server: str, *, verify: bool | SSLContext = True, trust_env: bool = False) -> httpx.Client:
    """Return the client of this process for a server, with the connections that are open to it.

    It follows no redirections, because they could lead anywhere, and keeps no cookies.

    Args:
        server: Its scheme and name. A connection is to an address, and what is there may have several names.
        verify: Which certificates are trusted.
        trust_env: Whether a proxy of the environment may be used, and the passwords of a `.netrc`.
    """
    client = httpx.Client(
        follow_redirects=False,
        verify=verify,
        trust_env=trust_env,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=httpx.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEPT_SECONDS),
    )
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = _Network()
    return client


# A copy of this process must not speak over its connections.
os.register_at_fork(after_in_child=client_for.cache_clear)


class _Network(httpcore.SyncBackend):
    """Connections that know the deadline of the exchange they are used for."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _time_for(timeout, httpcore.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, left, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _time_for(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), PIECE_BYTES):
            self._stream.write(buffer[begin : begin + PIECE_BYTES], _time_for(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _time_for(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _time_for(timeout: float | None, late: type[Exception]) -> float | None:
    """Return how long the next step may take.

    Raises:
        late: the deadline of the exchange has passed.
    """
    exchange = _EXCHANGE.get()
    if exchange is None:
        return timeout
    left = exchange.ends - monotonic()
    if left <= 0:
        raise late("the exchange took too long")
    return left if timeout is None else min(left, timeout)
