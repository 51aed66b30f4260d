"""Looking at what is remembered, and mending it by the services that everyone uses.

What people wrote is theirs: here it is read, set aside, restored and erased, never reworded. Its wording also stands in
the index of passages, which a change made past the services would leave behind.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.actor import Actor
from bigmind.core.errors import BigMindError
from knowledge.models import (
    AmbiguousName,
    App,
    AppEntity,
    AppRun,
    AppTable,
    AppWorkflow,
    CachedVector,
    Chunk,
    EmbeddingDay,
    EmbeddingSpace,
    Entry,
    EntryFingerprint,
    Fact,
    Feedback,
    Gap,
    Healing,
    Hypothesis,
    LessonAsked,
    Note,
    Passage,
    PassageVector,
    Proof,
    Recall,
    Receipt,
    Reference,
    ReferenceCollection,
    ReferenceDrift,
    ReferenceImport,
    ReferenceName,
    ReferenceUse,
    ReferenceVersion,
    Serving,
    Session,
    ShownHeadline,
    Summary,
    UnansweredQuestion,
    Writing,
)
from knowledge.services.asides import Remembered, restore, set_aside
from knowledge.services.facts import erase_fact
from knowledge.services.hypotheses import erase_hypothesis
from knowledge.services.notes import delete_note
from knowledge.services.sessions import erase_chunk, erase_session

REASON = "Set aside by an admin."


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows and changes none."""

    list_select_related: ClassVar[bool | tuple[str, ...]] = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is reworded here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Derived rows come and go with what they belong to."""
        return False


class RememberedAdmin(ReadOnlyAdmin):
    """Shows what people stored, and sets aside, restores and erases it as they would themselves."""

    kind: ClassVar[str]
    raw_id_fields = ("user",)
    actions = ("set_aside", "restore")

    def erase(self, owner: Actor, thing: Any) -> None:
        """Erase one thing for good, with its passages."""
        raise NotImplementedError

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Erasing is permitted: somebody may have asked an admin for it."""
        return bool(request.user.is_authenticated and request.user.is_admin)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what goes with it; that some of it cannot be deleted on its own is no objection."""
        to_delete, counts, _, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Erase as the owner would."""
        self.erase(Actor.of(obj.user), obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Erase one by one."""
        for thing in queryset:
            self.delete_model(request, thing)

    @admin.action(description="Set aside: hidden everywhere, kept on record", permissions=["delete"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Take things out of sight."""
        self._each(
            request, queryset, lambda owner, id: set_aside(owner, kind=self._kind, id=id, reason=REASON), "Set aside"
        )

    @admin.action(description="Restore what was set aside", permissions=["delete"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Bring things back into sight."""
        self._each(request, queryset, lambda owner, id: restore(owner, kind=self._kind, id=id), "Restored")

    @property
    def _kind(self) -> Any:
        return self.kind

    def _each(
        self, request: HttpRequest, queryset: QuerySet[Any], change: Callable[[Actor, str], Remembered], done: str
    ) -> None:
        changed = 0
        for thing in queryset:
            try:
                change(Actor.of(thing.user), str(thing.pk))
                changed += 1
            except BigMindError as refusal:
                messages.warning(request, f"{thing}: {refusal}")
        messages.success(request, f"{done}: {changed}.")


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


@admin.register(Passage)
class PassageAdmin(ReadOnlyAdmin):
    """The index of search. Every row is derived from what it is a piece of."""

    list_display = ("kind", "source_id", "ordinal", "owner", "project", "created_at")
    list_filter = ("kind", "created_at")
    search_fields = ("source_id", "text", "owner__username")
    ordering = ("-created_at",)
    exclude = ("lexemes",)


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    """The shared knowledge base, to look at: it is changed by its operations, which keep its passages true."""

    list_display = ("content_start", "entry_type", "source_story", "confidence", "created_by", "created_at")
    list_filter = ("entry_type", "created_at")
    search_fields = ("content", "source_story", "source_file")

    @admin.display(description="content")
    def content_start(self, entry: Entry) -> str:
        """The beginning of the content."""
        return str(entry)


@admin.register(EntryFingerprint)
class EntryFingerprintAdmin(ReadOnlyAdmin):
    """The errors that entries quote: derived from their content."""

    list_display = ("fingerprint", "entry", "has_place")
    search_fields = ("fingerprint", "entry__content")


@admin.register(LessonAsked)
class LessonAskedAdmin(ReadOnlyAdmin):
    """How often each error was asked about."""

    list_display = ("fingerprint", "times", "last_asked", "entry")
    ordering = ("-times",)
    search_fields = ("fingerprint", "entry__content")


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    """What people and agents said of what they were told."""

    list_display = ("kind", "source_id", "verdict", "user", "created_at", "settled_at")
    list_filter = ("kind", "verdict", "created_at", "settled_at")
    search_fields = ("source_id", "note", "user__username")
    ordering = ("-created_at",)


@admin.register(Writing)
class WritingAdmin(ReadOnlyAdmin):
    """With which key and through which agent things were stored."""

    list_display = ("kind", "source_id", "user", "key", "agent", "at")
    list_select_related = ("user", "key", "agent")
    list_filter = ("kind", "at")
    search_fields = ("source_id", "user__username", "key__prefix")
    ordering = ("-at",)


@admin.register(EmbeddingDay)
class EmbeddingDayAdmin(ReadOnlyAdmin):
    """What vectors cost, day by day."""

    list_display = ("day", "tokens")
    ordering = ("-day",)
    search_fields = ("day",)


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ReadOnlyAdmin):
    """The models whose vectors there are."""

    list_display = ("name", "dimensions", "batch_size", "created_at", "active_since")
    search_fields = ("name",)


@admin.register(PassageVector)
class PassageVectorAdmin(ReadOnlyAdmin):
    """The vectors, and which of them wait or made trouble."""

    list_display = ("id", "space", "owner", "not_before", "trouble")
    list_filter = ("space",)
    search_fields = ("trouble",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PassageVector]:
        """Leave the vectors themselves in the database: nobody reads them here."""
        return super().get_queryset(request).defer("vector")


@admin.register(CachedVector)
class CachedVectorAdmin(ReadOnlyAdmin):
    """The texts that are never embedded again."""

    list_display = ("digest", "space")
    search_fields = ("digest",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CachedVector]:
        """Leave the vectors themselves in the database: nobody reads them here."""
        return super().get_queryset(request).defer("vector")


@admin.register(Serving)
class ServingAdmin(ReadOnlyAdmin):
    """What sessions were told, and what they said of it."""

    list_display = ("at", "kind", "source_id", "session", "answered", "cited", "misled")
    list_filter = ("kind", "cited", "misled", "at")
    search_fields = ("source_id", "user__username")
    ordering = ("-at",)
    show_full_result_count = False


@admin.register(Proof)
class ProofAdmin(ReadOnlyAdmin):
    """What came of each company entry."""

    list_display = ("entry", "served", "answered", "people", "cited", "misled", "last_cited_at")
    ordering = ("-served",)
    search_fields = ("entry__title",)


@admin.register(Recall)
class RecallAdmin(ReadOnlyAdmin):
    """What sessions have to hear was recalled."""

    list_display = ("handle", "user", "agent", "at", "told_at")
    list_filter = ("at", "told_at")
    search_fields = ("handle", "user__username")
    ordering = ("-at",)


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    """What start contexts were made of."""

    list_display = ("session", "told", "tokens")
    search_fields = ("session__user__username",)


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """What is not known here."""

    list_display = ("id", "name", "state", "settled_by", "settled_at", "created_at")
    list_filter = ("state", "created_at")
    search_fields = ("name",)
    ordering = ("-created_at",)


@admin.register(UnansweredQuestion)
class UnansweredQuestionAdmin(ReadOnlyAdmin):
    """The questions that found nothing."""

    list_display = ("id", "gap", "user", "times", "first_asked", "last_asked")
    search_fields = ("text", "user__username")
    ordering = ("-last_asked",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[UnansweredQuestion]:
        """Leave the vectors themselves in the database: nobody reads them here."""
        return super().get_queryset(request).defer("vector")


@admin.register(ReferenceCollection)
class ReferenceCollectionAdmin(ReadOnlyAdmin):
    """The products that are documented here."""

    list_display = ("slug", "title", "program", "base_path", "updated_at")
    search_fields = ("slug", "title")


@admin.register(ReferenceImport)
class ReferenceImportAdmin(ReadOnlyAdmin):
    """The runs that brought documentation in."""

    list_display = ("collection", "source", "version", "at", "by", "added", "changed", "removed", "drifted")
    list_select_related = ("collection", "by")
    search_fields = ("source", "collection__slug")
    ordering = ("-at",)


@admin.register(Reference)
class ReferenceAdmin(ReadOnlyAdmin):
    """Documentation, to look at: it is changed by its operations, which keep what it is found by true."""

    list_display = ("__str__", "collection", "kind", "category", "edited_at", "removed_at")
    list_select_related = ("collection",)
    list_filter = ("kind", "edited_at", "removed_at")
    search_fields = ("key", "name", "title", "collection__slug")


@admin.register(ReferenceName)
class ReferenceNameAdmin(ReadOnlyAdmin):
    """What references are looked up by: derived from them."""

    list_display = ("said", "lookup", "sort", "method", "reference")
    list_select_related = ("reference",)
    list_filter = ("sort",)
    search_fields = ("said", "lookup")


@admin.register(ReferenceVersion)
class ReferenceVersionAdmin(ReadOnlyAdmin):
    """What references said before."""

    list_display = ("reference", "number", "why", "by", "at")
    list_select_related = ("reference", "by")
    search_fields = ("reference__name", "reference__title")
    ordering = ("-at",)


@admin.register(ReferenceDrift)
class ReferenceDriftAdmin(ReadOnlyAdmin):
    """Sources that say something new about what people had changed."""

    list_display = ("reference", "opened_at", "decision", "decided_at", "decided_by")
    list_select_related = ("reference", "decided_by")
    list_filter = ("decision",)
    search_fields = ("reference__name", "reference__title")
    ordering = ("-opened_at",)


@admin.register(ReferenceUse)
class ReferenceUseAdmin(ReadOnlyAdmin):
    """How often agents were given each reference."""

    list_display = ("reference", "asked", "last_asked_at")
    list_select_related = ("reference",)
    search_fields = ("reference__name", "reference__title")
    ordering = ("-asked",)


@admin.register(App)
class AppAdmin(ReadOnlyAdmin):
    """The apps that are mapped."""

    list_display = ("name", "app_id", "aliases", "connector", "version", "bootstrapped_at", "reported_gone_at")
    search_fields = ("name", "app_id")
    ordering = ("name",)


@admin.register(AppTable)
class AppTableAdmin(ReadOnlyAdmin):
    """Their tables."""

    list_display = ("name", "app", "table_id", "last_seen", "reported_gone_at")
    list_filter = ("app",)
    search_fields = ("name", "table_id")


@admin.register(AppEntity)
class AppEntityAdmin(ReadOnlyAdmin):
    """The rows that were asked for by name."""

    list_display = ("name", "table", "row_id", "match_field", "match_value", "last_seen")
    list_select_related = ("table__app",)
    search_fields = ("name", "row_id")
    ordering = ("-last_seen",)


@admin.register(AppWorkflow)
class AppWorkflowAdmin(ReadOnlyAdmin):
    """What people ask for in them, and how it is done."""

    list_display = ("name", "app", "trigger", "field", "last_seen")
    list_filter = ("app",)
    search_fields = ("name", "trigger")


@admin.register(AmbiguousName)
class AmbiguousNameAdmin(ReadOnlyAdmin):
    """Names that stand in several places, and what was chosen."""

    list_display = ("name", "default_app", "default_table", "chosen_by", "chosen_at")
    search_fields = ("name",)


@admin.register(Healing)
class HealingAdmin(ReadOnlyAdmin):
    """What was mended, and by whom."""

    list_display = ("at", "app_name", "subject", "failure", "outcome", "failed", "found", "user", "by_connector")
    list_filter = ("failure", "outcome", "at")
    search_fields = ("app_name", "subject", "failed", "found", "user__username")
    ordering = ("-at",)


@admin.register(AppRun)
class AppRunAdmin(ReadOnlyAdmin):
    """Reading outside systems in the background."""

    list_display = ("id", "purpose", "connector", "app", "state", "done", "total", "asked_by", "created_at")
    list_filter = ("state", "connector")
    search_fields = ("connector", "app__name", "error")
    ordering = ("-created_at",)
