"""Company entries with their past: history, credits, discussion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.vocabulary import SharedContent
from curation.models import Comment, Review
from curation.notifications.notices import tell_of_comment
from curation.vocabulary import CompanyEntryId
from knowledge.models import PUBLISHED, CompanyEntry
from knowledge.search.authorship import note_writings

from .history import no_such_entry, require_own
from .rules import may_decide

_NAMED = (
    "proposed_by",
    "owner",
    "decided_by",
    "endorsed_by",
    "agent",
    "source_session",
    "superseded_by",
    "copy__server",
    "dispatch__server",
)

CommentText = Annotated[SharedContent, Field(max_length=4_000, description="What you have to say.")]


@dataclass(frozen=True)
class CompanyEntryDetail:
    """An entry with its history and what was said about it, the oldest first."""

    entry: CompanyEntry
    history: Sequence[Review]
    comments: Sequence[Comment]

    @property
    def credits(self) -> list[str]:
        """Who contributed: the proposer, and those of what was merged into it, each once."""
        merged = self.entry.supersedes.select_related("proposed_by")
        people = [self.entry.proposer, *(other.proposer for other in merged)]
        return list(dict.fromkeys(person for person in people if person))


def get_company_entry(actor: Actor, *, entry_id: CompanyEntryId) -> CompanyEntryDetail:
    """Read one company entry with its history, differences and discussion.

    Call this when you need to know who decided something and why, or cite a handle such as C142. Returns the entry,
    each step of its life, and the comments.
    """
    entry = readable_entry(actor, entry_id)
    # The way to approval may hold what was cut from the text: that stays between the proposer and the curators.
    insider = may_decide(actor) or entry.proposed_by_id == actor.user.pk
    history = list(entry.reviews.select_related("by").order_by("number"))
    comments = list(entry.comments.select_related("by").order_by("created_at", "pk"))
    if insider:
        return CompanyEntryDetail(entry, history, comments)
    heard = [said for said in comments if _was_published(history, said.created_at)]
    return CompanyEntryDetail(entry, _published_steps(history), heard)


@transaction.atomic
def comment(actor: Actor, *, entry_id: CompanyEntryId, text: CommentText) -> Comment:
    """Say something about a company entry, where curators, the proposer and everybody who reads it can see it.

    Call this to answer a curator's question, or to add evidence. Returns the comment.
    """
    entry = readable_entry(actor, entry_id)
    require_own(entry)
    said = Comment.objects.create(entry=entry, by=actor.user, text=text)
    note_writings("comment", [said.pk], made=True)
    tell_of_comment(said)
    return said


def readable_entry(actor: Actor, entry_id: int) -> CompanyEntry:
    """Return an entry that the actor may read.

    Raises:
        NotFound: there is none, or it is somebody else's proposal.
    """
    readable = CompanyEntry.objects.readable_by(actor.user, curator=may_decide(actor))
    entry = readable.select_related(*_NAMED).filter(pk=entry_id).first()
    if entry is None:
        raise no_such_entry(entry_id)
    return entry


def _published_steps(history: Sequence[Review]) -> list[Review]:
    """The steps that everybody may see, without the drafts that they began with."""
    published = [review for review in history if _is_published(review.after)]
    for review in published:
        if not _is_published(review.before or {}):
            review.before = None
    return published


def _was_published(history: Sequence[Review], moment: datetime) -> bool:
    """Whether everybody could read the entry at that moment: what is said of a draft stays with those who know it."""
    last = next((review for review in reversed(history) if review.created_at <= moment), None)
    return last is not None and _is_published(last.after)


def _is_published(snapshot: dict[str, Any]) -> bool:
    return snapshot.get("status") in PUBLISHED and snapshot.get("verified_at") is not None
