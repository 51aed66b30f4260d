"""Consent: what an app asks of a person, carried through the sign-in to the page where they decide."""

from dataclasses import asdict, dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.core import signing

from accounts.actor import Actor
from accounts.models import ConnectedApp
from bigmind.core.errors import Invalid

from .app_tokens import let_in, oauth_address
from .connected_apps import app_called

ASKED_FOR = 30 * 60
_SALT = "accounts.consent"


@dataclass(frozen=True)
class ConsentRequest:
    """What an app asks for.

    Attributes:
        state: A value that the app wants back, to recognise its own request.
        challenge: What the verifier of the code must hash to (PKCE, S256).
        named_redirect: Whether it named the address to go back to, which it must then repeat.
    """

    client_id: str
    redirect_uri: str
    named_redirect: bool
    state: str | None
    challenge: str
    scopes: tuple[str, ...]
    resource: str


def seal(request: ConsentRequest) -> str:
    """Return a request as a signed text, so that nothing is stored for a user who may never come."""
    return signing.dumps(asdict(request), salt=_SALT, compress=True)


def unseal(text: str) -> tuple[ConsentRequest, ConnectedApp]:
    """Return the request that was sealed, and the app that asks.

    Raises:
        Invalid: it was changed or is older than half an hour, or the app is not known any more.
    """
    try:
        values = signing.loads(text, salt=_SALT, max_age=ASKED_FOR)
        request = ConsentRequest(**{**values, "scopes": tuple(values["scopes"])})
    except (signing.BadSignature, TypeError, KeyError) as error:  # the last two: a version with other fields sealed it
        raise Invalid("This request of an app is too old, or not one of ours.") from error
    app = app_called(request.client_id)
    if app is None:
        raise Invalid("The app that asks is not known any more.")
    return request, app


def permit(actor: Actor, request: ConsentRequest, app: ConnectedApp, *, scopes: list[str], toolsets: list[str]) -> str:
    """Let the app in, and return the address that sends the person back to it with a code.

    Raises:
        Invalid: nothing is permitted, or something that was not asked for.
        Forbidden: the person may not do themselves what the app is to do.
    """
    if not scopes or set(scopes) - set(request.scopes):
        raise Invalid("Permit some of what the app asks for, or refuse.")
    code = let_in(
        actor,
        app,
        scopes=scopes,
        toolsets=toolsets,
        challenge=request.challenge,
        redirect_uri=request.redirect_uri if request.named_redirect else "",
        resource=request.resource,
    )
    return way_back(request, code=code)


def refuse(request: ConsentRequest) -> str:
    """Return the address that sends the person back to the app, with the error that they refused."""
    return way_back(request, error="access_denied", error_description="The user refused.")


def way_back(request: ConsentRequest, **parameters: str) -> str:
    """Return the app's address with these parameters, our address (RFC 9207), and the state that the app sent."""
    state = {} if request.state is None else {"state": request.state}
    parts = urlsplit(request.redirect_uri)
    added = {**parameters, **state, "iss": oauth_address()}
    query = [*parse_qsl(parts.query, keep_blank_values=True), *added.items()]
    return parts._replace(query=urlencode(query)).geturl()
