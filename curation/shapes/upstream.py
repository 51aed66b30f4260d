"""Replies of the company server, as far as this instance reads them. Validated like any input from outside."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from bigmind.core.argument_types import Importance, Moment, Project, RowId, Tag, UnscreenedContent
from bigmind.core.limits import COMPANY_TITLE_CHARS
from bigmind.text.hygiene import check_content, clean_name
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import CompanyCategoryName, TriggerLevelName, Triggers
from knowledge.models import Status

TEXT_CHARS = 20_000


def _empty_for_none(name: object) -> object:
    return "" if name is None else name


Person = Annotated[
    str, BeforeValidator(_empty_for_none), Field(max_length=200), AfterValidator(clean_name), Field(max_length=200)
]
LongText = Annotated[str, Field(max_length=TEXT_CHARS), AfterValidator(check_content)]


class Upstream(BaseModel):
    """The base class. Unknown fields are ignored: a newer server may send more than this version knows."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class UpstreamRegistration(Upstream):
    """How this instance is listed there, and the mark of the company's knowledge."""

    class Listed(Upstream):
        """The row in the directory of the company."""

        username: Person = ""
        profile_url: Annotated[str, Field(max_length=400), AfterValidator(clean_name)] = ""

    instance: Listed
    knowledge: Annotated[str, Field(min_length=1, max_length=64), AfterValidator(clean_name)]


class UpstreamEntry(Upstream):
    """One approved entry of the company server."""

    id: RowId
    category: CompanyCategoryName
    title: Annotated[str, AfterValidator(clean_name), Field(min_length=1, max_length=COMPANY_TITLE_CHARS)]
    content: Annotated[UnscreenedContent, Field(max_length=TEXT_CHARS)]
    importance: Importance
    status: Literal["approved"]
    revision: Annotated[int, Field(ge=1, le=2**31 - 1)]
    project: Project = ""
    topics: Annotated[list[Tag], Field(max_length=50)] = []
    evidence: LongText = ""
    anchors: Anchors = []
    triggers: Triggers = []
    trigger_levels: dict[str, TriggerLevelName] = {}
    origin: Literal["user", "inferred", "tool", "imported"] = "inferred"
    proposed_by: Person = ""
    owner: Person = ""
    decided_by: Person = ""
    decided_at: Moment | None = None
    verified_at: Moment | None = None
    review_after: date | None = None
    created_at: Moment


class UpstreamProposal(Upstream):
    """The status of a proposal at the company."""

    id: RowId
    status: Status
    decided_by: Person = ""
    decided_at: Moment | None = None
    decision_notes: LongText = ""


class UpstreamReply(Upstream):
    """The reply to a proposal."""

    entry: UpstreamProposal


class UpstreamAnchorReport(Upstream):
    """What followed from a report about anchors."""

    checked: Annotated[int, Field(ge=0)]
    false: Annotated[list[Person], Field(max_length=1_000)] = []
    doubtful: Annotated[list[Person], Field(max_length=1_000)] = []


class UpstreamPage(Upstream):
    """A page of a list. Items are validated one by one later, so that an invalid one does not spoil the others."""

    items: Annotated[list[dict[str, object]], Field(max_length=1_000)]
    total: Annotated[int, Field(ge=0)]
