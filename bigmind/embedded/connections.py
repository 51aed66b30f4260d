"""Limits on open connections, per address and in total; those that keep us waiting are closed first."""

import resource
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Protocol

import structlog

from bigmind.core.metrics import CONNECTIONS_CUT
from bigmind.environment import environment
from bigmind.network.addresses import Network, network_of

MOST_FILES = 1 << 20
# The rest is for the database, logs and libraries, and for connections accepted in one round before they are counted.
SHARE_OF_FILES = 0.75
REPORT_EVERY = 60

log = structlog.get_logger()


class HeldConnection(Protocol):
    """One open connection."""

    def make_way(self) -> None:
        """Close at once."""


@dataclass
class _Group:
    """Open connections: from one address, or in total.

    Attributes:
        waiting: Connections waiting for their client to send or read something, the longest wait first.
    """

    most: int
    count: int = 0
    waiting: "OrderedDict[HeldConnection, None]" = field(default_factory=OrderedDict)


class Connections:
    """The open connections of one process.

    At the limit of an address, its connection that waits longest for its client (for a head, the rest of a body, the
    next request, or for an answer to be read) is closed for the new one; at the total limit, the one of any address. If
    all of them are being served, the new one is refused. So unfinished requests take no place from others.
    """

    def __init__(self, most: int, most_of_address: int, proxies: Collection[Network]) -> None:
        self._all = _Group(most)
        self._most_of_address = most_of_address
        self._proxies = proxies
        self._of_address: dict[str, _Group] = {}
        self._groups: dict[HeldConnection, tuple[_Group, ...]] = {}
        self._report = ConnectionReport()

    def admit(self, connection: HeldConnection, address: str) -> bool:
        """Count a new connection; False if it is to be closed because there are too many."""
        groups: tuple[_Group, ...] = (self._all,)
        # A proxy speaks for many clients, and only the proxy knows which of them opens too many connections.
        if (network := network_of(address)) and not self._is_proxy(address):
            groups = (self._of_address.setdefault(network, _Group(self._most_of_address)), self._all)
        for group in groups:
            if group.count >= group.most and not self._make_room(group, address):
                return False
        for group in groups:
            group.count += 1
        self._groups[connection] = groups
        return True

    def wait_for_client(self, connection: HeldConnection) -> None:
        """Record that it is the client's turn."""
        for group in self._groups.get(connection, ()):
            group.waiting.setdefault(connection)

    def serve(self, connection: HeldConnection) -> None:
        """Record that it is our turn: the connection is not closed for another."""
        for group in self._groups.get(connection, ()):
            group.waiting.pop(connection, None)

    def release(self, connection: HeldConnection) -> None:
        """Forget a closed connection."""
        self.serve(connection)
        for group in self._groups.pop(connection, ()):
            group.count -= 1
        # Addresses come and go; only those with a connection are kept.
        if len(self._of_address) > 2 * len(self._groups) + 100:
            self._of_address = {each: group for each, group in self._of_address.items() if group.count}

    def _is_proxy(self, address: str) -> bool:
        parsed = ip_address(address)
        plain = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(plain in network for network in self._proxies)

    def _make_room(self, group: _Group, address: str) -> bool:
        self._report.add(address, group.count, is_everybody=group is self._all)
        if not group.waiting:
            CONNECTIONS_CUT.labels("refused").inc()
            return False
        CONNECTIONS_CUT.labels("made_way").inc()
        longest = next(iter(group.waiting))
        self.release(longest)
        longest.make_way()
        return True


class ConnectionReport:
    """Logs at most once a minute that there are too many connections."""

    def __init__(self) -> None:
        self._at = float("-inf")
        self._cut = 0

    def add(self, address: str, count: int, *, is_everybody: bool) -> None:
        """Count a refused connection, and log it if nothing was logged for a minute."""
        self._cut += 1
        if monotonic() - self._at < REPORT_EVERY:
            return
        setting = "BIGMIND_CONNECTIONS" if is_everybody else "BIGMIND_CONNECTIONS_PER_ADDRESS, BIGMIND_PROXIES"
        log.warning("Too many connections.", address=address, open=count, cut=self._cut, see=setting)
        self._at, self._cut = monotonic(), 0


def connections_of_this_process() -> Connections:
    """Return an empty count with the limits from the settings, lowered to the number of files that may be open."""
    set_to, files = environment(), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = min(set_to.connections, int(files * SHARE_OF_FILES))
    return Connections(most, set_to.connections_per_address, set_to.proxy_networks)


def allow_open_files() -> None:
    """Raise the soft limit of open files to the hard one: each connection is a file, and 1,024 are held in no time."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else hard
    with suppress(ValueError, OSError):  # Some systems allow fewer than they claim.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
