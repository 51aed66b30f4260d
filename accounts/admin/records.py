"""What was done: calls, tasks, alerts, the audit log, erasures."""

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import Alert, AuditEvent, AuditHead, Call, ErasureReport, KeptReply, TaskTally

from .base import RecordAdmin


@admin.register(Call)
class CallAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """The usage log: who did what, with which outcome; never the content."""

    list_display = ("at", "operation", "user", "door", "outcome", "milliseconds", "tokens", "agent", "request_id")
    list_filter = ("door", "outcome", "operation", "at")
    list_select_related = ("user", "agent")
    search_fields = ("operation", "request_id", "user__username")
    ordering = ("-at",)
    show_full_result_count = False


@admin.register(TaskTally)
class TaskTallyAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """How often each background task ran and failed. Deleting a row restarts its count."""

    list_display = ("task", "runs", "failures", "seconds", "ended_at", "scheduled_at", "failed_at", "error")
    list_filter = ("ended_at", "failed_at")
    search_fields = ("task", "request_id")
    ordering = ("task",)


@admin.register(KeptReply)
class KeptReplyAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replies kept for writes that are sent again. What they say is the user's, so it is not shown."""

    list_display = ("at", "operation", "user", "idempotency_key")
    list_filter = ("operation", "at")
    list_select_related = ("user",)
    search_fields = ("idempotency_key", "operation", "user__username")
    ordering = ("-at",)
    exclude = ("reply",)


@admin.register(Alert)
class AlertAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Messages to people about their keys and their sign-in."""

    list_display = ("created_at", "user", "kind", "text", "by_name", "seen_at", "mailed_at")
    list_filter = ("kind", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "text", "by_name")
    ordering = ("-created_at",)
    raw_id_fields = ("user", "key")


@admin.register(AuditEvent)
class AuditEventAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """What was done to people and keys. The table only grows."""

    list_display = ("number", "at", "event", "by_name", "about_name", "details")
    list_filter = ("event", "at")
    search_fields = ("event", "by_name", "about_name")
    ordering = ("-number",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody: the database would refuse it."""
        return False


@admin.register(AuditHead)
class AuditHeadAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Which row of the audit log is the last one. Without it nobody could tell that rows are missing."""

    list_display = ("number", "last")
    search_fields = ("number", "last")

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody: every check of the log would fail."""
        return False


@admin.register(ErasureReport)
class ErasureReportAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """What was erased. The table only grows."""

    list_display = ("__str__", "at", "asked_by", "whose")
    list_filter = ("at",)
    list_select_related = ("asked_by", "whose")
    search_fields = ("asked_by__username", "whose__username")
    ordering = ("-at",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody: the database would refuse it."""
        return False
