"""A whole BigMind for each file of the torture, with its data on disk, and a word with whoever watches."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.embedded.instance import Instance
from tests.torture.writes import client_of

Start = Callable[..., AbstractContextManager[Instance]]
UNLIMITED = {"BIGMIND_RATE_LIMIT": "0", "BIGMIND_WAITING_PER_PERSON": "1000"}
"""One person's two hundred threads call at once: that most of them would be told to come later is tested elsewhere."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Return what runs a BigMind with some variables set, for the length of a `with`."""

    @contextmanager
    def run(**variables: str) -> Iterator[Instance]:
        folder = Path(tempfile.mkdtemp(prefix="bm-"))
        instance = Instance.prepare(folder / "home", **{**UNLIMITED, **variables})
        try:
            yield instance.start()
        finally:
            instance.hurry()
            with suppress(FileNotFoundError):  # It did not come far enough to have any.
                shutil.copytree(instance.home / "logs", tmp_path_factory.mktemp("torture") / "logs")
            shutil.rmtree(folder)

    return run


@pytest.fixture(scope="module")
def bigmind(running: Start) -> Iterator[Instance]:
    """Yield a BigMind that takes as many calls as come. Its logs outlive it, among pytest's temporary folders."""
    with running() as instance:
        yield instance


@pytest.fixture
def client(bigmind: Instance) -> Iterator[httpx.Client]:
    """Yield a client with the printed key, for as many threads as like to use it."""
    with client_of(bigmind) as client:
        yield client


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Return what prints a line of the report at once, although pytest keeps what tests print.

    On standard error, because of the processes of pytest-xdist nobody sees the other.
    """

    def print_now(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}", end="", file=sys.stderr, flush=True)

    return print_now
