"""A filled instance in a database of its own, for what changes tables."""

from tests.backup.conftest import filled, filled_once, fresh

__all__ = ["filled", "filled_once", "fresh"]
