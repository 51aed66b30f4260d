"""How much a browser loads for a page: everything on it, compressed, is little."""

import gzip
import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import make_actor
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

MOST_BYTES = 120_000
_LOADED = re.compile(r'(?:<link[^>]+href|<script[^>]+src)="(/static/[^"]+)"')
_SPRITE = re.compile(r'<use href="(/static/[^"#]+)')


def _answer(client: Client, address: str) -> bytes:
    response = client.get(address, headers={"accept-encoding": "gzip"})
    assert response.status_code == 200, address
    assert response["Content-Encoding"] == "gzip" or len(response.getvalue()) < 1_000, address
    assert "Accept-Encoding" in response["Vary"]
    return response.getvalue()


def test_a_page_with_all_that_it_loads_is_light(client: Client) -> None:
    actor = make_actor(admin=True)
    for number in range(50):
        make_fact(actor, f"Fact {number}. The tests of the ledger need Redis on port 6380, or they hang.")
    client.force_login(actor.user)

    for name in ("memory-facts", "home", "styleguide", "connect", "api-docs", "help"):
        page = _answer(client, reverse(name))
        text = gzip.decompress(page).decode()
        found = {*_LOADED.findall(text), *_SPRITE.findall(text)}
        loaded = {address: len(_answer(client, address)) for address in found}

        assert len(loaded) > 10, name
        assert len(page) + sum(loaded.values()) <= MOST_BYTES, (name, loaded)


def test_what_programs_read_is_not_compressed(client: Client) -> None:
    answer = client.get("/api/v1/openapi.json", headers={"accept-encoding": "gzip"})

    assert "Content-Encoding" not in answer
