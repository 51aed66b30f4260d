"""Columns that an export of a memory leaves out, each with its reason: in BigMind's own document and in other formats.

Those that both carry are in `carried_columns`.
"""

from accounts.models import Profile, Sharing
from bigmind.database.columns import ColumnCopy
from knowledge.models import Chunk, Fact, Feedback, Hypothesis, Note, Session, ShownHeadline, Summary

from .exports import (
    ExportedChunk,
    ExportedFeedback,
    ExportedHeadline,
    ExportedProfile,
    ExportedSharing,
    ExportedSummary,
)
from .readers.items import FIELDS

OWNER = "A document has one owner: who imports it."
NUMBER = "Nothing in a document refers to it, and an import numbers its rows itself."
AGENT = "An agent is a client that has signed in: an import makes up none that never did."
_BINDS = "It tells conversations with one instance apart, and ends with them."
OF_ONE_INSTANCE = {
    "conversation": _BINDS,
    "connection": _BINDS,
    "number": NUMBER,
    "key": "A key opens one instance.",
}
"""Columns of a session that no document has."""
SESSION = {"user": OWNER, "agent": AGENT, **OF_ONE_INSTANCE}
FACT = {
    "user": OWNER,
    "digest": "It follows from the text.",
    "anchor_checks": "The next check of a repository makes them.",
}
NUMBERED = {"id": NUMBER, "user": OWNER}
"""What the lists of a document leave out of sessions and facts, and of hypotheses and notes."""
IN_EXPORT = (
    ColumnCopy("memory_export", Profile, {"user": OWNER}, ExportedProfile.model_fields),
    ColumnCopy("memory_export", Summary, {"session": "It stands in its session."}, ExportedSummary.model_fields),
    ColumnCopy(
        "memory_export",
        Chunk,
        {"id": NUMBER, "user": OWNER, "session": "It stands in its session."},
        ExportedChunk.model_fields,
    ),
    ColumnCopy(
        "memory_export",
        Sharing,
        {"user": OWNER, "curators_see_told": "Consent: the curators of one BigMind are not those of another."},
        ExportedSharing.model_fields,
    ),
    ColumnCopy("memory_export", ShownHeadline, {}, ExportedHeadline.model_fields),
    ColumnCopy("memory_export", Feedback, {"id": NUMBER, "user": OWNER, "agent": AGENT}, ExportedFeedback.model_fields),
)
"""What a document of `memory_export` has of the rows that are in none of its lists."""
_PLACE = "the formats of other programs"
_OWNER = "Whoever imports it owns it."
_NUMBER = "An import numbers its rows itself."
_LINK = "Links between facts are in BigMind's own document alone."
_SET_ASIDE = "What was set aside stays here."
IN_OTHER_FORMATS = (
    ColumnCopy(_PLACE, Profile, {"user": _OWNER, "updated_at": "It is that of the import."}, FIELDS["profile"]),
    ColumnCopy(
        _PLACE,
        Session,
        {
            "user": _OWNER,
            "agent": "It is that of the import, so that the import can be undone.",
            **OF_ONE_INSTANCE,
            "set_aside_at": _SET_ASIDE,
        },
        ("id", *FIELDS["session"]),
    ),
    ColumnCopy(_PLACE, Summary, {"created_at": "The end of its session stands for it."}, FIELDS["session"]),
    ColumnCopy(_PLACE, Chunk, {"id": _NUMBER, "user": _OWNER, "set_aside_at": _SET_ASIDE}, FIELDS["chunk"]),
    ColumnCopy(
        _PLACE,
        Fact,
        {
            "id": _NUMBER,
            "user": _OWNER,
            "digest": "It follows from the text.",
            "superseded_by": _LINK,
            "similar_to": _LINK,
            "contradicted_by": _LINK,
            "anchor_checks": "The next check of a repository makes them.",
            "deprecated_at": _SET_ASIDE,
            "deprecation_reason": _SET_ASIDE,
        },
        ("source_session", "provenance", *FIELDS["fact"]),
    ),
    ColumnCopy(
        _PLACE,
        Hypothesis,
        {"id": _NUMBER, "user": _OWNER, "set_aside_at": _SET_ASIDE},
        FIELDS["hypothesis"],
    ),
    ColumnCopy(
        _PLACE,
        Note,
        {
            "id": _NUMBER,
            "user": _OWNER,
            "provenance": "It names a file that a note follows, and that file does not go along.",
            "set_aside_at": _SET_ASIDE,
        },
        FIELDS["note"],
    ),
)
"""What is carried out as the fields of items, and back as the drafts that these are made of."""
