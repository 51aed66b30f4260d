"""The index of search and its vectors: all of it is derived."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from knowledge.models import CachedVector, EmbeddingDay, EmbeddingSpace, Passage, PassageVector, Writing

from .base import ReadOnlyAdmin


@admin.register(Passage)
class PassageAdmin(ReadOnlyAdmin):
    """The index of search. Every row is derived from what it is a piece of."""

    list_display = ("kind", "source_id", "ordinal", "owner", "project", "created_at")
    list_filter = ("kind", "created_at")
    search_fields = ("source_id", "text", "owner__username")
    ordering = ("-created_at",)
    exclude = ("lexemes",)


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
    """The vectors, and which of them wait or failed."""

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
