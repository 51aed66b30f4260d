"""Instances: the BigMinds on people's machines that are registered here, and what the company sends them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import Instance
from accounts.people.sharing import people_shown
from bigmind.core.argument_types import Cursor, Limit, Offset
from bigmind.core.errors import Conflict, NotFound
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.pagination import Page, page_of
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.hygiene import clean_name
from knowledge.models import CompanyEntry
from knowledge.models.base import delete_keeping_id

MOST_EACH = 20
EACH_SHOWN = 5
KEPT = timedelta(days=180)


def _web_origin(url: str) -> str:
    """Refuse what a page must not link to: a link is what others click on."""
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password):
        raise ValueError("must look like https://laptop.example.com, without a name or a password, or be left out")
    return url


InstanceId = Annotated[UUID, Field(description="The instance's own UUID, which it generated once.")]
InstanceName = Annotated[
    str,
    Field(max_length=100),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=100, description="What people call it, such as the name of the machine."),
]
InstanceVersion = Annotated[
    str, Field(max_length=50), AfterValidator(clean_name), Field(max_length=50, description="Its version of BigMind.")
]
InstanceUrl = Annotated[
    str,
    Field(max_length=200, description="Where its own pages are, if others can reach them."),
    AfterValidator(clean_name),
    AfterValidator(_web_origin),
]
StatisticName = Literal["sessions", "facts", "notes", "entries", "agents", "proposals"]
HowMany = Annotated[int, Field(ge=0, le=10**9)]
Statistics = Annotated[dict[StatisticName, HowMany], Field(description="How much it holds: only counts.")]


@dataclass(frozen=True)
class Registration:
    """How an instance is listed, and whether the company knows something new."""

    instance: Instance
    knowledge: Annotated[str, Field(description="Changes whenever an entry is approved, changed or revoked.")]
    entries: Annotated[int, Field(description="How many company entries are approved.")]


@transaction.atomic
def register_instance(
    actor: Actor,
    *,
    instance_id: InstanceId,
    name: InstanceName,
    version: InstanceVersion = "",
    url: InstanceUrl = "",
    statistics: Statistics | None = None,
) -> Registration:
    """Report that your BigMind is online: on its first start, and every few minutes from then on.

    A BigMind that has BIGMIND_COMPANY_URL does this by itself. Returns its listing, and a mark that changes whenever
    company knowledge does.
    """
    # Else several that report for the first time at once would all be below the limit.
    wait_for_turn(AdvisoryLock.INSTANCES, actor.user.pk)
    values = {"name": name, "version": version, "url": url, "statistics": statistics or {}, "last_seen": timezone.now()}
    mine = Instance.objects.filter(user=actor.user)
    if not mine.filter(identity=instance_id).update(**values):
        if mine.count() >= MOST_EACH:
            raise Conflict(
                f"{MOST_EACH} instances of yours are registered, which is the limit.",
                hint="directory_forget_instance removes one that is no longer used.",
            )
        Instance.objects.create(user=actor.user, identity=instance_id, **values)
    mark, entries = state_of_company_knowledge()
    return Registration(mine.select_related("user").get(identity=instance_id), mark, entries)


def list_instances(
    actor: Actor, *, limit: Limit = 20, offset: Offset = 0, cursor: Cursor | None = None
) -> Page[Instance]:
    """List the BigMinds on people's own machines: yours, and those of people who share their agents.

    Call this to see which instances exist and whether they are online. Returns those seen last first.
    """
    instances = instances_shown(actor).order_by("-last_seen", "pk")
    return page_of(instances, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def forget_instance(actor: Actor, *, instance_id: InstanceId) -> Instance:
    """Remove your instance from the list. It comes back when it reports again: revoke its key first.

    Call this when a machine is no longer used. Returns its listing.
    """
    instance = Instance.objects.select_related("user").filter(user=actor.user, identity=instance_id).first()
    if instance is None:
        raise NotFound("You have no such instance.", hint="directory_list_instances shows them.")
    delete_keeping_id(instance)
    return instance


def instances_shown(actor: Actor) -> "QuerySet[Instance]":
    """Return the instances that someone may see: their own, and those of people who share their agents."""
    sharing = people_shown(actor.user, ProfileSection.AGENTS).order_by().values("pk")
    return Instance.objects.filter(Q(user=actor.user) | Q(user__in=sharing)).select_related("user")


def instances_of_each(users: Iterable[UUID]) -> dict[UUID, list[Instance]]:
    """Return the instances of each of these people that were seen last."""
    found: dict[UUID, list[Instance]] = {}
    for instance in Instance.objects.filter(user__in=list(users)).order_by("-last_seen", "pk"):
        shown = found.setdefault(instance.user_id, [])
        if len(shown) < EACH_SHOWN:
            shown.append(instance)
    return found


def state_of_company_knowledge() -> tuple[str, int]:
    """Return a mark of all that is approved, and how many entries that is.

    It changes with every entry that is approved, changed or withdrawn, so a client with a copy reads again only then.
    """
    entries = CompanyEntry.objects.own().approved().order_by()
    # Number and ids change with what is approved or withdrawn, also where one entry takes the place of another;
    # revisions and dates with what is edited.
    state = entries.aggregate(Count("pk"), Sum("pk"), Sum("revision"), Max("updated_at"))
    return hashlib.sha256(repr(sorted(state.items())).encode()).hexdigest()[:32], state["pk__count"]
