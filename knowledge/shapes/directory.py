"""Replies about people."""

from datetime import datetime

from pydantic import Field

from bigmind.database.pagination import ListShape, PageShape
from knowledge.shapes.base import Shape
from knowledge.shapes.instances import InstanceShape


class AgentShape(Shape):
    """A client that acts for someone."""

    client_name: str
    client_version: str
    host: str
    first_seen: datetime
    last_seen: datetime


class TopicShape(Shape):
    """A topic: how many sessions it had, and of how many people."""

    name: str
    sessions: int
    people: int


class PersonShape(Shape):
    """One person: what they share."""

    username: str
    name: str
    role: str
    job_title: str
    agents: list[AgentShape]
    instances: list[InstanceShape]
    topics: list[TopicShape]
    contributions: int | None = Field(description="Approved company entries they proposed; null: not shared.")


class FiguresShape(Shape):
    """Totals, each over the people who share it."""

    people: int
    agents: int
    instances: int
    sessions: int
    contributions: int


class DirectoryShape(ListShape[PersonShape]):
    """A page of people."""

    topics: list[TopicShape] = Field(description="What most people share.")
    figures: FiguresShape
    notice: str = Field(default="", description="Says so while no colleague shares what they work on, and how to ask.")


class ReasonShape(Shape):
    """Why someone was found."""

    kind: str = Field(description="topic, headline or entry.")
    text: str
    score: float
    matched: list[str] = Field(description="Words of the question in it; none: only near in meaning.")
    entry_id: int | None


class ExpertShape(Shape):
    """Someone who was found."""

    username: str
    name: str
    role: str
    score: float
    reasons: list[ReasonShape]


class ExpertsShape(PageShape[ExpertShape]):
    """People who were found, the best first."""

    fallback: bool = Field(description="True: by words alone, because the embedder is down.")
    notice: str = Field(default="", description="What could not be searched by meaning, or that nobody shares yet.")
    no_word: bool = Field(description="True: no word of the question was found; these are nearest in meaning.")
