"""Replies with what a curator needs to decide."""

from datetime import datetime

from pydantic import Field

from curation.shapes.reviews import CommentShape, PersonName, ReviewShape
from knowledge.shapes.base import Shape
from knowledge.shapes.company import CompanyEntryShape


class NeighbourShape(Shape):
    """An entry similar in meaning or words."""

    entry: CompanyEntryShape
    similarity: float
    by_meaning: bool
    contradictions: list[str] = Field(description="What the two may disagree on.")


class ProposerRecordShape(Shape):
    """Outcomes of the same person's other proposals."""

    approved: int
    rejected: int
    waiting: int


class CompanyLineShape(Shape):
    """A line of the start context."""

    handle: str
    category: str
    title: str
    content: str
    freshness: str
    tokens: int


class EffectShape(Shape):
    """What approval would change in the start context."""

    line: CompanyLineShape
    is_told: bool = Field(description="Whether it would be among the first five.")
    leaving: list[CompanyLineShape] = Field(description="What would no longer be shown.")


class SuspicionShape(Shape):
    """Something that looks dangerous."""

    kind: str
    why: str
    excerpt: str
    is_warning: bool


class ComplaintShape(Shape):
    """A report that it is wrong or outdated."""

    verdict: str
    note: str
    user: PersonName
    created_at: datetime


class EntryEffectShape(Shape):
    """A company entry, and how often it would appear or disappear."""

    entry: CompanyEntryShape
    answers: int
    starts: int


class ChangedQuestionShape(Shape):
    """A question whose answer changes: the curator's own, or one that three others asked in the same words."""

    text: str
    enters: list[str] = Field(description="Handles of the entries that the answer gains.")
    leaves: list[str] = Field(description="Handles of those that it loses.")


class ProjectEffectShape(Shape):
    """A project, with how many answers and starts change."""

    project: str
    times: int


class GoldenEffectShape(Shape):
    """A golden question."""

    handle: str
    question: str


class BlastRadiusShape(Shape):
    """What a decision would change in the questions and session starts of the last days."""

    action: str = Field(description="The decision that was tried.")
    days: int
    questions: int = Field(description="Replayed questions. Those of others count once three people asked.")
    people: int
    answers_changed: int
    moved: int = Field(description="Of these, answers that only change their order.")
    starts: int
    starts_changed: int
    entering: list[EntryEffectShape]
    leaving: list[EntryEffectShape]
    projects: list[ProjectEffectShape]
    asked: list[ChangedQuestionShape]
    golden_lost: list[GoldenEffectShape]
    golden_won: list[GoldenEffectShape]
    tokens: int = Field(description="About how many tokens more all changed answers and starts cost.")
    kept: bool = Field(description="Whether questions are stored here, so that they can be replayed.")
    fallback: str = Field(description="Why only session starts and golden questions were replayed; empty: all were.")


class TriggerTrialShape(Shape):
    """What the triggers of an entry would have done to the acts of agents on record."""

    acts: int = Field(description="Acts of the last 30 days they were tried on; others' once there are three people.")
    fired: int = Field(description="On how many they would have fired; others' once there are three people.")
    people: int
    is_whole: bool = Field(description="False: those of others are not counted: fewer than three, or none.")


class BriefingShape(Shape):
    """One entry with all that is known about it."""

    entry: CompanyEntryShape
    nearest: list[NeighbourShape] = Field(description="Approved entries that are similar.")
    nearest_waiting: list[NeighbourShape] = Field(description="Pending proposals that are similar.")
    same_waiting: int
    record: ProposerRecordShape
    effect: EffectShape
    suspicions: list[SuspicionShape]
    complaints: list[ComplaintShape]
    history: list[ReviewShape]
    comments: list[CommentShape]
    claimed_by: PersonName | None
    fallback: bool
    radius: BlastRadiusShape | None = Field(description="What the usual decision about it would change.")
    trial: TriggerTrialShape | None = Field(description="How often its triggers would have fired; null: it has none.")


class ClaimShape(Shape):
    """Who is looking at an entry, and until when."""

    entry_id: int
    by: PersonName
    until: datetime
