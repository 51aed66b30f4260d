"""What fired at the acts of agents, as the program for acts tells afterwards: counted, without the acts themselves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from bigmind.triggers import TRIGGER_CHARS
from knowledge.models import ActRecord, CapturePolicy, Firing, Kind, TriggerLevel

from .policies import is_excluded, policy_of
from .reports import clean


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
    """One act at which something fired."""

    told_id: str
    at: datetime
    conversation: str
    folder: str
    fired: Sequence[NotedFiring]


@transaction.atomic
def keep_firings(actor: Actor, client: str, acts: Sequence[NotedAct]) -> None:
    """Count what fired. The same act counts once; what the user wants not counted is not."""
    policy = policy_of(actor)
    if policy.acts == ActRecord.OFF:
        return
    Firing.objects.bulk_create(
        [
            Firing(
                user=actor.user,
                told_id=act.told_id,
                kind=fired.kind,
                source_id=fired.source_id,
                trigger=clean(fired.trigger, TRIGGER_CHARS).text,
                level=fired.level,
                brought=fired.brought,
                client=client,
                conversation=act.conversation,
                at=act.at,
            )
            for act in acts
            if not is_excluded(policy, act.folder)
            for fired in _of_known_kinds(act.fired)
        ],
        ignore_conflicts=True,
    )


def forget_uncounted_firings() -> None:
    """Delete what fired for users who want it not counted: it came before they chose so, or while they did."""
    Firing.objects.filter(user__in=CapturePolicy.objects.filter(acts=ActRecord.OFF).values("user")).delete()


def _of_known_kinds(fired: Collection[NotedFiring]) -> list[NotedFiring]:
    """Return the firings whose kind and level are known ones; a hook could tell anything."""
    kinds = {str(Kind.COMPANY), str(Kind.ENTRY), str(Kind.FACT)}
    return [one for one in fired if one.kind in kinds and one.level in TriggerLevel.values and one.source_id]
