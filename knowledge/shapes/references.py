"""Replies about references."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field, field_validator

from bigmind.database.pagination import ListShape
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
