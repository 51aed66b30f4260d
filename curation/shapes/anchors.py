"""Replies about anchors."""

from pydantic import Field

from bigmind.core.pages import ListShape
from knowledge.shapes.base import Shape


class AnchoredItemShape(Shape):
    """An entry and the code it rests on."""

    entry_id: int
    handle: str
    title: str
    content: str
    category: str
    importance: int
    project: str
    revision: int
    url: str
    anchors: list[str] = Field(description="repository#path:symbol@commit, where it is now.")


class AnchoredItemsShape(ListShape[AnchoredItemShape]):
    """A page of what rests on code."""


class AnchorReportShape(Shape):
    """What a report changed."""

    checked: int
    unknown: int = Field(description="Results for what is not approved, or does not cite that any more.")
    false: list[str] = Field(description="Newly false: stale, and in the curators' queue.")
    doubtful: list[str] = Field(description="Newly doubtful: due to be verified.")
    restored: list[str] = Field(description="As before: the code is again as it was.")
