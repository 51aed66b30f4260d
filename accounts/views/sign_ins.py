"""Where a user is signed in, and signing out elsewhere."""

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from accounts.models import SignIn
from accounts.sign_in.sign_ins import browser_in_words, end_sign_in, end_sign_ins, list_sign_ins
from bigmind.core.translation import _, ngettext

SIGN_INS_SHOWN = 100


@dataclass(frozen=True)
class Browser:
    """A browser a user is signed in with, in words, and whether it is the one that asks."""

    sign_in: SignIn
    name: str
    is_this_one: bool


@never_cache
@login_required
@require_safe
def sign_ins(request: HttpRequest) -> HttpResponse:
    """List the browsers in which the user who asks is signed in."""
    found = list_sign_ins(actor_of(request))[:SIGN_INS_SHOWN]
    browsers = [
        Browser(each, browser_in_words(each.user_agent), each.session_id == request.session.session_key)
        for each in found
    ]
    context = {"browsers": browsers, "elsewhere": [each for each in browsers if not each.is_this_one]}
    return render(request, "accounts/sign_ins.html", context)


@never_cache
@login_required
@require_POST
def end(request: HttpRequest, sign_in_id: int) -> HttpResponse:
    """Sign out in one of one's browsers."""
    end_sign_in(actor_of(request), sign_in_id=sign_in_id)
    messages.success(request, _("You are signed out there."))
    return redirect("sign-ins")


@never_cache
@login_required
@require_POST
def end_elsewhere(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere but here."""
    browsers = end_sign_ins(actor_of(request).user, but=request.session.session_key)
    message = ngettext(
        "You are signed out in %(browsers)s other browser.",
        "You are signed out in %(browsers)s other browsers.",
        browsers,
    )
    messages.success(request, message % {"browsers": browsers})
    return redirect("sign-ins")
