"""Proposals: company knowledge that a user suggests, until a curator decides."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Cursor, Importance, Limit, Offset, Project
from bigmind.core.errors import Conflict, Forbidden, Invalid, NotFound
from bigmind.core.limits import COMPANY_TITLE_CHARS
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.pagination import Page, page_of
from bigmind.privacy.screening import find_secrets
from bigmind.text.hygiene import digest, one_line
from bigmind.text.token_counts import count_tokens
from curation.argument_types import (
    CONTENT_TOKENS,
    CompanyEntryId,
    CompanyText,
    CompanyTitle,
    Evidence,
    KeepHere,
    Notes,
    OriginName,
    Revision,
    SourceId,
    SourceKind,
)
from curation.decisions.deciding import approve_at_once
from curation.decisions.history import WAITING, entry_to_change, no_such_entry, record
from curation.decisions.overlaps import note_contradictions
from curation.decisions.screening import suspicions_about
from curation.decisions.who_may_decide import is_personal
from curation.models import Action
from curation.upstream.outgoing_proposals import queue_dispatch
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import CompanyCategoryName, SessionId, Topics, Triggers
from knowledge.conversation.current_sessions import session_of_write
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, Kind, Origin, Session, Status
from knowledge.search.passages import note_writings


@dataclass(frozen=True)
class Proposal:
    """The entry as it stands now."""

    entry: CompanyEntry
    duplicate: Annotated[
        bool, Field(description="True: it was proposed or approved before, and is not proposed twice.")
    ] = False
    held_back: Annotated[str, Field(description="Why it waits although this is personal mode.")] = ""
    sent_to: Annotated[str, Field(description="The company server that also gets it; empty: it stays here.")] = ""
    may_contradict: Annotated[list[str], Field(description="Approved entries that it may contradict.")] = field(
        default_factory=list
    )

    @property
    def session_handle(self) -> str:
        """The handle of the session it was made in; empty where there is none. An earlier proposal may be another's."""
        session = None if self.duplicate else self.entry.source_session
        return session.handle if session else ""

    @property
    def status(self) -> str:
        return self.entry.status


@dataclass(frozen=True)
class PromotedText:
    """A stored item that is promoted: its text, and the project and session it belongs to."""

    kind: str = ""
    id: str = ""
    text: str = ""
    project: str = ""
    session: Session | None = None


@transaction.atomic
def promote_to_global(
    actor: Actor,
    *,
    category: CompanyCategoryName,
    title: CompanyTitle | None = None,
    content: CompanyText | None = None,
    importance: Importance = 5,
    source_session: SessionId | None = None,
    source_kind: SourceKind | None = None,
    source_id: SourceId | None = None,
    project: Project = "",
    topics: Topics | None = None,
    evidence: Evidence = "",
    anchors: Anchors | None = None,
    origin: OriginName = "inferred",
    keep_here: KeepHere = False,
    triggers: Triggers | None = None,
) -> Proposal:
    """Propose this as knowledge for everybody here. A curator decides.

    Call this when something holds beyond this user: send content, or source_kind and source_id of a stored item.
    Returns the entry with handle and status. A later session gets the decision.
    """
    # Of two simultaneous calls with the same text, the second waits, and then finds the first as a duplicate.
    wait_for_turn(AdvisoryLock.PROPOSALS, actor.user.pk)
    source = source_of(actor, source_kind, source_id) or PromotedText()
    text = content or _fit_for_all(source.text)
    if not text:
        raise Invalid.of("content", "is required, unless source_kind and source_id say what to promote")
    if known := _find_same_text(actor, text):
        return _existing_proposal(actor, known, keep_here=keep_here)
    takes_session = source.kind and not source_session
    session = source.session if takes_session else session_of_write(actor, source_session, project=project)
    entry = CompanyEntry(
        category=category,
        title=title or _title_of(text),
        content=text,
        importance=importance,
        project=project or source.project or (session.project if session else ""),
        topics=topics if topics is not None else (session.topics if session else []),
        evidence=evidence,
        anchors=anchors or [],
        proposed_by=actor.user,
        owner=actor.user,
        agent=actor.agent,
        source_session=session,
        source_kind=source.kind,
        source_id=source.id,
        origin=origin,
        triggers=triggers or [],
    )
    return _submit(actor, entry, keep_here=keep_here)


def _existing_proposal(actor: Actor, known: CompanyEntry, *, keep_here: bool) -> Proposal:
    is_mine = known.proposed_by_id == actor.user.pk
    return Proposal(known, duplicate=True, sent_to=_queue_for_company(known) if is_mine and not keep_here else "")


def _submit(actor: Actor, entry: CompanyEntry, *, keep_here: bool) -> Proposal:
    """Store a proposal, queue it for the company server, and in personal mode decide it at once."""
    record(actor, entry, Action.PROPOSE)
    note_writings(Kind.COMPANY, [entry.pk], made=True)
    sent_to = "" if keep_here else _queue_for_company(entry)
    return _decide_at_once(actor, entry, sent_to) if is_personal() else Proposal(entry, sent_to=sent_to)


def list_my_proposals(
    actor: Actor,
    *,
    status: Status | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[CompanyEntry]:
    """List your proposals for company knowledge, newest first, each with its decision and the reason.

    Call this when asked what became of a proposal, or when a decision was announced at the start of the session.
    """
    mine: QuerySet[CompanyEntry] = CompanyEntry.objects.proposed_by(actor.user).select_related(
        "proposed_by", "owner", "decided_by", "superseded_by", "dispatch__server"
    )
    if status:
        mine = mine.filter(status=status)
    return page_of(mine.order_by("-created_at", "-pk"), limit=limit, offset=offset, cursor=cursor)


@transaction.atomic
def revise_proposal(
    actor: Actor,
    *,
    entry_id: CompanyEntryId,
    title: CompanyTitle | None = None,
    content: CompanyText | None = None,
    category: CompanyCategoryName | None = None,
    importance: Importance | None = None,
    evidence: Evidence | None = None,
    anchors: Anchors | None = None,
    notes: Notes = "",
    revision: Revision | None = None,
    triggers: Triggers | None = None,
) -> CompanyEntry:
    """Change your own undecided proposal, or answer a curator who asked for changes.

    Call this when a decision says `changes_requested`. It returns to the queue. Returns the entry.
    """
    require_own_proposal(actor, entry_id)
    entry = entry_to_change(entry_id, revision=revision)
    if not entry.is_undecided:
        raise Conflict(f"{entry.handle} is {entry.get_status_display().lower()}.", hint="Propose the change again.")
    given = {
        "title": title,
        "content": content,
        "category": category,
        "importance": importance,
        "evidence": evidence,
        "anchors": anchors,
        "triggers": triggers,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    # An earlier first approval was for the old text: `WAITING` drops it.
    record(actor, entry, Action.REVISE, notes=notes, changes={**changes, **WAITING})
    note_writings(Kind.COMPANY, [entry.pk], made=True)
    return entry


@transaction.atomic
def withdraw_proposal(actor: Actor, *, entry_id: CompanyEntryId, notes: Notes = "") -> CompanyEntry:
    """Withdraw your own undecided proposal.

    Call this when it turns out to be wrong or already known. Returns the entry, which stays on record as rejected.
    """
    require_own_proposal(actor, entry_id)
    entry = entry_to_change(entry_id)
    if not entry.is_undecided:
        raise Conflict(f"{entry.handle} is {entry.get_status_display().lower()}.", hint="Ask a curator.")
    decision = {"decided_by_id": actor.user.pk, "decided_at": timezone.now(), "decision_notes": notes}
    record(actor, entry, Action.WITHDRAW, notes=notes, changes={"status": Status.REJECTED, **decision})
    return entry


def _queue_for_company(entry: CompanyEntry) -> str:
    """Queue an entry for the company server; return the server's host, or "" if none is configured."""
    dispatch = queue_dispatch(entry)
    return dispatch.server.host if dispatch else ""


def _decide_at_once(actor: Actor, entry: CompanyEntry, sent_to: str) -> Proposal:
    """Approve a proposal in personal mode, unless it was imported or looks like an attack.

    Those wait for the user's own decision: neither an agent nor a file must approve them on its own.
    """
    if entry.origin == Origin.IMPORTED:
        return Proposal(entry, held_back="It waits for your own decision: imports approve nothing.", sent_to=sent_to)
    warnings = [found for found in suspicions_about(entry) if found.is_warning]
    if warnings:
        held_back = f"It waits for your own decision: it holds {warnings[0].kind}."
        return Proposal(entry, held_back=held_back, sent_to=sent_to)
    approve_at_once(actor, entry)
    against = [one.handle for one in note_contradictions(entry)]
    return Proposal(entry, sent_to=sent_to, may_contradict=against)


def require_own_proposal(actor: Actor, entry_id: int) -> None:
    """Refuse a proposal that is not the actor's own.

    Raises:
        Forbidden: someone else proposed it, and the actor may read it.
        NotFound: there is none, or the actor may not read it.
    """
    if not CompanyEntry.objects.proposed_by(actor.user).filter(pk=entry_id).exists():
        if CompanyEntry.objects.readable_by(actor.user, curator="curate" in actor.scopes).filter(pk=entry_id).exists():
            raise Forbidden(f"C{entry_id} was proposed by someone else.", hint="A curator can change it.")
        raise no_such_entry(entry_id)


def _find_same_text(actor: Actor, text: str) -> CompanyEntry | None:
    """Return an entry with the same text that is approved or the actor's own.

    Proposals of others are not considered: the reply would reveal them.

    Raises:
        Conflict: the actor proposed it before, and a curator rejected it.
    """
    same = CompanyEntry.objects.filter(digest=digest(text))
    mine = same.proposed_by(actor.user)
    if rejected := mine.filter(status=Status.REJECTED).exclude(decided_by=actor.user).order_by("-decided_at").first():
        raise Conflict(
            f"You proposed this before ({rejected.handle}), and it was rejected: {rejected.decision_notes}",
            hint="Say what is different now.",
            entry_id=rejected.pk,
        )
    return same.approved().first() or mine.undecided().first()


def source_of(actor: Actor, kind: str | None, id: str | None) -> PromotedText | None:
    """Return the stored item that the actor wants to promote; None if they name none.

    Raises:
        Invalid: only one of the two is given, or there is no such kind.
        NotFound: there is none that the actor may read.
    """
    if kind is None and id is None:
        return None
    if kind is None or id is None:
        missing, other = ("source_kind", "source_id") if kind is None else ("source_id", "source_kind")
        raise Invalid.of(missing, f"is required with {other}: send both, or neither")
    row = KINDS.get(kind)
    if row is None or row.promoted is None:
        promoted = ", ".join(kind for kind, row in KINDS.items() if row.promoted)
        raise Invalid.of("source_kind", f"must be one of: {promoted}")
    thing = row.of_id(actor.user, id).first()
    if thing is None or row.time_of_archiving(thing):
        raise NotFound(f"You have no {kind} {id}.", hint="memory_recall shows handles.")
    session = getattr(thing, row.session) if row.session else None
    return PromotedText(kind, str(thing.pk), row.promoted(thing), row.project(thing), session)


def _fit_for_all(text: str) -> str:
    """Return a stored text if it may be proposed.

    Typed text is screened as an argument. This one was stored for a single user, where the rules are weaker.

    Raises:
        Invalid: it holds a secret, or is too long.
    """
    if secrets := find_secrets(text):
        raise Invalid.of(
            "source_id",
            f"names what holds what looks like a secret ({secrets[0].kind})",
            hint="Send content as well, without it.",
        )
    tokens = count_tokens(text)
    if tokens > CONTENT_TOKENS:
        raise Invalid.of(
            "source_id",
            f"names what is {tokens:,} tokens; the limit is {CONTENT_TOKENS}",
            hint="Send content as well: the one thing that everybody should know.",
        )
    return text


def _title_of(text: str) -> str:
    """Return the first line without markdown markers, cut at a word to the length of a title."""
    line = one_line(text.strip().partition("\n")[0].lstrip("#>*- "))
    if len(line) <= COMPANY_TITLE_CHARS:
        return line
    return line[: COMPANY_TITLE_CHARS - 1].rpartition(" ")[0].rstrip(",;:. ") + "…"
