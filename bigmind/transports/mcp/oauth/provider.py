"""The provider: what the SDK's OAuth handlers ask, answered from our own store on a worker thread."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode

from django.urls import reverse
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from accounts.keys import DEFAULT_SCOPES
from accounts.models import SCOPES, AppToken
from accounts.oauth.app_tokens import Pair, end_access, exchange, find_token, oauth_address
from accounts.oauth.connected_apps import app_called, introduce_app
from accounts.oauth.consent import ConsentRequest, seal
from bigmind.core.errors import Invalid
from bigmind.transports.mcp.oauth.sdk_clients import client_of
from bigmind.transports.mcp.threads import on_a_thread

STATE_CHARS = 2000
"""It travels in the address of the page on which the person decides."""
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
Answer = TypeVar("Answer")


def is_ours(resource: str | None) -> bool:
    """Whether a token is wanted for the one address it could open (RFC 8707); who names none means that."""
    return resource is None or resource.rstrip("/") == oauth_address()


@dataclass(frozen=True)
class OAuthProvider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Answers for one request.

    Attributes:
        request_id: The id of the request.
        address: Where it comes from.
    """

    request_id: str
    address: str

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        app = await self._ask(partial(app_called, client_id))
        return client_of(app) if app else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Register an app. The reply says what was registered, which is not always what it asked for."""
        uris = [str(uri) for uri in client_info.redirect_uris or []]
        name = client_info.client_name or ""
        register = partial(introduce_app, name=name, redirect_uris=uris, address=self.address)
        try:
            await self._ask(partial(register, client_info.client_id))
        except Invalid as refusal:
            raise RegistrationError("invalid_redirect_uri", str(refusal)) from refusal
        # Also for an app that asked for a secret: what anyone can register, no secret protects. Decision 13.
        client_info.token_endpoint_auth_method = "none"  # noqa: S105 - it is none
        client_info.client_secret = client_info.client_secret_expires_at = None
        client_info.grant_types, client_info.scope = ["authorization_code", "refresh_token"], " ".join(SCOPES)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the page on which a person decides."""
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "code_challenge must be the SHA-256 of the verifier, in base64url.")
        if not is_ours(params.resource):
            raise AuthorizeError("invalid_target", f"resource must be {oauth_address()}")
        if params.state is not None and len(params.state) > STATE_CHARS:
            raise AuthorizeError("invalid_request", f"state must have {STATE_CHARS:,} characters or fewer.")
        consent_request = ConsentRequest(
            client_id=client.client_id,
            redirect_uri=str(params.redirect_uri),
            named_redirect=params.redirect_uri_provided_explicitly,
            state=params.state,
            challenge=params.code_challenge,
            scopes=tuple(params.scopes or DEFAULT_SCOPES),
            resource=oauth_address(),
        )
        return f"{reverse('consent')}?{urlencode({'request': seal(consent_request)})}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return a code of this app that was not exchanged yet."""
        token = await self._find(authorization_code, AppToken.Type.CODE, client=client)
        if token is None:
            return None
        redirect_uri = token.redirect_uri or str(client.validate_redirect_uri(None))
        return AuthorizationCode(
            code=authorization_code,
            scopes=token.scopes,
            expires_at=token.expires_at.timestamp(),
            client_id=client.client_id,
            code_challenge=token.challenge,
            redirect_uri=AnyUrl(redirect_uri),
            redirect_uri_provided_explicitly=bool(token.redirect_uri),
            resource=token.resource,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Exchange a code for the first pair of tokens."""
        return await self._exchange(client, authorization_code.code, AppToken.Type.CODE)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """Return a refresh token of this app that was not exchanged yet."""
        token = await self._find(refresh_token, AppToken.Type.REFRESH, client=client)
        return None if token is None else RefreshToken(**_token_fields(token, refresh_token))

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Exchange a refresh token for the next pair."""
        return await self._exchange(client, refresh_token.token, AppToken.Type.REFRESH, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return an access token that is good."""
        found = await self._find(token, AppToken.Type.ACCESS)
        return None if found is None else AccessToken(**_token_fields(found, token))

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End the app's access."""
        found = await self._find(token.token, AppToken.Type.ACCESS, AppToken.Type.REFRESH)
        if found is not None:
            await self._ask(partial(end_access, found))

    async def _exchange(
        self, client: OAuthClientInformationFull, text: str, kind: AppToken.Type, scopes: list[str] | None = None
    ) -> OAuthToken:
        token = await self._find(text, kind, client=client)
        try:
            pair = await self._ask(partial(exchange, token, scopes=scopes or ())) if token else None
        except Invalid as refusal:
            raise TokenError("invalid_scope", str(refusal)) from refusal
        if pair is None:
            raise TokenError("invalid_grant", "It was exchanged before, so the access of this app has ended.")
        return _as_reply(pair)

    async def _find(
        self, text: str, *kinds: AppToken.Type, client: OAuthClientInformationFull | None = None
    ) -> AppToken | None:
        def find() -> AppToken | None:
            app = app_called(client.client_id) if client else None
            return None if client and app is None else find_token(text, *kinds, app=app)

        return await self._ask(find)

    async def _ask(self, work: Callable[[], Answer]) -> Answer:
        return await on_a_thread(work, request_id=self.request_id)


def _token_fields(token: AppToken, text: str) -> dict[str, object]:
    return {
        "token": text,
        "client_id": token.key.app.client_id if token.key.app else "",
        "scopes": token.scopes,
        "expires_at": int(token.expires_at.timestamp()),
        "resource": token.resource,
        "subject": str(token.key.user_id),
    }


def _as_reply(pair: Pair) -> OAuthToken:
    return OAuthToken(
        access_token=pair.access, expires_in=pair.seconds, scope=" ".join(pair.scopes), refresh_token=pair.refresh
    )
