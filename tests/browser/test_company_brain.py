"""The company brain, end to end: an agent proposes, a curator agrees in the browser, another agent knows."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import expect

from accounts.models import Role
from tests.browser.conftest import Visits, Windows
from tests.factories import make_key, make_user
from tests.serving import Served, end_its_database_sessions, serving


@pytest.fixture
def team(transactional_db: None, tmp_path: Path) -> Iterator[Served]:
    """A running BigMind of a team."""
    with serving(tmp_path / "log.txt", BIGMIND_MODE="team") as (served, _):
        yield served
    end_its_database_sessions()


@pytest.fixture
def visits(windows: Windows, team: Served) -> Iterator[Visits]:
    """Visits to it."""
    visits = Visits(windows, team.url)
    yield visits
    visits.close()
    assert visits.wrongs == []


def _said_to(served: Served, key: str, tool: str, **arguments: Any) -> str:
    """What an agent is told when it calls a tool. In a thread of its own: the browser keeps a loop in this one."""

    async def call() -> str:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"})
        async with Client(streamable_http_client(served.mcp, http_client=http)) as client:
            return str((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(anyio.run, call).result()


def test_what_one_agent_proposes_and_a_curator_approves_every_agent_knows(team: Served, visits: Visits) -> None:
    ada, cora, bob = make_user("ada"), make_user("cora", role=Role.CURATOR), make_user("bob")
    ada_key, bob_key = make_key(ada).text, make_key(bob).text

    before = _said_to(team, bob_key, "memory_start_session")
    proposed = _said_to(
        team,
        ada_key,
        "memory_promote_to_global",
        category="standard",
        title="Services report their health",
        content="Every service answers /healthz and /readyz.",
    )
    still = _said_to(team, bob_key, "memory_start_session")
    page = visits.by(cora)
    page.goto("/curation/")
    page.get_by_role("link", name="Services report their health").first.click()
    page.get_by_role("button", name="Approve", exact=False).first.click()
    expect(page.locator(".messages").get_by_text("Approved")).to_be_visible()
    after = _said_to(team, bob_key, "memory_start_session")
    heard = _said_to(team, ada_key, "memory_start_session")

    assert "pending" in proposed
    assert "/healthz" not in before + still
    assert "(verified) “Services report their health”: Every service answers /healthz and /readyz." in after
    assert "approved by cora" in heard
