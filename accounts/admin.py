"""Viewing and correcting accounts: admin actions call the same services as everything else.

Most tables are read-only: they are rows, below. Each of the others has a class.
"""

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

from accounts.keys import revoke_key
from accounts.models import (
    Agent,
    Alert,
    ApiKey,
    AppToken,
    AuditEvent,
    AuditHead,
    BackupRun,
    Call,
    ConnectedApp,
    ErasureReport,
    Instance,
    Invitation,
    KeptReply,
    Profile,
    Role,
    SettingOverride,
    Sharing,
    SignIn,
    SignInLink,
    SignInTry,
    TaskTally,
    User,
    Worker,
)
from accounts.people.names import require_own_name
from accounts.people.user_deletion import delete_user
from accounts.people.users import require_another_admin
from accounts.services.audit import audit
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.privacy.masking import masking
from bigmind.web.admin import show

# Settings that live in the environment, or are unused, must not look as if they could be set here.
admin.site.unregister([EmailAddress, SocialApp, SocialToken, SocialAccount, Authenticator])


class UserForm(forms.ModelForm):  # type: ignore[type-arg]
    """Asks for the fields of a person that may change. It is validated in the transaction that saves it."""

    def clean(self) -> dict[str, Any]:
        """Refuse to demote or deactivate the last admin, in the words of the command."""
        cleaned = super().clean() or self.cleaned_data
        for field in ("username", "display_name"):
            try:
                known = User.objects.filter(pk=self.instance.pk).first()
                require_own_name(cleaned.get(field) or "", field=field, user=known)
            except Invalid as refusal:
                self.add_error(field, in_language(str(refusal)))
        if cleaned.get("role") != Role.ADMIN or not cleaned.get("is_active"):
            try:
                require_another_admin(self.instance)
            except Conflict as refusal:
                raise ValidationError(in_language(str(refusal))) from refusal
        return cleaned


@admin.register(User)
class UserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """People. They sign in by a link unless they have set a password, which no one else can."""

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
        """Save; a user created here has no password to sign in with."""
        if not change:
            obj.set_unusable_password()
        obj.save()
        # Which fields changed, but not their values: a name could not be removed later.
        audit("user_changed" if change else "user_added", about=obj, fields=form.changed_data, role=obj.role)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List what is deleted with a user, even if some of it cannot be deleted on its own."""
        to_delete, counts, _wanting, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Delete as the command does: the last admin stays."""
        try:
            with masking(None):
                delete_user(obj)
        except Conflict as refusal:
            messages.error(request, in_language(str(refusal)))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        """Keep no name of a deleted user: the signed report says what was done."""
        return []

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Delete one by one, so that the last admin stays."""
        for user in queryset:
            self.delete_model(request, user)


# Only people themselves say who they are.
show(Profile)


class MadeElsewhereAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that can be changed here but not created: nobody would have seen the text of a new one."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is created here."""
        return False


# Clients that have acted for people.
show(
    Agent,
    columns="client_name client_version host user first_seen last_seen",
    search="client_name host user__username",
    filters="client_name last_seen",
    order="-last_seen",
    base=admin.ModelAdmin,
    list_select_related=("user",),
    raw_id_fields=("user",),
    readonly_fields=("first_seen",),
)


@admin.register(ApiKey)
class ApiKeyAdmin(MadeElsewhereAdmin):
    """Keys. They are created where their text can be shown: on the page and on the command line."""

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
        """Save; a key whose user was removed here stays disabled, like one unlinked by the command."""
        if "user" in form.changed_data:
            obj.unlinked_at = None if obj.user else timezone.now()
            before = User.objects.filter(pk=form.initial["user"]).first()
            if before:
                audit("key_unlinked", about=before, key=obj.pk)
            if obj.user:
                audit("key_linked", about=obj.user, key=obj.pk)
        obj.save()

    @admin.action(description=gettext_lazy("Revoke the selected keys now"))
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """End keys at once."""
        for key in queryset:
            revoke_key(key)
        messages.success(request, _("Revoked %(count)s.") % {"count": len(queryset)})


# Apps introduce themselves. One that a user has authorised stays until its keys are deleted.
show(
    ConnectedApp,
    columns="name client_id hosts introduced_from introduced_at let_in_at",
    search="name client_id",
    filters="introduced_at let_in_at",
    order="-introduced_at",
    base=MadeElsewhereAdmin,
    readonly_fields=("client_id", "introduced_from", "introduced_at", "read_at", "let_in_at"),
)
# What connected apps come in with. To end one's access, revoke its key.
show(
    AppToken,
    columns="kind key scopes created_at expires_at exchanged_at",
    search="digest key__label key__user__username",
    filters="kind expires_at",
    order="-created_at",
    base=MadeElsewhereAdmin,
    list_select_related=("key",),
    raw_id_fields=("key",),
    readonly_fields=("digest", "created_at", "challenge", "redirect_uri", "resource", "exchanged_at"),
)
# Links that sign a user in once. Deleting one makes it useless.
show(
    SignInLink,
    columns="user created_at expires_at used_at",
    search="user__username",
    filters="created_at used_at",
    order="-created_at",
    base=MadeElsewhereAdmin,
    list_select_related=("user",),
    raw_id_fields=("user",),
    readonly_fields=("user", "digest", "created_at", "used_at"),
)
# Invitations are made where their link can be shown: on the page “People” and on the command line.
show(
    Invitation,
    columns="__str__ email role invited_by created_at expires_at accepted_at revoked_at",
    search="name email invited_by__username",
    filters="role created_at accepted_at",
    order="-created_at",
    base=MadeElsewhereAdmin,
    list_select_related=("invited_by",),
    fields=("name", "email", "role", "invited_by", "created_at", "expires_at", "accepted_at", "revoked_at"),
    readonly_fields=("role", "invited_by", "created_at", "accepted_at"),
)
# Only people themselves choose what they show, and only another BigMind says that it is there.
show(Sharing, Instance, may_be_deleted=True)

# The usage log: who did what, with which outcome; never the content.
show(
    Call,
    columns="at operation user transport outcome milliseconds tokens agent request_id",
    search="operation request_id user__username",
    filters="transport outcome operation at",
    order="-at",
    list_select_related=("user", "agent"),
    may_be_deleted=True,
)
# Deleting a row restarts its count.
show(TaskTally, Worker, BackupRun, may_be_deleted=True)
show(SettingOverride)
# What replies say is the user's, so it is not shown.
show(
    KeptReply,
    columns="at operation user idempotency_key",
    search="idempotency_key operation user__username",
    filters="operation at",
    order="-at",
    exclude=("reply",),
    may_be_deleted=True,
)
show(Alert, may_be_deleted=True)

# These tables only grow, and every check of the log needs its head: nothing of them is deleted.
show(
    AuditEvent,
    columns="number at event by_name about_name details",
    search="event by_name about_name",
    filters="event at",
    order="-number",
)
show(AuditHead)
show(ErasureReport, exclude=("signature", "public_key"))

# Deleting the tries of an address lets it try again at once.
show(SignInTry, may_be_deleted=True)
# Deleting a row forgets the browser; the page “People” signs out. The key of a session signs in the one who knows it.
show(SignIn, exclude=("session",), may_be_deleted=True)
# Second factors are reset on the page of the person, who is then notified.
show(
    Authenticator,
    columns="user type created_at last_used_at",
    search="user__username",
    filters="type created_at",
    order="-created_at",
    exclude=("data",),
)
# Deleting a row unlinks the person from the company's sign-in, until they are found again.
show(
    SocialAccount,
    columns="user provider uid last_login date_joined",
    search="user__username uid",
    filters="provider last_login",
    order="-last_login",
    exclude=("extra_data",),
    may_be_deleted=True,
)
