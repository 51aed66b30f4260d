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
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.privacy.masking import masking
from bigmind.web.admin import ReadOnlyAdmin, show
from knowledge.kinds import erase_own
from knowledge.memory.archive import restore, set_aside
from knowledge.models import (
    AmbiguousName,
    App,
    AppEntity,
    AppRun,
    AppTable,
    AppWorkflow,
    AskedQuestion,
    CachedVector,
    CapturePolicy,
    Chunk,
    Conversation,
    EmbeddingDay,
    EmbeddingSpace,
    Entry,
    EntryFingerprint,
    Fact,
    Feedback,
    Firing,
    Gap,
    Healing,
    HookEvent,
    HookHealth,
    Hypothesis,
    IndexGap,
    LessonAsked,
    Note,
    Passage,
    PassageVector,
    Proof,
    Recall,
    Receipt,
    ReceiptText,
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
    SourceRepository,
    Summary,
    TidyingAnswer,
    ToolUse,
    UnansweredQuestion,
    Writing,
)
from knowledge.shapes.upkeep import RememberedShape

REASON = "Set aside by an admin."


class RememberedAdmin(ReadOnlyAdmin):
    """Shows what people stored, and sets aside, restores and erases it as they would themselves."""

    kind: ClassVar[str]
    raw_id_fields = ("user",)
    actions = ("set_aside", "restore")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Erasing is permitted: someone may have asked an admin for it."""
        return bool(request.user.is_authenticated and request.user.is_admin)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what goes with it; that some of it cannot be deleted on its own is no objection."""
        to_delete, counts, _, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Erase as the owner would."""
        with masking(None):
            erase_own(Actor.of(obj.user), self.kind, obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for thing in queryset:
            self.delete_model(request, thing)

    @admin.action(description=gettext_lazy("Set aside: hidden everywhere, kept on record"), permissions=["delete"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Take things out of sight."""
        self._each(
            request, queryset, lambda owner, id: set_aside(owner, kind=self._kind, id=id, reason=REASON), _("Set aside")
        )

    @admin.action(description=gettext_lazy("Restore what was set aside"), permissions=["delete"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Bring things back into sight."""
        self._each(request, queryset, lambda owner, id: restore(owner, kind=self._kind, id=id), _("Restored"))

    @property
    def _kind(self) -> Any:
        return self.kind

    def _each(
        self, request: HttpRequest, queryset: QuerySet[Any], change: Callable[[Actor, str], RememberedShape], done: str
    ) -> None:
        changed = 0
        for thing in queryset:
            try:
                with masking(None):
                    change(Actor.of(thing.user), str(thing.pk))
                changed += 1
            except BigMindError as refusal:
                messages.warning(request, f"{thing}: {in_language(str(refusal))}")
        messages.success(request, f"{done}: {changed}.")


class VectorAdmin(ReadOnlyAdmin):
    """Leaves the vectors themselves in the database: nobody reads them here."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("vector")


# What people stored.
show(
    Session,
    columns="handle user one_liner project started_at ended_at agent auto_closed",
    search="user__username project one_liner outcome id",
    filters="auto_closed started_at ended_at set_aside_at",
    order="-started_at",
    base=RememberedAdmin,
    kind="session",
)
show(
    Chunk,
    columns="__str__ user session seq role created_at",
    search="user__username content flag_reason session__id",
    filters="role created_at set_aside_at",
    order="-created_at",
    base=RememberedAdmin,
    kind="chunk",
)
show(
    Fact,
    columns="__str__ user category confidence project valid_from valid_until created_at deprecated_at",
    search="user__username project fact deprecation_reason",
    filters="category valid_from valid_until created_at deprecated_at",
    order="-created_at",
    base=RememberedAdmin,
    kind="fact",
)
show(
    Hypothesis,
    columns="__str__ user status confidence project created_at resolved_at",
    search="user__username project hypothesis resolution",
    filters="status created_at set_aside_at",
    order="-created_at",
    base=RememberedAdmin,
    kind="hypothesis",
)
show(
    Note,
    columns="__str__ user project expires_at updated_at",
    search="user__username project domain key content",
    filters="domain updated_at expires_at set_aside_at",
    order="user domain key",
    base=RememberedAdmin,
    kind="note",
)
# Narratives and shown headlines go with their session.
show(
    Summary,
    columns="session created_at",
    search="summary session__one_liner session__user__username",
    filters="created_at",
    order="-created_at",
)
show(ShownHeadline)

# What hooks reported, without what was said, and how users want memory to be written.
show(
    Conversation,
    columns="last_at user client repository session tools withheld ended_at",
    search="user__username client_id repository",
    filters="client last_at",
    order="-last_at",
)
show(HookEvent, exclude=("prompt",))
show(Firing, ToolUse, HookHealth, TidyingAnswer, CapturePolicy)

# The shared knowledge base is changed by its operations, which keep its passages true; what it quotes is derived.
show(
    Entry,
    columns="__str__ entry_type source_story confidence created_by created_at",
    search="content source_story source_file",
    filters="entry_type created_at",
    is_for_curators=True,
)
show(EntryFingerprint)
# How often it was asked is shown if enough people asked: in the answer.
show(LessonAsked, exclude=("times", "last_asked", "people"))

# What sessions received, and what came of it.
show(Feedback, Serving, Proof, Recall, Receipt, ReceiptText)

# What is not known here. The words of a question and who asked it are shown to nobody.
show(Gap)
show(
    UnansweredQuestion,
    columns="id gap times first_asked last_asked",
    search="",
    order="-last_asked",
    base=VectorAdmin,
    exclude=("user", "text", "digest", "space", "vector"),
)
show(
    AskedQuestion,
    columns="id how times asked_at",
    search="",
    filters="how",
    order="-asked_at",
    exclude=("user", "project", "text", "digest", "space", "vector", "tokens", "outline"),
)

# The index of search and its vectors: all of it is derived.
show(Passage, exclude=("lexemes",))
show(Writing, IndexGap, EmbeddingDay, EmbeddingSpace)
show(PassageVector, columns="id space owner not_before trouble", search="trouble", filters="space", base=VectorAdmin)
show(CachedVector, columns="digest space", search="digest", base=VectorAdmin)

# Maps of apps, and how they were mended.
show(
    App,
    columns="name app_id aliases connector version bootstrapped_at reported_gone_at",
    search="name app_id",
    order="name",
)
show(AppTable)
show(
    AppEntity,
    columns="name table row_id match_field match_value last_seen",
    search="name row_id",
    order="-last_seen",
    list_select_related=("table__app",),
)
show(AppWorkflow, AmbiguousName, Healing, AppRun)

show(SourceRepository)

# Documentation is changed by its operations, which keep what it is found by true.
show(ReferenceCollection, ReferenceImport)
show(
    Reference,
    columns="__str__ collection kind category edited_at removed_at",
    search="key name title collection__slug",
    filters="kind edited_at removed_at",
)
show(ReferenceName, ReferenceVersion, ReferenceDrift)
# How often it was looked up is shown where enough people did: on the page about the coverage of its collection.
show(ReferenceUse, exclude=("asked", "last_asked_at", "people"))
