"""Looking at people, and mending: what an action does, the same services do."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import (
    Agent,
    Alert,
    ApiKey,
    AppToken,
    AuditEvent,
    Call,
    ConnectedApp,
    ErasureReport,
    Instance,
    Invitation,
    KeptReply,
    Profile,
    Role,
    Sharing,
    SignIn,
    SignInLink,
    SignInTry,
    TaskTally,
    User,
)
from accounts.services.audit import audit
from accounts.services.keys import revoke_key
from accounts.services.users import delete_user, require_another_admin
from bigmind.core.errors import Conflict


class UserForm(forms.ModelForm):  # type: ignore[type-arg]
    """Asks what may be changed of a person. It is checked within the transaction in which it is saved."""

    def clean(self) -> dict[str, Any]:
        """Refuse to demote or deactivate the last admin, in the words of the command."""
        said = super().clean() or self.cleaned_data
        if said.get("role") != Role.ADMIN or not said.get("is_active"):
            try:
                require_another_admin(self.instance)
            except Conflict as refusal:
                raise ValidationError(str(refusal)) from refusal
        return said


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
    """Apps that have introduced themselves. One that somebody has let in stays until its keys are deleted."""

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
        """Nobody chooses for somebody else."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody chooses for somebody else."""
        return False


@admin.register(SignInLink)
class SignInLinkAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Links that sign somebody in once. Deleting one makes it useless."""

    list_display = ("user", "created_at", "expires_at", "used_at")
    list_filter = ("created_at", "used_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-created_at",)
    raw_id_fields = ("user",)
    readonly_fields = ("user", "digest", "created_at", "used_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A link made here would have a token that nobody has seen."""
        return False


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Invitations. They are made where their link can be shown: on the page “People” and on the command line."""

    list_display = ("__str__", "email", "role", "invited_by", "created_at", "expires_at", "accepted_at", "revoked_at")
    list_filter = ("role", "created_at", "accepted_at")
    list_select_related = ("invited_by",)
    search_fields = ("name", "email", "invited_by__username")
    ordering = ("-created_at",)
    fields = ("name", "email", "role", "invited_by", "created_at", "expires_at", "accepted_at", "revoked_at")
    readonly_fields = ("role", "invited_by", "created_at", "accepted_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """An invitation made here would have a link that nobody has seen."""
        return False


class _Record:
    """A record of what happened is looked at, not written."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds to the record by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody changes it either."""
        return False


@admin.register(SignInTry)
class SignInTryAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """Passwords that were tried lately. Deleting the tries of an address lets it try again at once."""

    list_display = ("at", "address", "name_digest")
    list_filter = ("at",)
    search_fields = ("address",)
    ordering = ("-at",)


@admin.register(SignIn)
class SignInAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """Browsers in which people are signed in. Deleting a row forgets the browser; the page “People” signs out."""

    list_display = ("user", "address", "user_agent", "since", "last_seen")
    list_filter = ("since", "last_seen")
    list_select_related = ("user",)
    search_fields = ("user__username", "address", "user_agent")
    ordering = ("-last_seen",)
    # Whoever knows the key of a session is signed in with it.
    exclude = ("session",)


@admin.register(Call)
class CallAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """The usage log: who did what, and how it ended; never what was said."""

    list_display = ("at", "operation", "user", "door", "outcome", "milliseconds", "tokens", "agent", "request_id")
    list_filter = ("door", "outcome", "operation", "at")
    list_select_related = ("user", "agent")
    search_fields = ("operation", "request_id", "user__username")
    ordering = ("-at",)
    show_full_result_count = False


@admin.register(TaskTally)
class TaskTallyAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """How often each background task ran and failed. Deleting a row counts it anew."""

    list_display = ("task", "runs", "failures", "seconds", "ended_at", "scheduled_at", "failed_at", "error")
    list_filter = ("ended_at", "failed_at")
    search_fields = ("task", "request_id")
    ordering = ("task",)


@admin.register(KeptReply)
class KeptReplyAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replies kept for writes that are sent again. What they say is the user's, so it is not shown."""

    list_display = ("at", "operation", "user", "idempotency_key")
    list_filter = ("operation", "at")
    list_select_related = ("user",)
    search_fields = ("idempotency_key", "operation", "user__username")
    ordering = ("-at",)
    exclude = ("reply",)


@admin.register(Alert)
class AlertAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """What people were told about their keys and their sign-in."""

    list_display = ("created_at", "user", "kind", "text", "by_name", "seen_at", "mailed_at")
    list_filter = ("kind", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "text", "by_name")
    ordering = ("-created_at",)
    raw_id_fields = ("user", "key")


@admin.register(AuditEvent)
class AuditEventAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """What was done to people and keys. The table only grows."""

    list_display = ("number", "at", "event", "by_name", "about_name", "details")
    list_filter = ("event", "at")
    search_fields = ("event", "by_name", "about_name")
    ordering = ("-number",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody: the database would refuse it."""
        return False


@admin.register(ErasureReport)
class ErasureReportAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """What was erased. The table only grows."""

    list_display = ("__str__", "at", "asked_by", "whose")
    list_filter = ("at",)
    list_select_related = ("asked_by", "whose")
    search_fields = ("asked_by__username", "whose__username")
    ordering = ("-at",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody: the database would refuse it."""
        return False


# What is configured in the environment or not used at all must not look as if it could be set here.
admin.site.unregister([EmailAddress, SocialApp, SocialToken, SocialAccount, Authenticator])


@admin.register(Authenticator)
class AuthenticatorAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """Second factors. They are reset on the page of the person, who is told then."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-created_at",)
    exclude = ("data",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody loses a second factor without being told."""
        return False


@admin.register(SocialAccount)
class SocialAccountAdmin(_Record, admin.ModelAdmin):  # type: ignore[type-arg]
    """Who signs in with the company's own sign-in. Deleting a row unlinks the person, until they are found again."""

    list_display = ("user", "provider", "uid", "last_login", "date_joined")
    list_filter = ("provider", "last_login")
    list_select_related = ("user",)
    search_fields = ("user__username", "uid")
    ordering = ("-last_login",)
    exclude = ("extra_data",)
