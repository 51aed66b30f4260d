"""Replies about instances: BigMinds on people's own machines."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class InstanceShape(Shape):
    """One BigMind that someone registered."""

    identity: UUID = Field(description="Its own id: the `instance_id` of other calls.")
    name: str
    username: str
    role: str
    profile_url: str
    version: str
    url: str = Field(description="URL of its pages; empty: nobody else can reach them.")
    statistics: dict[str, int]
    status: str = Field(description="online or away.")
    first_seen: datetime
    last_seen: datetime


class InstancesShape(ListShape[InstanceShape]):
    """A page of instances."""
