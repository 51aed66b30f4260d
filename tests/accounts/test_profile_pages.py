"""A person's page: who they are, who acts for them, what they know; and what of it others see."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Role, Sharing, User
from accounts.people.profiles import update_profile
from accounts.services.agents import note_agent
from bigmind.environment.profile_sections import ProfileSection
from knowledge.memory.upkeep import get_profile_url
from knowledge.models import Session
from knowledge.people.people_index import change_sharing
from tests.curation.factories import approved_entry
from tests.factories import browser_of, make_agent, make_user
from tests.knowledge.factories import make_session


@pytest.fixture(autouse=True)
def team(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"


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


def full_of_secrets() -> Actor:
    """Somebody with something in each section of their page."""
    grace = make_agent(make_user("grace"), "codex", host="secret-host")
    update_profile(grace, role="Rear admiral", preferences="Tea at five.")
    make_session(grace, one_liner="Zanzibar headline", topics=["zanzibar-topic"])
    return grace


def share_all(actor: Actor) -> None:
    change_sharing(actor, sections=list(ProfileSection), in_directory=True, session_ids=[])


def keep_all_to_oneself(user: User) -> None:
    change_sharing(Actor.of(user), sections=[], in_directory=True, session_ids=[])


def own_page(browser: Client) -> Any:
    return browser.get(reverse("profile", args=["ada"]))


def test_who_shares_nothing_answers_like_one_that_does_not_exist(browser: Client) -> None:
    keep_all_to_oneself(make_user("grace"))

    theirs, nobodys = browser.get("/u/grace/"), browser.get("/u/nobody/")

    assert theirs.status_code == nobodys.status_code == 404
    assert without_ids(theirs.text.replace("grace", "nobody")) == without_ids(nobodys.text)


def test_even_an_admin_sees_no_more_than_is_shared(client: Client, ada: User) -> None:
    keep_all_to_oneself(ada)
    client.force_login(make_user("root", role=Role.ADMIN))

    assert client.get("/u/ada/").status_code == 404


@pytest.mark.parametrize("mode", ["personal", "enterprise"])
def test_in_other_modes_than_a_team_nothing_is_shared_unless_chosen(browser: Client, settings: Any, mode: str) -> None:
    settings.BIGMIND_MODE = mode
    make_user("grace")

    assert browser.get("/u/grace/").status_code == 404


def test_in_personal_mode_not_even_what_was_chosen_is_shown(browser: Client, settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    share_all(full_of_secrets())

    assert browser.get("/u/grace/").status_code == 404


def test_a_team_sees_who_somebody_is_and_what_they_contributed_by_default(browser: Client) -> None:
    grace = full_of_secrets()
    entry = approved_entry(grace, title="Ships have logbooks")

    page = browser.get("/u/grace/")

    for words in ("grace", "Rear admiral", "First session", "Ships have logbooks", f"/company/{entry.pk}/"):
        assert words in page.text
    for words in ("zanzibar", "Zanzibar", "secret-host", "Tea at five", "Edit your profile", "Statistics"):
        assert words not in page.text


SIGNS = {
    ProfileSection.ROLE: "Rear admiral",
    ProfileSection.AGENTS: "secret-host",
    ProfileSection.STATISTICS: "<dt>hypotheses</dt>",
    ProfileSection.BADGES: "First session",
    ProfileSection.TOPICS: "zanzibar-topic",
    ProfileSection.ACTIVITY: "Longest streak",
    ProfileSection.CONTRIBUTIONS: "Ships have logbooks",
    ProfileSection.HEADLINES: "Zanzibar headline",
}


@pytest.mark.parametrize("section", SIGNS)
def test_each_section_is_shown_alone(browser: Client, section: ProfileSection) -> None:
    grace = full_of_secrets()
    approved_entry(grace, title="Ships have logbooks")
    session = Session.objects.get(user=grace.user)
    change_sharing(grace, sections=[ProfileSection.WHO, section], in_directory=True, session_ids=[session.pk])

    page = browser.get("/u/grace/")

    assert [shown for shown, sign in SIGNS.items() if sign in page.text] == [section]
    assert "Tea at five" not in page.text


def test_what_is_not_shown_is_not_even_read(browser: Client) -> None:
    grace = full_of_secrets()
    change_sharing(grace, sections=[ProfileSection.WHO], in_directory=True, session_ids=[])

    page = browser.get("/u/grace/").context["page"]

    assert (page.stats, page.activity, page.agents, page.topics) == (None, None, [], [])


def test_whoever_has_left_has_no_page(browser: Client) -> None:
    grace = full_of_secrets()
    share_all(grace)
    User.objects.filter(username="grace").update(is_active=False)

    assert browser.get("/u/grace/").status_code == 404


def test_somebody_sees_their_page_as_others_do(browser: Client, ada: User) -> None:
    note_agent(ada, client_name="claude-code", host="atlas")
    change_sharing(Actor.of(ada), sections=[ProfileSection.WHO], in_directory=True, session_ids=[])

    page = browser.get("/u/ada/?as=others")

    assert "as others see it" in page.text
    assert "atlas" not in page.text
    assert "Your profile, as agents see it" not in page.text


def test_the_owner_chooses_what_others_see(browser: Client, ada: User, client: Client) -> None:
    session = make_session(Actor.of(ada), one_liner="Wrote the first program", topics=["engines"])
    address = reverse("profile-sharing", args=["ada"])
    chosen = {"sections": ["who", "topics", "headlines"], "in_directory": "on", "session_ids": [str(session.pk)]}

    answer = browser.post(address, chosen, follow=True)

    assert "Saved." in answer.text
    reader = browser_of(make_user("reader"))
    page = reader.get("/u/ada/")
    assert "Wrote the first program" in page.text
    assert "engines" in page.text
    assert "First session" not in page.text


def test_the_form_shows_what_holds(browser: Client, ada: User) -> None:
    session = make_session(Actor.of(ada), one_liner="Wrote the first program")
    before = browser.get(reverse("profile-sharing", args=["ada"]))
    change_sharing(Actor.of(ada), sections=[ProfileSection.WHO], in_directory=False, session_ids=[session.pk])

    after = browser.get(reverse("profile-sharing", args=["ada"]))

    assert "You have not chosen yet" in before.text
    assert sorted(before.context["form"].initial["sections"]) == ["badges", "contributions", "role", "who"]
    assert after.context["form"].initial == {
        "sections": ["who"],
        "in_directory": False,
        "curators_see_told": False,
        "session_ids": [str(session.pk)],
    }


def test_nobody_chooses_for_somebody_else(client: Client, ada: User) -> None:
    client.force_login(make_user("root", role=Role.ADMIN))

    answer = client.post(reverse("profile-sharing", args=["ada"]), {"sections": ["who", "topics"]})

    assert answer.status_code == 404
    assert not Sharing.objects.filter(user=ada).exists()


def test_activity_is_a_table_that_says_each_day_in_words(browser: Client, ada: User) -> None:
    make_session(Actor.of(ada))

    page = own_page(browser)

    today = timezone.localdate()
    assert '<caption class="visually-hidden">Sessions, flagged exchanges and facts by day' in page.text
    assert '<th scope="colgroup"' in page.text
    assert '<th scope="row">' in page.text
    assert f"{today.day} {today:%B}: 1" in page.text
    assert "Active on 1 day of the last 26 weeks, 1 thing in all." in page.text


def test_topics_lead_to_the_sessions_about_them(browser: Client, ada: User) -> None:
    make_session(Actor.of(ada), topics=["a & b"])

    page = own_page(browser)

    address = f"{reverse('memory-sessions')}?topic=a%20%26%20b"
    assert address in page.text
    assert browser.get(address).context["page"].total == 1


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
