"""Notices in the app about what happened to an entry, written in the same transaction."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Concat, Left, Substr
from django.utils import timezone
from django.utils.text import Truncator
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Role, User
from accounts.services.alerts import mark_alerts_seen, unseen_alerts
from bigmind.database.read_only import is_read_only
from bigmind.text.hygiene import echo, one_line
from curation.models import FORMER_USER, Action, Comment, Notice, NoticeReason, Review, Subscription
from knowledge.models import CompanyEntry

from .webhook_messages import queue_webhook

NOTICE_CHARS = 300

Reasons = Annotated[
    list[Literal["proposed", "owned", "commented"]], Field(max_length=3, description="The reasons that matter.")
]

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
    Action.CHECK: "was checked against the code by {by}",
    Action.SET_LEVEL: "has triggers that go as far as {by} decided",
    Action.UNDO: "is as it was: {by} took the last decision back",
}
"""The actions that the proposer and the owner are notified of, unless they did them themselves."""
SENTENCES = (
    *(f"{{entry}} {done}{end}" for done in _DONE.values() for end in (".", ": {notes}")),
    *("{by} commented on {entry}.", "another entry"),
)
"""What notices say, for pages in other languages."""


def tell_of_review(review: Review) -> None:
    """Notify the proposer and the owner of an entry of a decision, and queue the webhook."""
    entry = review.entry
    if review.action in _DONE:
        reason = f": {review.notes}" if review.notes else "."
        people = _people_concerned(entry, but=review.by_id)
        _notify(people, entry, f"{_in_words(review, quote_entry(entry))}{reason}", review)
    queue_webhook(review)


def tell_of_comment(comment: Comment) -> None:
    """Notify the proposer, the owner and earlier commenters of a new comment."""
    entry = comment.entry
    commenters = set(entry.comments.values_list("by_id", flat=True))
    people = _people_concerned(entry, *commenters, but=comment.by_id)
    _notify(people, entry, f"{comment.by_name} commented on {quote_entry(entry)}.", None)


def tell_proposer(entry: CompanyEntry, text: str) -> None:
    """Notify the proposer of an entry of what was decided about it elsewhere."""
    if entry.proposed_by_id:
        _notify({entry.proposed_by_id: NoticeReason.PROPOSED}, entry, f"{quote_entry(entry)}: {text}", None)


def quote_entry(entry: CompanyEntry) -> str:
    """Return the title and handle of an entry for a sentence."""
    return f"{echo(entry.title)} ({entry.handle})"


def notice_text(text: str) -> str:
    """Return a text on one line, cut to the length of a notice; the page of the entry has the rest."""
    return Truncator(one_line(text)).chars(NOTICE_CHARS)


def take_words_back(entries: Iterable[int]) -> None:
    """Reduce notices about entries to the handle: title and reason may be words of a source that was withdrawn."""
    for notice in Notice.objects.filter(entry__in=entries).select_related("entry__superseded_by", "review"):
        handle, review = notice.entry.handle, notice.review
        text = f"{_in_words(review, handle)}." if review else notice.text.replace(quote_entry(notice.entry), handle)
        Notice.objects.filter(pk=notice.pk).update(text=notice_text(text))


def take_author_from_notices(user: User) -> None:
    """Replace the name of a user in the notices of what they decided and commented, and nothing else in them.

    Call this while the history still has their name.
    """
    for notice in Notice.objects.filter(review__by_id_kept=user.pk).select_related("entry", "review"):
        text = _without_author(notice)
        if text != notice.text:
            Notice.objects.filter(pk=notice.pk).update(text=text)
    for name in {user.signature, str(user), user.username}:
        namesakes = User.objects.filter(Q(pk=user.pk) | Q(display_name=name) | Q(username=name))
        # A notice of a comment does not say whose it is: it is of the last one by someone of this name.
        last = Comment.objects.filter(by__in=namesakes, entry=OuterRef("entry"), created_at__lte=OuterRef("created_at"))
        notices = Notice.objects.annotate(author=Subquery(last.order_by("-created_at").values("by")[:1]))
        notices = notices.filter(review=None, author=user.pk, text__startswith=f"{name} commented on ")
        without = Concat(Value(FORMER_USER), Substr("text", len(name) + 1))
        notices.update(text=Left(without, NOTICE_CHARS))


def reasons_muted_by(user: User) -> list[str]:
    """Return the reasons of which a user wants to hear nothing."""
    subscription = getattr(user, "subscription", None)
    return list(subscription.muted) if subscription else []


def choose_reasons(actor: Actor, *, reasons: Reasons) -> Subscription:
    """Choose of which reasons one wants to hear, in the app and by e-mail. Returns the subscription."""
    muted = [reason for reason in NoticeReason.values if reason not in reasons]
    chosen, _ = Subscription.objects.update_or_create(user=actor.user, defaults={"muted": muted})
    return chosen


def mark_read(actor: Actor, *, entry_id: int) -> int:
    """Mark the user's notices of an entry as seen, because they are reading it; return how many were new."""
    new = Notice.objects.filter(user=actor.user, entry=entry_id, seen_at=None)
    return 0 if is_read_only() else new.update(seen_at=timezone.now())


def notices_of(actor: Actor) -> "QuerySet[Notice]":
    """Return the notices of a user, the newest first."""
    return Notice.objects.filter(user=actor.user).select_related("entry").order_by("-created_at", "-pk")


def unseen_by(user: User) -> CombinedExpression:
    """Return how many notices a user has not seen, as a part of a query: this figure is on every page."""
    notices = Notice.objects.filter(user=user, seen_at=None)
    return _number_of(notices) + _number_of(unseen_alerts(user))


def count_unseen(user: User) -> int:
    return User.objects.filter(pk=user.pk).values_list(unseen_by(user), flat=True).first() or 0


def _number_of(rows: "QuerySet[Any]") -> Coalesce:
    counted = rows.order_by().values(of=Value(1)).annotate(count=Count("*")).values("count")
    return Coalesce(Subquery(counted), 0)


def mark_seen(actor: Actor) -> int:
    """Mark the notices and alerts of a user as seen; return how many were new."""
    new = Notice.objects.filter(user=actor.user, seen_at=None).update(seen_at=timezone.now())
    return new + mark_alerts_seen(actor.user)


def _in_words(review: Review, subject: str) -> str:
    into = review.entry.superseded_by.handle if review.entry.superseded_by else "another entry"
    return f"{subject} {_DONE[review.action].format(by=review.by_name, into=into)}"


def _without_author(notice: Notice) -> str:
    """Return the text of a notice of a decision without the name of who decided. Title and reason may have it, too."""
    review, text = notice.review, notice.text
    if review is None or review.action not in _DONE:
        return text
    before = _DONE[review.action].partition("{by}")[0].rpartition("}")[2]
    name = one_line(review.by_name)
    # Behind the title, and before the reason. Where the words of others were taken back, there is neither.
    start = text.find(before, max(0, text.find(f"({notice.entry.handle})")))
    if start < 0:
        return text
    kept, rest = text[: start + len(before)], text[start + len(before) :]
    return notice_text(f"{kept}{FORMER_USER}{rest.removeprefix(name)}") if rest.startswith(name) else text


def _people_concerned(entry: CompanyEntry, *commenters: UUID | None, but: UUID | None) -> dict[UUID, NoticeReason]:
    """Return whom an entry concerns, each with one reason: they proposed it, or else own it, or else commented."""
    reasons = [(one, NoticeReason.COMMENTED) for one in commenters]
    reasons += [(entry.owner_id, NoticeReason.OWNED), (entry.proposed_by_id, NoticeReason.PROPOSED)]
    # An entry that was just undone has its ids as they are kept in the history.
    return {UUID(str(person)): reason for person, reason in reasons if person and str(person) != str(but)}


def _notify(people: Mapping[UUID, NoticeReason], entry: CompanyEntry, text: str, review: Review | None) -> None:
    """Notify those of these users who want to hear of it and may read the entry now.

    Earlier commenters may have lost access to it.
    """
    users = User.objects.filter(pk__in=list(people)).select_related("subscription")
    Notice.objects.bulk_create(
        Notice(user=user, entry=entry, review=review, reason=people[user.pk], text=notice_text(text))
        for user in users
        if people[user.pk] not in reasons_muted_by(user)
        and entry.is_readable_by(user, curator=user.role != Role.MEMBER)
    )
