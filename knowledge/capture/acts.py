"""What agents did, as the program for acts tells afterwards: a record for its user alone, and what fired."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.actor import Actor
from bigmind.triggers import TRIGGER_CHARS
from knowledge.models import Act, ActRecord, CapturePolicy, Firing, Kind, TriggerLevel
from knowledge.models.conversations import KEEP_DAYS

from .policies import is_excluded, policy_of
from .reports import clean

KEPT_ACTS = 5_000
"""Of one user. Beyond them the oldest go, however long the rest is kept."""
COMMAND_CHARS, ERROR_CHARS, PATHS = 2_000, 1_000, 20


@dataclass(frozen=True)
class NotedFiring:
    """What fired at an act: an entry or a fact, by which trigger, how far it went, and whether it was brought."""

    kind: str
    source_id: str
    trigger: str
    level: str
    brought: bool


@dataclass(frozen=True)
class NotedAct:
    """One act as the hook noted it, without secrets."""

    told_id: str
    at: datetime
    conversation: str
    folder: str
    moment: str
    tool: str
    command: str
    paths: Sequence[str]
    error: str
    fired: Sequence[NotedFiring] = field(default_factory=list)


@transaction.atomic
def keep_acts(actor: Actor, client: str, acts: Sequence[NotedAct]) -> None:
    """Keep what was done and what fired at it. The same act counts once; what the user wants not kept is not.

    Of a user who keeps no record nothing is kept, also not that something fired: nobody counts them.
    """
    policy = policy_of(actor)
    if policy.acts == ActRecord.OFF:
        return
    kept_acts = [act for act in acts if not is_excluded(policy, act.folder)]
    if not kept_acts:
        return
    rows = [_row(actor, client, act) for act in kept_acts if act.command or act.paths or act.error or act.tool]
    Act.objects.bulk_create(rows, ignore_conflicts=True)
    _drop_beyond(actor)
    # Read again: an act that was reported before keeps its first row, and one that is too many has none.
    known = dict(
        Act.objects.filter(user=actor.user, told_id__in=[one.told_id for one in kept_acts]).values_list("told_id", "pk")
    )
    Firing.objects.bulk_create(
        [
            Firing(
                user=actor.user,
                told_id=act.told_id,
                act_id=known.get(act.told_id),
                kind=fired.kind,
                source_id=fired.source_id,
                trigger=clean(fired.trigger, TRIGGER_CHARS).text,
                level=fired.level,
                team=actor.user.team,
                brought=fired.brought,
                client=client,
                conversation=act.conversation,
                at=act.at,
            )
            for act in kept_acts
            for fired in _of_known_kinds(act.fired)
        ],
        ignore_conflicts=True,
    )


def forget_old_acts(chosen: Mapping[UUID, int]) -> None:
    """Delete the records that are older than their users want.

    What fired for users who keep no record goes, too: it came before they chose so, or while they did.

    `chosen` has the days of those who chose how long what was captured is kept.
    """
    now = timezone.now()
    Act.objects.exclude(user__in=list(chosen)).filter(at__lt=now - timedelta(days=KEEP_DAYS)).delete()
    for user, days in chosen.items():
        Act.objects.filter(user=user, at__lt=now - timedelta(days=days)).delete()
    Firing.objects.filter(user__in=CapturePolicy.objects.filter(acts=ActRecord.OFF).values("user")).delete()


def _of_known_kinds(fired: Collection[NotedFiring]) -> list[NotedFiring]:
    """Return the firings whose kind and level are known ones; a hook could tell anything."""
    kinds = {str(Kind.COMPANY), str(Kind.ENTRY), str(Kind.FACT)}
    return [one for one in fired if one.kind in kinds and one.level in TriggerLevel.values and one.source_id]


def _row(actor: Actor, client: str, act: NotedAct) -> Act:
    return Act(
        user=actor.user,
        told_id=act.told_id,
        client=client,
        conversation=act.conversation,
        folder=act.folder,
        at=act.at,
        moment=act.moment,
        tool=act.tool,
        command=clean(act.command, COMMAND_CHARS).text,
        paths=list(act.paths)[:PATHS],
        error=clean(act.error, ERROR_CHARS).text,
    )


def _drop_beyond(actor: Actor) -> None:
    mine = Act.objects.filter(user=actor.user).order_by("-at")
    beyond = mine.values_list("at", flat=True)[KEPT_ACTS : KEPT_ACTS + 1]
    # At most one: the newest act that is too many.
    for moment in beyond:
        Act.objects.filter(user=actor.user, at__lte=moment).delete()
