"""The map: projects, topics, company knowledge and people, and how they connect, as far as someone may see it.

It is made of the viewer's own sessions and facts, of what everybody may read, and of the topics that people share: of
each person the same ones as in the directory, and no one else.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Func, QuerySet, TextField

from accounts.actor import Actor
from accounts.models import User
from accounts.people.sharing import people_shown
from bigmind.core.profile_sections import ProfileSection
from knowledge.models import CompanyEntry, Entry, Fact, Session

from .directory import TOPICS_EACH
from .people_index import topics_of_each

TOPICS, PROJECTS, ENTRIES, PEOPLE = 20, 10, 16, 14
"""The most of each that are shown: the largest."""
READ = 500
"""How many entries, the most important first, and how many people are read."""


@dataclass(frozen=True)
class MapThing:
    """A project, topic, company entry or person: what it is called, how much of it there is; is it one's own?"""

    key: str
    name: str
    size: int
    id: str = ""
    is_own: bool = False


@dataclass(frozen=True)
class KnowledgeMap:
    """The largest things of each kind, how strongly two of them hang together, and how many more there are."""

    projects: list[MapThing]
    topics: list[MapThing]
    entries: list[MapThing]
    people: list[MapThing]
    weights: dict[tuple[str, str], int]
    left_out: int


@dataclass
class _Counted:
    """How often each topic and project is named, and how often both together."""

    topics: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)
    weights: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, project: str, topic: str, number: int) -> None:
        if topic:
            self.topics[topic] += number
        if project:
            self.projects[project] += number
        if topic and project:
            self.weights[_project(project), _topic(topic)] += number


@dataclass(frozen=True)
class _Person:
    name: str
    username: str
    topics: dict[str, int]


def see_map(actor: Actor) -> KnowledgeMap:
    """Return how projects, topics, company knowledge and people hang together, as far as the actor may see it."""
    counted = _Counted()
    own = _count_own(actor.user, counted)
    entries = _count_shared(counted)
    people = _people(actor.user)
    for person in people:
        counted.topics.update(dict.fromkeys(person.topics, 1))

    topics = {_topic(name): (name, size) for name, size in _largest(counted.topics, TOPICS)}
    projects = {_project(name): (name, size) for name, size in _largest(counted.projects, PROJECTS)}
    joined = {entry.pk: _keys_of(entry) & (topics.keys() | projects.keys()) for entry in entries}
    # Those that hang together with something come first; both parts stay in the order of their importance.
    told = sorted(entries, key=lambda entry: not joined[entry.pk])[:ENTRIES]
    knowing = _knowing(people, topics.keys())[:PEOPLE]

    weights = dict(counted.weights)
    weights |= {(f"entry {entry.pk}", key): 1 for entry in told for key in joined[entry.pk]}
    weights |= {
        (f"person {person.username}", _topic(topic)): number
        for person in knowing
        for topic, number in person.topics.items()
    }
    all_of_them = len(counted.topics) + len(counted.projects) + len(entries) + len(people)
    return KnowledgeMap(
        projects=[MapThing(key, name, size, is_own=key in own) for key, (name, size) in projects.items()],
        topics=[MapThing(key, name, size, is_own=key in own) for key, (name, size) in topics.items()],
        entries=[
            MapThing(f"entry {entry.pk}", f"{entry.handle} {entry.title}", entry.importance, str(entry.pk))
            for entry in told
        ],
        people=[
            MapThing(f"person {person.username}", person.name, len(person.topics), person.username)
            for person in knowing
        ],
        weights=weights,
        left_out=all_of_them - len(topics) - len(projects) - len(told) - len(knowing),
    )


def _project(name: str) -> str:
    return f"project {name}"


def _topic(name: str) -> str:
    return f"topic {name}"


def _keys_of(entry: CompanyEntry) -> set[str]:
    return {_project(entry.project), *map(_topic, entry.topics)}


def _count_own(user: User, counted: _Counted) -> set[str]:
    """Count what is the user's own, and return the keys of its projects and topics."""
    own: set[str] = set()
    sessions = Session.objects.of(user).in_view()
    for project, topic, number in [*_topics_by_project(sessions, "topics"), *_facts(user)]:
        own |= {_project(project), _topic(topic)}
        counted.add(project, topic, number)
    return own


def _count_shared(counted: _Counted) -> list[CompanyEntry]:
    """Count what everybody may read, and return the company entries among it, the most important first."""
    for row in _topics_by_project(Entry.objects.all(), "tags"):
        counted.add(*row)
    entries = list(CompanyEntry.objects.approved().order_by("-importance", "-pk")[:READ])
    for entry in entries:
        for topic in entry.topics or [""]:
            counted.add(entry.project, topic, 1)
    return entries


def _knowing(people: list[_Person], shown: AbstractSet[str]) -> list[_Person]:
    """Return those who know of a topic that is shown, with these topics alone: those with the most come first."""
    among = [
        replace(person, topics={topic: number for topic, number in person.topics.items() if _topic(topic) in shown})
        for person in people
    ]
    return sorted(
        (person for person in among if person.topics), key=lambda person: (-len(person.topics), person.username)
    )


def _largest(counted: Counter[str], most: int) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda row: (-row[1], row[0]))[:most]


def _topics_by_project(rows: QuerySet[Any], field: str) -> list[tuple[str, str, int]]:
    """How many rows there are of each project and topic."""
    unnested = Func(F(field), function="unnest", output_field=TextField(), set_returning=True)
    topics = rows.order_by().annotate(topic=unnested).values("project", "topic")
    return list(topics.annotate(number=Count("pk")).values_list("project", "topic", "number"))


def _facts(user: User) -> list[tuple[str, str, int]]:
    """How many facts there are of each project. A fact has no topic."""
    facts = Fact.objects.of(user).current().exclude(project="").order_by()
    return [(project, "", number) for project, number in facts.values_list("project").annotate(Count("pk"))]


def _people(viewer: User) -> list[_Person]:
    """The other people who share topics, with their topics as listed."""
    if settings.BIGMIND_MODE == "personal":
        return []
    sharing = people_shown(viewer, ProfileSection.TOPICS).exclude(pk=viewer.pk).order_by("username")[:READ]
    users: dict[UUID, User] = {user.pk: user for user in sharing}
    topics = topics_of_each(list(users), limit=TOPICS_EACH)
    return [
        _Person(str(users[pk]), users[pk].username, {topic.name: topic.sessions for topic in shared})
        for pk, shared in topics.items()
    ]
