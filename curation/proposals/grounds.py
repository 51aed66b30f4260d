"""Grounds: what BigMind had told a proposer's agent in its session before it proposed something.

By them a curator judges whether a proposal rests on what was reviewed, on the proposer's own memory, or on nothing.
Private lines belong to the proposer: curators see them only while the proposer lets them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import BigIntegerField, Case, F, OuterRef, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Coalesce

from accounts.actor import Actor
from accounts.people.profiles import lets_curators_see_told
from bigmind.core.rls import rls_scope
from curation.decisions.rules import may_decide
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, Kind
from knowledge.services.as_told import lines_until

THINGS_SHOWN = 100
LINES_READ = 2_000
SESSION = "session"
SHARED = frozenset(kind for kind, row in KINDS.items() if row.is_shared) - {Kind.COMPANY, Kind.PERSON}
OWN = frozenset(kind for kind, row in KINDS.items() if not row.is_shared) | {SESSION}
"""A profile is in neither: it is shown to nobody."""


@dataclass
class ToldThing:
    """One thing that the agent had been told of: its lines as they were told, as far as the reader may see them."""

    kind: str
    id: str
    title: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def word(self) -> str:
        """What people call its kind."""
        return KINDS[self.kind].word if self.kind in KINDS else self.kind

    @property
    def text(self) -> str:
        """Its lines, each once."""
        return "\n".join(dict.fromkeys(self.lines))


@dataclass(frozen=True)
class ProposalGrounds:
    """What the agent had been told: the things that the reader may see, and how many there are of each sort.

    `is_kept`: whether anything of the session is kept. `is_open`: whether its reader sees all of it, as the proposer
    or because they agreed (`has_consent`).
    """

    is_kept: bool
    is_open: bool
    has_consent: bool
    shown: list[ToldThing]
    company: int = 0
    shared: int = 0
    own: int = 0

    @property
    def total(self) -> int:
        """How many things it had been told of."""
        return self.company + self.shared + self.own

    @property
    def hidden(self) -> int:
        """How many of them the proposer keeps to themselves."""
        return 0 if self.is_open else self.shared + self.own

    @property
    def left(self) -> int:
        """How many more there are than fit on a page."""
        return self.total - self.hidden - len(self.shown)


def grounds_of(actor: Actor, entry: CompanyEntry) -> ProposalGrounds | None:
    """Return what the agent that proposed an entry had been told before, as far as the actor may see it.

    None: it was not proposed in a session, or the actor is neither its proposer nor a curator.
    """
    proposer, session_id = entry.proposed_by, entry.source_session_id
    if proposer is None or session_id is None:
        return None
    is_own = proposer.pk == actor.user.pk
    if not (is_own or may_decide(actor)):
        return None
    has_consent = lets_curators_see_told(proposer)
    is_open = is_own or has_consent
    things: dict[tuple[str, str], ToldThing] = {}
    is_kept = False
    for kind, id, title, text in _lines_told(actor, entry, is_open=is_open):
        is_kept = True
        if (kind in OWN | SHARED and id != str(session_id)) or title:
            things.setdefault((kind, id), ToldThing(kind, id, title)).lines.append(text)
    told = list(things.values())
    company = [thing for thing in told if thing.kind == Kind.COMPANY]
    shared = [thing for thing in told if thing.kind in SHARED]
    own = [thing for thing in told if thing.kind in OWN]
    shown = [*company, *shared, *own] if is_open else company
    return ProposalGrounds(is_kept, is_open, has_consent, shown[:THINGS_SHOWN], len(company), len(shared), len(own))


def _lines_told(actor: Actor, entry: CompanyEntry, *, is_open: bool) -> Iterator[tuple[str, str, str, str]]:
    """Read kind, id, title and text of each line; of company knowledge that everyone may read the title.

    Without consent no text is read. Also not of company knowledge: the excerpt tells something of what was asked.
    """
    assert entry.proposed_by_id
    assert entry.source_session_id
    number = Case(When(kind=Kind.COMPANY, then=Cast("source_id", BigIntegerField())), output_field=BigIntegerField())
    readable = CompanyEntry.objects.readable_by(actor.user, curator=False).filter(pk=OuterRef("number"))
    with rls_scope(entry.proposed_by_id):
        lines = lines_until(entry.proposed_by_id, entry.source_session_id, entry.created_at).annotate(
            number=number,
            title=Coalesce(Subquery(readable.values("title")[:1]), Value("")),
            shown=F("text") if is_open else Value("", output_field=TextField()),
        )
        return iter(list(lines.values_list("kind", "source_id", "title", "shown")[:LINES_READ]))
