"""The main navigation: short for a newcomer, longer with the role and with what there is, and never a dead end."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from knowledge.kb.entries import add_entry
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_reference

pytestmark = pytest.mark.django_db

_MORE = re.compile(r'<details class="more">.*?</details>', re.S)
_MENU = re.compile(r'<nav class="navigation" id="menu".*?</nav>', re.S)
_LINK = re.compile(r'<a href="([^"]+)"')


def _links(client: Client) -> tuple[list[str], list[str]]:
    """Return the addresses that the main list of a page shows at once, and those under “More”."""
    return _links_of(client.get("/memory/"))


def _links_of(page: Any) -> tuple[list[str], list[str]]:
    menu = _MENU.findall(page.text)[0].split('<ul class="account">')[0]
    more = "".join(_MORE.findall(menu))
    return _LINK.findall(_MORE.sub("", menu)), _LINK.findall(more)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.CURATOR, Role.ADMIN])
def test_a_newcomer_sees_seven_links_or_so_and_reaches_the_others(client: Client, settings: Any, role: str) -> None:
    settings.BIGMIND_MODE = "team"
    client.force_login(make_user("ada", role=role))

    shown, more = _links(client)

    assert 5 <= len(shown) <= 9, shown
    assert reverse("curation") in shown or role == Role.MEMBER
    assert {reverse("kb"), reverse("docs"), reverse("apps"), reverse("api-docs"), reverse("keys")} <= {*more}
    for address in more:
        page = client.get(address)
        assert page.status_code == 200, address
        assert address in _links_of(page)[0]


def test_a_link_comes_forward_when_there_is_something_behind_it(client: Client, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    actor = make_actor()
    client.force_login(actor.user)
    before, _ = _links(client)

    make_reference("helios deploy")
    add_entry(actor, entry_type="fact", content="Deploys run on weekdays until 18:00.")
    approved_entry()

    after, more = _links(client)
    assert {*after} - {*before} == {reverse("docs"), reverse("kb")}
    assert not {*after} & {*more}


def test_on_a_phone_curators_have_the_queue_where_others_have_company_knowledge(client: Client) -> None:
    bars = []
    for role in (Role.MEMBER, Role.CURATOR):
        client.force_login(make_user(role=role))
        page = client.get(reverse("memory")).content.decode()
        bars.append(_LINK.findall(page[page.index('<nav class="quick"') :])[:4])

    home, memory = reverse("home"), reverse("memory")
    assert bars[0] == [home, f"{home}#id_query", memory, reverse("company")]
    assert bars[1] == [home, f"{home}#id_query", memory, reverse("curation")]


def test_a_page_that_stays_open_learns_what_waits_in_the_words_of_the_navigation(client: Client, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    client.force_login(make_user(role=Role.CURATOR))
    assert client.get(reverse("counts")).json() == {"counts": {}}

    propose()

    assert client.get(reverse("counts")).json() == {"counts": {reverse("curation"): "1 waiting"}}
    assert "<small>1 waiting</small>" in client.get(reverse("memory")).text
    client.logout()
    assert client.get(reverse("counts")).status_code == 302
