"""Answers: going through the suggestions, and taking an answer back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Literal, cast

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from accounts.actor import Actor
from bigmind.core.argument_types import Content, RowId
from bigmind.core.errors import BigMindError, Conflict, Invalid, NotFound
from bigmind.core.handles import id_in
from bigmind.core.operations import carry_out
from bigmind.core.private_row_numbers import number_in
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.text.days import local_day
from knowledge.argument_types import ONE_LINER_CHARS
from knowledge.context.sessions import correct_session
from knowledge.kinds import index_own, lock_own
from knowledge.memory.archive import restore, set_aside
from knowledge.memory.facts import bring_back_fact, deprecate_fact, own_fact
from knowledge.memory.hypotheses import reopen_hypothesis, resolve_hypothesis
from knowledge.models import AUTO_CLOSED, Concern, Fact, Summary, TidyingAnswer, Verdict
from knowledge.truth.fact_succession import replace_facts

from .suggestions import KEY_CHARS, KINDS_OF_CONCERNS, Suggestion, suggestions_for

Resolved = Literal["confirmed", "refuted", "abandoned"]

AGAIN_AFTER = timedelta(days=30)
MOST_ANSWERS = 50

SuggestionKey = Annotated[
    str, Field(min_length=KEY_CHARS, max_length=KEY_CHARS, pattern=r"^[0-9a-f]+$", description="Its id: 12 characters.")
]


def _fact_in(sent: Any) -> Any:
    """Read a handle of a fact; arguments within arguments are not read by the transports."""
    return id_in(sent, "fact") if isinstance(sent, str) else sent


class SentAnswer(BaseModel):
    """What to do about one suggestion."""

    model_config = ConfigDict(extra="forbid")

    id: SuggestionKey
    action: Literal["merge", "replace", "archive", "summarize", "confirmed", "refuted", "abandoned", "keep"]
    holds: Annotated[
        RowId | None, BeforeValidator(_fact_in), Field(description="merge, replace: the fact to keep: the newest.")
    ] = None
    text: Annotated[
        Content | None,
        Field(
            description="merge: one sentence instead of all. confirmed, refuted, abandoned: what happened. "
            "summarize: a line as headline, then the summary."
        ),
    ] = None


@dataclass(frozen=True)
class Answered:
    """The result of one answer."""

    id: str
    action: str
    says: str = ""
    error: Annotated[str, Field(description="Why it was refused; then nothing changed.")] = ""


@dataclass(frozen=True)
class Tidying:
    """What was done, and what is suggested next."""

    done: list[Answered]
    suggestions: list[Suggestion]
    left: Annotated[dict[str, int], Field(description="How many there are, by concern.")] = field(default_factory=dict)


def tidy(
    actor: Actor,
    *,
    answers: Annotated[list[SentAnswer] | None, Field(max_length=MOST_ANSWERS, description="What was decided.")] = None,
    undo: Annotated[
        list[SuggestionKey] | None, Field(max_length=MOST_ANSWERS, description="Ids of answers to take back.")
    ] = None,
    concern: Annotated[
        Literal["contradiction", "duplicates", "due", "no_summary", "unused"] | None,
        Field(description="Only this one."),
    ] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_ANSWERS, description="How many suggestions to return.")] = 10,
) -> Tidying:
    """Review contradictions, near-duplicates, due beliefs, unused facts and sessions without a headline.

    Call this when the user wants to tidy up, first without arguments: it changes nothing. Returns suggestions with
    their actions. Ask the user, then send the answers: each is applied separately, and `undo` reverts one.
    """
    concerns = {one.key: one.concern for one in suggestions_for(actor.user)} if answers else {}
    done = [
        _attempt(actor, one.id, one.action, partial(_answer, actor, one, concerns.get(one.id))) for one in answers or []
    ]
    done += [_attempt(actor, key, "undo", partial(_undo, actor, key)) for key in undo or []]
    open_now = suggestions_for(actor.user)
    left: dict[str, int] = {}
    for one in open_now:
        left[one.concern.value] = left.get(one.concern.value, 0) + 1
    return Tidying(done, [one for one in open_now if concern in (None, one.concern)][:limit], left)


def answers_of(actor: Actor, *, limit: int) -> list[TidyingAnswer]:
    """Return what was decided last, the latest first: each can be taken back."""
    return list(TidyingAnswer.objects.filter(user=actor.user).order_by("-at", "-pk")[:limit])


def _attempt(actor: Actor, key: str, action: str, act: Callable[[], str]) -> Answered:
    """Carry out one answer in a transaction of its own, so that a refusal stops no other.

    A user's answers wait for each other: of two agents that answer the same suggestion, the second finds it gone.
    """
    try:
        with transaction.atomic():
            wait_for_turn(AdvisoryLock.TIDYING, actor.user.pk)
            return Answered(key, action, act())
    except BigMindError as refusal:
        return Answered(key, action, error=str(refusal))


def _answer(actor: Actor, sent: SentAnswer, concern: Concern | None) -> str:
    # Asked again, because an earlier answer, or another agent, may have changed what it is about.
    found = suggestions_for(actor.user, concern) if concern else []
    suggestion = next((one for one in found if one.key == sent.id), None)
    if suggestion is None:
        raise NotFound(f"There is no suggestion {sent.id} any more.", hint="Ask again without answers.")
    if sent.action not in suggestion.actions:
        allowed = ", ".join(suggestion.actions)
        raise Invalid.of("action", f"is {sent.action}; for {suggestion.concern.value} it is one of {allowed}")
    answer = TidyingAnswer(
        user=actor.user,
        key=sent.id,
        concern=suggestion.concern,
        items=[str(row.pk) for row in suggestion.rows],
        action=sent.action,
    )
    says = _CARRY_OUT[sent.action](actor, suggestion, sent, answer)
    answer.save()
    return says


def _undo(actor: Actor, key: str) -> str:
    answer = TidyingAnswer.objects.select_for_update().filter(user=actor.user, key=key).first()
    if answer is None:
        raise NotFound(f"No answer {key} is kept.", hint="It may have been taken back already.")
    if take_back := _TAKE_BACK.get(answer.action):
        take_back(actor, answer)
    answer.delete()
    return "Taken back."


# Each action and its opposite.

_REASONS = {"merge": "Merged.", "replace": "It was contradicted."}


def _keep(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    if suggestion.concern == Concern.CONTRADICTION:
        older, newer = suggestion.rows
        Fact.objects.filter(pk=older.pk, contradicted_by=newer).update(contradicted_by=None)
        return "Both are correct: agents get both."
    if suggestion.concern != Concern.DUE:
        return "Kept as it is, and not suggested again."
    (belief,) = (lock_own(actor, "hypothesis", row.pk) for row in suggestion.rows)
    belief.check_on = local_day(timezone.now() + AGAIN_AFTER)
    belief.save(update_fields=["check_on"])
    return f"Open until {belief.check_on}."


def _merge(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    facts = [own_fact(actor, row.pk) for row in suggestion.rows]
    if not all(fact.is_current for fact in facts):
        raise Conflict("One of these facts was archived a moment ago.", hint="Ask again without answers.")
    if sent.holds and sent.holds not in [fact.number for fact in facts]:
        raise Invalid.of("holds", f"is F{sent.holds}, which is none of these facts")
    # Rows come oldest first: without a choice the newest stays.
    stays = next(fact for fact in reversed(facts) if sent.holds in (None, fact.number))
    fact, answer.is_new = replace_facts(facts, stays=stays, text=sent.text or "", reason=_REASONS[sent.action])
    answer.result = str(fact.pk)
    return f"Merged into fact {fact.number}."


def _replace(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    _merge(actor, suggestion, sent.model_copy(update={"text": None}), answer)
    return f"Fact {number_in(answer.result)} is kept; the other one is archived."


def _unkeep(actor: Actor, answer: TidyingAnswer) -> None:
    if answer.concern == Concern.CONTRADICTION:
        older, newer = (own_fact(actor, int(id)) for id in answer.items)
        if older.is_current and newer.is_current:
            Fact.objects.filter(pk=older.pk).update(contradicted_by=newer)


def _unmerge(actor: Actor, answer: TidyingAnswer) -> None:
    if answer.is_new:
        deprecate_fact(actor, fact_id=int(answer.result), reason="The merge was taken back.")
    # Those that something else has replaced or restored since are left as they are.
    merged = Fact.objects.of(actor.user).filter(pk__in=answer.items, superseded_by_id=int(answer.result))
    for fact in merged.order_by("pk").select_for_update(no_key=True):
        bring_back_fact(fact)


def _archive(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    for row in suggestion.rows:
        set_aside(actor, kind=suggestion.kind, id=str(row.pk), reason="Not used.")
    return "Archived: it is not recalled, and can be brought back."


def _unarchive(actor: Actor, answer: TidyingAnswer) -> None:
    for id in answer.items:
        restore(actor, kind=KINDS_OF_CONCERNS[Concern(answer.concern)], id=id)


def _resolve(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    if not sent.text:
        raise Invalid.of("text", "is missing: say what happened, and how you know")
    for row in suggestion.rows:
        resolve_hypothesis(actor, hypothesis_id=row.pk, status=cast("Resolved", sent.action), resolution=sent.text)
    return f"{sent.action.capitalize()}."


def _reopen(actor: Actor, answer: TidyingAnswer) -> None:
    for id in answer.items:
        reopen_hypothesis(lock_own(actor, "hypothesis", int(id)))


def _summarize(actor: Actor, suggestion: Suggestion, sent: SentAnswer, answer: TidyingAnswer) -> str:
    headline, _, summary = (sent.text or "").strip().partition("\n")
    if not headline.strip() or len(headline.strip()) > ONE_LINER_CHARS:
        raise Invalid.of(
            "text", f"must begin with a headline of up to {ONE_LINER_CHARS} characters on a line of its own"
        )
    for row in suggestion.rows:
        arguments = {"one_liner": headline.strip(), "summary": summary.strip() or headline.strip()}
        carry_out(correct_session, actor, {"session_id": str(row.pk), **arguments})
    return "Summarized."


def _unsummarize(actor: Actor, answer: TidyingAnswer) -> None:
    for id in answer.items:
        session = lock_own(actor, "session", id)
        # There was neither summary nor headline before: only such sessions are suggested.
        Summary.objects.filter(session=session).delete()
        session.one_liner = AUTO_CLOSED if session.auto_closed else ""
        session.save(update_fields=["one_liner"])
        index_own("session", session)


_CARRY_OUT: dict[str, Callable[[Actor, Suggestion, SentAnswer, TidyingAnswer], str]] = {
    "keep": _keep,
    "merge": _merge,
    "replace": _replace,
    "archive": _archive,
    "summarize": _summarize,
    **dict.fromkeys((Verdict.CONFIRMED.value, Verdict.REFUTED.value, Verdict.ABANDONED.value), _resolve),
}
_TAKE_BACK: dict[str, Callable[[Actor, TidyingAnswer], None]] = {
    "merge": _unmerge,
    "replace": _unmerge,
    "keep": _unkeep,
    "archive": _unarchive,
    "summarize": _unsummarize,
    **dict.fromkeys((Verdict.CONFIRMED.value, Verdict.REFUTED.value, Verdict.ABANDONED.value), _reopen),
}
