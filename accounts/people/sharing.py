"""Sharing: which sections of one's page others see, by choice or by default, and whom the directory names."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Alert, Sharing, User
from bigmind.database.replicas import note_write_for_all
from bigmind.database.rls import rls_bypass
from bigmind.environment.profile_sections import SHARED_IN_A_TEAM, ProfileSection

SectionNames = Annotated[
    list[ProfileSection], Field(max_length=len(ProfileSection), description="What everybody here may see.")
]

NOTHING: frozenset[ProfileSection] = frozenset()
EVERYTHING = frozenset(ProfileSection)
SUGGESTED = (ProfileSection.WHO, ProfileSection.ROLE, ProfileSection.TOPICS, ProfileSection.CONTRIBUTIONS)
"""What the question about sharing proposes: enough to be found. It holds once it is sent."""
INVITED_EVERY = timedelta(days=30)


@dataclass(frozen=True)
class Shared:
    """What one person shares: the sections that others see, and whether the directory names them.

    `is_chosen`: whether they said so themselves, or the default of the instance holds. `curators_see_told`: whether
    curators may see what the person's agents had received when they proposed something.
    """

    sections: frozenset[ProfileSection]
    in_directory: bool
    is_chosen: bool
    curators_see_told: bool = False


@transaction.atomic
def choose_sharing(
    actor: Actor, *, sections: SectionNames, in_directory: bool = True, curators_see_told: bool = False
) -> Sharing:
    """Say what others see of the person, in place of what held before."""
    chosen = [section.value for section in ProfileSection if section in sections]
    sharing, _ = Sharing.objects.update_or_create(
        user=actor.user,
        defaults={"sections": chosen, "in_directory": in_directory, "curators_see_told": curators_see_told},
    )
    note_write_for_all()
    return sharing


def default_sections() -> frozenset[ProfileSection]:
    """Return what others see of a user who has not chosen yet: as configured, else after the mode."""
    if settings.PROFILE_SECTIONS is not None:
        return frozenset(ProfileSection(name) for name in settings.PROFILE_SECTIONS)
    return frozenset(SHARED_IN_A_TEAM) if settings.BIGMIND_MODE == "team" else NOTHING


def sharing_of(user: User) -> Shared:
    """Return what a person shares. Who they are comes first: without it nothing else is shown either."""
    return as_shared(Sharing.objects.filter(user=user).first())


def as_shared(sharing: Sharing | None) -> Shared:
    """Return what this choice shares; without one, what the instance does for those who have not chosen."""
    chosen = default_sections() if sharing is None else frozenset(ProfileSection(name) for name in sharing.sections)
    in_directory = sharing is None or sharing.in_directory
    return Shared(
        chosen if ProfileSection.WHO in chosen else NOTHING,
        in_directory,
        is_chosen=sharing is not None,
        curators_see_told=sharing is not None and sharing.curators_see_told,
    )


def asks_what_to_share(user: User) -> bool:
    """Whether someone is still to be asked what colleagues see of them: where there are some, and once."""
    return settings.BIGMIND_MODE != "personal" and not Sharing.objects.filter(user=user).exists()


@rls_bypass()
def invite_to_share(actor: Actor) -> int:
    """Ask everyone who has not chosen yet what colleagues may see of them, as a curator; return how many are asked.

    Each is asked once a month at most, by anyone.
    """
    actor.require("curate")
    invitations = Alert.objects.filter(kind=Alert.Topic.SHARING_ASKED, created_at__gt=timezone.now() - INVITED_EVERY)
    people = User.objects.filter(is_active=True, sharing=None).exclude(pk=actor.user.pk)
    invited = people.exclude(pk__in=invitations.values("user"))
    by = str(actor.user)[:200]
    text = f"{by} asks you to choose what colleagues may see of you, so that they find whom to ask."
    alerts = [Alert(user=user, kind=Alert.Topic.SHARING_ASKED, text=text, by_name=by) for user in invited]
    return len(Alert.objects.bulk_create(alerts))


def nobody_to_find(viewer: User) -> str:
    """Return, while no colleague shares what they work on, a sentence that says so and how to ask; else nothing."""
    if settings.BIGMIND_MODE == "personal":
        return ""
    shown = people_sharing(ProfileSection.TOPICS) | people_sharing(ProfileSection.HEADLINES)
    if shown.exclude(pk=viewer.pk).exists():
        return ""
    return (
        "No colleague shares what they work on yet, so nobody is found by it. Each chooses on their page "
        f"({settings.PUBLIC_URL}/u/NAME/sharing/); a curator asks everyone at {settings.PUBLIC_URL}/directory/."
    )


def lets_curators_see_context(user: User) -> bool:
    """Whether someone agreed that curators see what their agents had received when they proposed something."""
    sharing: Sharing | None = getattr(user, "sharing", None)
    return user.is_active and as_shared(sharing).curators_see_told


def sections_for(viewer: User, owner: User) -> frozenset[ProfileSection]:
    """Return the sections of a person's page that a user may see: of their own all, of others what is shared."""
    if viewer.pk == owner.pk:
        return EVERYTHING
    if settings.BIGMIND_MODE == "personal" or not owner.is_active:
        return NOTHING
    return sharing_of(owner).sections


def people_sharing(section: ProfileSection = ProfileSection.WHO) -> QuerySet[User]:
    """Return the people of the directory who share a section with everyone here. In personal mode nobody does."""
    people = User.objects.filter(is_active=True)
    if settings.BIGMIND_MODE == "personal":
        return people.none()
    sections = {ProfileSection.WHO, section}
    chosen = Q(sharing__in_directory=True, sharing__sections__contains=sorted(sections))
    return people.filter(chosen | Q(sharing=None) if sections <= default_sections() else chosen)


def people_shown(viewer: User, section: ProfileSection = ProfileSection.WHO) -> QuerySet[User]:
    """Return the people whose section the directory shows to a user: in personal mode themselves alone."""
    if settings.BIGMIND_MODE == "personal":
        return User.objects.filter(pk=viewer.pk)
    return people_sharing(section)
