"""The triggers that hold for a user, compiled and signed for the program that compares acts with them."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import F, QuerySet, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import RowNumber
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.text.hygiene import fold_name
from bigmind.triggers import compile_trigger
from knowledge.kinds import KINDS
from knowledge.memory.trigger_levels import level_of
from knowledge.models import ActRecord, CompanyEntry, Entry, Fact, Kind, TriggerLevel

from .policies import policy_of

SET_BYTES = 1024 * 1024
"""Of triggers and texts that one user's hooks receive. Escaped in a reply they stay below the 4 MiB a hook takes."""
UNDECIDED_OF_AUTHOR, UNDECIDED = 50, 500
"""Shared entries whose level nobody decided. They are only counted, so an author gets a share, and no more."""
REMEMBERED_FOR = 24 * 3600
MISSING = "guards:missing"
"""The cache's key for the shared guards that hooks did not receive, as of the last time that a set was made."""

Item = dict[str, Any]


def renew_triggers(actor: Actor, signature: str) -> str:
    """Return the triggers of a user as their hook keeps them in a file; empty if it has just these.

    The first line signs the second: HMAC-SHA256 (RFC 2104) under the digest of the key that the hook called with. So a
    file that someone changed who does not know the key is not used. Acts are compared with the second line; the third,
    whose digest is in the second, is sent. Where nothing has changed since the last time, nothing is rendered.

    What holds acts comes first, then the user's own facts, then what a curator decided, then the rest. What does not
    fit, or cannot be read, is named in the set: the hook says so to the person, and `guards_error` to admins.
    """
    if actor.key is None:
        return ""
    records = policy_of(actor).acts != ActRecord.OFF
    remembered, version = f"triggers:{actor.key.pk}", _version(actor, records=records)
    if signature and cache.get(remembered) == f"{version} {signature}":
        return ""
    items, chosen, missing = _choose(actor)
    texts = _json(chosen)
    digest = hashlib.sha256(texts.encode()).hexdigest()
    compared = _json({"records": records, "texts": digest, "items": items, "missing": missing})
    signed = hmac.new(actor.key.digest.encode(), compared.encode(), hashlib.sha256).hexdigest()
    cache.set(remembered, f"{version} {signed}", REMEMBERED_FOR)
    cache.set(MISSING, [handle for handle in missing if not handle.startswith("F")], REMEMBERED_FOR)
    return "" if hmac.compare_digest(signed.encode(), signature.encode()) else f"{signed}\n{compared}\n{texts}"


def guards_error() -> str:
    """Return which shared guards hooks do not receive; empty where they receive all."""
    missing: list[str] = cache.get(MISSING) or []
    return f"{len(missing)} reach no hook: {', '.join(missing[:10])}" if missing else ""


def _choose(actor: Actor) -> tuple[list[Item], dict[str, Item], list[str]]:
    """Return the items that fit, what each says, and the handles of guards that are missing."""
    items: list[Item] = []
    chosen: dict[str, Item] = {}
    missing: list[str] = []
    room = SET_BYTES
    for item, says in _things(actor):
        room -= len(_json([item, says]).encode())
        if room >= 0 and item["t"]:
            items.append(item)
            chosen[item["h"]] = says
        elif item["l"] != TriggerLevel.SHADOW:
            missing.append(item["h"])
    return items, chosen, missing


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _sources(actor: Actor) -> Iterator[tuple[Kind, "QuerySet[Any]", str]]:
    """Yield what may have triggers: the kind, the rows that have some, and whose name is sent."""
    facts = Fact.objects.of(actor.user).current().without_past()
    yield Kind.FACT, facts.exclude(triggers=[]).order_by("-created_at", "-pk"), "user"
    shared: tuple[tuple[Kind, QuerySet[Any], str, str, str], ...] = (
        (Kind.COMPANY, CompanyEntry.objects.approved(), "decided_by", "proposed_by", "-importance"),
        (Kind.ENTRY, Entry.objects.all(), "created_by", "created_by", "-confidence"),
    )
    for kind, rows, person, author, order in shared:
        has_some = rows.exclude(triggers=[])
        yield kind, has_some.exclude(trigger_levels={}).order_by(order, "pk"), person
        yield kind, _fair_shares(has_some.filter(trigger_levels={}), author, order), person


def _fair_shares(rows: "QuerySet[Any]", author: str, order: str) -> "QuerySet[Any]":
    """Return the rows whose level nobody decided, the best of each author first, so many at most of each."""
    rank = Window(RowNumber(), partition_by=[F(author)], order_by=[order, "pk"])
    shares: QuerySet[Any] = rows.annotate(rank=rank).filter(rank__lte=UNDECIDED_OF_AUTHOR)
    return shares.order_by("rank", order, "pk")[:UNDECIDED]


def _version(actor: Actor, *, records: bool) -> str:
    """Return a digest that changes with whatever a set is made of. PostgreSQL gives each version of a row its `xmin`.

    The day is in it because the label of an entry follows from the date.
    """
    made_of: list[Any] = [settings.PUBLIC_URL, actor.key and actor.key.digest, records]
    made_of.append(str(timezone.localdate()))
    for _, rows, person in _sources(actor):
        row_version = RawSQL(f'"{rows.model._meta.db_table}"."xmin"::text', ())  # noqa: S611 - a name of ours
        names = f"{person}__display_name", f"{person}__username"
        made_of.append(sorted(map(str, rows.values_list("pk", row_version, *names))))
    return hashlib.sha256(_json(made_of).encode()).hexdigest()


def _things(actor: Actor) -> Iterator[tuple[Item, Item]]:
    """Yield items: first what is shared and holds acts, then the user's own, then as `_sources` has them."""
    found = [
        item
        for kind, rows, person in _sources(actor)
        for thing in rows.select_related(person)
        for item in _thing(kind, thing)
    ]
    return iter(sorted(found, key=lambda one: _place(one[0])))


def _place(item: Item) -> int:
    """Return which items come first: an agent that fills its user's own facts takes no guard of the company's away."""
    if item["k"] != Kind.FACT and item["l"] in {TriggerLevel.ASK, TriggerLevel.BLOCK}:
        return 0
    if item["k"] == Kind.FACT:
        return 1
    return 2 if item["l"] == TriggerLevel.ADVISE else 3


def _compile(triggers: Iterable[str]) -> Iterator[list[Any]]:
    """Yield stored triggers as hooks compare them. One that cannot be read any more, as a text was removed from it, is
    left out alone: the set has those of everybody.
    """
    for text in triggers:
        with suppress(ValueError):
            yield [*compile_trigger(text), text]


def _thing(kind: Kind, thing: Any) -> Iterator[tuple[Item, Item]]:
    is_fact = kind is Kind.FACT
    level = TriggerLevel(thing.trigger_level) if is_fact else level_of(thing.trigger_levels)
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
