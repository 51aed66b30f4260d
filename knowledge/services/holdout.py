"""Holdout: withholds entries at random now and then, with consent, to learn whether receiving them helps.

The draw is over exactly what a session was about to receive, item by item, by a keyed hash of session and item: it can
be repeated at any time, and an item that is withheld once stays withheld for the session. Without consent nothing is
drawn, and every answer is what it would be without this module.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction
from django.utils.crypto import salted_hmac

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.fixed_queries import FixedQuery
from bigmind.core.live_settings import live
from bigmind.core.read_only import is_read_only
from knowledge.kinds import KINDS
from knowledge.models import (
    DIGEST_CHARS,
    CapturePolicy,
    Category,
    HoldoutConsent,
    HoldoutDraw,
    Kind,
    Proof,
    Session,
)
from knowledge.services.current_sessions import session_of_agent
from knowledge.services.exposures import Exposure

SAFETY = frozenset({"safety", "security"})
"""What has one of these among its topics or tags is never withheld."""
BLOCKING = "block"
SHARED = (Kind.COMPANY, Kind.ENTRY)
DOUBTED_PERCENT = 50
"""In how many of 100 sessions an entry that looks harmful is withheld, until that is sure or gone: with half of the
sessions on either side, the difference is known soonest. Decision 55."""

log = structlog.get_logger()


def kinds_withheld_from(actor: Actor) -> frozenset[str]:
    """Return the kinds of things that may be withheld from the agents of a user: none without consent.

    The admins decide first, then the user: anyone who chose “nothing” is left out even if the team takes part.
    """
    if live.HOLDOUT == "off" or is_read_only() or not actor.is_agent:
        return frozenset()
    consent = consent_of(actor.user)
    if consent == HoldoutConsent.NEVER:
        return frozenset()
    return frozenset({*SHARED, *([Kind.FACT] if consent == HoldoutConsent.ALL else [])})


def consent_of(user: User) -> str:
    """Return what may be withheld from a user's agents: their own choice, else the team's."""
    chosen = next(iter(_CONSENT(user.pk)), "")
    return chosen or (HoldoutConsent.SHARED if live.HOLDOUT == "everyone" else HoldoutConsent.NEVER)


_CONSENT = FixedQuery(lambda user_id: CapturePolicy.objects.filter(user=user_id).values_list("holdout", flat=True)[:1])


def is_withheld(session_id: UUID, one: Exposure, percent: int) -> bool:
    """Draw for one item in one session: always with the same result, as long as the share is the same."""
    drawn = salted_hmac("bigmind.holdout", f"{session_id}:{one.kind}:{one.source_id}", algorithm="sha256").digest()
    return bool(int.from_bytes(drawn[:8]) % 100 < percent)


def draw(actor: Actor, session_id: UUID, things: Iterable[Exposure]) -> list[HoldoutDraw]:
    """Draw for each item that a session is about to receive and that may be withheld; nothing is stored yet."""
    kinds = kinds_withheld_from(actor)
    if not kinds:
        return []
    eligible = _read_eligible(actor.user, [one for one in things if one.kind in kinds])
    percents = _read_percents(session_id, eligible)
    return [
        HoldoutDraw(
            session_id=session_id,
            user=actor.user,
            kind=one.kind,
            source_id=one.source_id,
            version=thing.digest[:DIGEST_CHARS],
            percent=percents[one],
            withheld=is_withheld(session_id, one, percents[one]),
        )
        for one, thing in eligible.items()
    ]


def keep_draws(draws: Collection[HoldoutDraw]) -> set[tuple[str, str]]:
    """Record draws of a session that exists; return kind and id of what is withheld."""
    # What this session drew before keeps its first draw.
    HoldoutDraw.objects.bulk_create(sorted(draws, key=lambda one: (one.kind, one.source_id)), ignore_conflicts=True)
    return find_withheld(draws)


def find_withheld(draws: Iterable[HoldoutDraw]) -> set[tuple[str, str]]:
    """Return kind and id of what is withheld."""
    return {(one.kind, one.source_id) for one in draws if one.withheld}


def withhold(actor: Actor, session: Session | None, things: Iterable[Exposure]) -> set[tuple[str, str]]:
    """Draw for what a recall is about to return; return kind and id of what it leaves out.

    Only what can be recorded is withheld: else no session would ever learn of it.
    """
    draws = draw(actor, session.pk, things) if session else []
    try:
        with transaction.atomic():
            return keep_draws(draws) if draws else set()
    except DatabaseError as error:
        log.warning("What was to be withheld was told, because it could not be recorded.", error=error)
        return set()


def withhold_found(actor: Actor, things: Iterable[Exposure]) -> set[tuple[str, str]]:
    """Draw for the answer to an agent's question; return kind and id of what it leaves out."""
    if not kinds_withheld_from(actor):
        return set()
    return withhold(actor, session_of_agent(actor), things)


def list_withheld(session: Session) -> set[tuple[str, str]]:
    """Return kind and id of what was withheld from a session until now."""
    return set(session.draws.filter(withheld=True).values_list("kind", "source_id"))


def _read_eligible(user: User, things: Collection[Exposure]) -> Mapping[Exposure, Any]:
    ids: dict[str, list[Any]] = defaultdict(list)
    for one in things:
        ids[one.kind].append(KINDS[one.kind].read_id(one.source_id))
    found = {
        Exposure(kind, str(thing.pk)): thing
        for kind, keys in ids.items()
        for thing in KINDS[kind].visible(user).filter(pk__in=keys)
        if not _is_safety(thing)
    }
    return {one: found[one] for one in things if one in found}


def _read_percents(session_id: UUID, things: Collection[Exposure]) -> Mapping[Exposure, int]:
    """Return in how many of 100 sessions each of these is withheld; what this session drew before, as it was then."""
    company = [int(one.source_id) for one in things if one.kind == Kind.COMPANY]
    doubted = set(Proof.objects.filter(entry__in=company, doubted=True).values_list("entry_id", flat=True))
    drawn = HoldoutDraw.objects.filter(session=session_id, percent__gt=0).values_list("kind", "source_id", "percent")
    now = {
        one: DOUBTED_PERCENT if one.kind == Kind.COMPANY and int(one.source_id) in doubted else live.HOLDOUT_PERCENT
        for one in things
    }
    return now | {Exposure(kind, source_id): percent for kind, source_id, percent in drawn}


def _is_safety(thing: Any) -> bool:
    """Whether something must always be sent: marked as safety, a user's constraint, or what blocks an act."""
    names = {name.casefold() for name in (*getattr(thing, "topics", ()), *getattr(thing, "tags", ()))}
    levels = (*getattr(thing, "trigger_levels", {}).values(), getattr(thing, "trigger_level", ""))
    return bool(names & SAFETY) or BLOCKING in levels or getattr(thing, "category", "") == Category.CONSTRAINT
