"""What a proposer's agent received from BigMind in its session before it proposed something.

They show a curator whether a proposal rests on reviewed knowledge, on the proposer's own memory, or on nothing. What an
agent received reveals what its user stores and asks: curators see it only while the proposer lets them, and otherwise
not even how much it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models import BigIntegerField, Case, OuterRef, Subquery, Value, When
from django.db.models.functions import Cast, Coalesce

from accounts.actor import Actor
from accounts.people.sharing import lets_curators_see_context
from bigmind.database.rls import rls_scope
from curation.decisions.who_may_decide import may_decide
from knowledge.exposures.sent_lines import lines_until
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, Kind

THINGS_SHOWN = 100
LINES_READ = 2_000
SESSION = "session"
SHARED = frozenset(kind for kind, row in KINDS.items() if row.is_shared) - {Kind.COMPANY, Kind.PERSON}
OWN = frozenset(kind for kind, row in KINDS.items() if not row.is_shared) | {SESSION}
"""The profile is never included: nobody may see it."""


@dataclass
class ReceivedThing:
    """One thing that the agent had received: its lines as they were sent, as far as the reader may see them."""

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
    """What the agent had received: the first of the things, and how many there are of each sort.

    `is_open`: whether its reader may see it, as the proposer or because they agreed (`has_consent`); what follows is
    empty else. `is_kept`: whether anything of the session is kept.
    """

    is_open: bool
    has_consent: bool
    is_kept: bool = False
    shown: Sequence[ReceivedThing] = ()
    company: int = 0
    shared: int = 0
    own: int = 0

    @property
    def total(self) -> int:
        """How many things it had received."""
        return self.company + self.shared + self.own

    @property
    def left(self) -> int:
        """How many more there are than fit on a page."""
        return self.total - len(self.shown)


def grounds_of(actor: Actor, entry: CompanyEntry) -> ProposalGrounds | None:
    """Return what the agent that proposed an entry had received before, if the actor may see it.

    None: it was not proposed in a session, or the actor is neither its proposer nor a curator.
    """
    proposer, session_id = entry.proposed_by, entry.source_session_id
    if proposer is None or session_id is None:
        return None
    is_own = proposer.pk == actor.user.pk
    if not (is_own or may_decide(actor)):
        return None
    has_consent = lets_curators_see_context(proposer)
    if not (is_own or has_consent):
        return ProposalGrounds(is_open=False, has_consent=False)
    things: dict[tuple[str, str], ReceivedThing] = {}
    is_kept = False
    for kind, id, title, text in _lines_received(actor, entry):
        is_kept = True
        if (kind in OWN | SHARED and id != str(session_id)) or title:
            things.setdefault((kind, id), ReceivedThing(kind, id, title)).lines.append(text)
    received = list(things.values())
    company = [thing for thing in received if thing.kind == Kind.COMPANY]
    shared = [thing for thing in received if thing.kind in SHARED]
    own = [thing for thing in received if thing.kind in OWN]
    shown = [*company, *shared, *own][:THINGS_SHOWN]
    return ProposalGrounds(True, has_consent, is_kept, shown, len(company), len(shared), len(own))


def _lines_received(actor: Actor, entry: CompanyEntry) -> Iterator[tuple[str, str, str, str]]:
    """Read kind, id, title and text of each line; the title is that of company knowledge that the actor may read."""
    assert entry.proposed_by_id
    assert entry.source_session_id
    # Ids of other kinds may be no numbers, and would end the cast with an error.
    number = Case(When(kind=Kind.COMPANY, then=Cast("source_id", BigIntegerField())), output_field=BigIntegerField())
    readable = CompanyEntry.objects.readable_by(actor.user, curator=False).filter(pk=OuterRef("number"))
    with rls_scope(entry.proposed_by_id):
        lines = lines_until(entry.proposed_by_id, entry.source_session_id, entry.created_at).annotate(
            number=number, title=Coalesce(Subquery(readable.values("title")[:1]), Value(""))
        )
        # Read here: what is read when it is iterated would be out of the proposer's scope.
        return iter(list(lines.values_list("kind", "source_id", "title", "text")[:LINES_READ]))
