"""The start context: what an agent reads first, within a fixed budget of tokens, whatever is stored.

Each part has a floor, so that none falls to nothing, and a ceiling that applies while another part has further lines;
what is left over goes to the parts that have more. What did not fit is counted, with the call that shows it. The
number of queries does not depend on how much is stored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Profile, User
from bigmind.core.argument_types import Project
from bigmind.core.errors import NotFound
from bigmind.core.handles import Handle
from bigmind.database.fixed_queries import Asked, FixedQuery, ask_together
from bigmind.text.days import iso_day, iso_days
from bigmind.text.hygiene import Told, inline, inline_each, markdown_lines
from bigmind.text.token_counts import count_tokens, cut_each, cut_to_tokens
from knowledge.argument_types import SESSION_NAME, Topics
from knowledge.context.budget import (
    FRAME_TOKENS,
    HEADING_TOKENS,
    ITEM_TOKENS,
    PART_BUDGETS,
    ROUNDING_TOKENS,
    TOTAL_TOKENS,
)
from knowledge.context.company import CompanyRow, ask_decisions, ask_relevant, by_relevance, company_parts
from knowledge.context.facts import (
    FACT_PARTS,
    TASTE_AND_RULE,
    ask_facts,
    distance,
    fact_parts,
    line_start,
    line_starts,
    name_project,
)
from knowledge.context.line_ranking import ContextFact, LineRanking, tells_to
from knowledge.context.lines import ContextLine, ContextPart, choose, spend_rest
from knowledge.conversation.current_sessions import own_session
from knowledge.exposures.context_receipts import ReceiptLine, ShownLine, receipt_of
from knowledge.exposures.sent_lines import LineOwner
from knowledge.models import (
    AUTO_CLOSED,
    CompanyEntry,
    Fact,
    Hypothesis,
    Kind,
    Serving,
    Session,
    Summary,
)
from knowledge.models.hypotheses import HypothesisQuerySet

HYPOTHESES_READ = 100
HYPOTHESES_DUE_READ = 20
PREFERENCES_CHARS = 8_000
LONG_LINE_CHARS = 300
SENTENCE_END = re.compile(r"(?<=[^\d\s][.!?]) +(?=\S)")
OPEN_SESSIONS_SHOWN = 3
RECENT_SESSIONS = 3
"""Recent sessions of the project whose topics count a little."""
CITED_DAYS = 180
CITED_READ = 200
SESSIONS_READ = 50
IN_PROGRESS, AMONG_LAST = "in progress", "among the last"
SEVERAL = {"facts": FACT_PARTS, "standing": TASTE_AND_RULE}
_BY_AGE, _MARKDOWN, _WHY = attrgetter("started_at", "pk"), attrgetter("markdown"), attrgetter("why")
COUNTED = ("facts", "standing", "sessions", "hypotheses")

SessionsShown = Annotated[int, Field(ge=0, le=50, description="Closed sessions to list. Default: as many as fit.")]
ToldSessionId = Annotated[
    str,
    Handle("session"),
    Field(pattern=SESSION_NAME, description="Read this session's start context instead."),
]


@dataclass
class Context:
    """What an agent reads at the start, already safe to show, and how much did not fit.

    Attributes:
        known: How many rows there are, for parts of which only the best are read.
        chosen: The chosen lines of each part; under `facts` and `standing` those of several parts together.
        left: How many lines of each part did not fit.
        markdown: The context as the agent reads it.
        tokens: How many tokens the whole context costs, by the conservative counter.
    """

    loaded_at: datetime
    project: str = ""
    parts: dict[str, ContextPart] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, list[ContextLine]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    markdown: str = ""
    tokens: int = 0

    def render(self) -> "Context":
        """Write down what is chosen by now."""
        chosen = {name: part.chosen if part.kept else [] for name, part in self.parts.items()}
        for several, names in SEVERAL.items():
            chosen[several] = [line for name in names for line in chosen.get(name, [])]
        read = {name: len(part.rows) for name, part in self.parts.items()}
        self.left = {name: known - len(chosen[name]) for name, known in (read | self.known).items()}
        self.chosen = chosen
        text = {name: Told("\n".join(map(_MARKDOWN, lines))) for name, lines in chosen.items() if lines}
        reply = {"context": self, "chosen": text, "left": self.left}
        self.markdown = render_to_string("agent/context.md", reply, using="agent").strip() + "\n"
        self.tokens = count_tokens(self.markdown)
        return self

    @property
    def facts(self) -> list[ContextLine]:
        """The chosen facts: those that always apply first, then those about the work."""
        return self.chosen["facts"]

    @property
    def facts_left(self) -> int:
        """How many current facts did not fit."""
        return self.left["facts"]

    @property
    def closed_shown(self) -> int:
        """How many of the chosen sessions have ended."""
        return [*map(_WHY, self.chosen["sessions"])].count(AMONG_LAST)

    @property
    def receipt(self) -> list[ReceiptLine]:
        """The chosen lines with their costs and reasons."""
        return [line for name, part in self.parts.items() if part.kept for line in _receipt_of(name, part)]

    @property
    def owners(self) -> dict[str, LineOwner]:
        """What each of the chosen lines is of."""
        lines = [line for part in self.parts.values() for line in part.kept]
        return {line.markdown: LineOwner(line.kind, line.id) for line in lines if line.markdown}

    @property
    def room_for_company(self) -> int:
        """How many tokens company knowledge had, or would have had if there had been more of it.

        `insert_start` keeps it, so that decisions can be tried on this start.
        """
        part = self.parts["company"]
        if part.left:
            return part.spent
        ceiling = PART_BUDGETS["company"].ceiling
        return max(part.spent, ceiling) if any(one.left for one in self.parts.values()) else part.most


@dataclass(frozen=True)
class ContextAsTold:
    """What an earlier session received at its start, without what was erased since; each item as it is now."""

    markdown: str
    lines: list[ShownLine]
    facts_left: int = 0

    @property
    def tokens(self) -> int:
        """How many tokens it costs."""
        return count_tokens(self.markdown)


def get_context(
    actor: Actor,
    *,
    project: Project = "",
    topics: Topics | None = None,
    sessions: SessionsShown | None = None,
    session_id: ToldSessionId | None = None,
) -> Context | ContextAsTold:
    """Read what BigMind remembers, without opening a session: profile, facts, recent and open sessions.

    Call this in mid-conversation to recover your memory. Returns markdown of at most 1,300 tokens.
    """
    if session_id:
        return _as_told(actor, session_id)
    known, _ = read_known(actor, project, topics or [], sessions=sessions)
    return build_context(actor, known, project=project, topics=topics or [])


def _as_told(actor: Actor, session_id: str) -> ContextAsTold:
    session = own_session(actor, session_id)
    receipt = receipt_of(session)
    if receipt is None or not receipt.texts:
        hint = f"Starts are kept word for word for {settings.KEEP_TOLD_DAYS} days (BIGMIND_KEEP_TOLD_DAYS)."
        raise NotFound(f"What session {session.handle} was told at its start is not kept.", hint=hint)
    return ContextAsTold(receipt.as_told, receipt.lines)


def build_context(actor: Actor, known: "Known", *, project: str, topics: Sequence[str], beside: int = 0) -> Context:
    """Build the context: at most 1,300 tokens, including what stands beside it.

    Company knowledge gets at most 500 of them: what others decided must not displace one's own memory. The profile
    (300) and the sessions and facts (800) get more when others leave some.

    Args:
        known: What was read for this project and these topics.
        beside: Tokens of what stands beside the context, within the same budget.
    """
    context = Context(timezone.now(), cut_to_tokens(inline(project), ITEM_TOKENS // 2))
    context.known = dict(known.counts)
    ranking = LineRanking.of(project, topics, _recent_topics(known.sessions, project))
    company, context.known["company"] = company_parts(
        actor, project, topics, relevant=known.entries, decisions=known.decisions
    )
    approved = {line.text for line in company["company"].rows}
    context.parts = (
        company
        | profile_parts(known.profile)
        | fact_parts(known.facts, ranking, cited=known.cited, profile=known.profile, company=approved)
        | {
            "hypotheses": _hypotheses(actor, project, known=known.counts["hypotheses"]),
            "sessions": _session_part(known.sessions, project),
        }
    )
    _fill(context, TOTAL_TOKENS - beside)
    return context


class Known(NamedTuple):
    """How much of each kind a user has stored, which facts sessions cited lately, the profile, how memory is written,
    whether any session is stale, and how many facts a newer one may contradict; and what the lines are chosen from.
    """

    sessions: list["ContextSession"]
    entries: list[CompanyRow]
    decisions: list[CompanyEntry]
    facts: list[ContextFact]
    counts: Mapping[str, int]
    cited: set[str]
    profile: Profile
    writing: str | None
    has_stale: bool
    unsettled: int


def read_known(
    actor: Actor, project: str, topics: Sequence[str], *also: Asked, sessions: int | None = None
) -> tuple[Known, list[list[Any]]]:
    """Return what a context of this project and these topics is built of, read in one message.

    Args:
        also: What else is to be asked in it; the second part of the answer is what that found.
        sessions: How many closed sessions to list; by default as many as fit.
    """
    most = SESSIONS_READ if sessions is None else sessions
    [known], *rows, entries, decisions, facts = ask_together(
        (_KNOWN, (actor.user.pk, timezone.now(), project)),
        *also,
        (_SESSIONS, (actor.user.pk, project, (most,))),
        ask_relevant(project, topics),
        ask_decisions(actor),
        ask_facts(actor, project, topics),
    )
    *counts, cited, role, preferences, pinned, writing, has_stale, unsettled = known
    profile = Profile(user=actor.user, role=role or "", preferences=preferences or "", pinned_facts=pinned or [])
    of_kinds = dict(zip(COUNTED, [count or 0 for count in counts], strict=True))
    lines = (
        _sessions_to_tell(rows.pop(), project, most),
        by_relevance(map(CompanyRow._make, entries), project, topics),
        decisions,
        list(map(ContextFact._make, facts)),
    )
    return Known(*lines, of_kinds, set(cited), profile, writing, has_stale, unsettled or 0), rows


def _rows_known(user_id: UUID, now: datetime, project: str) -> QuerySet[Any, Any]:
    facts = Fact.objects.of(user_id).current().filter(Q(valid_until=None) | Q(valid_until__gt=now))
    standing = facts.filter(category__in=TASTE_AND_RULE, project__in={"", project})
    rows: list[QuerySet[Any]] = [facts, standing, Session.objects.of(user_id).in_view(), _open_hypotheses(user_id)]
    since = now - timedelta(days=CITED_DAYS)
    cited = Serving.objects.filter(user=user_id, kind=Kind.FACT, cited=True, at__gte=since).order_by("-at")
    doubted = facts.filter(contradicted_by__deprecated_at=None).exclude(contradicted_by=None)
    return User.objects.filter(pk=user_id).values_list(
        *map(_count, rows),
        ArraySubquery(cited.values("source_id")[:CITED_READ]),
        "profile__role",
        "profile__preferences",
        "profile__pinned_facts",
        "capture_policy__mode",
        Exists(Session.objects.of(user_id).stale(now)),
        _count(doubted),
    )


def _count(rows: QuerySet[Any]) -> Subquery:
    return Subquery(rows.order_by().values("user").annotate(n=Count("pk")).values("n"))


_KNOWN = FixedQuery(_rows_known)


def whole_profile(profile: Profile) -> Context:
    """Return a context of the profile alone, without a limit: what it would cost if all of it were shown."""
    parts = profile_parts(profile)
    choose(parts.values(), 100 * TOTAL_TOKENS)
    return Context(timezone.now(), parts=parts).render()


def profile_parts(profile: Profile) -> dict[str, ContextPart]:
    """Return the parts of a profile. Preferences keep their markdown, line by line."""
    shorter = "\n".join(map(_by_sentences, profile.preferences.splitlines()))
    role = [ContextLine("profile", "role", "**Role:** ", inline(profile.role))] if profile.role else []
    preferences = [
        ContextLine("profile", "preferences", *_opening(line), place=place)
        for place, line in sorted(enumerate(markdown_lines(shorter)), key=lambda one: tells_to(one[1]) != 2)
    ]
    pinned = [ContextLine("profile", "pinned", "- Pinned: ", line_start(fact)) for fact in profile.pinned_facts]
    return {
        "role": ContextPart("0", role, *PART_BUDGETS["role"]),
        "preferences": ContextPart("0", preferences, *PART_BUDGETS["preferences"], in_order=True),
        "pinned_facts": ContextPart("0", pinned, *PART_BUDGETS["pinned_facts"]),
    }


def _by_sentences(line: str) -> str:
    """Break a long line after its sentences, so that whole sentences can be chosen: in markdown it reads the same."""
    return SENTENCE_END.sub("\n", line) if len(line) > LONG_LINE_CHARS else line


def _opening(line: str) -> tuple[str, str]:
    """Split a line into its opening, which quotes it and is never shortened, and its text.

    The bar is markdown's quotation in another sign: Gemini CLI shows its model `>` as `&gt;`.
    """
    text = line.lstrip()
    gap = "\n" if line.startswith("\n") else ""
    indent = line[: len(line) - len(text)].removeprefix("\n")
    return f"{gap}│ {indent}", line_start(text, PREFERENCES_CHARS, shown=str)


def _fill(context: Context, limit: int) -> None:
    """Choose the lines. Headings are estimated first; once it is known what they really cost, the rest is spent."""
    parts = context.parts.values()
    # All facts stand under one heading; another line says how many preferences and constraints did not fit.
    headings = sum([HEADING_TOKENS for name, part in context.parts.items() if part.rows and name not in FACT_PARTS[1:]])
    choose(parts, limit - FRAME_TOKENS - headings - HEADING_TOKENS * bool(context.known["standing"]))
    rest = limit - context.render().tokens - ROUNDING_TOKENS
    if spend_rest(parts, rest) != rest:
        context.render()


def _receipt_of(name: str, part: ContextPart) -> list[ReceiptLine]:
    if part.tier == "0":
        title = name.replace("_", " ").capitalize()
        return [ReceiptLine("0", "profile", title, _cost(*part.kept), "told to every session")]
    return [
        ReceiptLine(part.tier, line.kind, line.id, _cost(line), line.why if isinstance(line.why, str) else line.why())
        for line in part.chosen
    ]


def _cost(*items: ContextLine) -> int:
    return count_tokens("".join(f"{item.markdown}\n" for item in items))


def _hypotheses(actor: Actor, project: str, *, known: int) -> ContextPart:
    """Return the open hypotheses, those of this project first, and of them those that are due."""
    beliefs = _BELIEFS(actor.user.pk, timezone.localtime()) if known else []
    ordered = sorted(beliefs, key=lambda belief: (distance(belief.project, project), not belief.is_due))
    items = [
        ContextLine(
            "hypothesis",
            str(belief.pk),
            f"- (H{belief.number}, {belief.confidence:.0%} sure, {iso_day(belief.created_at)}"
            f"{', '.join(['', *filter(None, [name_project(belief.project, project)])])}"
            f"{', due: did it turn out so?' if belief.is_due else ''}) ",
            line_start(belief.hypothesis),
            why="due" if belief.is_due else "not resolved yet",
            is_spare=distance(belief.project, project) == 2 and bool(project),
        )
        for belief in ordered
    ]
    return ContextPart("1", items, *PART_BUDGETS["hypotheses"])


def _beliefs(user_id: UUID, now: datetime) -> QuerySet[Hypothesis]:
    newest = _open_hypotheses(user_id).order_by("-created_at", "-pk")[:HYPOTHESES_READ]
    return newest.union(_open_hypotheses(user_id).due(now)[:HYPOTHESES_DUE_READ]).order_by("-created_at", "-id")


_BELIEFS = FixedQuery(_beliefs)


def _open_hypotheses(user_id: UUID) -> HypothesisQuerySet:
    return Hypothesis.objects.of(user_id).filter(status="open", set_aside_at=None)


class ContextSession(NamedTuple):
    """A candidate session: what its row says."""

    pk: UUID
    number: int
    project: str
    started_at: datetime
    ended_at: datetime | None
    one_liner: str
    topics: list[str]
    outcome: str
    has_summary: bool


def _sessions_to_tell(rows: Iterable[Any], project: str, most: int) -> list[ContextSession]:
    """Return the open sessions, then the newest of this project, then the newest of all."""
    newest = sorted(map(ContextSession._make, rows), key=_BY_AGE, reverse=True)
    if project:
        here = [session for session in newest if session.project == project]
        newest = [*here, *[session for session in newest if session.project != project]]
    at_work = [session for session in newest if session.ended_at is None]
    return [*at_work, *[session for session in newest if session.ended_at is not None][:most]]


def _sessions(user_id: UUID, project: str, limit: tuple[int]) -> QuerySet[Any, Any]:
    mine = (
        Session.objects.of(user_id)
        .in_view()
        .annotate(has_summary=Exists(Summary.objects.filter(session=OuterRef("pk"))))
        .newest_first()
        .values_list(*ContextSession._fields)
    )
    # In a tuple, because a limit is part of the statement and not one of its values (`FixedQuery`).
    closed, [most] = mine.exclude(ended_at=None), limit
    groups = [mine.filter(ended_at=None)[:OPEN_SESSIONS_SHOWN], closed[:most]]
    if project:
        groups.append(closed.filter(project=project)[:most])
    return groups[0].union(*groups[1:])


_SESSIONS = FixedQuery(_sessions)


def _recent_topics(sessions: Iterable[ContextSession], project: str) -> list[str]:
    ours = [session for session in sessions if project and session.project == project]
    return [topic for session in ours[:RECENT_SESSIONS] for topic in session.topics]


def _session_part(sessions: Iterable[ContextSession], project: str) -> ContextPart:
    """Return the sessions by date. Those of other projects wait for room if this one has its own."""
    newest = sorted(sessions, key=_BY_AGE, reverse=True)
    has_own = bool(project) and project in [session.project for session in newest]
    make = partial(_session_lines, project=project, has_own=has_own)
    return ContextPart("1", newest, *PART_BUDGETS["sessions"], make=make)


def _session_lines(sessions: Sequence[ContextSession], *, project: str, has_own: bool) -> list[ContextLine]:
    """Return the rows of sessions: day, headline, topics and outcome."""
    topics = cut_each(inline_each([",".join(session.topics[:6]) for session in sessions]), 30)
    headlines = cut_each(inline_each([session.one_liner or "(no headline)" for session in sessions]), ITEM_TOKENS)
    outcomes = line_starts([session.outcome for session in sessions])
    days, lines = iso_days([session.started_at for session in sessions]), []
    for session, day, about, headline, outcome in zip(sessions, days, topics, headlines, outcomes, strict=True):
        is_other = session.project not in {"", project}
        elsewhere = f" ({name_project(session.project, project)})" if is_other else ""
        if session.ended_at is None:
            said = f"🟡 **[in progress]** `S{session.number}`{elsewhere}"
            text, closing = "", "(session not yet closed) |"
        else:
            mark = f" 📄 `S{session.number}`" if session.has_summary else ""
            shown = AUTO_CLOSED if session.one_liner == AUTO_CLOSED else headline
            said, text, closing = f"{shown}{mark}{elsewhere}", outcome or "—", " |"
        row = f"| {day} | {said} | {about or '—'} | "
        why = AMONG_LAST if session.ended_at else IN_PROGRESS
        lines.append(ContextLine("session", str(session.pk), row, text, closing, why, is_spare=has_own and is_other))
    return lines
