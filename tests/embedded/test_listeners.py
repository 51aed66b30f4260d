"""The port is taken before anything starts, and a port that is not to be had names the variable to change."""

import socket
import sys

import pytest

from bigmind.embedded.home import CannotStart
from bigmind.embedded.listeners import let_in, let_nobody_in, listen


def test_a_taken_port_names_the_variable_to_change() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(CannotStart) as refusal:
            listen("127.0.0.1", port)

    assert str(refusal.value) == (
        f"Port {port} is in use by another program. Stop it, or choose another port: BIGMIND_PORT={port + 1}"
    )


def test_localhost_is_ours_in_both_families() -> None:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        port = trial.getsockname()[1]

    sockets = listen("127.0.0.1", port)

    assert sockets[0].getsockname() == ("127.0.0.1", port)
    assert all(listener.getsockname()[1] == port for listener in sockets)
    with pytest.raises(CannotStart):
        listen("localhost", port)
    for listener in sockets:
        listener.close()


def test_an_address_that_is_not_ours_names_the_variable_to_change() -> None:
    with pytest.raises(CannotStart, match=r"cannot listen on 192\.0\.2\.1 .* Set BIGMIND_BIND"):
        listen("192.0.2.1", 7700)


def test_who_has_other_servers_refuses_until_it_has_started() -> None:
    """Then a balancer asks another one at once, and does not wait."""
    with socket.create_server(("127.0.0.1", 0)) as trial:
        port = trial.getsockname()[1]

    early = listen("127.0.0.1", port, at_once=False)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    let_in(early, "127.0.0.1", port)
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    for listener in early:
        listener.close()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has filters of packets for sockets.")
def test_who_has_connected_is_still_accepted_when_nobody_else_is_let_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as early:
        let_nobody_in(listener)

        with pytest.raises(TimeoutError):
            socket.create_connection(listener.getsockname(), timeout=0.2)
        accepted, _ = listener.accept()
        with accepted:
            early.sendall(b"still here")
            assert accepted.recv(10) == b"still here"
