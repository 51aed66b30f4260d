"""The protocol of the company's own sign-in: OpenID Connect by django-allauth, with what it leaves open closed.

django-allauth trusts an id_token that came over TLS from the provider without looking at its signature, and sends no
nonce. Here the signature is always looked at, by algorithms that need the provider's private key, and so is the nonce.
Otherwise a mistake in the provider's address would be all that stands between a stranger and a sign-in. Decision 17.
"""

import secrets
import time
from typing import TYPE_CHECKING, Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

if TYPE_CHECKING:
    import jwt

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
CLOCKS_DIFFER_SECONDS = 30
REQUIRED_CLAIMS = ["iss", "sub", "aud", "exp", "iat"]


class Protocol(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """The exchange between BigMind and the provider."""

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the one address that is registered with the provider, by whatever name this request came."""
        return f"{settings.PUBLIC_URL}{reverse('sso-callback')}"

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Return who has signed in at the provider, with what it says of them: what is signed comes first.

        Raises:
            OAuth2Error: what the provider has sent cannot be trusted.
        """
        signed = self._read_claims(app, kwargs["response"].get("id_token", ""))
        user_info = self._fetch_user_info(token.token) if "userinfo_endpoint" in self.openid_config else {}
        # OpenID Connect Core, 5.3.2: otherwise another person's claims could stand beside a good signature.
        if user_info and user_info.get("sub") != signed["sub"]:
            raise OAuth2Error("The provider speaks of two people.")
        provider = self.get_provider()
        # Nothing of what the provider tells is kept but who it is.
        account = SocialAccount(provider=provider.sub_id, uid=signed["sub"], extra_data={})
        login = SocialLogin(account=account, provider=provider)
        login.claims = {**user_info, **signed}
        return login

    def _read_claims(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        import jwt  # Here, because few instances have a company's sign-in, and no start waits for it.

        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        try:
            key = _key_of(jwt.PyJWKSet.from_dict(answer.json()), jwt.get_unverified_header(id_token).get("kid"))
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key,
                algorithms=ALGORITHMS,
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                leeway=CLOCKS_DIFFER_SECONDS,
                options={"require": REQUIRED_CLAIMS},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"The id_token is not good: {type(error).__name__}.") from error
        return claims


def _key_of(keys: "jwt.PyJWKSet", key_id: str | None) -> "jwt.PyJWK":
    """Return the key that signed; a provider with one key need not name it."""
    from jwt import InvalidKeyError

    fitting = [key for key in keys.keys if key.key_id == key_id or (key_id is None and len(keys.keys) == 1)]
    if not fitting:
        raise InvalidKeyError("unknown key")
    return fitting[0]


class CompanyProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """The provider that is configured in the environment. There is one, and none in the database."""

    def get_oauth2_adapter(self, request: HttpRequest) -> Protocol:
        """Return our protocol instead of the general one."""
        return Protocol(request, self.app.provider_id)

    def send_there(
        self, request: HttpRequest, *, wanted: str, again: bool = False, is_test: bool = False
    ) -> HttpResponse:
        """Send a browser to the provider. What the address says of scopes and parameters is not passed on.

        Args:
            again: Ask the provider to let them sign in again, also where they are signed in there. The address can be
                changed on the way, so what comes back is checked (`require_fresh`).
            is_test: Nobody is to be signed in by it; an admin wants to see who would be.
        """
        nonce = secrets.token_urlsafe(24)
        anew = {"prompt": "login", "max_age": "0"} if again else {}
        response: HttpResponse = self.redirect(
            request,
            process="login",
            next_url=wanted,
            data={"nonce": nonce, "is_test": is_test, "fresh_since": time.time() if again else 0.0},
            auth_params={"nonce": nonce, **anew},
        )
        return response


def provider_for(request: HttpRequest) -> CompanyProvider:
    """Return the configured provider. People are known by its address and their id: another provider is others."""
    app = SocialApp(
        provider="openid_connect",
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True},
    )
    return CompanyProvider(request, app=app)
