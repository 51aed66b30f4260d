"""Asking again: workers ask unanswered questions again once something was stored that their askers can find."""

from collections.abc import Iterable

from django.db.models import Min
from django.utils import timezone

from accounts.actor import Actor
from bigmind.database.read_only import is_read_only
from bigmind.database.rls import rls_scope
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import GapState, Passage, UnansweredQuestion
from knowledge.recall.hits import findings
from knowledge.recall.visibility import visible_things
from knowledge.search.abstention import is_answered

Titles = dict[tuple[str, str], str]
"""By kind and id."""

AT_ONCE = 30
"""Questions of one run; the sweep asks the rest. Each takes as long as a search."""
READ = 5


def ask_again(newest: int) -> int:
    """Ask what waits for an answer again, and keep what answers it; return how many questions were answered.

    Args:
        newest: The newest passage that has its vector: see `gaps.newest_passage`.
    """
    waiting = UnansweredQuestion.objects.filter(answered_at=None, asked_up_to__lt=newest)
    waiting = waiting.exclude(gap__state=GapState.DISMISSED)
    oldest = None if is_read_only() else waiting.aggregate(oldest=Min("asked_up_to"))["oldest"]
    if oldest is None:
        return 0
    stored = Passage.objects.filter(pk__gt=oldest, pk__lte=newest).order_by()
    owners = set(stored.values_list("owner", flat=True).distinct())
    if None not in owners:
        waiting.exclude(user__in=owners).update(asked_up_to=newest)
    due = waiting.select_related("user").order_by("asked_up_to", "pk")
    return sum(_ask(question, newest) for question in due[:AT_ONCE])


def titles_of(actor: Actor, answers: Iterable[tuple[str, str]]) -> Titles:
    """Return the titles of what answered questions. What the actor cannot see, or is gone by now, is left out."""
    ids: dict[str, list[str]] = {}
    for kind, source_id in answers:
        if kind in KINDS:
            ids.setdefault(kind, []).append(source_id)
    things = visible_things(actor.user, ids)
    return {
        (kind, str(thing.pk)): KINDS[kind].title(thing)
        for kind, some in ids.items()
        for thing in things[kind].filter(pk__in=[KINDS[kind].read_id(one) for one in some])
    }


def _ask(question: UnansweredQuestion, newest: int) -> bool:
    """Ask one question again, and return whether it was answered."""
    with rls_scope(question.user_id):
        things = visible_things(question.user, SEARCHED)
        found = findings(
            Actor.of(question.user), question.text, things=things, is_narrowed=False, project="", limit=READ, offset=0
        )
        if found.fallback and question.vector is not None:
            return False  # The embedder is away: words alone would miss what it would find.
        # When it was asked, everything was far: what answers now is new.
        answer = next((item for item in found.items[:1] if is_answered(found)), None)
        changes: dict[str, object] = {"asked_up_to": newest}
        if answer is not None:
            changes |= {"answered_at": timezone.now(), "kind": answer.kind, "source_id": answer.source_id}
        UnansweredQuestion.objects.filter(pk=question.pk).update(**changes)
    return answer is not None
