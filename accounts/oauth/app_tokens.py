"""Tokens of connected apps: how an app gets in, exchanges its tokens, and loses access.

A person who lets an app in makes a key for it, whose text nobody knows; the app's tokens open it. So whatever holds for
keys holds for apps: scopes, the usage log, who wrote what, the rate limit, and that a revoked one is refused at once.
Decision 13.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys import create_key, digest_of, new_key_text, revoke_key
from accounts.models import SCOPES, ApiKey, AppToken, ConnectedApp
from bigmind.core.errors import Forbidden, Invalid

CODE_LASTS = timedelta(minutes=5)
ACCESS_LASTS = timedelta(hours=1)
REFRESH_LASTS = timedelta(days=30)
PREFIXES = {AppToken.Type.CODE: "bmc_", AppToken.Type.ACCESS: "bma_", AppToken.Type.REFRESH: "bmr_"}


@dataclass(frozen=True)
class Pair:
    """The new tokens of an app, whose texts exist only now."""

    access: str
    refresh: str
    scopes: tuple[str, ...]
    seconds: int


def oauth_address() -> str:
    """The address that the tokens of apps open: what RFC 8707 calls the resource."""
    return f"{settings.PUBLIC_URL}/mcp/oauth"


@transaction.atomic
def let_in(
    actor: Actor,
    app: ConnectedApp,
    *,
    scopes: Collection[str],
    toolsets: Collection[str] = (),
    challenge: str,
    redirect_uri: str,
    resource: str,
) -> str:
    """Let an app act for this person, and return the code by which it fetches its tokens, once, within five minutes.

    Raises:
        Forbidden: the person may not do themselves what the app is to do.
        Invalid: nothing is permitted.
    """
    beyond = sorted(set(scopes) - actor.scopes)
    if beyond:
        raise Forbidden(f"You may not permit what you may not do: {', '.join(beyond)}.")
    now = timezone.now()
    # As short as the code: an app that never exchanges it leaves no key behind (`forget_expired_tokens`).
    made = create_key(actor.user, label=str(app), scopes=scopes, toolsets=toolsets, expires_at=now + CODE_LASTS)
    made.key.app = app
    made.key.save(update_fields=["app"])
    ConnectedApp.objects.filter(pk=app.pk, let_in_at=None).update(let_in_at=now)
    values = {"challenge": challenge, "redirect_uri": redirect_uri}
    return _new_token(made.key, AppToken.Type.CODE, made.key.scopes, resource, now + CODE_LASTS, **values)


def find_token(text: str, *kinds: str, app: ConnectedApp | None = None) -> AppToken | None:
    """Return the token of this text if it is good; of another app it is as if there were none.

    A code or refresh token that was exchanged before is in two hands (RFC 6749, 4.1.2 and 10.4): then the app's access
    ends altogether, also where the token has expired since.
    """
    tokens = AppToken.objects.select_related("key__user", "key__app").filter(digest=digest_of(text), kind__in=kinds)
    token = (tokens.filter(key__app=app) if app else tokens).first()
    if token is None:
        return None
    if token.exchanged_at is not None:
        revoke_key(token.key)
        return None
    return token if is_good(token) else None


def is_good(token: AppToken) -> bool:
    """Whether a token is valid: it has not expired, and its key is valid and belongs to an active user."""
    key = token.key
    return (
        token.expires_at > timezone.now()
        and key.state == "active"
        and key.user is not None
        and key.user.is_active
        and token.resource == oauth_address()  # it was given for one address, which a new public URL is not
    )


@transaction.atomic
def exchange(token: AppToken, *, scopes: Collection[str] = ()) -> Pair | None:
    """Exchange a code or a refresh token for the next pair. None: it was used before, so the app's access ends.

    Raises:
        Invalid: a scope is asked for that the person did not permit.
    """
    beyond = sorted(set(scopes) - set(token.scopes))
    if beyond:
        raise Invalid(f"These scopes were not permitted: {', '.join(beyond)}.")
    now = timezone.now()
    # The update decides, not what was read: of two exchanges at once one finds the row.
    if not AppToken.objects.filter(pk=token.pk, exchanged_at=None).update(exchanged_at=now):
        revoke_key(token.key)
        return None  # no error, which would take the revocation back with the transaction
    narrowed = [scope for scope in SCOPES if scope in (scopes or token.scopes)]
    ApiKey.objects.filter(pk=token.key_id).update(expires_at=now + REFRESH_LASTS)
    access = _new_token(token.key, AppToken.Type.ACCESS, narrowed, token.resource, now + ACCESS_LASTS)
    # Only the access token is narrowed: the next refresh token permits what this one did (RFC 6749, 6).
    refresh = _new_token(token.key, AppToken.Type.REFRESH, token.scopes, token.resource, now + REFRESH_LASTS)
    return Pair(access, refresh, tuple(narrowed), int(ACCESS_LASTS.total_seconds()))


def end_access(token: AppToken) -> None:
    """End the app's access, whichever of its tokens it revokes."""
    revoke_key(token.key)


def forget_expired_tokens() -> int:
    """Delete tokens that have expired, and the keys of apps that never fetched theirs; return how many rows went."""
    now = timezone.now()
    tokens, _ = AppToken.objects.filter(expires_at__lte=now).delete()
    fetched = AppToken.objects.filter(key=OuterRef("pk"))
    unfetched = ApiKey.objects.of_apps().filter(~Exists(fetched), last_used_at=None, expires_at__lte=now)
    keys, _ = unfetched.delete()
    return tokens + keys


def _new_token(
    key: ApiKey, kind: AppToken.Type, scopes: Collection[str], resource: str, expires_at: datetime, **values: str
) -> str:
    text = new_key_text(PREFIXES[kind])
    AppToken.objects.create(
        key=key,
        kind=kind,
        digest=digest_of(text),
        scopes=list(scopes),
        resource=resource,
        expires_at=expires_at,
        **values,
    )
    return text
