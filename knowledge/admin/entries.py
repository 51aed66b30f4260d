"""The shared knowledge base, and the errors it answers."""

from django.contrib import admin

from knowledge.models import Entry, EntryFingerprint, LessonAsked

from .base import ReadOnlyAdmin


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    """The shared knowledge base, to look at: it is changed by its operations, which keep its passages true."""

    is_for_curators = True

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
