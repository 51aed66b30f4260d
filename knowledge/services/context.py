"""The start context: what an agent reads first, within a fixed budget of tokens, whatever is stored.

Each part has a floor, so that none falls to nothing, and a ceiling that applies while another part has further lines;
what is left over goes to the parts that have more. What did not fit is counted, with the call that shows it. The
number of queries does not depend on how much is stored.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Annotated, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Profile
from accounts.people.profiles import get_profile
from bigmind.core.text import inline, markdown_lines
from bigmind.core.tokens import count_tokens, cut_to_tokens
from bigmind.core.vocabulary import Project
from knowledge.models import AUTO_CLOSED, Category, CompanyEntry, Dispatch, Fact, Hypothesis, Session, Summary
from knowledge.services.budgets import ContextLine, ContextPart, choose, spend_rest
from knowledge.services.company import (
    ENTRIES_SHOWN,
    READ_PER_GROUP,
    company_decisions_to_tell,
    decisions_to_tell,
    most_relevant,
)
from knowledge.services.context_receipts import ReceiptLine, why_company, why_fact
from knowledge.vocabulary import Topics

TOTAL_TOKENS = 1_300
LAST_LINES_TOKENS = 80
"""Reserved for what the reply to a start says below its context."""
FRAME_TOKENS = 50
HEADING_TOKENS = 30
COMPANY_TOKENS = 500
COMPANY_ITEM_TOKENS = 100
DECISIONS_READ = 5
PROFILE_TOKENS = 300
INDEX_TOKENS = 800
ITEM_TOKENS = 60
FACTS_READ_PER_GROUP = 110
HYPOTHESES_READ = 100
ITEM_CHARS = 2_000
PREFERENCES_CHARS = 8_000
LONG_LINE_CHARS = 300
SENTENCE_END = re.compile(r"(?<=[^\d\s][.!?]) +(?=\S)")
OPEN_SESSIONS_SHOWN = 3
SESSIONS_READ = 50
DATED = {Category.DECISION, Category.CODEBASE}
"""Categories that age, so their facts carry a date; identity and preferences do not age."""
STANDING = (Category.IDENTITY, Category.CONSTRAINT, Category.PREFERENCE)
"""Categories that apply to every task. Chosen by category, since no task's topics match “always answer in German”."""

FACT_PARTS = (*map(str, STANDING), "work")
IN_PROGRESS = "in progress"

SessionsShown = Annotated[
    int, Field(ge=0, le=50, description="Closed sessions to list. Default: as many as there is room for.")
]


@dataclass(frozen=True)
class CompanyLine:
    """One company entry as agents read it: with the handle to cite it by, and whether it was verified lately."""

    id: int
    handle: str
    category: str
    title: str
    content: str
    freshness: str
    source: str = ""

    @property
    def labels(self) -> str:
        """Whether it was verified lately, and where it comes from if that is another BigMind."""
        return f"{self.freshness}, {self.source}" if self.source else self.freshness

    @property
    def opening(self) -> str:
        """What precedes its content."""
        return f"- **[{self.category}]** [{self.handle}] {self.title}: "

    @property
    def markdown(self) -> str:
        """The line as the agent reads it."""
        return f"{self.opening}{self.content} ({self.labels})"

    @property
    def tokens(self) -> int:
        """What the line costs."""
        return count_tokens(f"{self.markdown}\n")


@dataclass
class Context:
    """What an agent reads at the start, already safe to show, and how much did not fit."""

    loaded_at: datetime
    project: str = ""
    parts: dict[str, ContextPart] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """How many rows there are, for parts of which only the best are read."""

    @property
    def chosen(self) -> dict[str, list[ContextLine]]:
        """The chosen lines of each part, and under `facts` those of all parts of facts together."""
        chosen = {name: part.chosen for name, part in self.parts.items()}
        return chosen | {"facts": [fact for name in FACT_PARTS for fact in chosen.get(name, [])]}

    @property
    def left(self) -> dict[str, int]:
        """How many lines of each part did not fit."""
        chosen = self.chosen
        read = {name: len(part.items) for name, part in self.parts.items()}
        return {name: known - len(chosen[name]) for name, known in (read | self.known).items()}

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
        return sum(session.why != IN_PROGRESS for session in self.parts["sessions"].kept)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered yet."""
        return not any(part.kept for part in self.parts.values())

    @property
    def receipt(self) -> list[ReceiptLine]:
        """The chosen lines with their costs and reasons."""
        return [line for name, part in self.parts.items() if part.kept for line in _receipt_of(name, part)]

    @property
    def markdown(self) -> str:
        """The context as the agent reads it."""
        return render_to_string("agent/context.md", {"context": self}, using="agent").strip() + "\n"

    @property
    def tokens(self) -> int:
        """How many tokens the whole context costs, by the conservative counter."""
        return count_tokens(self.markdown)


def get_context(
    actor: Actor, *, project: Project = "", topics: Topics | None = None, sessions: SessionsShown | None = None
) -> Context:
    """Read what BigMind remembers, without opening a session: profile, facts, recent and open sessions.

    Call this in mid-conversation to recover your memory. Returns markdown of at most 1,300 tokens.
    """
    return build_context(actor, project=project, topics=topics or [], sessions=sessions)


def build_context(
    actor: Actor, *, project: str, topics: Sequence[str], sessions: int | None = None, beside: int = 0
) -> Context:
    """Build the context: at most 1,300 tokens, including what the reply to a start says below it.

    Company knowledge gets at most 500 of them: what others decided must not displace one's own memory. The profile
    (300) and the sessions and facts (800) get more when others leave some.

    Args:
        sessions: How many closed sessions to list; by default as many as fit.
        beside: Tokens of what stands beside the context, within the same budget.
    """
    context = Context(timezone.now(), cut_to_tokens(inline(project), ITEM_TOKENS // 2))
    context.known = {
        "facts": Fact.objects.of(actor.user).current().count(),
        "sessions": Session.objects.of(actor.user).in_view().count(),
        "hypotheses": _open_hypotheses(actor).count(),
    }
    context.parts = (
        _company_parts(context, actor, project, topics)
        | profile_parts(get_profile(actor))
        | _fact_parts(actor, project, topics)
        | {"hypotheses": _hypotheses(actor, project), "sessions": _sessions(actor, project, shown=sessions)}
    )
    _fill(context, TOTAL_TOKENS - LAST_LINES_TOKENS - beside)
    return context


def whole_profile(profile: Profile) -> Context:
    """Return a context of the profile alone, without a limit: what it would cost if all of it were shown."""
    parts = profile_parts(profile)
    choose(parts.values(), 100 * TOTAL_TOKENS)
    return Context(timezone.now(), parts=parts)


def company_lines(entries: Iterable[CompanyEntry]) -> list[CompanyLine]:
    """Return those of the first five entries that always fit: 500 tokens for all of them, less the headings."""
    kept, left = [], COMPANY_TOKENS - 2 * HEADING_TOKENS
    for line in map(company_line, islice(entries, ENTRIES_SHOWN)):
        if line.tokens <= left:
            kept.append(line)
            left -= line.tokens
    return kept


def company_line(entry: CompanyEntry) -> CompanyLine:
    """Return an entry as agents read it: one line of up to about 100 tokens, safe to show."""
    return CompanyLine(
        id=entry.pk,
        handle=entry.handle,
        category=entry.category,
        title=inline(entry.title),
        content=cut_to_tokens(inline(entry.content[:ITEM_CHARS]), COMPANY_ITEM_TOKENS - 40),
        freshness=entry.freshness,
        source=inline(entry.source),
    )


def profile_parts(profile: Profile) -> dict[str, ContextPart]:
    """Return the parts of a profile. Preferences keep their markdown, line by line."""
    shorter = "\n".join(map(_by_sentences, profile.preferences.splitlines()))
    role = [ContextLine("profile", "role", "**Role:** ", inline(profile.role))] if profile.role else []
    preferences = [ContextLine("profile", "preferences", *_opening(line)) for line in markdown_lines(shorter)]
    pinned = [ContextLine("profile", "pinned", "- ", _start(fact)) for fact in profile.pinned_facts]
    return {
        "role": ContextPart("0", role, floor=65, ceiling=65),
        "preferences": ContextPart("0", preferences, floor=110, ceiling=150, in_order=True),
        "pinned_facts": ContextPart("0", pinned, floor=65, ceiling=120),
    }


def _by_sentences(line: str) -> str:
    """Break a long line after its sentences, so that whole sentences can be chosen: in markdown it reads the same."""
    return SENTENCE_END.sub("\n", line) if len(line) > LONG_LINE_CHARS else line


def _opening(line: str) -> tuple[str, str]:
    """Split leading whitespace off a text, so that shortening the text never changes its indentation."""
    text = line.lstrip()
    return line[: len(line) - len(text)], _start(text, PREFERENCES_CHARS, shown=str)


def _start(text: str, chars: int = ITEM_CHARS, shown: Callable[[str], str] = inline) -> str:
    """Return as much of a text as could ever be shown: counting the tokens of megabytes would take seconds."""
    return shown(text[:chars]) + ("…" if len(text) > chars else "")


def _fill(context: Context, limit: int) -> None:
    """Choose the lines. Headings are estimated first; once it is known what they really cost, the rest is spent."""
    parts = context.parts.values()
    headings = sum(HEADING_TOKENS for name, part in context.parts.items() if part.items and name not in FACT_PARTS[1:])
    choose(parts, limit - FRAME_TOKENS - headings)
    spend_rest(parts, limit - context.tokens)


def _receipt_of(name: str, part: ContextPart) -> list[ReceiptLine]:
    if part.tier == "0":
        title = name.replace("_", " ").capitalize()
        return [ReceiptLine("0", "profile", title, _cost(*part.kept), "told to every session")]
    return [ReceiptLine(part.tier, item.kind, item.id, _cost(item), item.why) for item in part.chosen]


def _cost(*items: ContextLine) -> int:
    return count_tokens("".join(f"{item.markdown}\n" for item in items))


def _company_parts(context: Context, actor: Actor, project: str, topics: Sequence[str]) -> dict[str, ContextPart]:
    relevant = most_relevant(project, topics)
    few = len(relevant) < READ_PER_GROUP
    context.known["company"] = len(relevant) if few else CompanyEntry.objects.approved().count()
    entries = [_company_item(entry, project, topics) for entry in relevant[:ENTRIES_SHOWN]]
    decisions = [
        _decision(entry, entry.get_status_display(), str(entry.decided_by or "a curator"), entry.decision_notes)
        for entry in decisions_to_tell(actor)[:DECISIONS_READ]
    ]
    decisions += [_decision_elsewhere(dispatch) for dispatch in company_decisions_to_tell(actor)[:DECISIONS_READ]]
    most = COMPANY_TOKENS - HEADING_TOKENS
    return {
        "company": ContextPart("G", entries, floor=110, ceiling=most, most=most),
        "decisions": ContextPart("G", decisions, floor=80, ceiling=120),
    }


def _company_item(entry: CompanyEntry, project: str, topics: Sequence[str]) -> ContextLine:
    line = company_line(entry)
    content, why = _start(entry.content), why_company(entry, project, topics)
    return ContextLine("company", str(line.id), line.opening, content, f" ({line.labels})", why, shown=line.content)


def _decision(entry: CompanyEntry, status: str, by: str, notes: str, *, is_elsewhere: bool = False) -> ContextLine:
    title, who = cut_to_tokens(inline(entry.title), 30), cut_to_tokens(inline(by), 15)
    text = f"- [{entry.handle}] {title}: {status.lower()} by {who}" + (": " if notes else "")
    why = "decided since the last session"
    return ContextLine("decision", str(entry.pk), text, _start(notes), why=why, is_elsewhere=is_elsewhere)


def _decision_elsewhere(dispatch: Dispatch) -> ContextLine:
    """Return the company server's decision about a proposal that was sent to it."""
    host = dispatch.server.host
    if dispatch.refused_at:
        return _decision(dispatch.entry, "not taken", host, dispatch.trouble, is_elsewhere=True)
    by = f"{dispatch.decided_by or 'a curator'} at {host}"
    return _decision(dispatch.entry, dispatch.get_status_display(), by, dispatch.decision_notes, is_elsewhere=True)


def _hypotheses(actor: Actor, project: str) -> ContextPart:
    beliefs = _open_hypotheses(actor).order_by("-created_at", "-pk")[:HYPOTHESES_READ]
    items = [
        ContextLine(
            "hypothesis",
            str(belief.pk),
            "- ",
            _start(belief.hypothesis),
            f" (H{belief.pk}, {belief.confidence:.0%} sure, {belief.created_at:%Y-%m-%d})",
            "not resolved yet",
        )
        for belief in sorted(beliefs, key=lambda belief: _distance(belief.project, project))
    ]
    return ContextPart("1", items, floor=70, ceiling=110)


def _open_hypotheses(actor: Actor) -> "QuerySet[Hypothesis]":
    return Hypothesis.objects.filter(user=actor.user, status="open", set_aside_at=None)


def _distance(of: str, project: str) -> int:
    """Return the sort key of a project: this one first, none second, another one last."""
    return 0 if project and of == project else 2 if of else 1


def _sessions(actor: Actor, project: str, *, shown: int | None) -> ContextPart:
    mine = (
        Session.objects.of(actor.user)
        .in_view()
        .annotate(has_summary=Exists(Summary.objects.filter(session=OuterRef("pk"))))
        .newest_first()
    )
    closed, most = mine.exclude(ended_at=None), SESSIONS_READ if shown is None else shown
    groups = [mine.open()[:OPEN_SESSIONS_SHOWN], closed[:most]]
    if project:
        groups.append(closed.filter(project=project)[:most])
    found = {session.pk: session for session in groups[0].union(*groups[1:])}.values()
    newest = sorted(found, key=lambda session: (session.started_at, session.pk), reverse=True)
    ordered = sorted(newest, key=lambda session: (not session.is_open, _distance(session.project, project) > 0))
    is_open = sum(session.is_open for session in ordered)
    return ContextPart("1", [_session_item(session) for session in ordered[: is_open + most]], floor=100, ceiling=400)


def _session_item(session: Session) -> ContextLine:
    day, topics = f"{session.started_at:%Y-%m-%d}", cut_to_tokens(inline(",".join(session.topics[:6])), 30) or "—"
    if session.is_open:
        row = f"| {day} | 🟡 **[in progress]** `{session.handle}…` | {topics} | (session not yet closed) |"
        return ContextLine("session", str(session.pk), row, "", why=IN_PROGRESS)
    headline = AUTO_CLOSED if session.one_liner == AUTO_CLOSED else inline(session.one_liner) or "(no headline)"
    mark = f" 📄 `{session.handle}`" if getattr(session, "has_summary", False) else ""
    row = f"| {day} | {cut_to_tokens(headline, ITEM_TOKENS)}{mark} | {topics} | "
    return ContextLine("session", str(session.pk), row, _start(session.outcome) or "—", " |", "among the last")


class _Candidate(NamedTuple):
    """A fact that may be chosen, with as much of its text as could ever fit."""

    pk: int
    category: str
    project: str
    created_at: datetime
    start: str


def _fact_parts(actor: Actor, project: str, topics: Sequence[str]) -> dict[str, ContextPart]:
    """Return the facts by category: those that always apply have their own parts, so that work cannot displace them."""
    of_part: dict[str, list[ContextLine]] = {name: [] for name in FACT_PARTS}
    for fact in sorted(_candidates(actor, project), key=_usefulness(project, topics)):
        is_standing = fact.category in STANDING and _distance(fact.project, project) < 2
        of_part[fact.category if is_standing else "work"].append(_fact_item(fact, project, topics))
    room = {"identity": (65, 150), "constraint": (90, 200), "preference": (80, 200), "work": (110, 400)}
    return {name: ContextPart("1", of_part[name], *room[name]) for name in FACT_PARTS}


def _fact_item(fact: _Candidate, project: str, topics: Sequence[str]) -> ContextLine:
    dated = f", {fact.created_at:%Y-%m-%d}" if fact.category in DATED else ""
    why = why_fact(fact.category, fact.project, fact.start, project, topics)
    return ContextLine(
        "fact", str(fact.pk), f"- **[{fact.category}]** ", _start(fact.start), f" (F{fact.pk}{dated})", why
    )


def _candidates(actor: Actor, project: str) -> Iterable[_Candidate]:
    """Return the newest facts of each category and of the project.

    One UNION of limited queries, each answered by an index: sorting all facts by usefulness in the database would read
    every one of them.
    """
    current = Fact.objects.of(actor.user).current().annotate(start=Left("fact", ITEM_CHARS + 1))
    groups = [Q(category=category) for category in Category.values]
    if project:
        groups.append(Q(project=project))
    newest = [
        current.filter(group).newest_first().values_list(*_Candidate._fields)[:FACTS_READ_PER_GROUP] for group in groups
    ]
    return map(_Candidate._make, newest[0].union(*newest[1:]))


_RANK = {category: rank for rank, category in enumerate(Category.values)}


def _usefulness(project: str, topics: Sequence[str]) -> Callable[[_Candidate], tuple[bool, bool, bool, int, float]]:
    """Return a sort key: facts of this project and these topics first, others last; then by category and age."""
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
