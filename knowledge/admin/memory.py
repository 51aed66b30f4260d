"""What people stored: conversations, facts, beliefs, notes."""

from django.contrib import admin

from accounts.actor import Actor
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session, ShownHeadline, Summary
from knowledge.services.archive import restore
from knowledge.services.facts import erase_fact
from knowledge.services.hypotheses import erase_hypothesis
from knowledge.services.notes import delete_note
from knowledge.services.sessions import erase_chunk, erase_session

from .base import ReadOnlyAdmin, RememberedAdmin


@admin.register(Session)
class SessionAdmin(RememberedAdmin):
    """Conversations."""

    kind = "session"
    list_display = ("handle", "user", "one_liner", "project", "started_at", "ended_at", "agent", "auto_closed")
    list_filter = ("auto_closed", "started_at", "ended_at", "set_aside_at")
    search_fields = ("user__username", "project", "one_liner", "outcome", "id")
    ordering = ("-started_at",)

    def erase(self, owner: Actor, thing: Session) -> None:
        """Erase a session, with its summary and chunks."""
        erase_session(owner, session_id=str(thing.pk))


@admin.register(Chunk)
class ChunkAdmin(RememberedAdmin):
    """Flagged exchanges."""

    kind = "chunk"
    list_display = ("__str__", "user", "session", "seq", "role", "created_at")
    list_filter = ("role", "created_at", "set_aside_at")
    search_fields = ("user__username", "content", "flag_reason", "session__id")
    ordering = ("-created_at",)

    def erase(self, owner: Actor, thing: Chunk) -> None:
        """Erase a chunk."""
        erase_chunk(owner, chunk_id=thing.pk)


@admin.register(Fact)
class FactAdmin(RememberedAdmin):
    """Facts."""

    kind = "fact"
    list_display = ("__str__", "user", "category", "confidence", "project", "created_at", "deprecated_at")
    list_filter = ("category", "created_at", "deprecated_at")
    search_fields = ("user__username", "project", "fact", "deprecation_reason")
    ordering = ("-created_at",)

    def erase(self, owner: Actor, thing: Fact) -> None:
        """Erase a fact."""
        erase_fact(owner, fact_id=thing.pk)


@admin.register(Hypothesis)
class HypothesisAdmin(RememberedAdmin):
    """Beliefs."""

    kind = "hypothesis"
    list_display = ("__str__", "user", "status", "confidence", "project", "created_at", "resolved_at")
    list_filter = ("status", "created_at", "set_aside_at")
    search_fields = ("user__username", "project", "hypothesis", "resolution")
    ordering = ("-created_at",)

    def erase(self, owner: Actor, thing: Hypothesis) -> None:
        """Erase a hypothesis."""
        erase_hypothesis(owner, hypothesis_id=thing.pk)


@admin.register(Note)
class NoteAdmin(RememberedAdmin):
    """Notes."""

    kind = "note"
    list_display = ("__str__", "user", "project", "expires_at", "updated_at")
    list_filter = ("domain", "updated_at", "expires_at", "set_aside_at")
    search_fields = ("user__username", "project", "domain", "key", "content")
    ordering = ("user", "domain", "key")

    def erase(self, owner: Actor, thing: Note) -> None:
        """Erase a note, wherever it stands."""
        if not thing.is_in_view:
            restore(owner, kind="note", id=str(thing.pk))
        delete_note(owner, domain=thing.domain, key=thing.key)


@admin.register(Summary)
class SummaryAdmin(ReadOnlyAdmin):
    """Narratives of sessions; they go with their session."""

    list_display = ("session", "created_at")
    list_filter = ("created_at",)
    search_fields = ("summary", "session__one_liner", "session__user__username")
    ordering = ("-created_at",)


@admin.register(ShownHeadline)
class ShownHeadlineAdmin(ReadOnlyAdmin):
    """The headlines that people chose to show."""

    list_display = ("text", "session", "chosen_at")
    search_fields = ("text", "session__user__username")
    ordering = ("-chosen_at",)
