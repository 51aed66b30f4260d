"""The context: what an agent is told at the start, within its budget, whatever is stored.

The most useful items come first and are kept whole; one that is too long is cut between words; what did not fit is
counted, with the call that shows it. The number of queries does not depend on how much is stored.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Annotated, NamedTuple, TypeVar

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Left
from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Profile
from accounts.services.profiles import get_profile
from bigmind.core.text import inline
from bigmind.core.tokens import count_tokens, cut_to_tokens
from bigmind.core.vocabulary import Project
from knowledge.models import AUTO_CLOSED, Category, CompanyEntry, Dispatch, Fact, Session, Summary
from knowledge.services.company import (
    READ_PER_GROUP,
    TOLD,
    company_decisions_to_tell,
    decisions_to_tell,
    most_relevant,
)
from knowledge.services.receipts import ReceiptLine, why_company, why_fact
from knowledge.vocabulary import Topics

TOTAL_TOKENS = 1_300
COMPANY_TOKENS = 500
COMPANY_ITEM_TOKENS = 100
DECISIONS_TOKENS = 150
DECISIONS_READ = 5
PROFILE_TOKENS = 300
INDEX_TOKENS = 800
SESSIONS_TOKENS = 400
ITEM_TOKENS = 60
FRAME_TOKENS = 80
FACTS_READ_PER_GROUP = 40
ITEM_CHARS = 2_000
OPEN_SESSIONS_SHOWN = 3

SessionsShown = Annotated[int, Field(ge=0, le=50, description="Closed sessions to list.")]
Item = TypeVar("Item")


@dataclass(frozen=True)
class SessionLine:
    """One row of the session index."""

    date: datetime
    headline: str
    topics: str
    outcome: str
    handle: str
    is_open: bool
    has_summary: bool
    id: str = ""


@dataclass(frozen=True)
class CompanyLine:
    """One company entry as it is told: its handle to cite it by, and whether it was lately verified."""

    id: int
    handle: str
    category: str
    title: str
    content: str
    freshness: str
    source: str = ""

    @property
    def labels(self) -> str:
        """Whether it was lately verified, and by whom it is told where that is not this BigMind."""
        return f"{self.freshness}, {self.source}" if self.source else self.freshness

    @property
    def markdown(self) -> str:
        """The line as the agent reads it."""
        return f"- **[{self.category}]** [{self.handle}] {self.title}: {self.content} ({self.labels})"

    @property
    def tokens(self) -> int:
        """What it costs."""
        return count_tokens(f"{self.markdown}\n")


@dataclass(frozen=True)
class DecisionLine:
    """What became of a proposal."""

    id: int
    handle: str
    title: str
    status: str
    by: str
    notes: str
    is_elsewhere: bool = False


@dataclass
class Context:
    """What an agent is told at the start, already safe to show, and how much did not fit."""

    loaded_at: datetime
    project: str
    company: list[CompanyLine] = field(default_factory=list)
    company_left: int = 0
    decisions: list[DecisionLine] = field(default_factory=list)
    role: str = ""
    preferences: str = ""
    pinned: list[str] = field(default_factory=list)
    pinned_left: int = 0
    facts: list[tuple[str, str, int]] = field(default_factory=list)
    facts_left: int = 0
    sessions: list[SessionLine] = field(default_factory=list)
    closed_shown: int = 0
    sessions_left: int = 0
    receipt: list[ReceiptLine] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered yet."""
        told = (self.company, self.decisions, self.role, self.preferences, self.pinned, self.facts, self.sessions)
        return not any(told)

    @property
    def markdown(self) -> str:
        """The context as the agent reads it."""
        return render_to_string("agent/context.md", {"context": self}, using="agent").strip() + "\n"

    @property
    def tokens(self) -> int:
        """How many tokens it costs, by the conservative counter."""
        return count_tokens(self.markdown)


def get_context(
    actor: Actor, *, project: Project = "", topics: Topics | None = None, sessions: SessionsShown = 5
) -> Context:
    """Read what BigMind remembers, without opening a session: profile, facts, recent and open sessions.

    Call this in mid-conversation to recover your memory. Returns markdown of at most 1,300 tokens.
    """
    return build_context(actor, project=project, topics=topics or [], sessions=sessions)


def build_context(actor: Actor, *, project: str, topics: Sequence[str], sessions: int = 5) -> Context:
    """Put the context together: company (≤ 500 tokens), profile (≤ 300), then sessions and facts (≤ 800 together).

    What company and profile leave of 1,300 tokens in all is for sessions and facts.
    """
    context = Context(loaded_at=timezone.now(), project=cut_to_tokens(inline(project), ITEM_TOKENS // 2))
    relevant = most_relevant(project, topics)
    context.company, told = company_lines(relevant)
    by_id = {entry.pk: entry for entry in relevant}
    context.receipt += [
        ReceiptLine("G", "company", str(line.id), line.tokens, why_company(by_id[line.id], project, topics))
        for line in context.company
    ]
    known = len(relevant) if len(relevant) < READ_PER_GROUP else CompanyEntry.objects.approved().count()
    context.company_left = known - len(context.company)
    told += _add_decisions(context, actor)
    _add_profile(context, get_profile(actor))
    budget = min(INDEX_TOKENS, TOTAL_TOKENS - FRAME_TOKENS - told - _tokens_of_profile(context))
    spent = _add_sessions(context, actor, shown=sessions, budget=min(SESSIONS_TOKENS, budget))
    _add_facts(context, actor, project=project, topics=topics, budget=budget - spent)
    return context


def company_lines(entries: Iterable[CompanyEntry]) -> tuple[list[CompanyLine], int]:
    """Return the first five entries as they are told, as many as fit into 500 tokens, and what they cost."""
    lines = [company_line(entry) for entry in islice(entries, TOLD)]
    kept, spent = _fitting(lines, COMPANY_TOKENS - 60, lambda line: line.tokens)
    return kept, spent + 60 if kept else 0


def company_line(entry: CompanyEntry) -> CompanyLine:
    """Return an entry as agents are told it: on one line, up to about 100 tokens, safe to show."""
    return CompanyLine(
        id=entry.pk,
        handle=entry.handle,
        category=entry.category,
        title=inline(entry.title),
        content=cut_to_tokens(inline(entry.content[:ITEM_CHARS]), COMPANY_ITEM_TOKENS - 40),
        freshness=entry.freshness,
        source=inline(entry.source),
    )


def _add_decisions(context: Context, actor: Actor) -> int:
    lines = [
        _decision(entry, entry.get_status_display(), str(entry.decided_by or "a curator"), entry.decision_notes)
        for entry in decisions_to_tell(actor)[:DECISIONS_READ]
    ]
    lines += [_decision_elsewhere(dispatch) for dispatch in company_decisions_to_tell(actor)[:DECISIONS_READ]]
    context.decisions, spent = _fitting(lines, DECISIONS_TOKENS - 40, _tokens_of_decision)
    context.receipt += [
        ReceiptLine("G", "decision", str(line.id), _tokens_of_decision(line), "decided since the last session")
        for line in context.decisions
    ]
    return spent + 40 if context.decisions else 0


def _decision(entry: CompanyEntry, status: str, by: str, notes: str, *, is_elsewhere: bool = False) -> DecisionLine:
    return DecisionLine(
        id=entry.pk,
        handle=entry.handle,
        title=cut_to_tokens(inline(entry.title), 30),
        status=status.lower(),
        by=cut_to_tokens(inline(by), 15),
        notes=cut_to_tokens(inline(notes[:ITEM_CHARS]), 40),
        is_elsewhere=is_elsewhere,
    )


def _decision_elsewhere(dispatch: Dispatch) -> DecisionLine:
    """What the company server said of a proposal that was sent to it."""
    host = dispatch.server.host
    if dispatch.refused_at:
        return _decision(dispatch.entry, "not taken", host, dispatch.trouble, is_elsewhere=True)
    by = f"{dispatch.decided_by or 'a curator'} at {host}"
    return _decision(dispatch.entry, dispatch.get_status_display(), by, dispatch.decision_notes, is_elsewhere=True)


def _tokens_of_decision(line: DecisionLine) -> int:
    return count_tokens(f"- [{line.handle}] {line.title}: {line.status} by {line.by}: {line.notes}\n")


def _tokens_of_profile(context: Context) -> int:
    """What the profile costs as it is shown, with its headings."""
    if not (context.role or context.preferences or context.pinned):
        return 0
    pinned = "".join(f"- {fact}\n" for fact in context.pinned)
    return count_tokens(f"{context.role}{context.preferences}{pinned}") + 80


def _add_profile(context: Context, profile: Profile) -> None:
    context.role = _item(profile.role)
    left = PROFILE_TOKENS - count_tokens(f"### 👤 Who you are\n**Role:** {context.role}\n**Preferences:**\n")
    # Pinned facts were pinned by a person: preferences, however long, leave half of the room to them.
    pinned = [f"- {_item(fact)}" for fact in profile.pinned_facts]
    for_preferences = left if not pinned else max(left // 2, left - count_tokens("\n".join(pinned)) - 40)
    context.preferences = cut_to_tokens(inline(profile.preferences[: 4 * ITEM_CHARS]), for_preferences)
    left -= count_tokens(context.preferences) + 40
    kept, _ = _fitting(pinned, left, count_tokens)
    context.pinned = [line.removeprefix("- ") for line in kept]
    context.pinned_left = len(pinned) - len(kept)
    told = {"Role": [context.role], "Preferences": [context.preferences], "Pinned facts": kept}
    context.receipt += [
        ReceiptLine("0", "profile", name, sum(map(count_tokens, texts)), "told to every session")
        for name, texts in told.items()
        if any(texts)
    ]


def _add_sessions(context: Context, actor: Actor, *, shown: int, budget: int) -> int:
    mine = (
        Session.objects.of(actor.user)
        .in_view()
        .annotate(has_summary=Exists(Summary.objects.filter(session=OuterRef("pk"))))
    )
    in_progress = mine.open().newest_first()[:OPEN_SESSIONS_SHOWN]
    closed = mine.exclude(ended_at=None).newest_first()[:shown]
    lines = [_line(session) for session in (*in_progress, *closed)]
    context.sessions, spent = _fitting(lines, budget - 60, _tokens_of_line)
    context.receipt += [
        ReceiptLine("1", "session", line.id, _tokens_of_line(line), "in progress" if line.is_open else "among the last")
        for line in context.sessions
    ]
    context.closed_shown = sum(not line.is_open for line in context.sessions)
    context.sessions_left = Session.objects.of(actor.user).in_view().count() - len(context.sessions)
    return spent + 60 if context.sessions else 0


def _add_facts(context: Context, actor: Actor, *, project: str, topics: Sequence[str], budget: int) -> None:
    facts = sorted(_candidates(actor, project), key=_usefulness(project, topics))
    lines = [(fact.category, _item(fact.start), fact.pk) for fact in facts]
    context.facts, _ = _fitting(lines, budget - 40, _tokens_of_fact)
    by_id = {fact.pk: fact for fact in facts}
    context.receipt += [
        ReceiptLine("1", "fact", str(line[2]), _tokens_of_fact(line), _why(by_id[line[2]], project, topics))
        for line in context.facts
    ]
    context.facts_left = Fact.objects.of(actor.user).current().count() - len(context.facts)


def _tokens_of_fact(line: tuple[str, str, int]) -> int:
    return count_tokens(f"- **[{line[0]}]** {line[1]}\n")


def _why(fact: "_Candidate", project: str, topics: Sequence[str]) -> str:
    return why_fact(fact.category, fact.project, fact.start, project, topics)


class _Candidate(NamedTuple):
    """A fact that may be told, with as much of its text as could ever fit."""

    pk: int
    category: str
    project: str
    created_at: datetime
    start: str


def _candidates(actor: Actor, project: str) -> Iterable[_Candidate]:
    """The newest facts of each category and of the project, in one query that indexes answer at any size."""
    current = Fact.objects.of(actor.user).current().annotate(start=Left("fact", ITEM_CHARS))
    groups = [Q(category=category) for category in Category.values]
    if project:
        groups.append(Q(project=project))
    newest = [
        current.filter(group).newest_first().values_list(*_Candidate._fields)[:FACTS_READ_PER_GROUP] for group in groups
    ]
    return map(_Candidate._make, newest[0].union(*newest[1:]))


_RANK = {category: rank for rank, category in enumerate(Category.values)}


def _usefulness(project: str, topics: Sequence[str]) -> Callable[[_Candidate], tuple[bool, bool, bool, int, float]]:
    """Facts of this project and these topics first, those of other projects last; then by category, then the newest."""
    wanted = [topic.casefold() for topic in topics]

    def key(fact: _Candidate) -> tuple[bool, bool, bool, int, float]:
        text = fact.start.casefold()
        return (
            not (project and fact.project == project),
            not any(topic in text for topic in wanted),
            bool(fact.project and fact.project != project),
            _RANK[fact.category],
            -fact.created_at.timestamp(),
        )

    return key


def _line(session: Session) -> SessionLine:
    return SessionLine(
        date=session.started_at,
        headline=AUTO_CLOSED if session.one_liner == AUTO_CLOSED else _item(session.one_liner),
        topics=cut_to_tokens(inline(",".join(session.topics[:6])), ITEM_TOKENS // 2),
        outcome=_item(session.outcome),
        handle=session.handle,
        is_open=session.is_open,
        has_summary=bool(getattr(session, "has_summary", False)),
        id=str(session.pk),
    )


def _tokens_of_line(line: SessionLine) -> int:
    return count_tokens(f"| 2026-03-30 | {line.headline} 📄 `{line.handle}` | {line.topics} | {line.outcome} |\n") + 8


def _item(text: str) -> str:
    return cut_to_tokens(inline(text[:ITEM_CHARS]), ITEM_TOKENS)


def _fitting(items: Iterable[Item], budget: int, cost: Callable[[Item], int]) -> tuple[list[Item], int]:
    """Keep items in their order as long as each still fits; a long one that does not lets shorter ones pass."""
    kept: list[Item] = []
    spent = 0
    for item in items:
        price = cost(item)
        if spent + price <= budget:
            kept.append(item)
            spent += price
    return kept, spent
