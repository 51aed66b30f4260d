"""Arguments that recur in the operations about company knowledge."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bigmind.core.argument_types import RowId, SharedContent, SharedLongText
from bigmind.core.choices import OneOf
from bigmind.core.handles import Handle
from bigmind.core.limits import COMPANY_TITLE_CHARS
from bigmind.privacy.screening.policy import NoSecrets
from bigmind.text.hygiene import check_content, clean_name
from bigmind.text.token_counts import count_tokens
from knowledge.kinds import KINDS
from knowledge.models import Kind

CONTENT_TOKENS = 500
_PROMOTED = [kind for kind in Kind if KINDS[kind].promoted]


def _within_tokens(text: str) -> str:
    tokens = count_tokens(text)
    if tokens > CONTENT_TOKENS:
        raise ValueError(f"is {tokens:,} tokens; the limit is {CONTENT_TOKENS}. Say one thing, and leave the rest out")
    return text


CompanyTitle = Annotated[
    str,
    Field(max_length=COMPANY_TITLE_CHARS),
    AfterValidator(clean_name),
    NoSecrets,
    Field(min_length=1, max_length=COMPANY_TITLE_CHARS, description="Up to 80 characters."),
]
CompanyText = Annotated[
    SharedContent,
    AfterValidator(_within_tokens),
    Field(description="Markdown, up to 500 tokens."),
]
CompanyEntryId = Annotated[RowId, Handle("company"), Field(description="The number in its handle: 142 for C142.")]
Revision = Annotated[
    int,
    Field(
        ge=1,
        le=2**31 - 1,
        description="The revision you have read: memory_brief_curator and memory_get_global show it.",
    ),
]
Notes = Annotated[SharedLongText, Field(max_length=2_000, description="Why. The proposer reads it.")]
Evidence = Annotated[SharedLongText, Field(max_length=4_000, description="What shows it.")]
OriginName = Annotated[
    Literal["user", "inferred", "tool", "imported"],
    Field(description="Who says so; inferred: you."),
]
KeepHere = Annotated[bool, Field(description="Not for a company server.")]
# In the order of the schema that clients have read: beliefs and company knowledge last.
SourceKind = Annotated[str, OneOf(sorted(_PROMOTED, key=lambda kind: kind in {Kind.HYPOTHESIS, Kind.COMPANY}))]
SourceId = Annotated[
    str,
    Handle(kind_in="source_kind"),
    AfterValidator(check_content),
    Field(min_length=1, max_length=36, description="Id or handle."),
]
