"""A home in which commands run, its owner, and a server for the hooks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Role, User
from tests.connecting.hook_server import HookServer
from tests.factories import make_user

URL = "http://localhost:7700"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Path:
    """An empty home, in which no program has been yet."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "BIGMIND_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    settings.PUBLIC_URL = URL
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"home": tmp_path / "bigmind"})
    return home


@pytest.fixture
def server(settings: Any, home: Path) -> Iterator[HookServer]:
    with HookServer().listen() as server:
        settings.PUBLIC_URL = server.url
        yield server


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada", role=Role.ADMIN)
