"""Replies about anchors."""

from pydantic import Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class AnchoredItemShape(Shape):
    """An item that cites code, and where that code is now, as far as known."""

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
    """A page of what cites code."""


class AnchorReportShape(Shape):
    """What a report changed."""

    checked: int = 0
    unknown: int = Field(default=0, description="Results for missing items, or anchors no longer cited.")
    false: list[str] = Field(default=[], description="Newly false: stale; shared ones wait for curators.")
    doubtful: list[str] = Field(default=[], description="Newly doubtful: due to be verified.")
    restored: list[str] = Field(default=[], description="Restored: the code changed back.")
