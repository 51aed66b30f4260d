"""What is known: sessions, facts, hypotheses, notes, and the passages they are found by."""

from .anchors import Anchored, AnchorState
from .app_maps import (
    UNFINISHED,
    AmbiguousName,
    App,
    AppEntity,
    AppRun,
    AppTable,
    AppWorkflow,
    Failure,
    Healed,
    Healing,
    RunState,
)
from .base import Writing
from .company import (
    PUBLISHED,
    UNDECIDED,
    CompanyCategory,
    CompanyEntry,
    Freshness,
    Origin,
    Status,
)
from .company_server import CompanyCopy, CompanyServer, Dispatch
from .conversations import (
    ActRecord,
    CaptureMode,
    CapturePolicy,
    Conversation,
    HookEvent,
    HookEventName,
    HookHealth,
    ToolUse,
)
from .embeddings import CachedVector, EmbeddingDay, EmbeddingSpace, PassageVector
from .entries import Entry, EntryType
from .exposures import Proof, Recall, Receipt, ReceiptText, Serving
from .facts import Category, Fact, say_validity
from .feedback import COMPLAINTS, Feedback, Usefulness
from .gaps import QUESTION_CHARS, Gap, GapState, UnansweredQuestion
from .hypotheses import Hypothesis, TrackRecord, Verdict
from .injection_signs import SharedKnowledge
from .lessons import EntryFingerprint, LessonAsked
from .notes import Note
from .passages import IndexGap, Kind, Passage
from .recent_questions import AskedForm, AskedQuestion
from .references import (
    Reference,
    ReferenceCollection,
    ReferenceDrift,
    ReferenceImport,
    ReferenceName,
    ReferenceType,
    ReferenceUse,
    ReferenceVersion,
)
from .repositories import SourceRepository
from .sessions import AUTO_CLOSED, CAPTURED, OF_AN_IMPORT, STALE_AFTER, Chunk, Session, Speaker, Summary
from .shown_headlines import ShownHeadline
from .tidying import Concern, TidyingAnswer
from .triggers import Firing, TriggerLevel
