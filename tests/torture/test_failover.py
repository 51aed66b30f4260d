"""The machine of the database dies while many write: another takes over, and nothing that was acknowledged is lost."""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.embedded.instance import Instance, eventually
from tests.torture.conftest import UNLIMITED
from tests.torture.patroni import OWNER, Cluster, patroni
from tests.torture.scale import PATIENCE, WRITERS
from tests.torture.writers import Writers
from tests.torture.writes import Write, acknowledged, client_of
from tests.transports.test_mcp_listening import HEADERS, LISTEN

pytestmark = [pytest.mark.torture, pytest.mark.alone]

STORED = "SELECT fact FROM knowledge_fact UNION ALL SELECT hypothesis FROM knowledge_hypothesis"
SEE_ALL = "SELECT set_config('bigmind.sees', bigmind_row_token('everybody'), false)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    with patroni(folder) as cluster:
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bigmind(cluster: Cluster, tmp_path: Path) -> Iterator[Instance]:
    """Yield a BigMind on the two servers, on which a person has a key."""
    instance = Instance(tmp_path / "home", BIGMIND_EMBEDDING_PROVIDER="hashing", **UNLIMITED, **cluster.variables)
    try:
        instance.start()
        yield instance
    finally:
        instance.hurry()


def _stored(cluster: Cluster) -> Counter[str]:
    return Counter(text for (text,) in cluster.ask(STORED, before=SEE_ALL, role=OWNER))


def test_the_death_of_the_leading_server_is_a_pause(
    cluster: Cluster, bigmind: Instance, report: Callable[[str], None]
) -> None:
    before, leader = _stored(cluster), cluster.leader
    probe = Write("hypothesis", "After the death of the leader.")

    with Writers(bigmind, WRITERS, "A failover") as writers:
        writers.wait_for_each()
        begun = len(writers.acknowledgements)
        killed = time.monotonic()
        leader.kill()
        with client_of(bigmind, timeout=5.0) as client:
            acknowledged(client, probe)
        pause = time.monotonic() - killed
        writers.wait_for_each()

    made = writers.acknowledgements
    again = sum(each.tries > 1 for each in made)
    report(f"the leading server killed: {pause:.1f} s without a write; {begun} writes before, {len(made)} in all")
    report(f"{again} of them tried again, {sum(each.replayed for each in made)} stored by a try whose reply was lost")
    assert not writers.surprises
    assert cluster.leader is not leader
    assert _stored(cluster) == before + writers.texts() + Counter([probe.text])
    assert _hears_of_changes(bigmind)
    logs = "".join(log.read_text() for log in (bigmind.home / "logs").glob("*.log"))
    assert "Traceback" not in logs


def test_the_server_that_comes_back_follows_and_answers_reads(cluster: Cluster, bigmind: Instance) -> None:
    leader = cluster.leader
    (other,) = (node for node in cluster.nodes if node is not leader)

    other.start()

    eventually(lambda: other.is_("sync"), within=PATIENCE)
    eventually(lambda: httpx.get(f"{bigmind.url}/readyz").json()["checks"]["replica"] == {"ok": True}, within=PATIENCE)
    assert cluster.leader is leader


def _hears_of_changes(instance: Instance) -> bool:
    """Whether a stream that opens now is told of what is written now."""
    headers = {**HEADERS, "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {instance.key}"}
    with (
        httpx.Client(base_url=instance.url, headers=headers, timeout=PATIENCE) as agent,
        agent.stream("POST", "/mcp", json=LISTEN) as stream,
        client_of(instance) as other,
    ):
        lines = (line for line in stream.iter_lines() if line.startswith("data: {"))
        assert "subscriptions/acknowledged" in next(lines)
        note = {"domain": "email", "key": "rules", "content": "Heard after the failover."}
        other.put("notes/", json=note).raise_for_status()
        return '"notifications/' in next(lines)
