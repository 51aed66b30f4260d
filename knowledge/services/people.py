"""What people are found by: the topics and headlines they share, as passages that everybody here may search.

The passages of a person have nothing that the person does not share, and whoever reads a hit compares it with what is
shared at that moment: between two answers someone may have changed their mind.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.conf import settings
from django.db import transaction
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.people.profiles import SectionNames, choose_sharing, people_sharing
from bigmind.core.sections import ProfileSection
from bigmind.core.text import digest
from knowledge.models import Kind, Passage
from knowledge.search.passages import erase_passages, queue_vectors

from .headlines import SessionIds, choose_headlines, headlines_of_each
from .topics import MOST, topics_of_each

InDirectory = Annotated[bool, Field(description="Whether the directory names the person.")]

Lines = dict[str, str]
"""What a person is found by: each text, and whether it is a `topic` or a `headline`."""


@transaction.atomic
def change_sharing(actor: Actor, *, sections: SectionNames, in_directory: InDirectory, session_ids: SessionIds) -> None:
    """Say what others see of the person, which headlines among it, and whether the directory names them."""
    choose_sharing(actor, sections=sections, in_directory=in_directory)
    choose_headlines(actor, session_ids=session_ids)
    index_person(actor.user)


def index_person(user: User) -> None:
    """Bring the passages of a person in line with what they share. What stays the same is not written again."""
    if not _difference(user).is_none:
        # Two sessions that end at once would number the same new passages.
        User.objects.select_for_update(no_key=True).filter(pk=user.pk).first()
        _settle(user, _difference(user))


def index_people() -> None:
    """Do so for everybody, and forget the passages of who is gone: what no single write could foresee."""
    indexed = Passage.objects.filter(kind=Kind.PERSON).order_by().values_list("source_id", flat=True).distinct()
    sharing = people_sharing(ProfileSection.TOPICS) | people_sharing(ProfileSection.HEADLINES)
    known = User.objects.in_bulk([UUID(pk) for pk in indexed]) | {user.pk: user for user in sharing}
    erase_passages(Kind.PERSON, [pk for pk in indexed if UUID(pk) not in known])
    for user in known.values():
        with transaction.atomic():
            index_person(user)


@dataclass(frozen=True)
class _Difference:
    """What is indexed and no longer shared, what is shared and not indexed yet, and the first free place."""

    stale: list[int]
    new: list[str]
    free: int

    @property
    def is_none(self) -> bool:
        return not (self.stale or self.new)


def _difference(user: User) -> _Difference:
    lines = lines_of([user.pk]).get(user.pk, {})
    passages = Passage.objects.filter(kind=Kind.PERSON, source_id=str(user.pk))
    indexed = {text: (pk, ordinal) for pk, text, ordinal in passages.values_list("pk", "text", "ordinal")}
    return _Difference(
        stale=[pk for text, (pk, _) in indexed.items() if text not in lines],
        new=[text for text in lines if text not in indexed],
        free=1 + max((ordinal for _, ordinal in indexed.values()), default=-1),
    )


def _settle(user: User, difference: _Difference) -> None:
    Passage.objects.filter(pk__in=difference.stale).delete()
    added = Passage.objects.bulk_create(
        Passage(kind=Kind.PERSON, source_id=str(user.pk), ordinal=ordinal, text=text, digest=digest(text))
        for ordinal, text in enumerate(difference.new, start=difference.free)
    )
    if added:
        queue_vectors([passage.pk for passage in added])


def lines_of(users: Collection[UUID]) -> dict[UUID, Lines]:
    """Return what each of these people is found by now; whoever shares nothing is left out."""
    topics = _among(users, ProfileSection.TOPICS)
    headlines = _among(users, ProfileSection.HEADLINES)
    found: dict[UUID, Lines] = {}
    for user, topics_ in topics_of_each(topics, limit=MOST).items() if topics else ():
        found.setdefault(user, {}).update({topic.name: "topic" for topic in topics_})
    for user, texts in headlines_of_each(headlines).items() if headlines else ():
        found.setdefault(user, {}).update(dict.fromkeys(texts, "headline"))
    return found


def _among(users: Collection[UUID], section: ProfileSection) -> list[UUID]:
    """Those of these people who share a section: in personal mode everybody, as nobody else is there to read it."""
    people = User.objects.all() if settings.BIGMIND_MODE == "personal" else people_sharing(section)
    return list(people.filter(pk__in=users).values_list("pk", flat=True))
