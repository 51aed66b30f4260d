"""Signing in, by password or by a one-time link, and signing out."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.keys.text import digest_of
from accounts.models import SignInLink, User
from accounts.sign_in.failed_attempts import count_guess
from accounts.sign_in.links import redeem_sign_in_link
from accounts.sign_in.passwords import may_use_password
from accounts.sign_in.tries import count_try, forget_tries
from accounts.views.sign_in_completion import enter, next_page
from bigmind.core.errors import Invalid, TooMany

WRONG = "The user name and the password do not belong together."
WRONG_HINT = "Check both; capitals in the password count. After ten wrong tries you have to wait for a while."


class SignInForm(forms.Form):
    """Asks who a user is."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        error_messages={"required": "Type your user name."},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        strip=False,
        error_messages={"required": "Type your password."},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for user name and password; sign in whoever knows both, and turn to the page they wanted."""
    wanted = next_page(request)
    if request.method != "POST":
        return redirect(wanted) if request.user.is_authenticated else _form(request, SignInForm(), wanted)
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _form(request, form, wanted, status=422)
    try:
        user = _who_knows(request, form.cleaned_data["username"], form.cleaned_data["password"])
    except TooMany as refusal:
        response = _form(request, form, wanted, refusal=refusal, status=429)
        response["Retry-After"] = str(refusal.retry_after)
        return response
    except Invalid as refusal:
        return _form(request, form, wanted, refusal=refusal, status=422)
    return enter(request, user, door="password", wanted=wanted)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in by a one-time link. Opening it only asks: programs that look at links must not use it up."""
    if request.method != "POST":
        link = _good_link(token)
        return (
            render(request, "accounts/sign_in_link.html", {"person": link.user}) if link else _no_good(request, token)
        )
    user = redeem_sign_in_link(token)
    if user is None:
        return _no_good(request, token)
    # In a team a link is how a user comes back who has no password any more; at home it is how one signs in.
    may_need_one = settings.BIGMIND_MODE != "personal" and may_use_password(user)
    needs_password = may_need_one and not user.has_usable_password()
    return enter(request, user, door="link", wanted=reverse("password" if needs_password else "home"))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this browser's session."""
    logout(request)
    messages.success(request, "You are signed out in this browser.")
    return redirect("sign-in")


def _who_knows(request: HttpRequest, username: str, password: str) -> User:
    address = request.META.get("REMOTE_ADDR", "")
    count_try(username, address)
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User) or not may_use_password(user):
        # The same words for everyone: else they would tell whose password counts.
        most = f"Most people sign in with {settings.OIDC_NAME} here, and have no password. "
        raise Invalid(WRONG, hint=f"{most if settings.PASSWORDS_ONLY_FOR else ''}{WRONG_HINT}")
    forget_tries(username, address)
    return user


def _form(
    request: HttpRequest, form: SignInForm, wanted: str, *, refusal: object = None, status: int = 200
) -> HttpResponse:
    context = {"form": form, "next": wanted, "refusal": refusal}
    return render(request, "accounts/sign_in.html", context, status=status)


def _no_good(request: HttpRequest, token: str) -> HttpResponse:
    count_guess(token, request.META.get("REMOTE_ADDR", ""))
    return render(request, "accounts/sign_in_link_used.html", status=410)


def _good_link(token: str) -> SignInLink | None:
    links = SignInLink.objects.filter(used_at=None, expires_at__gt=timezone.now(), user__is_active=True)
    return links.select_related("user").filter(digest=digest_of(token)).first()
