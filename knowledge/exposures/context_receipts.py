"""Context receipts: what a session received: its start, line by line with reasons, and what was recalled since.

A receipt names things by their ids. The lines as they were sent are kept beside it (`as_told`), and go with the things.
The questions that were asked are not kept here.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from accounts.models import User
from bigmind.text.hygiene import inline
from bigmind.text.token_counts import count_tokens
from knowledge.models import CompanyEntry, Entry, Fact, Hypothesis, Receipt, Session

from .exposures import read_last_citations
from .line_provenance import day_of, provenance_of_lines
from .sent_lines import LineOwner, SentLine, keep_texts, read_texts, texts_by_id

GONE = "(no longer kept)"
BATCH = 100
COMPARED_CHARS = 60
STORED = ("company", "fact", "session")
"""Kinds that count as exposures: the agent would have had to look them up otherwise."""
RECALLS_KEPT = 100
"""Of one session, the last ones."""

_KEEP = """
INSERT INTO knowledge_receipt (session_id, tokens, told, lines, texts) VALUES (%s, %s, %s, %s, %s::bigint[])
ON CONFLICT (session_id) DO UPDATE SET
    tokens = excluded.tokens, told = excluded.told, lines = excluded.lines, texts = excluded.texts
"""
_ADD_RECALL = """
UPDATE knowledge_receipt SET recalls = CASE
    WHEN jsonb_array_length(recalls) >= %s THEN (recalls - 0) || %s::jsonb ELSE recalls || %s::jsonb
END WHERE session_id = %s
"""


@dataclass(frozen=True)
class ReceiptLine:
    """One item of a start context: its tier, which it is, its tokens, and why it is in; when it was erased, if so."""

    tier: str
    kind: str
    id: str
    tokens: int
    why: str
    erased_at: str = ""

    @property
    def kept(self) -> dict[str, Any]:
        """The line as a receipt keeps it."""
        return {name: value for name, value in vars(self).items() if name != "erased_at" or value}


@dataclass(frozen=True)
class ShownLine:
    """A line as its owner reads it: the words it stands for now, from whom it is, and when it was last cited.

    `changed` says what became of it since, where it was sent: “archived”, “changed since”.
    """

    tier: str
    kind: str
    id: str
    tokens: int
    why: str
    title: str
    lineage: str = ""
    last_cited_at: datetime | None = None
    changed: str = ""


@dataclass(frozen=True)
class ShownReceipt:
    """The total cost of a start context, its items as they are now, and its lines as they were sent."""

    tokens: int
    lines: list[ShownLine]
    texts: list[SentLine]

    @property
    def as_told(self) -> str:
        """The whole text as it was sent, without what was erased since."""
        return "\n".join(line.text for line in self.texts)


@dataclass(frozen=True)
class RecalledText:
    """One line of a recall as it was sent, and from whom it is."""

    told: SentLine
    lineage: str


@dataclass(frozen=True)
class ShownRecall:
    """What was recalled at one moment, and what it cost."""

    at: datetime
    tokens: int
    lines: list[RecalledText]


def why_company(entry: Any, project: str, topics: Sequence[str]) -> str:
    """Return why an entry of company knowledge was chosen for a session of this project and these topics."""
    words = f" {entry.title}\n{entry.content} ".casefold()
    about = {topic.casefold() for topic in entry.topics}
    named = [topic for topic in topics if topic.casefold() in about or topic.casefold() in words]
    reasons = []
    if project and entry.project == project:
        reasons.append(f"about the project {project}")
    if named:
        reasons.append(f"about {named[0]}")
    return ", ".join([*reasons, f"importance {entry.importance}"])


def keep_receipt(
    session: Session, lines: Sequence[ReceiptLine], *, tokens: int, texts: list[int] | None = None
) -> None:
    """Store the receipt of a session's start context, in place of that of an earlier start."""
    stored = sum([line.kind in STORED for line in lines])
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [session.pk, tokens, stored, json.dumps([line.kept for line in lines]), texts])


def keep_recalled(user: User, session: Session, text: str, owners: Mapping[str, LineOwner], *, at: datetime) -> None:
    """Keep what an agent received in answer to a question, line by line, with the receipt of its session.

    Nothing is kept of sessions without a receipt: those that no agent started.
    """
    if (texts := keep_texts(user, text, owners, session=session)) is not None:
        recall = json.dumps([{"at": at.isoformat(), "tokens": count_tokens(text), "texts": texts}])
        with connection.cursor() as cursor:
            cursor.execute(_ADD_RECALL, [RECALLS_KEPT, recall, recall, session.pk])


def recalls_of(session: Session) -> list[ShownRecall]:
    """Return what was recalled in a session, in the order of time; without the lines of what was erased since."""
    recalls = Receipt.objects.filter(session=session).values_list("recalls", flat=True).first() or []
    texts = texts_by_id(session.user, {pk for one in recalls for pk in one["texts"]})
    things = {(line.kind, line.id) for line in texts.values() if line.kind}
    lineages = provenance_of_lines(session.user, sorted(things))
    return [
        ShownRecall(
            datetime.fromisoformat(one["at"]),
            one["tokens"],
            [RecalledText(texts[pk], lineages.get((texts[pk].kind, texts[pk].id), "")) for pk in one["texts"]],
        )
        for one in recalls
    ]


def note_erased(user: User, kind: str, id: object) -> None:
    """Record in the user's receipts that a thing was erased: nothing else keeps when that was."""
    this, now = {"kind": kind, "id": str(id)}, timezone.now().isoformat()
    # Locked: of two erasures at once, the second would write the lines back as they were before the first.
    naming = Receipt.objects.filter(session__user=user, lines__contains=[this])
    receipts = list(naming.order_by("pk").select_for_update(of=("self",)))
    for receipt in receipts:
        receipt.lines = [line | {"erased_at": now} if this.items() <= line.items() else line for line in receipt.lines]
    Receipt.objects.bulk_update(receipts, ["lines"], batch_size=BATCH)


def receipt_of(session: Session) -> ShownReceipt | None:
    """Return what the start context of a session was made of; None for a session that has no receipt."""
    receipt = Receipt.objects.filter(session=session).first()
    if receipt is None:
        return None
    texts = read_texts(session.user, receipt.texts)
    lines = show_lines(session.user, [ReceiptLine(**line) for line in receipt.lines], told=texts)
    return ShownReceipt(receipt.tokens, lines, texts)


def show_lines(user: User, lines: Sequence[ReceiptLine], *, told: Iterable[SentLine] = ()) -> list[ShownLine]:
    """Describe each line. Items that were erased, or that the person may no longer see, have no words.

    Args:
        told: The lines as they were sent, to mark which of them would read differently now.
    """
    company = _ids(lines, "company", int)
    titles: dict[tuple[str, str], str] = {}
    for entry in CompanyEntry.objects.readable_by(user, curator=False).filter(pk__in=company):
        titles["company", str(entry.pk)] = titles["decision", str(entry.pk)] = f"[{entry.handle}] {entry.title}"
    archived: set[tuple[str, str]] = set()
    for shared in Entry.objects.filter(pk__in=_ids(lines, "entry", UUID)):
        titles["entry", str(shared.pk)] = str(shared)
    for fact in Fact.objects.of(user).filter(pk__in=_ids(lines, "fact", int)):
        titles["fact", str(fact.pk)] = fact.fact
        if not fact.is_current:
            archived.add(("fact", str(fact.pk)))
    for belief in Hypothesis.objects.filter(user=user, pk__in=_ids(lines, "hypothesis", int)):
        titles["hypothesis", str(belief.pk)] = belief.hypothesis
    for session in Session.objects.of(user).filter(pk__in=_ids(lines, "session", UUID)):
        titles["session", str(session.pk)] = str(session)
    texts = {(line.kind, line.id): line.text for line in told}
    lineages = provenance_of_lines(user, [(line.kind, line.id) for line in lines])
    cited = read_last_citations(user, company)
    return [
        ShownLine(
            tier=line.tier,
            kind=line.kind,
            id=line.id,
            tokens=line.tokens,
            why=line.why,
            title=line.id if line.kind == "profile" else titles.get((line.kind, line.id), GONE),
            lineage=lineages.get((line.kind, line.id)) or _when_erased(line),
            last_cited_at=cited.get(int(line.id)) if line.kind == "company" else None,
            changed="archived since" if (line.kind, line.id) in archived else _change(line, texts, titles),
        )
        for line in lines
    ]


def _change(line: ReceiptLine, texts: dict[tuple[str, str], str], titles: dict[tuple[str, str], str]) -> str:
    """Mark an item that reads differently now than when it was sent. Of a long one only the beginning was sent."""
    before, now = texts.get((line.kind, line.id), ""), titles.get((line.kind, line.id), "")
    return "changed since" if before and now and inline(now)[:COMPARED_CHARS] not in before else ""


def _when_erased(line: ReceiptLine) -> str:
    return f"erased on {day_of(datetime.fromisoformat(line.erased_at))}" if line.erased_at else ""


def _ids(lines: Iterable[ReceiptLine], kind: str, read: Callable[[str], Any]) -> list[Any]:
    kinds = ("company", "decision") if kind == "company" else (kind,)
    return [read(line.id) for line in lines if line.kind in kinds]
