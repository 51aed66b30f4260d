"""Consent: an app asks to be let in, and a person decides what it may do."""

from collections.abc import Mapping

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from accounts.models import ConnectedApp
from accounts.oauth.consent import ConsentRequest, permit, refuse, unseal
from accounts.oauth.redirects import is_this_machine
from accounts.views.keys import ConsentForm
from bigmind.core.errors import Invalid
from bigmind.network.addresses import host_of


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, toolsets: Mapping[str, str]) -> HttpResponse:
    """Ask whether an app may come in, and send the person back to it with the answer."""
    try:
        consent_request, app = unseal(request.GET.get("request", ""))
    except Invalid as refusal:
        return render(request, "accounts/consent_gone.html", {"refusal": refusal}, status=410)
    actor = actor_of(request)
    form = ConsentForm(request.POST or None, actor=actor, asked=consent_request.scopes, toolsets=toolsets)
    if request.POST.get("decision") == "refuse":
        return _way_back(request, consent_request, app, refuse(consent_request), is_let_in=False)
    if not form.is_valid():
        return _question(request, consent_request, app, form, status=422 if form.is_bound else 200)
    way_back = permit(
        actor, consent_request, app, scopes=form.cleaned_data["scopes"], toolsets=form.cleaned_data["toolsets"]
    )
    return _way_back(request, consent_request, app, way_back, is_let_in=True)


def _question(
    request: HttpRequest, consent_request: ConsentRequest, app: ConnectedApp, form: ConsentForm, *, status: int
) -> HttpResponse:
    return render(request, "accounts/consent.html", _page_context(consent_request, app) | {"form": form}, status=status)


def _way_back(
    request: HttpRequest, consent_request: ConsentRequest, app: ConnectedApp, url: str, *, is_let_in: bool
) -> HttpResponse:
    """Send the person back by a page, not by a redirection.

    Browsers apply `form-action` to every redirection that follows a form, also to those of the app's own site, which
    nobody here knows. And where a program on the machine takes over, a page is what stays in the browser.
    """
    context = _page_context(consent_request, app) | {"url": url, "is_let_in": is_let_in}
    return render(request, "accounts/consent_given.html", context)


def _page_context(consent_request: ConsentRequest, app: ConnectedApp) -> dict[str, object]:
    return {
        "app": app,
        "host": host_of(consent_request.redirect_uri),
        "is_this_machine": is_this_machine(consent_request.redirect_uri),
        "document_host": host_of(app.client_id) if app.has_document else "",
    }
