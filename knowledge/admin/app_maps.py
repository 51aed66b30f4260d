"""Maps of apps, and how they were mended."""

from django.contrib import admin

from knowledge.models import AmbiguousName, App, AppEntity, AppRun, AppTable, AppWorkflow, Healing

from .base import ReadOnlyAdmin


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
