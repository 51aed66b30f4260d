"""Arguments of the operations about entries."""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from bigmind.core.handles import Handle
from bigmind.core.screening.policy import refuse_secrets_in_json
from bigmind.core.text import check_content
from bigmind.core.vocabulary import CONTENT_BYTES, Confidence, SharedLongText, SharedTags, Tag


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    """Refuse what no text here may have, wherever it stands in the JSON, and what is too large."""
    text = json.dumps(metadata, ensure_ascii=False)
    if "\\u0000" in text:
        raise ValueError("has a NUL character")
    check_content(text)
    if len(text.encode()) > CONTENT_BYTES:
        raise ValueError(f"is {len(text.encode()):,} bytes; the limit is {CONTENT_BYTES:,}")
    return metadata


EntryId = Annotated[UUID, Handle("entry"), Field(description="The id of the entry.")]
EntryTypeName = Annotated[Literal["fact", "summary", "template"], Field(description="What it is.")]
RoleName = Annotated[Tag, Field(description="Only what is for this role: pm, dev, qa or all.")]
Roles = Annotated[SharedTags, Field(description="Whom it is for: pm, dev, qa, all.", examples=[["dev"]])]
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
ChangedMetadata = Annotated[Metadata, Field(description="Merged into what is there; null removes a name.")]
MinConfidence = Annotated[Confidence, Field(description="Only what is at least so certain.")]
