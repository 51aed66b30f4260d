"""What is not known here."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from knowledge.models import Gap, UnansweredQuestion

from .base import ReadOnlyAdmin


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """What is not known here."""

    list_display = ("id", "name", "state", "settled_by", "settled_at", "created_at")
    list_filter = ("state", "created_at")
    search_fields = ("name",)
    ordering = ("-created_at",)


@admin.register(UnansweredQuestion)
class UnansweredQuestionAdmin(ReadOnlyAdmin):
    """The questions that found nothing, without their words and without who asked: that is told to nobody."""

    list_display = ("id", "gap", "times", "first_asked", "last_asked")
    exclude = ("user", "text", "digest", "space", "vector")
    ordering = ("-last_asked",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[UnansweredQuestion]:
        """Leave the vectors themselves in the database: nobody reads them here."""
        return super().get_queryset(request).defer("vector")
