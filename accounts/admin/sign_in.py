"""How people come in: links, invitations, passwords, second factors, the company's own sign-in."""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.http import HttpRequest

from accounts.models import Invitation, SignIn, SignInLink, SignInTry

from .base import RecordAdmin

# What is configured in the environment or not used at all must not look as if it could be set here.
admin.site.unregister([EmailAddress, SocialApp, SocialToken, SocialAccount, Authenticator])


@admin.register(SignInLink)
class SignInLinkAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Links that sign a user in once. Deleting one makes it useless."""

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


@admin.register(SignInTry)
class SignInTryAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Passwords that were tried lately. Deleting the tries of an address lets it try again at once."""

    list_display = ("at", "address", "name_digest")
    list_filter = ("at",)
    search_fields = ("address",)
    ordering = ("-at",)


@admin.register(SignIn)
class SignInAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Browsers in which people are signed in. Deleting a row forgets the browser; the page “People” signs out."""

    list_display = ("user", "address", "user_agent", "since", "last_seen")
    list_filter = ("since", "last_seen")
    list_select_related = ("user",)
    search_fields = ("user__username", "address", "user_agent")
    ordering = ("-last_seen",)
    # Whoever knows the key of a session is signed in with it.
    exclude = ("session",)


@admin.register(Authenticator)
class AuthenticatorAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Second factors. They are reset on the page of the person, who is then notified."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-created_at",)
    exclude = ("data",)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """No: only the page of the person notifies them."""
        return False


@admin.register(SocialAccount)
class SocialAccountAdmin(RecordAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Who signs in with the company's own sign-in. Deleting a row unlinks the person, until they are found again."""

    list_display = ("user", "provider", "uid", "last_login", "date_joined")
    list_filter = ("provider", "last_login")
    list_select_related = ("user",)
    search_fields = ("user__username", "uid")
    ordering = ("-last_login",)
    exclude = ("extra_data",)
