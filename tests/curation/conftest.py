"""Curation is tested as a team has it, unless a test says otherwise."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _in_a_team(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
