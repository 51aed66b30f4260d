"""Connectors: they read the apps, tables and schemas of an outside system. One small file each."""

from typing import Protocol
from urllib.parse import urlsplit

from knowledge.app_maps.connectors.budibase import Budibase
from knowledge.app_maps.connectors.contract import Connector


class Make(Protocol):
    """Makes a connector from the settings."""

    def __call__(self, *, is_hurried: bool = False) -> Connector | None:
        """Return it, or None if the settings name no server. `is_hurried`: someone is waiting for its answers."""


CONNECTORS: dict[str, Make] = {"budibase": Budibase.from_settings}


def available_connectors() -> list[str]:
    """Return the names of the connectors that the settings have a server for."""
    return [name for name, make in CONNECTORS.items() if make() is not None]


def connector_at(server: str) -> str:
    """Return the name of the connector that reads this server; empty where none does."""
    made = ((name, make()) for name, make in CONNECTORS.items() if server)
    return next((name for name, connector in made if connector and same_server(connector.server, server)), "")


def connector_called(name: str, *, is_hurried: bool = False, server: str = "") -> Connector | None:
    """Return the connector of this name; None if there is none, or the settings have no server for it. There is none
    for ids of another `server` either: the same ids mean other things there.
    """
    make = CONNECTORS.get(name)
    connector = make(is_hurried=is_hurried) if make else None
    return connector if connector and (not server or same_server(connector.server, server)) else None


def same_server(one: str, other: str) -> bool:
    """Whether two addresses lead to one server, whatever their case and the path of an API behind them."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())
