"""The page of a person: the sections that its visitor may see, and the badges that the person earned."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Agent, User
from accounts.people.profiles import get_profile
from accounts.people.sharing import NOTHING, Shared, sections_for, sharing_of
from bigmind.core.errors import NotFound
from bigmind.core.translation import gettext_lazy
from bigmind.database.rls import rls_scope
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.hygiene import mention
from curation.models import Action, Review
from knowledge.kb.company import select_approved_entries
from knowledge.memory.activity import HeatMap, activity_of
from knowledge.memory.upkeep import get_stats
from knowledge.models import CompanyEntry, Fact, Session, ShownHeadline
from knowledge.people.people_index import topics_of, visible_headlines
from knowledge.shapes.directory import TopicShape
from knowledge.shapes.upkeep import StatsShape

DECISIONS = (Action.APPROVE, Action.REJECT, Action.REQUEST_CHANGES, Action.MERGE, Action.DEPRECATE, Action.SUPERSEDE)

AGENTS_SHOWN = 50
TOPICS_SHOWN = 30
CONTRIBUTIONS_SHOWN = 20
HEADLINES_SHOWN = 20


@dataclass(frozen=True)
class Badge:
    """A badge that was earned: its name, its rule, and the day."""

    name: str
    rule: str
    earned_on: date


@dataclass(frozen=True)
class _Count:
    """A badge that is earned by doing something a number of times."""

    times: int
    name: str
    rule: str


_SESSIONS = (
    _Count(1, gettext_lazy("First session"), gettext_lazy("Had a first session.")),
    _Count(100, gettext_lazy("Hundred sessions"), "Had 100 sessions."),
    _Count(1000, gettext_lazy("Thousand sessions"), "Had 1,000 sessions."),
)
_FACTS = (_Count(100, gettext_lazy("Hundred facts"), gettext_lazy("Had 100 facts remembered.")),)
_ENTRIES = (
    _Count(1, gettext_lazy("First contribution"), gettext_lazy("Had a first entry approved as company knowledge.")),
    _Count(10, gettext_lazy("Ten contributions"), gettext_lazy("Had 10 entries approved as company knowledge.")),
)
_REVIEWS = (_Count(50, gettext_lazy("Curator of fifty"), gettext_lazy("Made 50 decisions about company knowledge.")),)
_STREAKS = (
    _Count(7, gettext_lazy("Seven days"), gettext_lazy("Had sessions on 7 days in a row.")),
    _Count(30, gettext_lazy("Thirty days"), gettext_lazy("Had sessions on 30 days in a row.")),
)


def badges_of(user: User) -> list[Badge]:
    """Return the badges of a user, the latest first."""
    sessions = Session.objects.of(user).in_view()
    decisions = Review.objects.filter(by=user, action__in=DECISIONS)
    badges = [
        *_badges_for_counts(_SESSIONS, sessions, "started_at"),
        *_badges_for_counts(_FACTS, Fact.objects.of(user), "created_at"),
        *_badges_for_counts(_ENTRIES, CompanyEntry.objects.approved().proposed_by(user), "decided_at"),
        *_badges_for_counts(_REVIEWS, decisions, "created_at"),
        *_badges_for_streaks(sessions),
    ]
    return sorted(badges, key=lambda badge: badge.earned_on, reverse=True)


def _badges_for_counts(counts: Iterable[_Count], rows: QuerySet[Any], moment: str) -> Iterable[Badge]:
    """Yield the badges for a number of rows, each dated by the row that reached the number."""
    moments = rows.order_by(moment).values_list(moment, flat=True)
    for count in counts:
        earned = moments[count.times - 1 : count.times].first()
        if earned is None:
            return
        yield Badge(count.name, count.rule, timezone.localdate(earned))


def _badges_for_streaks(sessions: QuerySet[Session]) -> Iterable[Badge]:
    """Return the badges for consecutive days, each dated by the day that first reached the number."""
    days = sessions.annotate(day=TruncDate("started_at")).order_by("day").values_list("day", flat=True).distinct()
    earned: dict[int, date] = {}
    streak, before = 0, date.min
    for day in days:
        streak = streak + 1 if day - before == timedelta(days=1) else 1
        earned.setdefault(streak, day)
        before = day
    return [Badge(count.name, count.rule, earned[count.times]) for count in _STREAKS if count.times in earned]


@dataclass(frozen=True)
class ProfilePage:
    """A person's page as one visitor sees it. Sections that they may not see are not queried at all.

    Attributes:
        sections: The sections that this visitor sees.
        shared: The sections that others see, and whether the person chose them.
        is_own: Whether it is the visitor's own page, which has parts that others never see.
    """

    person: User
    is_own: bool
    sections: frozenset[ProfileSection]
    shared: Shared
    job_title: str = ""
    agents: list[Agent] = field(default_factory=list)
    stats: StatsShape | None = None
    badges: list[Badge] = field(default_factory=list)
    topics: list[TopicShape] = field(default_factory=list)
    activity: HeatMap | None = None
    contributions: list[CompanyEntry] = field(default_factory=list)
    contributed: int = 0
    headlines: list[ShownHeadline] = field(default_factory=list)


def get_profile_page(actor: Actor, username: str, *, as_others: bool = False) -> ProfilePage:
    """Return the page of a person. `as_others` previews your own page as everyone else sees it.

    Raises:
        NotFound: there is no such person, or they share nothing. The error does not reveal which.
    """
    person = User.objects.filter(username__iexact=username).first()
    is_own = person is not None and person.pk == actor.user.pk and not as_others
    sections = NOTHING if person is None else sections_for(actor.user, person)
    if person is not None and as_others:
        sections &= sharing_of(person).sections
    if person is None or not sections:
        raise NotFound(f"There is no page of {mention(username)}.", hint="The directory lists who shows one.")
    with rls_scope(person.pk):
        return _collect(Actor.of(person), sections, is_own=is_own)


def _collect(subject: Actor, sections: frozenset[ProfileSection], *, is_own: bool) -> ProfilePage:
    person = subject.user
    contributed = select_approved_entries().filter(proposed_by=person).order_by("-decided_at", "-pk")
    agents = Agent.objects.filter(user=person).order_by("-last_seen")
    sees = sections.__contains__
    return ProfilePage(
        person=person,
        is_own=is_own,
        sections=sections,
        shared=sharing_of(person),
        job_title=get_profile(subject).role if sees(ProfileSection.ROLE) else "",
        agents=list(agents[:AGENTS_SHOWN]) if sees(ProfileSection.AGENTS) else [],
        stats=get_stats(subject) if sees(ProfileSection.STATISTICS) else None,
        badges=badges_of(person) if sees(ProfileSection.BADGES) else [],
        topics=topics_of(person, limit=TOPICS_SHOWN) if sees(ProfileSection.TOPICS) else [],
        activity=activity_of(person) if sees(ProfileSection.ACTIVITY) else None,
        contributions=list(contributed[:CONTRIBUTIONS_SHOWN]) if sees(ProfileSection.CONTRIBUTIONS) else [],
        contributed=contributed.count() if sees(ProfileSection.CONTRIBUTIONS) else 0,
        headlines=list(visible_headlines(person)[:HEADLINES_SHOWN]) if sees(ProfileSection.HEADLINES) else [],
    )
