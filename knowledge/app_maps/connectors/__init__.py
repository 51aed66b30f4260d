"""Connectors: instruments that read the apps, tables and schemas of an outside system. One small file each."""

from typing import Protocol

from knowledge.app_maps.connectors import budibase
from knowledge.app_maps.connectors.contract import Connector


class Make(Protocol):
    """Makes a connector from the settings."""

    def __call__(self, *, is_hurried: bool = False) -> Connector | None:
        """Return it, or None where the settings name no server. `is_hurried`: someone waits for its answers."""


CONNECTORS: dict[str, Make] = {"budibase": budibase.from_settings}


def available_connectors() -> list[str]:
    """Return the names of the connectors that the settings have a server for."""
    return [name for name, make in CONNECTORS.items() if make() is not None]


def connector_called(name: str, *, is_hurried: bool = False) -> Connector | None:
    """Return the connector of this name; None where there is none, or the settings have no server for it."""
    make = CONNECTORS.get(name)
    return make(is_hurried=is_hurried) if make else None
