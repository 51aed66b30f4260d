"""Notices in the app about what happened to an entry, written in the same transaction."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import Truncator

from accounts.actor import Actor
from accounts.models import Role, User
from accounts.services.alerts import mark_alerts_seen, unseen_alerts
from bigmind.core.text import one_line
from curation.models import Action, Comment, Notice, Review
from knowledge.models import CompanyEntry

from .deliveries import queue_webhook

NOTICE_CHARS = 300

_DONE: dict[str, str] = {
    Action.ENDORSE: "was agreed to by {by}; a second curator has to agree",
    Action.APPROVE: "was approved by {by}",
    Action.REJECT: "was rejected by {by}",
    Action.REQUEST_CHANGES: "needs changes, says {by}",
    Action.MERGE: "was merged into {into} by {by}",
    Action.EDIT: "was edited by {by}",
    Action.VERIFY: "was verified by {by}",
    Action.DEPRECATE: "was deprecated by {by}",
    Action.SUPERSEDE: "was superseded by {into}, says {by}",
    Action.RESTORE: "was restored by {by}",
    Action.REOPEN: "waits for a decision again: {by} reopened it",
    Action.ASSIGN: "has a new owner, says {by}",
    Action.UNDO: "is as it was: {by} took the last decision back",
}
"""The actions that the proposer and the owner are notified of, unless they did them themselves."""


def tell_of_review(review: Review) -> None:
    """Notify the proposer and the owner of an entry of a decision, and queue the webhook."""
    entry = review.entry
    if review.action in _DONE:
        reason = f": {review.notes}" if review.notes else "."
        people = _others(entry.proposed_by_id, entry.owner_id, but=review.by_id)
        _notify(people, entry, f"{_in_words(review, quote_entry(entry))}{reason}", review)
    queue_webhook(review)


def tell_of_comment(comment: Comment) -> None:
    """Notify the proposer, the owner and earlier commenters of a new comment."""
    entry = comment.entry
    commenters = set(entry.comments.values_list("by_id", flat=True))
    people = _others(entry.proposed_by_id, entry.owner_id, *commenters, but=comment.by_id)
    _notify(people, entry, f"{comment.by_name} commented on {quote_entry(entry)}.", None)


def quote_entry(entry: CompanyEntry) -> str:
    """Return the title and handle of an entry for a sentence."""
    return f"“{entry.title}” ({entry.handle})"


def notice_text(text: str) -> str:
    """Return a text on one line, cut to the length of a notice; the page of the entry has the rest."""
    return Truncator(one_line(text)).chars(NOTICE_CHARS)


def take_words_back(entries: Iterable[int]) -> None:
    """Reduce notices about entries to the handle: title and reason may be words of a source that was withdrawn."""
    for notice in Notice.objects.filter(entry__in=entries).select_related("entry__superseded_by", "review"):
        handle, review = notice.entry.handle, notice.review
        text = f"{_in_words(review, handle)}." if review else notice.text.replace(quote_entry(notice.entry), handle)
        Notice.objects.filter(pk=notice.pk).update(text=notice_text(text))


def notices_of(actor: Actor) -> "QuerySet[Notice]":
    """Return the notices of a user, the newest first."""
    return Notice.objects.filter(user=actor.user).select_related("entry").order_by("-created_at", "-pk")


def count_unseen(user: User) -> int:
    """Count the unseen notices and alerts of a user: this figure is on every page."""
    notices = Notice.objects.filter(user=user, seen_at=None).values("pk")
    return notices.union(unseen_alerts(user).values("pk"), all=True).count()


def mark_seen(actor: Actor) -> int:
    """Mark the notices and alerts of a user as seen; return how many were new."""
    new = Notice.objects.filter(user=actor.user, seen_at=None).update(seen_at=timezone.now())
    return new + mark_alerts_seen(actor.user)


def _in_words(review: Review, subject: str) -> str:
    into = review.entry.superseded_by.handle if review.entry.superseded_by else "another entry"
    return f"{subject} {_DONE[review.action].format(by=review.by_name, into=into)}"


def _others(*people: UUID | None, but: UUID | None) -> set[UUID]:
    return {person for person in people if person is not None and person != but}


def _notify(people: Iterable[UUID], entry: CompanyEntry, text: str, review: Review | None) -> None:
    """Notify those of these users who may read the entry now: earlier commenters may have lost access to it."""
    readers = [person for person in User.objects.filter(pk__in=list(people)) if _may_read(person, entry)]
    Notice.objects.bulk_create(
        Notice(user=person, entry=entry, review=review, text=notice_text(text)) for person in readers
    )


def _may_read(person: User, entry: CompanyEntry) -> bool:
    is_curator = person.role != Role.MEMBER
    return CompanyEntry.objects.readable_by(person, curator=is_curator).filter(pk=entry.pk).exists()
