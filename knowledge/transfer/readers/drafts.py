"""Drafts: what an importer makes of another program's memory, before anybody stores it.

Importers only read. What they tell is validated here row by row, as if an agent had sent it, secrets included: a row
that is refused is named with its place, and the others go on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from accounts.vocabulary import JobTitle
from bigmind.core.errors import Invalid
from bigmind.core.operations import refusal
from bigmind.core.screening.policy import Screened, arriving, collect_notices
from bigmind.core.vocabulary import Confidence, Content, Importance, LongText, Moment, Project, Tags
from knowledge.transfer.readers.long_messages import split_long_messages
from knowledge.vocabulary import CategoryName, CompanyCategoryName, Domain, Key, OneLiner, Role

DRAFTS = 20_000
"""How much one import brings in at most."""
REFUSALS = 1_000


class MemoryDraft(BaseModel):
    """Base of the drafts: unchangeable, and deaf to fields that nobody named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FactDraft(MemoryDraft):
    """One atomic truth. `session` is the id of the conversation it comes from, as the source has it."""

    fact: Content
    category: CategoryName
    confidence: Confidence = 1.0
    project: Project = ""
    session: str = ""
    created_at: Moment | None = None
    deprecated_at: Moment | None = None
    deprecation_reason: LongText = ""


class NoteDraft(MemoryDraft):
    """One text at an address."""

    domain: Annotated[Domain, Screened]
    key: Annotated[Key, Screened]
    content: Content
    project: Project = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None


class HypothesisDraft(MemoryDraft):
    """One belief."""

    hypothesis: Content
    confidence: Confidence = 0.7
    status: Annotated[str, Field(pattern="^(open|confirmed|refuted|abandoned)$")] = "open"
    resolution: LongText = ""
    session: str = ""
    created_at: Moment | None = None
    resolved_at: Moment | None = None


class ChunkDraft(MemoryDraft):
    """One message worth keeping word for word."""

    role: Role
    content: Content
    flag_reason: LongText = ""
    created_at: Moment | None = None


class SessionDraft(MemoryDraft):
    """One conversation. `source_id` is its id in the source, by which a later import knows it again."""

    source_id: Annotated[str, Field(min_length=1, max_length=200)]
    one_liner: OneLiner
    project: Project = ""
    started_at: Moment
    ended_at: Moment | None = None
    topics: Tags = []
    outcome: LongText = ""
    importance: Importance = 5
    summary: LongText = ""
    key_facts: list[Content] = []
    code_refs: list[Content] = []
    chunks: Annotated[list[ChunkDraft], BeforeValidator(split_long_messages)] = []


class ProfileDraft(MemoryDraft):
    """Who the user is."""

    role: JobTitle = ""
    preferences: LongText = ""
    pinned_facts: list[Content] = []


class CompanyDraft(MemoryDraft):
    """What everybody should know: it becomes a proposal of whoever imports it."""

    category: CompanyCategoryName
    title: Annotated[str, Field(min_length=1, max_length=80)]
    content: Content
    importance: Importance = 5


class DraftRow(NamedTuple):
    """One row of a source: where it stands, what it is to become, and what it says."""

    place: str
    kind: type[MemoryDraft]
    fields: dict[str, Any]


class Unread(NamedTuple):
    """One row that cannot be read, or is left out on purpose; `says` is why."""

    place: str
    says: str


Row = DraftRow | Unread


def unread(name: str, error: Invalid) -> Unread:
    """Return the row that a file is which cannot be read: the error often begins with its name and line already."""
    place, parted, says = str(error).partition(": ")
    return Unread(place, says) if parted and place.startswith(name) else Unread(name, str(error))


class Placed(NamedTuple):
    """A draft, and where it stands in the source."""

    place: str
    draft: MemoryDraft


@dataclass
class Reading:
    """All that was read from one source: its drafts, and what was refused. Nothing that was left out goes unsaid."""

    drafts: list[Placed] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    more_refused: int = 0

    def refuse(self, place: str, says: str) -> None:
        """Note that a row is left out."""
        if len(self.refused) < REFUSALS:
            self.refused.append(f"{place}: {says}")
        else:
            self.more_refused += 1


def read_rows(rows: Iterable[Row], *, most: int = DRAFTS) -> Reading:
    """Validate the rows of a source one by one, up to a number of items.

    Raises:
        Invalid: there are more than one import may bring in.
    """
    reading = Reading()
    with arriving(), collect_notices() as notices:
        for row in rows:
            _read_row(row, reading)
            if len(reading.drafts) > most:
                hint = "Import it in parts." if most == DRAFTS else "`bigmind memory_import_from` takes more."
                raise Invalid(f"There is more in it than {most:,} items.", hint=hint)
    reading.notices = list(notices)
    return reading


def _read_row(row: Row, reading: Reading) -> None:
    if isinstance(row, Unread):
        reading.refuse(row.place, row.says)
        return
    said = {name: value for name, value in row.fields.items() if value is not None}
    try:
        reading.drafts.append(Placed(row.place, row.kind.model_validate(said)))
    except ValidationError as error:
        reading.refuse(row.place, refusal(error, row.kind).message)


def of_kind(drafts: Iterable[Placed], kind: type[MemoryDraft]) -> Iterator[Placed]:
    """Return those drafts that are of one kind."""
    return (placed for placed in drafts if isinstance(placed.draft, kind))


def moment_of(told: Any) -> datetime | None:
    """Return a moment as other programs write it: ISO 8601, or seconds since 1970. None where it is neither."""
    if isinstance(told, bool) or told in (None, ""):
        return None
    if isinstance(told, int | float):
        # The calendar ends in the year 9999.
        return datetime.fromtimestamp(told, UTC) if 0 < told < 253_402_300_800 else None
    try:
        return datetime.fromisoformat(str(told).strip().replace("Z", "+00:00"))
    except ValueError:
        return None
