"""Replies about references."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field, field_validator

from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape, SharedShape
from knowledge.vocabulary import Relevance


class ReferenceExampleShape(Shape):
    """One use, word for word."""

    description: str = ""
    code: str
    output: str = ""


class ReferenceLineShape(SharedShape):
    """What a reference is, in few words."""

    id: UUID
    key: str
    collection: str
    kind: str
    title: str
    name: str = Field(description="What it is called exactly: use it word for word.")
    category: str
    subcategory: str
    summary: str
    example: str
    signed_by: str = Field(default="", description="Who signed the pack that it came in; empty: it came in none.")

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
    edited_at: datetime | None = Field(description="When a person changed what was generated.")
    updated_at: datetime


class ReferenceInFullShape(ReferenceShape):
    """One item of documentation, with what a command line or a request is made of."""

    form: dict[str, Any] | None


class ReferencesShape(ListShape[ReferenceLineShape]):
    """A page of references."""


class ReferenceHitShape(Shape):
    """A reference that was found, and why."""

    reference: ReferenceLineShape
    score: float
    relevance: Relevance
    matched_on: list[str] = Field(description="Exact name, alias, synonym, words, meaning; and what people said of it.")
    feedback: float = Field(description="How far what people said has moved the score.")


class ReferenceHitsShape(Shape):
    """References that were found, the best first."""

    items: list[ReferenceHitShape]
    total: int
    did_you_mean: list[str] = Field(description="When nothing was found: the nearest names that exist.")
    fallback: bool = Field(description="True: by words alone, because the embedder is away.")
    notice: str = Field(default="", description="What could not be searched by meaning, and why; empty: all was.")
    reason: str


class FoundReferenceShape(Shape):
    """The reference that is called so."""

    asked: str
    found: bool
    matched_on: str
    reference: ReferenceShape | None
    others: list[ReferenceLineShape] = Field(description="What is called so too, in other collections.")
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
    """Whether a command or an endpoint exists as it was written."""

    asked: str
    exists: bool
    verdict: str = Field(
        description="exists, does_not_exist, unknown_option, missing_argument, unexpected_argument, incomplete,"
        " unknown_method, or cannot_tell: the documentation may not list all there is."
    )
    problems: list[str]
    nearest: list[str] = Field(description="Valid forms that come near.")
    note: str
    reference: ReferenceLineShape | None


class ImportedReferencesShape(Shape):
    """What an import did."""

    collection: str
    added: int
    changed: int
    removed: int
    unchanged: int
    drifted: int = Field(description="Not taken, because people had changed them: they wait for a decision.")
    keys: dict[str, list[str]]
    troubles: list[str]
    dry_run: bool
