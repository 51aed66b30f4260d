"""Company knowledge as one document: entries with their history and comments."""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from django.core.management.color import no_style
from django.db import connection, transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, model_validator

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Moment
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.export_section import ExportSection
from bigmind.database.columns import ColumnCopy
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import digest
from curation.decisions.history import WAITING, find_broken_seals, record
from curation.models import Action, Comment, Review
from knowledge.kb.company import index_company_entry
from knowledge.models import CompanyEntry, Session

_WAITS = "Imported: what was approved elsewhere is decided about here."
PEOPLE = ("proposed_by", "owner", "endorsed_by", "decided_by")


class _ExportedRow(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExportedReview(_ExportedRow):
    """One step in the life of an entry, with the seal that binds it to the one before."""

    id: int
    number: int
    action: str
    by: str | None
    by_id_kept: UUID
    by_name: str
    agent_name: str
    notes: str
    before: dict[str, Any] | None
    after: dict[str, Any]
    undoes: int | None
    batch: UUID
    created_at: Moment
    seal: str


class ExportedComment(_ExportedRow):
    """One contribution to the discussion."""

    by: str | None
    text: str
    created_at: Moment


class ExportedCompanyEntry(_ExportedRow):
    """One entry with its history. People are named by their user names."""

    @model_validator(mode="before")
    @classmethod
    def _without_packs(cls, row: Any) -> Any:
        # Documents of version 0.1 name the knowledge pack that an entry came in.
        return {name: value for name, value in row.items() if name != "brought_by"} if isinstance(row, dict) else row

    id: int
    category: str
    title: str
    content: str
    importance: int
    project: str
    topics: list[str]
    evidence: str
    anchors: list[str] = []
    triggers: list[str] = []
    trigger_levels: dict[str, str] = {}
    warnings: list[str]
    status: str
    revision: int
    source_session: UUID | None = None
    source_kind: str
    source_id: str
    origin: str
    verified_at: Moment | None
    review_after: date | None
    decided_at: Moment | None
    decision_notes: str
    told_at: Moment | None
    superseded_by: int | None
    created_at: Moment
    updated_at: Moment
    proposed_by: str | None
    owner: str | None
    endorsed_by: str | None
    decided_by: str | None
    reviews: list[ExportedReview]
    comments: list[ExportedComment]


class CompanyDocument(_ExportedRow):
    """All company knowledge. The format is versioned: a reader refuses a version it does not know."""

    format: Literal["bigmind-company"] = "bigmind-company"
    version: Literal[1] = 1
    exported_at: Moment | None = None
    entries: list[ExportedCompanyEntry]


COLUMNS = (
    ColumnCopy(
        "the document of company knowledge",
        CompanyEntry,
        {
            "digest": "It follows from the content.",
            "signs": "They follow from the text.",
            "anchor_checks": "The next check of a repository makes them.",
            "agent": "An agent is a client that has signed in; the history names it.",
            "is_copy": "Copies stay out: they are read from the company server again.",
        },
        ExportedCompanyEntry.model_fields,
    ),
    ColumnCopy(
        "the document of company knowledge",
        Review,
        {"entry": "It stands in its entry."},
        ExportedReview.model_fields,
    ),
    ColumnCopy(
        "the document of company knowledge",
        Comment,
        {"id": "Nothing refers to it.", "entry": "It stands in its entry."},
        ExportedComment.model_fields,
    ),
)


def export_company() -> CompanyDocument:
    """Return all company knowledge with its history: for operators, who see what waits and what was refused.

    What is a copy of an entry of the company server stays out: it has no history here, and is read from there again.
    """
    own = CompanyEntry.objects.own().select_related(*PEOPLE, "superseded_by")
    entries = own.prefetch_related("reviews__by", "comments__by").order_by("pk")
    return CompanyDocument(exported_at=timezone.now(), entries=[_export_entry(entry) for entry in entries])


@transaction.atomic
def import_company(actor: Actor, document: CompanyDocument, *, keep_approvals: bool = False) -> int:
    """Import company knowledge into an instance that has none, with ids and seals; return how many entries.

    People are matched by user name. Those without an account here keep their name in the history, and nowhere else.
    What was approved waits for a curator here, because the seals of a document need no secret: anyone can write one.

    Args:
        keep_approvals: Approve here what the document says was approved. For a document that the operator exported.

    Raises:
        Forbidden: the caller is no admin.
        Conflict: there is company knowledge here.
        Invalid: the history in the document is not what was written.
    """
    actor.require("admin")
    if CompanyEntry.objects.exists():
        raise Conflict(
            "There is company knowledge here already.", hint="Restore a backup, or import into a new BigMind."
        )
    people = {user.username: user for user in User.objects.all()}
    with rls_bypass():
        # Their owners may have imported their memory before, or not.
        sessions = Session.objects.in_bulk(
            [exported.source_session for exported in document.entries if exported.source_session]
        )
    entries = [_entry(exported, people, sessions) for exported in document.entries]
    CompanyEntry.objects.bulk_create(entries)
    for exported in document.entries:
        # Not by `save`, which would set `updated_at` to now; after all inserts, because entries refer to each other.
        CompanyEntry.objects.filter(pk=exported.id).update(
            superseded_by=exported.superseded_by, updated_at=exported.updated_at
        )
    _bring_history(document.entries, people)
    if broken := next(iter(find_broken_seals()), None):
        raise Invalid(f"C{broken.entry_id}, row {broken.number}: {broken.why}.", hint="Export it again.")
    _renumber()
    for entry in CompanyEntry.objects.approved():
        if keep_approvals:
            index_company_entry(entry)
        else:
            record(actor, entry, Action.PROPOSE, notes=_WAITS, changes={**WAITING, "verified_at": None})
    return len(entries)


def _export_entry(entry: CompanyEntry) -> ExportedCompanyEntry:
    named = {*PEOPLE, "source_session", "superseded_by", "reviews", "comments"}
    successor = entry.superseded_by
    return ExportedCompanyEntry(
        **{name: getattr(entry, name) for name in ExportedCompanyEntry.model_fields.keys() - named},
        **{name: _name(getattr(entry, name)) for name in PEOPLE},
        source_session=entry.source_session_id,
        superseded_by=successor.pk if successor and not successor.is_copy else None,
        reviews=[_export_review(review) for review in sorted(entry.reviews.all(), key=lambda one: one.number)],
        comments=[
            ExportedComment(by=_name(comment.by), text=comment.text, created_at=comment.created_at)
            for comment in sorted(entry.comments.all(), key=lambda one: one.pk)
        ],
    )


def _export_review(review: Review) -> ExportedReview:
    copied = ExportedReview.model_fields.keys() - {"by", "undoes"}
    plain = {name: getattr(review, name) for name in copied}
    return ExportedReview(**plain, by=_name(review.by), undoes=review.undoes_id)


def _entry(
    exported: ExportedCompanyEntry, people: dict[str, User], sessions: Mapping[UUID | None, Session]
) -> CompanyEntry:
    fields = exported.model_dump(exclude={*PEOPLE, "source_session", "superseded_by", "reviews", "comments"})
    named = {name: people.get(getattr(exported, name) or "") for name in PEOPLE}
    session = sessions.get(exported.source_session)
    # A document may name any session: an entry must not lead to one of someone else.
    is_theirs = session is not None and session.user == named["proposed_by"]
    return CompanyEntry(
        **fields, **named, digest=digest(exported.content), source_session=session if is_theirs else None
    )


def _bring_history(entries: Iterable[ExportedCompanyEntry], people: dict[str, User]) -> None:
    reviews = [
        Review(entry_id=entry.id, by=people.get(exported.by or ""), undoes_id=exported.undoes, **_plain(exported))
        for entry in entries
        for exported in entry.reviews
    ]
    Review.objects.bulk_create(sorted(reviews, key=lambda review: review.pk))
    Comment.objects.bulk_create(
        Comment(entry_id=entry.id, by=people.get(exported.by or ""), text=exported.text, created_at=exported.created_at)
        for entry in entries
        for exported in entry.comments
    )


def _plain(exported: ExportedReview) -> dict[str, Any]:
    return exported.model_dump(exclude={"by", "undoes"})


def _renumber() -> None:
    """Move the sequences past the imported ids: else the next new row would collide with one of them."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [CompanyEntry, Review]):
            cursor.execute(statement)


def _name(user: User | None) -> str | None:
    return user.username if user else None


def _write_file(folder: Path) -> int:
    document = export_company()
    (folder / "company.json").write_text(document.model_dump_json(indent=2))
    return len(document.entries)


SECTION = ExportSection(
    "company", "company knowledge with its history", _write_file, "bigmind company_import company.json"
)
