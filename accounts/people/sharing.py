"""Sharing: which sections of one's page others see, by choice or by default, and whom the directory names."""

from dataclasses import dataclass
from typing import Annotated

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Sharing, User
from bigmind.core.profile_sections import SHARED_IN_A_TEAM, ProfileSection
from bigmind.core.replicas import note_write_for_all

SectionNames = Annotated[
    list[ProfileSection], Field(max_length=len(ProfileSection), description="What everybody here may see.")
]

NOTHING: frozenset[ProfileSection] = frozenset()
EVERYTHING = frozenset(ProfileSection)


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


def lets_curators_see_told(user: User) -> bool:
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
    wanted = {ProfileSection.WHO, section}
    chosen = Q(sharing__in_directory=True, sharing__sections__contains=sorted(wanted))
    return people.filter(chosen | Q(sharing=None) if wanted <= default_sections() else chosen)


def people_shown(viewer: User, section: ProfileSection = ProfileSection.WHO) -> QuerySet[User]:
    """Return the people whose section the directory shows to a user: in personal mode themselves alone."""
    if settings.BIGMIND_MODE == "personal":
        return User.objects.filter(pk=viewer.pk)
    return people_sharing(section)
