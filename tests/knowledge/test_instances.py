"""Instances as the company server keeps them: who reports, who sees whom, and what changes the mark."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Instance
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.operations import carry_out
from bigmind.environment.profile_sections import ProfileSection
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.retention import delete_past_bounds
from knowledge.people.directory import list_directory
from knowledge.people.instances import MOST_EACH, Registration, forget_instance, list_instances, register_instance
from knowledge.people.people_index import change_sharing
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import browser_of, make_actor, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]


def reporting(actor: Actor | None = None, **said: Any) -> Registration:
    registration: Registration = carry_out(
        register_instance, actor or make_actor(), {"instance_id": str(uuid4()), "name": "laptop", **said}
    )
    return registration


def sharing(*sections: ProfileSection, in_directory: bool = True) -> Actor:
    actor = make_actor()
    change_sharing(actor, sections=list(sections), in_directory=in_directory, session_ids=[])
    return actor


def test_a_laptop_that_reports_again_keeps_its_row_and_its_first_day() -> None:
    ada, identity = make_actor(), str(uuid4())
    first = reporting(ada, instance_id=identity, name="old name", statistics={"facts": 1}).instance

    again = reporting(ada, instance_id=identity, name="new name", statistics={"facts": 2}).instance

    assert (again.pk, again.first_seen) == (first.pk, first.first_seen)
    assert (again.name, again.statistics) == ("new name", {"facts": 2})
    assert again.last_seen > first.last_seen


def test_who_reports_with_the_identity_of_somebody_else_takes_nothing_over() -> None:
    hers = reporting(make_actor()).instance

    reporting(make_actor(), instance_id=str(hers.identity), name="taken over")

    hers.refresh_from_db()
    assert hers.name == "laptop"
    assert Instance.objects.count() == 2


@pytest.mark.parametrize(
    "said",
    [
        {"statistics": {"facts": -1}},
        {"statistics": {"secrets": 1}},
        {"statistics": {"facts": "many"}},
        {"url": "javascript:alert(1)"},
        {"url": "https://ada:secret@laptop.example.com"},
        {"name": ""},
        {"name": "x" * 101},
        {"instance_id": "my laptop"},
    ],
)
def test_what_is_no_count_no_name_or_no_address_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        reporting(**said)


def test_nobody_registers_without_end() -> None:
    ada = make_actor()
    for _ in range(MOST_EACH):
        reporting(ada)

    with pytest.raises(Conflict, match="the limit"):
        reporting(ada)


def test_an_instance_is_away_when_nothing_was_heard_of_it_for_a_while() -> None:
    instance = reporting().instance
    online = instance.status

    Instance.objects.update(last_seen=timezone.now() - timedelta(minutes=16))
    instance.refresh_from_db()

    assert (online, instance.status) == ("online", "away")


def test_others_see_only_the_instances_of_those_who_share_their_agents() -> None:
    shown, hidden, unlisted = (
        sharing(ProfileSection.WHO, ProfileSection.AGENTS),
        sharing(ProfileSection.WHO),
        sharing(ProfileSection.WHO, ProfileSection.AGENTS, in_directory=False),
    )
    for number, actor in enumerate((shown, hidden, unlisted)):
        reporting(actor, name=f"laptop {number}")

    seen = [instance.name for instance in list_instances(make_actor()).items]
    own = [instance.name for instance in list_instances(hidden).items]

    assert seen == ["laptop 0"]
    assert own == ["laptop 0", "laptop 1"] or own == ["laptop 1", "laptop 0"]


def test_who_sees_none_is_not_told_that_none_is_registered_and_an_admin_finds_it_with_its_owner(client: Client) -> None:
    owner = sharing(ProfileSection.WHO)
    reporting(owner, name="hidden")
    admin = make_actor(admin=True)

    told = perform(CATALOGUE["directory_list_instances"], admin, {}, transport="mcp").markdown()
    client.force_login(admin.user)
    page = client.get(reverse("person", args=[owner.user.pk])).text

    assert "or their owners do not share them" in told
    assert "hidden" in page


def test_the_directory_shows_and_counts_what_is_shared() -> None:
    reporting(sharing(ProfileSection.WHO, ProfileSection.AGENTS), name="ada's laptop")
    reporting(sharing(ProfileSection.WHO), name="nobody's business")

    directory = list_directory(make_actor())

    assert [instance.name for person in directory.items for instance in person.instances] == ["ada's laptop"]
    assert directory.figures.instances == 1


def test_the_page_of_the_directory_says_who_is_online() -> None:
    reporting(sharing(ProfileSection.WHO, ProfileSection.AGENTS), name="ada's laptop", version="1.4")
    browser = browser_of(make_user())

    page = browser.get(reverse("directory")).content.decode()

    assert "ada&#x27;s laptop" in page
    assert "online" in page


def test_the_mark_changes_when_company_knowledge_does_and_only_then() -> None:
    ada, curator = make_actor(), make_actor(curator=True)
    marks = [reporting(ada).knowledge]
    waiting = propose()
    marks.append(reporting(ada).knowledge)
    decide_at_latest(curator, entry_id=waiting.pk, action="approve")
    marks.append(reporting(ada).knowledge)
    decide_at_latest(curator, entry_id=waiting.pk, action="edit", title="Another title")
    marks.append(reporting(ada).knowledge)
    decide_at_latest(curator, entry_id=waiting.pk, action="deprecate")
    approved_entry()
    marks.append(reporting(ada).knowledge)

    assert marks[0] == marks[1]
    assert len(set(marks[1:])) == 4


def test_who_takes_an_instance_off_the_list_says_their_own() -> None:
    ada = make_actor()
    instance = reporting(ada).instance

    with pytest.raises(NotFound):
        forget_instance(make_actor(), instance_id=instance.identity)
    forget_instance(ada, instance_id=instance.identity)

    assert not Instance.objects.exists()


def test_what_was_silent_for_half_a_year_is_forgotten() -> None:
    reporting(), reporting()
    Instance.objects.filter(pk=Instance.objects.first().pk).update(last_seen=timezone.now() - timedelta(days=181))

    assert delete_past_bounds() == 1
    assert Instance.objects.count() == 1
