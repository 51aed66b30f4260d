"""Signing in, by password or by a one-time link, with the code of a second factor, and signing out."""

import time
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.people.sharing import asks_what_to_share
from accounts.services.audit import audit
from accounts.sign_in.attempts import count_guess, count_try, forget_tries, guesser_of_code
from accounts.sign_in.links import find_sign_in_link, redeem_sign_in_link
from accounts.sign_in.passwords import may_use_password
from accounts.sign_in.second_factors import check_code, has_second_factor
from accounts.views.second_factor import CodeForm
from bigmind.core.errors import Conflict, Invalid, TooMany
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import LabelledForm, form_data
from bigmind.web.pages import is_own_address, with_retry_after

SignInMethod = Literal["password", "link", "invitation", "sso"]

WAITS_SECONDS = 600
_WAITING = "waiting_for_code"
_METHOD = "signed_in_by"
CONFIRMED = "confirmed_at"

WRONG = gettext_lazy("Wrong username or password.")
WRONG_HINT = gettext_lazy(
    "Check both; capitals in the password count. After ten wrong tries you have to wait for a while."
)


@dataclass(frozen=True)
class PendingSignIn:
    """A user who has passed the first step, and still has to enter a code."""

    user: str
    password_state: str
    method: SignInMethod
    wanted: str
    since: float


def enter(request: HttpRequest, user: User, *, method: SignInMethod, wanted: str) -> HttpResponse:
    """Sign a user in and turn to the page they wanted; ask for a code first where they have a second factor."""
    wanted = _first_page(user, wanted)
    if not has_second_factor(user):
        sign_in_as(request, user, method=method)
        return redirect(wanted)
    # Anyone who was signed in here before is not any more, and nothing of their session goes on.
    logout(request)
    waiting = PendingSignIn(str(user.pk), user.get_session_auth_hash(), method, wanted, time.time())
    request.session[_WAITING] = asdict(waiting)
    return redirect("sign-in-code")


def enter_by_sso(request: HttpRequest, user: User, *, wanted: str, authenticated_at: float) -> HttpResponse:
    """Sign in a user whom the company's own sign-in vouches for, and turn to the page they wanted.

    No code is asked for: the provider has second factors of its own.
    """
    wanted = _first_page(user, wanted)
    sign_in_as(request, user, method="sso")
    # The provider asks for nothing in a browser that is signed in there: what counts is when it last asked.
    note_confirmed(request, authenticated_at)
    return redirect(wanted)


def _first_page(user: User, next_address: str) -> str:
    """Return where to begin: the first steps, for who signs in for the first time and wants nothing else.

    In a company everyone else is asked first what colleagues see of them, until they have answered. An app that waits
    to be let in does not wait for that, nor does a user who has to set a password, which no page asks for again.
    """
    is_first = user.last_login is None and user.first_steps_closed_at is None
    if is_first and next_address == "/":
        return reverse("welcome")  # One of the steps asks.
    if not next_address.startswith((reverse("consent"), reverse("password"))) and asks_what_to_share(user):
        return f"{reverse('profile-sharing', args=[user.username])}?{urlencode({'next': next_address})}"
    return next_address


def sign_in_as(request: HttpRequest, user: User, *, method: SignInMethod) -> None:
    """Sign a user in, and remember by which method."""
    login(request, user)
    audit("signed_in", about=user, by=user, door=method)
    request.session.pop(_WAITING, None)
    request.session[_METHOD] = method
    note_confirmed(request)


def note_confirmed(request: HttpRequest, at: float | None = None) -> None:
    """Remember that who sits at this browser has shown that they are this user: now, or then."""
    request.session[CONFIRMED] = time.time() if at is None else at


def came_by_sso(request: HttpRequest) -> bool:
    """Whether the signed-in user came from the company's own sign-in."""
    return request.session.get(_METHOD) == "sso"


def who_waits(request: HttpRequest) -> tuple[User, PendingSignIn] | None:
    """Return the user who still has to enter a code in this browser; None if nobody has, or the first step expired."""
    kept = request.session.get(_WAITING)
    if not isinstance(kept, dict) or "method" not in kept:  # It was kept by the version before: sign in again.
        return None
    waiting = PendingSignIn(**kept)
    user = User.objects.filter(pk=waiting.user, is_active=True).first()
    # A clock that was set back must not make it last longer.
    is_late = abs(time.time() - waiting.since) > WAITS_SECONDS
    # A password that was changed meanwhile takes the first step back, as it ends sessions.
    if user is None or is_late or user.get_session_auth_hash() != waiting.password_state:
        del request.session[_WAITING]
        return None
    return user, waiting


def next_page(request: HttpRequest) -> str:
    """Return where to go next: the page that asked to sign in, if it is one of ours."""
    next_address = request.POST.get("next", request.GET.get("next", ""))
    return next_address if is_own_address(request, next_address) else "/"


@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for a code, and sign the user in who enters it. A user without a first step is sent back to it."""
    found = who_waits(request)
    if found is None:
        return redirect("sign-in")
    user, waiting = found
    form = CodeForm(form_data(request))
    if not form.is_valid():
        return _page(request, user, form, status=422 if form.is_bound else 200)
    try:
        # Counted per person, not per address: anyone who reaches this page knows the password already.
        count_try(guesser_of_code(user), "")
        check_code(user, form.cleaned_data["code"])
    except (Invalid, Conflict, TooMany) as refusal:
        form.refuse(refusal)
        status = 429 if isinstance(refusal, TooMany) else 422
        return with_retry_after(_page(request, user, form, status=status), refusal)
    forget_tries(guesser_of_code(user), "")
    sign_in_as(request, user, method=waiting.method)
    return redirect(waiting.wanted)


def _page(request: HttpRequest, user: User, form: CodeForm, *, status: int) -> HttpResponse:
    return render(request, "accounts/sign_in_code.html", {"person": user, "form": form}, status=status)


class SignInForm(LabelledForm):
    """Asks who a user is."""

    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        error_messages={"required": gettext_lazy("Type your user name.")},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        error_messages={"required": gettext_lazy("Type your password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for user name and password; sign in the one who knows both, and turn to the page they wanted."""
    next_address = next_page(request)
    if request.method != "POST":
        return redirect(next_address) if request.user.is_authenticated else _form(request, SignInForm(), next_address)
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _form(request, form, next_address, status=422)
    try:
        user = _who_knows(request, form.cleaned_data["username"], form.cleaned_data["password"])
    except (TooMany, Invalid) as refusal:
        status = 429 if isinstance(refusal, TooMany) else 422
        return with_retry_after(_form(request, form, next_address, refusal=refusal, status=status), refusal)
    return enter(request, user, method="password", wanted=next_address)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in by a one-time link. Opening it only asks: programs that look at links must not use it up."""
    if request.method != "POST":
        link = find_sign_in_link(token)
        return (
            render(request, "accounts/sign_in_link.html", {"person": link.user}) if link else _no_good(request, token)
        )
    user = redeem_sign_in_link(token)
    if user is None:
        return _no_good(request, token)
    # In a team a link is how a user comes back who has no password any more; at home it is how one signs in.
    may_need_one = settings.BIGMIND_MODE != "personal" and may_use_password(user)
    needs_password = may_need_one and not user.has_usable_password()
    return enter(request, user, method="link", wanted=reverse("password" if needs_password else "home"))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this browser's session."""
    logout(request)
    messages.success(request, _("You are signed out in this browser."))
    return redirect("sign-in")


def _who_knows(request: HttpRequest, username: str, password: str) -> User:
    address = request.META.get("REMOTE_ADDR", "")
    count_try(username, address)
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User) or not may_use_password(user):
        # The same words for everyone: else they would tell whose password counts.
        most = _("Most people sign in with %(OIDC_NAME)s here, and have no password. ") % {
            "OIDC_NAME": settings.OIDC_NAME
        }
        raise Invalid(WRONG, hint=f"{most if settings.PASSWORDS_ONLY_FOR else ''}{WRONG_HINT}")
    forget_tries(username, address)
    return user


def _form(
    request: HttpRequest, form: SignInForm, next_address: str, *, refusal: object = None, status: int = 200
) -> HttpResponse:
    context = {"form": form, "next": next_address, "refusal": refusal}
    return render(request, "accounts/sign_in.html", context, status=status)


def _no_good(request: HttpRequest, token: str) -> HttpResponse:
    count_guess(token, request.META.get("REMOTE_ADDR", ""))
    return render(request, "accounts/sign_in_link_used.html", status=410)
