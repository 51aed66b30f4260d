"""BigMind while it is read only: every read goes on, every write is refused with a word on when to try again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import get_resolver, reverse
from mcp import types

from accounts.models import ApiKey, Call
from bigmind.core.errors import BigMindError, ReadOnly
from bigmind.core.operations import Effect
from bigmind.database.read_only import is_read_only
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from knowledge.models import Fact
from tests.factories import make_actor, make_key, make_user
from tests.transports.isolation import ATTEMPTS, own_everything
from tests.transports.rest_wire import Rest, problem_in

pytestmark = pytest.mark.django_db

FACT = {"fact": "The lantern is green.", "category": "decision"}
WRITES = [operation for operation in CATALOGUE.values() if operation.effect is not Effect.READ]
READS = [operation for operation in CATALOGUE.values() if operation.effect is Effect.READ]


@pytest.fixture
def _read_only(settings: Any) -> None:
    settings.READ_ONLY = True


@contextmanager
def refusing_to_write() -> Iterator[None]:
    """Let the database refuse every write, as a replica does, until the test ends."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        yield


def _refusal(operation: Any, actor: Any, arguments: dict[str, Any]) -> str:
    try:
        with transaction.atomic():
            perform(operation, actor, arguments, transport="rest")
    except BigMindError as refusal:
        return refusal.code
    except DatabaseError as error:
        return str(error)
    return ""


def test_every_operation_that_reads_goes_on_where_the_database_refuses_to_write(settings: Any) -> None:
    actor = make_actor(admin=True)
    owned = own_everything(actor)
    attempts = {operation.name: ATTEMPTS[operation.name](owned) for operation in READS}
    settings.READ_ONLY = True

    with refusing_to_write():
        answers = {
            name: {_refusal(CATALOGUE[name], actor, arguments) for arguments in each} for name, each in attempts.items()
        }

    unexpected = {name: codes - {"", "not_found", "invalid", "conflict"} for name, codes in answers.items()}
    assert {name: codes for name, codes in unexpected.items() if codes} == {}
    assert sum("" in codes for codes in answers.values()) > len(READS) * 0.8


@pytest.mark.usefixtures("_read_only")
def test_every_operation_that_writes_is_refused_before_it_is_looked_at() -> None:
    actor = make_actor(admin=True)

    refusals = {operation.name: _refusal(operation, actor, {"unknown": 1}) for operation in WRITES}

    assert {name: code for name, code in refusals.items() if code != ReadOnly.code} == {}


@pytest.mark.usefixtures("_read_only")
def test_rest_says_when_to_try_again() -> None:
    answer = Rest().post("facts/", **FACT)

    problem = problem_in(answer, 503)
    assert problem["type"].endswith("#read_only")
    assert answer["Retry-After"] == str(problem["retry_after"]) == "60"


@pytest.mark.usefixtures("_read_only")
def test_an_agent_is_told_what_still_works() -> None:
    context = RequestContext(make_actor(), frozenset({"all"}), "request")

    result = call_tool(context, types.CallToolRequestParams(name="memory_store_fact", arguments=FACT))

    assert result.is_error
    assert "Reading and searching go on" in result.content[0].text


@pytest.mark.django_db(transaction=True)
def test_rest_answers_alike_where_the_database_alone_refuses_to_write() -> None:
    """With a key and a client that nobody has seen: there would be much to note."""
    rest = Rest(client="never seen/1.0")
    refuses_to_write = {"options": "-c default_transaction_read_only=on"}
    connection.close()
    with patch.dict(connection.settings_dict["OPTIONS"], refuses_to_write):
        written, read = rest.post("facts/", **FACT), rest.get("facts/")
        found, recalled = rest.get("search/", query="lantern"), rest.get("recall/", query="Where is the lantern?")
        connection.close()

    assert problem_in(written, 503)["type"].endswith("#read_only")
    assert [answer.status_code for answer in (read, found, recalled)] == [200, 200, 200]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_refuses_writes_from_now_on_is_noticed_with_its_next_answer() -> None:
    with connection.cursor() as cursor:
        before = is_read_only()
        cursor.execute("SET default_transaction_read_only = on")
        meanwhile = is_read_only()
        cursor.execute("SET default_transaction_read_only = off")

    assert (before, meanwhile, is_read_only()) == (False, True, False)


@pytest.mark.usefixtures("_read_only")
def test_a_key_opens_without_a_note_of_its_use() -> None:
    key = make_key()

    answer = Rest(key, client="unknown/1.0").get("facts/")

    assert answer.status_code == 200
    assert ApiKey.objects.get(pk=key.key.pk).last_used_at is None
    assert not Call.objects.exists()


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(make_user("ada", role="admin"))
    return client


@pytest.mark.usefixtures("_read_only")
def test_a_form_is_refused_with_a_page_that_says_why(browser: Client) -> None:
    page = browser.post(reverse("memory-fact-new"), FACT)

    assert page.status_code == 503
    assert page["Retry-After"] == "60"
    assert "BigMind is read-only just now" in page.content.decode()
    assert not Fact.objects.exists()


@pytest.mark.usefixtures("_read_only")
def test_the_theme_can_be_chosen_all_the_same(browser: Client) -> None:
    assert browser.post(reverse("theme"), {"theme": "dark"}).status_code == 302


def test_every_page_without_an_argument_is_shown_with_a_word_above_it(browser: Client, settings: Any) -> None:
    names = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    addresses = {name: address for name in names if (address := _address(name))}
    settings.READ_ONLY = True

    with refusing_to_write():
        pages = {name: browser.get(address) for name, address in addresses.items()}

        broken = {name: page.status_code for name, page in pages.items() if page.status_code >= 500}
    shown = [page for page in pages.values() if page.status_code == 200 and b"<main" in page.content]
    assert broken == {}
    assert len(shown) > 20
    assert all("BigMind is read-only just now" in page.content.decode() for page in shown)


def _address(name: str) -> str:
    try:
        return reverse(name)
    except Exception:  # noqa: BLE001 - it needs arguments
        return ""
