"""What a client hears that listens: changes of its own user, as far as its key permits, and for as long."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.keys import NewKey, revoke_key
from accounts.models import ApiKey, User
from accounts.people.users import link_key, unlink_key
from tests.copies import serving_copy
from tests.curation.factories import propose
from tests.factories import make_key, make_user
from tests.serving import Served, eventually
from tests.transports.mcp_wire import STATELESS_REVISION, Wire, envelope

CONTEXT, EMAIL = "bigmind://context", "bigmind://notes/email"
WANTED = {"resourcesListChanged": True, "resourceSubscriptions": [CONTEXT, EMAIL]}
LISTEN = {
    "jsonrpc": "2.0",
    "id": "l1",
    "method": "subscriptions/listen",
    "params": {"_meta": envelope(STATELESS_REVISION), "notifications": WANTED},
}
HEADERS = {"MCP-Protocol-Version": STATELESS_REVISION, "Mcp-Method": "subscriptions/listen"}
Messages = Iterator[dict[str, Any]]


@contextmanager
def listening(served: Served, key: NewKey) -> Iterator[Messages]:
    """Open a stream and yield what it says after the acknowledgement."""
    wire = Wire(served, key.text)
    with wire.http.stream("POST", "/mcp", json=LISTEN, headers=HEADERS) as response:
        lines = response.iter_lines()
        messages = (json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data: {"))
        assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
        yield messages


def set_note(served: Served, key: NewKey) -> None:
    Wire(served, key.text).call("knowledge_set", {"domain": "email", "key": "rules", "content": "Be brief."})


class Heard(list[str]):
    """What a stream says from now on."""

    def __init__(self, messages: Messages, key: NewKey) -> None:
        super().__init__()
        self._key = key
        self._thread = Thread(target=self._hear, args=[messages])
        self._thread.start()

    def _hear(self, messages: Messages) -> None:
        self.extend(message["params"].get("uri", "list") for message in messages if "method" in message)

    def is_in_all(self, *said: str) -> bool:
        """Whether it says just this, before its key ends."""
        eventually(lambda: len(self) >= len(said), within=30)
        time.sleep(0.1)
        revoke_key(self._key.key)
        self._thread.join()
        return self == list(said)


def deactivate(key: ApiKey) -> None:
    User.objects.filter(keys=key).update(is_active=False)


def hand_over(key: ApiKey) -> None:
    link_key(make_user(), unlink_key(key))


def forbid_reading(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(scopes=["write"])


@pytest.mark.parametrize("shut", [revoke_key, unlink_key, deactivate, hand_over, forbid_reading])
def test_a_stream_ends_within_a_second_of_its_key(served: Served, shut: Callable[[ApiKey], object]) -> None:
    key = make_key()

    with listening(served, key) as messages:
        shut(key.key)
        shut_at = time.monotonic()
        said = list(messages)

    assert [message["id"] for message in said] == ["l1"]
    assert "result" in said[0]
    assert time.monotonic() - shut_at < 1


def test_a_stream_goes_on_while_its_key_is_good(served: Served) -> None:
    user = make_user()
    key, writer, stranger = make_key(user), make_key(user), make_key()

    with listening(served, key) as messages:
        time.sleep(1.2)
        set_note(served, stranger)
        set_note(served, writer)

        assert Heard(messages, key).is_in_all(CONTEXT, "list", EMAIL)


def by_rest(served: Served, user: User, _: Client) -> None:
    headers = {"Authorization": f"Bearer {make_key(user).text}"}
    note = {"domain": "email", "key": "rules", "content": "Be brief."}
    assert httpx.put(f"{served.url}/api/v1/notes/", json=note, headers=headers).is_success


def by_a_page(_: Served, user: User, client: Client) -> None:
    client.force_login(user)
    said = {"domain": "email", "key": "rules", "content": "Be brief."}
    assert client.post(reverse("memory-note-new"), said).status_code == 302


def by_a_command(_: Served, user: User, __: Client) -> None:
    note = ["domain=email", "key=rules", "content=Be brief."]
    call_command("op", "knowledge_set", *note, user=user.username)


@pytest.mark.parametrize("change", [by_rest, by_a_page, by_a_command])
def test_what_changes_elsewhere_is_heard(
    served: Served, client: Client, change: Callable[[Served, User, Client], None]
) -> None:
    user = make_user()
    key = make_key(user)

    with listening(served, key) as messages:
        change(served, user, client)

        assert Heard(messages, key).is_in_all(CONTEXT, "list", EMAIL)


def test_what_another_process_stores_is_heard(served: Served, tmp_path: Path) -> None:
    user = make_user()
    key, writer = make_key(user), make_key(user)

    with serving_copy(tmp_path / "log.txt") as (other, _), listening(served, key) as messages:
        set_note(other, writer)

        assert Heard(messages, key).is_in_all(CONTEXT, "list", EMAIL)


@pytest.mark.parametrize("by_page", [True, False])
def test_everybody_hears_of_what_a_curator_decides(served: Served, client: Client, by_page: bool) -> None:
    entry, key, curator = propose(), make_key(), make_user(role="curator")
    said = {"revision": entry.revision, "notes": "No longer so."}
    client.force_login(curator)

    with listening(served, key) as messages:
        if by_page:
            answer = client.post(reverse("curation-decide", args=[entry.pk]), {"decision": "deprecate", **said})
            assert answer.status_code == 302
        else:
            wire = Wire(served, make_key(curator, scopes=["read", "write", "curate"]).text)
            decision = {"entry_id": entry.pk, "action": "deprecate", **said}
            assert not wire.call("memory_approve_global", decision)["isError"]

        assert Heard(messages, key).is_in_all(CONTEXT)


def test_who_listens_goes_on_when_the_database_ended_the_connection(served: Served) -> None:
    user = make_user()
    key, writer = make_key(user), make_key(user)

    with listening(served, key) as messages:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )
        heard, everything = Heard(messages, key), [CONTEXT, "list", EMAIL]
        assert eventually(lambda: heard == everything, within=30), "Nobody knows what was missed."
        set_note(served, writer)

        assert heard.is_in_all(*everything, *everything)


@pytest.mark.parametrize(("toolsets", "heard"), [(["core"], [CONTEXT]), (["notes"], ["list", EMAIL])])
def test_a_key_hears_only_of_what_it_may_read(served: Served, toolsets: list[str], heard: list[str]) -> None:
    user = make_user()
    key, writer = make_key(user, toolsets=toolsets), make_key(user)

    with listening(served, key) as messages:
        set_note(served, writer)

        assert Heard(messages, key).is_in_all(*heard)


def test_who_may_not_read_may_not_listen(served: Served) -> None:
    wire = Wire(served, make_key(scopes=["write"]).text)

    response = wire.http.post("/mcp", json=LISTEN, headers=HEADERS)

    assert "This key may not read." in response.text


def test_a_user_has_so_many_streams_and_no_more(served: Served) -> None:
    key = make_key()
    wire = Wire(served, key.text)

    streams = [listening(served, key) for _ in range(32)]
    for stream in streams:
        stream.__enter__()
    refused = wire.http.post("/mcp", json=LISTEN, headers=HEADERS)
    for stream in streams:
        stream.__exit__(None, None, None)

    assert "You have 32 open streams" in refused.text
