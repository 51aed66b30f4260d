"""Columns that are carried as they are, written once: for BigMind's own document and the formats of other programs.

What a document and a draft say besides, such as ids and when something was made, they say each in their own way.
"""

from datetime import date
from typing import Annotated, Any, Literal

from django.db.models import Model
from pydantic import BaseModel, Field

from accounts.argument_types import JobTitle
from bigmind.core.argument_types import Confidence, Content, Importance, LongText, Moment, Project, Tags
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import CategoryName, Domain, Key, Role, TriggerLevelName, Triggers


class CarriedColumns(BaseModel):
    """Base of them."""

    @classmethod
    def values(cls, document: BaseModel) -> dict[str, Any]:
        """Return these columns of a document's item or of a draft, as a row stores them."""
        return {name: getattr(document, name) for name in cls.model_fields}

    @classmethod
    def different(cls, row: Model, document: BaseModel) -> list[str]:
        """Return the columns of which something was given, and something else than the row says."""
        given = {name: getattr(document, name) for name in cls.model_fields if name in document.model_fields_set}
        return [name for name, value in given.items() if value not in (None, "", []) and value != getattr(row, name)]


class ProfileColumns(CarriedColumns):
    """Those of a profile."""

    role: JobTitle = ""
    preferences: LongText = ""
    pinned_facts: list[Content] = []


class FactColumns(CarriedColumns):
    """Those of a fact."""

    category: CategoryName
    fact: Content
    confidence: Confidence = 1.0
    project: Project = ""
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    triggers: Triggers = []
    trigger_level: TriggerLevelName = "advise"
    anchors: Anchors = []
    deprecated_at: Moment | None = None
    deprecation_reason: LongText = ""

    @classmethod
    def different(cls, row: Model, document: BaseModel) -> list[str]:
        """Return the columns that say otherwise. Texts that differ in their spaces alone are one fact."""
        return [name for name in super().different(row, document) if name != "fact"]


class SessionColumns(CarriedColumns):
    """Those of a session."""

    one_liner: Annotated[LongText, Field(max_length=120)] = ""
    project: Project = ""
    started_at: Moment
    ended_at: Moment | None = None
    topics: Tags = []
    outcome: LongText = ""
    importance: Importance = 5
    auto_closed: bool = False


class SummaryColumns(CarriedColumns):
    """Those of a session's summary."""

    summary: LongText = ""
    key_facts: list[Content] = []
    code_refs: list[Content] = []


class ChunkColumns(CarriedColumns):
    """Those of a chunk."""

    role: Role
    content: Content
    flag_reason: LongText = ""


class HypothesisColumns(CarriedColumns):
    """Those of a hypothesis."""

    hypothesis: Content
    confidence: Confidence = 0.7
    status: Literal["open", "confirmed", "refuted", "abandoned"] = "open"
    resolution: LongText = ""
    project: Project = ""
    check_on: date | None = None


class NoteColumns(CarriedColumns):
    """Those of a note."""

    domain: Domain
    key: Key
    content: Content
    project: Project = ""
    expires_at: Moment | None = None
