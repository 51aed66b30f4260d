"""The start page of one's memory: what deserves a look is named by its first words."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_session

pytestmark = pytest.mark.django_db


def test_what_deserves_a_look_is_named_by_its_first_words(client: Client) -> None:
    ada = make_actor()
    make_fact(ada, "Perhaps the ledger needs Redis.", confidence=0.1)
    make_session(ada, one_liner="Look for the lost invoices")
    client.force_login(ada.user)

    page = client.get(reverse("memory")).content.decode()

    assert ">Perhaps the ledger needs Redis.</a>" in page
    assert ">Look for the lost invoices</a>" in page
