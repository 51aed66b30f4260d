"""Facts: store, list, correct, set aside, restore, erase."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from pydantic import Field

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.argument_types import AsOf, Confidence, Cursor, Limit, Offset, Project, Query, Reason
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.private_row_numbers import number_of
from bigmind.core.word_filters import has_words
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.pagination import FixedList, Page, page_of
from bigmind.text.days import iso_day
from bigmind.text.hygiene import digest, quote
from bigmind.text.periods import Period
from knowledge.argument_types import CategoryName, FactId, FactIds, FactText, SessionId, ValidFrom, ValidUntil
from knowledge.conversation.current_sessions import session_of_write
from knowledge.conversation.project_names import EVERYWHERE
from knowledge.exposures.context_receipts import note_erased
from knowledge.models import Category, Fact, Kind, Session
from knowledge.models.base import delete_keeping_id
from knowledge.models.facts import FactQuerySet, label_pairs
from knowledge.search.passages import erase_passages
from knowledge.search.question_periods import read_then, say_period
from knowledge.truth.contradictions import contradictions
from knowledge.truth.doubtful_facts import why_doubtful
from knowledge.truth.fact_index import index_fact
from knowledge.truth.fact_succession import SUCCESSOR, keep_for_then, replace_facts, set_aside, supersede
from knowledge.truth.near_duplicates import (
    CONTRADICTS,
    EXCERPT_CHARS,
    Similar,
    compare_by_words,
    find_repetitions,
    keep_beside,
    load_models,
    look_for,
)

QUOTED_CHARS = 300
ABOUT_THE_USER = (Category.IDENTITY, Category.PREFERENCE)


@dataclass(frozen=True)
class StoredFact:
    """The fact as stored, whether it was known before, and what it may contradict, repeat or replace.

    `archived` is the same fact, archived earlier, with the reason; `superseded` are those it replaced; `doubt` says
    why it comes last at a start, `in_profile` which part of the profile says nearly the same, and `left_over` asks
    for what says nearly the same as what it replaced.
    """

    fact: Fact
    duplicate: bool
    similar: list[Similar] = field(default_factory=list)
    archived: Fact | None = None
    superseded: list[Fact] = field(default_factory=list)
    doubt: str = ""
    in_profile: str = ""
    left_over: list[str] = field(default_factory=list)

    @property
    def session_handle(self) -> str:
        """The handle of the session it was stored in; empty where there is none."""
        return self.fact.session_handle

    @property
    def next_steps(self) -> list[str]:
        """The calls for the cases that it takes the place of what it resembles, or holds beside it."""
        own = [one for one in self.similar if one.kind == Kind.FACT]
        # A call for each: what one warning is wrong about would go with what another is right about.
        calls = []
        for one in [one for one in own if one.contradicts] or own:
            call = call_to_replace(self.fact, one)
            outdated = f"If {one.handle} is outdated: {call}. If both are true, send despite in its place."
            calls.append(outdated if one.contradicts else f"If it takes the place of {one.handle}: {call}")
        if any(one.contradicts and one.kind == Kind.COMPANY for one in self.similar):
            calls.append("If the company knowledge is wrong or outdated: memory_feedback.")
        return [*calls, *self.left_over]


def call_to_replace(fact: Fact, other: Similar) -> str:
    """Return the call that lets a stored fact replace another."""
    text = fact.fact if len(fact.fact) <= QUOTED_CHARS else "the same text"
    quoted = json.dumps(text, ensure_ascii=False)
    return f'memory_store_fact(category="{fact.category}", fact={quoted}, supersedes=[{number_of(other.id)}])'


def replace_too(new: Fact, old: Sequence[Fact], but: Sequence[Similar] = ()) -> list[str]:
    """Ask for what says nearly the same as replaced facts, whether the new one replaces that, too."""
    near = {one.id: one for fact in old for one in find_repetitions(fact)}
    for known in (new.pk, *(one.id for one in but)):
        near.pop(known, None)
    return [
        f"{one.handle} {quote(one.excerpt)} says nearly what was replaced. Replace it, too? {call_to_replace(new, one)}"
        for one in near.values()
    ]


@dataclass(frozen=True)
class FactPage(Page[Fact]):
    """A page of facts. `as_of` has the days asked for: what was true then, even if replaced since."""

    as_of: str = ""

    def __post_init__(self) -> None:
        """Label both facts of a pair that may contradict each other."""
        label_pairs(self.items)


@transaction.atomic
def store_fact(
    actor: Actor,
    *,
    category: CategoryName,
    fact: FactText,
    confidence: Confidence = 1.0,
    project: Project = "",
    source_session: SessionId | None = None,
    supersedes: Annotated[FactIds, Field(description="Facts it replaces.")] | None = None,
    despite: Annotated[FactIds, Field(description="Facts that stay valid beside it.")] | None = None,
    valid_from: ValidFrom | None = None,
    valid_until: ValidUntil | None = None,
) -> StoredFact:
    """Remember one lasting truth about the user or their work.

    Call this when the user states a preference, decision or the like. Returns the fact and what it may contradict or
    repeats, with the calls for those cases.
    """
    days = _days_in_words(valid_from, valid_until)
    _wait_for_turn(actor)
    old = [own_fact(actor, fact_id) for fact_id in supersedes or []]
    session = session_of_write(actor, source_session, project="" if project == EVERYWHERE else project)
    stored, is_new = _find_or_add(
        Fact(
            user=actor.user,
            digest=digest(fact),
            category=category,
            fact=fact,
            confidence=confidence,
            project=_project_of(category, project, session),
            source_session=session,
            **days,
        )
    )
    if not is_new:
        stored, is_new = _say_again(stored, days)
    kept = {id for number in despite or () for id in actor.user.ids_of(number)}
    superseded = supersede([one for one in old if one.pk != stored.pk], stored) if old else []
    look = look_for(stored)
    similar = compare_by_words(stored, look.near, kept) if is_new else _settle(stored, kept)
    if is_new:
        keep_beside(stored.pk, kept)
        index_fact(stored, made=True, is_new=True)
    return StoredFact(
        stored,
        duplicate=not is_new,
        similar=similar,
        archived=Fact.objects.get(pk=look.archived) if is_new and look.archived else None,
        superseded=superseded,
        doubt=why_doubtful(fact),
        in_profile=look.in_profile,
        left_over=replace_too(stored, superseded, but=similar) if superseded else [],
    )


def _wait_for_turn(actor: Actor) -> None:
    load_models()
    wait_for_turn(AdvisoryLock.FACTS, actor.user.pk)


def _find_or_add(fact: Fact) -> tuple[Fact, bool]:
    """Return the current fact with this text, and whether it is new; if there is none, store this one."""
    if known := _CURRENT(fact.user_id, fact.digest):
        return known[0], False
    try:
        with transaction.atomic():
            fact.save(force_insert=True)
    except IntegrityError:
        # An import, which takes no lock, stored it meanwhile.
        if known := _CURRENT(fact.user_id, fact.digest):
            return known[0], False
        raise
    return fact, True


def _days_in_words(
    valid_from: datetime | None, valid_until: datetime | None, old: Fact | None = None
) -> dict[str, datetime]:
    """Return the given dates, by column.

    Raises:
        Invalid: the fact, or its correction, would end before it begins.
    """
    start, end = valid_from or (old and old.valid_from), valid_until or (old and old.valid_until)
    if start and end and end <= start:
        raise Invalid.of("valid_until", f"is not after valid_from, {iso_day(start)}", hint="Send both days.")
    return {name: day for name, day in (("valid_from", valid_from), ("valid_until", valid_until)) if day}


def _say_again(fact: Fact, days: Mapping[str, datetime]) -> tuple[Fact, bool]:
    """Give a known fact the new dates. One that is past becomes a new fact, and the old one stays on record."""
    if days:
        _days_in_words(days.get("valid_from"), days.get("valid_until"), fact)
        _set_days(fact, days)
    elif fact.is_past:
        anew = SUCCESSOR.values(fact) | {"valid_from": None, "valid_until": None, "fact": fact.fact}
        # First: the database allows one current fact with this text.
        set_aside(fact, "It is valid again.")
        new = Fact.objects.create(user=fact.user, digest=fact.digest, **anew)
        fact.superseded_by = new
        fact.save(update_fields=["superseded_by"])
        keep_for_then(fact)
        return new, True
    return fact, False


def _set_days(fact: Fact, days: Mapping[str, datetime]) -> None:
    for name, day in days.items():
        setattr(fact, name, day)
    fact.save(update_fields=[*days, "updated_at"])


def _project_of(category: str, named: str, session: Session | None) -> str:
    """Return the project of a new fact: the one named, else for what is about the work that of its session.

    What is about the user is not about a project only because they said it while they worked on one.
    """
    if named:
        return "" if named == EVERYWHERE else named
    return session.project if session and category not in ABOUT_THE_USER else ""


def list_facts(
    actor: Actor,
    *,
    category: CategoryName | None = None,
    project: Project = "",
    text: Query | None = None,
    include_deprecated: bool = False,
    as_of: AsOf | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> FactPage:
    """List stored facts, newest first, by category, project or text.

    Call this when your context lists only some. Returns each with its id.
    """
    then = read_then(actor, as_of) if as_of else None
    # What agents ask nearly always: its statements are put together once.
    if limit == _NEWEST.limit and not (then or text or offset) and cursor is None:
        return FactPage(**vars(_NEWEST(actor.user.pk, category or "", project, include_deprecated)))
    facts = _facts_listed(actor.user.pk, category or "", project, include_deprecated, then)
    if text:
        facts = facts.filter(has_words(text, "fact"))
    page = page_of(facts, limit=limit, offset=offset, cursor=cursor)
    return FactPage(**vars(page), as_of=say_period(then) if then else "")


def _facts_listed(
    user_id: UUID, category: str, project: str, include_deprecated: bool, then: Period | None = None
) -> FactQuerySet:
    facts = Fact.objects.of(user_id).select_related("superseded_by").newest_first()
    if then:
        facts = facts.held(*then)
    elif not include_deprecated:
        facts = facts.current()
    if category:
        facts = facts.filter(category=category)
    return facts.filter(project=project) if project else facts


_NEWEST = FixedList(_facts_listed, limit=20)


@transaction.atomic
def deprecate_fact(actor: Actor, *, fact_id: FactId, reason: Reason) -> Fact:
    """Set aside a fact that is no longer true.

    Call this when the user contradicts something you recalled. It stays on record and is not
    recalled again.
    """
    fact = own_fact(actor, fact_id)
    if not fact.is_current:
        raise Conflict(f"Fact {fact.number} has been set aside already.", fact_id=fact.number)
    set_aside(fact, reason)
    return fact


@transaction.atomic
def correct_fact(
    actor: Actor,
    *,
    fact_id: FactId,
    fact: FactText,
    category: CategoryName | None = None,
    source_session: SessionId | None = None,
    valid_from: ValidFrom | None = None,
    valid_until: ValidUntil | None = None,
) -> Fact:
    """Replace a fact with the truth; the old one is set aside.

    Call this when a fact is nearly right, or to end it (same text). Returns the new one, and what
    repeats the old.
    """
    old = own_fact(actor, fact_id)
    if not old.is_current:
        raise Conflict(f"Fact {old.number} has been set aside.", hint="Restore it first, or store a new one.")
    days = _days_in_words(valid_from, valid_until, old)
    if digest(fact) == old.digest:
        if days:
            _set_days(old, days)
        if category and category != old.category:
            old.category = category
            old.save(update_fields=["category", "updated_at"])
        return old
    said_in = session_of_write(actor, source_session)
    new, _ = replace_facts(
        [old], stays=old, text=fact, category=category, days=days, reason="Corrected.", said_in=said_in
    )
    new.next_steps = replace_too(new, [old])
    return new


@transaction.atomic
def restore_fact(actor: Actor, *, fact_id: FactId) -> Fact:
    """Bring back a fact that was set aside.

    Call this when it turns out to be true after all. Refused while the same fact, or its correction, is current.
    Returns the fact, which is recalled from now on.
    """
    fact = own_fact(actor, fact_id)
    if fact.is_current:
        if fact.superseded_by_id:  # By a fact that becomes valid in the future.
            fact.superseded_by = None
            fact.save(update_fields=["superseded_by", "updated_at"])
        return fact
    known = _find_same_text(actor, fact.fact)
    if known:
        raise Conflict("That fact has been stored again since.", hint=f"See fact {known.number}.", fact_id=known.number)
    successor = fact.superseded_by
    if successor and successor.is_current:
        # Both would be sent as current although they disagree.
        hint = f"Set fact {successor.number} aside first."
        raise Conflict(f"That fact was corrected: see fact {successor.number}.", hint=hint, fact_id=successor.number)
    bring_back_fact(fact)
    return fact


def bring_back_fact(fact: Fact) -> None:
    """Restore a fact that was set aside, whatever replaced it.

    Raises:
        Conflict: the same text was stored again since.
    """
    fact.deprecated_at, fact.deprecation_reason, fact.superseded_by = None, "", None
    try:
        with transaction.atomic():
            fact.save(update_fields=["deprecated_at", "deprecation_reason", "superseded_by", "updated_at"])
    except IntegrityError as error:
        raise Conflict("That fact has been stored again since.", hint="memory_list_facts shows it.") from error
    compare_by_words(fact, look_for(fact).near)
    index_fact(fact)


@transaction.atomic
def erase_fact(actor: Actor, *, fact_id: FactId) -> Fact:
    """Erase a fact for good, wherever it is stored.

    Call this only when the user asks to forget it. To note that a fact is no longer true, set it aside instead.
    Returns what was erased; it cannot be undone.
    """
    fact = own_fact(actor, fact_id)
    # What it replaced loses its successor, and is no longer found.
    erase_passages(Kind.FACT, [fact.pk, *fact.supersedes.exclude(deprecated_at=None).values_list("pk", flat=True)])
    forget_kept_replies(actor.user)
    note_erased(actor.user, "fact", fact.pk)
    delete_keeping_id(fact)
    return fact


def own_fact(actor: Actor, fact_id: int) -> Fact:
    """Return the actor's fact with this id, locked until the transaction ends.

    Transactions that change facts of one user wait for each other: each may mark facts that another one holds.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    _wait_for_turn(actor)
    # A fact that points to this one may be stored meanwhile: that needs only the key, which never changes.
    mine: QuerySet[Fact] = Fact.objects.of(actor.user).select_for_update(no_key=True)
    try:
        return mine.get(pk__in=actor.user.ids_of(fact_id))
    except Fact.DoesNotExist as error:
        raise NotFound(f"You have no fact {fact_id}.", hint="memory_list_facts shows yours.") from error


def _settle(fact: Fact, kept: Collection[int]) -> list[Similar]:
    """Note which facts are valid beside a known one; return those that still contradict it."""
    Fact.objects.of(fact.user).filter(pk__in=kept, contradicted_by=fact).update(contradicted_by=None)
    keep_beside(fact.pk, kept)
    if fact.contradicted_by_id in kept:
        fact.contradicted_by = None
        fact.save(update_fields=["contradicted_by"])
    others = [*fact.contradicts.all(), *filter(None, [fact.contradicted_by])]
    return [
        Similar(
            Kind.FACT, other.pk, 1.0, other.fact[:EXCERPT_CHARS], CONTRADICTS, contradictions(fact.fact, other.fact)
        )
        for other in others
    ]


_CURRENT = FixedQuery(lambda user_id, text_digest: Fact.objects.of(user_id).current().filter(digest=text_digest))


def _find_same_text(actor: Actor, text: str) -> Fact | None:
    return Fact.objects.of(actor.user).current().filter(digest=digest(text)).first()
