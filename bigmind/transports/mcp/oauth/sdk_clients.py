"""Clients: connected apps, as the SDK's handlers want to see them."""

from mcp.shared.auth import InvalidRedirectUriError, InvalidScopeError, OAuthClientInformationFull
from pydantic import AnyUrl, ValidationError

from accounts.models import SCOPES, ConnectedApp
from accounts.oauth.redirects import is_redirect_of


class OAuthClient(OAuthClientInformationFull):
    """A connected app. It has no secret: what everybody can register protects nothing, PKCE does."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """Return the address to send people back to: one of the app's, on this machine with any port (RFC 8252)."""
        if redirect_uri is None:
            return super().validate_redirect_uri(None)
        if not is_redirect_of(str(redirect_uri), [_normalise_uri(uri) for uri in self.redirect_uris or []]):
            raise InvalidRedirectUriError("This app may not send people back to that redirect_uri.")
        return redirect_uri

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """Return the requested scopes that exist. Unknown ones are ignored: clients add those of OpenID by habit."""
        if requested_scope is None:
            return None
        known = [scope for scope in SCOPES if scope in requested_scope.split()]
        if not known:
            raise InvalidScopeError(f"scope must be some of: {' '.join(SCOPES)}")
        return known


def client_of(app: ConnectedApp) -> OAuthClient:
    """Return an app as the handlers want it."""
    return OAuthClient.model_validate(
        {
            "client_id": app.client_id,
            "client_name": app.name,
            "redirect_uris": app.redirect_uris,
            "token_endpoint_auth_method": "none",
            "scope": " ".join(SCOPES),
        }
    )


def _normalise_uri(uri: AnyUrl) -> str:
    """Spell an address as that of a request is spelt, which was read without its empty path being kept."""
    try:
        return str(AnyUrl(str(uri)))
    except ValidationError:
        return str(uri)
