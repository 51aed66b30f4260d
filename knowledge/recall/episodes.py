"""Episodes: answers to questions about the memory itself, from sessions, open work, identity and decisions.

“What did we do on Friday?” is looked up and not searched for. What is found comes before what a search finds, and hides
none of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from django.db.models import Q
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Profile
from bigmind.text.hygiene import Told, one_line, quote, without_accents
from bigmind.text.periods import Period
from knowledge.conversation.current_sessions import session_at_work
from knowledge.kinds import KINDS
from knowledge.models import Category, Fact, Kind, Session, Verdict
from knowledge.models.sessions import AUTO_CLOSED
from knowledge.recall.episode_questions import EpisodeQuestion
from knowledge.recall.hits import Hit, findings, hits_of
from knowledge.recall.visibility import visible_things
from knowledge.search.abstention import answering
from knowledge.search.question_periods import say_period

SHOWN = 3
"""More than three lines cost more than an answer may."""
READ = 20
"""Sessions that are looked through for what they leave open."""
EXCERPT_CHARS = 140
_CONVERSATIONS = (Kind.SUMMARY, Kind.CHUNK)
_LEAVES_OPEN = (
    "next step|next:|todo|to do|open:|still open|remaining|remains|pending|follow up|follow-up|action:|actions:|"
    "not yet|to be done|blocked|left to|offen|nächste|noch zu|ausstehend|fehlt noch"
)
"""What a sentence has that says what is to be done."""


@dataclass(frozen=True)
class Episodes:
    """What answers a question about the memory itself, the newest first, and a line that says what it is."""

    hits: list[Hit] = field(default_factory=list)
    notice: str = ""

    def before(self, others: Iterable[Hit]) -> list[Hit]:
        """Return these, and behind them what a search found besides."""
        known = {(hit.kind, hit.id) for hit in self.hits}
        return [*self.hits, *(hit for hit in others if (hit.kind, hit.id) not in known)]


def answer_episode(
    actor: Actor, question: EpisodeQuestion, *, project: str = "", within: Period | None = None
) -> Episodes | None:
    """Answer a question about the memory itself; None where nothing stored answers it.

    Args:
        project: Its sessions come first.
        within: The period that the caller names, where the words name none.
    """
    found = _answer(actor, question, question.period or within, project)
    return found if found and (found.hits or found.notice) else None


def _answer(actor: Actor, question: EpisodeQuestion, period: Period | None, project: str) -> Episodes | None:
    if question.ask == "person":
        return _person(actor, with_identity=True)
    if question.ask == "preferences":
        return _person(actor, with_identity=False)
    if question.ask == "decisions":
        return _decisions(actor, question, period)
    if question.ask == "last":
        return _last_about(actor, question.topic)
    if question.ask == "open":
        return _open_work(actor, project)
    if question.ask == "stop" or period is None:
        return _latest(actor, project, question)
    return _sessions_of(actor, period, project, topic=question.topic)


def period_between(since: datetime | None, before: datetime | None) -> Period | None:
    """Return the period from one moment to another, of which one may be open."""
    if since is None and before is None:
        return None
    now = timezone.now()
    return Period(since or datetime(1970, 1, 1, tzinfo=UTC), before or now)


def _sessions(actor: Actor) -> Any:
    """Return the sessions that say what was done, without the one of this conversation."""
    says = Q(outcome__gt="") | Q(one_liner__gt="") & ~Q(one_liner=AUTO_CLOSED) | ~Q(summary=None) | ~Q(chunks=None)
    says |= Q(ended_at=None) & ~Q(topics=[])
    at_work = session_at_work(actor)
    sessions = Session.objects.of(actor.user).in_view().filter(says).select_related("summary").distinct()
    return sessions.exclude(pk=at_work.pk).newest_first() if at_work else sessions.newest_first()


def _ours_first(sessions: Iterable[Session], project: str) -> list[Session]:
    return sorted(sessions, key=lambda one: bool(project) and one.project.casefold() != project.casefold())


def _sessions_of(actor: Actor, period: Period, project: str, topic: str = "") -> Episodes:
    """Return the sessions of a period; where it has none, what was stored then, and the sessions that are nearest."""
    sessions = _sessions(actor)
    # A session that began the day before may go on into the period.
    near = sessions.filter(started_at__lt=period.end, started_at__gte=period.start - timedelta(days=1))[:READ]
    of_period = [one for one in near if max(one.started_at, one.ended_at or one.started_at) >= period.start]
    if topic:
        of_period.sort(key=lambda one: -_mentions(one, topic))
    days = say_period(period)
    if of_period:
        return Episodes(_of_sessions(actor, _ours_first(of_period, project)[:SHOWN]), _count(len(of_period), days))
    stored = Fact.objects.of(actor.user).current().filter(created_at__gte=period.start, created_at__lt=period.end)
    if facts := list(stored.newest_first()[:SHOWN]):
        return Episodes(_hits(actor, Kind.FACT, facts), f"No session was recorded: {days}. Stored then:")
    before = list(sessions.filter(started_at__lt=period.start)[:2])
    after = list(sessions.filter(started_at__gte=period.end).order_by("started_at", "id")[:1])
    nearest = [*after, *before]
    if not nearest:
        return Episodes([], "")
    return Episodes(_of_sessions(actor, nearest), f"Nothing was recorded: {days}. Nearest:")


def _mentions(session: Session, topic: str) -> int:
    """Return how many words of a topic a session has."""
    narrative = session.narrative
    parts = (
        session.one_liner,
        session.project,
        *session.topics,
        session.outcome,
        narrative.summary if narrative else "",
    )
    return sum(word in without_accents(" ".join(parts)) for word in topic.split())


def _count(number: int, days: str) -> str:
    return f"{days}: {number} session{'' if number == 1 else 's'}" + (
        f", the newest {SHOWN}:" if number > SHOWN else ":"
    )


def _latest(actor: Actor, project: str, question: EpisodeQuestion) -> Episodes:
    """Return the newest sessions; of the question where we stopped, with what the newest one leaves open."""
    newest = _ours_first(_sessions(actor)[:READ], project)[:SHOWN]
    return Episodes(_of_sessions(actor, newest, with_open=question.ask == "stop"), "Latest sessions:" if newest else "")


def _open_work(actor: Actor, project: str) -> Episodes:
    """Return open sessions, sessions that leave something open, open hypotheses; else the newest sessions."""
    sessions = _ours_first(_sessions(actor)[:READ], project)
    leaving = [one for one in sessions if one.is_open or _open_sentence(one)][:SHOWN]
    beliefs = [] if len(leaving) >= SHOWN else _open_beliefs(actor)[: SHOWN - len(leaving)]
    hits = [*_of_sessions(actor, leaving, with_open=True), *_hits(actor, Kind.HYPOTHESIS, beliefs)]
    if hits:
        return Episodes(hits, "Open:")
    newest = _of_sessions(actor, sessions[:SHOWN])
    return Episodes(newest, "Nothing says that it is open. Latest sessions:" if newest else "")


def _open_beliefs(actor: Actor) -> list[Any]:
    open_ones = KINDS[Kind.HYPOTHESIS].visible(actor.user).filter(status=Verdict.OPEN)
    return list(open_ones.order_by("-created_at", "-pk")[:SHOWN])


def _person(actor: Actor, *, with_identity: bool) -> Episodes:
    """Return who someone is, as their profile, their identity and their preferences say."""
    own = Fact.objects.of(actor.user).current().newest_first()
    identity = list(own.filter(category=Category.IDENTITY)[:SHOWN]) if with_identity else []
    preferences = list(own.filter(category=Category.PREFERENCE)[: SHOWN + 2 - len(identity)])
    profile = Profile.objects.filter(user=actor.user).first()
    parts = [("Role", profile.role)] if profile and with_identity else []
    parts += [("Preferences", profile.preferences)] if profile else []
    profile_text = "; ".join(f"{name}: {quote(one_line(text)[:EXCERPT_CHARS])}" for name, text in parts if text.strip())
    pinned = profile.pinned_facts[:2] if profile and with_identity else []
    profile_text = "; ".join(
        [*filter(None, [profile_text]), *(quote(one_line(text)[:EXCERPT_CHARS]) for text in pinned)]
    )
    return Episodes(
        _hits(actor, Kind.FACT, [*identity, *preferences]), Told(f"Profile: {profile_text}." if profile_text else "")
    )


def _decisions(actor: Actor, question: EpisodeQuestion, period: Period | None) -> Episodes:
    """Return the decisions about a topic, or the newest of a period."""
    things = dict(visible_things(actor.user, [*_CONVERSATIONS, Kind.FACT, Kind.COMPANY]))
    things[Kind.FACT] = things[Kind.FACT].filter(category=Category.DECISION)
    if not question.topic:
        facts = things[Kind.FACT]
        if period:
            facts = facts.filter(created_at__gte=period.start, created_at__lt=period.end)
        newest = list(facts.order_by("-created_at", "-pk")[:SHOWN])
        if period and not newest:
            return _sessions_of(actor, period, "")
        return Episodes(_hits(actor, Kind.FACT, newest), "Latest decisions:" if newest and not period else "")
    found = findings(actor, question.topic, things=things, is_narrowed=True, project="", limit=READ, offset=0).items
    decided = [item for item in found if item.kind in {Kind.FACT, Kind.COMPANY}]
    best = answering([*decided, *found])[:SHOWN]
    best = list({(item.kind, item.source_id): item for item in best}.values())
    if best:
        return Episodes(hits_of(best, actor, things), "")
    nearest = hits_of(decided[:SHOWN], actor, things)
    return Episodes(nearest, "Nothing certain; nearest decisions:" if nearest else "")


def _last_about(actor: Actor, topic: str) -> Episodes | None:
    """Return the newest sessions about a topic; None if nothing says that there were any."""
    things = visible_things(actor.user, _CONVERSATIONS)
    found = findings(actor, topic, things=things, is_narrowed=False, project="", limit=READ, offset=0).items
    ids = [item.source_id for item in answering(found) if item.kind == Kind.SUMMARY]
    sessions = list(Session.objects.of(actor.user).in_view().filter(pk__in=ids).newest_first()[:SHOWN])
    return Episodes(_of_sessions(actor, sessions), "") if sessions else None


def _of_sessions(actor: Actor, sessions: Sequence[Session], *, with_open: bool = False) -> list[Hit]:
    """Return sessions as hits: the headline that the agent wrote, and what came out or is open."""
    return [
        replace(hit, excerpt=_say(session, with_open=with_open))
        for hit, session in zip(_hits(actor, Kind.SUMMARY, sessions), sessions, strict=True)
    ]


def _say(session: Session, *, with_open: bool) -> str:
    narrative = session.narrative
    rest = (with_open and _open_sentence(session)) or session.outcome or (narrative.summary if narrative else "")
    if not (session.own_headline or rest):
        rest = next((chunk.content for chunk in session.chunks_in_order), "") or ", ".join(session.topics)
    open_mark = "(open) " if session.is_open else ""
    return _cut(f"{open_mark}{': '.join(filter(None, (session.own_headline, one_line(rest))))}")


def _cut(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARS else f"{text[:EXCERPT_CHARS].rsplit(' ', 1)[0]} …"


def _open_sentence(session: Session) -> str:
    """Return the first sentence of a session that says what is to be done."""
    narrative = session.narrative
    texts = [session.outcome, narrative.summary if narrative else "", *(narrative.key_facts if narrative else [])]
    sentences = chain.from_iterable(one_line(text).replace("! ", ". ").split(". ") for text in texts)
    return next((one for one in sentences if any(sign in one.casefold() for sign in _LEAVES_OPEN.split("|"))), "")


def _hits(actor: Actor, kind: str, things: Sequence[Any]) -> list[Hit]:
    """Return things as hits that were not searched for."""
    source = KINDS[kind]
    shown: list[dict[str, Any]] = [{"owner": str(actor.user), **source.told(thing)} for thing in things]
    return [
        Hit(
            kind=kind,
            id=str(thing.pk),
            tier=source.tier,
            title=source.title(thing),
            excerpt=one_line(getattr(thing, kind, "") if source.is_statement else str(thing)),
            score=1.0,
            matched=[],
            arms=(),
            created_at=getattr(thing, source.moment),
            age_days=max(0, (timezone.now() - getattr(thing, source.moment)).days),
            project=thing.project,
            **also,
        )
        for thing, also in zip(things, shown, strict=True)
    ]
