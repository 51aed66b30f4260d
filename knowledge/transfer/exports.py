"""Export: everything a user owns as one document, which `imports` takes back without loss."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from accounts.actor import Actor
from accounts.models import Sharing, User
from accounts.people.profiles import get_profile
from bigmind.core.argument_types import LongText, Moment
from bigmind.core.private_row_numbers import NumberWritten, number_in
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.hygiene import check_content
from knowledge.models import Chunk, Feedback, Session, ShownHeadline, Usefulness
from knowledge.parsers.archives import MEMBERS
from knowledge.transfer.carried_columns import (
    ChunkColumns,
    FactColumns,
    HypothesisColumns,
    NoteColumns,
    ProfileColumns,
    SessionColumns,
    SummaryColumns,
)
from knowledge.transfer.parts import ExportedArchivable, ExportedModel, add_parts, memory_parts
from knowledge.transfer.readers.long_messages import split_long_messages
from knowledge.transfer.readers.memory_drafts import FactProvenance

LAST_PLACE = 2**31 - 1
_PLACE_TAKEN = PydanticCustomError("place_taken", "is that of an earlier chunk. Give each chunk a place of its own")
_PROOFS = Signer(salt="knowledge.session", sep=":")
"""Beside sessions of others, an import gives one its old id only with such a proof: anyone can write any id into a
document."""


class ExportedProfile(ProfileColumns, ExportedModel):
    """Who the user is."""

    updated_at: Moment | None = None


class ExportedFact(FactColumns, ExportedModel):
    """One fact. `id`, `superseded_by`, `similar_to` and `contradicted_by` refer to each other within the document."""

    id: NumberWritten
    source_session: UUID | None = Field(default=None, validation_alias="source_session_id")
    superseded_by: NumberWritten | None = Field(default=None, validation_alias="superseded_by_id")
    similar_to: NumberWritten | None = Field(default=None, validation_alias="similar_to_id")
    contradicted_by: NumberWritten | None = Field(default=None, validation_alias="contradicted_by_id")
    created_at: Moment
    updated_at: Moment | None = None
    provenance: FactProvenance = {}

    model_config = ConfigDict(from_attributes=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


class ExportedChunk(ChunkColumns, ExportedArchivable):
    """One flagged exchange."""

    seq: Annotated[int, Field(ge=1, le=LAST_PLACE)]
    created_at: Moment


class ExportedSummary(SummaryColumns, ExportedModel):
    """The narrative of a session."""

    created_at: Moment


class ExportedSession(SessionColumns, ExportedArchivable):
    """One conversation, with its summary and its chunks. `proof` says that the id was the user's own."""

    id: UUID
    proof: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9_-]*$")] = ""
    summary: ExportedSummary | None = None
    chunks: list[ExportedChunk] = []

    @field_validator("ended_at")
    @classmethod
    def _ends_after_it_started(cls, ended_at: datetime | None, info: ValidationInfo) -> datetime | None:
        started_at = info.data.get("started_at")
        if ended_at and started_at and ended_at < started_at:
            raise ValueError("lies before started_at. A session ends after it started")
        return ended_at

    @field_validator("chunks", mode="before")
    @classmethod
    def _split_long(cls, chunks: object) -> object:
        """Make several chunks of one that is too long, and move those after it on.

        Otherwise one long message would refuse the whole document.
        """
        return split_long_messages(chunks) if isinstance(chunks, list) else chunks

    @field_validator("chunks")
    @classmethod
    def _one_chunk_per_place(cls, chunks: list[ExportedChunk]) -> list[ExportedChunk]:
        taken: set[int] = set()
        problems: list[InitErrorDetails] = []
        for number, chunk in enumerate(chunks):
            if chunk.seq in taken:
                problems.append({"type": _PLACE_TAKEN, "loc": (number, "seq"), "input": chunk.seq})
            taken.add(chunk.seq)
        if problems:
            # This way pydantic names the wrong chunk instead of the whole list.
            raise ValidationError.from_exception_data("chunks", problems)
        return chunks


class ExportedHypothesis(HypothesisColumns, ExportedArchivable):
    """One belief."""

    session: UUID | None = Field(default=None, validation_alias="session_id")
    created_at: Moment
    resolved_at: Moment | None = None

    @field_validator("resolved_at")
    @classmethod
    def _open_until_resolved(cls, resolved_at: datetime | None, info: ValidationInfo) -> datetime | None:
        if resolved_at and info.data.get("status") == "open":
            raise ValueError("is set, but status is open. Leave it out, or say what became of the belief")
        return resolved_at

    model_config = ConfigDict(from_attributes=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


_Told = Annotated[str, AfterValidator(check_content), Field(max_length=1_000)]


class ExportedNote(NoteColumns, ExportedArchivable):
    """One note. `provenance` says from which source and file it came, if an import made it."""

    created_at: Moment
    updated_at: Moment
    provenance: Annotated[dict[_Told, _Told | int], Field(max_length=20)] = {}


class ExportedHeadline(ExportedModel):
    """The headline of one session that everybody here may see."""

    session: UUID = Field(validation_alias="session_id")
    text: Annotated[LongText, Field(max_length=120)]
    chosen_at: Moment

    model_config = ConfigDict(from_attributes=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


class ExportedSharing(ExportedModel):
    """What the user lets everybody here see. Missing until they choose."""

    sections: list[ProfileSection] = []
    in_directory: bool = True
    updated_at: Moment
    headlines: list[ExportedHeadline] = []


_SourceId = Annotated[str, Field(max_length=36)]


class ExportedFeedback(ExportedModel):
    """Feedback of the user, or of an agent, on one item. `source_id` is its id in the BigMind that wrote this."""

    kind: Annotated[str, Field(max_length=20)]
    source_id: Annotated[_SourceId, PlainSerializer(number_in, return_type=_SourceId)]
    verdict: Usefulness
    note: LongText = ""
    created_at: Moment
    settled_at: Moment | None = None


@add_parts
class MemoryDocument(ExportedModel):
    """Everything a user owns. The format is versioned: a reader refuses a version it does not know.

    `sharing` and `feedback` describe the BigMind that wrote this. An import skips them: each BigMind has its own
    sharing choices, and may not have what the feedback is about. With a `program`, the memory is in `files` instead, by
    path, as that program reads and writes them.
    """

    format: Literal["bigmind-memory"] = "bigmind-memory"
    version: Literal[1] = 1
    exported_at: Moment | None = None
    profile: ExportedProfile | None = None
    sessions: list[ExportedSession] = []
    facts: list[ExportedFact] = []
    hypotheses: list[ExportedHypothesis] = []
    notes: list[ExportedNote] = []
    sharing: ExportedSharing | None = None
    feedback: list[ExportedFeedback] = []
    program: Annotated[str, Field(max_length=50)] = ""
    files: Annotated[dict[Annotated[str, Field(max_length=1_000)], str], Field(max_length=MEMBERS)] = {}


def whole_memory(actor: Actor) -> MemoryDocument:
    """Return everything that is remembered of the user, as it is kept."""
    user, profile = actor.user, get_profile(actor)
    parts: dict[str, Any] = {name: part.write(user) for name, part in memory_parts().items()}
    return MemoryDocument(
        exported_at=timezone.now(),
        profile=None if profile.is_empty else ExportedProfile.of(profile),
        sharing=_export_sharing(user),
        feedback=[
            ExportedFeedback.of(feedback, verdict=Usefulness(feedback.verdict))
            for feedback in Feedback.objects.filter(user=user).order_by("created_at")
        ],
        **parts,
    )


def was_own(user: User, exported: ExportedSession) -> bool:
    """Whether this BigMind once exported the session, under this id, for the same user."""
    try:
        _PROOFS.unsign(f"{_claim(user.pk, exported.id)}:{exported.proof}")
    except BadSignature:
        return False
    return True


def _claim(user_id: UUID, session_id: UUID) -> str:
    return f"{user_id} {session_id}"


def _export_sharing(user: User) -> ExportedSharing | None:
    chosen = Sharing.objects.filter(user=user).first()
    if chosen is None:
        return None
    shown = ShownHeadline.objects.of(user).in_view().newest_first()
    return ExportedSharing(
        sections=[ProfileSection(name) for name in chosen.sections],
        in_directory=chosen.in_directory,
        updated_at=chosen.updated_at,
        headlines=[ExportedHeadline.of(headline) for headline in shown],
    )


def sessions_of(user: User) -> "QuerySet[Session]":
    """Return a user's sessions, with what a document has of each."""
    sessions = Session.objects.of(user).order_by("started_at", "id").select_related("summary")
    return sessions.prefetch_related(Prefetch("chunks", Chunk.objects.order_by("seq")))


def export_session(session: Session) -> ExportedSession:
    """Return a session as a document has it."""
    narrative = session.narrative
    return ExportedSession.of(
        session,
        summary=ExportedSummary.of(narrative) if narrative else None,
        chunks=[ExportedChunk.of(chunk) for chunk in session.chunks.all()],
        proof=_PROOFS.signature(_claim(session.user_id, session.pk)),
    )
