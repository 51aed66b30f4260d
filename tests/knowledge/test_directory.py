"""The directory: who is here and who worked on what, as far as each person shares it, and not one word further."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Agent, Sharing, User
from accounts.people.profiles import update_profile
from bigmind.environment.profile_sections import ProfileSection
from knowledge.context.sessions import correct_session, erase_session
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.archive import restore, set_aside
from knowledge.models import Kind, Passage, Session
from knowledge.people.directory import list_directory
from knowledge.people.expertise import search_directory
from knowledge.people.people_index import change_sharing, index_people
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

ALL = list(ProfileSection)


@pytest.fixture
def ada() -> Actor:
    return make_agent(make_user("ada", display_name="Ada Lovelace"), "claude-code", host="atlas")


@pytest.fixture
def reader() -> Actor:
    return make_actor(make_user("reader"))


def share(actor: Actor, *sections: ProfileSection, headlines: Any = (), listed: bool = True) -> None:
    chosen = [ProfileSection.WHO, *sections]
    change_sharing(actor, sections=chosen, in_directory=listed, session_ids=[one.pk for one in headlines])


def worked_on(actor: Actor, headline: str, *topics: str) -> Session:
    return make_session(actor, one_liner=headline, topics=list(topics))


def found(reader: Actor, query: str) -> list[str]:
    return [one.username for one in search_directory(reader, query=query).items]


def listed(reader: Actor) -> dict[str, Any]:
    return {person.username: person for person in list_directory(reader, limit=200).items}


def test_a_card_has_what_is_shared_by_default_and_nothing_else(ada: Actor, reader: Actor) -> None:
    update_profile(ada, role="Analyst", preferences="Tea at five.")
    worked_on(ada, "Payments moved", "payments")
    approved_entry(ada)

    card = listed(reader)["ada"]

    assert (card.name, card.role, card.job_title, card.contributions) == ("Ada Lovelace", "member", "Analyst", 1)
    assert card.topics == card.agents == []


def test_nobody_is_named_who_is_merely_nearest_in_meaning(ada: Actor, reader: Actor, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "builtin"
    worked_on(ada, "Payments moved", "payments", "postgres")
    share(ada, ProfileSection.TOPICS)
    embed_pending()

    assert found(reader, "who moved the payments to another database?") == ["ada"]
    assert found(reader, "french cooking recipes") == []


def test_a_card_has_the_agents_and_topics_that_somebody_shares(ada: Actor, reader: Actor) -> None:
    worked_on(ada, "Payments moved", "payments", "postgres")
    share(ada, ProfileSection.AGENTS, ProfileSection.TOPICS)

    card = listed(reader)["ada"]

    assert [(agent.client_name, agent.host) for agent in card.agents] == [("claude-code", "atlas")]
    assert [(topic.name, topic.sessions) for topic in card.topics] == [("payments", 1), ("postgres", 1)]
    assert (card.job_title, card.contributions) == ("", None)


def test_in_enterprise_mode_nobody_is_listed_who_did_not_choose_to_be(ada: Actor, reader: Actor, settings: Any) -> None:
    settings.BIGMIND_MODE = "enterprise"
    before = listed(reader)
    share(ada)

    after = listed(reader)

    assert (list(before), list(after)) == ([], ["ada"])


def test_the_default_of_the_instance_is_configured(ada: Actor, reader: Actor, settings: Any) -> None:
    settings.PROFILE_SECTIONS = ("who", "topics")
    worked_on(ada, "Payments moved", "payments")

    assert [topic.name for topic in listed(reader)["ada"].topics] == ["payments"]
    settings.PROFILE_SECTIONS = ()
    assert listed(reader) == {}


def test_in_personal_mode_it_shows_oneself_alone(ada: Actor, reader: Actor, settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    worked_on(ada, "Payments moved", "payments")

    assert list(listed(ada)) == ["ada"]
    assert list(listed(reader)) == ["reader"]
    assert found(ada, "payments") == ["ada"]
    assert found(reader, "payments") == []


def test_whoever_has_left_and_who_does_not_share_who_they_are_is_not_listed(ada, reader):
    grace = make_actor(make_user("grace"))
    worked_on(ada, "Payments moved", "payments")
    worked_on(grace, "Payments moved", "payments")
    share(ada, *ALL)
    change_sharing(grace, sections=[ProfileSection.TOPICS], in_directory=True, session_ids=[])
    before = found(reader, "payments")

    User.objects.filter(username="ada").update(is_active=False)

    assert before == ["ada"]
    assert list(listed(reader)) == ["reader"]
    assert found(reader, "payments") == []


def test_somebody_is_found_by_a_topic_a_headline_and_a_contribution_and_the_answer_says_which(ada, reader):
    grace, linus = make_actor(make_user("grace")), make_actor(make_user("linus"))
    worked_on(ada, "Nothing to see", "payments")
    share(ada, ProfileSection.TOPICS)
    share(grace, ProfileSection.HEADLINES, headlines=[worked_on(grace, "Moved payments to a queue")])
    entry = approved_entry(linus, title="Payments are idempotent", content="Every payment carries a key.")

    experts = search_directory(reader, query="Who worked on payments?")

    reasons = {one.username: (one.reasons[0].kind, one.reasons[0].text) for one in experts.items}
    assert reasons == {
        "ada": ("topic", "payments"),
        "grace": ("headline", "Moved payments to a queue"),
        "linus": ("entry", "Payments are idempotent"),
    }
    assert next(one for one in experts.items if one.username == "linus").reasons[0].entry_id == entry.pk
    assert all("payment" in one.reasons[0].matched[0] for one in experts.items)


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param((), id="nothing shared"),
        pytest.param((ProfileSection.HEADLINES,), id="headlines shared, none chosen"),
        pytest.param(
            (ProfileSection.STATISTICS, ProfileSection.ACTIVITY, ProfileSection.AGENTS, ProfileSection.BADGES),
            id="all but topics",
        ),
    ],
)
def test_what_is_not_shared_finds_nobody(ada: Actor, reader: Actor, hidden: tuple[ProfileSection, ...]) -> None:
    worked_on(ada, "Zanzibar headline", "zanzibar")
    approved_entry(ada, title="Zanzibar rule", content="Zanzibar is far.")
    share(ada, *hidden)
    embed_pending()

    page = list_directory(reader, topic="zanzibar")

    assert found(reader, "zanzibar") == []
    assert page.items == []
    assert list_directory(reader).topics == []
    assert not Passage.objects.filter(kind=Kind.PERSON).exists()


def test_opting_out_holds_from_the_next_answer_on(ada: Actor, reader: Actor) -> None:
    session = worked_on(ada, "Payments moved", "payments")
    approved_entry(ada, title="Payments are idempotent", content="Every payment carries a key.")
    share(ada, *ALL, headlines=[session])
    before = list_directory(reader)
    assert found(reader, "payments") == ["ada"]

    share(ada, *ALL, headlines=[session], listed=False)

    page = list_directory(reader)
    assert found(reader, "payments") == []
    assert "ada" not in [person.username for person in page.items]
    assert page.topics == []
    assert (page.figures.sessions, page.figures.contributions) == (0, 0)
    assert page.figures.people == before.figures.people - 1
    assert not Passage.objects.filter(kind=Kind.PERSON).exists()


def test_a_choice_made_past_the_service_holds_before_any_index_is_made_anew(ada: Actor, reader: Actor) -> None:
    worked_on(ada, "Payments moved", "payments")
    share(ada, ProfileSection.TOPICS)

    Sharing.objects.filter(user=ada.user).update(sections=["who", "headlines"])

    assert Passage.objects.filter(kind=Kind.PERSON).exists()
    assert found(reader, "payments") == []


def test_a_session_set_aside_or_erased_finds_nobody(ada: Actor, reader: Actor) -> None:
    session = worked_on(ada, "Payments moved", "payments")
    share(ada, ProfileSection.TOPICS, ProfileSection.HEADLINES, headlines=[session])
    answers = []

    set_aside(ada, kind="session", id=str(session.pk))
    answers.append(found(reader, "payments"))
    restore(ada, kind="session", id=str(session.pk))
    answers.append(found(reader, "payments"))
    erase_session(ada, session_id=str(session.pk))
    answers.append(found(reader, "payments"))

    assert answers == [[], ["ada"], []]
    assert not Passage.objects.filter(kind=Kind.PERSON).exists()


def test_nobody_can_show_the_headline_of_somebody_else_and_one_that_is_reworded_is_hidden(ada, reader):
    session = worked_on(ada, "Payments moved")
    share(reader, ProfileSection.HEADLINES, headlines=[session])
    of_somebody_else = found(reader, "payments")
    share(ada, ProfileSection.HEADLINES, headlines=[session])

    correct_session(ada, session_id=str(session.pk), one_liner="Payments moved for the secret customer")

    assert of_somebody_else == []
    assert found(reader, "payments") == []
    assert found(reader, "secret customer") == []


def test_topics_are_counted_over_those_who_share_them(ada: Actor, reader: Actor) -> None:
    grace, linus = make_actor(make_user("grace")), make_actor(make_user("linus"))
    for actor in (ada, ada, grace, linus):
        worked_on(actor, "Work", "postgres")
    for actor in (ada, grace):
        share(actor, ProfileSection.TOPICS, ProfileSection.STATISTICS)

    page = list_directory(reader)

    assert [(topic.name, topic.people, topic.sessions) for topic in page.topics] == [("postgres", 2, 3)]
    assert (page.figures.people, page.figures.sessions) == (4, 3)


def test_the_sweep_forgets_who_is_gone_and_finds_what_was_missed(ada: Actor, reader: Actor) -> None:
    share(ada, ProfileSection.TOPICS)
    Session.objects.create(user=ada.user, topics=["payments"])
    gone = make_actor()
    worked_on(gone, "Work", "zanzibar")
    share(gone, ProfileSection.TOPICS)
    gone.user.delete()

    index_people()

    assert list(Passage.objects.filter(kind=Kind.PERSON).values_list("text", flat=True)) == ["payments"]
    assert found(reader, "payments") == ["ada"]


def test_a_thousand_agents_are_listed_in_few_queries(reader: Actor, client: Client) -> None:
    people = User.objects.bulk_create(User(username=f"p{number:03}") for number in range(250))
    now = timezone.now()
    Agent.objects.bulk_create(
        Agent(user=person, client_name=name, host="laptop", last_seen=now)
        for person in people
        for name in ("claude-code", "cursor", "codex", "gemini")
    )
    Sharing.objects.bulk_create(
        Sharing(user=person, sections=[str(one) for one in ProfileSection]) for person in people
    )
    Session.objects.bulk_create(Session(user=person, topics=["payments", "postgres"]) for person in people)
    client.force_login(reader.user)
    client.get(reverse("directory"))  # The first visit notes who it is.

    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("directory"))

    assert page.context["page"].figures.agents == 1_000
    assert len(page.context["page"].items) == 24
    assert len(queries) <= 15, "\n".join(query["sql"][:130] for query in queries)
    assert "1 to 24 of 251 people" in page.text
    with CaptureQueriesContext(connection) as queries:
        assert client.get(f"{reverse('directory')}?query=payments").status_code == 200
    assert len(queries) <= 15


def test_the_page_asks_and_says_why(ada: Actor, reader: Actor, client: Client) -> None:
    worked_on(ada, "Nothing", "<b>payments</b>")
    share(ada, ProfileSection.TOPICS)
    client.force_login(reader.user)

    page = client.get(reverse("directory"), {"query": "who worked on payments?"})

    assert "shares the topic" in page.text
    assert "<b>" not in page.text
    assert reverse("profile", args=["ada"]) in page.text


@pytest.mark.parametrize("query", ["topic=" + "x" * 101, "query=" + "x" * 2_001, "offset=-1", "offset=abc"])
def test_a_wrong_address_is_answered_with_what_is_wrong(reader: Actor, client: Client, query: str) -> None:
    client.force_login(reader.user)

    assert client.get(f"{reverse('directory')}?{query}").status_code == 200
