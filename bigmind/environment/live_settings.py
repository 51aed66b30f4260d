"""Settings that an admin may change while BigMind runs: what was chosen in the page, else what the environment says."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings


class LiveSettings:
    """Reads like Django's settings. Use it for each setting that `bigmind.environment` marks as changeable live."""

    def __init__(self) -> None:
        self._chosen: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return the value in force. Never keep it: the next call may get another."""
        chosen = self._chosen
        return chosen[name] if name in chosen else getattr(settings, name)

    def replace_chosen(self, values: Mapping[str, Any]) -> None:
        """Let these values, by the names of Django's settings, win over the environment in this process."""
        self._chosen = dict(values)


live = LiveSettings()
