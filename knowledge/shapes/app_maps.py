"""Replies about app maps."""

from datetime import datetime

from pydantic import Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class RunShape(Shape):
    """A background read of an outside system, and its progress."""

    id: int
    purpose: str
    connector: str
    state: str
    total: int
    done: int
    error: str
    created_at: datetime
    finished_at: datetime | None


class AppLineShape(Shape):
    """One app, with how much is known of it."""

    name: str
    app_id: str
    aliases: list[str]
    connector: str
    tables: int
    entities: int
    workflows: int
    version: int
    bootstrapped_at: datetime | None
    reported_gone_at: datetime | None


class AmbiguousNameShape(Shape):
    """A name with several meanings."""

    name: str
    found_in: list[str]
    default: str = Field(description="Its default meaning; empty: ask the user.")


class AppIndexShape(ListShape[AppLineShape]):
    """The apps there are."""

    yaml: str = Field(description="The same, as `_index.yaml`.")
    ambiguous: list[AmbiguousNameShape]
    running: list[RunShape]
    next_step: str = Field(description="If there is nothing yet: how to begin.")


class WayShape(Shape):
    """One workflow."""

    name: str
    trigger: str
    steps: str
    field: str
    fits: bool = Field(description="Whether it fits the request, and works as described.")
    problem: str = Field(description="Why it does not work as described, such as a removed field; else empty.")


class DefaultPlaceShape(Shape):
    """What a name means from now on."""

    name: str
    app: str
    table: str
    found_in: list[str]
