"""Suggestions: near-duplicates, beliefs whose day has come, sessions nobody summarized, facts nobody used.

Nothing is prepared in advance. What says nearly the same is noted when it is stored and again when it has its vector
(`near_duplicates`), so asking costs a few statements, and a suggestion is never older than what it is about.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from pydantic import Field

from accounts.models import User
from bigmind.core.handles import handle_of
from bigmind.core.private_row_numbers import number_in
from bigmind.core.translation import gettext_lazy
from bigmind.text.hygiene import digest
from knowledge.kinds import KIND_OF_WORD, KINDS
from knowledge.memory.archive import KindName
from knowledge.models import (
    AUTO_CLOSED,
    Category,
    Chunk,
    Concern,
    Fact,
    Hypothesis,
    Kind,
    Serving,
    Session,
    TidyingAnswer,
)

UNUSED_AFTER = timedelta(days=180)
UNUSED_CATEGORIES = (Category.CODEBASE, Category.DECISION)
"""What is about the work goes out of use. Who someone is, what they prefer and what must not be done does not."""
UNSUMMARIZED_SINCE = timedelta(days=90)
MOST = 200
"""So many of one concern are read: nobody decides more in one sitting."""
KEY_CHARS = 12

KINDS_OF_CONCERNS: dict[Concern, KindName] = {
    Concern.CONTRADICTION: "fact",
    Concern.DUPLICATES: "fact",
    Concern.DUE: "hypothesis",
    Concern.NO_SUMMARY: "session",
    Concern.UNUSED: "fact",
}
"""What the items of a suggestion are, and the order in which suggestions are made."""
ACTIONS: dict[str, tuple[str, ...]] = {
    Concern.CONTRADICTION: ("replace", "keep"),
    Concern.DUPLICATES: ("merge", "keep"),
    Concern.DUE: ("confirmed", "refuted", "abandoned", "keep"),
    Concern.NO_SUMMARY: ("summarize", "archive", "keep"),
    Concern.UNUSED: ("archive", "keep"),
}
ONE_STAYS = (Concern.CONTRADICTION, Concern.DUPLICATES)
SAYS = {
    Concern.CONTRADICTION: gettext_lazy("These disagree. Agents get the newer one, with the older as a note."),
    Concern.DUPLICATES: gettext_lazy("These say nearly the same."),
    Concern.DUE: gettext_lazy("Its day has come: how did it turn out?"),
    Concern.NO_SUMMARY: gettext_lazy("It ended without a headline of its own."),
    Concern.UNUSED: gettext_lazy("Stored half a year ago and never named as helpful."),
}

ASKS = {
    Concern.DUPLICATES: gettext_lazy("In one sentence, instead of all"),
    Concern.DUE: gettext_lazy("What happened, and how you know"),
    Concern.NO_SUMMARY: gettext_lazy("A headline on the first line, then what was done"),
}


@dataclass(frozen=True)
class Suggestion:
    """Something to decide."""

    key: Annotated[str, Field(description="Its `id` in answers and in `undo`.")]
    concern: Concern
    rows: Sequence[Any]  # The oldest first.

    @property
    def kind(self) -> KindName:
        """What the rows are: `fact`, `hypothesis` or `session`."""
        return KINDS_OF_CONCERNS[self.concern]

    @property
    def says(self) -> str:
        """Why it is suggested."""
        return str(SAYS[self.concern])

    @property
    def asks(self) -> str:
        """The words that an answer takes, where it takes any."""
        return str(ASKS.get(self.concern, ""))

    @property
    def actions(self) -> tuple[str, ...]:
        """What may be done about it."""
        return ACTIONS[self.concern]

    @property
    def items(self) -> list["SuggestedItem"]:
        """The rows as people and agents read them."""
        return [_item(self.kind, row) for row in self.rows]

    @property
    def compared(self) -> list[tuple["SuggestedItem", str]]:
        """Each of the facts of which one stays, with the text beside which it is read: that of the newest."""
        items = self.items if self.concern in ONE_STAYS else []
        return [(item, items[0 if item is items[-1] else -1].text) for item in items]

    @property
    def newest(self) -> str:
        return self.items[-1].id


@dataclass(frozen=True)
class SuggestedItem:
    """One item of a suggestion."""

    kind: str
    id: str
    handle: str
    text: str
    project: str
    created_at: datetime


def suggestions_for(user: User, concern: Concern | None = None) -> list[Suggestion]:
    """Return what there is to decide about a user's memory, in the order of `KINDS_OF_CONCERNS`, the oldest first."""
    answered = TidyingAnswer.objects.filter(user=user)
    kept = set(answered.values_list("key", flat=True))
    sought = [concern] if concern else list(KINDS_OF_CONCERNS)
    found = (_suggest(one, rows, salt) for one in sought for rows, salt in _FINDERS[one](user))
    return [one for one in found if one.key not in kept]


def _suggest(concern: Concern, rows: Sequence[Any], salt: str) -> Suggestion:
    """Name a suggestion by what it is about: the same rows make the same one."""
    ids = sorted(str(row.pk) for row in rows)
    return Suggestion(digest(" ".join((concern, salt, *ids)))[:KEY_CHARS], concern, rows)


Found = Iterator[tuple[Sequence[Any], str]]


def _find_contradictions(user: User) -> Found:
    """Yield each current fact that a newer one contradicts, with that one."""
    current = Fact.objects.of(user).current().without_past()
    older = current.filter(contradicted_by__in=current)
    for fact in older.select_related("contradicted_by").order_by("created_at", "pk")[:MOST]:
        yield [fact, fact.contradicted_by], ""


def _find_duplicates(user: User) -> Found:
    """Yield groups of current facts that say nearly the same, without pairs that someone decided to keep."""
    facts = Fact.objects.of(user).current()
    pointing = facts.filter(similar_to__deprecated_at=None).exclude(similar_to=None)
    pairs = {(fact.pk, int(fact.similar_to_id or 0)) for fact in pointing.only("pk", "similar_to_id")}
    kept = TidyingAnswer.objects.filter(user=user, concern=Concern.DUPLICATES, action="keep")
    # By pairs, so that a third fact that says the same brings a group back.
    for items in kept.values_list("items", flat=True):
        together = set(map(int, items))
        pairs = {pair for pair in pairs if not together.issuperset(pair)}
    groups = _groups(pairs)
    rows = facts.in_bulk({pk for group in groups for pk in group})
    for group in groups:
        similar = [rows[pk] for pk in sorted(group) if pk in rows]
        # What holds in one project only is not what holds in another.
        if len(similar) > 1 and len({fact.project for fact in similar} - {""}) <= 1:
            yield similar, ""


def _groups(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of a graph, each sorted, the one with the lowest number first."""
    beside: dict[int, set[int]] = defaultdict(set)
    for one, other in pairs:
        beside[one].add(other)
        beside[other].add(one)
    groups, seen = [], set()
    for start in sorted(beside):
        group, waiting = set(), [start]
        while waiting:
            pk = waiting.pop()
            if pk not in seen:
                seen.add(pk)
                group.add(pk)
                waiting.extend(beside[pk])
        if group:
            groups.append(sorted(group))
    return groups[:MOST]


def _find_due(user: User) -> Found:
    for belief in Hypothesis.objects.of(user).due()[:MOST]:
        yield [belief], str(belief.due_on)  # One that was kept is suggested again on its next day.


def _find_untold(user: User) -> Found:
    """Yield ended sessions that nobody gave a headline, although something was flagged in them."""
    flagged = Chunk.objects.filter(session=OuterRef("pk"), set_aside_at=None)
    untold = Session.objects.of(user).in_view().exclude(ended_at=None).filter(summary=None)
    since = timezone.now() - UNSUMMARIZED_SINCE
    for session in untold.filter(Q(one_liner="") | Q(one_liner=AUTO_CLOSED), Exists(flagged), started_at__gte=since)[
        :MOST
    ]:
        yield [session], ""


def _find_unused(user: User) -> Found:
    """Yield facts about the work that were neither changed nor named as helpful for half a year."""
    helped = Serving.objects.filter(user=user, kind=Kind.FACT, source_id=Cast(OuterRef("pk"), TextField()), cited=True)
    old = (
        Fact.objects.of(user)
        .current()
        .filter(~Exists(helped), category__in=UNUSED_CATEGORIES, updated_at__lt=timezone.now() - UNUSED_AFTER)
    )
    for fact in old.order_by("updated_at", "pk")[:MOST]:
        yield [fact], ""


_FINDERS: dict[str, Callable[[User], Found]] = {
    Concern.CONTRADICTION: _find_contradictions,
    Concern.DUPLICATES: _find_duplicates,
    Concern.DUE: _find_due,
    Concern.NO_SUMMARY: _find_untold,
    Concern.UNUSED: _find_unused,
}


def _item(kind: str, row: Any) -> SuggestedItem:
    described = KINDS[KIND_OF_WORD[kind]]
    text = row.fact if kind == "fact" else described.title(row) if kind == "session" else row.hypothesis
    created_at: datetime = getattr(row, described.moment)
    handle = row.handle if kind == "session" else handle_of(kind, str(row.pk))
    return SuggestedItem(kind, number_in(str(row.pk)), handle, text, row.project, created_at)
