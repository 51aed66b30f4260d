"""Homes of their own for the tests of the embedded default, and what is only worth testing as root."""

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bigmind.embedded.cluster import Cluster

NOBODY = pwd.getpwnam("nobody")

as_root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder with a short path: pytest's own can be too long for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def home(folder: Path) -> Path:
    """Return a home that does not exist yet."""
    return folder / "home"


@pytest.fixture(scope="module")
def made_once() -> Iterator[Cluster]:
    """Yield a cluster that the tests of a module share, because making one takes a second."""
    home = Path(tempfile.mkdtemp(prefix="bm-"))
    cluster = Cluster(home)
    yield cluster
    cluster.stop(patience=3)
    shutil.rmtree(home)


@pytest.fixture
def cluster(made_once: Cluster) -> Cluster:
    """Return a running cluster that remembers nothing of the test before."""
    if not made_once.is_alive():
        made_once.start()
    with psycopg.connect(made_once.url) as database:
        database.execute("DROP TABLE IF EXISTS memory")
    return made_once


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Take away what root may do, for the length of a test."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY.pw_uid)
    yield
    os.seteuid(0)
