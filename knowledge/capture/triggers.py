"""The triggers that hold for a user, compiled and signed for the program that compares acts with them."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.text import fold_name
from bigmind.core.triggers import compile_trigger
from knowledge.kinds import KINDS
from knowledge.models import ActRecord, CompanyEntry, Entry, Fact, Kind, TriggerLevel
from knowledge.services.trigger_levels import level_of

from .policies import policy_of

SET_ITEMS = 2_000
"""Entries and facts with triggers that one user's hooks receive; the most important first."""
REMEMBERED_FOR = 24 * 3600

Item = dict[str, Any]


def renew_triggers(actor: Actor, signature: str) -> str:
    """Return the triggers of a user as their hook keeps them in a file; empty if it has just these.

    The first line signs the second: HMAC-SHA256 (RFC 2104) under the digest of the key that the hook called with. So a
    file that someone changed who does not know the key is not used. Acts are compared with the second line; the third,
    whose digest is in the second, is sent. Where nothing has changed since the last time, nothing is rendered.
    """
    if actor.key is None:
        return ""
    records = policy_of(actor).acts != ActRecord.OFF
    remembered, version = f"triggers:{actor.key.pk}", _version(actor, records=records)
    if signature and cache.get(remembered) == f"{version} {signature}":
        return ""
    found = list(islice(_things(actor), SET_ITEMS))
    texts = _json({item["h"]: told for item, told in found})
    compared = _json(
        {
            "records": records,
            "texts": hashlib.sha256(texts.encode()).hexdigest(),
            "items": [item for item, _ in found],
        }
    )
    signed = hmac.new(actor.key.digest.encode(), compared.encode(), hashlib.sha256).hexdigest()
    cache.set(remembered, f"{version} {signed}", REMEMBERED_FOR)
    return "" if hmac.compare_digest(signed.encode(), signature.encode()) else f"{signed}\n{compared}\n{texts}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _sources(actor: Actor) -> tuple[tuple[Kind, "QuerySet[Any]", str, str], ...]:
    """Return what may have triggers: the kind, the rows that have some, whose name is sent, and the order."""
    facts = Fact.objects.of(actor.user).current().without_past()
    kinds: tuple[tuple[Kind, QuerySet[Any], str, str], ...] = (
        (Kind.COMPANY, CompanyEntry.objects.approved(), "decided_by", "-importance"),
        (Kind.ENTRY, Entry.objects.all(), "created_by", "-confidence"),
        (Kind.FACT, facts, "user", "-created_at"),
    )
    return tuple((kind, rows.exclude(triggers=[]), person, order) for kind, rows, person, order in kinds)


def _version(actor: Actor, *, records: bool) -> str:
    """Return a digest that changes with whatever a set is made of. PostgreSQL gives each version of a row its `xmin`.

    The day is in it because the label of an entry follows from the date.
    """
    made_of: list[Any] = [settings.PUBLIC_URL, actor.key and actor.key.digest, actor.user.team, records]
    made_of.append(str(timezone.localdate()))
    for _, rows, person, _ in _sources(actor):
        row_version = RawSQL(f'"{rows.model._meta.db_table}"."xmin"::text', ())  # noqa: S611 - a name of ours
        names = f"{person}__display_name", f"{person}__username"
        made_of.append(sorted(map(str, rows.order_by().values_list("pk", row_version, *names))))
    return hashlib.sha256(_json(made_of).encode()).hexdigest()


def _things(actor: Actor) -> Iterator[tuple[Item, Item]]:
    for kind, rows, person, order in _sources(actor):
        for thing in rows.select_related(person).order_by(order, "pk"):
            yield from _thing(kind, thing, actor.user.team)


def _compile(triggers: Iterable[str]) -> Iterator[list[Any]]:
    """Yield stored triggers as hooks compare them. One that cannot be read any more, as a text was removed from it, is
    left out alone: the set has those of everybody.
    """
    for text in triggers:
        with suppress(ValueError):
            yield [*compile_trigger(text), text]


def _thing(kind: Kind, thing: Any, team: str) -> Iterator[tuple[Item, Item]]:
    is_fact = kind is Kind.FACT
    level = TriggerLevel(thing.trigger_level) if is_fact else level_of(thing.trigger_levels, team)
    if level is TriggerLevel.OFF:
        return
    if level in {TriggerLevel.ASK, TriggerLevel.BLOCK} and thing.is_false_in_code:
        level = TriggerLevel.ADVISE  # nobody is held back by what the code has made false
    handle = {Kind.COMPANY: f"C{thing.pk}", Kind.ENTRY: f"KB-{str(thing.pk)[:8]}"}.get(kind) or f"F{thing.number}"
    folded = "".join(char for char in fold_name(thing.project) if char.isalnum())
    item = {
        "k": kind,
        "i": str(thing.number if is_fact else thing.pk),
        "h": handle.upper(),
        "l": level,
        "p": [folded] if folded else [],
        "t": list(_compile(thing.triggers)),
    }
    says = render_to_string("agent/trigger.md", {"kind": kind, "handle": handle, "thing": thing}, using="agent").strip()
    page = f"{settings.PUBLIC_URL}{reverse(KINDS[kind].route, args=[thing.pk])}"
    yield item, {"says": says, "page": page, "own": is_fact}
