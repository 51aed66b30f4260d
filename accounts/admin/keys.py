"""Keys, and the apps that people have let in."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.keys import revoke_key
from accounts.models import (
    ApiKey,
    AppToken,
    ConnectedApp,
)


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Keys. They are made where their text can be shown: on the page and on the command line."""

    list_display = (
        "prefix",
        "user",
        "label",
        "scopes",
        "state",
        "created_at",
        "last_used_at",
        "last_used_by",
        "ends_at",
    )
    list_filter = ("created_at", "expires_at", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("prefix", "label", "digest", "user__username")
    ordering = ("-created_at",)
    raw_id_fields = ("user", "replaces", "app")
    readonly_fields = (
        "id",
        "prefix",
        "digest",
        "created_at",
        "last_used_at",
        "last_used_by",
        "unlinked_at",
        "state",
        "ends_at",
    )
    actions = ("revoke",)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Save; a key whose user was taken away here stays closed like one that was unlinked by the command."""
        if "user" in form.changed_data:
            obj.unlinked_at = None if obj.user else timezone.now()
        obj.save()

    @admin.action(description="Revoke the selected keys now")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """End keys at once."""
        for key in queryset:
            revoke_key(key)
        messages.success(request, f"Revoked {len(queryset)}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A key made here would have a text that nobody has seen."""
        return False


@admin.register(ConnectedApp)
class ConnectedAppAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Apps that have introduced themselves. One that a user has authorised stays until its keys are deleted."""

    list_display = ("name", "client_id", "hosts", "introduced_from", "introduced_at", "let_in_at")
    list_filter = ("introduced_at", "let_in_at")
    search_fields = ("name", "client_id")
    ordering = ("-introduced_at",)
    readonly_fields = ("client_id", "introduced_from", "introduced_at", "read_at", "let_in_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Apps introduce themselves."""
        return False


@admin.register(AppToken)
class AppTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What connected apps come in with. To end one's access, revoke its key."""

    list_display = ("kind", "key", "scopes", "created_at", "expires_at", "exchanged_at")
    list_filter = ("kind", "expires_at")
    list_select_related = ("key",)
    search_fields = ("digest", "key__label", "key__user__username")
    ordering = ("-created_at",)
    raw_id_fields = ("key",)
    readonly_fields = ("digest", "created_at", "challenge", "redirect_uri", "resource", "exchanged_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A token made here would have a text that nobody has seen."""
        return False
