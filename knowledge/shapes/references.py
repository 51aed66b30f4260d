"""Replies about references."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field, field_validator

from bigmind.database.pagination import ListShape
from knowledge.argument_types import Relevance
from knowledge.shapes.base import Shape, SharedShape


class ReferenceExampleShape(Shape):
    """One use, word for word."""

    description: str = ""
    code: str
    output: str = ""


class ReferenceLineShape(SharedShape):
    """A reference, in brief."""

    id: UUID
    key: str
    collection: str
    kind: str
    title: str
    name: str = Field(description="Its exact name: use it word for word.")
    category: str
    subcategory: str
    summary: str
    example: str

    @field_validator("collection", mode="before")
    @classmethod
    def show_name(cls, collection: object) -> str:
        """Show a collection by its name."""
        return str(getattr(collection, "slug", collection))


class ReferenceShape(ReferenceLineShape):
    """One item of documentation, whole."""

    content: str
    examples: list[ReferenceExampleShape]
    aliases: list[str]
    keywords: list[str]
    related: list[str] = Field(description="Keys of related items: search_knowledge finds them.")
    source: str
    version: str
    edited_at: datetime | None = Field(description="When a person edited the generated text.")
    updated_at: datetime


class ReferenceInFullShape(ReferenceShape):
    """One item of documentation, with the parts of its command line or request."""

    form: dict[str, Any] | None


class ReferencesShape(ListShape[ReferenceLineShape]):
    """A page of references."""


class ReferenceHitShape(Shape):
    """A matching reference, and why."""

    reference: ReferenceLineShape
    score: float
    relevance: Relevance
    matched_on: list[str] = Field(description="Exact name, alias, synonym, words, meaning; and feedback.")
    feedback: float = Field(description="How much feedback moved the score.")


class ReferenceHitsShape(Shape):
    """Matching references, best first."""

    items: list[ReferenceHitShape]
    total: int
    did_you_mean: list[str] = Field(description="When nothing was found: the nearest names that exist.")
    fallback: bool = Field(description="True: by words alone, because the embedder is down.")
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    reason: str


class FoundReferenceShape(Shape):
    """The reference of this name."""

    asked: str
    found: bool
    matched_on: str
    reference: ReferenceShape | None
    others: list[ReferenceLineShape] = Field(description="The same name in other collections.")
    did_you_mean: list[str] = Field(description="The nearest names that exist.")


class FoundEndpointShape(Shape):
    """The endpoint that a request goes to."""

    asked: str
    found: bool
    reference: ReferenceShape | None
    methods: list[str]
    endpoints: list[ReferenceLineShape] = Field(description="All that the path has.")
    did_you_mean: list[str] = Field(description="The nearest endpoints that exist.")


class CheckedShape(Shape):
    """Whether a command or an endpoint exists as written."""

    asked: str
    exists: bool
    verdict: str = Field(
        description="exists, does_not_exist, unknown_option, missing_argument, unexpected_argument, incomplete,"
        " unknown_method, or cannot_tell: the documentation may be incomplete."
    )
    problems: list[str]
    nearest: list[str] = Field(description="Nearest valid forms.")
    note: str
    reference: ReferenceLineShape | None


class ImportedReferencesShape(Shape):
    """What an import did."""

    collection: str
    added: int
    changed: int
    removed: int
    unchanged: int
    drifted: int = Field(description="Not imported, because people edited them: they wait for a decision.")
    keys: dict[str, list[str]]
    troubles: list[str]
    dry_run: bool
