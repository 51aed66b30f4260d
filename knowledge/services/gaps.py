"""Gaps: questions that found nothing, put together by what they mean, and what becomes of them.

What one person asked is theirs: others see a question only when somebody else has asked it too, and of questions that
mean the same in other words only the words that two people used.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone
from pgvector.django import CosineDistance
from pydantic import Field
from rapidfuzz import fuzz

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.read_only import is_read_only
from bigmind.core.screening import find_secrets
from bigmind.core.text import digest, one_line
from bigmind.core.turns import wait_for_turn
from bigmind.core.vocabulary import Offset, RowId
from knowledge.models import QUESTION_CHARS, Gap, GapState, UnansweredQuestion
from knowledge.search.hybrid import Findings

_TURNS = 7704
WORDS_FOUND = 0.3
"""Of a question's words, the rare ones counting more: what has fewer of them answers something else."""
MEANING_FOUND = 0.4
"""Cosine of question and passage. Below it a model says no more than that both are sentences."""
SAME_MEANING = 0.6
"""Cosine of two questions that ask the same in other words."""
SAME_WORDS = 75.0
"""Of 100, where there is no vector to compare."""
COMPARED = 500
KEPT = timedelta(days=180)
PEOPLE_ASKING = 2

StateName = Annotated[Literal["open", "answered", "dismissed"], Field(description="What became of it.")]
GapId = Annotated[RowId, Field(description="The number of the gap.")]

_WORD = re.compile(r"[^\W_][\w.+#-]*[^\W_]|[^\W_]")
_TELLING_NOTHING = frozenset(
    """a an and any are as at be by can could did do does for from had has have how i if in into is it its me my not of
    on one or our should so than that the their them there they this to us use used using was we were what when where
    which who why will with would you your""".split()  # noqa: SIM905 (a list of a hundred quotes reads worse)
)

log = structlog.get_logger()


@dataclass(frozen=True)
class ShownGap:
    """A gap as one person may see it.

    `wordings`: the questions that are theirs, or that two people asked in the same words. `name`: the newest that two
    people asked, else the words that two people used; of what they alone asked, their own words.
    """

    id: int
    name: str
    wordings: list[str]
    own: list[UnansweredQuestion]
    people: int
    times: int
    last_asked: datetime
    state: str

    @property
    def is_private(self) -> bool:
        """Whether nobody but the person who reads this sees it."""
        return self.people < PEOPLE_ASKING


def note_gap(actor: Actor, query: str, found: Findings) -> None:
    """Keep a question of an agent that found nothing. Nobody's answer waits for it or fails because of it."""
    asked_by_agent = actor.agent is not None or actor.key is not None
    if is_read_only() or not settings.GAPS or not asked_by_agent or is_answered(found):
        return
    text = one_line(query).strip()[:QUESTION_CHARS]
    if not _telling_words(text) or find_secrets(query):
        return
    try:
        with transaction.atomic():
            _keep(actor, text, found)
    except DatabaseError as error:
        log.warning("A question that found nothing was not kept.", error=str(error))


def is_answered(found: Findings) -> bool:
    """Whether anything that was found has enough of the question's words, or is near enough to its meaning."""
    return any((item.keyword or 0) >= WORDS_FOUND or (item.vector or 0) >= MEANING_FOUND for item in found.items)


def list_gaps(
    actor: Actor,
    *,
    state: StateName = "open",
    limit: Annotated[int, Field(ge=1, le=50)] = 20,
    offset: Offset = 0,
) -> Page[ShownGap]:
    """List what is not known here, what most people asked first: as much of it as the actor may see."""
    most_asked = _visible(actor).filter(state=state).order_by("-people", "-times", "-pk")
    page = page_of(most_asked, limit=limit, offset=offset)
    return page.of(_shown(actor, page.items))


def count_gaps(actor: Actor) -> int:
    """Return how many open gaps the actor may see."""
    return _visible(actor).filter(state=GapState.OPEN).count()


def see_gap(actor: Actor, *, gap_id: GapId) -> ShownGap:
    """Return one gap.

    Raises:
        NotFound: there is none, or the actor may see nothing of it.
    """
    shown = _shown(actor, _visible(actor).filter(pk=gap_id))
    if not shown:
        raise NotFound(f"There is no gap {gap_id} that you can see.")
    return shown[0]


@transaction.atomic
def settle_gap(actor: Actor, *, gap_id: GapId, state: StateName) -> ShownGap:
    """Say that a gap is answered, that it is none, or that it is open after all. Curators do."""
    actor.require("curate")
    shown = see_gap(actor, gap_id=gap_id)
    is_settled = GapState(state) is not GapState.OPEN
    Gap.objects.filter(pk=gap_id).update(
        state=state,
        settled_by=actor.user if is_settled else None,
        settled_at=timezone.now() if is_settled else None,
    )
    return shown


@transaction.atomic
def forget_question(actor: Actor, *, question_id: RowId) -> str:
    """Erase a question of the actor's own; return its words.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    question = UnansweredQuestion.objects.filter(user=actor.user, pk=question_id).first()
    if question is None:
        raise NotFound(f"You have no question {question_id}.")
    question.delete()
    _name_anew(Gap.objects.filter(pk=question.gap_id))
    return question.text


def questions_asked(user: User, *, since: datetime | None, until: datetime | None) -> "QuerySet[UnansweredQuestion]":
    """Return what somebody asked in vain in a time."""
    asked = UnansweredQuestion.objects.filter(user=user)
    asked = asked.filter(last_asked__gte=since) if since else asked
    return asked.filter(first_asked__lte=until) if until else asked


def forget_questions(questions: "QuerySet[UnansweredQuestion]") -> None:
    """Erase questions, and what the gaps they stood in were called by them."""
    gaps = list(questions.values_list("gap", flat=True).distinct())
    questions.delete()
    _name_anew(Gap.objects.filter(pk__in=gaps))


def forget_old_questions() -> int:
    """Forget what nobody has asked for half a year; return how many questions went.

    Names are made anew, since people who had asked may have been erased.
    """
    gone, _ = UnansweredQuestion.objects.filter(last_asked__lt=timezone.now() - KEPT).delete()
    _name_anew(Gap.objects.all())
    return gone


def _keep(actor: Actor, text: str, found: Findings) -> None:
    wait_for_turn(_TURNS, "gaps")
    key, now = digest(" ".join(_words(text))), timezone.now()
    mine = UnansweredQuestion.objects.filter(user=actor.user, digest=key).select_related("gap").first()
    if mine is None:
        gap = _same_words(key) or _same_meaning(text, found) or Gap.objects.create()
        mine = UnansweredQuestion(user=actor.user, gap=gap, text=text, digest=key, times=0)
        mine.space, mine.vector = found.space, found.vector
    mine.times, mine.last_asked = mine.times + 1, now
    mine.save()
    _name_anew(Gap.objects.filter(pk=mine.gap_id))
    # Whoever said that it is answered will want to know that agents do not find the answer.
    Gap.objects.filter(pk=mine.gap_id, state=GapState.ANSWERED).update(state=GapState.OPEN)


def _same_words(key: str) -> Gap | None:
    same = UnansweredQuestion.objects.filter(digest=key).select_related("gap").order_by("pk").first()
    return same.gap if same else None


def _same_meaning(text: str, found: Findings) -> Gap | None:
    """The gap of the question that is nearest, if it is near enough: by meaning, or without vectors by words."""
    others = UnansweredQuestion.objects.select_related("gap")
    if found.vector is not None:
        near = others.filter(space=found.space).annotate(distance=CosineDistance("vector", found.vector))
        nearest = near.filter(distance__lte=1 - SAME_MEANING).order_by("distance", "pk").first()
        return nearest.gap if nearest else None
    newest = others.order_by("-last_asked")[:COMPARED]
    alike = max(newest, key=lambda other: _likeness(text, other.text), default=None)
    return alike.gap if alike and _likeness(text, alike.text) >= SAME_WORDS else None


def _visible(actor: Actor) -> "QuerySet[Any]":
    """Gaps that have a name for everybody, or that the actor asked about; with how many, how often, and when last."""
    return Gap.objects.annotate(
        people=Count("questions__user", distinct=True),
        times=Sum("questions__times"),
        last_asked=Max("questions__last_asked"),
        mine=Count("questions", filter=Q(questions__user=actor.user)),
    ).filter(Q(people__gte=PEOPLE_ASKING) & ~Q(name="") | Q(mine__gt=0))


def _shown(actor: Actor, gaps: Iterable[Any]) -> list[ShownGap]:
    rows = list(gaps)
    questions = _questions_of(rows)
    return [_as_seen(actor, gap, questions[gap.pk]) for gap in rows]


def _as_seen(actor: Actor, gap: Any, questions: Sequence[UnansweredQuestion]) -> ShownGap:
    own = [question for question in questions if question.user_id == actor.user.pk]
    wordings = list(dict.fromkeys([*(question.text for question in own), *_said_by_two(questions)]))
    return ShownGap(
        id=gap.pk,
        name=gap.name or wordings[0],
        wordings=wordings,
        own=own,
        people=gap.people,
        times=gap.times,
        last_asked=gap.last_asked,
        state=gap.state,
    )


def _name_anew(gaps: "QuerySet[Gap]") -> None:
    """Give gaps the name that everybody may read, and drop those that nobody asks about any more."""
    gaps.filter(questions=None).delete()
    rows = list(gaps)
    questions = _questions_of(rows)
    for gap in rows:
        gap.name = _name_of(questions[gap.pk])
    Gap.objects.bulk_update(rows, ["name"], batch_size=500)


def _name_of(questions: Sequence[UnansweredQuestion]) -> str:
    """Return the newest question that two people asked in the same words, else the words that two people used."""
    if same := _said_by_two(questions):
        return same[0]
    said: dict[str, set[object]] = {}
    for question in questions:
        for word in _telling_words(question.text):
            said.setdefault(word, set()).add(question.user_id)
    return " · ".join(word for word, people in said.items() if len(people) >= PEOPLE_ASKING)[:QUESTION_CHARS]


def _said_by_two(questions: Iterable[UnansweredQuestion]) -> list[str]:
    """The questions that two people asked in the same words, each once."""
    people: dict[str, dict[object, str]] = {}
    for question in questions:
        people.setdefault(question.digest, {})[question.user_id] = question.text
    return [next(iter(texts.values())) for texts in people.values() if len(texts) >= PEOPLE_ASKING]


def _questions_of(gaps: Sequence[Gap]) -> dict[int, list[UnansweredQuestion]]:
    """The questions of each gap, the newest first."""
    questions: dict[int, list[UnansweredQuestion]] = {gap.pk: [] for gap in gaps}
    for question in UnansweredQuestion.objects.filter(gap__in=gaps).defer("vector").order_by("-last_asked", "-pk"):
        questions[question.gap_id].append(question)
    return questions


def _likeness(one: str, other: str) -> float:
    return fuzz.token_sort_ratio(" ".join(_telling_words(one)), " ".join(_telling_words(other)))


def _words(text: str) -> list[str]:
    return [found.group().casefold() for found in _WORD.finditer(text)]


def _telling_words(text: str) -> list[str]:
    """The words of a question that say what it is about, each once."""
    return [word for word in dict.fromkeys(_words(text)) if word not in _TELLING_NOTHING]
