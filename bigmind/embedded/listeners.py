"""Takes the port before anything starts, so that a taken port is known at once and nobody takes it between."""

import errno
import socket

from bigmind.embedded.home import CannotStart

BACKLOG = 1024
# "localhost" is either, and which one comes first differs between clients. Both are ours, or neither:
# on a shared machine, a user who listens on the other one would receive the keys that are meant for us.
LOOPBACK = ("127.0.0.1", "::1")


def listen(bind: str, port: int) -> list[socket.socket]:
    """Return listening sockets for the web server.

    Raises:
        CannotStart: naming the variable to change.
    """
    hosts = LOOPBACK if bind in {*LOOPBACK, "localhost"} else (bind,)
    sockets: list[socket.socket] = []
    try:
        for host in hosts:
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                sockets.append(_listener(family, kind, protocol, address))
    except OSError as error:
        if hosts == LOOPBACK and sockets and error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            return sockets  # A machine without IPv6.
        for listener in sockets:
            listener.close()
        raise CannotStart(_reason(error, bind, port)) from None
    return sockets


def _listener(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, kind, protocol)
    try:
        # A port whose last connections still linger is free for us.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
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
