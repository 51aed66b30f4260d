"""What the tests with real clients share: BigMind served, a model's stand-in, and each client in a home of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from accounts.connecting.server_config import ServerConfig
from accounts.keys import NewKey
from tests.clients.installed import CLIENTS, RealClient
from tests.clients.model import ModelStandIn
from tests.connecting.homes import Home
from tests.factories import make_key
from tests.serving import Served


@pytest.fixture
def model() -> Iterator[ModelStandIn]:
    """A stand-in for the model of a client."""
    with ModelStandIn() as model:
        yield model


@pytest.fixture
def key(served: Served) -> NewKey:
    """A key of somebody new."""
    return make_key()


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(
    request: pytest.FixtureRequest, served: Served, key: NewKey, model: ModelStandIn, tmp_path: Path
) -> RealClient:
    """Each client in turn, connected to BigMind as `bigmind connect` does it."""
    client = new_client(request.param, model, tmp_path)
    client.connect(ServerConfig(served.url, key.text))
    return client


def new_client(kind: type[RealClient], model: ModelStandIn, place: Path) -> RealClient:
    """Return a client in a new home, which knows its model, in an empty repository."""
    if not kind.is_installed():
        go_without(f"{kind.name} is not installed: make clients")
    folder = place / "freight-api"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    client = kind(Home(place), folder, model)
    client.configure()
    return client


def go_without(reason: str) -> NoReturn:
    """Skip a test for which something is missing, but not where it has to run."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
