"""The first ten minutes: a newcomer is led from a name to the first memory, and asked what colleagues may see."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pydantic import SecretStr

from accounts.connecting.offered_clients import find_clients
from accounts.models import Alert, Sharing, User
from accounts.people.sharing import asks_what_to_share
from accounts.sign_in.links import make_sign_in_link
from bigmind.environment.profile_sections import ProfileSection
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.people.directory import list_directory
from knowledge.people.expertise import search_directory
from knowledge.people.first_steps import first_steps_of
from knowledge.people.people_index import change_sharing
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact, make_session

pytestmark = pytest.mark.django_db

WELCOME = "/welcome/"


@pytest.fixture
def newcomer(settings: Any) -> User:
    settings.BIGMIND_MODE = "team"
    user = make_user("nia")
    user.set_password("a long enough password")
    user.save()
    return user


def test_a_newcomer_is_led_there_once_and_skips_it_with_one_click(client: Client, newcomer: User) -> None:
    first = client.post(reverse("sign-in-link", args=[make_sign_in_link(newcomer)]))
    skipped = client.post(WELCOME, {"do": "close"})
    client.logout()
    again = client.post(reverse("sign-in-link", args=[make_sign_in_link(newcomer)]))

    assert (first.url, skipped.url, again.url) == (WELCOME, "/", "/u/nia/sharing/?next=%2F")
    newcomer.refresh_from_db()
    assert not first_steps_of(newcomer).is_open


def test_steps_are_ticked_by_what_happened_and_by_nothing_else(client: Client, newcomer: User) -> None:
    client.force_login(newcomer)
    left = [first_steps_of(newcomer).left]

    client.post(WELCOME, {"do": "name", "name": "  Nia Adler "})
    left.append(first_steps_of(User.objects.get(pk=newcomer.pk)).left)
    agent = make_agent(User.objects.get(pk=newcomer.pk), "claude-code", host="atlas")
    waiting = client.get(WELCOME).text
    make_session(agent, project="billing")
    make_fact(agent, "I prefer small pull requests.")
    arrived = client.get(WELCOME).text
    client.post(WELCOME, {"do": "not-now"})
    left.append(first_steps_of(agent.user).left)

    assert left == [4, 3, 0]
    assert "claude-code 1.0 on atlas" in waiting
    assert "Waiting for the first memory" in waiting
    assert "I prefer small pull requests." in arrived
    assert "in billing" in arrived
    assert 'data-live=""' in arrived


def test_a_name_that_cannot_be_used_is_refused_beside_its_field(client: Client, newcomer: User) -> None:
    client.force_login(newcomer)

    refused = [client.post(WELCOME, {"do": "name", "name": name}) for name in ("", "x" * 201, "Nia\u202eAdler")]

    assert [page.status_code for page in refused] == [422, 422, 422]
    assert User.objects.get(pk=newcomer.pk).display_name == ""


def test_the_preview_is_what_colleagues_see_afterwards_and_not_now_shares_nothing(client, newcomer):
    agent = make_agent(newcomer, "claude-code")
    make_session(agent, topics=["kafka"])
    colleague = make_actor()
    client.force_login(newcomer)
    chosen = {"sections": ["who", "topics"]}

    preview = client.post(WELCOME, {"do": "preview", **chosen})
    before = Sharing.objects.filter(user=newcomer).exists()
    client.post(WELCOME, {"do": "share", **chosen})
    (card,) = [one for one in list_directory(colleague).items if one.username == "nia"]
    client.post(WELCOME, {"do": "not-now"})

    assert preview.context["card"] == card
    assert not before
    assert [topic.name for topic in card.topics] == ["kafka"]
    assert "nia" not in [one.username for one in list_directory(colleague).items]
    assert "You have chosen" in client.get(WELCOME).text


def test_not_now_shares_nothing_and_is_an_answer(client: Client, newcomer: User) -> None:
    client.force_login(newcomer)

    answer = client.post("/u/nia/sharing/?next=https://evil.example", {"do": "not-now"})

    assert answer.url == "/u/nia/"
    assert not asks_what_to_share(newcomer)
    assert "nia" not in [one.username for one in list_directory(make_actor()).items]


def test_a_curator_asks_everyone_who_has_not_chosen_once_a_month(client: Client, newcomer: User) -> None:
    curator, chosen = make_actor(curator=True), make_actor()
    change_sharing(chosen, sections=[ProfileSection.WHO], in_directory=True, session_ids=[])
    client.force_login(curator.user)

    first = client.post("/directory/", follow=True)
    second = client.post("/directory/", follow=True)
    client.force_login(newcomer)
    notices = client.get("/notices/", headers={"Accept-Language": "de"})

    assert "Everyone who has not chosen yet was asked." in first.text
    assert "Everyone was asked already." in second.text
    assert [alert.user for alert in Alert.objects.filter(kind="sharing_asked")] == [newcomer]
    assert 'href="/u/nia/sharing/?next=/"' in notices.text
    assert f"{curator.user} bittet dich zu wählen, was andere von dir sehen dürfen" in notices.text


def test_only_a_curator_asks(client: Client, newcomer: User) -> None:
    client.force_login(newcomer)

    assert client.post("/directory/").status_code == 403
    assert not Alert.objects.exists()


def test_until_somebody_shares_the_answer_says_so_and_how_to_ask(client: Client, newcomer: User) -> None:
    actor, other = make_agent(newcomer, "claude-code"), make_agent(make_user("ada"), "codex")
    make_session(other, topics=["kafka"])
    client.force_login(newcomer)
    replies = [
        perform(CATALOGUE[name], actor, arguments, transport="mcp").markdown()
        for name, arguments in (("directory_list", {}), ("directory_search", {"query": "who worked on kafka?"}))
    ]
    page = client.get("/directory/?query=kafka").text
    change_sharing(other, sections=[ProfileSection.WHO, ProfileSection.TOPICS], in_directory=True, session_ids=[])
    after = [list_directory(actor).notice, search_directory(actor, query="who worked on kafka?").notice]

    for reply in replies:
        assert "No colleague shares what they work on yet" in reply
        assert "/u/NAME/sharing/" in reply
    assert "No colleague shares what they work on yet" in page
    assert "No colleague" not in " ".join(after)
    assert "No colleague" not in client.get("/directory/").text


def test_the_page_of_what_others_see_has_the_same_preview_and_saves_nothing_by_it(client, newcomer):
    client.force_login(newcomer)
    address = reverse("profile-sharing", args=["nia"])

    shown = client.post(address, {"do": "preview", "sections": ["who"], "in_directory": "on"})
    hidden = client.post(address, {"do": "preview", "sections": ["who"]})

    assert shown.context["card"].username == "nia"
    assert hidden.context["card"] is None
    assert not Sharing.objects.filter(user=newcomer).exists()


def test_clients_are_detected_only_where_the_browser_is_surely_on_this_machine(tmp_path, monkeypatch, settings):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".claude.json").write_text("{}")
    (tmp_path / ".codex").mkdir()
    settings.PUBLIC_URL = "https://mind.example.com"
    elsewhere = find_clients()
    settings.PUBLIC_URL = "http://localhost:7700"
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"mode": "personal", "database_url": SecretStr("")})

    here = [client.slug for client in find_clients()]

    assert elsewhere == []
    assert here == ["claude-code", "codex"]
