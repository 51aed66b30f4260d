"""A production that most files of the drill share, on Debian's PostgreSQL where there is a recent one with pgvector."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigmind.embedded import cluster
from bigmind.embedded.programs import Account, Programs, programs_for
from tests.drill.production import Production, production
from tests.growing import server
from tests.torture.conftest import report

__all__ = ["report"]

DEBIAN = Path("/usr/lib/postgresql")
VECTOR = "/usr/share/postgresql/{}/extension/vector.control"
OLDEST = 17
"""Of 16 and before, no database sorts by code point without its C library."""


@pytest.fixture(scope="session", autouse=True)
def postgresql(pytestconfig: pytest.Config) -> Iterator[str]:
    """Yield the name of the PostgreSQL that is drilled: that of Debian, or the one that BigMind brings."""
    recent = [number for number in _installed() if number >= OLDEST and Path(VECTOR.format(number)).exists()]
    if not recent:
        _say(
            pytestconfig,
            "PostgreSQL: the one that BigMind brings; no 17 of Debian's with pgvector is here.",
        )
        yield ""
        return

    def of_debian(account: Account) -> Programs:
        return Programs(account, DEBIAN / str(recent[-1]) / "bin")

    with pytest.MonkeyPatch.context() as patch:
        for module in (cluster, server):
            patch.setattr(module, programs_for.__name__, of_debian)
        patch.setattr(cluster, "major_version", lambda: str(recent[-1]))
        _say(pytestconfig, f"PostgreSQL: Debian's {recent[-1]}, with two roles.")
        yield f"Debian's {recent[-1]}"


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory, postgresql: str) -> Iterator[Production]:
    """Yield a production behind HAProxy whose texts get their vectors from an embedder that loads nothing."""
    with production(tmp_path_factory.mktemp("redis"), BIGMIND_EMBEDDING_PROVIDER="hashing") as whole:
        yield whole


def _installed() -> list[int]:
    return sorted(int(path.name) for path in DEBIAN.glob("*") if re.fullmatch(r"\d+", path.name))


def _say(config: pytest.Config, line: str) -> None:
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n  {line}", end="", file=sys.stderr, flush=True)
