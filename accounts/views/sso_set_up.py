"""Setting up the company's sign-in, for admins: what to enter at the provider, checks of it, and a test sign-in."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from accounts.services.audit import audit
from accounts.services.connection_tests import count_test
from accounts.sign_in.discovery import check_provider
from accounts.sign_in.openid_connect import provider_for
from accounts.sign_in.sso import Identity, preview_sign_in
from accounts.views.confirming import admit_confirmed_admins
from accounts.views.sso import NONSENSE, show_sign_in_error
from bigmind.core.errors import Forbidden
from bigmind.core.translation import _
from bigmind.web.pages import own_page

CLAIMS_SHOWN = ("sub", "email", "email_verified", "name", "preferred_username", "auth_time")


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def sso_set_up(request: HttpRequest) -> HttpResponse:
    """Show what the provider must be given; check it on a POST."""
    actor = actor_of(request)
    actor.require("admin")
    checks = None
    if request.method == "POST" and settings.OIDC_ISSUER:
        count_test(actor)
        checks = check_provider()
        problems = sum(check.outcome == "problem" for check in checks)
        audit("connection_tested", what="the sign-in provider", result=f"{problems} problems" if problems else "worked")
    return render(request, "accounts/sso_set_up.html", {"checks": checks, **_addresses()})


@own_page
@require_safe
@admit_confirmed_admins
def testing(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider and back to a page that says who would come in. Nobody is signed in by it."""
    if not settings.OIDC_ISSUER:
        return redirect("sso-set-up")
    count_test(actor_of(request))
    try:
        return provider_for(request).send_there(request, wanted=reverse("sso-set-up"), again=True, is_test=True)
    except NONSENSE as error:
        return show_sign_in_error(request, exception=error)


def show_tested_sign_in(request: HttpRequest, identity: Identity, claims: Mapping[str, Any]) -> HttpResponse:
    """Say who would have come in, to the admin who began the test in this browser.

    Raises:
        Forbidden: no admin is signed in here any more.
    """
    if not isinstance(request.user, User) or not request.user.is_admin:
        raise Forbidden(
            _("A test sign-in ends where an admin is signed in."), hint=_("Begin it again in this browser.")
        )
    Actor.of(request.user).require("admin")
    preview = preview_sign_in(identity)
    result = "refused" if preview.refusal else f"would come in as {preview.role}"
    audit("connection_tested", by=request.user, what="signing in with the provider", result=result)
    role_claim = [settings.OIDC_ROLE_CLAIM] if settings.OIDC_ROLE_CLAIM else []
    shown = [(name, str(claims.get(name, ""))[:200]) for name in (*CLAIMS_SHOWN, *role_claim)]
    context = {"preview": preview, "claims": shown, "is_same": preview.name == str(request.user)}
    return render(request, "accounts/sso_tested.html", context)


def _addresses() -> dict[str, object]:
    home = settings.PUBLIC_URL
    return {
        "is_set_up": bool(settings.OIDC_ISSUER),
        "issuer": settings.OIDC_ISSUER,
        "name": settings.OIDC_NAME,
        "role_claim": settings.OIDC_ROLE_CLAIM,
        "redirect_uri": f"{home}{reverse('sso-callback')}",
        "sign_out_uri": f"{home}{reverse('sign-in')}",
        "start_uri": f"{home}{reverse('sso')}",
        "variables": (
            "BIGMIND_OIDC_ISSUER=https://login.example.com/realms/main\n"
            "BIGMIND_OIDC_CLIENT_ID=bigmind\n"
            "BIGMIND_OIDC_CLIENT_SECRET_FILE=/run/secrets/oidc\n"
            "BIGMIND_OIDC_NAME=Example Inc."
        ),
    }
