"""T8 over MCP: what all agents call at once has one effect, and the losers are told."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.embedded.instance import Instance
from tests.torture.contenders import all_at_once, key_of_curator
from tests.torture.scale import CONTENDERS, PATIENCE
from tests.torture.writes import findable_texts, query, stored_texts
from tests.transports.mcp_wire import Wire

pytestmark = pytest.mark.torture


@pytest.fixture
def agent(bigmind: Instance) -> Iterator[Wire]:
    yield from _connected(bigmind, bigmind.key)


@pytest.fixture
def curator(bigmind: Instance) -> Iterator[Wire]:
    yield from _connected(bigmind, key_of_curator(bigmind))


def test_the_same_fact_stored_by_all_at_once_is_stored_once(bigmind: Instance, agent: Wire) -> None:
    fact = {"fact": "Every agent knows this one.", "category": "identity"}

    results = all_at_once(lambda _: agent.call("memory_store_fact", fact))

    replies = [result["structuredContent"] for result in results]
    assert Counter(reply["duplicate"] for reply in replies) == {False: 1, True: CONTENDERS - 1}
    assert len({reply["fact"]["id"] for reply in replies}) == 1
    assert stored_texts(bigmind.home)[fact["fact"]] == findable_texts(bigmind.home)[fact["fact"]] == 1


def test_one_call_tried_by_all_at_once_has_one_effect(bigmind: Instance, agent: Wire) -> None:
    belief = {"hypothesis": "I believe that every agent tries this one."}

    results = all_at_once(lambda _: agent.call("memory_add_hypothesis", belief, idempotencyKey="the same"))

    assert Counter(result["_meta"].get("replayed", False) for result in results) == {False: 1, True: CONTENDERS - 1}
    assert stored_texts(bigmind.home)[belief["hypothesis"]] == 1


def test_a_note_set_by_all_at_once_is_one_note_with_the_words_of_one_of_them(bigmind: Instance, agent: Wire) -> None:
    note = {"domain": "torture", "key": "set over MCP"}

    results = all_at_once(lambda n: agent.call("knowledge_set", {**note, "content": f"Words of {n}."}))

    assert _refusals(results) == []
    ((content,),) = query(bigmind.home, "SELECT content FROM knowledge_note WHERE key = %s", note["key"])
    assert content in {f"Words of {n}." for n in range(CONTENDERS)}
    assert findable_texts(bigmind.home)[f"torture set over MCP\n\n{content}"] == 1


def test_an_entry_decided_by_all_at_once_is_decided_by_one_and_the_others_are_told(
    bigmind: Instance, agent: Wire, curator: Wire
) -> None:
    said = {"category": "pattern", "title": "To verify", "content": "Retry with a growing pause."}
    entry = agent.call("memory_promote_to_global", said)["structuredContent"]["entry"]
    decision = {"entry_id": entry["id"], "action": "verify", "revision": entry["revision"]}

    results = all_at_once(lambda _: curator.call("memory_approve_global", decision))

    told = _refusals(results)
    assert len(told) == CONTENDERS - 1
    assert {refusal["code"] for refusal in told} == {"conflict"}
    steps = "SELECT 1 FROM curation_review WHERE entry_id = %s AND action = %s"
    assert len(query(bigmind.home, steps, entry["id"], "verify")) == 1


def _connected(instance: Instance, key: str) -> Iterator[Wire]:
    wire = Wire(instance, key, path="/mcp?structured=full", timeout=PATIENCE, connections=None)
    with wire.http:
        yield wire


def _refusals(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Why calls were refused. A fault of ours has no reason, and fails here."""
    return [result["_meta"]["error"] for result in results if result.get("isError")]
