"""Questions to colleagues: asked of people who agreed to be seen, answered by them alone, private between the two."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import Truncator
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Alert, User
from accounts.people.sharing import sections_for, sharing_of
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.argument_types import SharedContent
from bigmind.core.errors import Conflict, Forbidden, NotFound, TooMany
from bigmind.core.profile_sections import ProfileSection
from bigmind.core.rls import rls_scope
from bigmind.core.text import echo
from knowledge.models import ANSWER_CHARS, ASKED_CHARS, CompanyEntry, ExpertQuestion, ExpertQuestionState

from .notes import set_note

MOST_A_DAY = 10
MOST_OPEN_WITH_ONE = 3
ECHOED = 160
ANSWERS = "answers"
"""The domain of the notes that keep answers in the memory of the asker."""

_TURNS = 7716

Username = Annotated[str, Field(min_length=1, max_length=150, description="Who is asked: a name of the directory.")]
QuestionText = Annotated[SharedContent, Field(max_length=ASKED_CHARS, description="What you want to know.")]
AnswerText = Annotated[SharedContent, Field(max_length=ANSWER_CHARS, description="The answer.")]


@dataclass(frozen=True)
class PersonToAsk:
    """Someone whose page the asker sees. `is_willing`: they chose themselves to be seen, so they may be asked."""

    user: User
    is_willing: bool


def find_person_to_ask(asker: User, username: str) -> PersonToAsk:
    """Return who has this name, and whether they may be asked.

    Raises:
        NotFound: nobody has it, it is the asker, or they show nothing: all three are answered alike.
    """
    expert = User.objects.filter(username__iexact=username, is_active=True).exclude(pk=asker.pk).first()
    if expert is None or ProfileSection.WHO not in sections_for(asker, expert):
        raise NotFound("You see nobody with this name.", hint="Ask someone whom the directory lists.")
    return PersonToAsk(expert, sharing_of(expert).is_chosen)


@transaction.atomic
def ask_expert(actor: Actor, *, username: Username, question: QuestionText) -> ExpertQuestion:
    """Put a question to a colleague. They are notified, and no one else sees it. Returns the question.

    Raises:
        NotFound: the actor sees nobody with this name.
        Conflict: they did not agree to be seen, were asked this already, or three questions of yours wait for them.
        TooMany: ten questions were asked within a day.
    """
    found = find_person_to_ask(actor.user, username)
    expert = found.user
    if not found.is_willing:
        raise Conflict(f"{expert} has not chosen yet what colleagues may see, and cannot be asked before.")
    # Of two questions at once, each would find the limits not yet reached.
    wait_for_turn(_TURNS, actor.user.pk)
    mine = ExpertQuestion.objects.filter(user=actor.user)
    waiting = mine.filter(expert=expert, state=ExpertQuestionState.OPEN)
    if waiting.filter(text=question).exists():
        raise Conflict(f"{expert} has this question of yours already.")
    if waiting.count() >= MOST_OPEN_WITH_ONE:
        raise Conflict(
            f"{MOST_OPEN_WITH_ONE} questions of yours wait for {expert}, which is the limit.",
            hint="Wait for an answer, or withdraw one.",
        )
    day_ago = timezone.now() - timedelta(days=1)
    if mine.filter(asked_at__gt=day_ago).count() >= MOST_A_DAY:
        raise TooMany(f"You asked {MOST_A_DAY} questions within a day, which is the limit.", retry_after=3600)
    asked = ExpertQuestion.objects.create(user=actor.user, expert=expert, text=question)
    _alert(expert, Alert.Topic.QUESTION_ASKED, _asking(actor, question), by=actor.user)
    return asked


@transaction.atomic
def answer_question(actor: Actor, *, question_id: UUID, answer: AnswerText) -> ExpertQuestion:
    """Answer a question that one was asked. The asker is notified; the answer is kept among their notes.

    Raises:
        NotFound: the actor was not asked such a question.
        Conflict: it is settled already.
    """
    asked = _open_question(actor, question_id)
    _settle(asked, ExpertQuestionState.ANSWERED, answer=answer)
    text = f"{actor.user} answered: {echo(asked.text, limit=ECHOED)}"
    _alert(asked.user, Alert.Topic.QUESTION_SETTLED, text, by=actor.user)
    told = f"Question: {asked.text}\n\nAnswer of {asked.expert} ({timezone.localdate()}):\n\n{answer}"
    # The note is a row of the asker, which row-level security keeps from the expert who answers.
    with rls_scope(asked.user_id):
        set_note(Actor.of(asked.user), domain=ANSWERS, key=f"question-{str(asked.pk)[:8]}", content=told)
    return asked


@transaction.atomic
def decline_question(actor: Actor, *, question_id: UUID) -> ExpertQuestion:
    """Say that one has no answer. The asker is notified, without a reason.

    Raises:
        NotFound: the actor was not asked such a question.
        Conflict: it is settled already.
    """
    asked = _open_question(actor, question_id)
    _settle(asked, ExpertQuestionState.DECLINED)
    text = f"{actor.user} has no answer to: {echo(asked.text, limit=ECHOED)}"
    _alert(asked.user, Alert.Topic.QUESTION_SETTLED, text, by=actor.user)
    return asked


@transaction.atomic
def withdraw_question(actor: Actor, *, question_id: UUID) -> ExpertQuestion:
    """Take back a question that was not answered: the colleague does not see it any more.

    Raises:
        NotFound: the actor asked no such question.
        Conflict: it is settled already.
    """
    asked = _lock_open(ExpertQuestion.objects.filter(user=actor.user), question_id)
    _settle(asked, ExpertQuestionState.WITHDRAWN)
    # Also the notice, which quotes the question, is taken back.
    told = Alert.objects.filter(user=asked.expert, kind=Alert.Topic.QUESTION_ASKED, by_name=str(actor.user)[:200])
    told.filter(text=_cut(_asking(actor, asked.text))).delete()
    return asked


def read_question(actor: Actor, question_id: UUID) -> ExpertQuestion:
    """Return a question that the actor asked or was asked.

    Raises:
        NotFound: there is none, or it is between others.
    """
    rows = ExpertQuestion.objects.between(actor.user).select_related("user", "expert", "entry")
    asked = rows.filter(pk=question_id).first()
    if asked is None:
        raise NotFound("There is no such question.")
    return asked


def note_filed(actor: Actor, question_id: UUID, entry: CompanyEntry) -> None:
    """Record which proposal an answer led to.

    Raises:
        Forbidden: the actor did not write the answer.
    """
    asked = read_question(actor, question_id)
    if asked.expert_id != actor.user.pk:
        raise Forbidden("An answer is proposed by whoever wrote it.")
    ExpertQuestion.objects.filter(pk=asked.pk).update(entry=entry)


def _open_question(actor: Actor, question_id: UUID) -> ExpertQuestion:
    return _lock_open(ExpertQuestion.objects.filter(expert=actor.user), question_id)


def _lock_open(rows: QuerySet[ExpertQuestion], question_id: UUID) -> ExpertQuestion:
    asked = rows.select_for_update(of=("self",)).select_related("user", "expert").filter(pk=question_id).first()
    if asked is None:
        raise NotFound("There is no such question.")
    if asked.state != ExpertQuestionState.OPEN:
        raise Conflict(f"It is {asked.state} already.")
    return asked


def _settle(asked: ExpertQuestion, state: ExpertQuestionState, *, answer: str = "") -> None:
    asked.state, asked.answer, asked.settled_at = state, answer, timezone.now()
    asked.save(update_fields=["state", "answer", "settled_at"])


def _alert(user: User, kind: Alert.Topic, text: str, *, by: User) -> None:
    """Notify one of the two. It is not audited: who asks whom is no one else's business."""
    Alert.objects.create(user=user, kind=kind, text=_cut(text), by_name=str(by)[:200])


def _asking(actor: Actor, question: str) -> str:
    return f"{actor.user} asks you: {echo(question, limit=ECHOED)}"


def _cut(text: str) -> str:
    return Truncator(text).chars(300)
