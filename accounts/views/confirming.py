"""Confirming that the user is still at the browser, before the most sensitive actions."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from accounts.models import User
from accounts.sign_in.attempts import count_try, forget_tries, guesser, guesser_of_code
from accounts.sign_in.passwords import may_use_password
from accounts.sign_in.second_factors import check_code, has_second_factor
from accounts.views.second_factor import CodeForm
from accounts.views.sign_in import CONFIRMED, came_by_sso, next_page, note_confirmed
from bigmind.core.errors import Conflict, Invalid, TooMany
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import RefusableForm, form_data
from bigmind.web.pages import is_own_address, with_retry_after

CONFIRMED_SECONDS = 15 * 60
"""How long a confirmation, or the sign-in itself, counts."""

View = Callable[..., HttpResponse]


class PasswordForm(RefusableForm):
    """Asks for the password again."""

    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        error_messages={"required": gettext_lazy("Type your password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


def is_recent(request: HttpRequest) -> bool:
    """Whether the user signed in or confirmed it within the last 15 minutes, or has nothing to confirm it with.

    The latter is someone on their own machine who signed in by the link that start-up printed.
    """
    # A clock that was set back must not make it last longer.
    if abs(time.time() - float(request.session.get(CONFIRMED, 0))) <= CONFIRMED_SECONDS:
        return True
    return settings.BIGMIND_MODE == "personal" and _way(request, actor_of(request).user) == ""


def admit_confirmed_admins(view: View) -> View:
    """Let admins alone in, and lead them to the page that asks for the password or a code, unless that is recent."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        actor_of(request).require("admin")
        return ask_to_confirm(request) or view(request, *args, **kwargs)

    return page


def ask_to_confirm(request: HttpRequest) -> HttpResponse | None:
    """Lead to the page that asks for the password or a code; None where that was done lately."""
    if is_recent(request):
        return None
    return redirect(f"{reverse('confirm')}?{urlencode({'next': _page_of(request)})}")


def _page_of(request: HttpRequest) -> str:
    """Return the page to come back to: a form that was sent is shown again, by the page that has it."""
    sent_from = request.headers.get("referer", "") if request.method == "POST" else request.get_full_path()
    return sent_from if is_own_address(request, sent_from) else reverse("system-settings")


@sensitive_post_parameters("password", "code")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for a code, or for the password of who has no second factor, and turn to the page they wanted."""
    user, next_address = actor_of(request).user, next_page(request)
    way = _way(request, user)
    form = _form(way, form_data(request))
    if not form.is_valid():
        return _page(request, form, way, next_address, status=422 if form.is_bound else 200)
    guesses = guesser_of_code(user) if way == "code" else guesser(user)
    try:
        count_try(guesses, "")
        _check(user, way, form)
    except (Invalid, Conflict, TooMany) as refusal:
        form.refuse(refusal)
        status = 429 if isinstance(refusal, TooMany) else 422
        return with_retry_after(_page(request, form, way, next_address, status=status), refusal)
    forget_tries(guesses, "")
    note_confirmed(request)
    return redirect(next_address)


def _way(request: HttpRequest, user: User) -> str:
    """Return what this user can show: a `code`, the `password`, `sso` or nothing."""
    if has_second_factor(user):
        return "code"
    if user.has_usable_password() and may_use_password(user):
        return "password"
    return "sso" if settings.OIDC_ISSUER and came_by_sso(request) else ""


def _form(way: str, sent: Any) -> RefusableForm:
    return CodeForm(sent) if way == "code" else PasswordForm(sent)


def _check(user: User, way: str, form: RefusableForm) -> None:
    if way == "code":
        check_code(user, form.cleaned_data["code"])
    elif way != "password" or not user.check_password(form.cleaned_data["password"]):
        raise Invalid.of("password", _("is not the one of your account"))


def _page(request: HttpRequest, form: RefusableForm, way: str, next_address: str, *, status: int) -> HttpResponse:
    again = f"{reverse('sso')}?{urlencode({'next': next_address, 'again': '1'})}" if way == "sso" else ""
    context = {"form": form, "way": way, "next": next_address, "again": again, "sso_name": settings.OIDC_NAME}
    return render(request, "accounts/confirm.html", context, status=status)
