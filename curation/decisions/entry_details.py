"""Company entries with history, credits, discussion and owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Name, SharedContent
from bigmind.core.errors import Conflict, Invalid
from bigmind.text.hygiene import echo, mention
from curation.argument_types import CompanyEntryId, Revision
from curation.models import Action, Comment, Review
from curation.notifications.notices import tell_of_comment
from knowledge.models import PUBLISHED, CompanyEntry
from knowledge.search.passages import note_writings

from .history import entry_to_change, no_such_entry, record, require_own
from .who_may_decide import may_decide

READ_WITH_ENTRY = (
    "proposed_by__sharing",
    "owner",
    "decided_by",
    "endorsed_by",
    "agent",
    "source_session",
    "superseded_by",
    "copy__server",
    "dispatch__server",
)

CommentText = Annotated[SharedContent, Field(max_length=4_000, description="The comment.")]


@transaction.atomic
def assign_owner(actor: Actor, *, entry_id: CompanyEntryId, owner: Name, revision: Revision) -> CompanyEntry:
    """Assign an approved entry to another owner, as a curator. They get a notice of every decision about it.

    Returns the entry.

    Raises:
        Conflict: it is not approved, it belongs to them already, or it changed since `revision`.
        Invalid: no active user has that name.
    """
    actor.require("curate")
    entry = entry_to_change(entry_id, revision=revision)
    if not entry.is_approved:
        raise Conflict(
            f"{entry.handle} is {entry.get_status_display().lower()}.", hint="Only approved entries change hands."
        )
    person = User.objects.filter(username__iexact=owner, is_active=True).first()
    if person is None:
        raise Invalid.of("owner", f"names nobody here: there is no user {echo(owner)}. Use a user name")
    if person.pk == entry.owner_id:
        raise Conflict(f"{entry.handle} belongs to {mention(person)} already.")
    record(actor, entry, Action.ASSIGN, notes=f"From now on it belongs to {person}.", changes={"owner_id": person.pk})
    return entry


@dataclass(frozen=True)
class CompanyEntryDetail:
    """An entry with its history and discussion."""

    entry: CompanyEntry
    history: Sequence[Review]
    comments: Sequence[Comment]

    @cached_property
    def merged(self) -> list[CompanyEntry]:
        """The entries that were merged into it, or that it replaced."""
        return list(self.entry.supersedes.select_related("proposed_by", "agent").order_by("pk"))

    @property
    def credits(self) -> list[str]:
        """Who contributed: the proposer, and the proposers of entries that were merged into it, each once."""
        people = [self.entry.proposer, *(other.proposer for other in self.merged)]
        return list(dict.fromkeys(person for person in people if person))


def get_company_entry(actor: Actor, *, entry_id: CompanyEntryId) -> CompanyEntryDetail:
    """Read one company entry with its history, differences and discussion.

    Call this when you need to know who decided something and why, or cite a handle such as C142. Returns the entry, its
    reviews and the comments.
    """
    entry = readable_entry(actor, entry_id)
    # Drafts may hold what was cut before approval (a name, a secret): only the proposer and the curators see those.
    insider = may_decide(actor) or entry.proposed_by_id == actor.user.pk
    history = list(entry.reviews.select_related("by").order_by("number"))
    comments = list(entry.comments.select_related("by").order_by("created_at", "pk"))
    if insider:
        return CompanyEntryDetail(entry, history, comments)
    readable = [one for one in comments if _was_published(history, one.created_at)]
    return CompanyEntryDetail(entry, _select_published(history), readable)


@transaction.atomic
def comment(actor: Actor, *, entry_id: CompanyEntryId, text: CommentText) -> Comment:
    """Comment on a company entry. Curators, the proposer and everybody who reads it can see it.

    Call this to answer a curator's question, or to add evidence. Returns the comment.
    """
    entry = readable_entry(actor, entry_id)
    require_own(entry)
    written = Comment.objects.create(entry=entry, by=actor.user, text=text)
    note_writings("comment", [written.pk], made=True)
    tell_of_comment(written)
    return written


def readable_entry(actor: Actor, entry_id: int) -> CompanyEntry:
    """Return an entry that the actor may read.

    Raises:
        NotFound: there is none, or it is another user's proposal that is not published.
    """
    # This condition alone keeps proposals apart: no row-level security stands behind it. Decision 41.
    readable = CompanyEntry.objects.readable_by(actor.user, curator=may_decide(actor))
    entry = readable.select_related(*READ_WITH_ENTRY).filter(pk=entry_id).first()
    if entry is None:
        raise no_such_entry(entry_id)
    return entry


def _select_published(history: Sequence[Review]) -> list[Review]:
    """Return the steps that everyone may see, without the drafts that came before them."""
    published = [review for review in history if _is_published(review.after)]
    for review in published:
        if not _is_published(review.before or {}):
            review.before = None
    return published


def _was_published(history: Sequence[Review], moment: datetime) -> bool:
    """Whether everyone could read the entry at that moment: comments on a draft may quote it, so they stay with it."""
    last = next((review for review in reversed(history) if review.created_at <= moment), None)
    return last is not None and _is_published(last.after)


def _is_published(snapshot: dict[str, Any]) -> bool:
    return snapshot.get("status") in PUBLISHED and snapshot.get("verified_at") is not None
