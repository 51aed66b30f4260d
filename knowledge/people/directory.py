"""The directory: who is here, with which agents, and what they know, as far as each of them shares it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, QuerySet, Subquery, Value, Window
from django.db.models.functions import Coalesce, Lower, RowNumber

from accounts.actor import Actor
from accounts.models import Agent, Instance, Profile, Sharing, User
from accounts.people.sharing import EVERYTHING, as_shared, nobody_to_find, people_shown
from bigmind.core.argument_types import Cursor, Limit, Offset, Tag
from bigmind.database.pagination import Page, page_of
from bigmind.database.rls import rls_bypass
from bigmind.environment.profile_sections import ProfileSection
from knowledge.models import CompanyEntry, Session
from knowledge.shapes.directory import FiguresShape, TopicShape

from .instances import instances_of_each
from .people_index import topics_among, topics_of_each

TOPICS_OF_ALL = 20
TOPICS_EACH = 5
AGENTS_EACH = 3


@dataclass(frozen=True)
class Person:
    """One person as the directory shows them. What they do not share is empty, or None."""

    username: str
    name: str
    role: str
    job_title: str = ""
    agents: list[Agent] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    topics: list[TopicShape] = field(default_factory=list)
    contributions: int | None = None


@dataclass(frozen=True, kw_only=True)
class Directory(Page[Person]):
    """A page of people, what they have in common, and how much there is in all."""

    topics: list[TopicShape]
    figures: FiguresShape
    notice: str = ""


def list_directory(
    actor: Actor, *, topic: Tag = "", limit: Limit = 20, offset: Offset = 0, cursor: Cursor | None = None
) -> Directory:
    """List who is here: people with the agents, topics and contributions that they share.

    Call this to see whom to ask, or who works on a topic. Returns people by name, the topics that most of them share,
    and totals of what is shared.
    """
    viewer = actor.user
    people = people_shown(viewer)
    if topic:
        # Only people who share topics are found by one: otherwise the list would disclose theirs.
        about = Session.objects.in_view().filter(topics__has_names=[topic]).values("user")
        people = people.filter(pk__in=people_shown(viewer, ProfileSection.TOPICS).values("pk")).filter(pk__in=about)
    with rls_bypass():
        by_name = people.annotate(folded=Lower("username")).order_by("folded", "pk")
        page = page_of(by_name, limit=limit, offset=offset, cursor=cursor)
    topics = topics_among(people_shown(viewer, ProfileSection.TOPICS), limit=TOPICS_OF_ALL)
    return Directory(
        _people(page.items),
        page.total,
        limit,
        page.offset,
        page.cursor,
        topics=topics,
        figures=_figures(viewer),
        notice=nobody_to_find(viewer),
    )


def visible_sections(users: Collection[User]) -> dict[UUID, frozenset[ProfileSection]]:
    """Return the sections that the directory shows of each of these people."""
    if settings.BIGMIND_MODE == "personal":
        return {user.pk: EVERYTHING for user in users}
    chosen = {sharing.pk: sharing for sharing in Sharing.objects.filter(user__in=users)}
    return {user.pk: as_shared(chosen.get(user.pk)).sections for user in users}


def preview_card(actor: Actor, sections: Collection[ProfileSection]) -> Person | None:
    """Return how the directory would show the actor to others if they shared these sections; None: not at all."""
    if ProfileSection.WHO not in sections:
        return None
    return _people([actor.user], {actor.user.pk: frozenset(sections)})[0]


def _people(users: Collection[User], sections: dict[UUID, frozenset[ProfileSection]] | None = None) -> list[Person]:
    sections = visible_sections(users) if sections is None else sections

    def sharing(section: ProfileSection) -> list[UUID]:
        return [user.pk for user in users if section in sections[user.pk]]

    with rls_bypass():
        # Profiles are private rows; these people chose to show their role.
        titles = dict(Profile.objects.filter(user__in=sharing(ProfileSection.ROLE)).values_list("user", "role"))
    agents = _agents_of_each(sharing(ProfileSection.AGENTS))
    instances = instances_of_each(sharing(ProfileSection.AGENTS))
    topics = topics_of_each(sharing(ProfileSection.TOPICS), limit=TOPICS_EACH)
    contributors = sharing(ProfileSection.CONTRIBUTIONS)
    contributions = dict.fromkeys(contributors, 0) | _contributions_of_each(contributors)
    return [
        Person(
            username=user.username,
            name=str(user),
            role=user.role,
            job_title=titles.get(user.pk, ""),
            agents=agents.get(user.pk, []),
            instances=instances.get(user.pk, []),
            topics=topics.get(user.pk, []),
            contributions=contributions.get(user.pk),
        )
        for user in users
    ]


def _agents_of_each(users: Iterable[UUID]) -> dict[UUID, list[Agent]]:
    """The agents of each person that were seen last."""
    latest = Window(RowNumber(), partition_by=F("user"), order_by=[F("last_seen").desc(), F("pk").asc()])
    agents = Agent.objects.filter(user__in=list(users)).annotate(rank=latest).filter(rank__lte=AGENTS_EACH)
    found: dict[UUID, list[Agent]] = {}
    for agent in agents.order_by("user", "rank"):
        found.setdefault(agent.user_id, []).append(agent)
    return found


def _contributions_of_each(users: Iterable[UUID]) -> dict[UUID, int]:
    entries = CompanyEntry.objects.approved().filter(proposed_by__in=list(users)).order_by()
    return dict(entries.values_list("proposed_by").annotate(Count("pk")))


@rls_bypass()
def _figures(viewer: User) -> FiguresShape:
    """Count in one query. People are counted apart from the page, which may be narrowed to a topic."""

    def of_those_sharing(section: ProfileSection, rows: QuerySet[Any], person: str) -> Coalesce:
        people = people_shown(viewer, section).order_by().values("pk")
        counted = rows.filter(**{f"{person}__in": people}).order_by().values(of=Value(1)).annotate(count=Count("*"))
        return Coalesce(Subquery(counted.values("count")), 0)

    people = people_shown(viewer).order_by().values(of=Value(1)).annotate(count=Count("*")).values("count")
    counts = User.objects.filter(pk=viewer.pk).values_list(
        Coalesce(Subquery(people), 0),
        of_those_sharing(ProfileSection.AGENTS, Agent.objects.all(), "user"),
        of_those_sharing(ProfileSection.AGENTS, Instance.objects.all(), "user"),
        of_those_sharing(ProfileSection.STATISTICS, Session.objects.in_view(), "user"),
        of_those_sharing(ProfileSection.CONTRIBUTIONS, CompanyEntry.objects.approved(), "proposed_by"),
    )
    return FiguresShape(**dict(zip(FiguresShape.model_fields, counts.get(), strict=True)))
