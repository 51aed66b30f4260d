"""T10: the life of keys: nothing is lost in rotations, one look-up finds one of many, what has ended opens nothing."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.authentication import authenticate_key
from accounts.keys import digest_of, new_key_text, revoke_key, rotate_key
from accounts.models import ApiKey
from tests.factories import make_actor, make_key, make_user
from tests.serving import Served, serving
from tests.torture.scale import KEYS, REFUSED_WITHIN, ROTATIONS
from tests.transports.isolation import own_everything
from tests.transports.rest_wire import Rest

pytestmark = pytest.mark.torture


@pytest.mark.django_db
def test_a_memory_is_the_same_after_a_hundred_rotations(report: Callable[[str], None]) -> None:
    owner = make_actor()
    own_everything(owner)
    key = make_key(owner.user)
    before, first = _exported(key), key

    for _ in range(ROTATIONS):
        key = rotate_key(key.key, overlap=timedelta())

    assert _exported(key) == before
    assert Rest(first).get("export/").status_code == 401
    report(f"{ROTATIONS} rotations: the export is the same, and the first key opens nothing")


@pytest.mark.django_db
def test_among_ten_thousand_keys_one_is_found_by_one_look_up_in_the_index(report: Callable[[str], None]) -> None:
    user = make_user()
    ApiKey.objects.bulk_create(_some_key(user) for _ in range(KEYS))
    wanted = make_key(user)
    authenticate_key(wanted.text)  # its first use is noted
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_apikey")

    with CaptureQueriesContext(
        connection,
    ) as asked:
        actor = authenticate_key(wanted.text)

    assert actor.key == wanted.key
    assert len(asked) == 1, [query["sql"] for query in asked]
    plan = ApiKey.objects.select_related("user").filter(digest=digest_of(wanted.text)).explain()
    assert "Seq Scan on accounts_apikey" not in plan
    assert "Index Scan" in plan
    report(f"{ApiKey.objects.count()} keys: one statement, by the index of the digests")


@pytest.fixture
def two(transactional_db: None, tmp_path: Path) -> Iterator[list[Served]]:
    """Two processes that serve the same BigMind."""
    with ExitStack() as running:
        yield [running.enter_context(serving(tmp_path / f"log-{n}.txt"))[0] for n in range(2)]


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_a_key_that_has_ended_is_refused_by_every_process_within_a_second(
    two: list[Served], ending: str, report: Callable[[str], None]
) -> None:
    made = make_key()
    doors = [(f"{served.url}/api/v1/facts/", served.mcp) for served in two]
    assert {_status(rest, made.text) for rest, _ in doors} == {200}

    if ending == "revoked":
        revoke_key(made.key)
    else:
        ApiKey.objects.filter(pk=made.key.pk).update(expires_at=timezone.now())
    begun = time.monotonic()
    went_in = [address for pair in doors for address in pair]
    while went_in and time.monotonic() - begun <= REFUSED_WITHIN:
        went_in = [address for address in went_in if _status(address, made.text) != 401]

    report(f"{ending}: refused by two processes over REST and MCP, {1000 * (time.monotonic() - begun):.0f} ms for all")
    assert {_status(address, made.text) for pair in doors for address in pair} == {401}


def _exported(key: Any) -> dict[str, Any]:
    answer = Rest(key).get("export/")
    assert answer.status_code == 200
    return {part: said for part, said in answer.json().items() if part != "exported_at"}


def _some_key(user: Any) -> ApiKey:
    text = new_key_text()
    return ApiKey(user=user, prefix=text[:12], digest=digest_of(text), scopes=["read"])


def _status(address: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    if address.endswith("/mcp"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        return httpx.post(address, json=body, headers=headers, timeout=20).status_code
    return httpx.get(address, headers=headers, timeout=20).status_code
