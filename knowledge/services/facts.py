"""Facts: store, list, correct, set aside, restore, erase."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.calls import forget_kept_replies
from bigmind.core.columns import ColumnCopy
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.text import digest
from bigmind.core.vocabulary import Confidence, Cursor, Limit, Offset, Project, Query, Reason
from knowledge.models import Category, Fact, Kind, Session
from knowledge.search.passages import erase_passages, index_passages
from knowledge.vocabulary import CategoryName, FactId, FactText, SessionId

from .context_receipts import note_erased
from .current_sessions import current_session
from .near_duplicates import Similar, lookalikes
from .projects import EVERYWHERE

ABOUT_THE_USER = (Category.IDENTITY, Category.PREFERENCE)

SUCCESSOR = ColumnCopy(
    "the fact that takes the place of a corrected one",
    Fact,
    left_out={
        "id": "It is another row.",
        "user": "It is looked up by.",
        "digest": "It is that of the new text, and looked up by.",
        "superseded_by": "Nothing has taken its place yet.",
        "similar_to": "The new text is compared anew.",
        "deprecated_at": "It is current, and looked up so.",
        "deprecation_reason": "It is current.",
        "created_at": "It is known from now on.",
        "updated_at": "It is known from now on.",
    },
)


@dataclass(frozen=True)
class StoredFact:
    """The fact as it is kept, whether it was known before, and those that say nearly the same."""

    fact: Fact
    duplicate: bool
    similar: list[Similar] = field(default_factory=list)


@transaction.atomic
def store_fact(
    actor: Actor,
    *,
    category: CategoryName,
    fact: FactText,
    confidence: Confidence = 1.0,
    project: Project = "",
    source_session: SessionId | None = None,
) -> StoredFact:
    """Remember one truth about the user or their work, for every session to come.

    Call this when the user states a preference, a decision, a constraint or something lasting. Returns the fact with
    its id and `similar` ones; a known one is not stored twice.
    """
    session = current_session(actor, source_session, project="" if project == EVERYWHERE else project)
    stored, is_new = Fact.objects.get_or_create(
        user=actor.user,
        digest=digest(fact),
        deprecated_at=None,
        defaults={
            "category": category,
            "fact": fact,
            "confidence": confidence,
            "project": _project_of(category, project, session),
            "source_session": session,
        },
    )
    if not is_new:
        return StoredFact(stored, duplicate=True)
    similar = _point_to_similar(stored)
    index_fact(stored, made=True)
    return StoredFact(stored, duplicate=False, similar=similar)


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
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Fact]:
    """List stored facts, the newest first, by category, project or a piece of their text.

    Call this when there are more than you were told. Returns each with its id.
    """
    facts = Fact.objects.of(actor.user).newest_first()
    if not include_deprecated:
        facts = facts.current()
    if category:
        facts = facts.filter(category=category)
    if project:
        facts = facts.filter(project=project)
    if text:
        facts = facts.filter(fact__icontains=text)
    return page_of(facts, limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def deprecate_fact(actor: Actor, *, fact_id: FactId, reason: Reason) -> Fact:
    """Set aside a fact that is no longer true.

    Call this when the user contradicts something you recalled. Returns the fact, which stays
    on record and is not recalled again.
    """
    fact = own_fact(actor, fact_id)
    if not fact.is_current:
        raise Conflict(f"Fact {fact.pk} has been set aside already.", fact_id=fact.pk)
    _set_aside(fact, reason)
    return fact


@transaction.atomic
def correct_fact(actor: Actor, *, fact_id: FactId, fact: FactText, category: CategoryName | None = None) -> Fact:
    """Replace a fact by what is true instead; the old one is set aside.

    Call this when a fact is nearly right. Returns the new one, with the category, project and confidence of the old.
    """
    old = own_fact(actor, fact_id)
    if not old.is_current:
        raise Conflict(f"Fact {old.pk} has been set aside.", hint="Restore it first, or store a new one.")
    if digest(fact) == old.digest:
        if category and category != old.category:
            old.category = category
            old.save(update_fields=["category", "updated_at"])
        return old
    new, is_new = replace_facts([old], stays=old, text=fact, category=category, reason="Corrected.")
    if is_new:
        _point_to_similar(new)
        index_fact(new, made=True)
    return new


@transaction.atomic
def restore_fact(actor: Actor, *, fact_id: FactId) -> Fact:
    """Bring back a fact that was set aside.

    Call this when it turns out to be true after all. Refused while the same fact, or its correction, is current.
    Returns the fact, which is recalled from now on.
    """
    fact = own_fact(actor, fact_id)
    if fact.is_current:
        return fact
    known = _find_same_text(actor, fact.fact)
    if known:
        raise Conflict("That fact has been stored again since.", hint=f"See fact {known.pk}.", fact_id=known.pk)
    successor = fact.superseded_by
    if successor and successor.is_current:
        # Both would be served as current although they disagree.
        hint = f"Set fact {successor.pk} aside first."
        raise Conflict(f"That fact was corrected: see fact {successor.pk}.", hint=hint, fact_id=successor.pk)
    bring_back_fact(fact)
    return fact


def bring_back_fact(fact: Fact) -> None:
    """Let a fact that was set aside hold again, whatever took its place.

    Raises:
        Conflict: the same text was stored again since.
    """
    fact.deprecated_at, fact.deprecation_reason, fact.superseded_by = None, "", None
    try:
        with transaction.atomic():
            fact.save(update_fields=["deprecated_at", "deprecation_reason", "superseded_by", "updated_at"])
    except IntegrityError as error:
        raise Conflict("That fact has been stored again since.", hint="memory_list_facts shows it.") from error
    index_fact(fact)


def replace_facts(
    facts: Sequence[Fact], *, stays: Fact, text: str = "", category: str | None = None, reason: str
) -> tuple[Fact, bool]:
    """Set facts aside for the one of them that stays, or for a new one with its category and project.

    Args:
        facts: Locked, and current; the one that stays is among them.
        text: What the new one says; empty, or the text of the one that stays: none is stored.

    Returns:
        The fact that holds now, and whether it is new: then it is still to be indexed.
    """
    holds, is_new = stays, False
    if text and digest(text) != stays.digest:
        _set_aside(stays, reason)
        holds, is_new = Fact.objects.get_or_create(
            user=stays.user,
            digest=digest(text),
            deprecated_at=None,
            defaults={**SUCCESSOR.values(stays), "category": category or stays.category, "fact": text},
        )
    for fact in facts:
        if fact.pk != holds.pk:
            _set_aside(fact, reason)
            fact.superseded_by = holds
            fact.save(update_fields=["superseded_by"])
    return holds, is_new


@transaction.atomic
def erase_fact(actor: Actor, *, fact_id: FactId) -> Fact:
    """Erase a fact for good, from everything that is kept.

    Call this only when the user asks to forget it. To note that a fact is no longer true, set it aside instead.
    Returns what was erased; it cannot be undone.
    """
    fact = own_fact(actor, fact_id)
    erase_passages(Kind.FACT, [fact.pk])
    forget_kept_replies(actor.user)
    note_erased(actor.user, "fact", fact.pk)
    erased = fact.pk
    fact.delete()
    fact.pk = erased
    return fact


def own_fact(actor: Actor, fact_id: int) -> Fact:
    """Return the actor's fact with this id, locked until the transaction ends.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    # A fact that points to this one may be stored meanwhile: that needs the key only, which nobody changes.
    mine: QuerySet[Fact] = Fact.objects.of(actor.user).select_for_update(no_key=True)
    try:
        return mine.get(pk=fact_id)
    except Fact.DoesNotExist as error:
        raise NotFound(f"You have no fact {fact_id}.", hint="memory_list_facts shows yours.") from error


def _set_aside(fact: Fact, reason: str) -> None:
    fact.deprecated_at, fact.deprecation_reason = timezone.now(), reason
    fact.save(update_fields=["deprecated_at", "deprecation_reason", "updated_at"])
    erase_passages(Kind.FACT, [fact.pk])


def _point_to_similar(fact: Fact) -> list[Similar]:
    """Let a fact point to the one most like it, if any. A worker looks again, by meaning, once it has a vector."""
    others = Fact.objects.of(fact.user).current().exclude(pk=fact.pk)
    similar = lookalikes(fact.fact, kind=Kind.FACT, owner=fact.user, among=others, field="fact")
    if similar:
        fact.similar_to_id = similar[0].id
        fact.save(update_fields=["similar_to"])
    return similar


def _find_same_text(actor: Actor, text: str) -> Fact | None:
    return Fact.objects.of(actor.user).current().filter(digest=digest(text)).first()


def index_fact(fact: Fact, *, made: bool = False) -> None:
    """Write the passage of a fact."""
    index_passages(Kind.FACT, fact.pk, [fact.fact], owner=fact.user, project=fact.project, made=made)
