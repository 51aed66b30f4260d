"""People, what they say of themselves, and the programs that act for them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import (
    Agent,
    Instance,
    Profile,
    Role,
    Sharing,
    User,
)
from accounts.people.user_deletion import delete_user
from accounts.people.users import require_another_admin
from accounts.services.audit import audit
from bigmind.core.errors import Conflict


class UserForm(forms.ModelForm):  # type: ignore[type-arg]
    """Asks what may be changed of a person. It is checked within the transaction in which it is saved."""

    def clean(self) -> dict[str, Any]:
        """Refuse to demote or deactivate the last admin, in the words of the command."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("role") != Role.ADMIN or not cleaned.get("is_active"):
            try:
                require_another_admin(self.instance)
            except Conflict as refusal:
                raise ValidationError(str(refusal)) from refusal
        return cleaned


@admin.register(User)
class UserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """People. They sign in by a link unless they have set a password, which nobody else can."""

    form = UserForm
    list_display = ("username", "display_name", "role", "is_active", "created_at", "last_seen")
    list_filter = ("role", "is_active")
    search_fields = ("username", "display_name", "email", "id")
    ordering = ("username",)
    date_hierarchy = "created_at"
    fields = (
        "id",
        "username",
        "display_name",
        "email",
        "is_email_vouched",
        "role",
        "is_active",
        "created_at",
        "last_seen",
        "last_login",
    )
    readonly_fields = ("id", "created_at", "last_seen", "last_login")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save; a user who was made here has no password to sign in with."""
        if not change:
            obj.set_unusable_password()
        obj.save()
        # What changed, and not to what: a name could not be taken away again.
        audit("user_changed" if change else "user_added", about=obj, fields=form.changed_data, role=obj.role)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what goes with a user; that some of it cannot be deleted on its own is no objection."""
        to_delete, counts, _, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Delete as the command does: the last admin stays."""
        try:
            delete_user(obj)
        except Conflict as refusal:
            messages.error(request, str(refusal))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        """Keep no name of who is gone: the signed report says what was done."""
        return []

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Delete one by one, so that the last admin stays."""
        for user in queryset:
            self.delete_model(request, user)


@admin.register(Profile)
class ProfileAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who people are: Tier 0."""

    list_display = ("user", "role", "updated_at")
    list_filter = ("updated_at",)
    list_select_related = ("user",)
    search_fields = ("user__username", "role", "preferences")
    raw_id_fields = ("user",)
    readonly_fields = ("updated_at",)


@admin.register(Sharing)
class SharingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What people chose to show. Only they choose: here it is looked at."""

    list_display = ("user", "in_directory", "sections", "updated_at")
    list_filter = ("in_directory",)
    list_select_related = ("user",)
    search_fields = ("user__username",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody chooses for someone else."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody chooses for someone else."""
        return False


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Clients that have acted for people."""

    list_display = ("client_name", "client_version", "host", "user", "first_seen", "last_seen")
    list_filter = ("client_name", "last_seen")
    list_select_related = ("user",)
    search_fields = ("client_name", "host", "user__username")
    ordering = ("-last_seen",)
    raw_id_fields = ("user",)
    readonly_fields = ("first_seen",)


@admin.register(Instance)
class InstanceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Other BigMinds that people registered here. What they tell of themselves is not reworded."""

    list_display = ("name", "user", "version", "status", "first_seen", "last_seen")
    list_filter = ("last_seen", "version")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    ordering = ("-last_seen",)
    readonly_fields = ("user", "identity", "name", "version", "url", "statistics", "first_seen", "last_seen")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only the other BigMind itself can say that it is there."""
        return False
