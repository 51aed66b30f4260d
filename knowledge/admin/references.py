"""Documentation: collections, references and their history."""

from django.contrib import admin

from knowledge.models import (
    Reference,
    ReferenceCollection,
    ReferenceDrift,
    ReferenceImport,
    ReferenceName,
    ReferenceUse,
    ReferenceVersion,
)

from .base import ReadOnlyAdmin


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
