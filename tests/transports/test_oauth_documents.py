"""Apps that introduce themselves by a document at an address of their own, which BigMind fetches with care."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.core.cache import cache

from accounts.models import ApiKey, ConnectedApp
from accounts.oauth import client_documents
from accounts.oauth.client_documents import FETCHES_PER_MINUTE, is_document_address, must_be_read, read_document
from accounts.oauth.connected_apps import keep_document
from bigmind.core.errors import Invalid, TooMany
from tests.copies import serving_copy
from tests.factories import make_user
from tests.serving import Served
from tests.transports.documents import Site, site
from tests.transports.oauth_wire import REDIRECT, App, Browser
from tests.transports.test_oauth_python_client import Person, store

HERE = "192.0.2.7"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def documented(tmp_path: Path, settings: Any) -> Iterator[Site]:
    """The site of an app, which may be asked."""
    with site(tmp_path, REDIRECT) as found:
        settings.OAUTH_DOCUMENTS = found.trusted
        yield found


@pytest.fixture
def served_with_site(transactional_db: None, tmp_path: Path) -> Iterator[tuple[Served, Site]]:
    """A server of its own, that may ask the site of an app."""
    with site(tmp_path, REDIRECT) as found:
        settings = "tests.transports.document_settings"
        variables = {"DJANGO_SETTINGS_MODULE": settings, "DOCUMENTS_CERTIFICATE": str(found.certificate)}
        with serving_copy(tmp_path / "log.txt", **variables) as (served, _):
            yield served, found


def test_the_official_client_is_let_in_by_its_document_and_registers_nothing(
    served_with_site: tuple[Served, Site],
) -> None:
    served, found = served_with_site
    user = make_user("ada")
    person = Person(Browser(served, user), document=found.url)

    tools = anyio.run(store, person, "Prefers tabs.")

    assert "memory_start_session" in tools
    app = ConnectedApp.objects.get()
    assert (app.client_id, app.name) == (found.url, "Documented app")
    assert ApiKey.objects.get(user=user).app == app
    assert found.asked == 1


def test_a_document_that_cannot_be_read_is_told_to_who_opened_the_page(
    served_with_site: tuple[Served, Site],
) -> None:
    served, found = served_with_site
    found.status = 404

    answer = App(served, client_id=found.url).ask()

    assert answer.status_code == 400
    assert "answers with 404" in answer.json()["error_description"]
    assert not ConnectedApp.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/app.json", "https://localhost/app.json", "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.7/app.json", "https://[::1]/app.json", "https://2130706433/app.json",
    ],
)  # fmt: skip
def test_a_document_in_a_private_network_is_not_fetched(address: str) -> None:
    with pytest.raises(Invalid, match="private network"):
        read_document(address)


@pytest.mark.parametrize(
    "client_id",
    [
        "http://chat.example/app.json",
        "https://chat.example",
        "https://chat.example/",
        "https://chat.example/app.json#part",
        "https://user@chat.example/app.json",
        "https://chat.example/../app.json",
        "https://chat.example:99999/app.json",
        "https:///app.json",
        "https://chat.example/" + "a" * 500,
        "d2f1c0aa-8a1c-4b1e-9c55-0f6f9a4a6a01",
    ],
)
def test_what_is_no_address_of_a_document_is_not_taken_for_one(client_id: str) -> None:
    assert not is_document_address(client_id)


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ({"client_id": "https://other.example/app.json"}, "another client_id"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "none"),
        ({"client_secret": "hush"}, "secret"),
        ({"redirect_uris": REDIRECT}, "redirect_uris"),
        ({"redirect_uris": [7]}, "redirect_uris"),
        ({"client_name": 7}, "client_name"),
    ],
)
def test_a_document_is_refused_that_says(documented: Site, said: dict[str, Any], because: str) -> None:
    documented.document |= said

    with pytest.raises(Invalid, match=because):
        read_document(documented.url)


@pytest.mark.parametrize(
    ("status", "body", "because"),
    [
        (200, b"<html>", "no JSON"),
        (200, b"[]", "no JSON object"),
        (200, b"[" * 10_000, "no JSON"),
        (200, b" " * 10_241, "more than 10,240 bytes"),
        (302, b"", "answers with 302"),
        (500, b"", "answers with 500"),
    ],
)
def test_an_answer_is_refused_that_is_no_document(documented: Site, status: int, body: bytes, because: str) -> None:
    documented.status, documented.document = status, body
    documented.headers = {"Location": "https://localhost/elsewhere"} if status == 302 else {}

    with pytest.raises(Invalid, match=because):
        read_document(documented.url)


def test_a_document_that_comes_slowly_is_not_waited_for(documented: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_documents, "DOCUMENT_SECONDS", 0.5)
    documented.document, documented.pause = b" " * 9000, 0.2

    with pytest.raises(Invalid, match="for more than"):
        read_document(documented.url)


def test_a_certificate_that_nobody_vouches_for_is_refused(documented: Site, settings: Any) -> None:
    settings.OAUTH_DOCUMENTS = {"may_be_private": True, "verify": True}

    with pytest.raises(Invalid, match="does not answer"):
        read_document(documented.url)


def test_what_could_not_be_read_is_not_asked_for_again_at_once(documented: Site) -> None:
    documented.status = 500
    for _ in range(2):
        with pytest.raises(Invalid):
            read_document(documented.url)

    assert documented.asked == 1


@pytest.mark.django_db
def test_a_document_is_read_again_after_an_hour(documented: Site) -> None:
    said = read_document(documented.url)
    before = must_be_read(documented.url, address=HERE)

    app = keep_document(documented.url, name=said.name, redirect_uris=said.redirect_uris, address=HERE)
    after = must_be_read(documented.url, address=HERE)
    app.read_at -= client_documents.READ_AGAIN_AFTER
    app.save()

    assert (before, after) == (True, False)
    assert must_be_read(documented.url, address=HERE)


@pytest.mark.django_db
def test_one_address_cannot_make_us_fetch_without_end() -> None:
    for number in range(FETCHES_PER_MINUTE):
        must_be_read(f"https://chat.example/{number}", address=HERE)

    with pytest.raises(TooMany):
        must_be_read("https://chat.example/more", address=HERE)
