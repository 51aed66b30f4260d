"""What BigMind decides for django-allauth: how second factors are stored, and who may sign in by a provider."""

from urllib.parse import urlsplit

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in.openid_connect import CompanyProvider, provider_for
from accounts.sign_in.sso import Identity, admit, require_fresh
from accounts.views.sign_in import enter_by_sso
from accounts.views.sso import show_sign_in_error
from accounts.views.sso_set_up import show_tested_sign_in
from bigmind.core.encryption import decrypt, encrypt

PURPOSE = "bigmind: secrets of second factors"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Keeps the secrets of second factors encrypted: reading the database alone is not enough to make codes."""

    def encrypt(self, text: str) -> str:
        """Encrypt a secret with a key that is derived from the secret key of this instance."""
        return encrypt(text, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret, also where it was encrypted with an earlier secret key that is a fallback.

        Raises:
            cryptography.fernet.InvalidToken: it was encrypted with another secret key.
        """
        return decrypt(encrypted_text, purpose=PURPOSE)

    def get_totp_issuer(self) -> str:
        """Name this instance: people have codes of many places in one app."""
        return f"BigMind {urlsplit(settings.PUBLIC_URL).hostname}"

    def get_totp_label(self, user: User) -> str:
        """Name the person as they sign in."""
        return f"{self.get_totp_issuer()}:{user.username}"


class CompanySignInAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Applies our own rules to sign-ins, and shows errors on our own page."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> CompanyProvider:
        """Return the configured provider; rows in the database are ignored."""
        return provider_for(request)

    def authenticate_by_email(self, login: SocialLogin) -> None:
        """Find no one by e-mail here: `admit` does that, by its own rules."""
        return

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Decide what happens to a user that the provider has authenticated, instead of django-allauth's own pages."""
        claims, begun = sociallogin.claims, sociallogin.state["data"]
        if claims.get("nonce") != begun["nonce"]:
            raise OAuth2Error("The id_token belongs to another sign-in.")
        identity = Identity.of(settings.OIDC_ISSUER, claims)
        if begun["is_test"]:
            raise ImmediateHttpResponse(show_tested_sign_in(request, identity, claims))
        require_fresh(identity, since=begun["fresh_since"])
        user = admit(identity, address=request.META.get("REMOTE_ADDR", ""))
        next_address = sociallogin.state.get("next") or "/"
        raise ImmediateHttpResponse(
            enter_by_sso(request, user, wanted=next_address, authenticated_at=identity.authenticated_at)
        )

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: object,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: object = None,
    ) -> None:
        """Show what went wrong on a page of ours."""
        raise ImmediateHttpResponse(show_sign_in_error(request, error=error, exception=exception))
