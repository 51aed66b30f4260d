"""The map: what hangs together, the largest of it, and nobody who does not share what they know."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.people.sharing import default_sections
from bigmind.core.profile_sections import ProfileSection
from bigmind.web.graphs import Column, Node, draw_graph
from knowledge.models import Session
from knowledge.services.entries import add_entry
from knowledge.services.knowledge_map import ENTRIES, PEOPLE, PROJECTS, TOPICS, see_map
from knowledge.services.people_index import change_sharing
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_company, make_fact, make_session

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_a_team(settings) -> None:
    settings.BIGMIND_MODE = "team"


def _share(actor, *sections: ProfileSection) -> None:
    change_sharing(actor, sections=list(sections), in_directory=True, session_ids=[])


def test_it_joins_projects_topics_company_knowledge_and_people():
    actor, grace = make_actor(), make_actor(make_user("grace", display_name="Grace"))
    make_session(actor, project="billing", topics=["webhooks"])
    make_fact(actor, project="billing")
    entry = approved_entry(topics=["webhooks"], project="billing")
    add_entry(actor, content="Webhooks are signed.", entry_type="fact", tags=["webhooks"], project="billing")
    make_session(grace, project="secret-project", topics=["webhooks", "kafka"])
    _share(grace, ProfileSection.WHO, ProfileSection.TOPICS)

    seen = see_map(actor)

    assert [(one.name, one.size) for one in seen.projects] == [("billing", 4)]
    assert [(one.name, one.size) for one in seen.topics] == [("webhooks", 4), ("kafka", 1)]
    assert [one.key for one in seen.entries] == [f"entry {entry.pk}"]
    assert [(one.name, one.id) for one in seen.people] == [("Grace", "grace")]
    assert seen.weights["person grace", "topic kafka"] == 1
    assert seen.weights["project billing", "topic webhooks"] == 3


@pytest.mark.parametrize("sections", [[], [ProfileSection.WHO], [ProfileSection.TOPICS]])
def test_what_somebody_does_not_share_is_not_on_it(sections):
    actor, grace = make_actor(), make_actor(make_user("grace"))
    make_session(actor, topics=["webhooks"])
    before = see_map(actor)
    _share(grace, *sections)

    make_session(grace, project="secret-project", topics=["webhooks", "kafka"])
    make_fact(grace, project="secret-project")

    assert ProfileSection.TOPICS not in default_sections()
    assert see_map(actor) == before


def test_the_largest_are_kept_and_the_rest_counted(django_assert_max_num_queries):
    actor = make_actor()
    now = timezone.now()
    Session.objects.bulk_create(
        Session(user=actor.user, project=f"project-{n}", topics=[f"topic-{n}", "common"], started_at=now, ended_at=now)
        for n in range(40)
    )
    make_company(approved_entry(topics=["common"]), [f"Rule {number}." for number in range(19)])
    client = Client()
    client.force_login(actor.user)
    client.get(reverse("insights-map"))

    seen = see_map(actor)
    with django_assert_max_num_queries(12):
        page = client.get(reverse("insights-map"))

    assert (len(seen.topics), len(seen.projects), len(seen.entries)) == (TOPICS, PROJECTS, ENTRIES)
    assert seen.left_out == 41 - TOPICS + 40 - PROJECTS + 20 - ENTRIES
    assert TOPICS + PROJECTS + ENTRIES + PEOPLE <= 60
    assert page.text.partition('class="map"')[2].count("<circle cx") == TOPICS + PROJECTS + ENTRIES
    assert "left out: 55" in page.text


def test_the_same_graph_is_drawn_the_same_with_neighbours_near_each_other():
    left = Column("Left", "topic", [Node(f"l{number}", f"l{number}", number, "/") for number in range(4)])
    right = Column("Right", "topic", [Node(f"r{number}", f"r{number}", 0, "/") for number in reversed(range(4))])
    weights = {(f"l{number}", f"r{number}"): 1 for number in range(4)} | {("l1", "gone"): 5}

    graph = draw_graph([left, right, Column("None", "topic", [])], weights)

    heights = {placed.node.key: placed.y for placed in graph.nodes}
    assert all(heights[f"l{number}"] == heights[f"r{number}"] for number in range(4))
    assert (len(graph.edges), [title for _, title in graph.titles]) == (4, ["Left", "Right"])
    assert graph == draw_graph([left, right], weights)
    assert draw_graph([], {}).nodes == []
