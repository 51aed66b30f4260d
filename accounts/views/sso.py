"""Signing in with the company's own sign-in: to the provider, and back."""

import structlog
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from requests import RequestException

from accounts.sign_in.attempts import count_guess
from accounts.sign_in.openid_connect import Protocol, provider_for
from accounts.views.sign_in import next_page
from bigmind.core.errors import BigMindError, Forbidden, TooMany
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.pages import with_retry_after

# What a provider that is broken makes of its answers: no JSON, or JSON without what must be in it.
NONSENSE = (RequestException, OAuth2Error, KeyError, TypeError, ValueError)
AWAY = gettext_lazy("{name} does not answer as it should.")
LATE = gettext_lazy("This sign-in took too long, or began in another browser.")
NOT_GOOD = gettext_lazy("What {name} has sent cannot be trusted.")

log = structlog.get_logger()


@never_cache
@require_safe
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider. It is a link: a form that leads elsewhere is stopped by our own policy."""
    _require_provider()
    try:
        return provider_for(request).send_there(request, wanted=next_page(request), again="again" in request.GET)
    except NONSENSE as error:
        return show_sign_in_error(request, exception=error)


@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Sign in the person who comes back from the provider, if they may."""
    _require_provider()
    try:
        view = OAuth2CallbackView.adapter_view(Protocol(request, settings.OIDC_ISSUER))
        response: HttpResponse = view(request)
    except (Forbidden, TooMany) as refusal:
        return _refusal_page(request, refusal)
    except NONSENSE as error:
        return show_sign_in_error(request, exception=error)
    return response


def show_sign_in_error(
    request: HttpRequest, *, error: str | None = None, exception: Exception | None = None
) -> HttpResponse:
    """Tell a user that they could not be signed in, and why."""
    if error == AuthError.CANCELLED:
        messages.info(request, _("You were not signed in: you stopped it there."))
        return redirect("sign-in")
    log.warning("A sign-in with the provider failed.", error=type(exception).__name__, reason=str(exception)[:200])
    if isinstance(exception, OAuth2Error):
        return _page(request, NOT_GOOD, _("Try again. If that does not help, tell an admin of this BigMind."), 422)
    if exception is None and "error" not in request.GET:
        count_guess(request.GET.get("state", ""), request.META.get("REMOTE_ADDR", ""))
        return _page(request, LATE, _("Begin again; it has to end in the same browser within ten minutes."), 422)
    return _page(request, AWAY, _("Try again in a while. BigMind itself is well, and so are your agents."), 502)


def _refusal_page(request: HttpRequest, refusal: BigMindError) -> HttpResponse:
    status = 429 if isinstance(refusal, TooMany) else 403
    response = _page(request, in_language(refusal.message), in_language(refusal.hint), status)
    return with_retry_after(response, refusal)


def _page(request: HttpRequest, message: str, hint: str, status: int) -> HttpResponse:
    context = {"message": message.replace("{name}", settings.OIDC_NAME), "hint": hint}
    return render(request, "accounts/sso_error.html", context, status=status)


def _require_provider() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404
