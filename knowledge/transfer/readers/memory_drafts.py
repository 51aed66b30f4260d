"""Drafts: what an importer reads from another program's memory, before it is stored.

Importers only read. What they tell is validated here row by row, as if an agent had sent it, secrets included: a row
that is refused is named with its place, and the others go on.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any, NamedTuple, Self

from django.utils import timezone
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from bigmind.core.argument_checks import refusal
from bigmind.core.argument_types import Content, Importance, Moment
from bigmind.core.errors import Invalid
from bigmind.privacy.screening import drop_private_in
from bigmind.privacy.screening.policy import ARRIVING, Screened, collect_notices, screen
from bigmind.text.hygiene import check_content, texts_in
from knowledge.argument_types import CompanyCategoryName, Domain, Key
from knowledge.transfer.carried_columns import (
    ChunkColumns,
    FactColumns,
    HypothesisColumns,
    NoteColumns,
    ProfileColumns,
    SessionColumns,
    SummaryColumns,
)
from knowledge.transfer.readers.long_messages import split_long_messages

DRAFTS = 20_000
"""How much one import brings in at most."""
REFUSALS = 1_000


class MemoryDraft(BaseModel):
    """Base of the drafts: immutable, and refusing unknown fields, which would be a mistake of the importer."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ROW_BYTES, PROVENANCE_BYTES = 16 * 1024, 20 * 1024
"""A provenance has room for the largest row, and for the source and the file besides."""


def _keepable(row: dict[str, Any], info: ValidationInfo, most: int = PROVENANCE_BYTES) -> dict[str, Any]:
    """A row of another program, of plain values that can be kept, without what looks like a secret."""
    # NaN is no JSON, and PostgreSQL refuses it.
    written = json.dumps(row, ensure_ascii=False, allow_nan=False)
    if len(written.encode(errors="replace")) > most:
        raise ValueError(f"says more than {most:,} bytes besides its text")
    for text in texts_in(row):
        check_content(text)
    kept: dict[str, Any] = json.loads(screen(written, info))
    return kept


def _keepable_row(row: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    return _keepable(row, info, ROW_BYTES)


ForeignRow = Annotated[dict[str, Any], AfterValidator(_keepable_row)]
"""What another program says of a thing besides its text."""
FactProvenance = Annotated[dict[str, Any], AfterValidator(_keepable)]
"""Where a fact came from: the source, its row or its file there, and what was signed of it."""


class FactDraft(FactColumns, MemoryDraft):
    """One atomic truth. `session` is the id of the conversation it comes from, as the source has it.

    `row` is what else the source says of it, and `file` the file that says it and is kept whole.
    """

    session: str = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None
    row: ForeignRow = {}
    file: Annotated[str, Field(max_length=1_000), AfterValidator(check_content)] = ""

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until lies before valid_from")
        return self


class NoteDraft(NoteColumns, MemoryDraft):
    """One text at an address."""

    domain: Annotated[Domain, Screened]
    key: Annotated[Key, Screened]
    created_at: Moment | None = None
    updated_at: Moment | None = None


class HypothesisDraft(HypothesisColumns, MemoryDraft):
    """One belief."""

    session: str = ""
    created_at: Moment | None = None
    resolved_at: Moment | None = None


class ChunkDraft(ChunkColumns, MemoryDraft):
    """One message worth keeping word for word."""

    created_at: Moment | None = None


class SessionDraft(SummaryColumns, SessionColumns, MemoryDraft):
    """One conversation. `source_id` is its id in the source, by which a later import knows it again."""

    source_id: Annotated[str, Field(min_length=1, max_length=200)]
    chunks: Annotated[list[ChunkDraft], BeforeValidator(split_long_messages)] = []


class ProfileDraft(ProfileColumns, MemoryDraft):
    """Who the user is."""


class CompanyDraft(MemoryDraft):
    """What everybody should know: it becomes a proposal of the one who imports it."""

    category: CompanyCategoryName
    title: Annotated[str, Field(min_length=1, max_length=80)]
    content: Content
    importance: Importance = 5


PLACE_CHARS = 1_000
PAGE_CHARS = 4 * 1024 * 1024


class PageDraft(MemoryDraft):
    """A file of another program, whole. `place` is its path in the source, by which a later import knows it again."""

    place: Annotated[str, Field(min_length=1, max_length=PLACE_CHARS)]
    title: Annotated[str, Field(min_length=1, max_length=200), Screened]
    content: Annotated[str, AfterValidator(check_content), Screened, Field(min_length=1, max_length=PAGE_CHARS)]
    folder: str = ""
    created_at: Moment | None = None
    updated_at: Moment | None = None
    newline: str = ""


class DraftRow(NamedTuple):
    """One row of a source: its position, what it will become, and its content."""

    place: str
    kind: type[MemoryDraft]
    fields: dict[str, Any]


class Unread(NamedTuple):
    """One row that cannot be read, or is left out on purpose; `says` is why."""

    place: str
    says: str


class Remark(NamedTuple):
    """What an importer has to say of the whole source, such as how much it passed over, and why."""

    says: str


class PageSource(NamedTuple):
    """What the pages of a source have in common: its lasting name, by which a later import knows it, and its title.

    `is_bare` says that another source may have the same name, and `folder` where in the bundle this one lies.
    """

    name: str
    title: str = ""
    is_bare: bool = False
    folder: str = ""


Row = DraftRow | Unread | Remark | PageSource


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
    """Everything read from one source: its drafts, what was refused, and what was left out."""

    drafts: list[Placed] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    more_refused: int = 0
    origin: PageSource | None = None
    signed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where each text came from, by its fingerprint, as the BigMind that exported it says and signed."""
    signer: str = ""
    """The public key that it is signed with."""

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
    with collect_notices(most=REFUSALS) as notices:
        for row in rows:
            _read_row(row, reading)
            if len(reading.drafts) > most:
                hint = "Import it in parts." if most == DRAFTS else "`bigmind memory_import_from` takes more."
                raise Invalid(f"There is more in it than {most:,} items.", hint=hint)
    reading.notices += notices
    return reading


def _read_row(row: Row, reading: Reading) -> None:
    if isinstance(row, Unread):
        reading.refuse(row.place, row.says)
        return
    if isinstance(row, PageSource):
        reading.origin = row
        return
    if isinstance(row, Remark):
        reading.notices.append(row.says)
        return
    fields, _ = drop_private_in({name: value for name, value in row.fields.items() if value is not None})
    try:
        reading.drafts.append(Placed(row.place, row.kind.model_validate(fields, context=ARRIVING)))
    except ValidationError as error:
        reading.refuse(row.place, refusal(error, row.kind).message)


def moment_of(value: Any, *, zone: tzinfo | None = None) -> datetime | None:
    """Return a moment as other programs write it: ISO 8601, or seconds since 1970. None where it is neither.

    One that names no zone is of this one, or of that of the instance: with none it could not be compared to others.
    """
    if isinstance(value, bool) or value in (None, ""):
        return None
    if isinstance(value, int | float):
        # The calendar ends in the year 9999.
        return datetime.fromtimestamp(value, UTC) if 0 < value < 253_402_300_800 else None
    try:
        moment = datetime.fromisoformat(str(value).strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else timezone.make_aware(moment, zone)
