"""What a start tells of company knowledge: which entries, in which order, and decisions since the last session."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.actor import Actor
from bigmind.database.fixed_queries import Asked, FixedQuery, pad
from bigmind.text.hygiene import inline, quote
from bigmind.text.token_counts import count_tokens, cut_each, cut_to_tokens
from knowledge.context.budget import COMPANY_ITEM_TOKENS, COMPANY_TOKENS, HEADING_TOKENS, PART_BUDGETS
from knowledge.context.facts import ITEM_CHARS, line_starts, name_project
from knowledge.context.lines import ContextLine, ContextPart
from knowledge.exposures.context_receipts import why_company
from knowledge.exposures.uncited_entries import put_uncited_last
from knowledge.kb.company import ORDERS
from knowledge.models import CompanyEntry, CompanyServer, Dispatch, Status
from knowledge.models.company import freshness_of

ENTRIES_SHOWN = 5
READ_PER_GROUP = 40
DECISIONS_READ = 5


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
    def markdown(self) -> str:
        """The line as the agent reads it."""
        return f"{_opening(self)}{self.content}"

    @cached_property
    def tokens(self) -> int:
        """What the line costs."""
        return count_tokens(f"{self.markdown}\n")


class CompanyRow(NamedTuple):
    """What a start needs of a company entry: to rank it, and to show it if it is among the first."""

    pk: int
    category: str
    title: str
    content: str
    importance: int
    project: str
    topics: list[str]
    verified_at: datetime | None
    review_after: date | None
    server_url: str | None
    server_read_at: datetime | None
    cited: int | None
    answered: int | None
    people: int | None

    @property
    def handle(self) -> str:
        """What agents cite it by."""
        return f"C{self.pk}"

    @property
    def freshness(self) -> str:
        """Whether someone has lately said that it still holds."""
        return freshness_of(self.verified_at, self.review_after)

    @property
    def source(self) -> str:
        """Where a copy comes from, in words."""
        return inline(CompanyServer(url=self.server_url, read_at=self.server_read_at).said) if self.server_url else ""


def _opening(entry: CompanyLine | CompanyRow) -> str:
    """Return what precedes the content: handle, title, whether it was verified lately and where it comes from."""
    labels = f"{entry.freshness}, {entry.source}" if entry.source else entry.freshness
    return f"- **[{entry.category}]** [{entry.handle}] ({labels}) {quote(entry.title)}: "


Entry = TypeVar("Entry", CompanyEntry, CompanyRow)


def company_parts(
    actor: Actor,
    project: str,
    topics: Sequence[str],
    *,
    relevant: Sequence[CompanyRow],
    decisions: Iterable[CompanyEntry],
) -> tuple[dict[str, ContextPart], int]:
    """Return the parts of company knowledge and of decisions to tell, and how many entries are approved."""
    known = len(relevant) if len(relevant) < READ_PER_GROUP else CompanyEntry.objects.approved().count()
    entries = _company_items(relevant[:ENTRIES_SHOWN], project, topics)
    decided = [
        DecisionToTell(entry, entry.get_status_display(), str(entry.decided_by or "a curator"), entry.decision_notes)
        for entry in decisions
    ]
    decided += [_decision_elsewhere(dispatch) for dispatch in company_decisions_to_tell(actor)[:DECISIONS_READ]]
    most = COMPANY_TOKENS - HEADING_TOKENS
    parts = {
        "company": ContextPart("G", entries, *PART_BUDGETS["company"], most=most),
        "decisions": ContextPart("G", _decision_lines(decided), *PART_BUDGETS["decisions"]),
    }
    return parts, known


def _company_items(entries: Sequence[CompanyRow], project: str, topics: Sequence[str]) -> list[ContextLine]:
    """Return the lines of entries, the text of each shortened to what a line may cost."""
    contents = line_starts([entry.content for entry in entries])
    shorter = cut_each(contents, COMPANY_ITEM_TOKENS - 40)
    return [
        ContextLine(
            "company",
            str(entry.pk),
            f"{_opening(entry)}{f'({elsewhere}) ' if elsewhere else ''}",
            content,
            why=partial(why_company, entry, project, topics),
            shown=shown,
        )
        for entry, content, shown in zip(entries, contents, shorter, strict=True)
        for elsewhere in [name_project(entry.project, project) if entry.project not in {"", project} else ""]
    ]


class DecisionToTell(NamedTuple):
    """What was decided about a proposal; `is_elsewhere`: by the company server that it was sent to."""

    entry: CompanyEntry
    status: str
    by: str
    notes: str
    is_elsewhere: bool = False


def _decision_lines(decisions: Sequence[DecisionToTell]) -> list[ContextLine]:
    titles = cut_each([one.entry.title for one in decisions], 30)
    names = cut_each([one.by for one in decisions], 15)
    notes = line_starts([one.notes for one in decisions])
    return [
        ContextLine(
            "decision",
            str(one.entry.pk),
            f"- [C{one.entry.pk}] {quote(title)}: {one.status.lower()} by {quote(name)}{': ' if said else ''}",
            said,
            why="decided since the last session",
            is_elsewhere=one.is_elsewhere,
        )
        for one, title, name, said in zip(decisions, titles, names, notes, strict=True)
    ]


def _decision_elsewhere(dispatch: Dispatch) -> DecisionToTell:
    """Return the company server's decision about a proposal that was sent to it."""
    host = dispatch.server.host
    if dispatch.refused_at:
        return DecisionToTell(dispatch.entry, "not taken", host, dispatch.error, is_elsewhere=True)
    by = f"{dispatch.decided_by or 'a curator'} at {host}"
    return DecisionToTell(dispatch.entry, dispatch.get_status_display(), by, dispatch.decision_notes, is_elsewhere=True)


def company_lines(lines: Iterable[CompanyLine]) -> list[CompanyLine]:
    """Return those of the first five lines that always fit: 500 tokens for all of them, less the headings."""
    kept, left = [], COMPANY_TOKENS - 2 * HEADING_TOKENS
    for line in islice(lines, ENTRIES_SHOWN):
        if line.tokens <= left:
            kept.append(line)
            left -= line.tokens
    return kept


def company_line(entry: CompanyEntry | CompanyRow) -> CompanyLine:
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


def most_relevant(project: str, topics: Sequence[str]) -> list[CompanyRow]:
    """Return approved entries in the order in which a session of this project and these topics should get them.

    Those about the project or the topics come first, then by importance, then the most recently verified. Three indexed
    reads at any size: the most important of all, of the project, and of the topics.
    """
    query, values = ask_relevant(project, topics)
    return by_relevance(map(CompanyRow._make, query(*values)), project, topics)


def ask_relevant(project: str, topics: Sequence[str]) -> Asked:
    """Return the query for the entries among which they are, as rows."""
    return _RELEVANT, (project, *pad(topics))


def _relevant_entries(project: str, *topics: str) -> QuerySet[Any, Any]:
    # Where a copy comes from is shown, and nobody's name: joining those takes PostgreSQL longer to plan than to read.
    found = CompanyEntry.objects.filter(pk__in=_relevant_numbers(project, topics), status=Status.APPROVED)
    server, proof = ("copy__server__url", "copy__server__read_at"), ("proof__cited", "proof__answered", "proof__people")
    return found.order_by(*ORDERS["importance"]).values_list(*CompanyRow._fields[:9], *server, *proof)


_RELEVANT = FixedQuery(_relevant_entries)


def _relevant_numbers(project: str, topics: Sequence[str]) -> QuerySet[Any, Any]:
    """Return the numbers of the entries from which a session of this project and these topics gets the best."""
    ranked = CompanyEntry.objects.approved().order_by(*ORDERS["importance"]).values("pk")
    groups = [*([Q(project=project)] if project else []), *([Q(topics__overlap=list(topics))] if topics else [])]
    parts = [ranked.filter(group)[:READ_PER_GROUP] for group in groups]
    return ranked[:READ_PER_GROUP].union(*parts) if parts else ranked[:READ_PER_GROUP]


def by_relevance(entries: Iterable[Entry], project: str, topics: Sequence[str]) -> list[Entry]:
    """Put entries in the order in which a session of this project and these topics should get them.

    Entries sent often and hardly ever cited come last; they stay, and search finds them as before.
    """
    ranked = rank(entries, project, topics)
    proofs = [one if isinstance(one, CompanyRow) else getattr(one, "proof", None) for one in ranked]
    return put_uncited_last(ranked, proofs)


def rank(entries: Iterable[Entry], project: str, topics: Sequence[str]) -> list[Entry]:
    """Put entries so by what they are about alone."""
    named = {topic.casefold() for topic in topics}
    mentions = re.compile("|".join(map(re.escape, named))).search
    found, places = [*entries], list[tuple[Any, ...]]()
    for at, entry in enumerate(found):
        is_about = named and (
            not named.isdisjoint(map(str.casefold, entry.topics))
            or mentions(f" {entry.title}\n{entry.content} ".casefold())
        )
        relevance = 2 * bool(project and entry.project == project) + bool(is_about)
        elsewhere = bool(entry.project and entry.project != project)
        fresh = entry.verified_at.timestamp() if entry.verified_at else 0.0
        places.append((elsewhere - relevance, -entry.importance, -fresh, entry.pk or 0, at))
    return [found[at] for *_, at in sorted(places)]


def ask_decisions(actor: Actor) -> Asked:
    """Return the query for the first of the actor's decided proposals of which none of their agents was notified."""
    return _DECISIONS, (actor.user.pk,)


def _decisions(user_id: UUID) -> QuerySet[CompanyEntry]:
    decided = CompanyEntry.objects.proposed_by(user_id).filter(told_at=None, decided_at__isnull=False)
    # What the proposer decided in person is no news.
    others = decided.exclude(status=Status.PENDING).exclude(decided_by=user_id)
    return others.select_related("decided_by", "superseded_by").order_by("decided_at")[:DECISIONS_READ]


_DECISIONS = FixedQuery(_decisions)


def company_decisions_to_tell(actor: Actor) -> QuerySet[Dispatch]:
    """What the company server said of the actor's proposals, and none of their agents has heard yet."""
    if not settings.COMPANY_URL:
        return Dispatch.objects.none()
    answered = Q(decided_at__isnull=False) | Q(refused_at__isnull=False)
    mine = Dispatch.objects.filter(answered, entry__proposed_by=actor.user, told_at=None)
    return mine.select_related("entry", "server").order_by("decided_at", "pk")
