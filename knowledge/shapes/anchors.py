"""Replies about anchors."""

from pydantic import Field

from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape


class AnchoredItemShape(Shape):
    """Something that rests on code, and where that code is now, as far as it was followed."""

    kind: str = "company"
    id: str
    handle: str
    title: str = ""
    content: str = ""
    category: str = ""
    importance: int = 5
    project: str = ""
    revision: int = 1
    url: str = ""
    anchors: list[str] = Field(description="repository#path:symbol@commit, where it is now.")


class AnchoredItemsShape(ListShape[AnchoredItemShape]):
    """A page of what rests on code."""


class AnchorReportShape(Shape):
    """What a report changed."""

    checked: int = 0
    unknown: int = Field(default=0, description="Results for what is not there, or does not cite that any more.")
    false: list[str] = Field(default=[], description="Newly false: stale, and what is shared is the curators'.")
    doubtful: list[str] = Field(default=[], description="Newly doubtful: due to be verified.")
    restored: list[str] = Field(default=[], description="As before: the code is again as it was.")
