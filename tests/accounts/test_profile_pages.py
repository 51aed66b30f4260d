"""A person's own page: who they are, who acts for them, how much is remembered."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.actor import Actor
from accounts.models import Role, User
from accounts.services.agents import note_agent
from accounts.services.profiles import update_profile
from knowledge.services.facts import store_fact
from knowledge.services.upkeep import get_profile_url
from tests.factories import make_actor, make_user


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada", display_name="Ada Lovelace", role=Role.CURATOR)


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def without_ids(page: str) -> str:
    """A page without what differs from one request to the next."""
    return re.sub(r'value="\w{64}"|<code>\w{16}</code>', "", page)


def own_page(browser: Client) -> Any:
    return browser.get(reverse("profile", args=["ada"]))


def test_the_page_says_who_somebody_is(browser: Client, ada: User) -> None:
    update_profile(Actor.of(ada), role="Analyst", preferences="Poetical <science>", pinned_facts=["Knows Babbage."])

    page = own_page(browser)

    for words in ("Ada Lovelace", "curator", "here since", "Analyst", "Poetical &lt;science&gt;", "Knows Babbage."):
        assert words in page.text
    assert reverse("memory-profile") in page.text


def test_it_lists_the_agents_that_act_for_somebody(browser: Client, ada: User) -> None:
    note_agent(ada, client_name="claude-code", client_version="2.4", host="atlas")
    note_agent(make_user("grace"), client_name="codex", host="secret-host")

    page = own_page(browser)

    assert "claude-code 2.4" in page.text
    assert "atlas" in page.text
    assert "secret-host" not in page.text


def test_it_counts_what_is_remembered_of_this_person_alone(browser: Client, ada: User) -> None:
    for actor, fact in ((Actor.of(ada), "One."), (Actor.of(ada), "Two."), (make_actor(), "Not hers.")):
        store_fact(actor, category="decision", fact=fact)

    page = own_page(browser)

    assert page.context["stats"].facts == 2
    assert "Not hers." not in page.text


def test_another_person_answers_like_one_that_does_not_exist(browser: Client) -> None:
    make_user("grace")

    theirs, nobodys = browser.get("/u/grace/"), browser.get("/u/nobody/")

    assert theirs.status_code == nobodys.status_code == 404
    assert without_ids(theirs.text.replace("grace", "nobody")) == without_ids(nobodys.text)


def test_even_an_admin_sees_only_their_own(client: Client, ada: User) -> None:
    client.force_login(make_user("root", role=Role.ADMIN))

    assert client.get("/u/ada/").status_code == 404


def test_strangers_are_asked_to_sign_in_whoever_is_meant(client: Client, ada: User) -> None:
    somebodys, nobodys = client.get("/u/ada/"), client.get("/u/nobody/")

    assert somebodys["Location"] == "/sign-in/?next=/u/ada/"
    assert nobodys["Location"] == "/sign-in/?next=/u/nobody/"


@pytest.mark.parametrize("username", ["ada@example.com", "a+b.c-d", "ångström"])
def test_the_address_that_agents_are_told_leads_here(client: Client, db: None, settings: Any, username: str) -> None:
    actor = Actor.of(make_user(username))
    client.force_login(actor.user)

    page = client.get(get_profile_url(actor).url.removeprefix(settings.PUBLIC_URL))

    assert page.status_code == 200
    assert username in page.text


def test_without_a_profile_or_agents_it_says_what_to_do(browser: Client) -> None:
    page = own_page(browser)

    assert "Nothing yet." in page.text
    assert "No agent has called yet" in page.text
    assert reverse("connect") in page.text
