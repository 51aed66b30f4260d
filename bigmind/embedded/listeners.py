"""Binds the port before anything starts, so that a port in use is noticed at once and nobody takes it meanwhile."""

import ctypes
import errno
import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress

from bigmind.embedded.home import CannotStart

BACKLOG = 1024
SO_ATTACH_FILTER = 26
# "localhost" is either, and which comes first differs between clients. We take both or neither:
# on a shared machine, a user listening on the other one would receive the keys meant for us.
LOOPBACK = ("127.0.0.1", "::1")


def listen(bind: str, port: int, *, at_once: bool = True) -> list[socket.socket]:
    """Return listening sockets for the web server.

    Args:
        at_once: Accept connections from now on, which then wait. Otherwise they are refused until a process listens.

    Raises:
        CannotStart: naming the variable to change.
    """
    hosts = LOOPBACK if bind in {*LOOPBACK, "localhost"} else (bind,)
    sockets: list[socket.socket] = []
    try:
        for host in hosts:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                sockets.append(_listener(family, kind, protocol, address, at_once))
    except OSError as error:
        if hosts == LOOPBACK and sockets and error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            return sockets  # A machine without IPv6.
        for listener in sockets:
            listener.close()
        raise CannotStart(_reason(error, bind, port)) from None
    return sockets


def let_in(sockets: Iterable[socket.socket], bind: str, port: int) -> None:
    """Start accepting connections.

    Raises:
        CannotStart: another program started listening here in the meantime.
    """
    try:
        for listener in sockets:
            listener.listen(BACKLOG)
    except OSError as error:
        raise CannotStart(_reason(error, bind, port)) from None


def let_nobody_in(listener: socket.socket) -> None:
    """Let no more clients connect; on systems that can, connections already made are still accepted. Closing the socket
    would drop them, although they may have sent a request. On Linux, a socket filter drops all new packets: a new
    client retries after a second, and is refused once all sockets are closed.
    """
    if sys.platform == "linux":
        takes_none = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # BPF_RET | BPF_K: of each 0 bytes
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(takes_none)))


def _listener(family: int, kind: int, protocol: int, address: tuple[object, ...], at_once: bool) -> socket.socket:
    listener = socket.socket(family, kind, protocol)
    try:
        # A port whose last connections are still closing counts as free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        if at_once:
            listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _reason(error: OSError, bind: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            other = port + 1 if port < 65535 else port - 1
            return f"Port {port} is in use by another program. Stop it, or choose another port: BIGMIND_PORT={other}"
        case errno.EACCES:
            return f"You may not listen on port {port}. Choose one above 1023 with BIGMIND_PORT."
    return f"BigMind cannot listen on {bind} ({error.strerror}). Set BIGMIND_BIND to an address of this machine."
