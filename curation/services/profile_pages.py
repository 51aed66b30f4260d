"""The page of a person: the sections that its visitor may see."""

from dataclasses import dataclass, field

from accounts.actor import Actor
from accounts.models import Agent, User
from accounts.people.profiles import NOTHING, Shared, get_profile, sections_for, sharing_of
from bigmind.core.errors import NotFound
from bigmind.core.rls import rls_scope
from bigmind.core.sections import ProfileSection
from knowledge.models import CompanyEntry, ShownHeadline
from knowledge.services.activity import HeatMap, activity_of
from knowledge.services.company import select_approved_entries
from knowledge.services.people import Topic, topics_of, visible_headlines
from knowledge.services.upkeep import get_stats
from knowledge.shapes.upkeep import StatsShape

from .badges import Badge, badges_of

AGENTS_SHOWN = 50
TOPICS_SHOWN = 30
CONTRIBUTIONS_SHOWN = 20
HEADLINES_SHOWN = 20


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
    topics: list[Topic] = field(default_factory=list)
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
        raise NotFound(f"There is no page of {username}.", hint="The directory lists who shows one.")
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
