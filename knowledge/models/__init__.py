"""What is known: sessions, facts, hypotheses, notes, and the passages they are found by."""

from .embeddings import CachedVector, EmbeddingSpace, PassageVector
from .entries import Entry, EntryType
from .facts import Category, Fact
from .hypotheses import Hypothesis, Verdict
from .notes import Note
from .passages import Kind, Passage
from .sessions import AUTO_CLOSED, STALE_AFTER, Chunk, Session, Speaker, Summary

__all__ = [
    "AUTO_CLOSED",
    "STALE_AFTER",
    "CachedVector",
    "Category",
    "Chunk",
    "EmbeddingSpace",
    "Entry",
    "EntryType",
    "Fact",
    "Hypothesis",
    "Kind",
    "Note",
    "Passage",
    "PassageVector",
    "Session",
    "Speaker",
    "Summary",
    "Verdict",
]
