"""What the company server answers, as far as a laptop reads it. It is checked like anything from outside."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from bigmind.core.text import check_content, clean_name
from bigmind.core.vocabulary import Importance, Moment, Project, RowId, Tag, UnscreenedContent
from curation.vocabulary import TITLE_CHARS
from knowledge.models import Status
from knowledge.vocabulary import CompanyCategoryName

TEXT_CHARS = 20_000


def _empty_for_none(name: object) -> object:
    return "" if name is None else name


Person = Annotated[
    str, BeforeValidator(_empty_for_none), Field(max_length=200), AfterValidator(clean_name), Field(max_length=200)
]
Said = Annotated[str, Field(max_length=TEXT_CHARS), AfterValidator(check_content)]


class Upstream(BaseModel):
    """The base: a newer server may say more than this version knows."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class UpstreamRegistration(Upstream):
    """How this BigMind is listed there, and whether the company knows something new."""

    class Listed(Upstream):
        """The row over there."""

        username: Person = ""
        profile_url: Annotated[str, Field(max_length=400), AfterValidator(clean_name)] = ""

    instance: Listed
    knowledge: Annotated[str, Field(min_length=1, max_length=64), AfterValidator(clean_name)]


class UpstreamEntry(Upstream):
    """One entry as the company server tells it."""

    id: RowId
    category: CompanyCategoryName
    title: Annotated[str, AfterValidator(clean_name), Field(min_length=1, max_length=TITLE_CHARS)]
    content: Annotated[UnscreenedContent, Field(max_length=TEXT_CHARS)]
    importance: Importance
    status: Literal["approved"]
    revision: Annotated[int, Field(ge=1, le=2**31 - 1)]
    project: Project = ""
    topics: Annotated[list[Tag], Field(max_length=50)] = []
    evidence: Said = ""
    origin: Literal["user", "inferred", "tool", "imported"] = "inferred"
    proposed_by: Person = ""
    owner: Person = ""
    decided_by: Person = ""
    decided_at: Moment | None = None
    verified_at: Moment | None = None
    review_after: date | None = None
    created_at: Moment


class UpstreamProposal(Upstream):
    """Where a proposal stands over there."""

    id: RowId
    status: Status
    decided_by: Person = ""
    decided_at: Moment | None = None
    decision_notes: Said = ""


class UpstreamReply(Upstream):
    """What the company answers to a proposal."""

    entry: UpstreamProposal


class UpstreamPage(Upstream):
    """A page of a list. Its items are checked one by one, so that one that is odd spoils no other."""

    items: Annotated[list[dict[str, object]], Field(max_length=1_000)]
    total: Annotated[int, Field(ge=0)]
