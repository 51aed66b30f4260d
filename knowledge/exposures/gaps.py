"""Gaps: unanswered questions, grouped by meaning, and what becomes of them.

A person's questions are their own. One is disclosed only when three people other than the reader asked it, and of
questions in other words only the words that three of them used. The reader does not count: otherwise their own list of
guesses would show which of them a colleague asked. Below that, nothing shown depends on what others asked: neither
counts nor groups.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Max, Q, QuerySet, Subquery, Window
from django.utils import timezone
from pgvector.django import CosineDistance
from pydantic import Field
from rapidfuzz import fuzz

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Offset, RowId
from bigmind.core.errors import NotFound
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.pagination import Page
from bigmind.database.rls import rls_bypass
from bigmind.privacy.screening import find_secrets
from bigmind.text.hygiene import digest, one_line
from knowledge.conversation.current_sessions import open_sessions_of
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.kinds import SHARED
from knowledge.models import QUESTION_CHARS, Gap, GapState, Passage, UnansweredQuestion
from knowledge.search.abstention import WORDS_ALONE, WORDS_COUNT
from knowledge.search.findings import Finding, Findings

FAR = 0.21
"""Cosine and words of the nearest item, below which a question becomes a gap. Most answers in other words score more:
decision 75 has both error rates. Whether recall is certain of an answer is another question."""
SAME_MEANING = 0.58
"""Cosine of two questions that ask the same in other words."""
SAME_WORDS = 75.0
"""Of 100, where there is no vector to compare."""
COMPARED = 500
PEOPLE_ASKING = 3
"""How many people besides the reader."""
_ASKED_AGAIN = """
UPDATE knowledge_unansweredquestion AS asked SET times = asked.times + 1, last_asked = %s, answered_at = NULL,
    kind = '', source_id = '', asked_up_to = (SELECT coalesce(max(id), 0) FROM knowledge_passage)
FROM knowledge_gap AS gap WHERE asked.user_id = %s AND asked.digest = %s AND gap.id = asked.gap_id
RETURNING gap.id, gap.name, gap.state
"""

StateName = Annotated[Literal["open", "answered", "dismissed"], Field(description="What became of it.")]
GapId = Annotated[RowId, Field(description="The number of the gap.")]

_WORD = re.compile(r"[^\W_][\w.+#-]*[^\W_]|[^\W_]")
_TELLING_NOTHING = frozenset(
    """a an and any are as at be by can could did do does for from had has have how i if in into is it its me my not of
    on one or our should so than that the their them there they this to us use used using was we were what when where
    which who why will with would you your
    hello hey hi just say thank thanks ok okay yes no please go continue hallo danke bitte ja nein weiter""".split()  # noqa: SIM905 (a list of a hundred quotes reads worse)
)


@dataclass(frozen=True)
class ShownGap:
    """A gap as one person may see it, or a question of their own that is not disclosed to them with those of others.

    `wordings`: the questions that are theirs, or that three others asked in the same words. `name`: the newest that
    three others asked, else the words that three others used; of a question of their own, its words. `question` is one
    of the wordings, by which it can be compared. `answer` is the kind and the id of what was stored since and answers.
    """

    id: int
    name: str
    wordings: list[str]
    own: list[UnansweredQuestion]
    people: int
    times: int
    last_asked: datetime
    state: str
    question: int | None
    is_private: bool = False
    answer: tuple[str, str] | None = None


def keep_unanswered(user: User, asked: QuestionRecord) -> None:
    """Keep a question that came near nothing."""
    if not (settings.GAPS and asked.may_be_gap and is_far(asked)):
        return
    text = one_line(asked.query).strip()[:QUESTION_CHARS]
    if telling_words(text) and not find_secrets(asked.query):
        _keep(user, text, asked.found)


def is_far(asked: QuestionRecord) -> bool:
    """Return whether even the nearest of what was found is far from the question."""
    return not any(_is_near(item) for found in asked.groups or [asked.found] for item in found.items)


def _is_near(item: Finding) -> bool:
    words = item.keyword or 0.0
    return words >= WORDS_ALONE if item.vector is None else item.vector + WORDS_COUNT * words >= FAR


def was_asked_in_vain(actor: Actor, query: str) -> bool:
    """Whether the user's agents asked this in these words during the actor's session, and found nothing."""
    key, bindings = _digest_of(query), (actor.conversation, actor.connection)
    return any(binding and _ASKED_IN_VAIN(actor.user.pk, binding, key) for binding in bindings)


def _select_asked_in_vain(user_id: UUID, binding: str, key: str) -> QuerySet[Any, Any]:
    open_since = open_sessions_of(user_id, binding).values("started_at")[:1]
    asked = UnansweredQuestion.objects.filter(user=user_id, digest=key, answered_at=None)
    return asked.filter(last_asked__gte=Subquery(open_since)).values_list("pk")


_ASKED_IN_VAIN = FixedQuery(_select_asked_in_vain, keeps_plan=False)


def list_gaps(
    actor: Actor,
    *,
    state: StateName = "open",
    limit: Annotated[int, Field(ge=1, le=50)] = 20,
    offset: Offset = 0,
) -> Page[ShownGap]:
    """List what is not known here, what most people asked first: as much of it as the actor may see."""
    shown = [gap for gap in _gaps_shown_to(actor, _questions_of_state(state)) if gap.state == state]
    most_asked = sorted(shown, key=lambda gap: (gap.people, gap.times, gap.last_asked), reverse=True)
    return Page(most_asked[offset : offset + limit], len(shown), limit, offset)


@rls_bypass()
def newest_open_gaps(actor: Actor, *, limit: int) -> tuple[list[ShownGap], int]:
    """Return what was asked last, is not known here and may be seen by the actor, and how much there is in all.

    Of the actor's own questions that are not disclosed, so many are read and the others counted: each is a gap.
    """
    many = _select_gaps_of_many(actor)
    waiting = UnansweredQuestion.objects.filter(_questions_of_state(GapState.OPEN)).select_related("gap")
    own = waiting.filter(user=actor.user).exclude(gap__in=many).annotate(total=Window(Count("pk")))
    alone = list(own.defer("vector").order_by("-last_asked", "-pk")[:limit])
    disclosed = (
        _group(actor, waiting.filter(gap__in=many).defer("vector").order_by("-last_asked", "-pk")) if many else []
    )
    shown = [gap for gap in disclosed if gap.state == GapState.OPEN]
    total = len(shown) + (alone[0].total if alone else 0)
    newest = sorted([*shown, *map(_private, alone)], key=attrgetter("last_asked"), reverse=True)
    return newest[:limit], total


def see_gap(actor: Actor, *, gap_id: GapId) -> ShownGap:
    """Return one gap that the actor may see.

    Raises:
        NotFound: there is none, or too few others asked.
    """
    shown = next((gap for gap in _gaps_shown_to(actor, Q(gap=gap_id)) if not gap.is_private), None)
    if shown is None:
        raise NotFound(f"There is no gap {gap_id} that you can see.")
    return shown


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
    if not is_settled:
        with rls_bypass():
            reopen(UnansweredQuestion.objects.filter(gap=gap_id, kind__in=SHARED))
    return shown


@transaction.atomic
def reopen_question(actor: Actor, *, question_id: RowId) -> str:
    """Say that what seemed to answer a question of the actor's own does not; return its words.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    question = _own_question(actor, question_id)
    reopen(UnansweredQuestion.objects.filter(pk=question.pk))
    return question.text


def reopen(questions: "QuerySet[UnansweredQuestion]") -> None:
    """Let questions wait for an answer again: for something that is stored from now on."""
    questions.update(answered_at=None, kind="", source_id="", asked_up_to=newest_passage())


@transaction.atomic
def forget_question(actor: Actor, *, question_id: RowId) -> str:
    """Erase a question of the actor's own; return its words.

    Raises:
        NotFound: there is none, or it is someone else's.
    """
    question = _own_question(actor, question_id)
    question.delete()
    _name_anew(Gap.objects.filter(pk=question.gap_id))
    return question.text


def _own_question(actor: Actor, question_id: int) -> UnansweredQuestion:
    question = UnansweredQuestion.objects.filter(user=actor.user, pk__in=actor.user.ids_of(question_id)).first()
    if question is None:
        raise NotFound(f"You have no question {question_id}.")
    return question


def questions_asked(user: User, *, since: datetime | None, until: datetime | None) -> "QuerySet[UnansweredQuestion]":
    """Return someone's unanswered questions of a period."""
    asked = UnansweredQuestion.objects.filter(user=user)
    asked = asked.filter(last_asked__gte=since) if since else asked
    return asked.filter(first_asked__lte=until) if until else asked


def forget_questions(questions: "QuerySet[UnansweredQuestion]") -> None:
    """Erase questions, and the names that their gaps have from them."""
    gaps = list(questions.values_list("gap", flat=True).distinct())
    questions.delete()
    _name_anew(Gap.objects.filter(pk__in=gaps))


def forget_old_questions() -> int:
    """Delete what nobody has asked for half a year; return how many questions.

    Names are recomputed, because people who asked may have been erased.
    """
    before = timezone.now() - timedelta(days=settings.KEEP_QUESTIONS_DAYS)
    gone, _ = UnansweredQuestion.objects.filter(last_asked__lt=before).delete()
    _name_anew(Gap.objects.all())
    return gone


def _keep(user: User, text: str, found: Findings) -> None:
    key, now = _digest_of(text), timezone.now()
    gap = _ask_again(user.pk, key, now)
    if gap is None:
        # Two people who ask the same at once would each make a gap for it.
        wait_for_turn(AdvisoryLock.GAPS, "gaps")
        gap = _ask_again(user.pk, key, now)
    if gap is None:
        gap = _same_words(key) or _same_meaning(text, found)
        question = UnansweredQuestion(user=user, gap=gap or Gap.objects.create(), text=text, digest=key, times=1)
        question.last_asked, question.asked_up_to = now, newest_passage()
        question.space, question.vector = found.space, found.vector
        question.save()
        if gap is None:
            return
        _rename([gap])
    elif gap.name:
        _rename([gap])
    # The person who marked it as answered will want to know that agents do not find the answer.
    if gap.state == GapState.ANSWERED:
        Gap.objects.filter(pk=gap.pk, state=GapState.ANSWERED).update(state=GapState.OPEN)


@rls_bypass()
def _ask_again(user_id: UUID, key: str, now: datetime) -> Gap | None:
    """Note that a user asked the same once more, and return its gap; None where it is the first time."""
    with connection.cursor() as cursor:
        cursor.execute(_ASKED_AGAIN, (now, user_id, key))
        row = cursor.fetchone()
    return Gap(*row) if row else None


@rls_bypass()
def newest_passage() -> int:
    """Return the number of the newest passage: what is stored later has a larger one."""
    return Passage.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _digest_of(query: str) -> str:
    return digest(" ".join(_words(one_line(query).strip()[:QUESTION_CHARS])))


@rls_bypass()
def _same_words(key: str) -> Gap | None:
    same = UnansweredQuestion.objects.filter(digest=key).select_related("gap").order_by("pk").first()
    return same.gap if same else None


@rls_bypass()
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


@rls_bypass()
def _gaps_shown_to(actor: Actor, which: Q) -> list[ShownGap]:
    """What is disclosed to the actor, and their own questions apart from it: each alone, whatever others asked."""
    asked = UnansweredQuestion.objects.filter(which, Q(gap__in=_select_gaps_of_many(actor)) | Q(user=actor.user))
    return _group(actor, asked.select_related("gap").defer("vector").order_by("-last_asked", "-pk"))


def _questions_of_state(state: str) -> Q:
    """Return which questions make the gaps of a state."""
    answered = Q(answered_at__isnull=False)
    return answered | Q(gap__state=GapState.ANSWERED) if state == GapState.ANSWERED else ~answered


def _select_gaps_of_many(actor: Actor) -> list[int]:
    others = Count("questions__user", filter=~Q(questions__user=actor.user), distinct=True)
    return list(Gap.objects.annotate(others=others).filter(others__gte=PEOPLE_ASKING).values_list("pk", flat=True))


def _group(actor: Actor, asked: "QuerySet[UnansweredQuestion]") -> list[ShownGap]:
    questions: dict[Gap, list[UnansweredQuestion]] = {}
    for question in asked:
        questions.setdefault(question.gap, []).append(question)
    return [gap for each in questions.items() for gap in _as_seen(actor, *each)]


def _as_seen(actor: Actor, gap: Gap, questions: Sequence[UnansweredQuestion]) -> list[ShownGap]:
    """What one gap is to the actor: the questions that wait, and those that something stored since answers."""
    waiting = [one for one in questions if one.answered_at is None]
    # What answered a colleague's question in their own memory is nobody else's business.
    answered = [one for one in questions if one.answered_at and (one.user_id == actor.user.pk or one.kind in SHARED)]
    return [seen for part in (waiting, answered) for seen in _show_part(actor, gap, part)]


def _show_part(actor: Actor, gap: Gap, questions: Sequence[UnansweredQuestion]) -> list[ShownGap]:
    disclosed = _disclose(actor, gap, questions)
    return [disclosed] if disclosed else [_private(one) for one in questions if one.user_id == actor.user.pk]


def _disclose(actor: Actor, gap: Gap, questions: Sequence[UnansweredQuestion]) -> ShownGap | None:
    own = [question for question in questions if question.user_id == actor.user.pk]
    others = [question for question in questions if question.user_id != actor.user.pk]
    same, name = _same_wordings(others, PEOPLE_ASKING), _name_of(others, PEOPLE_ASKING)
    if not name:
        return None
    return ShownGap(
        id=gap.pk,
        name=name,
        wordings=list(dict.fromkeys(question.text for question in (*own, *same))),
        own=own,
        people=len({question.user_id for question in questions}),
        times=sum(question.times for question in questions),
        last_asked=max(question.last_asked for question in questions),
        state=GapState.ANSWERED if questions[0].answered_at else gap.state,
        question=next((question.pk for question in (*own, *same)), None),
        answer=next((answer for question in (*own, *questions) if (answer := _answer_of(question))), None),
    )


def _private(question: UnansweredQuestion) -> ShownGap:
    return ShownGap(
        id=question.gap_id,
        name=question.text,
        wordings=[question.text],
        own=[question],
        people=1,
        times=question.times,
        last_asked=question.last_asked,
        state=GapState.ANSWERED if question.answered_at else GapState.OPEN,
        question=question.pk,
        is_private=True,
        answer=_answer_of(question),
    )


def _answer_of(question: UnansweredQuestion) -> tuple[str, str] | None:
    return (question.kind, question.source_id) if question.kind else None


@rls_bypass()
def _name_anew(gaps: "QuerySet[Gap]") -> None:
    """Give gaps a name that anyone may read, no matter who asked, and drop those without questions."""
    gaps.filter(questions=None).delete()
    _rename(list(gaps))


@rls_bypass()
def _rename(gaps: Sequence[Gap]) -> None:
    questions, renamed = _questions_of(gaps), []
    for gap in gaps:
        # One more than `_disclose` asks for: any of those who asked may read the name, and does not count then.
        name = _name_of(questions[gap.pk], PEOPLE_ASKING + 1)
        if name != gap.name:
            gap.name = name
            renamed.append(gap)
    Gap.objects.bulk_update(renamed, ["name"], batch_size=500)


def _name_of(questions: Sequence[UnansweredQuestion], people: int) -> str:
    """Return the newest question that so many people asked in the same words, else the words that so many used."""
    if same := _same_wordings(questions, people):
        return same[0].text
    users_of: dict[str, set[object]] = {}
    for question in questions:
        for word in telling_words(question.text):
            users_of.setdefault(word, set()).add(question.user_id)
    return " · ".join(word for word, users in users_of.items() if len(users) >= people)[:QUESTION_CHARS]


def _same_wordings(questions: Iterable[UnansweredQuestion], people: int) -> list[UnansweredQuestion]:
    """Of the questions that so many people asked in the same words, the newest of each."""
    asked: dict[str, dict[object, UnansweredQuestion]] = {}
    for question in questions:
        asked.setdefault(question.digest, {})[question.user_id] = question
    return [next(iter(each.values())) for each in asked.values() if len(each) >= people]


def _questions_of(gaps: Sequence[Gap]) -> dict[int, list[UnansweredQuestion]]:
    """The questions of each gap, the newest first."""
    questions: dict[int, list[UnansweredQuestion]] = {gap.pk: [] for gap in gaps}
    for question in UnansweredQuestion.objects.filter(gap__in=gaps).defer("vector").order_by("-last_asked", "-pk"):
        questions[question.gap_id].append(question)
    return questions


def _likeness(one: str, other: str) -> float:
    return fuzz.token_sort_ratio(" ".join(telling_words(one)), " ".join(telling_words(other)))


def _words(text: str) -> list[str]:
    return [found.group().casefold() for found in _WORD.finditer(text)]


def telling_words(text: str) -> list[str]:
    """The words of a question that say what it is about, each once."""
    return [word for word in dict.fromkeys(_words(text)) if word not in _TELLING_NOTHING]
