"""Arguments that recur in the operations about what is known, about entries and about references."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from bigmind.core.argument_types import (
    Confidence,
    Content,
    From,
    Lines,
    LongText,
    RowId,
    SharedLongText,
    SharedTags,
    Tag,
    Tags,
    Until,
)
from bigmind.core.handles import Handle
from bigmind.core.limits import CONTENT_BYTES, TITLE_CHARS
from bigmind.privacy.screening.policy import NoSecrets, Screened, refuse_secrets_in_json
from bigmind.text.hygiene import check_content, clean_name
from bigmind.triggers import TRIGGER_CHARS, compile_trigger

CategoryName = Literal["preference", "decision", "codebase", "constraint", "identity"]
FactText = Annotated[Content, Field(description="One fact per entry, as a sentence.", examples=["Prefers pytest."])]
TRIGGERS = 20


def _readable_trigger(text: str) -> str:
    """Return a trigger with its spaces folded, if hooks can read it."""
    text = " ".join(text.split())
    compile_trigger(text)
    return text


Trigger = Annotated[
    str, Field(max_length=TRIGGER_CHARS), AfterValidator(check_content), NoSecrets, AfterValidator(_readable_trigger)
]
Triggers = Annotated[list[Trigger], Field(max_length=TRIGGERS, description="Fires on: `command: rm -rf`.")]
TriggerLevelName = Literal["off", "shadow", "advise", "ask", "block"]
FactId = Annotated[RowId, Handle("fact"), Field(description="Fact ID.")]
FactIds = Annotated[list[Annotated[RowId, Handle("fact")]], Field(max_length=20)]
ValidFrom = Annotated[From, Field(description="Valid from this date.")]
ValidUntil = Annotated[Until, Field(description="Last day, or moment.")]
Relevance = Annotated[
    Literal["strong", "related", "weak"],
    Field(description="strong: right in about nine of ten; related: any other answer; weak: merely the closest."),
]
Risk = Annotated[
    Literal["flagged", "clear"],
    Field(description="Only those with signs of a prompt injection (flagged), or without any (clear)."),
]
HypothesisText = Annotated[Content, Field(description="“I believe X because Y.”")]
HypothesisId = Annotated[RowId, Handle("hypothesis"), Field(description="Hypothesis ID.")]
ChunkId = Annotated[RowId, Handle("chunk"), Field(description="Chunk ID.")]
SESSION_NAME = r"^[A-Za-z0-9_:#. -]{1,50}$"
"""Anything that may be meant as the name of a session. One that is none is no reason to lose what is stored with it."""
SessionId = Annotated[
    str,
    Handle("session", defaults_to_ours=True),
    Field(pattern=SESSION_NAME, description="S7. Default: this conversation's."),
]
SomeSessionId = Annotated[str, Handle("session"), Field(pattern=SESSION_NAME, description="S7, or its id.")]
LATEST = "latest"
ReadSessionId = Annotated[
    str,
    Handle("session"),
    Field(pattern=SESSION_NAME, description="S7, its id, or `latest`."),
]
ONE_LINER_CHARS = 120
OneLiner = Annotated[
    str,
    Field(max_length=10_000),
    AfterValidator(lambda text: clean_name(" ".join(text.split()))),
    Screened,
    Field(min_length=1, description="Headline, up to 120 characters."),
]
Topics = Annotated[Tags, Field(description="Topic tags.", examples=[["deploys", "postgres"]])]
Outcome = Annotated[LongText, Field(description="What was decided or built.")]
SummaryText = Annotated[LongText, Field(description="Markdown, up to 2,000 tokens.")]
KeyFacts = Annotated[Lines, Field(description="A sentence each.")]
CodeRefs = Annotated[Lines, Field(description="Files, pull requests.")]
Role = Annotated[Literal["user", "assistant", "system"], Field(description="Who said it.")]
FlagReason = LongText
Used = Annotated[Tags, Field(description="Handles that helped: C142.", examples=[["C142"]])]
Misleading = Annotated[Tags, Field(description="Handles that misled.")]
Domain = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=TITLE_CHARS, description="Area, such as email, calendar, general."),
]
Key = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=TITLE_CHARS, description="Name within the domain, such as dymon-packages."),
]
CompanyCategoryName = Literal["architecture", "standard", "decision", "pattern", "glossary"]


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    """Refuse what no text here may have, wherever it stands in the JSON, and what is too large."""
    text = json.dumps(metadata, ensure_ascii=False)
    if "\\u0000" in text:
        raise ValueError("has a NUL character")
    check_content(text)
    if len(text.encode()) > CONTENT_BYTES:
        raise ValueError(f"is {len(text.encode()):,} bytes; the limit is {CONTENT_BYTES:,}")
    return metadata


EntryId = Annotated[UUID, Handle("entry"), Field(description="Entry ID.")]
EntryTypeName = Annotated[Literal["fact", "summary", "template"], Field(description="Entry type.")]
RoleName = Annotated[Tag, Field(description="Only entries for this role: pm, dev, qa or all.")]
Roles = Annotated[SharedTags, Field(description="Audience: pm, dev, qa, all.", examples=[["dev"]])]
EntryTags = Annotated[SharedTags, Field(description="Tags.", examples=[["vercel", "routing"]])]
SourceFile = Annotated[SharedLongText, Field(max_length=500, description="File it comes from.")]
SourceStory = Annotated[SharedLongText, Field(max_length=200, description="Story it comes from.")]
ParentId = Annotated[UUID, Field(description="The summary it belongs to.")]
Metadata = Annotated[
    dict[str, Any],
    AfterValidator(_storable),
    AfterValidator(refuse_secrets_in_json),
    Field(description="Anything else, as JSON of up to 64 KiB."),
]
ChangedMetadata = Annotated[Metadata, Field(description="Merged, not replaced; null removes a key.")]
MinConfidence = Annotated[Confidence, Field(description="Minimum confidence.")]


class ReferenceKind(StrEnum):
    """What a reference describes."""

    COMMAND = "command"
    API = "api"
    GUIDE = "guide"
    FEATURE = "feature"
    TROUBLESHOOTING = "troubleshooting"
    SETTING = "setting"


class Completeness(StrEnum):
    """Whether what a source lists is all there is: only then does what it does not list not exist."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


CAN_BE_COMPLETE = frozenset({ReferenceKind.COMMAND, ReferenceKind.API})
"""Of these there is a list that can be whole; of guides nobody can tell."""


def least_complete(states: Iterable[str]) -> Completeness:
    """Return what holds of all together: complete only if each is, partial as soon as one is known to be."""
    found = set(states)
    if found == {Completeness.COMPLETE}:
        return Completeness.COMPLETE
    return Completeness.PARTIAL if Completeness.PARTIAL in found else Completeness.UNKNOWN
