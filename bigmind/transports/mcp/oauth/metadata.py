"""Metadata: tells an app where the endpoint is and how to get authorised (RFC 9728 and RFC 8414)."""

from mcp.server.auth.routes import build_metadata
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic import AnyHttpUrl

from accounts.keys import DEFAULT_SCOPES
from accounts.models import SCOPES
from accounts.oauth.app_tokens import oauth_address

REGISTRATION = ClientRegistrationOptions(
    enabled=True, valid_scopes=None, default_scopes=list(SCOPES), client_secret_expiry_seconds=None
)


def of_the_resource() -> ProtectedResourceMetadata:
    """Return what the endpoint is and who gives out its tokens. It names the scopes that most need, not all of them."""
    return ProtectedResourceMetadata(
        resource=_issuer(),
        authorization_servers=[_issuer()],
        scopes_supported=list(DEFAULT_SCOPES),
        resource_name="BigMind",
    )


def of_the_server() -> OAuthMetadata:
    """Return where an app introduces itself, asks, and exchanges.

    The issuer has a path, so that this is found at `/.well-known/oauth-authorization-server/mcp/oauth` and nothing is
    at the root: there, clients of `/mcp` would look after a mistyped key, and leave the key for OAuth.
    """
    metadata = build_metadata(_issuer(), None, REGISTRATION, RevocationOptions(enabled=True))
    metadata.scopes_supported = list(SCOPES)
    metadata.token_endpoint_auth_methods_supported = ["none"]
    metadata.revocation_endpoint_auth_methods_supported = ["none"]
    metadata.client_id_metadata_document_supported = True
    metadata.authorization_response_iss_parameter_supported = True
    return metadata


def _issuer() -> AnyHttpUrl:
    return AnyHttpUrl(oauth_address())
