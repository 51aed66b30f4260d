"""What sessions were told, and what came of it."""

from django.contrib import admin

from knowledge.models import Feedback, Proof, Recall, Receipt, Serving

from .base import ReadOnlyAdmin


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    """What people and agents said of what they were told."""

    list_display = ("kind", "source_id", "verdict", "user", "created_at", "settled_at")
    list_filter = ("kind", "verdict", "created_at", "settled_at")
    search_fields = ("source_id", "note", "user__username")
    ordering = ("-created_at",)


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
