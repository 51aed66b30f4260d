"""What people are found by: the topics and headlines they share, as passages that everybody here may search."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Func, QuerySet, TextField, Window
from django.db.models.functions import RowNumber
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.people.sharing import SectionNames, choose_sharing, people_sharing
from bigmind.database.rls import rls_bypass
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.hygiene import digest
from knowledge.models import Kind, Passage, Session, ShownHeadline
from knowledge.models.sessions import SessionQuerySet
from knowledge.search.filters import Scope
from knowledge.search.passages import erase_passages, queue_vectors
from knowledge.shapes.directory import TopicShape

MOST = 50
"""Topics of one person that are shown, and by which others find them: the ones that occur most."""

OFFERED = 30
"""The newest sessions whose headlines can be chosen. What was chosen earlier is offered as well."""

SessionIds = Annotated[list[UUID], Field(max_length=200, description="The sessions whose headlines others may read.")]

InDirectory = Annotated[bool, Field(description="Whether the directory names the person.")]

CuratorsSeeTold = Annotated[
    bool, Field(description="Whether curators may see what their agent had been told when it proposed something.")
]

Lines = dict[str, str]
"""What a person is found by: each text, and whether it is a `topic` or a `headline`."""


def topics_of(user: User, *, limit: int = MOST) -> list[TopicShape]:
    """Return what someone's sessions in view were about, the most frequent first."""
    return topics_of_each([user.pk], limit=limit).get(user.pk, [])


@rls_bypass()
def topics_of_each(users: Collection[UUID], *, limit: int) -> dict[UUID, list[TopicShape]]:
    """Return the same for many people, in one query."""
    counted = _topics(Session.objects.filter(user__in=users)).values("user", "topic").annotate(sessions=Count("pk"))
    rank = Window(RowNumber(), partition_by=F("user"), order_by=[F("sessions").desc(), F("topic").asc()])
    found: dict[UUID, list[TopicShape]] = {}
    for row in counted.annotate(rank=rank).filter(rank__lte=limit).order_by("user", "rank"):
        found.setdefault(row["user"], []).append(TopicShape(name=row["topic"], sessions=row["sessions"], people=1))
    return found


@rls_bypass()
def topics_among(people: QuerySet[User], *, limit: int) -> list[TopicShape]:
    """Return what the sessions of these people were about: what most of them had to do with comes first."""
    counted = _topics(Session.objects.filter(user__in=people.order_by().values("pk"))).values("topic")
    ranked = counted.annotate(sessions=Count("pk"), people=Count("user", distinct=True))
    rows = ranked.order_by("-people", "-sessions", "topic")[:limit]
    return [TopicShape(name=row["topic"], sessions=row["sessions"], people=row["people"]) for row in rows]


def _topics(sessions: QuerySet[Session]) -> QuerySet[Any]:
    unnested = Func(F("topics"), function="unnest", output_field=TextField(), set_returning=True)
    return sessions.filter(set_aside_at=None).exclude(topics=[]).order_by().annotate(topic=unnested)


def headlines_to_offer(user: User) -> list[Session]:
    """Return the sessions whose headlines someone may choose to show, the newest first."""
    offered = Session.objects.of(user).in_view().exclude(one_liner="").exclude(auto_closed=True)
    newest = offered.newest_first().values("pk")[:OFFERED]
    shown = ShownHeadline.objects.of(user).values("session")
    return list((offered.filter(pk__in=newest) | offered.filter(pk__in=shown)).newest_first())


def visible_headlines(user: User) -> QuerySet[ShownHeadline]:
    """Return the headlines that someone shows, of the newest session first."""
    return ShownHeadline.objects.of(user).in_view().newest_first().select_related("session")


@rls_bypass()
def headlines_of_each(users: Collection[UUID]) -> dict[UUID, list[str]]:
    """Return the headlines that each of these people shows."""
    found: dict[UUID, list[str]] = {}
    rows = ShownHeadline.objects.filter(session__user__in=users).in_view().newest_first()
    for user, text in rows.values_list("session__user", "text"):
        found.setdefault(user, []).append(text)
    return found


@transaction.atomic
def choose_headlines(actor: Actor, *, session_ids: SessionIds) -> None:
    """Show the headlines of these sessions of the actor, as they are worded now, and no others."""
    mine: SessionQuerySet = Session.objects.of(actor.user).in_view().exclude(one_liner="")
    chosen = list(mine.filter(pk__in=session_ids))
    ShownHeadline.objects.of(actor.user).exclude(session__in=chosen).delete()
    for session in chosen:
        ShownHeadline.objects.update_or_create(session=session, defaults={"text": session.one_liner})


@transaction.atomic
def change_sharing(
    actor: Actor,
    *,
    sections: SectionNames,
    in_directory: InDirectory,
    session_ids: SessionIds,
    curators_see_told: CuratorsSeeTold = False,
) -> None:
    """Say what others see of the person, which headlines among it, whether the directory names them.

    Also whether curators see what the person's agents had received when they proposed something.
    """
    choose_sharing(actor, sections=sections, in_directory=in_directory, curators_see_told=curators_see_told)
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
    indexed = (
        Passage.objects.filter(owner=None, kind=Kind.PERSON).order_by().values_list("source_id", flat=True).distinct()
    )
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
    passages = Passage.objects.filter(owner=None, kind=Kind.PERSON, source_id=str(user.pk))
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
        queue_vectors([passage.pk for passage in added], Scope(None))


def lines_of(users: Collection[UUID]) -> dict[UUID, Lines]:
    """Return the passages of each of these people; those who share nothing are left out."""
    topics = _among(users, ProfileSection.TOPICS)
    headlines = _among(users, ProfileSection.HEADLINES)
    found: dict[UUID, Lines] = {}
    for user, topics_ in topics_of_each(topics, limit=MOST).items() if topics else ():
        found.setdefault(user, {}).update({topic.name: "topic" for topic in topics_})
    for user, texts in headlines_of_each(headlines).items() if headlines else ():
        found.setdefault(user, {}).update(dict.fromkeys(texts, "headline"))
    return found


def _among(users: Collection[UUID], section: ProfileSection) -> list[UUID]:
    """Those of these people who share a section: in personal mode everybody, as no one else is there to read it."""
    people = User.objects.all() if settings.BIGMIND_MODE == "personal" else people_sharing(section)
    return list(people.filter(pk__in=users).values_list("pk", flat=True))
